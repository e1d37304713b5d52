//! Behaviours of executors that enrol: what they say, what the operator says, and what is recorded.

use ah_model::limits::{EXECUTOR_JSON_BYTES_MAX, EXECUTOR_RULES_MAX, LABELS_MAX, TAGS_MAX};
use ah_model::{
    Cursor, Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorFilter, ExecutorRule,
    ExecutorStatus, ExecutorVerb, Gpu, Labels, Machine, NewRun, Offer, RawJson, RunStatus,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, from_cursor, json, paged, race, refusal};
use crate::given_run::{
    assert_refused, claim, claim_of, enrolment, executor_id, first_run, new_executor, now, queue,
    start,
};

fn full_machine() -> Machine {
    let text = |name: &str| format!("{name} ☃");
    Machine {
        os_name: text("linux"),
        os_version: text("6.1"),
        architecture: text("x86_64"),
        cpu_cores: u32::MAX,
        memory_bytes: i64::MAX as u64,
        storage_bytes: 1,
        gpus: vec![
            Gpu {
                vendor: text("v"),
                model: text("m"),
                vram_bytes: Some(2),
                driver: Some(text("d")),
            },
            Gpu::default(),
        ],
        runtimes: vec![text("bare"), text("devcontainer")],
        agents: vec![text("claude")],
        network_tier: Some(text("tier")),
        ssh_endpoint: Some(text("host:22")),
    }
}

fn full_enrolment(id: &str) -> Enrolment {
    Enrolment {
        id: executor_id(id),
        identity_provider: "spiffe ☃".to_owned(),
        identity: json(r#"{"serial":"0a","notAfter":1.00}"#),
        offer: Offer { tags: vec!["b".to_owned(), "a".to_owned()], ..Offer::default() },
        details: json(r#"{"z":[],"a":"\u0000"}"#),
        machine: Some(full_machine()),
        capacity: Some(u32::MAX),
    }
}

fn full_change() -> ExecutorChange {
    let rule = |user: &str, verbs: &[ExecutorVerb]| ExecutorRule {
        user: user.to_owned(),
        verbs: verbs.to_vec(),
    };
    ExecutorChange {
        set_labels: Labels::from_pairs(&["region=eu ☃".to_owned(), "b=".to_owned()]).unwrap(),
        add_tags: vec!["z".to_owned(), "gpu ☃".to_owned(), "z".to_owned()],
        rules: Some(vec![rule("ann", &[ExecutorVerb::Launch]), rule("*", &[])]),
        friendly_name: Some("The big one ☃".to_owned()),
        owner: Some("bob".to_owned()),
        ..ExecutorChange::default()
    }
}

async fn enrol(h: &dyn Harness, id: &str) -> Executor {
    h.store().enrol_executor(enrolment(id)).await.unwrap()
}

async fn change(h: &dyn Harness, id: &str, wanted: ExecutorChange) -> Executor {
    let by = Some("ann".to_owned());
    h.store().change_executor(executor_id(id), wanted, by).await.unwrap()
}

async fn set(h: &dyn Harness, id: &str, status: ExecutorStatus) -> Executor {
    change(h, id, ExecutorChange::to(status)).await
}

async fn kept(h: &dyn Harness, id: &str) -> Executor {
    h.store().executor(executor_id(id)).await.unwrap()
}

/// What happened to an executor, newest first: the kind and the data of each.
async fn history(h: &dyn Harness, id: &str) -> Vec<(String, String)> {
    let page = h.store().executor_history(Some(executor_id(id)), all()).await.unwrap();
    page.items.into_iter().map(|event| (event.kind, event.data.as_str().to_owned())).collect()
}

fn told(kind: &str, data: &str) -> (String, String) {
    (kind.to_owned(), data.to_owned())
}

pub async fn an_enrolment_is_kept_with_all_it_said(h: &mut dyn Harness) {
    let at = h.clock().now();
    let executor = h.store().enrol_executor(full_enrolment("spiffe://a/b")).await.unwrap();
    let said = full_enrolment("spiffe://a/b");
    let expected = Executor {
        identity_provider: said.identity_provider,
        identity: said.identity,
        offer: said.offer,
        details: said.details,
        machine: said.machine,
        capacity: said.capacity,
        ..new_executor("spiffe://a/b").register(at)
    };
    assert_eq!(executor, expected);
    h.reopen().await;
    assert_eq!(kept(h, "spiffe://a/b").await, expected);
    let listed = h.store().list_executors(ExecutorFilter::default(), all()).await.unwrap();
    assert_eq!(listed.items, [expected]);
}

pub async fn enrolling_again_replaces_what_it_said_and_nothing_the_operator_said(
    h: &mut dyn Harness,
) {
    h.store().enrol_executor(full_enrolment("e1")).await.unwrap();
    let first = change(h, "e1", full_change()).await;
    h.store().ask_executor_to_go(executor_id("e1")).await.unwrap();
    h.clock().advance_ms(10);
    let again = enrol(h, "e1").await;
    let said = enrolment("e1");
    let expected = Executor {
        offer: said.offer,
        details: said.details,
        identity_provider: said.identity_provider,
        identity: said.identity,
        machine: None,
        capacity: None,
        generation: 2,
        registered_at: h.clock().now(),
        seen_at: h.clock().now(),
        ..first
    };
    assert_eq!(again, expected);
    assert_eq!(kept(h, "e1").await, expected);
    let registered = h.store().register_executor(new_executor("e1")).await.unwrap();
    assert_eq!(registered.identity_provider, expected.identity_provider, "a token proves less");
    assert_eq!((registered.generation, registered.labels), (3, expected.labels));
}

pub async fn history_tells_of_an_enrolment_only_what_is_new(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    enrol(h, "e1").await;
    let first = told("enrolled", r#"{"identityProvider":"files"}"#);
    assert_eq!(history(h, "e1").await, std::slice::from_ref(&first), "the second said nothing new");
    let identity = json(r#"{"serial":"2"}"#);
    let rotated = Enrolment { identity, capacity: Some(3), ..enrolment("e1") };
    h.store().enrol_executor(rotated).await.unwrap();
    let again = told("re_enrolled", r#"{"changed":["identity","capacity"]}"#);
    assert_eq!(history(h, "e1").await, [again, first]);
}

pub async fn an_executor_is_changed_part_by_part_and_each_change_is_recorded(h: &mut dyn Harness) {
    let before = enrol(h, "e1").await;
    let at = h.clock().now();
    h.clock().advance_ms(10);
    let changed = change(h, "e1", full_change()).await;
    let expected = Executor {
        labels: full_change().set_labels,
        tags: vec!["gpu ☃".to_owned(), "z".to_owned()],
        authorization: full_change().rules.unwrap(),
        friendly_name: full_change().friendly_name,
        owner: full_change().owner,
        ..before.clone()
    };
    assert_eq!(changed, expected);
    let less = ExecutorChange {
        unset_labels: vec!["b".to_owned(), "nothing".to_owned()],
        remove_tags: vec!["z".to_owned(), "nothing".to_owned()],
        friendly_name: Some(String::new()),
        status: Some(ExecutorStatus::Draining),
        ..ExecutorChange::default()
    };
    let changed = change(h, "e1", less).await;
    let expected = Executor {
        labels: Labels::from_pairs(&["region=eu ☃".to_owned()]).unwrap(),
        tags: vec!["gpu ☃".to_owned()],
        friendly_name: None,
        status: ExecutorStatus::Draining,
        ..expected
    };
    assert_eq!(changed, expected);
    h.reopen().await;
    assert_eq!(kept(h, "e1").await, expected);
    let rows = h.store().executor_history(Some(executor_id("e1")), all()).await.unwrap().items;
    let kinds: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.at)).collect();
    let later = h.clock().now();
    let wanted = [("draining", later), ("changed", later), ("changed", later), ("enrolled", at)];
    assert_eq!(kinds, wanted);
    assert_eq!(rows[0].data.as_str(), r#"{"by":"ann"}"#);
    let said = r#"{"by":"ann","change":{"unsetLabels":["b","nothing"],"removeTags":["z","nothing"],"friendlyName":""}}"#;
    assert_eq!(rows[1].data.as_str(), said);
}

pub async fn a_change_of_nothing_is_no_change(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    let changed = change(h, "e1", full_change()).await;
    let before = everything(h).await;
    h.clock().advance_ms(10);
    for nothing in [
        ExecutorChange::default(),
        full_change(),
        ExecutorChange::to(ExecutorStatus::Active),
        ExecutorChange { remove_tags: vec!["nothing".to_owned()], ..ExecutorChange::default() },
    ] {
        assert_eq!(change(h, "e1", nothing).await, changed);
    }
    assert_eq!(everything(h).await, before);
}

pub async fn a_disabled_executor_stays_out_until_it_is_enabled(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    let disabled = set(h, "e1", ExecutorStatus::Disabled).await;
    let before = everything(h).await;
    let refused = h.store().enrol_executor(enrolment("e1")).await;
    assert_refused(h, &before, refused, "conflict executor e1").await;
    let refused = h.store().register_executor(new_executor("e1")).await;
    assert_refused(h, &before, refused, "conflict executor e1").await;
    let drained = ExecutorChange::to(ExecutorStatus::Draining);
    let refused = h.store().change_executor(executor_id("e1"), drained, None).await;
    assert_refused(h, &before, refused, "conflict executor e1").await;
    let refused = h.store().enrol_executor(enrolment("e1")).await.unwrap_err().to_string();
    assert!(refused.contains("disabled"), "{refused}");
    let enabled = set(h, "e1", ExecutorStatus::Active).await;
    assert_eq!(enabled, Executor { status: ExecutorStatus::Active, ..disabled });
    assert_eq!(enrol(h, "e1").await.generation, 2);
    let kinds: Vec<_> = history(h, "e1").await.into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["enabled", "disabled", "enrolled"]);
}

pub async fn a_revoked_executor_never_comes_again(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    set(h, "e1", ExecutorStatus::Revoked).await;
    let before = everything(h).await;
    let store = h.store();
    for status in [ExecutorStatus::Active, ExecutorStatus::Draining, ExecutorStatus::Disabled] {
        let change = ExecutorChange::to(status);
        let refused = store.change_executor(executor_id("e1"), change, None).await;
        assert_refused(h, &before, refused, "conflict executor e1").await;
    }
    let refused = store.enrol_executor(enrolment("e1")).await;
    assert_refused(h, &before, refused, "conflict executor e1").await;
    let refused = store.remove_executor(executor_id("e1")).await;
    assert_refused(h, &before, refused, "conflict executor e1").await;
    let named = ExecutorChange { owner: Some("ann".to_owned()), ..ExecutorChange::default() };
    assert_eq!(change(h, "e1", named).await.owner.as_deref(), Some("ann"));
}

/// A run of a new session that `e1` is at work on.
async fn at_work(h: &dyn Harness, new: NewRun) -> ah_model::Run {
    queue(h, new).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await
}

pub async fn what_an_executor_holds_is_lost_when_it_is_shut_out(h: &mut dyn Harness) {
    for status in [ExecutorStatus::Disabled, ExecutorStatus::Revoked] {
        let name = |text: &str| format!("{text}-{status}");
        enrol(h, "e1").await;
        let again = NewRun { requeue: true, ..first_run(&name("again")) };
        let again = at_work(h, again).await;
        let lost = at_work(h, first_run(&name("lost"))).await;
        set(h, "e1", status).await;
        assert_eq!(now(h, &lost).await.status, RunStatus::Failed);
        assert_eq!(now(h, &again).await.status, RunStatus::Pending);
        assert_eq!(claim(h, "e1").await, None, "it gets nothing");
        let taken = claim(h, "e2").await.unwrap();
        assert_eq!((taken.id, taken.lease_epoch), (again.id, 2));
        if status == ExecutorStatus::Disabled {
            set(h, "e1", ExecutorStatus::Active).await;
        }
    }
}

pub async fn a_draining_executor_keeps_what_it_has_and_gets_nothing_new(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    let held = at_work(h, first_run("s1")).await;
    set(h, "e1", ExecutorStatus::Draining).await;
    assert_eq!(now(h, &held).await, held);
    queue(h, first_run("s2")).await;
    assert_eq!(claim(h, "e1").await, None);
    assert_eq!(enrol(h, "e1").await.status, ExecutorStatus::Draining, "it may connect");
    h.store().renew_run(held.lease(), 1_000).await.unwrap();
    set(h, "e1", ExecutorStatus::Active).await;
    assert!(claim(h, "e1").await.is_some());
}

pub async fn executors_are_filtered_by_status_tag_and_label(h: &mut dyn Harness) {
    for n in 0..9 {
        let id = format!("e{n}");
        let tags = if n % 2 == 0 { vec!["even".to_owned()] } else { vec![] };
        let offer = Offer { tags, ..Offer::default() };
        h.store().enrol_executor(Enrolment { offer, ..enrolment(&id) }).await.unwrap();
        let given = ExecutorChange {
            add_tags: if n % 3 == 0 { vec!["third".to_owned()] } else { vec![] },
            set_labels: Labels::from_pairs(&[format!("zone={}", n % 4)]).unwrap(),
            status: Some(if n < 7 { ExecutorStatus::Active } else { ExecutorStatus::Draining }),
            ..ExecutorChange::default()
        };
        change(h, &id, given).await;
    }
    let labels = |pairs: &[&str]| {
        Labels::from_pairs(&pairs.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    };
    let tags = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
    let filter = |statuses: &[ExecutorStatus], tags, labels| ExecutorFilter {
        statuses: statuses.to_vec(),
        tags,
        labels,
    };
    let (active, draining) = (ExecutorStatus::Active, ExecutorStatus::Draining);
    let cases: [(ExecutorFilter, &[u32]); 6] = [
        (filter(&[draining], tags(&[]), labels(&[])), &[7, 8]),
        (filter(&[draining, active, draining], tags(&["third"]), labels(&[])), &[0, 3, 6]),
        (filter(&[], tags(&["even", "third"]), labels(&[])), &[0, 6]),
        (filter(&[active], tags(&["even"]), labels(&["zone=2"])), &[2, 6]),
        (filter(&[], tags(&["EVEN"]), labels(&[])), &[]),
        (filter(&[], tags(&[]), labels(&["zone=1", "other=1"])), &[]),
    ];
    for (filter, expected) in cases {
        for size in [1, 2, 50] {
            let store = h.store();
            let read = paged(size, |page| store.list_executors(filter.clone(), page)).await;
            let ids: Vec<_> = read.iter().map(|executor| executor.id.to_string()).collect();
            let expected: Vec<_> = expected.iter().map(|n| format!("e{n}")).collect();
            assert_eq!(ids, expected, "{filter:?} by {size}");
        }
    }
}

pub async fn history_outlives_the_executor_and_names_strangers(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    h.store().remove_executor(executor_id("e1")).await.unwrap();
    h.clock().advance_ms(10);
    let data = json(r#"{"reason":"identity","n":1.00}"#);
    let (stranger, kind) = (executor_id("x://?"), "refused ☃".to_owned());
    let noted = h.store().note_executor(stranger, kind, data.clone()).await.unwrap();
    let expected = ExecutorEvent {
        number: noted.number,
        executor_id: executor_id("x://?"),
        kind: "refused ☃".to_owned(),
        data,
        at: h.clock().now(),
    };
    assert_eq!(noted, expected);
    h.reopen().await;
    let rows = h.store().executor_history(None, all()).await.unwrap().items;
    let kinds: Vec<_> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["refused ☃", "removed", "enrolled"]);
    assert_eq!(rows[0], noted);
    assert_eq!(history(h, "e1").await[0], told("removed", "{}"));
    assert_eq!(history(h, "nobody").await, []);
    let gone = h.store().executor(executor_id("x://?")).await;
    assert_eq!(refusal(gone), "not-found executor x://?", "a note makes no executor");
}

pub async fn history_is_paged_newest_first_each_once(h: &mut dyn Harness) {
    let ids = ["e1", "e2"];
    for n in 0..7 {
        let (id, kind) = (executor_id(ids[n % 2]), format!("k{n}"));
        h.store().note_executor(id, kind, RawJson::null()).await.unwrap();
    }
    let store = h.store();
    let one = Some(executor_id("e1"));
    for (id, expected) in [(None, &[6, 5, 4, 3, 2, 1, 0][..]), (one.clone(), &[6, 4, 2, 0][..])] {
        for size in [1, 2, 3, 50] {
            let read = paged(size, |page| store.executor_history(id.clone(), page)).await;
            let kinds: Vec<_> = read.into_iter().map(|row| row.kind).collect();
            let expected: Vec<_> = expected.iter().map(|n| format!("k{n}")).collect();
            assert_eq!(kinds, expected, "{id:?} by {size}");
        }
    }
    let foreign = store.executor_history(one, from_cursor(Cursor::Text("e".to_owned()))).await;
    assert_eq!(refusal(foreign), "invalid cursor");
}

fn bad_enrolments() -> Vec<(Enrolment, &'static str)> {
    let large = json(&format!("\"{}\"", "x".repeat(EXECUTOR_JSON_BYTES_MAX)));
    let machine = |change: fn(&mut Machine)| {
        let mut machine = full_machine();
        change(&mut machine);
        Enrolment { machine: Some(machine), ..enrolment("e1") }
    };
    vec![
        (Enrolment { identity_provider: " ".to_owned(), ..enrolment("e1") }, "identityProvider"),
        (Enrolment { identity: large.clone(), ..enrolment("e1") }, "identity"),
        (Enrolment { details: large, ..enrolment("e1") }, "details"),
        (machine(|machine| machine.os_name.clear()), "machine.osName"),
        (machine(|machine| machine.storage_bytes = u64::MAX), "machine.storageBytes"),
        (machine(|machine| machine.agents.push(String::new())), "machine.agents"),
        (machine(|machine| machine.gpus[0].model.push('\0')), "machine.gpus.model"),
    ]
}

fn bad_changes() -> Vec<(ExecutorChange, &'static str)> {
    let tags = |count: usize| (0..count).map(|n| format!("t{n}")).collect::<Vec<_>>();
    let rule = ExecutorRule { user: String::new(), verbs: vec![] };
    let rules = vec![ExecutorRule { user: "a".to_owned(), ..rule.clone() }; EXECUTOR_RULES_MAX + 1];
    // As many as there may be, besides those that are there.
    let other = |n| ExecutorRule { user: format!("u{n}"), ..rule.clone() };
    let others: Vec<_> = (0..EXECUTOR_RULES_MAX).map(other).collect();
    let labels = (0..=LABELS_MAX).map(|n| (format!("k{n}"), String::new())).collect();
    let nothing = ExecutorChange::default;
    vec![
        (ExecutorChange { add_tags: tags(TAGS_MAX + 1), ..nothing() }, "addTags"),
        (ExecutorChange { add_tags: tags(TAGS_MAX), ..nothing() }, "tags"),
        (ExecutorChange { add_tags: vec![String::new()], ..nothing() }, "addTags"),
        (ExecutorChange { rules: Some(vec![rule.clone()]), ..nothing() }, "rules.user"),
        (ExecutorChange { set_rules: others, ..nothing() }, "rules"),
        (ExecutorChange { set_rules: vec![rule.clone()], ..nothing() }, "rules.user"),
        (ExecutorChange { unset_rules: tags(EXECUTOR_RULES_MAX + 1), ..nothing() }, "unsetRules"),
        (ExecutorChange { rules: Some(rules), ..nothing() }, "rules"),
        (ExecutorChange { set_labels: Labels(labels), ..nothing() }, "labels"),
        (ExecutorChange { owner: Some("a\0b".to_owned()), ..nothing() }, "owner"),
    ]
}

pub async fn rules_of_users_are_set_and_taken_away_one_by_one(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    let rule = |user: &str, verb| ExecutorRule { user: user.to_owned(), verbs: vec![verb] };
    let (launch, stop) = (ExecutorVerb::Launch, ExecutorVerb::Stop);
    let set = |rules| ExecutorChange { set_rules: rules, ..ExecutorChange::default() };
    // Who sets the rule of one user says nothing of others, whatever was set meanwhile.
    change(h, "e1", set(vec![rule("ann", launch)])).await;
    change(h, "e1", set(vec![rule("bob", stop), rule("*", stop)])).await;
    let changed = change(h, "e1", set(vec![rule("ann", stop)])).await;
    let [bob, everybody, ann] = [rule("bob", stop), rule("*", stop), rule("ann", stop)];
    assert_eq!(changed.authorization, [bob.clone(), everybody.clone(), ann]);
    let unset = ["ann", "nobody"].map(str::to_owned).to_vec();
    let less = ExecutorChange { unset_rules: unset, ..ExecutorChange::default() };
    assert_eq!(change(h, "e1", less).await.authorization, [bob.clone(), everybody]);
    // All at once: those before go, then these are set, then those are taken away.
    let all = ExecutorChange {
        rules: Some(vec![rule("eve", launch), bob.clone()]),
        set_rules: vec![rule("ann", launch)],
        unset_rules: vec!["eve".to_owned()],
        ..ExecutorChange::default()
    };
    let changed = change(h, "e1", all).await;
    assert_eq!(changed.authorization, [bob, rule("ann", launch)]);
    assert_eq!(h.store().executor(executor_id("e1")).await.unwrap(), changed);
}

pub async fn bad_enrolments_changes_and_notes_are_refused_and_nothing_is_written(
    h: &mut dyn Harness,
) {
    enrol(h, "e1").await;
    change(h, "e1", full_change()).await;
    let (store, id) = (h.store(), || executor_id("e1"));
    let before = everything(h).await;
    for (new, field) in bad_enrolments() {
        let refused = store.enrol_executor(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    for (wanted, field) in bad_changes() {
        let refused = store.change_executor(id(), wanted, None).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    let refused = store.note_executor(id(), String::new(), RawJson::null()).await;
    assert_refused(h, &before, refused, "invalid kind").await;
    let large = json(&format!("\"{}\"", "x".repeat(EXECUTOR_JSON_BYTES_MAX)));
    let refused = store.note_executor(id(), "k".to_owned(), large).await;
    assert_refused(h, &before, refused, "invalid data").await;
    let unknown = store.change_executor(executor_id("e2"), ExecutorChange::default(), None).await;
    assert_refused(h, &before, unknown, "not-found executor e2").await;
}

pub async fn racing_enrolments_are_counted_each(h: &mut dyn Harness) {
    let mut made =
        race(h, 8, |store, _| block_on(store.enrol_executor(enrolment("e1"))).unwrap().generation);
    made.sort_unstable();
    assert_eq!(made, (1..=8).collect::<Vec<u64>>());
    assert_eq!(history(h, "e1").await.len(), 1, "one was the first");
}

pub async fn of_a_disabling_racing_with_claims_nothing_is_left_with_it(h: &mut dyn Harness) {
    enrol(h, "e1").await;
    for n in 0..12 {
        queue(h, first_run(&format!("s{n}"))).await;
    }
    race(h, 4, |store, index| match index {
        0 => {
            let disabled = ExecutorChange::to(ExecutorStatus::Disabled);
            block_on(store.change_executor(executor_id("e1"), disabled, None)).map(drop)
        }
        _ => (0..4).try_for_each(|_| block_on(store.claim_run(claim_of("e1"))).map(drop)),
    })
    .into_iter()
    .for_each(|done| done.unwrap());
    let runs = h.store().list_runs(<_>::default(), all()).await.unwrap().items;
    assert!(runs.iter().all(|run| run.status == RunStatus::Pending), "{runs:?}");
}
