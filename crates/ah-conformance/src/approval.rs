//! Approvals: asked for, decided once, carried out.

use ah_model::{
    APPLY_COMMIT, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Cursor, Decision,
    Lifecycle, NewApproval, Party, RawJson, SPAWN, Verdict, limits,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{
    agent, all, create_agent, everything, from_cursor, json, paged, race, refusal, set_lifecycle,
};
use crate::given_hive::{
    agents, approval, approval_id, approvals, decide, destroy, mail_of, notice, party, pending,
    request, requested, the_dead, told,
};
use crate::given_run::assert_refused;

/// An `apply_commit` with a value in every field.
fn full(id: &str, agent: &str) -> NewApproval {
    NewApproval {
        commit_ref: Some("refs/heads/☃ '".to_owned()),
        commit: Some("0123456789abcdef0123456789abcdef01234567".to_owned()),
        reason: Some("because\n\"it\" is %_ better".to_owned()),
        details: json(r#"{"b":1.00,"a":"\ud800","z":{}}"#),
        ..request(id, agent, APPLY_COMMIT)
    }
}

pub async fn an_approval_is_kept_as_it_was_asked_for(h: &mut dyn Harness) {
    agents(h, &["Mira"]).await;
    for new in [full("p1", "mIRA"), request("p2", "Mira", "deploy-it_2")] {
        let asked = h.store().request_approval(new.clone()).await.unwrap();
        let expected =
            Approval { number: asked.number, agent: "Mira".to_owned(), ..pending(h, &new) };
        assert_eq!(asked, expected);
        h.clock().advance_ms(10);
        h.reopen().await;
        assert_eq!(approval(h, expected.id.as_str()).await, expected);
    }
    let minted = h.store().request_approval(NewApproval::new("Mira", "deploy")).await.unwrap();
    let all = approvals(h).await;
    assert_eq!(all.last(), Some(&minted));
    assert!(all.is_sorted_by(|one, two| one.number < two.number));
    assert_eq!(mail_of(h, "Mira").await, [], "asking tells nobody");
}

pub async fn bad_requests_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let plain = || request("p1", "mira", "deploy");
    let commit = full("p1", "mira").commit;
    let long = "x".repeat(limits::SHORT_TEXT_BYTES_MAX + 1);
    let bad = [
        (request("p1", "../x", "deploy"), "agent name"),
        (request("p1", "operator", "deploy"), "agent name"),
        (request("p1", "mira", "Deploy it"), "kind"),
        (request("p1", "mira", ""), "kind"),
        (request("p1", "mira", APPLY_COMMIT), "commit"),
        (NewApproval { commit: Some("abc".to_owned()), ..full("p1", "mira") }, "commit"),
        (NewApproval { commit, ..plain() }, "commit"),
        (NewApproval { commit_ref: Some(long), ..full("p1", "mira") }, "commitRef"),
        (NewApproval { commit_ref: Some("main".to_owned()), ..plain() }, "commitRef"),
        (NewApproval { reason: Some("a\0b".to_owned()), ..plain() }, "reason"),
        (NewApproval { details: RawJson::null(), ..plain() }, "details"),
    ];
    let before = everything(h).await;
    for (new, field) in bad {
        let refused = h.store().request_approval(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
}

pub async fn approvals_are_of_agents_that_live(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    the_dead(h).await;
    let before = everything(h).await;
    for (agent, refusal) in [
        ("nobody", "not-found agent nobody"),
        ("dead", "conflict agent dead"),
        ("gone", "conflict agent gone"),
    ] {
        let refused = h.store().request_approval(request("p1", agent, "deploy")).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    set_lifecycle(h, "mira", Lifecycle::Sleeping).await;
    requested(h, "p1", "mira", "deploy").await;
    let before = everything(h).await;
    let refused = h.store().request_approval(request("p1", "mira", "deploy")).await;
    assert_refused(h, &before, refused, "conflict approval p1").await;
    let refused = h.store().request_approval(request("p1", "mira", "deploy")).await.unwrap_err();
    assert_eq!(refused.to_string(), "approval p1: exists already");
}

pub async fn a_spawn_is_of_one_that_is_not_there(h: &mut dyn Harness) {
    agents(h, &["mira", "sleeper"]).await;
    the_dead(h).await;
    set_lifecycle(h, "sleeper", Lifecycle::Sleeping).await;
    let before = everything(h).await;
    for living in ["mira", "sleeper", "dead"] {
        let refused = h.store().request_approval(request("p1", living, SPAWN)).await;
        assert_refused(h, &before, refused, &format!("conflict agent {living}")).await;
    }
    let refused = h.store().request_approval(request("p1", "mira", SPAWN)).await.unwrap_err();
    assert_eq!(refused.to_string(), "agent mira: is active and was not destroyed");
    let gone = requested(h, "p1", "GONE", SPAWN).await;
    assert_eq!(gone.agent, "gone", "as it is spelled here");
    let new = requested(h, "p2", "Newcomer", SPAWN).await;
    assert_eq!(new.agent, "Newcomer");
}

pub async fn one_that_waits_for_its_spawn_gets_that_answer_again(h: &mut dyn Harness) {
    the_dead(h).await;
    let first = requested(h, "p1", "newcomer", SPAWN).await;
    let gone = requested(h, "p2", "gone", SPAWN).await;
    let before = everything(h).await;
    h.clock().advance_ms(10);
    assert_eq!(requested(h, "p3", "NEWCOMER", SPAWN).await, first);
    assert_eq!(requested(h, "p4", "Gone", SPAWN).await, gone);
    assert_eq!(everything(h).await, before);
    decide(h, "p1", Verdict::Denied).await;
    let next = requested(h, "p3", "newcomer", SPAWN).await;
    assert_eq!(next.id, approval_id("p3"), "that one was decided");
    // Other kinds are asked for as often as one likes.
    agents(h, &["mira"]).await;
    requested(h, "p5", "mira", "deploy").await;
    assert_eq!(requested(h, "p6", "mira", "deploy").await.id, approval_id("p6"));
}

pub async fn an_approval_is_decided_once_and_the_agent_told(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    use Verdict::{Approved, Denied, Failed, Withdrawn};
    for verdict in [Approved, Denied, Failed, Withdrawn] {
        let id = verdict.to_string();
        let asked = requested(h, &id, "mira", "deploy").await;
        h.clock().advance_ms(10);
        let decision = Decision {
            verdict,
            by: party("operator"),
            resolver: Some("ann ☃".to_owned()),
            note: Some("so it 'is'".to_owned()),
        };
        let decided = h.store().decide_approval(approval_id(&id), decision.clone()).await.unwrap();
        let expected = Approval {
            status: verdict.status(),
            resolved_at: Some(h.clock().now()),
            resolved_by: Some(Party::Operator),
            resolver: decision.resolver.clone(),
            note: decision.note.clone(),
            ..asked
        };
        assert_eq!(decided, expected);
        let body = format!("deploy ({id}) {}: so it 'is'", verdict.status());
        let told_now = told(h, "mira").await;
        assert_eq!(told_now.last(), Some(&notice("decision", "operator", body, &id)));
        h.clock().advance_ms(10);
        h.reopen().await;
        let done = everything(h).await;
        let other = Decision { resolver: Some("bea".to_owned()), note: None, ..decision };
        let again = h.store().decide_approval(approval_id(&id), other.clone()).await.unwrap();
        assert_eq!(again, expected, "the same again is no change, whoever says it");
        assert_eq!(everything(h).await, done);
        for another in [Approved, Denied, Failed, Withdrawn] {
            if another != verdict {
                let decision = Decision { verdict: another, ..other.clone() };
                let refused = h.store().decide_approval(approval_id(&id), decision).await;
                assert_refused(h, &done, refused, &format!("conflict approval {id}")).await;
            }
        }
    }
    let other = Decision::operator(Approved);
    let refused = h.store().decide_approval(approval_id("denied"), other).await;
    let said = "approval denied: is already denied by operator (ann ☃)";
    assert_eq!(refused.unwrap_err().to_string(), said);
    assert_eq!(mail_of(h, "mira").await.len(), 4, "each was told once");
}

pub async fn an_agent_may_only_withdraw_what_is_its_own(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    requested(h, "p1", "mira", "deploy").await;
    let by = |verdict, name: &str| Decision { by: party(name), ..Decision::operator(verdict) };
    let before = everything(h).await;
    for verdict in [Verdict::Approved, Verdict::Denied, Verdict::Failed] {
        let refused = h.store().decide_approval(approval_id("p1"), by(verdict, "mira")).await;
        assert_refused(h, &before, refused, "invalid by").await;
    }
    let withdrawn = |name: &str| by(Verdict::Withdrawn, name);
    for (name, refusal) in [("bob", "conflict approval p1"), ("nobody", "not-found agent nobody")] {
        let refused = h.store().decide_approval(approval_id("p1"), withdrawn(name)).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let refused = h.store().decide_approval(approval_id("p1"), withdrawn("bob")).await.unwrap_err();
    assert_eq!(refused.to_string(), "approval p1: is about Mira, not about bob");
    let done = h.store().decide_approval(approval_id("p1"), withdrawn("MIRA")).await.unwrap();
    assert_eq!((done.status, done.resolved_by), (ApprovalStatus::Withdrawn, Some(party("Mira"))));
    assert_eq!(mail_of(h, "Mira").await, [], "it knows what it did itself");
    let done = everything(h).await;
    let refused = h.store().decide_approval(approval_id("p1"), withdrawn("bob")).await;
    assert_refused(h, &done, refused, "conflict approval p1").await;
}

pub async fn bad_decisions_are_refused_and_change_nothing(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    requested(h, "p1", "mira", "deploy").await;
    let plain = || Decision::operator(Verdict::Approved);
    let long = || Some("x".repeat(limits::SHORT_TEXT_BYTES_MAX + 1));
    let before = everything(h).await;
    for (decision, field) in [
        (Decision { note: long(), ..plain() }, "note"),
        (Decision { note: Some("\0".to_owned()), ..plain() }, "note"),
        (Decision { resolver: long(), ..plain() }, "resolver"),
    ] {
        let refused = h.store().decide_approval(approval_id("p1"), decision).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    decide(h, "p1", Verdict::Approved).await;
    let before = everything(h).await;
    for problem in [long(), Some("a\0b".to_owned())] {
        let refused = h.store().carried_out(approval_id("p1"), problem).await;
        assert_refused(h, &before, refused, "invalid problem").await;
    }
}

pub async fn what_was_approved_is_carried_out_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    h.store().request_approval(full("p1", "mira")).await.unwrap();
    let before = everything(h).await;
    let refused = h.store().carried_out(approval_id("p1"), None).await;
    assert_refused(h, &before, refused, "conflict approval p1").await;
    let approved = decide(h, "p1", Verdict::Approved).await;
    assert!(approved.is_to_be_carried_out());
    h.clock().advance_ms(10);
    let problem = || Some("disk is full ☃".to_owned());
    let stuck = h.store().carried_out(approval_id("p1"), problem()).await.unwrap();
    assert_eq!(stuck, Approval { problem: problem(), ..approved.clone() });
    assert_eq!(approval(h, "p1").await, stuck);
    h.clock().advance_ms(10);
    let done = h.store().carried_out(approval_id("p1"), None).await.unwrap();
    let expected = Approval { carried_out_at: Some(h.clock().now()), ..approved };
    assert_eq!(done, expected);
    h.clock().advance_ms(10);
    for problem in [None, problem()] {
        let again = h.store().carried_out(approval_id("p1"), problem).await.unwrap();
        assert_eq!(again, expected, "what was carried out stays so");
    }
    h.reopen().await;
    assert_eq!(approval(h, "p1").await, expected);
    for verdict in [Verdict::Denied, Verdict::Failed, Verdict::Withdrawn] {
        let id = verdict.to_string();
        requested(h, &id, "mira", "deploy").await;
        decide(h, &id, verdict).await;
        let refused = h.store().carried_out(approval_id(&id), None).await;
        assert_eq!(refusal(refused), format!("conflict approval {id}"));
    }
}

pub async fn the_spawn_of_a_newcomer_is_the_hosts_to_carry_out(h: &mut dyn Harness) {
    requested(h, "p1", "newcomer", SPAWN).await;
    let approved = decide(h, "p1", Verdict::Approved).await;
    assert!(approved.is_to_be_carried_out());
    assert_eq!(h.store().agent_of_name("newcomer".to_owned()).await.unwrap(), None);
    assert_eq!(mail_of(h, "newcomer").await, [], "there is nobody to tell");
    create_agent(h, "newcomer").await;
    let done = h.store().carried_out(approval_id("p1"), None).await.unwrap();
    assert_eq!(done.carried_out_at, Some(h.clock().now()));
    assert_eq!(agent(h, "newcomer").await.lifecycle, Lifecycle::Active);
}

pub async fn the_dead_are_told_of_decisions_as_well(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    requested(h, "p1", "mira", "deploy").await;
    set_lifecycle(h, "mira", Lifecycle::Dead).await;
    assert_eq!(approval(h, "p1").await.status, ApprovalStatus::Pending, "retiring decides nothing");
    decide(h, "p1", Verdict::Denied).await;
    assert_eq!(told(h, "mira").await, [notice("decision", "operator", "deploy (p1) denied", "p1")]);
}

pub async fn each_filter_of_approvals_alone_and_together_lists_what_matches(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    for n in 0..9 {
        h.clock().advance_ms(-1);
        let (agent, kind) = (["mira", "bob"][n % 2], ["deploy", "delete", "move"][n % 3]);
        requested(h, &format!("p{n}"), agent, kind).await;
    }
    decide(h, "p1", Verdict::Approved).await;
    decide(h, "p4", Verdict::Denied).await;
    let mut all_approvals = approvals(h).await;
    all_approvals.reverse();
    let none = ApprovalFilter::default();
    let statuses = |statuses: &[ApprovalStatus]| ApprovalFilter {
        statuses: statuses.to_vec(),
        ..ApprovalFilter::default()
    };
    let filters = [
        none.clone(),
        statuses(&[ApprovalStatus::Pending]),
        statuses(&[ApprovalStatus::Approved, ApprovalStatus::Denied]),
        ApprovalFilter { agent: Some("MIRA".to_owned()), ..none.clone() },
        ApprovalFilter { kind: Some("move".to_owned()), ..none.clone() },
        ApprovalFilter {
            agent: Some("bob".to_owned()),
            kind: Some("delete".to_owned()),
            statuses: vec![ApprovalStatus::Approved],
            to_carry_out: false,
        },
    ];
    for filter in filters {
        let expected: Vec<_> =
            all_approvals.iter().filter(|approval| filter.matches(approval)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?} shows something");
        assert!(filter == none || expected.len() < all_approvals.len(), "{filter:?} hides some");
        for size in [1, 2, 50] {
            let store = h.store();
            let read = paged(size, |page| store.list_approvals(filter.clone(), page)).await;
            assert_eq!(read, expected, "{filter:?} in pages of {size}");
        }
    }
    for hostile in ["nobody", "%", "mir_"] {
        let filter = ApprovalFilter { agent: Some(hostile.to_owned()), ..none.clone() };
        assert_eq!(h.store().list_approvals(filter, all()).await.unwrap().items, []);
    }
    let foreign = from_cursor(Cursor::Text("p1".to_owned()));
    let foreign = h.store().list_approvals(none, foreign).await;
    assert_eq!(refusal(foreign), "invalid cursor");
}

pub async fn what_is_still_to_be_carried_out_is_listed(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for (id, agent) in [("c1", "mira"), ("c2", "bob"), ("c3", "mira"), ("c4", "mira")] {
        h.store().request_approval(full(id, agent)).await.unwrap();
    }
    requested(h, "d1", "mira", "deploy").await;
    requested(h, "s1", "newcomer", SPAWN).await;
    for id in ["c1", "c2", "c4", "d1", "s1"] {
        decide(h, id, Verdict::Approved).await;
    }
    decide(h, "c3", Verdict::Denied).await;
    for (id, problem) in [("c1", None), ("c2", Some("not yet".to_owned()))] {
        h.store().carried_out(approval_id(id), problem).await.unwrap();
    }
    let due = ApprovalFilter { to_carry_out: true, ..ApprovalFilter::default() };
    let of_mira = ApprovalFilter { agent: Some("Mira".to_owned()), ..due.clone() };
    let spawns = ApprovalFilter { kind: Some(SPAWN.to_owned()), ..due.clone() };
    let pending = ApprovalFilter { statuses: vec![ApprovalStatus::Pending], ..due.clone() };
    let shown: [(_, &[&str]); 4] =
        [(due, &["s1", "c4", "c2"]), (of_mira, &["c4"]), (spawns, &["s1"]), (pending, &[])];
    for (filter, expected) in shown {
        for size in [1, 50] {
            let store = h.store();
            let read = paged(size, |page| store.list_approvals(filter.clone(), page)).await;
            let ids: Vec<_> = read.iter().map(|approval| approval.id.as_str()).collect();
            assert_eq!(ids, expected, "{filter:?} in pages of {size}");
        }
    }
}

pub async fn an_approval_is_found_by_the_beginning_of_its_id(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for id in ["abc1", "abc2", "abc3", "b"] {
        requested(h, id, "mira", "deploy").await;
    }
    let store = h.store();
    let with = async |prefix: &str| {
        let ids = store.approval_ids_with_prefix(prefix.to_owned()).await.unwrap();
        ids.iter().map(ApprovalId::to_string).collect::<Vec<_>>()
    };
    assert_eq!(with("abc").await, ["abc1", "abc2"]);
    assert_eq!(with("b").await, ["b"]);
    for none in ["x", "%", "_", "ABC"] {
        assert_eq!(with(none).await, Vec::<String>::new(), "{none}");
    }
    let not_found = "not-found approval p0";
    assert_eq!(refusal(store.approval(approval_id("p0")).await), not_found);
    let decision = Decision::operator(Verdict::Approved);
    assert_eq!(refusal(store.decide_approval(approval_id("p0"), decision).await), not_found);
    assert_eq!(refusal(store.carried_out(approval_id("p0"), None).await), not_found);
}

pub async fn each_of_many_approvals_is_decided_once_by_racing_operators(h: &mut dyn Harness) {
    const APPROVALS: u64 = 25;
    agents(h, &["mira"]).await;
    for n in 0..APPROVALS {
        requested(h, &format!("p{n}"), "mira", "deploy").await;
    }
    let verdicts = [Verdict::Approved, Verdict::Denied];
    let answers = race(h, 8, move |store, thread| {
        let decide = |n: u64| {
            // Each begins at another one, so that they meet.
            let id = approval_id(&format!("p{}", (n + 3 * thread) % APPROVALS));
            let verdict = verdicts[usize::try_from(thread % 2).unwrap()];
            let resolver = Some(format!("op{thread}"));
            let decision = Decision { resolver, ..Decision::operator(verdict) };
            (id.clone(), block_on(store.decide_approval(id, decision)))
        };
        (0..APPROVALS).map(decide).collect::<Vec<_>>()
    });
    for (id, answer) in answers.into_iter().flatten() {
        let kept = approval(h, id.as_str()).await;
        match answer {
            Ok(answer) => assert_eq!(answer, kept, "all who were heard saw the one decision"),
            Err(error) => assert_eq!(refusal::<()>(Err(error)), format!("conflict approval {id}")),
        }
    }
    for decided in approvals(h).await {
        let thread: usize = decided.resolver.as_ref().unwrap()[2..].parse().unwrap();
        assert_eq!(decided.status, verdicts[thread % 2].status());
    }
    assert_eq!(mail_of(h, "mira").await.len() as u64, APPROVALS, "each is told once");
}

pub async fn of_racing_spawns_of_one_name_one_is_asked_for(h: &mut dyn Harness) {
    agents(h, &["gone"]).await;
    destroy(h, "gone").await;
    for name in ["newcomer", "gone"] {
        let asked = race(h, 6, move |store, _| {
            block_on(store.request_approval(NewApproval::new(name, SPAWN))).unwrap()
        });
        assert!(asked.iter().all(|approval| *approval == asked[0]), "{asked:?}");
    }
    assert_eq!(approvals(h).await.len(), 2);
}
