//! What an access point does about those who connect.

use ah_access::frame::{
    Frame, GoodbyeReason, Happened, HeldRun, HeldState, Hello, RefusedReason, Report, ReportItem,
};
use ah_access::point::{Input, Output, Stream};
use ah_model::{
    Demands, ExecutorChange, ExecutorStatus, FleetFiles, NewFleet, NewMember, RawJson, Run,
    RunStatus,
};
use ah_store::block_on;

use crate::desk::{Desk, HEARTBEAT_MS, beat, executor, hello};

fn refusal(frame: &Frame) -> Option<RefusedReason> {
    match frame {
        Frame::Refused(refused) => Some(refused.reason),
        _ => None,
    }
}

fn goodbye(frame: &Frame) -> Option<GoodbyeReason> {
    match frame {
        Frame::Goodbye(goodbye) => Some(goodbye.reason),
        _ => None,
    }
}

fn launched(frame: &Frame) -> Option<(String, u64)> {
    match frame {
        Frame::Launch(launch) => Some((launch.run_id.to_string(), launch.epoch)),
        _ => None,
    }
}

fn held(run: &Run, state: HeldState) -> HeldRun {
    HeldRun { run_id: run.id.clone(), epoch: 1, state }
}

fn status_of(desk: &Desk, run: &Run) -> RunStatus {
    block_on(desk.store.run(run.id.clone())).unwrap().status
}

fn kinds(desk: &Desk, node: &str) -> Vec<String> {
    let page = ah_model::PageRequest { limit: ah_model::PageLimit::MAX, cursor: None };
    let history = block_on(desk.store.executor_history(Some(executor(node)), page)).unwrap();
    history.items.into_iter().map(|event| event.kind).collect()
}

#[test]
fn who_says_nothing_is_closed() {
    let mut desk = Desk::new();
    let connection = desk.connect(1, "a");
    assert!(desk.pass(4_999).closed.is_empty());
    assert_eq!(desk.pass(1).closed, [(connection, "no-hello")]);
}

#[test]
fn who_names_another_is_refused() {
    let mut desk = Desk::new();
    let connection = desk.connect(1, "a");
    let said = desk.control(connection, hello("b"));
    assert_eq!(said.frame(refusal), RefusedReason::IdentityMismatch);
    assert!(said.work.is_empty(), "nothing of it reaches the store");
}

#[test]
fn an_executor_is_written_down_before_it_is_taken() {
    let mut desk = Desk::new();
    let connection = desk.connect(1, "a");
    let frame = hello("a").into();
    let input = Input::Frame { connection, stream: Stream::Control, frame };
    let outputs = desk.tell_only(input);
    let [Output::Work(_)] = outputs.as_slice() else { panic!("{outputs:?}") };
    assert!(desk.point.executor(&executor("a")).is_none());
}

#[test]
fn disabled_and_revoked_executors_are_refused_and_drained_ones_are_not() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    for (number, status, word) in [
        (2, ExecutorStatus::Draining, None),
        (3, ExecutorStatus::Disabled, Some(RefusedReason::Disabled)),
        (4, ExecutorStatus::Revoked, Some(RefusedReason::Revoked)),
    ] {
        let change = ExecutorChange { status: Some(status), ..ExecutorChange::default() };
        block_on(desk.store.change_executor(executor("a"), change, None)).unwrap();
        let said = desk.admit(number, "a");
        assert_eq!(said.frames.iter().find_map(|(_, _, frame)| refusal(frame)), word);
    }
}

#[test]
fn an_executor_that_is_disabled_while_it_is_connected_has_to_go() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let status = Some(ExecutorStatus::Disabled);
    let change = ExecutorChange { status, ..ExecutorChange::default() };
    block_on(desk.store.change_executor(executor("a"), change, None)).unwrap();
    let said = desk.tell(Input::Changed { executor: executor("a") });
    assert_eq!(said.frame(goodbye), GoodbyeReason::Revoked);
    assert!(desk.point.executor(&executor("a")).is_none());
}

#[test]
fn a_newer_connection_takes_the_place_of_the_older() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let said = desk.admit(2, "a");
    assert_eq!(said.frame(goodbye), GoodbyeReason::Replaced);
    assert_eq!(said.closed.len(), 1);
    assert!(desk.point.executor(&executor("a")).is_some());
}

#[test]
fn a_heartbeat_asks_nothing_of_the_store() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let connection = ah_access::point::ConnectionId(1);
    for number in 1..=100 {
        let said = desk.control(connection, beat(number, vec![held(&run, HeldState::Running)]));
        assert!(said.work.is_empty(), "{:?}", said.work);
        let left = said.frame(|frame| match frame {
            Frame::HeartbeatAck(ack) => ack.lease_left_ms,
            _ => None,
        });
        assert_eq!(left, crate::desk::LEASE_MS);
    }
}

#[test]
fn a_heartbeat_that_comes_again_ends_the_connection() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let connection = ah_access::point::ConnectionId(1);
    desk.control(connection, beat(2, Vec::new()));
    let said = desk.control(connection, beat(2, Vec::new()));
    assert_eq!(said.closed, [(connection, "beat-replayed")]);
}

#[test]
fn who_falls_silent_is_told_so_and_its_runs_stay_leased() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let said = desk.pass(3 * HEARTBEAT_MS);
    assert_eq!(said.frame(goodbye), GoodbyeReason::Silent);
    assert_eq!(status_of(&desk, &run), RunStatus::Claimed);
}

fn report(outbox: &str, seq: u64) -> Report {
    let item = ReportItem {
        seq,
        run_id: "run-1".parse().unwrap(),
        epoch: 1,
        session_id: "ses-1".parse().unwrap(),
        dedup_key: format!("key-{seq}"),
        at: ah_model::Timestamp::EPOCH,
        what: Happened::Event { kind: "hostLog".to_owned(), data: RawJson::null() },
    };
    Report { outbox_id: outbox.parse().unwrap(), items: vec![item] }
}

#[test]
fn reports_of_another_outbox_too_many_and_with_gaps_end_the_connection() {
    let connection = ah_access::point::ConnectionId(1);
    let of =
        |report: Report| Input::Frame { connection, stream: Stream::Reports, frame: report.into() };
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let said = desk.tell(of(report("another", 1)));
    assert_eq!(said.closed, [(connection, "outbox-changed")]);

    let mut desk = Desk::new();
    desk.admit(1, "a");
    desk.tell_only(of(report("outbox-a", 1)));
    desk.tell_only(of(report("outbox-a", 2)));
    let said = desk.tell(of(report("outbox-a", 3)));
    assert_eq!(said.closed, [(connection, "too-many-reports")]);

    let mut desk = Desk::new();
    desk.admit(1, "a");
    let said = desk.tell(of(report("outbox-a", 7)));
    assert_eq!(said.closed, [(connection, "bad-report")]);
}

#[test]
fn what_nobody_holds_is_refused_and_recorded() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let connection = ah_access::point::ConnectionId(1);
    let frame = report("outbox-a", 1).into();
    let said = desk.tell(Input::Frame { connection, stream: Stream::Reports, frame });
    let refused = said.frame(|frame| match frame {
        Frame::ReportAck(ack) => Some((ack.through, ack.refused.len())),
        _ => None,
    });
    assert_eq!(refused, (1, 1));
    assert!(kinds(&desk, "a").contains(&"stale_report".to_owned()), "{:?}", kinds(&desk, "a"));
}

#[test]
fn a_claim_that_its_executor_never_heard_of_is_launched_again_when_it_comes() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    desk.queue("1", |_| {});
    assert_eq!(desk.tell(Input::Stirred).frame(launched), ("run-1".to_owned(), 1));
    desk.tell(Input::Closed { connection: ah_access::point::ConnectionId(1) });
    assert_eq!(desk.admit(2, "a").frame(launched), ("run-1".to_owned(), 1));
}

#[test]
fn a_run_at_work_that_its_executor_knows_nothing_of_is_lost() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let lease = block_on(desk.store.run(run.id.clone())).unwrap().lease();
    block_on(desk.store.start_run(lease)).unwrap();
    desk.tell(Input::Closed { connection: ah_access::point::ConnectionId(1) });
    desk.admit(2, "a");
    assert_eq!(status_of(&desk, &run), RunStatus::Failed);
}

#[test]
fn a_run_is_not_lost_while_heartbeats_are_late() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let lease = block_on(desk.store.run(run.id.clone())).unwrap().lease();
    block_on(desk.store.start_run(lease)).unwrap();
    let connection = desk.connect(2, "a");
    let held = vec![ah_access::frame::Held { run_id: run.id.clone(), epoch: 1 }];
    desk.control(connection, Hello { held, ..hello("a") });
    for _ in 0..20 {
        desk.tell(Input::Changed { executor: executor("a") });
        desk.pass(HEARTBEAT_MS / 10);
    }
    assert_eq!(status_of(&desk, &run), RunStatus::Running);
}

#[test]
fn a_run_that_its_executor_names_no_more_is_lost_and_that_is_recorded() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let lease = block_on(desk.store.run(run.id.clone())).unwrap().lease();
    block_on(desk.store.start_run(lease)).unwrap();
    for number in 1..=20 {
        desk.control(ah_access::point::ConnectionId(1), beat(number, Vec::new()));
        desk.pass(HEARTBEAT_MS);
    }
    assert_eq!(status_of(&desk, &run), RunStatus::Failed);
    assert!(kinds(&desk, "a").contains(&"drift".to_owned()), "{:?}", kinds(&desk, "a"));
}

#[test]
fn what_differs_from_the_store_is_mended_and_recorded() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.tell(Input::Stirred);
    let connection = ah_access::point::ConnectionId(1);
    let mut told = Vec::new();
    // Somebody takes the run away behind the access point's back.
    let lease = block_on(desk.store.run(run.id.clone())).unwrap().lease();
    block_on(desk.store.lose_run(lease)).unwrap();
    block_on(desk.store.stop_run(run.id.clone())).unwrap();
    for number in 1..=20 {
        let beat = beat(number, vec![held(&run, HeldState::Running)]);
        let said = desk.control(connection, beat);
        told.extend(said.frames.into_iter().filter_map(|(_, _, frame)| match frame {
            Frame::HeartbeatAck(ack) if !ack.lost.is_empty() => Some(number),
            _ => None,
        }));
        desk.pass(HEARTBEAT_MS);
    }
    assert!(!told.is_empty(), "the executor hears that the run is not its own");
    let presence = desk.point.executor(&executor("a")).unwrap();
    assert!(presence.assignments.is_empty());
}

#[test]
fn a_run_goes_to_an_executor_that_has_what_it_demands() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    desk.admit(2, "b");
    let tags = vec!["gpu".to_owned()];
    let change = ExecutorChange { add_tags: tags.clone(), ..ExecutorChange::default() };
    block_on(desk.store.change_executor(executor("b"), change, None)).unwrap();
    desk.tell(Input::Changed { executor: executor("b") });
    let run = desk.queue("1", |run| run.demands = Demands { tags, ..Demands::default() });
    desk.tell(Input::Stirred);
    let run = block_on(desk.store.run(run.id)).unwrap();
    assert_eq!(run.executor_id, Some(executor("b")));
}

#[test]
fn nobody_gets_more_than_it_has_places_for_and_who_is_drained_gets_nothing() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    desk.admit(2, "b");
    let status = Some(ExecutorStatus::Draining);
    let change = ExecutorChange { status, ..ExecutorChange::default() };
    block_on(desk.store.change_executor(executor("b"), change, None)).unwrap();
    desk.tell(Input::Changed { executor: executor("b") });
    let runs: Vec<Run> = (0..5).map(|number| desk.queue(&number.to_string(), |_| {})).collect();
    desk.tell(Input::Stirred);
    let claimed = runs.iter().filter(|run| status_of(&desk, run) == RunStatus::Claimed);
    assert_eq!(claimed.count(), 2, "as many as the capacity of the one that takes runs");
}

/// Forms a fleet of these members on the session of a run.
fn form(desk: &Desk, run: &Run, members: &[&str]) {
    let member =
        |name: &&str| NewMember { name: name.parse().unwrap(), demands: Demands::default() };
    let new = NewFleet {
        session_id: run.session_id.clone(),
        members: members.iter().map(member).collect(),
        leader: None,
        files: FleetFiles::default(),
        requested_by: None,
    };
    block_on(desk.store.create_fleet(new)).unwrap();
}

fn launched_members(
    frames: &[(ah_access::point::ConnectionId, Stream, Frame)],
) -> Vec<(u64, String)> {
    let launched = frames.iter().filter_map(|(connection, _, frame)| match frame {
        Frame::Launch(launch) => Some((connection.0, launch.member.as_ref()?.to_string())),
        _ => None,
    });
    launched.collect()
}

#[test]
fn a_member_is_held_also_by_who_has_no_room_and_takes_none() {
    let mut desk = Desk::new();
    desk.admit(1, "a");
    let run = desk.queue("1", |_| {});
    desk.queue("2", |_| {});
    desk.tell(Input::Stirred);
    assert_eq!(desk.point.executor(&executor("a")).unwrap().room(), 0);
    form(&desk, &run, &["alpha"]);
    let said = desk.tell(Input::Stirred);
    assert_eq!(launched_members(&said.frames), [(1, "alpha".to_owned())]);
    let mut desk = Desk::new();
    let run = desk.queue("1", |_| {});
    form(&desk, &run, &["alpha"]);
    desk.admit(1, "a");
    let presence = desk.point.executor(&executor("a")).unwrap();
    assert_eq!((presence.assignments.len(), presence.room()), (2, 1));
}

#[test]
fn two_members_of_a_fleet_are_never_held_by_one_executor() {
    let mut desk = Desk::new();
    let (run, other) = (desk.queue("1", |_| {}), desk.queue("2", |_| {}));
    form(&desk, &run, &["alpha", "beta", "gamma"]);
    form(&desk, &other, &["alpha"]);
    let said = desk.admit(1, "a");
    assert_eq!(launched_members(&said.frames).len(), 2, "one of each fleet");
    assert!(launched_members(&desk.tell(Input::Stirred).frames).is_empty());
    let said = desk.admit(2, "b");
    assert_eq!(launched_members(&said.frames).len(), 1);
    assert_eq!(desk.point.executor(&executor("b")).unwrap().room(), 2);
}
