//! What the payload of a hook says.

use ah_model::{Invalid, NewEvent, Origin, SessionId, SessionStatus, Timestamp};

use super::{HookCall, HookTool};
use crate::transcript::{Title, TitleRank, View, foreign, project_dir};
use crate::unreadable::{self, fingerprint};

/// What the keys of events begin with that hooks tell of.
const KEY: &str = "hook/";

/// A payload by what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEvent {
    /// What the program calls it.
    pub name: String,
    /// When it happened.
    pub at: Timestamp,
    /// The session it belongs to.
    pub origin: Origin,
    /// The session that started that one, by its id there.
    pub parent: Option<String>,
    /// What is appended: one event, or more of a payload that is too large for one.
    pub events: Vec<NewEvent>,
    /// Where the agent works.
    pub project_dir: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// What kind of sub-agent the session is of.
    pub agent_type: Option<String>,
    /// What the session may be called.
    pub title: Option<String>,
    /// Where the session stands after it.
    pub status: Option<SessionStatus>,
    /// The session that the agent was started for, if we started it.
    pub session: Option<SessionId>,
    /// The sub-agent that has come to its end, by the id of its session there.
    pub ended: Option<String>,
}

impl HookEvent {
    pub(super) fn read(call: &HookCall) -> Result<Self, Invalid> {
        let said = View::of(&call.payload);
        let root = said.id("session_id").ok_or_else(|| {
            Invalid::new("session_id", format!("the payload of {} names no session", call.tool))
        })?;
        let name = said.id("hook_event_name").or_else(|| said.id("event")).unwrap_or_default();
        let word = Word::of(call.tool, &name);
        let child = said.id("agent_id").map(|agent| child(call.tool, &root, &agent));
        // Those are told of by the parent: a compaction has an end and no beginning.
        let (child, ended) = match word {
            Some(Word::SubagentStart) => (None, None),
            Some(Word::SubagentStop) => (None, child),
            _ => (child, None),
        };
        let dir = said.text("cwd").or_else(|| said.text("working_dir")).or(call.dir.clone());
        let (session, parent) = match child {
            Some(child) => (child, Some(root)),
            None => (root, None),
        };
        let time = said.time().unwrap_or(call.at);
        let kind = word.map_or_else(|| foreign(call.tool.as_str(), &name), Word::kind);
        let title = said.text("prompt").or_else(|| said.text("message"));
        let title = title.filter(|_| word == Some(Word::Prompt) && parent.is_none());
        let key = key(&said, &name, call);
        let is_child = parent.is_some();
        Ok(Self {
            origin: Origin { source: call.tool.as_str().to_owned(), external_id: session },
            events: unreadable::events("hook", &call.payload, kind, key, time),
            project_dir: dir.and_then(|dir| project_dir(&dir)),
            model: said.text("model").filter(|model| !model.is_empty()),
            agent_type: said.text("agent_type").filter(|kind| is_child && !kind.is_empty()),
            title: title.and_then(|text| Title::of(TitleRank::Prompt, &text)).map(|t| t.text),
            status: word.and_then(Word::status).or(is_child.then_some(SessionStatus::Running)),
            at: time,
            session: call.session.clone().filter(|_| !is_child),
            name,
            parent,
            ended,
        })
    }
}

/// What the session of a sub-agent is called: Codex gives it a thread of its own.
fn child(tool: HookTool, root: &str, agent: &str) -> String {
    match tool {
        HookTool::Codex => agent.to_owned(),
        HookTool::ClaudeCode | HookTool::Gemini | HookTool::Goose => format!("{root}/{agent}"),
    }
}

/// What a call is known by: the tool's own id, or all of a payload that says its time.
fn key(said: &View<'_>, name: &str, call: &HookCall) -> String {
    let tool = said.id("tool_use_id").or_else(|| said.id("tool_call_id"));
    match tool {
        Some(id) => format!("{KEY}{name}/{id}"),
        None if said.time().is_some() => {
            format!("{KEY}{name}/{:016x}", fingerprint(call.payload.as_str().as_bytes()))
        }
        None => format!("{KEY}{}", call.id),
    }
}

/// What we have a word for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    SessionStart,
    Prompt,
    PreTool,
    PostTool,
    PermissionRequest,
    PermissionDenied,
    Notification,
    /// The end of a turn or of the program; a session can go on after both.
    Stop,
    SubagentStart,
    SubagentStop,
    Compaction,
}

impl Word {
    fn of(tool: HookTool, name: &str) -> Option<Self> {
        Some(match (tool, name) {
            (_, "SessionStart") => Self::SessionStart,
            (_, "SessionEnd") => Self::Stop,
            (_, "Notification") => Self::Notification,
            (HookTool::Gemini, "BeforeAgent") => Self::Prompt,
            (HookTool::Gemini, "AfterAgent") => Self::Stop,
            (HookTool::Gemini, "BeforeTool") => Self::PreTool,
            (HookTool::Gemini, "AfterTool") => Self::PostTool,
            // Its `PreCompress` comes before every call of a model, and is no compaction.
            (HookTool::Gemini, _) => return None,
            (_, "UserPromptSubmit") => Self::Prompt,
            (_, "PreToolUse") => Self::PreTool,
            (_, "PostToolUse" | "PostToolUseFailure") => Self::PostTool,
            (_, "PermissionRequest") => Self::PermissionRequest,
            (_, "PermissionDenied") => Self::PermissionDenied,
            (_, "Stop" | "StopFailure") => Self::Stop,
            (_, "SubagentStart") => Self::SubagentStart,
            (_, "SubagentStop") => Self::SubagentStop,
            (_, "PreCompact" | "PostCompact") => Self::Compaction,
            _ => return None,
        })
    }

    fn kind(self) -> String {
        let kind = match self {
            Self::SessionStart => "session_start",
            Self::Prompt => "message",
            Self::PreTool => "pre_tool",
            Self::PostTool => "post_tool",
            Self::PermissionRequest => "permission_request",
            Self::PermissionDenied => "permission_denied",
            Self::Notification => "notification",
            Self::Stop => "session_stop",
            Self::SubagentStart => "subagent_start",
            Self::SubagentStop => "subagent_stop",
            Self::Compaction => "compaction",
        };
        kind.to_owned()
    }

    fn status(self) -> Option<SessionStatus> {
        match self {
            Self::Prompt => Some(SessionStatus::Running),
            Self::Stop => Some(SessionStatus::Idle),
            _ => None,
        }
    }
}
