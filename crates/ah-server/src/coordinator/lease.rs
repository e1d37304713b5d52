//! The leases that this layer holds for runners, which know none: who holds what is looked up by
//! run and runner.

use ah_model::{
    Executor, ExecutorId, Page, PageLimit, PageRequest, Run, RunFilter, RunId, RunStatus,
    SessionId, Timestamp,
};
use ah_store::{Kind, Store, StoreError};

use super::limits::{RENEW_BELOW_MS, STOP_HEARD_MS, WORK_LEASE_MS};

/// The run `id`, if `runner` has it, or had it last.
pub(super) async fn held(
    store: &dyn Store,
    id: RunId,
    runner: &ExecutorId,
) -> Result<Run, StoreError> {
    let run = store.run(id).await?;
    if run.executor_id.as_ref() == Some(runner) {
        return Ok(run);
    }
    let reason = format!("is not held by runner {runner}");
    Err(StoreError::conflict(Kind::Run, run.id, reason))
}

/// Refuses what is said of `run` from another place than that of the runner that holds it: an
/// executor whose runner lost the run works on, and must not touch what another one has now.
pub(super) async fn check_place(
    store: &dyn Store,
    run: &Run,
    hostname: Option<&str>,
    profile: Option<&str>,
) -> Result<(), StoreError> {
    let refused = |reason| StoreError::conflict(Kind::Run, run.id.clone(), reason);
    let Some(holder) = run.executor_id.clone() else {
        return Err(refused("is not held by any runner".to_owned()));
    };
    let offer = store.executor(holder.clone()).await?.offer;
    if offer.hostname.as_deref() == hostname && offer.executor_profile.as_deref() == profile {
        return Ok(());
    }
    let shown = |text: Option<&str>| format!("{:?}", text.unwrap_or_default());
    Err(refused(format!(
        "is held by runner {holder} on host {} with profile {}, not on host {} with profile {}",
        shown(offer.hostname.as_deref()),
        shown(offer.executor_profile.as_deref()),
        shown(hostname),
        shown(profile)
    )))
}

/// The run of `session` that somebody has or may take; those of its fleet are not meant.
pub(super) async fn live_run(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<Run>, StoreError> {
    let live = RunStatus::ALL.into_iter().filter(|status| status.is_live()).collect();
    first_run(store, RunFilter { statuses: live, ..of_session(session) }).await
}

/// The run of `session` that was queued last.
pub(super) async fn newest_run(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<Run>, StoreError> {
    first_run(store, of_session(session)).await
}

fn of_session(session: &SessionId) -> RunFilter {
    RunFilter { session_id: Some(session.clone()), ..RunFilter::default() }
}

async fn first_run(store: &dyn Store, filter: RunFilter) -> Result<Option<Run>, StoreError> {
    let mut page = PageRequest { limit: PageLimit::at_most(1), cursor: None };
    loop {
        let Page { items, next_cursor } = store.list_runs(filter.clone(), page).await?;
        let own = items.into_iter().find(|run| run.member.is_none());
        if own.is_some() || next_cursor.is_none() {
            return Ok(own);
        }
        // Rarely: those of a fleet stand before it.
        page = PageRequest { limit: PageLimit::default(), cursor: next_cursor };
    }
}

/// Notes that `runner` lives, and keeps what it has at work.
pub(super) async fn seen(
    store: &dyn Store,
    runner: ExecutorId,
    now: Timestamp,
) -> Result<Executor, StoreError> {
    let executor = store.executor_seen(runner).await?;
    let filter = RunFilter {
        statuses: vec![RunStatus::Running, RunStatus::Stopping],
        executor_id: Some(executor.id.clone()),
        ..RunFilter::default()
    };
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    loop {
        let runs = store.list_runs(filter.clone(), page.clone()).await?;
        for run in runs.items.iter().filter(|run| is_kept(run, &executor, now)) {
            keep(store, run).await?;
        }
        page.cursor = runs.next_cursor;
        if page.cursor.is_none() {
            return Ok(executor);
        }
    }
}

/// Whether a sign of life of `executor` is one of `run`, and it needs one. It is not when the
/// runner registered since: that is another process, which does not know the run. Nor when it says
/// nothing of a run that it was told to stop.
fn is_kept(run: &Run, executor: &Executor, now: Timestamp) -> bool {
    let of_this_process = run.claimed_at.is_some_and(|at| at >= executor.registered_at);
    let heard = run.stop_requested_at.is_none_or(|at| at >= now.minus_ms(STOP_HEARD_MS));
    let due = run.lease_expires_at.is_some_and(|at| at < now.plus_ms(RENEW_BELOW_MS));
    of_this_process && heard && due && run.started_at.is_some()
}

/// Renews the lease of `run`. One that ended meanwhile needs none.
async fn keep(store: &dyn Store, run: &Run) -> Result<(), StoreError> {
    match store.renew_run(run.lease(), WORK_LEASE_MS).await {
        Ok(_) | Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Notes that the holder of `run` began, whoever said so.
pub(super) async fn begin(store: &dyn Store, run: &Run) -> Result<Run, StoreError> {
    store.renew_run(run.lease(), WORK_LEASE_MS).await?;
    store.start_run(run.lease()).await
}

#[cfg(test)]
mod tests {
    use ah_model::{
        NewExecutor, NewRepo, NewRun, NewSession, Offer, RawJson, RunClaim, RunKind, Session, Vcs,
    };

    use super::*;

    const fn at(ms: i64) -> i64 {
        1_000_000 + ms
    }

    fn time(ms: i64) -> Timestamp {
        Timestamp::from_unix_ms(at(ms))
    }

    fn executor(registered_ms: i64) -> Executor {
        let id = "lnch_0".parse().unwrap();
        let new = NewExecutor { id, offer: Offer::default(), details: RawJson::null() };
        Executor { created_at: time(0), ..new.register(time(registered_ms)) }
    }

    /// A run claimed at 0 and started.
    fn run() -> Run {
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
        let session = NewSession::new(repo, "codex".parse().unwrap());
        let session = Session::created(session, "s".parse().unwrap(), 1, time(0));
        let new = NewRun::new(session.id.clone(), RunKind::Start, RawJson::empty_object());
        let mut run = Run::queued(new, "r".parse().unwrap(), &session, time(0));
        let (executor_id, offer) = ("lnch_0".parse().unwrap(), Offer::default());
        run.claim(&RunClaim { executor_id, offer, lease_ms: WORK_LEASE_MS, run_id: None }, time(0));
        run.start(&run.lease(), time(0)).unwrap();
        run
    }

    #[test]
    fn a_runner_keeps_what_it_has_at_work_when_it_is_time() {
        assert!(is_kept(&run(), &executor(0), time(40_000)));
        assert!(!is_kept(&run(), &executor(0), time(1_000)), "there is time");
        let unstarted = Run { started_at: None, ..run() };
        assert!(!is_kept(&unstarted, &executor(0), time(40_000)), "it may never have got it");
    }

    #[test]
    fn a_runner_that_came_back_does_not_keep_what_its_last_process_had() {
        assert!(!is_kept(&run(), &executor(1), time(40_000)));
    }

    #[test]
    fn a_run_that_is_not_stopped_in_time_is_not_kept() {
        let asked = |ms| Run { stop_requested_at: Some(time(ms)), ..run() };
        assert!(is_kept(&asked(30_000), &executor(0), time(40_000)));
        assert!(!is_kept(&asked(30_000), &executor(0), time(100_000)));
    }
}
