//! The operations a walk is made of: every method of every facet.

use ah_model::{
    AgentFilter, AgentId, AgentImport, AgentKindRef, AgentUpdate, Answer, ApprovalFilter,
    ApprovalId, Awaited, Cursor, Decision, DraftFields, DraftId, Enrolment, EventQuery,
    ExecutorChange, ExecutorFilter, ExecutorId, ExportHeader, FenceId, FenceReport, FleetChange,
    FleetFilter, HiveImport, Hold, KvEntry, Lease, Lifecycle, MessageFilter, MessageId, NewAgent,
    NewApproval, NewEvent, NewExecutor, NewFence, NewFleet, NewMessage, NewQuestion, NewRepo,
    NewRun, NewSession, NewTask, NewToken, Order, Origin, OutboxId, PageLimit, Party,
    QuestionFilter, QuestionId, RawJson, ReceiptId, Receive, Release, Renewal, Reports, RequestKey,
    RetentionRules, Run, RunClaim, RunEnd, RunFilter, RunId, RuntimeSpec, SearchQuery,
    SessionFilter, SessionId, SessionUpdate, SpendingFilter, StatusChange, Tally, TaskFilter,
    TokenId,
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
    UpdateSession(SessionId, SessionUpdate),
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
    ListSpendings(SpendingFilter, Start),
    Runs(RunOperation),
    Executors(ExecutorOperation),
    Fleets(FleetOperation),
    Hive(HiveOperation),
    SaveDraft(Option<DraftId>, DraftFields),
    Draft(DraftId),
    ListDrafts(Start),
    DeleteDraft(DraftId),
    LaunchDraft(DraftId, NewTask),
    KvGet(String, String),
    KvSet(KvEntry),
    KvDelete(String, String),
    KvList(String, Start),
    /// Brings the index up to date, then searches.
    Search(Box<SearchQuery>, Start),
    /// The same operation under a key.
    Keyed(RequestKey, Box<Self>),
}

/// A call about executors, and what they say of their runs; the numbers of a history are not
/// compared.
#[derive(Debug, Clone)]
pub(super) enum ExecutorOperation {
    Register(NewExecutor),
    Enrol(Box<Enrolment>),
    Change(ExecutorId, Box<ExecutorChange>, Option<String>),
    Executor(ExecutorId),
    List(ExecutorFilter, Start),
    Seen(ExecutorId),
    AskToGo(ExecutorId),
    Remove(ExecutorId),
    History(Option<ExecutorId>, Start),
    Note(ExecutorId, String, RawJson),
    Renew(ExecutorId, Vec<Lease>, u64),
    Report(Reports),
    Reported(ExecutorId, OutboxId),
}

/// A call about fleets and their fences.
#[derive(Debug, Clone)]
pub(super) enum FleetOperation {
    Create(NewFleet),
    Fleet(SessionId),
    List(FleetFilter, Start),
    Change(SessionId, FleetChange),
    End(SessionId),
    Begin(NewFence),
    Fence(FenceId),
    Fences(SessionId, Start),
    Open,
    Report(FenceReport),
    Sweep,
}

/// A call about runs and who may do it; none of them has a number.
#[derive(Debug, Clone)]
pub(super) enum RunOperation {
    Create(Box<NewRun>),
    Run(RunId),
    List(RunFilter, Start),
    OfSession(SessionId),
    Claim(RunClaim),
    Renew(Lease, u64),
    Lose(Lease),
    Start(Lease),
    Bind(Lease, Box<SessionUpdate>),
    Append(Lease, Vec<NewEvent>),
    Finish(Lease, RunEnd),
    StopSession(SessionId),
    Stop(RunId),
    StopOrders(ExecutorId),
    Sweep,
    Callbacks(SessionId),
    Restore(Box<Run>),
    CreateToken(NewToken),
    Credentials(TokenId),
    ListTokens(Start),
    RevokeToken(TokenId),
    TokenUsed(TokenId),
}

/// A call about mail, approvals, questions, tombstones and removal; their numbers are not compared.
#[derive(Debug, Clone)]
pub(super) enum HiveOperation {
    Send(NewMessage),
    Message(MessageId),
    MessageIds(String),
    ListMessages(MessageFilter, Start),
    Receive(Receive),
    Renew(Hold, u64),
    Ack(Vec<Hold>),
    Release(Release),
    Requeue(MessageId),
    Dismiss(Party, String),
    Request(NewApproval),
    Approval(ApprovalId),
    ApprovalIds(String),
    ListApprovals(ApprovalFilter, Start),
    Decide(ApprovalId, Decision),
    CarriedOut(ApprovalId, Option<String>),
    Ask(NewQuestion),
    Question(QuestionId),
    QuestionIds(String),
    ListQuestions(QuestionFilter, Start),
    Answer(QuestionId, Answer),
    Withdraw(QuestionId, Party),
    Sweep,
    /// Only for what is there: it waits otherwise.
    Wait(Awaited),
    Import(Box<HiveImport>),
    Destroy(AgentId),
    Revive(AgentId),
    Purge(AgentId),
    Plan(RetentionRules),
    Remove(RetentionRules),
    AddToReceipt(ReceiptId, Tally),
    ListReceipts(Start),
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
            | Self::UpdateSession(..)
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
            | Self::ListSpendings(..)
            | Self::Runs(_)
            | Self::Executors(_)
            | Self::Fleets(_)
            | Self::Hive(_)
            | Self::SaveDraft(..)
            | Self::Draft(_)
            | Self::ListDrafts(_)
            | Self::DeleteDraft(_)
            | Self::KvGet(..)
            | Self::KvSet(_)
            | Self::KvDelete(..)
            | Self::KvList(..)
            | Self::Search(..) => Noun::None,
            Self::Keyed(_, operation) => operation.noun(),
        }
    }
}
