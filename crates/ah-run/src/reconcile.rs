//! Runs whose worker is gone: what they left is told, and they end as what they are.
//!
//! A worker is known by the lock that goes with its process, and its program by number and start.
//! Whoever finds a run without its worker ends what is left of the program, tells what the log holds
//! and the store does not, and ends the run: with the exit that the worker noted, else as lost.

use std::time::{Duration, Instant};

use ah_import::stream::StreamFormat;
use ah_model::{Exit, Run, RunEnd, RunId, RunOutcome, RunStatus, SessionId, SessionUpdate};
use ah_store::{StoreError, block_on};
use serde_json::json;

use crate::folder::{Ended, Folder, Order};
use crate::record::{Recorder, read_again};
use crate::{Local, RunError};

/// A run that was found without its worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciled {
    /// The run.
    pub run: RunId,
    /// Its session.
    pub session: SessionId,
    /// How it stands now.
    pub status: RunStatus,
    /// Why.
    pub reason: String,
    /// Processes of the program that were still there, and were ended.
    pub ended: Vec<u32>,
}

/// How long a worker that was killed may take to be gone, and how often that is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
const KILLED: &str = "lost: its worker was killed";

impl Local {
    /// Ends the runs of this machine whose workers are gone. Costs a look at one directory when there
    /// is none.
    pub fn reconcile(&self) -> Vec<Reconciled> {
        let active = self.folders.active();
        // One that cannot be brought to its end now is looked at again.
        active.iter().filter_map(|run| self.reconcile_one(run).ok().flatten()).collect()
    }

    /// Kills the worker of a run on this machine, and brings the run to its end as whoever finds it
    /// would; `false` if it has none here.
    pub fn end_worker(&self, run: &RunId) -> bool {
        let folder = self.folders.of(run);
        let Some(worker) = folder.worker_process() else { return false };
        kill(worker);
        let until = Instant::now() + PATIENCE;
        while folder.is_worked_on() && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
        self.reconcile_one(run).is_ok_and(|found| found.is_some())
    }

    fn reconcile_one(&self, id: &RunId) -> Result<Option<Reconciled>, RunError> {
        let folder = self.folders.of(id);
        if folder.is_worked_on() {
            return Ok(None);
        }
        // Whoever holds this is the one who does it.
        let Some(_worker) = folder.worker_if_gone()? else { return Ok(None) };
        let run = match block_on(self.store().run(id.clone())) {
            Ok(run) => run,
            Err(StoreError::NotFound { .. }) => {
                folder.is_over();
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let ended = folder.end_program().map_err(|process| RunError::Start {
            what: format!("anything on run {id}, whose process {process} does not end"),
            source: std::io::ErrorKind::ResourceBusy.into(),
        })?;
        let is_ours = run.executor_id.as_ref() == Some(self.executor());
        if !is_ours || !run.status.is_live() || run.status == RunStatus::Pending {
            folder.is_over();
            return Ok(None);
        }
        let (run, reason) = match folder.order().filter(|order| order.lease == run.lease()) {
            Some(order) => self.end_lost(&run, &folder, &order, &ended)?,
            None => self.give_back(run)?,
        };
        folder.is_over();
        let (session, status) = (run.session_id, run.status);
        Ok(Some(Reconciled { run: id.clone(), session, status, reason, ended }))
    }

    /// Its worker was killed before the program began. What somebody waits for in person is not begun
    /// later behind their back.
    fn give_back(&self, run: Run) -> Result<(Run, String), RunError> {
        let reason = "lost: its worker was killed before the program began".to_owned();
        let lease = run.lease();
        let run = match run.demands.executor_id {
            Some(_) => block_on(self.store().finish_run(lease, RunEnd::failed(reason.clone())))?,
            None => block_on(self.store().lose_run(lease))?,
        };
        Ok((run, reason))
    }

    fn end_lost(
        &self,
        run: &Run,
        folder: &Folder,
        order: &Order,
        processes: &[u32],
    ) -> Result<(Run, String), RunError> {
        let now = self.options.clock.now();
        let known = StreamFormat::ALL.into_iter().find(|one| one.as_str() == order.stream);
        let mut recorder = Recorder::new(order.lease.clone(), known.unwrap_or_default());
        recorder.counted(block_on(self.store().session(order.session_id.clone()))?.usage);
        read_again(folder, &mut recorder, now);
        recorder.end(now);
        let end = folder.exit().unwrap_or_else(|| Ended {
            outcome: match run.status {
                RunStatus::Stopping => RunOutcome::Stopped,
                _ => RunOutcome::Failed,
            },
            error: Some(KILLED.to_owned()),
            exit: Exit { reason: Some(KILLED.to_owned()), ..Exit::default() },
        });
        let reason = end.error.clone().unwrap_or_default();
        let data = json!({
            "runId": order.lease.run_id,
            "epoch": order.lease.epoch,
            "exit": end.exit,
            "error": end.error,
            "endedProcesses": processes,
        });
        recorder.note("hostExited", &data, "exited", now);
        recorder.tell(self.store())?;
        self.bind_external(order, recorder.external.take());
        let end = RunEnd { error: end.error, exit: end.exit, ..RunEnd::new(end.outcome) };
        let run = block_on(self.store().finish_run(order.lease.clone(), end))?;
        Ok((run, reason))
    }

    /// Notes what the tool calls the session.
    pub(crate) fn bind_external(&self, order: &Order, external: Option<String>) {
        let Some(external_id) = external else { return };
        let origin = ah_model::Origin { source: order.kind.clone(), external_id };
        let update = SessionUpdate { origin: Some(origin), ..SessionUpdate::default() };
        // A session that came from elsewhere stays so.
        let _ = block_on(self.store().update_session(order.session_id.clone(), update));
    }
}

/// Kills the process whose lock says that it lives.
#[cfg(unix)]
fn kill(process: u32) {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(process) = process {
        // One that has ended meanwhile needs no signal.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn kill(_process: u32) {}
