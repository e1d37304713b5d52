//! What behaviours of fleets start from: a session with members, held or not, and its fences.

use ah_model::{
    Demands, Fence, FenceReport, FenceSaid, Fleet, FleetChange, FleetDeed, FleetFiles, FleetsSwept,
    MemberName, NewFence, NewFleet, NewMember, NewStep, Run, RunClaim, Snapshot,
};
use ah_store::StoreError;

use crate::Harness;
use crate::given::{create, id, log};
use crate::given_run::{claim_of, start};

/// How long a fence may take unless a behaviour says otherwise.
pub(crate) const FENCE_MS: u64 = 20_000;

pub(crate) fn name(text: &str) -> MemberName {
    text.parse().unwrap()
}

pub(crate) fn member(text: &str) -> NewMember {
    NewMember { name: name(text), demands: Demands::default() }
}

pub(crate) fn new_fleet(session: &str, members: &[&str]) -> NewFleet {
    NewFleet {
        session_id: id(session),
        members: members.iter().map(|name| member(name)).collect(),
        leader: None,
        files: FleetFiles::default(),
        requested_by: None,
    }
}

pub(crate) fn new_fence(session: &str) -> NewFence {
    NewFence { session_id: id(session), timeout_ms: FENCE_MS, step: None, requested_by: None }
}

pub(crate) fn step(argv: &[&str]) -> NewStep {
    NewStep {
        argv: argv.iter().map(ToString::to_string).collect(),
        env: <_>::default(),
        on: Vec::new(),
        timeout_ms: None,
    }
}

/// A new session with a fleet of these members, which wait.
pub(crate) async fn form(h: &dyn Harness, session: &str, members: &[&str]) -> Fleet {
    create(h, session).await;
    h.store().create_fleet(new_fleet(session, members)).await.unwrap()
}

/// As [`form`], and the member `x` is held by the executor `e-x`, for each.
pub(crate) async fn held(h: &dyn Harness, session: &str, members: &[&str]) -> Fleet {
    let fleet = form(h, session, members).await;
    for name in members {
        hold(h, &fleet, name).await;
    }
    fleet
}

/// The member's run, claimed and started by its executor.
pub(crate) async fn hold(h: &dyn Harness, fleet: &Fleet, member: &str) -> Run {
    let run_id = Some(run_id_of(fleet, member));
    let claim = RunClaim { run_id, ..claim_of(&format!("e-{member}")) };
    let run = h.store().claim_run(claim).await.unwrap().unwrap();
    start(h, &run).await
}

pub(crate) fn run_id_of(fleet: &Fleet, member: &str) -> ah_model::RunId {
    fleet.member(&name(member)).unwrap().run_id.clone()
}

/// The run by which a member is held, as it is kept now.
pub(crate) async fn run_of(h: &dyn Harness, fleet: &Fleet, member: &str) -> Run {
    h.store().run(run_id_of(fleet, member)).await.unwrap()
}

pub(crate) async fn fleet_of(h: &dyn Harness, session: &str) -> Fleet {
    h.store().fleet(id(session)).await.unwrap()
}

pub(crate) async fn change(
    h: &dyn Harness,
    session: &str,
    what: FleetDeed,
) -> Result<Fleet, StoreError> {
    h.store().change_fleet(id(session), FleetChange { epoch: None, what }).await
}

pub(crate) async fn fence(h: &dyn Harness, new: NewFence) -> Fence {
    h.store().start_fence(new).await.unwrap()
}

/// The fence as it is kept now.
pub(crate) async fn now(h: &dyn Harness, fence: &Fence) -> Fence {
    h.store().fence(fence.id.clone()).await.unwrap()
}

pub(crate) fn snapshot(name: &str) -> FenceSaid {
    let provider = "digest".to_owned();
    FenceSaid::Snapshot(Snapshot { provider, name: name.to_owned(), files: 2, bytes: 7 })
}

pub(crate) fn reached() -> FenceSaid {
    FenceSaid::Consistent {}
}

/// What the holder of a run says.
pub(crate) async fn say(
    h: &dyn Harness,
    fence: &Fence,
    run: &Run,
    what: FenceSaid,
) -> Result<Fence, StoreError> {
    let report = FenceReport { fence_id: fence.id.clone(), lease: run.lease(), what };
    h.store().report_fence(report).await
}

/// What the holder of a member says.
pub(crate) async fn say_as(
    h: &dyn Harness,
    fence: &Fence,
    fleet: &Fleet,
    member: &str,
    what: FenceSaid,
) -> Result<Fence, StoreError> {
    let run = run_of(h, fleet, member).await;
    say(h, fence, &run, what).await
}

pub(crate) async fn sweep(h: &dyn Harness) -> FleetsSwept {
    h.store().sweep_fleets().await.unwrap()
}

/// The types of a session's events.
pub(crate) async fn kinds(h: &dyn Harness, session: &str) -> Vec<String> {
    log(h, session).await.into_iter().map(|event| event.kind).collect()
}

/// The payload of the newest event of a session.
pub(crate) async fn newest_data(h: &dyn Harness, session: &str) -> serde_json::Value {
    log(h, session).await.last().unwrap().data.read().unwrap()
}
