//! Programs that are started beside a run: in its directory, with its variables and its limits, each
//! under a keeper of its own, in a folder below that of the run.

use std::collections::BTreeMap;

use ah_model::{Lease, RequestId};

use super::{Host, HostError, Stage, Standing, Started};
use crate::executor::folder::Order;
use crate::executor::parameters;
use crate::executor::program::ProgramId;

/// A program to start beside a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartBeside {
    /// The lease of the run.
    pub lease: Lease,
    /// The request that wants it: the same again starts nothing.
    pub dispatch: RequestId,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables besides those of the run.
    pub env: BTreeMap<String, String>,
    /// Where below the directory of the run.
    pub directory: Option<String>,
    /// How long it may run at most.
    pub timeout_ms: Option<u64>,
    /// As of a run, see [`super::Start`].
    pub until_ms: Option<u64>,
}

impl Host {
    /// Starts a program beside a run that has not ended.
    pub fn start_beside(&self, start: StartBeside) -> Result<Started, HostError> {
        let inner = &self.inner;
        let StartBeside { lease, dispatch, argv, env, directory, timeout_ms, until_ms } = start;
        let program = ProgramId { lease: lease.clone(), dispatch: Some(dispatch.clone()) };
        let of_run = inner.run(&ProgramId::from(&lease))?.folder;
        let order = of_run.order()?;
        let task = parameters::beside(&order.program, argv, env, directory.as_deref())?;
        inner.check_found(&task.argv)?;
        let folder = of_run.beside(&dispatch)?;
        let (dispatch, hold) = (Some(dispatch), None);
        let order = Order { dispatch, program: task, hold, until_ms, timeout_ms, ..order };
        let runs = inner.runs();
        if runs.contains_key(&program.key()) {
            return Ok(Started::Before);
        }
        let own = runs.get(&ProgramId::from(&lease).key());
        if own.is_none_or(|run| matches!(run.stage, Stage::Ended(_))) {
            return Err(HostError::Ending { run: lease.run_id });
        }
        inner.begin(&order, None, &folder, runs)
    }

    /// What was started beside a run: those that ended in the order in which they did, then those at
    /// work.
    pub fn besides(&self, lease: &Lease) -> Vec<Standing> {
        let all = self.inner.of_lease(lease).into_iter();
        let mut all: Vec<_> = all.filter(|(key, _)| key.2.is_some()).collect();
        all.sort_by_key(|(_, run)| match &run.stage {
            Stage::Ended(end) => (0, end.at.unix_ms()),
            Stage::Starting | Stage::Running => (1, 0),
        });
        all.iter().map(|(key, run)| run.standing(key)).collect()
    }

    /// All that is to be said of a program beside a run is reported: what it wrote is not needed.
    pub fn told(&self, program: &ProgramId) -> Result<(), HostError> {
        Ok(self.inner.run(program)?.folder.note_told()?)
    }
}
