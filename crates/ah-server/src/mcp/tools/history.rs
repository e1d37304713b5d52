//! Search in what an agent has lived through.

use ah_model::{
    Event, EventQuery, Order, Page, PageLimit, PageRequest, Session, SessionFilter, SessionId,
    Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shape::PageInput;
use crate::limits::{
    MCP_FOUND_MAX, MCP_QUERY_BYTES_MAX, MCP_SEARCHED_BYTES_MAX, MCP_SEARCHED_EVENTS_MAX,
    MCP_SNIPPET_CHARS,
};
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::resource::{own_session, uri};
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        About {
            name: "search_history",
            title: "Search history",
            text: SEARCH,
            needs: Powers::Agent,
            effect: Effect::Reads,
        },
        search,
    )]
}

const SEARCH: &str = "Find text in your own earlier sessions: in their titles and in what was said \
    and done. Newest sessions first, a page of sessions at a time; give sessionId to search one \
    whole session. Read around a hit with the resource that it names. Use it before you ask \
    somebody what you may have been told already.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SearchInput {
    /// Text to find; the case of letters makes no difference.
    query: String,
    /// Only in this session.
    #[serde(default)]
    session_id: Option<SessionId>,
    /// Only events of these types, as `message`.
    #[serde(default)]
    types: Vec<String>,
    /// With sessionId: only events before this one, to go on where the last search ended.
    #[serde(default)]
    before_seq: Option<u64>,
    /// Of sessions.
    #[serde(default)]
    page: PageInput,
    /// Whose. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Found {
    /// Newest first.
    hits: Vec<Hit>,
    /// How many sessions were looked at.
    sessions: usize,
    /// Sessions that were not looked at to their beginning: search them by sessionId.
    unfinished: Vec<Unfinished>,
    /// Where the next page of sessions begins; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<ah_model::Cursor>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Hit {
    session_id: SessionId,
    /// Of the event; absent where the title has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    at: Timestamp,
    /// The text around it.
    text: String,
    /// A resource to read.
    uri: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Unfinished {
    session_id: SessionId,
    /// Pass it on to search what is older.
    before_seq: u64,
}

async fn search(act: Act, input: SearchInput) -> Result<Found, Failure> {
    let wanted = input.query.trim().to_lowercase();
    if !(1..=MCP_QUERY_BYTES_MAX).contains(&wanted.len()) {
        let reason = format!("must have 1 to {MCP_QUERY_BYTES_MAX} bytes");
        return Err(Failure::invalid("query", reason));
    }
    let before = input.before_seq;
    if before.is_some() && input.session_id.is_none() {
        return Err(Failure::invalid("beforeSeq", "is of one session: give sessionId"));
    }
    let page = match input.session_id {
        Some(id) => Page { items: vec![own_session(&act, id).await?], next_cursor: None },
        None => sessions(&act, input.agent.as_deref(), input.page.request()?).await?,
    };
    let sessions = page.items.len();
    let mut search = Search { wanted, types: input.types, ..Search::default() };
    for session in page.items {
        search.look(&act, session, before).await?;
    }
    let Search { hits, unfinished, .. } = search;
    Ok(Found { hits, sessions, unfinished, next_cursor: page.next_cursor })
}

/// A page of the sessions of who asks; of all for the operator who names nobody.
pub(in crate::mcp) async fn sessions(
    act: &Act,
    agent: Option<&str>,
    page: PageRequest,
) -> Result<Page<Session>, Failure> {
    match act.party(agent)? {
        ah_model::Party::Operator => {
            let filter = SessionFilter::default();
            act.call(|store| async move { store.list_sessions(filter, page).await }).await
        }
        ah_model::Party::Agent(name) => {
            let id = act.agent(&name).await?.id;
            let order = Order::Newest;
            act.call(move |store| async move { store.agent_sessions(id, order, page).await }).await
        }
    }
}

/// A search under way, within its bounds.
#[derive(Default)]
struct Search {
    wanted: String,
    types: Vec<String>,
    hits: Vec<Hit>,
    unfinished: Vec<Unfinished>,
    events: usize,
    bytes: usize,
}

impl Search {
    /// Whether it has read or found as much as one call may.
    fn is_full(&self) -> bool {
        self.hits.len() >= MCP_FOUND_MAX
            || self.events >= MCP_SEARCHED_EVENTS_MAX
            || self.bytes >= MCP_SEARCHED_BYTES_MAX
    }

    async fn look(
        &mut self,
        act: &Act,
        session: Session,
        before: Option<u64>,
    ) -> Result<(), Failure> {
        if let Some(text) = session.title.as_deref().and_then(|title| self.around(title)) {
            let (at, uri) = (session.created_at, uri(&session.id));
            self.hits.push(Hit {
                session_id: session.id.clone(),
                seq: None,
                kind: None,
                at,
                text,
                uri,
            });
        }
        let mut up_to = before.map_or(session.last_seq, |seq| seq.saturating_sub(1));
        while up_to > 0 {
            if self.is_full() {
                self.unfinished.push(Unfinished { session_id: session.id, before_seq: up_to + 1 });
                return Ok(());
            }
            let (id, query) = (session.id.clone(), self.query(up_to));
            let mut events = act.call(|store| async move { store.events(id, query).await }).await?;
            events.sort_by_key(|event| std::cmp::Reverse(event.seq));
            up_to = self.take(&events);
        }
        Ok(())
    }

    fn query(&self, up_to: u64) -> EventQuery {
        EventQuery {
            up_to: Some(up_to),
            types: self.types.clone(),
            order: Order::Newest,
            limit: PageLimit::default(),
            ..EventQuery::default()
        }
    }

    /// Looks at events, newest first, and says up to which one the next are to be read.
    fn take(&mut self, events: &[Event]) -> u64 {
        for event in events {
            if self.is_full() {
                return event.seq;
            }
            self.events += 1;
            self.bytes += event.data.as_str().len();
            if let Some(text) = event.data.read().ok().and_then(|data| self.in_value(&data)) {
                self.hits.push(Hit {
                    session_id: event.session_id.clone(),
                    seq: Some(event.seq),
                    kind: Some(event.kind.clone()),
                    at: event.ts,
                    text,
                    uri: format!("{}/events?after={}", uri(&event.session_id), event.seq - 1),
                });
            }
        }
        events.last().map_or(0, |event| event.seq - 1)
    }

    /// The text around the first place in a payload's texts.
    fn in_value(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => self.around(text),
            Value::Array(items) => items.iter().find_map(|item| self.in_value(item)),
            Value::Object(members) => members.values().find_map(|item| self.in_value(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
    }

    /// The text around the first place in `text`.
    fn around(&self, text: &str) -> Option<String> {
        let lower = text.to_lowercase();
        let place = lower[..lower.find(&self.wanted)?].chars().count();
        // Lower case may have more letters, so the place is near rather than exact.
        let from = place.saturating_sub(MCP_SNIPPET_CHARS / 4);
        Some(text.chars().skip(from).take(MCP_SNIPPET_CHARS).collect())
    }
}
