//! What the window is given: a store, and what only its host can do.

use ah_model::{
    Agent, AgentId, Approval, ApprovalId, Decision, DraftFields, DraftId, Invalid, Prices,
    TaskBatch, Timestamp,
};
use ah_store::{Store, StoreError};

/// How a task is carried out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Launch {
    /// By whoever takes it: the harbor of a machine, or an executor.
    #[default]
    Queued,
    /// Not before somebody says so: it is recorded.
    Recorded,
}

/// The harbor that is looked at.
pub trait Harbor: Send + Sync {
    /// Its store.
    fn store(&self) -> &dyn Store;

    /// The time now.
    fn now(&self) -> Timestamp;

    /// Which person on which machine this is, for those who look later.
    fn label(&self) -> String;

    /// Whether nobody else keeps the index of search up to date.
    fn keeps_index(&self) -> bool;

    /// What tokens cost.
    fn prices(&self) -> &Prices;

    /// A fresh id of a draft.
    fn draft_id(&self) -> Result<DraftId, Refused>;

    /// Decides an approval, and carries it out.
    fn decide(&self, id: ApprovalId, decision: Decision) -> Result<Approval, Refused>;

    /// Chooses the model of an agent, or none.
    fn set_model(&self, id: AgentId, model: Option<String>) -> Result<Agent, Refused>;

    /// Sends a draft: records the task and removes the draft.
    fn launch(
        &self,
        draft: DraftId,
        fields: DraftFields,
        how: Launch,
    ) -> Result<TaskBatch, Refused>;

    /// Keeps what was typed where no store is needed, or nothing.
    fn keep(&self, fields: Option<&DraftFields>);

    /// What was kept so.
    fn kept(&self) -> Option<DraftFields>;
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The store says so.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else does.
    #[error("{0}")]
    Other(String),
}

impl From<Invalid> for Refused {
    fn from(invalid: Invalid) -> Self {
        Self::Store(invalid.into())
    }
}

impl Refused {
    /// Whether it is worth trying the same again later.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(
            self,
            Self::Store(
                StoreError::Unreachable { .. }
                    | StoreError::Busy { .. }
                    | StoreError::Backend { .. }
            )
        )
    }

    /// Whether it is in a state that does not allow it.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Store(StoreError::Conflict { .. }))
    }
}
