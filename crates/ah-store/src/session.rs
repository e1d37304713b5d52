//! Sessions.

use ah_model::{
    ExportHeader, NewSession, Origin, Page, PageRequest, Session, SessionFilter, SessionId,
    SessionUpdate, StatusChange,
};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::StoreError;

/// A fork to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SessionFork {
    /// The last seq that belongs to both; the newest when absent.
    pub at_seq: Option<u64>,
    /// Id of the new session; minted when absent.
    pub id: Option<SessionId>,
    /// Title of the new session; the old one's when absent.
    pub title: Option<String>,
}

/// Conversations of agents.
#[async_trait]
pub trait Sessions {
    /// Creates a session; an id or origin that is taken is a conflict.
    async fn create_session(&self, session: NewSession) -> Result<Session, StoreError>;

    /// The session of that id.
    async fn session(&self, id: SessionId) -> Result<Session, StoreError>;

    /// The session that came from `origin`, if it is known.
    async fn session_of_origin(&self, origin: Origin) -> Result<Option<Session>, StoreError>;

    /// The ids that begin with `prefix`, at most two: enough to tell unique from not.
    async fn session_ids_with_prefix(&self, prefix: String) -> Result<Vec<SessionId>, StoreError>;

    /// Sessions by last activity, newest first. A page may end early when what it holds is large.
    async fn list_sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError>;

    /// Moves a session's status; a move the rules do not know is a conflict and changes nothing.
    /// With an end, the session's live run ends if nobody has it, else its holder is told to stop.
    async fn set_session_status(
        &self,
        id: SessionId,
        change: StatusChange,
    ) -> Result<Session, StoreError>;

    /// Takes in what a program that works on a session says of it.
    async fn update_session(
        &self,
        id: SessionId,
        update: SessionUpdate,
    ) -> Result<Session, StoreError>;

    /// Gives a session another title; an empty one removes it.
    async fn rename_session(&self, id: SessionId, title: String) -> Result<Session, StoreError>;

    /// Keeps a session whatever retention says, or no longer.
    async fn pin_session(&self, id: SessionId, pinned: bool) -> Result<Session, StoreError>;

    /// Starts a new session that shares this one's log up to a point, without copying it. It
    /// belongs to no agent, whoever this one belongs to.
    async fn fork_session(&self, id: SessionId, fork: SessionFork) -> Result<Session, StoreError>;

    /// Removes a session with its events, tasks and runs, and its tokens from its agent's totals.
    /// One that forks stand on, that is the active session of an agent, or whose run somebody
    /// holds, is a conflict.
    async fn delete_session(&self, id: SessionId) -> Result<(), StoreError>;

    /// Brings a session's row to what an export says, creating it without events when absent.
    ///
    /// An import calls it before the events, so they have a session, and after them, because
    /// appending moved the row on. A session of that id with another beginning, or whose newest
    /// seq is not the header's, is a conflict: what the header says is not about its log. So is a
    /// fork at a seq that the session forked from has not reached. A session that is not here takes
    /// its place among an agent's sessions only if it had that place here before, and has ended if
    /// that agent goes on in another.
    async fn restore_session(&self, header: ExportHeader) -> Result<Session, StoreError>;
}
