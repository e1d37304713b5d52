//! A session's log as lines for people, made of its `log` and `note` events.

use ah_model::{Event, EventQuery, Order, PageLimit, SessionId, Timestamp};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::{Pairs, PathId};
use crate::problem::Failure;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

const TYPES: [&str; 2] = ["log", "note"];
const LEVEL_DEFAULT: &str = "info";

pub(crate) fn routes() -> Routes {
    let lines = doc("A session's log as lines for people, newest last")
        .query([params::tail()])
        .query(params::events())
        .answers::<Logs>(200)
        .fails([404]);
    Routes::new().get("/sessions/{id}/logs", Access::LOOK.of_session(), lines, read)
}

#[derive(Serialize, JsonSchema)]
/// Lines of a log.
struct Logs {
    logs: Vec<Line>,
}

#[derive(Serialize, JsonSchema)]
/// A line of a log.
#[schemars(rename = "LogLine")]
struct Line {
    /// `info` unless the event says otherwise.
    level: String,
    message: String,
    ts: Timestamp,
}

async fn read(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    pairs: Pairs,
) -> Answer {
    let query = query(&pairs)?;
    let events = state.call(|store| async move { store.events(id, query).await }).await?;
    ok(&Logs { logs: events.iter().map(line).collect() })
}

/// The newest lines, `tail` of them, unless the client reads on behind a seq.
fn query(pairs: &Pairs) -> Result<EventQuery, Failure> {
    let mut query: EventQuery = pairs.read()?;
    query.types = TYPES.map(str::to_owned).to_vec();
    if let Some(tail) = pairs.number("tail")? {
        query.limit = PageLimit::new(tail)?;
        query.order = Order::Newest;
    } else if pairs.get("limit").is_none() {
        query.limit = PageLimit::MAX;
    }
    if pairs.get("after").is_none() && pairs.get("order").is_none() {
        query.order = Order::Newest;
    }
    Ok(query)
}

/// Payloads are any JSON: what is not where it is looked for costs nothing else.
fn line(event: &Event) -> Line {
    let data: Value = event.data.read().unwrap_or(Value::Null);
    let text = |key: &str| data.get(key).and_then(Value::as_str).map(str::to_owned);
    let message = data.as_str().map(str::to_owned);
    let message = message.or_else(|| text("message")).or_else(|| text("text"));
    Line {
        level: text("level").unwrap_or_else(|| LEVEL_DEFAULT.to_owned()),
        message: message.unwrap_or_else(|| event.data.as_str().to_owned()),
        ts: event.ts,
    }
}
