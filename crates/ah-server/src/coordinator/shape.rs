//! Sessions, runs and events as its clients read them.

use std::collections::BTreeMap;

use ah_model::{Demands, Event, ExecutionMode, RawJson, Run, RunStatus, Session, SessionId};
use serde::{Deserialize, Serialize};

use super::words;

/// A session: the columns of its table, each of them always there.
#[derive(Debug, Serialize)]
pub(super) struct SessionShape {
    session_id: SessionId,
    status: &'static str,
    created_at: String,
    project_dir: Option<String>,
    agent_name: Option<String>,
    last_resumed_at: Option<String>,
    parent_session_id: Option<SessionId>,
    executor_session_id: Option<String>,
    executor_profile: Option<String>,
    hostname: Option<String>,
}

impl From<Session> for SessionShape {
    fn from(session: Session) -> Self {
        Self {
            status: words::session_status(session.status),
            created_at: words::time(session.created_at),
            agent_name: words::agent_name(&session.agent).map(str::to_owned),
            last_resumed_at: session.last_resumed_at.map(words::time),
            session_id: session.id,
            project_dir: session.details.project_dir,
            parent_session_id: session.parent_session_id,
            executor_session_id: session.details.executor_session_id,
            executor_profile: session.details.executor_profile,
            hostname: session.details.hostname,
        }
    }
}

/// The key of a run's parameters that holds what only this interface knows of it.
pub(super) const EXTRAS_KEY: &str = "$coordinator";

/// What only this interface knows of a run.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Extras {
    /// What hooks and placeholders are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scope: Option<RawJson>,
    /// The blueprint of this run, where it is not the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent_name: Option<String>,
    /// The directory of this run, where it is not the session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) project_dir: Option<String>,
}

impl Extras {
    fn is_empty(&self) -> bool {
        self.scope.is_none() && self.agent_name.is_none() && self.project_dir.is_none()
    }

    /// `parameters` with these among them.
    pub(super) fn joined(self, parameters: RawJson) -> Result<RawJson, ah_model::Invalid> {
        if self.is_empty() {
            return Ok(parameters);
        }
        let mut members: BTreeMap<String, RawJson> = parameters.read().unwrap_or_default();
        members.insert(EXTRAS_KEY.to_owned(), RawJson::of(&self)?);
        RawJson::of(&members)
    }

    /// The parameters of a run, and these.
    pub(super) fn split(parameters: &RawJson) -> (RawJson, Self) {
        if !parameters.as_str().contains(EXTRAS_KEY) {
            return (parameters.clone(), Self::default());
        }
        let mut members: BTreeMap<String, RawJson> = parameters.read().unwrap_or_default();
        let Some(extras) = members.remove(EXTRAS_KEY) else {
            return (parameters.clone(), Self::default());
        };
        let rest = RawJson::of(&members).unwrap_or_else(|_| RawJson::empty_object());
        (rest, extras.read().unwrap_or_default())
    }
}

/// What a run demands of its runner.
#[derive(Debug, Serialize)]
struct DemandsShape {
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_dir: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executor_profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    executor_type: Option<String>,
    tags: Vec<String>,
}

impl DemandsShape {
    fn of(demands: Demands) -> Option<Self> {
        let given = !demands.is_empty();
        let Demands { hostname, project_dir, executor_profile, executor_type, tags, .. } = demands;
        given.then_some(Self { hostname, project_dir, executor_profile, executor_type, tags })
    }
}

/// A run: in both dialects at once, `prompt` and `parameters`.
#[derive(Debug, Serialize)]
pub(super) struct RunShape {
    run_id: ah_model::RunId,
    #[serde(rename = "type")]
    kind: &'static str,
    session_id: SessionId,
    pub(super) agent_name: Option<String>,
    prompt: Option<String>,
    parameters: RawJson,
    project_dir: Option<String>,
    parent_session_id: Option<SessionId>,
    execution_mode: ExecutionMode,
    demands: Option<DemandsShape>,
    status: RunStatus,
    runner_id: Option<ah_model::ExecutorId>,
    error: Option<String>,
    created_at: String,
    claimed_at: Option<String>,
    started_at: Option<String>,
    completed_at: Option<String>,
    timeout_at: Option<String>,
}

impl RunShape {
    /// `run` of `session`.
    pub(super) fn of(run: Run, session: &Session) -> Self {
        Self::with_scope(run, session).0
    }

    /// `run` of `session`, and its scope.
    pub(super) fn with_scope(run: Run, session: &Session) -> (Self, Option<RawJson>) {
        let (parameters, extras) = Extras::split(&run.parameters);
        let shape = Self {
            kind: words::run_type(run.kind),
            agent_name: extras
                .agent_name
                .or_else(|| words::agent_name(&session.agent).map(str::to_owned)),
            prompt: prompt(&parameters),
            parameters,
            project_dir: extras.project_dir.or_else(|| session.details.project_dir.clone()),
            demands: DemandsShape::of(run.demands),
            created_at: words::time(run.created_at),
            claimed_at: run.claimed_at.map(words::time),
            started_at: run.started_at.map(words::time),
            completed_at: run.ended_at.map(words::time),
            timeout_at: run.timeout_ms.map(|ms| words::time(run.created_at.plus_ms(ms))),
            run_id: run.id,
            session_id: run.session_id,
            parent_session_id: run.parent_session_id,
            execution_mode: run.execution_mode,
            status: run.status,
            runner_id: run.executor_id,
            error: run.error,
        };
        (shape, extras.scope)
    }
}

/// The prompt among parameters, for runners of the older dialect.
fn prompt(parameters: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Prompt {
        prompt: String,
    }
    parameters.read::<Prompt>().ok().map(|Prompt { prompt }| prompt)
}

/// The parts of an event that have names of their own.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EventParts {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_input: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_output: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exit_code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) result_data: Option<RawJson>,
    /// The time as it was sent, where ours would not print the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
}

impl EventParts {
    /// Those of a stored event; parts that are not what they should be are none.
    pub(super) fn of(event: &Event) -> Self {
        if let Ok(parts) = event.data.read() {
            return parts;
        }
        let object = event.data.slice().object();
        let raw = |name: &str| object.get(&[name]).map(|slice| slice.to_raw());
        let text = |name: &str| raw(name).and_then(|raw| raw.read().ok());
        Self {
            tool_name: text("tool_name"),
            tool_input: raw("tool_input"),
            tool_output: raw("tool_output"),
            error: text("error"),
            exit_code: raw("exit_code").and_then(|raw| raw.read().ok()),
            reason: text("reason"),
            role: text("role"),
            content: raw("content"),
            result_text: text("result_text"),
            result_data: raw("result_data"),
            timestamp: text("timestamp"),
        }
    }
}

/// An event: the columns of its table, each of them always there.
#[derive(Debug, Serialize)]
pub(super) struct EventShape {
    id: u64,
    session_id: SessionId,
    event_type: String,
    timestamp: String,
    tool_name: Option<String>,
    tool_input: Option<RawJson>,
    tool_output: Option<RawJson>,
    error: Option<String>,
    exit_code: Option<i64>,
    reason: Option<String>,
    role: Option<String>,
    content: Option<RawJson>,
    result_text: Option<String>,
    result_data: Option<RawJson>,
}

impl From<Event> for EventShape {
    fn from(event: Event) -> Self {
        let parts = EventParts::of(&event);
        Self {
            id: event.seq,
            session_id: event.session_id,
            event_type: event.kind,
            timestamp: parts.timestamp.unwrap_or_else(|| words::time(event.ts)),
            tool_name: parts.tool_name,
            tool_input: parts.tool_input,
            tool_output: parts.tool_output,
            error: parts.error,
            exit_code: parts.exit_code,
            reason: parts.reason,
            role: parts.role,
            content: parts.content,
            result_text: parts.result_text,
            result_data: parts.result_data,
        }
    }
}
