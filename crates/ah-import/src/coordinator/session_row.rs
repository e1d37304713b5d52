//! A row of `sessions` as a session.
//!
//! Nobody here works on what another program started: a session that was waiting or at work there
//! has ended here, and says why. One that is idle waits for a person, so it stays so.

use ah_model::limits::{INDEXED_TEXT_BYTES_MAX, LABEL_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{
    AgentKindRef, Exit, NewRepo, NewSession, Origin, Session, SessionDetails, SessionId,
    SessionStatus, Timestamp, Vcs, check_text,
};

use super::SOURCE;
use super::time::read_time;
use crate::foreign_db::{Cell, Columns, TableRow};

pub(super) const TABLE: &str = "sessions";

/// The columns of both ages, and one that its document names instead of another.
pub(super) const COLUMNS: [&str; 11] = [
    "session_id",
    "status",
    "created_at",
    "project_dir",
    "agent_name",
    "last_resumed_at",
    "parent_session_id",
    "executor_session_id",
    "executor_profile",
    "executor_type",
    "hostname",
];

/// The label with a session's status as it was said, where it is another here.
pub(super) const STATUS_LABEL: &str = "coordinator-status";

/// Where sessions work that do not say it.
const NOWHERE: &str = "agent-coordinator://no-project-dir";

/// What a row says of its session.
#[derive(Debug)]
pub(super) struct SessionRow {
    kind: AgentKindRef,
    details: SessionDetails,
    status: SessionStatus,
    exit: Exit,
    /// Its status as it was said, where that is another.
    said: Option<String>,
    pub(super) created_at: Option<Timestamp>,
    pub(super) last_resumed_at: Option<Timestamp>,
    pub(super) agent_name: Option<String>,
}

/// When a session lived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) created_at: Timestamp,
    pub(super) started_at: Timestamp,
    pub(super) newest: Timestamp,
}

impl SessionRow {
    /// Reads a row; `kind` is that of sessions that name none.
    pub(super) fn of(columns: &mut Columns<'_>, kind: &AgentKindRef) -> Self {
        let (status, exit, said) = standing(columns);
        let details = SessionDetails {
            project_dir: columns.text("project_dir", SHORT_TEXT_BYTES_MAX),
            hostname: columns.text("hostname", SHORT_TEXT_BYTES_MAX),
            executor_session_id: columns.text("executor_session_id", SHORT_TEXT_BYTES_MAX),
            executor_profile: columns.text("executor_profile", SHORT_TEXT_BYTES_MAX),
            executor_type: columns.text("executor_type", SHORT_TEXT_BYTES_MAX),
            ..SessionDetails::default()
        };
        let agent_name = columns.text("agent_name", SHORT_TEXT_BYTES_MAX);
        Self {
            kind: kind_of(agent_name.as_deref(), kind, columns),
            details,
            status,
            exit,
            said,
            created_at: columns.time("created_at", read_time),
            last_resumed_at: columns.time("last_resumed_at", read_time),
            agent_name,
        }
    }

    /// Of a session that has no row: only others name it.
    pub(super) fn missing(kind: &AgentKindRef) -> Self {
        let reason = "imported without its row: only events or runs of it were left";
        Self {
            kind: kind.clone(),
            details: SessionDetails::default(),
            status: SessionStatus::Failed,
            exit: Exit { reason: Some(reason.to_owned()), ..Exit::default() },
            said: None,
            created_at: None,
            last_resumed_at: None,
            agent_name: None,
        }
    }

    pub(super) fn project_dir(&self) -> Option<String> {
        self.details.project_dir.clone()
    }

    /// Takes in how its process ended, unless more is known of it.
    pub(super) fn ended(&mut self, exit: Exit) {
        if self.status.is_finished() && self.exit == Exit::default() {
            self.exit = exit;
        }
    }

    /// The session.
    pub(super) fn session(
        self,
        id: SessionId,
        name: &str,
        parent: Option<SessionId>,
        times: Times,
    ) -> Session {
        let repo = repo(self.details.project_dir.as_deref());
        let mut new = NewSession::new(repo, self.kind);
        new.parent = parent;
        new.origin = Some(Origin { source: SOURCE.to_owned(), external_id: name.to_owned() });
        new.details = self.details;
        new.labels.0.extend(self.said.map(|word| (STATUS_LABEL.to_owned(), word)));
        let ended_at = self.status.is_finished().then_some(times.newest);
        Session {
            repo_id: None,
            status: self.status,
            exit: self.exit,
            started_at: times.started_at,
            ended_at,
            last_resumed_at: self.last_resumed_at,
            last_activity_at: times.newest,
            ..Session::created(new, id, 0, times.created_at)
        }
    }
}

/// The status here, how it ended, and the status there where that is another.
fn standing(columns: &mut Columns<'_>) -> (SessionStatus, Exit, Option<String>) {
    let cell = columns.cell("status");
    let known = cell.text().and_then(|word| Some((word, word.parse().ok()?)));
    let (status, reason) = match known {
        Some((_, status)) if status == SessionStatus::Idle || status.is_finished() => {
            return (status, Exit::default(), None);
        }
        Some((word, SessionStatus::Stopping)) => {
            (SessionStatus::Cancelled, format!("imported while {word}"))
        }
        Some((word, _)) => (SessionStatus::Failed, format!("imported while {word}")),
        None => {
            let word: String = cell.json().as_str().chars().take(200).collect();
            (SessionStatus::Failed, format!("imported with the unknown status {word}"))
        }
    };
    columns.remark(format!("status: {}: {status} here", cell.json().as_str()));
    let exit = Exit { reason: Some(reason), ..Exit::default() };
    (status, exit, said(columns, cell))
}

fn said(columns: &mut Columns<'_>, cell: &Cell) -> Option<String> {
    let fits = |word: &&str| check_text("", word, LABEL_BYTES_MAX).is_ok();
    let said = cell.text().filter(fits).map(str::to_owned);
    if said.is_none() && !cell.is_null() {
        columns.leave("status", "cannot be stored as it is");
    }
    said
}

/// The kind that stands for a blueprint of that name.
fn kind_of(name: Option<&str>, default: &AgentKindRef, columns: &mut Columns<'_>) -> AgentKindRef {
    let Some(name) = name else {
        return default.clone();
    };
    let kind = AgentKindRef { name: name.to_owned(), version: "latest".to_owned() };
    if kind.check().is_err() {
        columns.leave("agent_name", "cannot be the name of an agent kind");
        return default.clone();
    }
    kind
}

/// The plain directory that a session works in.
fn repo(project_dir: Option<&str>) -> NewRepo {
    let root = project_dir
        .filter(|dir| is_absolute(dir) && check_text("", dir, INDEXED_TEXT_BYTES_MAX).is_ok());
    NewRepo {
        vcs: Vcs::None,
        root_path: root.map(str::to_owned),
        remote_url: root.is_none().then(|| NOWHERE.to_owned()),
        default_branch: None,
    }
}

/// Whether `dir` is a whole path, on whatever machine the session ran.
fn is_absolute(dir: &str) -> bool {
    let mut bytes = dir.bytes();
    match bytes.next() {
        Some(b'/') => true,
        Some(drive) => drive.is_ascii_alphabetic() && bytes.next() == Some(b':'),
        None => false,
    }
}

/// How the process of a session ended, as an event says it.
pub(super) fn exit_of(row: &TableRow) -> Exit {
    let code = match row.cell("exit_code") {
        Cell::Integer(code) => Some(*code),
        Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Blob(_) => None,
    };
    let fits = |text: &&str| check_text("", text, SHORT_TEXT_BYTES_MAX).is_ok();
    let reason = row.cell("reason").text().filter(fits).map(str::to_owned);
    Exit { code, signal: None, reason }
}
