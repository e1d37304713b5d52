//! Fences: no step of a fleet runs before all its members have the leader's files.

use std::collections::BTreeMap;

use ah_model::limits::FENCE_MS_MAX;
use ah_model::{
    Demands, Fence, FenceId, FenceMember, FenceOutcome, FenceReport, FenceSaid, FenceStatus, Fleet,
    FleetDeed, FleetFiles, FleetsSwept, NewFence, NewFleet, NewStep, Run, RunStatus, Snapshot,
    fleet_events, fleet_reasons,
};
use ah_store::{Clock, StoreError, block_on};
use serde_json::json;

use crate::Harness;
use crate::feed::Reader;
use crate::given::{all, create, everything, id, log, paged, race, refusal};
use crate::given_fleet::{
    FENCE_MS, change, fence, fleet_of, form, held, hold, kinds, name, new_fence, new_fleet,
    newest_data, now, reached, run_of, say, say_as, snapshot, step, sweep,
};
use crate::given_run::{LEASE_MS, assert_refused, at_epoch, executor_id, runs_of, session};

const FENCE: i64 = 20_000;

fn with_step(session: &str) -> NewFence {
    let env = BTreeMap::from([("CI".to_owned(), "1".to_owned())]);
    let step = NewStep { env, timeout_ms: Some(7_000), ..step(&["make", "test"]) };
    NewFence { step: Some(step), requested_by: Some("ann".to_owned()), ..new_fence(session) }
}

/// The runs of steps of a session.
async fn steps(h: &dyn Harness, fleet: &Fleet) -> Vec<Run> {
    let hold = |run: &Run| fleet.members.iter().any(|member| member.run_id == run.id);
    let runs = runs_of(h, fleet.session_id.as_str()).await;
    runs.into_iter().filter(|run| !hold(run)).collect()
}

fn outcomes(fence: &Fence) -> Vec<Option<FenceOutcome>> {
    fence.members.iter().map(|member| member.outcome).collect()
}

pub async fn a_fence_begins_with_every_member_unheard(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    let mut reader = Reader::new(h).await;
    let begun = fence(h, with_step("s1")).await;
    reader.assert(h, &["fence-updated s1"]).await;
    let at = h.clock().now();
    assert_eq!((begun.status, begun.epoch, &begun.leader), (FenceStatus::Snapshot, 1, &name("a")));
    assert_eq!((begun.created_at, begun.deadline_at), (at, at.plus_ms(FENCE_MS)));
    let unheard = |member: &str| FenceMember {
        name: name(member),
        run_id: fleet.member(&name(member)).unwrap().run_id.clone(),
        outcome: None,
        detail: None,
        executor_id: None,
        at: None,
    };
    assert_eq!(begun.members, [unheard("a"), unheard("b")]);
    assert_eq!(begun.step.as_ref().unwrap().on, [name("a"), name("b")], "all of them");
    assert_eq!(now(h, &begun).await, begun);
    assert_eq!(h.store().open_fences().await.unwrap(), std::slice::from_ref(&begun));
    assert_eq!(kinds(h, "s1").await, [fleet_events::FORMED, fleet_events::FENCE_STARTED]);
    let told = json!({
        "fenceId": begun.id, "epoch": 1, "leader": "a", "members": ["a", "b"],
        "deadlineAt": begun.deadline_at,
    });
    assert_eq!(newest_data(h, "s1").await, told);
}

pub async fn a_fleet_has_one_open_fence_and_an_ended_one_none(h: &mut dyn Harness) {
    form(h, "s1", &["a"]).await;
    fence(h, new_fence("s1")).await;
    form(h, "s2", &["a"]).await;
    h.store().end_fleet(id("s2")).await.unwrap();
    form(h, "s3", &["a"]).await;
    create(h, "s4").await;
    let before = everything(h).await;
    for (session, expected) in [
        ("s1", "conflict session s1"),
        ("s2", "conflict session s2"),
        ("s4", "not-found fleet s4"),
        ("s9", "not-found fleet s9"),
    ] {
        let refused = h.store().start_fence(new_fence(session)).await;
        assert_refused(h, &before, refused, expected).await;
    }
    for timeout_ms in [0, FENCE_MS_MAX + 1] {
        let bad = NewFence { timeout_ms, ..new_fence("s3") };
        let refused = h.store().start_fence(bad).await;
        assert_refused(h, &before, refused, "invalid timeoutMs").await;
    }
    let foreign = NewStep { on: vec![name("x")], ..step(&["make"]) };
    let bad = NewFence { step: Some(foreign), ..new_fence("s3") };
    assert_refused(h, &before, h.store().start_fence(bad).await, "invalid step.on").await;
    let unknown: FenceId = "none".parse().unwrap();
    assert_eq!(refusal(h.store().fence(unknown).await), "not-found fence none");
    assert_eq!(refusal(h.store().list_fences(id("s9"), all()).await), "not-found session s9");
}

pub async fn the_step_is_queued_exactly_when_all_have_the_same_files(h: &mut dyn Harness) {
    create(h, "s1").await;
    let files = FleetFiles { directory: Some("/work".to_owned()), ..FleetFiles::default() };
    let new = NewFleet { files, ..new_fleet("s1", &["a", "b", "c"]) };
    let fleet = h.store().create_fleet(new).await.unwrap();
    for member in ["a", "b", "c"] {
        hold(h, &fleet, member).await;
    }
    let begun = fence(h, with_step("s1")).await;
    let pulled = say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    assert_eq!(pulled.status, FenceStatus::Pull);
    let FenceSaid::Snapshot(files) = snapshot("x") else { unreachable!() };
    assert_eq!(pulled.snapshot, Some(files.clone()));
    say_as(h, &begun, &fleet, "b", reached()).await.unwrap();
    assert_eq!(steps(h, &fleet).await, [], "one is missing");
    let before = session(h, "s1").await;
    h.clock().advance_ms(9);
    let at = h.clock().now();
    let mut reader = Reader::new(h).await;
    let all = say_as(h, &begun, &fleet, "c", reached()).await.unwrap();
    assert_eq!((all.status, all.ended_at), (FenceStatus::Consistent, Some(at)));
    let runs = steps(h, &fleet).await;
    let queued: Vec<String> = runs.iter().map(|run| format!("run-queued s1 {}", run.id)).collect();
    let mut told: Vec<&str> = queued.iter().map(String::as_str).collect();
    told.extend(["fence-updated s1", "fleet-updated s1"]);
    reader.assert(h, &told).await;

    let by_member = runs.iter().map(|run| (run.member.clone().unwrap(), run.id.clone()));
    assert_eq!(all.step.as_ref().unwrap().runs, by_member.collect::<BTreeMap<_, _>>());
    assert_eq!(runs.len(), 3);
    for run in &runs {
        let executor = executor_id(&format!("e-{}", run.member.as_ref().unwrap()));
        let demands = Demands { executor_id: Some(executor), ..Demands::default() };
        assert_eq!((run.status, &run.demands), (RunStatus::Pending, &demands));
        assert_eq!((run.timeout_ms, run.requested_by.as_deref()), (Some(7_000), Some("ann")));
        let told: serde_json::Value = run.parameters.read().unwrap();
        let argv = json!(["make", "test"]);
        let expected =
            json!({ "argv": argv, "env": { "CI": "1" }, "fence": all.id, "directory": "/work" });
        assert_eq!(told, expected);
    }
    let after = session(h, "s1").await;
    assert_eq!((after.status, after.last_seq), (before.status, before.last_seq + 1));
    let result = newest_data(h, "s1").await;
    assert_eq!(result, all.result_data());
    assert_eq!(result["snapshot"], json!(files));
    assert_eq!(result["runs"].as_object().unwrap().len(), 3);
    for member in fleet_of(h, "s1").await.members {
        assert_eq!(member.reached, Some(all.id.clone()), "{}", member.name);
    }
    assert_eq!(h.store().open_fences().await.unwrap(), []);
    // Each is for the one that has the files.
    assert_eq!(crate::given_run::claim(h, "e1").await, None);
    let taken = crate::given_run::claim(h, "e-b").await.unwrap();
    assert_eq!(taken.member, Some(name("b")));
    let before = everything(h).await;
    assert_eq!(say_as(h, &begun, &fleet, "c", reached()).await.unwrap(), all);
    assert_eq!(everything(h).await, before, "the same again is no change");
}

pub async fn a_step_runs_on_those_who_are_named(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    let only = NewStep { on: vec![name("b")], ..step(&["make"]) };
    let begun = fence(h, NewFence { step: Some(only), ..new_fence("s1") }).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    say_as(h, &begun, &fleet, "b", reached()).await.unwrap();
    let runs = steps(h, &fleet).await;
    assert_eq!(runs.iter().map(|run| run.member.clone()).collect::<Vec<_>>(), [Some(name("b"))]);
}

pub async fn a_leader_alone_is_consistent_with_its_snapshot(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let begun = fence(h, new_fence("s1")).await;
    let done = say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    assert_eq!(done.status, FenceStatus::Consistent);
    assert_eq!(newest_data(h, "s1").await["runs"], json!(null));
    // And the next may begin.
    fence(h, new_fence("s1")).await;
}

pub async fn only_the_holder_of_a_member_is_heard(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a", "b"]).await;
    let first = hold(h, &fleet, "a").await;
    h.store().lose_run(first.lease()).await.unwrap();
    let second = hold(h, &fleet, "a").await;
    let other = held(h, "s2", &["x"]).await;
    let stranger = run_of(h, &other, "x").await;
    let nobody = run_of(h, &fleet, "b").await;
    let begun = fence(h, new_fence("s1")).await;
    let before = everything(h).await;
    let refused_run = format!("conflict run {}", second.id);
    for lease in [first.lease(), at_epoch(&second, 3), at_epoch(&second, 0)] {
        let report = FenceReport { fence_id: begun.id.clone(), lease, what: snapshot("x") };
        let refused = h.store().report_fence(report).await;
        assert_refused(h, &before, refused, &refused_run).await;
    }
    let refused = say(h, &begun, &nobody, snapshot("x")).await;
    assert_refused(h, &before, refused, &format!("conflict run {}", nobody.id)).await;
    let refused = say(h, &begun, &stranger, reached()).await;
    assert_refused(h, &before, refused, &format!("conflict fence {}", begun.id)).await;
    let unknown = Run { id: "none".parse().unwrap(), ..second.clone() };
    let refused = say(h, &begun, &unknown, reached()).await;
    assert_refused(h, &before, refused, "not-found run none").await;
    say(h, &begun, &second, snapshot("x")).await.unwrap();
}

pub async fn nobody_speaks_out_of_turn_or_says_two_things(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    let begun = fence(h, new_fence("s1")).await;
    let conflict = format!("conflict fence {}", begun.id);
    let before = everything(h).await;
    for (member, what) in [("b", reached()), ("b", snapshot("x")), ("a", reached())] {
        let refused = say_as(h, &begun, &fleet, member, what).await;
        assert_refused(h, &before, refused, &conflict).await;
    }
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    let before = everything(h).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    assert_eq!(everything(h).await, before, "the same again is no change");
    let failed = || FenceSaid::Error { detail: "no".to_owned() };
    for what in [snapshot("y"), failed()] {
        let refused = say_as(h, &begun, &fleet, "a", what).await;
        assert_refused(h, &before, refused, &conflict).await;
    }
    let nameless =
        Snapshot { provider: "digest".to_owned(), name: String::new(), files: 0, bytes: 0 };
    let refused = say_as(h, &begun, &fleet, "b", FenceSaid::Snapshot(nameless)).await;
    assert_refused(h, &before, refused, "invalid snapshot.name").await;
}

pub async fn a_member_that_cannot_reach_it_fails_the_fence(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b", "c"]).await;
    let begun = fence(h, with_step("s1")).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    let late = FenceSaid::Timeout { detail: Some("3 files differ".to_owned()) };
    let open = say_as(h, &begun, &fleet, "b", late).await.unwrap();
    assert_eq!(open.status, FenceStatus::Pull, "the others are heard all the same");
    let failed = FenceSaid::Error { detail: "the disk is full".to_owned() };
    let done = say_as(h, &begun, &fleet, "c", failed).await.unwrap();
    assert_eq!(done.status, FenceStatus::Error);
    assert_eq!(steps(h, &fleet).await, []);
    let told = newest_data(h, "s1").await;
    assert_eq!((&told["status"], &told["laggards"]), (&json!("error"), &json!(["b"])));
    assert_eq!(told["members"][2]["detail"], json!("the disk is full"));
    assert_eq!(told["runs"], json!({}));
    let reached = fleet_of(h, "s1").await.members.into_iter().map(|member| member.reached);
    assert_eq!(reached.collect::<Vec<_>>(), [Some(begun.id), None, None]);
}

pub async fn a_leader_without_a_snapshot_ends_the_fence(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    let begun = fence(h, new_fence("s1")).await;
    let failed = FenceSaid::Error { detail: "no such directory".to_owned() };
    let done = say_as(h, &begun, &fleet, "a", failed).await.unwrap();
    assert_eq!(done.status, FenceStatus::Error);
    assert_eq!(done.members[0].detail.as_deref(), Some("no such directory"));
    assert_eq!(outcomes(&done), [Some(FenceOutcome::Error); 2]);
}

pub async fn a_sweep_ends_what_is_over_and_names_the_laggards(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b", "c"]).await;
    let begun = fence(h, with_step("s1")).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    say_as(h, &begun, &fleet, "b", reached()).await.unwrap();
    h.clock().advance_ms(FENCE - 1);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, FleetsSwept::default());
    assert_eq!(everything(h).await, before, "a millisecond is left");
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, FleetsSwept { fences: 1, leaders: 0 });
    let over = now(h, &begun).await;
    assert_eq!((over.status, over.ended_at), (FenceStatus::Timeout, Some(h.clock().now())));
    assert_eq!(over.laggards().collect::<Vec<_>>(), [&name("c")]);
    assert_eq!(newest_data(h, "s1").await, over.result_data());
    assert_eq!(steps(h, &fleet).await, []);
    let expected = [fleet_events::FORMED, fleet_events::FENCE_STARTED, fleet_events::FENCE_RESULT];
    assert_eq!(kinds(h, "s1").await, expected);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, FleetsSwept::default(), "once is enough");
    let refused = say_as(h, &begun, &fleet, "c", reached()).await;
    assert_refused(h, &before, refused, &format!("conflict fence {}", begun.id)).await;
}

pub async fn what_is_said_too_late_ends_the_fence_though_it_is_refused(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b", "c"]).await;
    let begun = fence(h, with_step("s1")).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    say_as(h, &begun, &fleet, "b", reached()).await.unwrap();
    h.clock().advance_ms(FENCE);
    let refused = say_as(h, &begun, &fleet, "c", reached()).await;
    assert_eq!(refusal(refused), format!("conflict fence {}", begun.id));
    let over = now(h, &begun).await;
    assert_eq!((over.status, over.ended_at), (FenceStatus::Timeout, Some(h.clock().now())));
    assert_eq!(over.laggards().collect::<Vec<_>>(), [&name("c")]);
    assert_eq!(newest_data(h, "s1").await, over.result_data());
    assert_eq!(steps(h, &fleet).await, []);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, FleetsSwept::default());
    assert_eq!(everything(h).await, before, "nothing is left to do");
    // Who had spoken in time is right, whenever it says so again.
    assert_eq!(say_as(h, &begun, &fleet, "b", reached()).await.unwrap(), over);
}

pub async fn who_does_not_hold_the_run_does_not_even_end_what_is_over(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let begun = fence(h, new_fence("s1")).await;
    h.clock().advance_ms(FENCE);
    let run = run_of(h, &fleet, "a").await;
    let before = everything(h).await;
    let lease = at_epoch(&run, 7);
    let report = FenceReport { fence_id: begun.id, lease, what: snapshot("x") };
    let refused = h.store().report_fence(report).await;
    assert_refused(h, &before, refused, &format!("conflict run {}", run.id)).await;
}

pub async fn a_change_of_the_fleet_gives_up_its_fence(h: &mut dyn Harness) {
    for (session, what, reason) in [
        ("s1", FleetDeed::Lead(name("b")), fleet_reasons::LEADER_CHANGED),
        ("s2", FleetDeed::Remove(name("b")), fleet_reasons::MEMBER_LEFT),
    ] {
        let fleet = held(h, session, &["a", "b"]).await;
        let begun = fence(h, with_step(session)).await;
        say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
        change(h, session, what).await.unwrap();
        let given_up = now(h, &begun).await;
        assert_eq!(given_up.status, FenceStatus::Error);
        let said = [Some(FenceOutcome::Consistent), Some(FenceOutcome::Error)];
        assert_eq!(outcomes(&given_up), said);
        assert_eq!(given_up.members[1].detail.as_deref(), Some(reason));
        assert_eq!(newest_data(h, session).await, given_up.result_data());
        assert_eq!(steps(h, &fleet).await, []);
        fence(h, new_fence(session)).await;
    }
}

pub async fn who_joins_or_leaves_beside_a_fence_does_not_disturb_it(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let begun = fence(h, with_step("s1")).await;
    change(h, "s1", FleetDeed::Add(Box::new(crate::given_fleet::member("b")))).await.unwrap();
    assert_eq!(now(h, &begun).await, begun);
    change(h, "s1", FleetDeed::Remove(name("b"))).await.unwrap();
    assert_eq!(now(h, &begun).await, begun);
    let done = say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    assert_eq!(done.status, FenceStatus::Consistent);
}

pub async fn the_end_of_a_fleet_gives_up_its_fence_and_stops_its_steps(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let first = fence(h, with_step("s1")).await;
    say_as(h, &first, &fleet, "a", snapshot("x")).await.unwrap();
    let second = fence(h, new_fence("s1")).await;
    h.store().end_fleet(id("s1")).await.unwrap();
    let given_up = now(h, &second).await;
    assert_eq!(given_up.members[0].detail.as_deref(), Some(fleet_reasons::ENDED));
    let stopped = steps(h, &fleet).await.into_iter().map(|run| run.status);
    assert_eq!(stopped.collect::<Vec<_>>(), [RunStatus::Stopped]);
    let kinds = kinds(h, "s1").await;
    assert_eq!(kinds[kinds.len() - 2..], [fleet_events::FENCE_RESULT, fleet_events::ENDED]);
}

pub async fn the_successor_is_who_reached_the_newest_fence(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b", "c"]).await;
    let begun = fence(h, new_fence("s1")).await;
    say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
    say_as(h, &begun, &fleet, "c", reached()).await.unwrap();
    let leader = run_of(h, &fleet, "a").await;
    h.store().lose_run(leader.lease()).await.unwrap();
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
    assert_eq!(fleet_of(h, "s1").await.leader, name("c"));
}

pub async fn fences_are_listed_newest_first_and_the_open_ones_oldest_first(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let mut expected = Vec::new();
    for n in 0..5 {
        h.clock().advance_ms(n);
        let begun = fence(h, new_fence("s1")).await;
        expected.push(say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap());
    }
    expected.push(fence(h, new_fence("s1")).await);
    expected.reverse();
    for size in [1, 2, 50] {
        let store = h.store();
        assert_eq!(paged(size, |page| store.list_fences(id("s1"), page)).await, expected);
    }
    form(h, "s2", &["a"]).await;
    let other = fence(h, new_fence("s2")).await;
    h.reopen().await;
    assert_eq!(h.store().open_fences().await.unwrap(), [expected[0].clone(), other]);
}

pub async fn of_racing_fences_one_begins(h: &mut dyn Harness) {
    for n in 0..5 {
        let session = format!("s{n}");
        form(h, &session, &["a"]).await;
        let answers =
            race(h, 3, move |store, _| block_on(store.start_fence(new_fence(&format!("s{n}")))));
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for refused in lost {
            assert_eq!(refusal(refused), format!("conflict session {session}"));
        }
        assert_eq!(kinds(h, &session).await, [fleet_events::FORMED, fleet_events::FENCE_STARTED]);
    }
}

pub async fn the_last_followers_at_once_queue_the_step_once(h: &mut dyn Harness) {
    for n in 0..5 {
        let session = format!("s{n}");
        let fleet = held(h, &session, &["a", "b", "c"]).await;
        let begun = fence(h, with_step(&session)).await;
        say_as(h, &begun, &fleet, "a", snapshot("x")).await.unwrap();
        let leases = [run_of(h, &fleet, "b").await.lease(), run_of(h, &fleet, "c").await.lease()];
        let fence_id = begun.id.clone();
        let answers = race(h, 4, move |store, thread| {
            let lease = leases[usize::try_from(thread % 2).unwrap()].clone();
            let report = FenceReport { fence_id: fence_id.clone(), lease, what: reached() };
            block_on(store.report_fence(report)).unwrap()
        });
        assert!(answers.iter().any(|fence| fence.status == FenceStatus::Consistent));
        assert_eq!(steps(h, &fleet).await.len(), 3);
        let results = log(h, &session).await.into_iter();
        let results = results.filter(|event| event.kind == fleet_events::FENCE_RESULT);
        assert_eq!(results.count(), 1);
    }
}

pub async fn of_a_sweep_racing_with_the_last_report_the_fence_ends_once(h: &mut dyn Harness) {
    for n in 0..5 {
        let session = format!("s{n}");
        let fleet = held(h, &session, &["a"]).await;
        let begun = fence(h, with_step(&session)).await;
        let lease = run_of(h, &fleet, "a").await.lease();
        h.store().renew_run(lease.clone(), LEASE_MS).await.unwrap();
        h.clock().advance_ms(FENCE);
        let fence_id = begun.id.clone();
        let answers = race(h, 2, move |store, thread| -> Result<u64, StoreError> {
            if thread == 0 {
                return Ok(block_on(store.sweep_fleets())?.fences);
            }
            let lease = lease.clone();
            let report = FenceReport { fence_id: fence_id.clone(), lease, what: snapshot("x") };
            block_on(store.report_fence(report)).map(|_| 9)
        });
        assert!(answers[0].as_ref().is_ok_and(|fences| *fences <= 1), "{answers:?}");
        assert!(answers[1].is_err(), "it is over, whoever says so");
        assert_eq!(now(h, &begun).await.status, FenceStatus::Timeout);
        let expected =
            [fleet_events::FORMED, fleet_events::FENCE_STARTED, fleet_events::FENCE_RESULT];
        assert_eq!(kinds(h, &session).await, expected);
        assert_eq!(steps(h, &fleet).await, []);
    }
}
