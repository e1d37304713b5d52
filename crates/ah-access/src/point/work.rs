//! What an access point asks of the store, and what comes back.

use ah_model::{
    Enrolment, Executor, ExecutorId, Lease, OutboxId, PageLimit, PageRequest, RawJson, Renewed,
    Reports, ReportsTaken, Run, RunClaim, RunFilter, RunId, RunStatus,
};
use ah_store::{Store, StoreError};

use super::input::ConnectionId;

/// How many runs are looked at together.
const LOOK_MAX: usize = 4_096;

/// Something to ask the store.
#[derive(Debug)]
pub enum Work {
    /// Write down who came, and say what it holds.
    Admit {
        /// For this connection.
        connection: ConnectionId,
        /// Who.
        enrolment: Box<Enrolment>,
        /// Its outbox.
        outbox: OutboxId,
    },
    /// Prolong leases.
    Renew {
        /// For this connection.
        connection: ConnectionId,
        /// Whose.
        executor: ExecutorId,
        /// Which.
        leases: Vec<Lease>,
        /// For how long.
        lease_ms: u64,
        /// When it was asked.
        asked_ms: u64,
    },
    /// Keep what an executor reports.
    Take {
        /// For this connection.
        connection: ConnectionId,
        /// What.
        reports: Reports,
    },
    /// Lease a run to an executor.
    Claim {
        /// For this connection.
        connection: ConnectionId,
        /// When it was asked.
        asked_ms: u64,
        /// Which, and for whom.
        claim: RunClaim,
    },
    /// What waits, and what is to stop.
    Look,
    /// What the store has of an executor.
    Audit {
        /// For this connection.
        connection: ConnectionId,
        /// Which.
        executor: ExecutorId,
    },
    /// Take a run back that its holder will not go on with, or knows nothing of.
    Lose {
        /// Which.
        lease: Lease,
    },
    /// Write something into an executor's history.
    Note {
        /// Whose.
        executor: ExecutorId,
        /// What it is.
        kind: &'static str,
        /// More of it.
        data: RawJson,
    },
}

/// What the store has of an executor that was let in.
#[derive(Debug)]
pub struct Admission {
    /// Who it is.
    pub executor: Executor,
    /// How far its outbox is kept.
    pub through: u64,
    /// The live runs it holds.
    pub runs: Vec<Run>,
}

/// What there is to do.
#[derive(Debug, Default)]
pub struct Look {
    /// Runs that wait, oldest first.
    pub pending: Vec<Run>,
    /// Runs that somebody holds and should stop.
    pub stopping: Vec<Run>,
}

/// What came of a [`Work`].
#[derive(Debug)]
pub enum Done {
    /// Of [`Work::Admit`].
    Admitted {
        /// The connection.
        connection: ConnectionId,
        /// What was found.
        result: Result<Admission, StoreError>,
    },
    /// Of [`Work::Renew`].
    Renewed {
        /// The connection.
        connection: ConnectionId,
        /// When it was asked.
        asked_ms: u64,
        /// For which leases.
        leases: Vec<Lease>,
        /// What came of it.
        result: Result<Renewed, StoreError>,
    },
    /// Of [`Work::Take`].
    Took {
        /// The connection.
        connection: ConnectionId,
        /// What came of it.
        result: Result<ReportsTaken, StoreError>,
    },
    /// Of [`Work::Claim`].
    Claimed {
        /// The connection.
        connection: ConnectionId,
        /// Which was asked for.
        run_id: Option<RunId>,
        /// When it was asked.
        asked_ms: u64,
        /// The run, unless somebody else has it.
        result: Result<Option<Run>, StoreError>,
    },
    /// Of [`Work::Look`].
    Looked {
        /// What there is.
        result: Result<Look, StoreError>,
    },
    /// Of [`Work::Audit`].
    Audited {
        /// The connection.
        connection: ConnectionId,
        /// The executor and its live runs.
        result: Result<(Executor, Vec<Run>), StoreError>,
    },
    /// Of whatever needs no answer. A failure is found again by the next comparison.
    Nothing,
}

/// Does it.
pub async fn perform(store: &dyn Store, work: Work) -> Done {
    match work {
        Work::Admit { connection, enrolment, outbox } => {
            Done::Admitted { connection, result: admit(store, *enrolment, outbox).await }
        }
        Work::Renew { connection, executor, leases, lease_ms, asked_ms } => {
            let result = store.renew_runs(executor, leases.clone(), lease_ms).await;
            Done::Renewed { connection, asked_ms, leases, result }
        }
        Work::Take { connection, reports } => {
            Done::Took { connection, result: store.take_reports(reports).await }
        }
        Work::Claim { connection, asked_ms, claim } => {
            let run_id = claim.run_id.clone();
            Done::Claimed { connection, run_id, asked_ms, result: store.claim_run(claim).await }
        }
        Work::Look => Done::Looked { result: look(store).await },
        Work::Audit { connection, executor } => {
            Done::Audited { connection, result: audit(store, executor).await }
        }
        Work::Lose { lease } => {
            let _ = store.lose_run(lease).await;
            Done::Nothing
        }
        Work::Note { executor, kind, data } => {
            let _ = store.note_executor(executor, kind.to_owned(), data).await;
            Done::Nothing
        }
    }
}

async fn admit(
    store: &dyn Store,
    enrolment: Enrolment,
    outbox: OutboxId,
) -> Result<Admission, StoreError> {
    let executor = store.enrol_executor(enrolment).await?;
    let through = store.reported_through(executor.id.clone(), outbox).await?;
    let runs = held(store, executor.id.clone()).await?;
    Ok(Admission { executor, through, runs })
}

async fn audit(store: &dyn Store, id: ExecutorId) -> Result<(Executor, Vec<Run>), StoreError> {
    // It lives: now and then that is written down, too.
    let executor = store.executor_seen(id.clone()).await?;
    Ok((executor, held(store, id).await?))
}

/// The live runs that an executor holds.
async fn held(store: &dyn Store, executor: ExecutorId) -> Result<Vec<Run>, StoreError> {
    let live = [RunStatus::Claimed, RunStatus::Running, RunStatus::Stopping];
    let filter =
        RunFilter { executor_id: Some(executor), statuses: live.to_vec(), ..RunFilter::default() };
    pages(store, filter).await
}

/// What waits, oldest first, and what is to stop.
async fn look(store: &dyn Store) -> Result<Look, StoreError> {
    let filter = |status| RunFilter { statuses: vec![status], ..RunFilter::default() };
    let mut pending = pages(store, filter(RunStatus::Pending)).await?;
    pending.reverse();
    let stopping = pages(store, filter(RunStatus::Stopping)).await?;
    Ok(Look { pending, stopping })
}

/// Runs, newest first, up to a bound.
async fn pages(store: &dyn Store, filter: RunFilter) -> Result<Vec<Run>, StoreError> {
    let mut runs = Vec::new();
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    while runs.len() < LOOK_MAX {
        let page = store.list_runs(filter.clone(), request.clone()).await?;
        runs.extend(page.items);
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            break;
        }
    }
    Ok(runs)
}
