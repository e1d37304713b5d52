//! Sessions: one conversation of an agent, an append-only log with a status.
//!
//! Invariant: the status only moves along [`SessionStatus::can_become`]; a finished session runs
//! again only through a resume run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{INDEXED_TEXT_BYTES_MAX, SHORT_TEXT_BYTES_MAX};
use crate::text::{check_filled, check_optional};
use crate::{
    AgentKindRef, IMPORTED, Invalid, Labels, Membership, NewRepo, RunEnd, RunKind, RuntimeSpec,
    SessionId, SessionImport, Timestamp, Usage, check_text,
};

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// Recorded, not started.
    Created,
    /// An agent is at work.
    Running,
    /// Waiting for the next turn.
    Idle,
    /// Asked to stop.
    Stopping,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Ended on request.
    Cancelled,
}

impl SessionStatus {
    /// Every status, in the order of a session's life.
    pub const ALL: [Self; 7] = [
        Self::Created,
        Self::Running,
        Self::Idle,
        Self::Stopping,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Stopping => "stopping",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the session has ended.
    pub fn is_finished(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    /// Whether a session in this status may be set to `next`.
    pub fn can_become(self, next: Self) -> bool {
        match self {
            Self::Created => matches!(next, Self::Running | Self::Cancelled | Self::Failed),
            Self::Running => next.is_finished() || matches!(next, Self::Idle | Self::Stopping),
            Self::Idle => next.is_finished() || matches!(next, Self::Running | Self::Stopping),
            Self::Stopping => next.is_finished(),
            Self::Succeeded | Self::Failed | Self::Cancelled => false,
        }
    }
}

impl FromStr for SessionStatus {
    type Err = Invalid;

    /// Reads our words and those of the other vocabularies that map here.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "created" | "pending" | "queued" => Ok(Self::Created),
            "running" => Ok(Self::Running),
            "idle" => Ok(Self::Idle),
            "stopping" => Ok(Self::Stopping),
            "succeeded" | "finished" | "completed" => Ok(Self::Succeeded),
            "failed" | "error" => Ok(Self::Failed),
            "cancelled" | "stopped" => Ok(Self::Cancelled),
            _ => {
                let known: Vec<_> = Self::ALL.iter().map(|status| status.as_str()).collect();
                Err(Invalid::new("status", format!("{text:?} is none of {}", known.join(", "))))
            }
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a session ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Exit {
    /// Exit code of the agent's process.
    pub code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// Why, in words.
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub reason: Option<String>,
}

/// A requested change of status.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusChange {
    /// The status wanted.
    pub to: SessionStatus,
    /// How it ended, for a finished status.
    #[serde(default)]
    pub exit: Exit,
}

impl StatusChange {
    /// Refuses an overlong reason, and an exit where nothing ended.
    pub fn check(&self) -> Result<(), Invalid> {
        if !self.to.is_finished() && self.exit != Exit::default() {
            let reason = format!("only a finished session has one, {} is not", self.to);
            return Err(Invalid::new("exit", reason));
        }
        check_optional("reason", self.exit.reason.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// What a program that works on a session says of it; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each field is the column of the same name")]
pub struct SessionUpdate {
    pub project_dir: Option<String>,
    pub hostname: Option<String>,
    pub executor_session_id: Option<String>,
    pub executor_profile: Option<String>,
    pub executor_type: Option<String>,
    pub inference_session_id: Option<String>,
    pub log_path: Option<String>,
    pub workspace_path: Option<String>,
    pub pid_agent: Option<i64>,
    pub multiplexer_kind: Option<String>,
    pub mux_session: Option<String>,
    pub mux_window: Option<i64>,
    pub pane_left: Option<String>,
    pub agent: Option<AgentKindRef>,
    pub last_resumed_at: Option<Timestamp>,
    /// Where it came from; one that came from somewhere stays so, and says no to another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl SessionUpdate {
    /// Refuses any part that breaks its own rule.
    pub fn check(&self) -> Result<(), Invalid> {
        let mut details = SessionDetails::default();
        self.apply(&mut details);
        details.check()?;
        self.origin.as_ref().map_or(Ok(()), Origin::check)?;
        self.agent.as_ref().map_or(Ok(()), AgentKindRef::check)
    }

    fn apply(&self, details: &mut SessionDetails) {
        let set = |from: &Option<String>, to: &mut Option<String>| {
            if from.is_some() {
                to.clone_from(from);
            }
        };
        set(&self.project_dir, &mut details.project_dir);
        set(&self.hostname, &mut details.hostname);
        set(&self.executor_session_id, &mut details.executor_session_id);
        set(&self.executor_profile, &mut details.executor_profile);
        set(&self.executor_type, &mut details.executor_type);
        set(&self.inference_session_id, &mut details.inference_session_id);
        set(&self.log_path, &mut details.log_path);
        set(&self.workspace_path, &mut details.workspace_path);
        set(&self.multiplexer_kind, &mut details.multiplexer_kind);
        set(&self.mux_session, &mut details.mux_session);
        set(&self.pane_left, &mut details.pane_left);
        details.mux_window = self.mux_window.or(details.mux_window);
        details.pid_agent = self.pid_agent.or(details.pid_agent);
    }
}

/// Where an imported or hooked session came from; unique together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// The tool or store it came from.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = INDEXED_TEXT_BYTES_MAX), pattern(r"\S"))
    )]
    pub source: String,
    /// Its id there.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = INDEXED_TEXT_BYTES_MAX), pattern(r"\S"))
    )]
    pub external_id: String,
}

impl Origin {
    /// Refuses empty or overlong parts.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_filled("source", &self.source, INDEXED_TEXT_BYTES_MAX)?;
        check_filled("externalId", &self.external_id, INDEXED_TEXT_BYTES_MAX)
    }
}

/// The point of another session's log that this one goes on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The session forked from.
    pub session_id: SessionId,
    /// The last seq that belongs to both.
    pub at_seq: u64,
}

/// What is known of the machine and program around a session; all of it optional.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
#[expect(missing_docs, reason = "each field is the column of the same name")]
pub struct SessionDetails {
    pub project_dir: Option<String>,
    pub hostname: Option<String>,
    pub executor_session_id: Option<String>,
    pub executor_profile: Option<String>,
    pub executor_type: Option<String>,
    pub inference_session_id: Option<String>,
    pub reset_message: Option<String>,
    pub multiplexer_kind: Option<String>,
    pub mux_session: Option<String>,
    pub mux_window: Option<i64>,
    pub pane_left: Option<String>,
    pub pane_right: Option<String>,
    pub pid_agent: Option<i64>,
    pub log_path: Option<String>,
    pub workspace_path: Option<String>,
}

impl SessionDetails {
    fn check(&self) -> Result<(), Invalid> {
        let texts = [
            ("projectDir", &self.project_dir),
            ("hostname", &self.hostname),
            ("executorSessionId", &self.executor_session_id),
            ("executorProfile", &self.executor_profile),
            ("executorType", &self.executor_type),
            ("inferenceSessionId", &self.inference_session_id),
            ("multiplexerKind", &self.multiplexer_kind),
            ("muxSession", &self.mux_session),
            ("paneLeft", &self.pane_left),
            ("paneRight", &self.pane_right),
            ("logPath", &self.log_path),
            ("workspacePath", &self.workspace_path),
        ];
        for (field, text) in texts {
            check_optional(field, text.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        }
        let prompt_max = crate::limits::PROMPT_BYTES_MAX;
        check_optional("resetMessage", self.reset_message.as_deref(), prompt_max)
    }
}

/// A session to create; the repository, kind and runtime are registered with it if new.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewSession {
    /// Its id; minted when absent.
    #[serde(default)]
    pub id: Option<SessionId>,
    /// Where it works.
    pub repo: NewRepo,
    /// The agent that holds it.
    pub agent: AgentKindRef,
    /// Where the agent executes.
    #[serde(default)]
    pub runtime: RuntimeSpec,
    /// The workspace's name, on stores that have workspaces.
    #[serde(default)]
    pub workspace: Option<String>,
    /// What to call it in lists.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = SHORT_TEXT_BYTES_MAX)))]
    pub title: Option<String>,
    /// Labels to find it by.
    #[serde(default)]
    pub labels: Labels,
    /// The session that started it.
    #[serde(default)]
    pub parent: Option<SessionId>,
    /// Where it came from.
    #[serde(default)]
    pub origin: Option<Origin>,
    /// What else is known.
    #[serde(default)]
    pub details: SessionDetails,
}

impl NewSession {
    /// A session of `agent` in `repo` with nothing else said.
    pub fn new(repo: NewRepo, agent: AgentKindRef) -> Self {
        Self {
            id: None,
            repo,
            agent,
            runtime: RuntimeSpec::default(),
            workspace: None,
            title: None,
            labels: Labels::default(),
            parent: None,
            origin: None,
            details: SessionDetails::default(),
        }
    }

    /// Refuses any part that breaks its own rule.
    pub fn check(&self) -> Result<(), Invalid> {
        self.repo.check()?;
        self.agent.check()?;
        self.runtime.check()?;
        self.labels.check()?;
        self.details.check()?;
        check_optional("title", self.title.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        self.origin.as_ref().map_or(Ok(()), Origin::check)?;
        self.workspace.as_deref().map_or(Ok(()), crate::Workspace::check_name)
    }
}

/// A session the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Where it stands.
    pub status: SessionStatus,
    /// What to call it in lists.
    pub title: Option<String>,
    /// The agent that holds it.
    pub agent: AgentKindRef,
    /// The store's number for its repository; absent in exports, where it means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_id: Option<i64>,
    /// Where it works.
    pub repo: NewRepo,
    /// Where the agent executes.
    pub runtime: RuntimeSpec,
    /// The workspace's name.
    pub workspace: Option<String>,
    /// Labels to find it by.
    pub labels: Labels,
    /// Kept whatever retention says.
    pub pinned: bool,
    /// The session that started it.
    pub parent_session_id: Option<SessionId>,
    /// The point it was forked from.
    pub forked_from: Option<Fork>,
    /// Where it came from.
    pub origin: Option<Origin>,
    /// The agent whose session it is, and its place in that agent's life.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_agent: Option<Membership>,
    /// What else is known.
    #[serde(flatten)]
    pub details: SessionDetails,
    /// The seq of its newest event; 0 when it has none.
    #[cfg_attr(feature = "schema", schemars(range(max = i64::MAX)))]
    pub last_seq: u64,
    /// Token totals.
    pub usage: Usage,
    /// How it ended.
    pub exit: Exit,
    /// When it was recorded.
    pub created_at: Timestamp,
    /// When an agent first ran; the time of creation until then.
    pub started_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// When it last ran again.
    pub last_resumed_at: Option<Timestamp>,
    /// When anything last happened to it; never goes back.
    pub last_activity_at: Timestamp,
}

impl Session {
    /// A session just created at `now` with `id` from what was asked for.
    pub fn created(new: NewSession, id: SessionId, repo_id: i64, now: Timestamp) -> Self {
        Self {
            id,
            status: SessionStatus::Created,
            title: new.title,
            agent: new.agent,
            repo_id: Some(repo_id),
            repo: new.repo,
            runtime: new.runtime,
            workspace: new.workspace,
            labels: new.labels,
            pinned: false,
            parent_session_id: new.parent,
            forked_from: None,
            origin: new.origin,
            of_agent: None,
            details: new.details,
            last_seq: 0,
            usage: Usage::default(),
            exit: Exit::default(),
            created_at: now,
            started_at: now,
            ended_at: None,
            last_resumed_at: None,
            last_activity_at: now,
        }
    }

    /// Applies `change` at `now`, or says why it is refused.
    pub fn transition(&mut self, change: StatusChange, now: Timestamp) -> Result<(), String> {
        if !self.status.can_become(change.to) {
            return Err(format!("is {} and cannot become {}", self.status, change.to));
        }
        if self.status == SessionStatus::Created && change.to == SessionStatus::Running {
            self.started_at = now;
        }
        if change.to.is_finished() {
            self.ended_at = Some(now);
            self.exit = change.exit;
        }
        self.status = change.to;
        self.touch(now);
        Ok(())
    }

    /// Refuses an origin for a session that has another; `None` if there is nothing to note.
    pub fn new_origin<'a>(&self, update: &'a SessionUpdate) -> Result<Option<&'a Origin>, String> {
        match (&self.origin, &update.origin) {
            (_, None) => Ok(None),
            (None, Some(wanted)) => Ok(Some(wanted)),
            (Some(known), Some(wanted)) if known == wanted => Ok(None),
            (Some(Origin { source, external_id }), Some(_)) => {
                Err(format!("comes from {source} {external_id}"))
            }
        }
    }

    /// Takes in what a program says of it.
    pub fn update(&mut self, update: &SessionUpdate, now: Timestamp) {
        update.apply(&mut self.details);
        if let Some(agent) = &update.agent {
            self.agent = agent.clone();
        }
        if update.origin.is_some() {
            self.origin.clone_from(&update.origin);
        }
        self.last_resumed_at = update.last_resumed_at.or(self.last_resumed_at);
        self.touch(now);
    }

    /// Refuses a run that does not fit: a session is started once, and resumed only by one at a
    /// time.
    pub fn check_run(&self, kind: RunKind) -> Result<(), String> {
        let fits = match kind {
            RunKind::Start => self.status == SessionStatus::Created,
            RunKind::Resume => {
                !matches!(self.status, SessionStatus::Running | SessionStatus::Stopping)
            }
        };
        let doing = match kind {
            RunKind::Start => "started",
            RunKind::Resume => "resumed",
        };
        if fits { Ok(()) } else { Err(format!("is {} and cannot be {doing}", self.status)) }
    }

    /// Refuses a fleet for one that has ended or is about to.
    pub fn check_fleet(&self) -> Result<(), String> {
        if self.status == SessionStatus::Stopping || self.status.is_finished() {
            return Err(format!("is {} and cannot have a fleet", self.status));
        }
        Ok(())
    }

    /// Follows a run of it that began at `now`. The only way back for a session that has ended.
    pub fn run_started(&mut self, kind: RunKind, now: Timestamp) {
        match self.status {
            SessionStatus::Created => {
                self.status = SessionStatus::Running;
                self.started_at = now;
            }
            SessionStatus::Running | SessionStatus::Stopping => {}
            SessionStatus::Idle
            | SessionStatus::Succeeded
            | SessionStatus::Failed
            | SessionStatus::Cancelled => {
                self.status = SessionStatus::Running;
                self.ended_at = None;
                self.exit = Exit::default();
            }
        }
        if kind == RunKind::Resume {
            self.last_resumed_at = Some(now);
        }
        self.touch(now);
    }

    /// Follows a run of it that ended: one that has ended by somebody else's word stays so.
    pub fn run_ended(&mut self, end: &RunEnd, now: Timestamp) {
        let mut to = end.session_status();
        if self.status == SessionStatus::Created && !self.status.can_become(to) {
            self.status = SessionStatus::Running;
        }
        if self.status == SessionStatus::Stopping && to == SessionStatus::Idle {
            to = SessionStatus::Cancelled;
        }
        let exit = if to.is_finished() { end.session_exit() } else { Exit::default() };
        // A refusal means that it has ended, or is idle already: nothing is left to say.
        let _ = self.transition(StatusChange { to, exit }, now);
    }

    /// Asks it to stop at `now`. One that a run executes (`at_work`), or that runs by itself, is
    /// stopping until its end is reported; any other is cancelled at once. Asking again is no
    /// change; one that has ended refuses.
    pub fn stop(&mut self, at_work: bool, now: Timestamp) -> Result<(), String> {
        let to = match self.status {
            SessionStatus::Created if at_work => return Ok(()),
            SessionStatus::Created => SessionStatus::Cancelled,
            SessionStatus::Idle if !at_work => SessionStatus::Cancelled,
            SessionStatus::Idle | SessionStatus::Running => SessionStatus::Stopping,
            SessionStatus::Stopping => return Ok(()),
            SessionStatus::Succeeded | SessionStatus::Failed | SessionStatus::Cancelled
                if at_work =>
            {
                return Ok(());
            }
            SessionStatus::Succeeded | SessionStatus::Failed | SessionStatus::Cancelled => {
                return Err(format!("is {} and cannot be stopped", self.status));
            }
        };
        self.transition(StatusChange { to, exit: Exit::default() }, now)
    }

    /// Notes that something happened at `now`; a clock that went back changes nothing.
    pub fn touch(&mut self, now: Timestamp) {
        self.last_activity_at = self.last_activity_at.max(now);
    }

    /// The session to create for a fork of this one at `at_seq`, or why there cannot be one.
    pub fn fork(&self, at_seq: Option<u64>) -> Result<(NewSession, Fork), Invalid> {
        let at_seq = at_seq.unwrap_or(self.last_seq);
        if at_seq > self.last_seq {
            let reason = format!("{at_seq}, session {} ends at {}", self.id, self.last_seq);
            return Err(Invalid::new("fork point", reason));
        }
        Ok((self.successor(), Fork { session_id: self.id.clone(), at_seq }))
    }

    /// A session to create that works where this one did, with nothing said in it yet.
    pub fn successor(&self) -> NewSession {
        NewSession {
            id: None,
            repo: self.repo.clone(),
            agent: self.agent.clone(),
            runtime: self.runtime.clone(),
            workspace: self.workspace.clone(),
            title: self.title.clone(),
            labels: self.labels.clone(),
            parent: None,
            origin: None,
            details: SessionDetails {
                project_dir: self.details.project_dir.clone(),
                ..SessionDetails::default()
            },
        }
    }

    /// Ends the session at `now` because its agent went on without it: one that ran or has events
    /// succeeded, one that nothing happened in is cancelled, one that has ended stays as it is.
    pub fn close(&mut self, reason: &str, now: Timestamp) {
        if self.last_seq > 0 && self.status == SessionStatus::Created {
            self.status = SessionStatus::Running;
        }
        let exit = Exit { reason: Some(reason.to_owned()), ..Exit::default() };
        for to in [SessionStatus::Succeeded, SessionStatus::Cancelled] {
            if self.status.can_become(to) {
                // The way was just looked up, so it is there.
                let _ = self.transition(StatusChange { to, exit }, now);
                return;
            }
        }
    }

    /// Follows what an import says of it, once its events are there: it ran if there are any, and
    /// has ended if it is said when, for `reason`.
    pub fn follow_import(&mut self, import: &SessionImport, reason: &str) {
        if self.last_seq > 0 && self.status == SessionStatus::Created {
            self.status = SessionStatus::Running;
        }
        if self.details.inference_session_id.is_none() {
            self.details.inference_session_id.clone_from(&import.inference_session_id);
        }
        self.touch(import.last_activity_at());
        if let Some(ended_at) = import.ended_at {
            self.close(reason, ended_at);
        }
    }

    /// Ends it, as it comes back, if its agent goes on in another.
    pub fn left_behind(&mut self) {
        self.close(IMPORTED, self.last_activity_at);
    }

    /// Refuses what [`NewSession::check`] and the other ways in would have refused.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        NewSession {
            id: None,
            repo: self.repo.clone(),
            agent: self.agent.clone(),
            runtime: self.runtime.clone(),
            workspace: self.workspace.clone(),
            title: self.title.clone(),
            labels: self.labels.clone(),
            parent: None,
            origin: self.origin.clone(),
            details: self.details.clone(),
        }
        .check()?;
        check_optional("reason", self.exit.reason.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        let number = self.of_agent.as_ref().map_or(0, |agent| agent.number);
        let fork_seq = self.forked_from.as_ref().map_or(0, |fork| fork.at_seq);
        let numbers =
            [("lastSeq", self.last_seq), ("fork point", fork_seq), ("session number", number)];
        for (field, number) in numbers {
            if i64::try_from(number).is_err() {
                return Err(Invalid::new(field, format!("{number} is too large")));
            }
        }
        if self.of_agent.is_some() && number == 0 {
            return Err(Invalid::new("session number", "0, they count from 1"));
        }
        self.usage.check()
    }

    /// Refuses a title that cannot be stored.
    pub fn check_title(title: &str) -> Result<(), Invalid> {
        check_text("title", title, SHORT_TEXT_BYTES_MAX)
    }
}

/// Which sessions of a list; every part that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    /// In one of these statuses; in any when empty.
    pub statuses: Vec<SessionStatus>,
    /// In this repository.
    pub repo_id: Option<i64>,
    /// Of this kind, any version.
    pub agent: Option<String>,
    /// Of this version of the kind.
    pub agent_version: Option<String>,
    /// With all of these labels.
    pub labels: Labels,
    /// Active at or after.
    pub since: Option<Timestamp>,
    /// Active before.
    pub until: Option<Timestamp>,
    /// With this text in the title, in any ASCII case.
    pub title: Option<String>,
    /// Started by this session.
    pub parent: Option<SessionId>,
    /// Forked from this session.
    pub forked_from: Option<SessionId>,
}

impl SessionFilter {
    /// Whether `session` passes. Stores filter in their own way; this is what they must agree with.
    pub fn matches(&self, session: &Session) -> bool {
        let wanted = |want: &Option<String>, have: &str| want.as_ref().is_none_or(|w| w == have);
        let title = session.title.as_deref().unwrap_or_default().to_ascii_lowercase();
        (self.statuses.is_empty() || self.statuses.contains(&session.status))
            && self.repo_id.is_none_or(|id| session.repo_id == Some(id))
            && wanted(&self.agent, &session.agent.name)
            && wanted(&self.agent_version, &session.agent.version)
            && self.labels.0.iter().all(|(k, v)| session.labels.0.get(k) == Some(v))
            && self.since.is_none_or(|since| session.last_activity_at >= since)
            && self.until.is_none_or(|until| session.last_activity_at < until)
            && self.title.as_ref().is_none_or(|part| title.contains(&part.to_ascii_lowercase()))
            && self.parent.as_ref().is_none_or(|id| session.parent_session_id.as_ref() == Some(id))
            && self.forked_from.as_ref().is_none_or(|id| {
                session.forked_from.as_ref().is_some_and(|fork| fork.session_id == *id)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::SessionStatus::{
        self, Cancelled, Created, Failed, Idle, Running, Stopping, Succeeded,
    };

    #[test]
    fn the_only_ways_from_status_to_status_are_these() {
        let allowed = [
            (Created, vec![Running, Cancelled, Failed]),
            (Running, vec![Idle, Stopping, Succeeded, Failed, Cancelled]),
            (Idle, vec![Running, Stopping, Succeeded, Failed, Cancelled]),
            (Stopping, vec![Cancelled, Succeeded, Failed]),
            (Succeeded, vec![]),
            (Failed, vec![]),
            (Cancelled, vec![]),
        ];
        for (from, to) in allowed {
            for next in SessionStatus::ALL {
                assert_eq!(from.can_become(next), to.contains(&next), "{from} -> {next}");
            }
        }
    }

    #[test]
    fn other_vocabularies_map_here() {
        for (word, status) in [
            ("pending", Created),
            ("queued", Created),
            ("finished", Succeeded),
            ("completed", Succeeded),
            ("stopped", Cancelled),
            ("error", Failed),
        ] {
            assert_eq!(word.parse(), Ok(status));
        }
        assert!("paused".parse::<SessionStatus>().unwrap_err().reason.contains("\"paused\""));
    }
}
