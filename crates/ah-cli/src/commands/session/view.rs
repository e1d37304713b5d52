//! Sessions and events as people read them.

use ah_model::{Event, Fleet, MemberName, Session, SessionDetails, Timestamp, Usage};

use crate::output::{cut, fields, printable};
use crate::when::ago;

/// How much of an event's payload fits a line.
const DATA_CHARS: usize = 160;

pub(crate) const HEADER: &[&str] = &["ID", "STATUS", "AGENT", "EVENTS", "ACTIVE", "TITLE"];

pub(crate) fn row(session: &Session, now: Timestamp) -> Vec<String> {
    let pin = if session.pinned { "* " } else { "" };
    vec![
        session.id.to_string(),
        session.status.to_string(),
        session.agent.to_string(),
        session.last_seq.to_string(),
        ago(session.last_activity_at, now),
        format!("{pin}{}", printable(session.title.as_deref().unwrap_or(""))),
    ]
}

pub(crate) fn session(session: &Session, fleet: Option<&Fleet>) -> String {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let fork = session.forked_from.as_ref();
    let labels: Vec<_> = session.labels.0.iter().map(|(k, v)| format!("{k}={v}")).collect();
    let agent = session.of_agent.as_ref();
    fields(&[
        ("id", session.id.to_string()),
        ("title", text(&session.title)),
        ("status", session.status.to_string()),
        ("reason", text(&session.exit.reason)),
        ("exit code", session.exit.code.map(|code| code.to_string()).unwrap_or_default()),
        ("agent", session.agent.to_string()),
        (
            "of agent",
            agent
                .map(|of| format!("{}, its session {} ({})", of.id, of.number, of.cause.as_str()))
                .unwrap_or_default(),
        ),
        ("repository", text(&session.repo.root_path.clone().or(session.repo.remote_url.clone()))),
        ("directory", text(&session.details.project_dir)),
        ("working copy", text(&session.details.workspace_path)),
        ("pane", pane(&session.details)),
        ("runtime", session.runtime.kind.to_string()),
        ("workspace", text(&session.workspace)),
        ("labels", labels.join(" ")),
        ("pinned", if session.pinned { "yes".to_owned() } else { String::new() }),
        ("parent", session.parent_session_id.as_ref().map(ToString::to_string).unwrap_or_default()),
        (
            "forked from",
            fork.map(|f| format!("{} at {}", f.session_id, f.at_seq)).unwrap_or_default(),
        ),
        ("fleet", fleet.map(members).unwrap_or_default()),
        ("events", session.last_seq.to_string()),
        ("tokens", tokens(session.usage)),
        ("created", session.created_at.to_string()),
        ("last activity", session.last_activity_at.to_string()),
        ("ended", session.ended_at.map(|at| at.to_string()).unwrap_or_default()),
    ])
}

/// Where its agent has its terminal.
fn pane(details: &SessionDetails) -> String {
    let Some(kind) = &details.multiplexer_kind else { return String::new() };
    let window = details.mux_window.map(|window| format!(":{window}")).unwrap_or_default();
    let session = details.mux_session.as_deref().unwrap_or_default();
    let pane = details.pane_left.as_ref().map(|pane| format!(" ({pane})")).unwrap_or_default();
    printable(&format!("{kind} {session}{window}{pane}"))
}

fn members(fleet: &Fleet) -> String {
    let others = fleet.members.iter().map(|member| &member.name).filter(|n| **n != fleet.leader);
    let others: Vec<&str> = others.map(MemberName::as_str).collect();
    match others.is_empty() {
        true => format!("{} alone", fleet.leader),
        false => format!("{} leads {}", fleet.leader, others.join(", ")),
    }
}

/// What was spent without caches, where anything was.
pub(crate) fn tokens(usage: Usage) -> String {
    match usage.input_tokens + usage.output_tokens {
        0 => String::new(),
        _ => format!("{} in, {} out", usage.input_tokens, usage.output_tokens),
    }
}

/// One event on one line.
pub(crate) fn event(event: &Event) -> String {
    let data = cut(event.data.as_str(), DATA_CHARS);
    format!("{:>6}  {}  {}  {}\n", event.seq, event.ts, printable(&event.kind), printable(&data))
}
