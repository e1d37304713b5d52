//! The operations a walk is made of: every method of every facet.

use ah_model::{
    AgentFilter, AgentId, AgentImport, AgentKindRef, AgentUpdate, Cursor, DraftFields, DraftId,
    EventQuery, ExportHeader, KvEntry, Lifecycle, NewAgent, NewEvent, NewRepo, NewRun, NewSession,
    NewTask, Order, Origin, PageLimit, RawJson, Renewal, RunId, RuntimeSpec, SessionFilter,
    SessionId, StatusChange, TaskFilter,
};
use ah_store::SessionFork;

use super::pairs::Noun;

/// From where a list is read to its end, and in pages of what size.
#[derive(Debug, Clone)]
pub(super) struct Start {
    pub(super) limit: PageLimit,
    pub(super) cursor: Option<Cursor>,
}

/// One call, in the oracle's names.
#[derive(Debug, Clone)]
pub(super) enum Operation {
    PutAgentKind(AgentKindRef, Option<RawJson>),
    ListAgentKinds(Start),
    PutRuntime(RuntimeSpec, Option<RawJson>),
    ListRuntimes(Start),
    PutRepo(NewRepo),
    Repo(i64),
    ListRepos(Start),
    RemoveRepo(i64),
    CreateWorkspace(String, Option<String>),
    ListWorkspaces(Start),
    CreateSession(Box<NewSession>),
    Session(SessionId),
    SessionOfOrigin(Origin),
    SessionIdsWithPrefix(String),
    ListSessions(SessionFilter, Start),
    SetSessionStatus(SessionId, StatusChange),
    RenameSession(SessionId, String),
    PinSession(SessionId, bool),
    ForkSession(SessionId, SessionFork),
    DeleteSession(SessionId),
    RestoreSession(Box<ExportHeader>),
    AppendEvents(SessionId, Vec<NewEvent>),
    AppendEventsAfter(SessionId, u64, Vec<NewEvent>),
    Events(SessionId, EventQuery),
    /// Opens a watch; reads from it only where something is stored, for it waits otherwise.
    WatchEvents(SessionId, u64, Stored),
    CreateAgent(Box<NewAgent>),
    Agent(AgentId),
    AgentOfName(String),
    AgentOfOrigin(Origin),
    AgentIdsWithPrefix(String),
    ListAgents(AgentFilter, Start),
    UpdateAgent(AgentId, AgentUpdate),
    SetAgentLifecycle(AgentId, Lifecycle),
    RenewAgent(AgentId, Renewal),
    AppendToAgent(AgentId, Vec<NewEvent>),
    AgentSessions(AgentId, Order, Start),
    ImportAgent(Box<AgentImport>),
    CreateTask(NewTask),
    Task(i64),
    ListTasks(TaskFilter, Start),
    CreateRun(NewRun),
    Run(RunId),
    SessionRuns(SessionId),
    SaveDraft(Option<DraftId>, DraftFields),
    Draft(DraftId),
    ListDrafts(Start),
    DeleteDraft(DraftId),
    LaunchDraft(DraftId, NewTask),
    KvGet(String, String),
    KvSet(KvEntry),
    KvDelete(String, String),
    KvList(String, Start),
}

/// Whether there are events after a watch's cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    Something,
    Nothing,
}

impl Operation {
    /// What the numbers called `id` in the answer count.
    pub(super) fn noun(&self) -> Noun {
        match self {
            Self::PutAgentKind(..) | Self::ListAgentKinds(_) => Noun::AgentKind,
            Self::PutRuntime(..) | Self::ListRuntimes(_) => Noun::Runtime,
            Self::PutRepo(_) | Self::Repo(_) | Self::ListRepos(_) | Self::RemoveRepo(_) => {
                Noun::Repo
            }
            Self::CreateWorkspace(..) | Self::ListWorkspaces(_) => Noun::Workspace,
            Self::CreateTask(_) | Self::Task(_) | Self::ListTasks(..) | Self::LaunchDraft(..) => {
                Noun::Task
            }
            Self::CreateSession(_)
            | Self::Session(_)
            | Self::SessionOfOrigin(_)
            | Self::SessionIdsWithPrefix(_)
            | Self::ListSessions(..)
            | Self::SetSessionStatus(..)
            | Self::RenameSession(..)
            | Self::PinSession(..)
            | Self::ForkSession(..)
            | Self::DeleteSession(_)
            | Self::RestoreSession(_)
            | Self::AppendEvents(..)
            | Self::AppendEventsAfter(..)
            | Self::Events(..)
            | Self::WatchEvents(..)
            | Self::CreateAgent(_)
            | Self::Agent(_)
            | Self::AgentOfName(_)
            | Self::AgentOfOrigin(_)
            | Self::AgentIdsWithPrefix(_)
            | Self::ListAgents(..)
            | Self::UpdateAgent(..)
            | Self::SetAgentLifecycle(..)
            | Self::RenewAgent(..)
            | Self::AppendToAgent(..)
            | Self::AgentSessions(..)
            | Self::ImportAgent(_)
            | Self::CreateRun(_)
            | Self::Run(_)
            | Self::SessionRuns(_)
            | Self::SaveDraft(..)
            | Self::Draft(_)
            | Self::ListDrafts(_)
            | Self::DeleteDraft(_)
            | Self::KvGet(..)
            | Self::KvSet(_)
            | Self::KvDelete(..)
            | Self::KvList(..) => Noun::None,
        }
    }
}
