use std::ops::ControlFlow;

use ah_model::{
    Agent, AgentId, Cause, RawJson, Session, SessionId, SessionStatus, Timestamp, Usage,
};
use serde::Serialize;

use super::{Named, each_session, view};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{fields, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
}

/// What an agent cost: as its sessions' events say, and as its program counts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    agent_id: AgentId,
    name: String,
    session_count: u64,
    events: u64,
    usage: Usage,
    tokens: RawJson,
    stats: RawJson,
    sessions: Vec<Cost>,
}

/// What one session cost. Sessions themselves are larger: their first message is in them.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    number: u64,
    id: SessionId,
    status: SessionStatus,
    cause: Option<Cause>,
    events: u64,
    usage: Usage,
    created_at: Timestamp,
    ended_at: Option<Timestamp>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let mut sessions = Vec::new();
    each_session(&*store, &agent, |session| {
        sessions.push(cost(session));
        Ok(ControlFlow::Continue(()))
    })?;
    app.output.result(&stats(agent, sessions), human)
}

fn stats(agent: Agent, sessions: Vec<Cost>) -> Stats {
    Stats {
        agent_id: agent.id,
        name: agent.name,
        session_count: agent.session_count,
        events: sessions.iter().map(|cost| cost.events).sum(),
        usage: agent.usage,
        tokens: agent.tokens,
        stats: agent.stats,
        sessions,
    }
}

fn cost(session: &Session) -> Cost {
    Cost {
        number: view::number(session),
        id: session.id.clone(),
        status: session.status,
        cause: session.of_agent.as_ref().map(|of| of.cause),
        events: session.last_seq,
        usage: session.usage,
        created_at: session.created_at,
        ended_at: session.ended_at,
    }
}

fn human(stats: &Stats) -> String {
    let usage = stats.usage;
    let totals = fields(&[
        ("sessions", stats.session_count.to_string()),
        ("events", stats.events.to_string()),
        ("input", usage.input_tokens.to_string()),
        ("output", usage.output_tokens.to_string()),
        ("cache read", usage.cache_read_tokens.to_string()),
        ("cache write", usage.cache_write_tokens.to_string()),
        ("reasoning", usage.reasoning_tokens.to_string()),
        ("last answer", view::json(&stats.tokens)),
        ("stats", view::json(&stats.stats)),
    ]);
    let row = |cost: &Cost| {
        vec![
            cost.number.to_string(),
            cost.id.to_string(),
            cost.status.to_string(),
            cost.events.to_string(),
            cost.usage.input_tokens.to_string(),
            cost.usage.output_tokens.to_string(),
        ]
    };
    let rows: Vec<_> = stats.sessions.iter().map(row).collect();
    let sessions = table(&["NUMBER", "ID", "STATUS", "EVENTS", "INPUT", "OUTPUT"], &rows);
    format!("{totals}\n{sessions}")
}
