//! What behaviours of runs start from: sessions with a run at every stage of its life.

use std::fmt::Debug;

use ah_model::{
    Callback, Demands, Enrolment, ExecutionMode, ExecutorId, Lease, NewExecutor, NewRun, Offer,
    RawJson, Run, RunClaim, RunEnd, RunId, RunKind, RunOutcome, Session, Swept,
};
use ah_store::StoreError;

use crate::Harness;
use crate::given::{everything, id, json, new_session, refusal};

/// How long leases last unless a behaviour says otherwise.
pub(crate) const LEASE_MS: u64 = 30_000;

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub(crate) fn executor_id(text: &str) -> ExecutorId {
    text.parse().unwrap()
}

pub(crate) fn new_executor(id: &str) -> NewExecutor {
    NewExecutor { id: executor_id(id), offer: Offer::default(), details: RawJson::null() }
}

pub(crate) fn enrolment(id: &str) -> Enrolment {
    Enrolment {
        id: executor_id(id),
        identity_provider: "files".to_owned(),
        identity: RawJson::null(),
        offer: Offer::default(),
        details: RawJson::null(),
        machine: None,
        capacity: None,
    }
}

/// A run that begins `session`, which is there already.
pub(crate) fn start_of(session: &str) -> NewRun {
    NewRun::new(id(session), RunKind::Start, json(r#"{"prompt":"begin"}"#))
}

/// A run that goes on with `session`.
pub(crate) fn resume_of(session: &str) -> NewRun {
    NewRun::new(id(session), RunKind::Resume, json(r#"{"prompt":"go on"}"#))
}

/// A run that begins `session` and brings it; its id is that of the session with `run-` before it.
pub(crate) fn first_run(session: &str) -> NewRun {
    NewRun {
        id: Some(run_id(&format!("run-{session}"))),
        session: Some(Box::new(new_session(session))),
        ..start_of(session)
    }
}

/// A run of a new session `child` that calls `parent` back when it ends.
pub(crate) fn child_run(child: &str, parent: &str) -> NewRun {
    NewRun {
        execution_mode: ExecutionMode::AsyncCallback,
        parent_session_id: Some(id(parent)),
        ..first_run(child)
    }
}

pub(crate) fn claim_of(executor: &str) -> RunClaim {
    RunClaim {
        executor_id: executor_id(executor),
        offer: Offer::default(),
        lease_ms: LEASE_MS,
        run_id: None,
    }
}

pub(crate) fn on_host(host: &str) -> Demands {
    Demands { hostname: Some(host.to_owned()), ..Demands::default() }
}

pub(crate) fn completed() -> RunEnd {
    RunEnd::new(RunOutcome::Completed)
}

/// Completed, and the session waits for its next turn.
pub(crate) fn idle() -> RunEnd {
    RunEnd { idle: true, ..completed() }
}

pub(crate) fn stopped() -> RunEnd {
    RunEnd::new(RunOutcome::Stopped)
}

pub(crate) async fn queue(h: &dyn Harness, new: NewRun) -> Run {
    h.store().create_run(new).await.unwrap()
}

/// What `e1`, or whoever is named, gets from the queue.
pub(crate) async fn claim(h: &dyn Harness, executor: &str) -> Option<Run> {
    h.store().claim_run(claim_of(executor)).await.unwrap()
}

/// A new session whose first run `e1` has claimed. Nothing else may wait in the queue.
pub(crate) async fn claimed(h: &dyn Harness, session: &str) -> Run {
    let queued = queue(h, first_run(session)).await;
    let claimed = claim(h, "e1").await.unwrap();
    assert_eq!(claimed.id, queued.id, "nothing else waited");
    claimed
}

/// A new session whose first run `e1` has started.
pub(crate) async fn running(h: &dyn Harness, session: &str) -> Run {
    let claimed = claimed(h, session).await;
    start(h, &claimed).await
}

/// A new session whose first run ended like this.
pub(crate) async fn ended(h: &dyn Harness, session: &str, end: RunEnd) -> Run {
    let run = running(h, session).await;
    finish(h, &run, end).await
}

/// Queues `new`, claims and starts it as `e1`. Nothing else may wait in the queue.
pub(crate) async fn at_work(h: &dyn Harness, new: NewRun) -> Run {
    let queued = queue(h, new).await;
    let claimed = claim(h, "e1").await.unwrap();
    assert_eq!(claimed.id, queued.id, "nothing else waited");
    start(h, &claimed).await
}

pub(crate) async fn start(h: &dyn Harness, run: &Run) -> Run {
    h.store().start_run(run.lease()).await.unwrap()
}

pub(crate) async fn finish(h: &dyn Harness, run: &Run, end: RunEnd) -> Run {
    h.store().finish_run(run.lease(), end).await.unwrap()
}

/// The run as it is kept now.
pub(crate) async fn now(h: &dyn Harness, run: &Run) -> Run {
    h.store().run(run.id.clone()).await.unwrap()
}

/// The session as it is kept now.
pub(crate) async fn session(h: &dyn Harness, session: &str) -> Session {
    h.store().session(id(session)).await.unwrap()
}

pub(crate) async fn runs_of(h: &dyn Harness, session: &str) -> Vec<Run> {
    h.store().session_runs(id(session)).await.unwrap()
}

pub(crate) async fn callbacks(h: &dyn Harness, parent: &str) -> Vec<Callback> {
    h.store().callbacks(id(parent)).await.unwrap()
}

pub(crate) async fn sweep(h: &dyn Harness) -> Swept {
    h.store().sweep_runs().await.unwrap()
}

/// The lease of another claim of the same run.
pub(crate) fn at_epoch(run: &Run, epoch: u64) -> Lease {
    Lease { epoch, ..run.lease() }
}

/// Whether the call was refused like this and everything is as it was `before`.
pub(crate) async fn assert_refused<T: Debug>(
    h: &dyn Harness,
    before: &str,
    result: Result<T, StoreError>,
    expected: &str,
) {
    assert_eq!(refusal(result), expected);
    let after = everything(h).await;
    // Line by line, because all of it is too much to read.
    for (before, after) in before.lines().zip(after.lines()) {
        assert_eq!(after, before, "a refused call changes nothing");
    }
    assert_eq!(after.lines().count(), before.lines().count(), "a refused call adds nothing");
}
