//! Agents, their sessions and contexts as people read them.

use ah_model::{
    Agent, Context, ContextMessage, ContextPart, OpenRlm, PendingCall, RawJson, Role, Session,
    SessionId, Timestamp,
};

use crate::commands::session::view::tokens;
use crate::output::{cut, fields, printable, printable_lines};
use crate::when::ago;

/// How much of a JSON value is shown.
const JSON_CHARS: usize = 400;
/// How much of one text of a context is shown.
const TEXT_CHARS: usize = 2_000;
/// How much of a reset message fits a row.
const REASON_CHARS: usize = 60;

pub(crate) const HEADER: &[&str] =
    &["NAME", "LIFECYCLE", "TYPE", "KIND", "MODEL", "SESSIONS", "TOKENS", "CHANGED"];

pub(crate) const SESSION_HEADER: &[&str] =
    &["NUMBER", "ID", "STATUS", "CAUSE", "EVENTS", "TOKENS", "CREATED", "REASON"];

pub(crate) fn row(agent: &Agent, now: Timestamp) -> Vec<String> {
    vec![
        printable(&agent.name),
        stands(agent),
        printable(agent.agent_type.as_str()),
        agent.kind.to_string(),
        printable(agent.model.as_deref().unwrap_or_default()),
        agent.session_count.to_string(),
        tokens(agent.usage),
        ago(agent.updated_at, now),
    ]
}

pub(crate) fn agent(agent: &Agent) -> String {
    let active = agent.active_session_id.as_ref();
    let origin = agent.origin.as_ref();
    fields(&[
        ("id", agent.id.to_string()),
        ("name", agent.name.clone()),
        ("lifecycle", stands(agent)),
        ("protected", if agent.protected { "yes".to_owned() } else { String::new() }),
        ("type", agent.agent_type.to_string()),
        ("kind", agent.kind.to_string()),
        ("model", agent.model.clone().unwrap_or_default()),
        ("descriptor", json(&agent.descriptor)),
        ("permissions", json(&agent.permissions)),
        ("metadata", json(&agent.metadata)),
        ("last answer", json(&agent.tokens)),
        ("stats", json(&agent.stats)),
        ("origin", origin.map(|o| format!("{} {}", o.source, o.external_id)).unwrap_or_default()),
        ("session", active.map(ToString::to_string).unwrap_or_default()),
        ("sessions", agent.session_count.to_string()),
        ("tokens", tokens(agent.usage)),
        ("revision", agent.revision.to_string()),
        ("created", agent.created_at.to_string()),
        ("changed", agent.updated_at.to_string()),
    ])
}

/// Whether it takes part; a tombstone says so.
fn stands(agent: &Agent) -> String {
    match agent.destroyed_at {
        Some(_) => "destroyed".to_owned(),
        None => agent.lifecycle.to_string(),
    }
}

/// A JSON value on a line; nothing when it says nothing.
pub(crate) fn json(json: &RawJson) -> String {
    match json.as_str() {
        "null" | "{}" => String::new(),
        text => cut(text, JSON_CHARS),
    }
}

/// Which of its agent's sessions this is.
pub(crate) fn number(session: &Session) -> u64 {
    session.of_agent.as_ref().map_or(0, |of| of.number)
}

fn cause(session: &Session) -> &'static str {
    session.of_agent.as_ref().map_or("", |of| of.cause.as_str())
}

pub(crate) fn session_row(session: &Session, agent: &Agent, now: Timestamp) -> Vec<String> {
    let active = agent.active_session_id.as_ref() == Some(&session.id);
    let reason = session.details.reset_message.as_deref().unwrap_or_default();
    let first = reason.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    vec![
        format!("{}{}", number(session), if active { "*" } else { "" }),
        session.id.to_string(),
        session.status.to_string(),
        cause(session).to_owned(),
        session.last_seq.to_string(),
        tokens(session.usage),
        ago(session.created_at, now),
        printable(&cut(first, REASON_CHARS)),
    ]
}

/// A line before the events of a session, where those of several are printed.
pub(crate) fn session_heading(session: &Session) -> String {
    format!("session {} ({}) {}\n", number(session), cause(session), session.id)
}

/// A message of a context: who speaks, and below it what is said.
pub(crate) fn message(message: &ContextMessage) -> String {
    let mut head = vec![role(message.role).to_owned()];
    head.extend(message.seq.map(|seq| format!("#{seq}")));
    head.extend(message.session_id.as_ref().map(|session| format!("of session {session}")));
    head.extend(message.cause.map(|cause| cause.as_str().to_owned()));
    head.extend(message.tool_name.clone());
    head.extend(message.tool_call_id.as_ref().map(|call| format!("answers {call}")));
    head.extend(message.is_error.filter(|failed| *failed).map(|_| "failed".to_owned()));
    head.push(message.ts.to_string());
    let body: String = message.content.iter().map(|part| indented(&self::part(part))).collect();
    format!("{}\n{body}", printable(&head.join("  ")))
}

/// A line for every call and every program that has not ended.
pub(crate) fn open(context: &Context) -> Vec<String> {
    let at = |session: &SessionId, seq: u64| match *session == context.session_id {
        true => format!("event {seq}"),
        false => format!("event {seq} of session {session}"),
    };
    let calls = context.pending_calls.iter().map(|call| {
        let PendingCall { id, name, session_id, seq, .. } = call;
        format!("call {id} of {name} ({}) has no answer", at(session_id, *seq))
    });
    let programs = context.open_rlms.iter().map(|rlm| {
        let OpenRlm { tool_call_id: id, session_id, seq, resume } = rlm;
        let from = resume.as_ref().map(|point| at(&point.session_id, point.seq));
        let on = from.map(|from| format!(", it can go on from {from}")).unwrap_or_default();
        format!("the program of call {id} ({}) has not ended{on}", at(session_id, *seq))
    });
    calls.chain(programs).collect()
}

fn role(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}

fn part(part: &ContextPart) -> String {
    let shown = |json: &RawJson| cut(json.as_str(), JSON_CHARS);
    match part {
        ContextPart::Text(text) => cut(&text.to_string(), TEXT_CHARS),
        ContextPart::ToolCall(call) => {
            format!("call {}: {} {}", call.id, call.name, shown(&call.arguments))
        }
        ContextPart::File(file) => format!("file {}", shown(file)),
        ContextPart::Other(json) => shown(json),
    }
}

fn indented(text: &str) -> String {
    printable_lines(text).lines().map(|line| format!("  {line}\n")).collect()
}
