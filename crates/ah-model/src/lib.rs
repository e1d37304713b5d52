//! Values and rules: ids, entities, state machines, limits and the shapes they take on the wire.
//!
//! Synchronous; knows no store, no file, no network and no clock. Every rule that decides whether a
//! change is allowed is a pure function here and is called inside the store's transaction.
#![warn(missing_docs)]

mod agent;
mod agent_import;
mod agent_kind;
mod approval;
mod callback;
mod context;
mod cursor;
mod descriptor;
mod dispatch;
mod draft;
mod event;
mod execution;
mod executor;
mod export;
mod feed;
mod fence;
mod fleet;
mod hex;
mod hive;
mod id;
mod invalid;
mod json;
mod kv;
mod labels;
pub mod limits;
mod message;
mod page;
mod party;
mod price;
mod query;
mod question;
mod record;
pub mod redact;
mod relocation;
mod repair;
mod repo;
mod report;
mod request_key;
mod retention;
mod run;
mod runtime;
#[cfg(feature = "schema")]
mod schema;
mod search;
mod secret;
mod session;
mod snapshot;
mod spending;
mod task;
mod text;
mod time;
mod token;
mod usage;
mod word;
mod workspace;

pub use agent::{
    Agent, AgentFilter, AgentUpdate, Beginning, Cause, IMPORTED, Lifecycle, Membership, NewAgent,
    OPERATOR, RETIRED, Renewal,
};
pub use agent_import::{AgentImport, AgentImported, SessionImport};
pub use agent_kind::{AgentKind, AgentKindRef};
pub use approval::{
    AGENT_DESTROYED, APPLY_COMMIT, Approval, ApprovalDiff, ApprovalFilter, ApprovalStatus,
    Decision, NewApproval, SPAWN, Verdict,
};
pub use callback::Callback;
pub use context::{
    Context, ContextMessage, ContextPart, ContextReason, OpenRlm, PendingCall, ResumePoint, Role,
    Window, context,
};
pub use cursor::Cursor;
pub use descriptor::{
    AgentType, AppDescriptor, CronDescriptor, Descriptor, PermanentDescriptor, SubagentDescriptor,
    SystemDescriptor, UserDescriptor,
};
pub use dispatch::{Dispatched, NewDispatch};
pub use draft::{Draft, DraftFields};
pub use event::{Appended, Event, EventQuery, NewEvent, Order};
pub use execution::{Execution, Multiplexer, RunParameters, WorkingCopy};
pub use executor::{
    ChangeRefused, Demands, EVERYBODY, Enrolment, Executor, ExecutorChange, ExecutorEvent,
    ExecutorFilter, ExecutorId, ExecutorPresence, ExecutorRecord, ExecutorRule, ExecutorStatus,
    ExecutorVerb, Gpu, Load, Machine, NewExecutor, Offer, PresentRun, Quality, TOKEN_PROVIDER,
    Taker, WhyNot, allows, may_take,
};
pub use export::{
    EXPORT_FORMAT, EXPORT_VERSION, ExportDigest, ExportError, ExportFooter, ExportHeader,
    ExportLine, ExportedEvent, parse_export_line,
};
pub use feed::{Change, ChangeKind, FeedCursor, FeedEntry, Happening};
pub use fence::{
    Fence, FenceMember, FenceOutcome, FenceReport, FenceSaid, FenceStatus, NewFence, NewStep,
    Snapshot, Step,
};
pub use fleet::{
    Fleet, FleetChange, FleetDeed, FleetFiles, FleetFilter, FleetStatus, FleetsSwept, Member,
    MemberChange, NewFleet, NewMember, fleet_events, fleet_reasons, is_hold,
};
pub use hex::{from_hex, to_hex};
pub use hive::{Awaited, HiveImport, HiveImported, HiveSwept};
pub use id::{
    AgentId, ApprovalId, BatchId, DraftId, FenceId, MemberName, MessageId, OutboxId, QuestionId,
    ReceiptId, RequestId, RunId, SessionId, TokenId,
};
pub use invalid::Invalid;
pub use json::{JsonMember, JsonObject, JsonSlice, RawJson};
pub use kv::{KvEntry, check_kv, check_scope};
pub use labels::Labels;
pub use message::{
    Hold, LEASE_ENDED, Message, MessageFilter, MessageKind, MessageLease, MessageStatus,
    NewMessage, Notice, Receive, Received, Release, check_holds,
};
pub use page::{Page, PageLimit, PageRequest};
pub use party::Party;
pub use price::{Price, Prices, Rates};
pub use query::{Query, QueryPairs};
pub use question::{
    Answer, Answered, NewQuestion, Outcome, Question, QuestionFilter, QuestionStatus,
};
pub use record::{JsonText, Record, ToolCall};
pub use relocation::{
    Earnest, ROOT_PATH, Relocated, Relocation, RepoFate, RepoMove, RepoPath, RepoSighting, Sighted,
    Whereabouts, is_at_or_below, joined_repo, moved_path, path_and_above,
};
pub use repair::repairs;
pub use repo::{NewRepo, Repo, RepoMarks, Vcs};
pub use report::{
    Ended, Happened, RefusedCounts, ReportItem, ReportRefusal, ReportRefusalReason, Reports,
    ReportsTaken,
};
pub use request_key::RequestKey;
pub use retention::{Amount, Receipt, ReceiptKind, Reclaimed, RemovalStep, RetentionRules, Tally};
pub use run::{
    Due, ExecutionMode, LOST, Lease, NewRun, Renewed, Run, RunClaim, RunEnd, RunFilter, RunKind,
    RunOutcome, RunStatus, Swept, check_lease_ms, check_renewal,
};
pub use runtime::{Runtime, RuntimeSpec, RuntimeType};
pub use search::{
    IndexPace, IndexState, IndexStep, SEARCH_RULES, Said, SearchHit, SearchQuery, SearchTerm,
    SearchText, SnippetPart,
};
pub use secret::{
    Redact, Redaction, Redactions, Redactor, Scrub, ScrubCursor, ScrubFinding, ScrubPlace,
    ScrubStep,
};
pub use session::{
    Exit, Fork, NewSession, Origin, Session, SessionDetails, SessionFilter, SessionStatus,
    SessionUpdate, StatusChange,
};
pub use snapshot::{FileSnapshot, SNAPSHOT, SnapshotProvider};
pub use spending::{
    Cost, Day, DaySpending, MODEL_LABEL, Spending, SpendingBy, SpendingFilter, SpendingFold,
    SpendingKey, SpendingSum, SpendingSums, Spent,
};
pub use task::{Delivery, NewTask, Task, TaskBatch, TaskFilter};
pub use text::check_text;
pub use time::Timestamp;
pub use token::{Credentials, NewToken, Token, TokenHash, TokenRole, TokenSecret};
pub use usage::Usage;
pub use workspace::Workspace;
