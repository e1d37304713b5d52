//! Which program is meant: that of a run, or one that was started beside it.

use ah_model::{Lease, RequestId, RunId};

/// Names a program of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramId {
    /// The lease of the run.
    pub lease: Lease,
    /// The request that started it beside the run; none for the run's own.
    pub dispatch: Option<RequestId>,
}

/// How programs are ordered: all of a run together, its own before those beside it.
pub(super) type Key = (RunId, u64, Option<RequestId>);

impl ProgramId {
    /// The run's own.
    pub fn of_run(run_id: RunId, epoch: u64) -> Self {
        Self { lease: Lease { run_id, epoch }, dispatch: None }
    }

    pub(super) fn key(&self) -> Key {
        (self.lease.run_id.clone(), self.lease.epoch, self.dispatch.clone())
    }

    /// What the keys of its reports begin with.
    pub(super) fn prefix(&self) -> String {
        let Lease { run_id, epoch } = &self.lease;
        match &self.dispatch {
            Some(dispatch) => format!("{run_id}/{epoch}/{dispatch}"),
            None => format!("{run_id}/{epoch}"),
        }
    }
}

impl From<Key> for ProgramId {
    fn from((run_id, epoch, dispatch): Key) -> Self {
        Self { lease: Lease { run_id, epoch }, dispatch }
    }
}

impl From<&Lease> for ProgramId {
    fn from(lease: &Lease) -> Self {
        Self { lease: lease.clone(), dispatch: None }
    }
}

impl From<&Self> for ProgramId {
    fn from(id: &Self) -> Self {
        id.clone()
    }
}
