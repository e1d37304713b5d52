//! Resources: sessions and their events, an agent's own.

use ah_model::{
    Cursor, Event, EventQuery, Invalid, PageLimit, PageRequest, Query, Session, SessionId,
};
use ah_store::{Kind, StoreError};
use rmcp::model::{
    ErrorData, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde::Serialize;

use super::act::Act;
use super::caller::forbidden;
use super::refusal::Refusal;
use super::tools::sessions;
use crate::problem::Failure;

const SESSIONS: &str = "ah://sessions/";
const JSON: &str = "application/json";

/// Where a session is.
pub(super) fn uri(id: &SessionId) -> String {
    format!("{SESSIONS}{id}")
}

/// The session, if it is the caller's own.
pub(super) async fn own_session(act: &Act, id: SessionId) -> Result<Session, Failure> {
    let session = act.call(|store| async move { store.session(id).await }).await?;
    let Some(name) = act.caller.name() else { return Ok(session) };
    let agent = act.agent(name).await?;
    if session.of_agent.as_ref().is_some_and(|of| of.id == agent.id) {
        return Ok(session);
    }
    Err(forbidden(format!("session {} is not yours", session.id)))
}

/// A page of the caller's sessions.
pub(super) async fn list(
    act: &Act,
    cursor: Option<String>,
) -> Result<ListResourcesResult, Failure> {
    let cursor = cursor.map(|text| text.parse::<Cursor>()).transpose()?;
    let page = PageRequest { limit: PageLimit::default(), cursor };
    let page = sessions(act, None, page).await?;
    let resources = page.items.iter().map(resource).collect();
    let next_cursor = page.next_cursor.map(|cursor| cursor.to_string());
    Ok(ListResourcesResult { next_cursor, ..ListResourcesResult::with_all_items(resources) })
}

fn resource(session: &Session) -> Resource {
    let title = session.title.clone().unwrap_or_else(|| format!("Session {}", session.id));
    let about =
        format!("{} session of {}, {} events", session.status, session.agent, session.last_seq);
    Resource::new(uri(&session.id), session.id.to_string())
        .with_title(title)
        .with_description(about)
        .with_mime_type(JSON)
}

/// The ways to name a resource.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let session = ResourceTemplate::new(format!("{SESSIONS}{{id}}"), "session")
        .with_title("A session")
        .with_description("Its row: status, title, agent kind, repository, usage, last event.")
        .with_mime_type(JSON);
    let events = format!("{SESSIONS}{{id}}/events{{?after,limit,order,type}}");
    let events = ResourceTemplate::new(events, "events")
        .with_title("Events of a session")
        .with_description(
            "What was said and done, oldest first, after the event of that number; `nextAfter` \
             goes on. order=newest begins at the end.",
        )
        .with_mime_type(JSON);
    ListResourceTemplatesResult::with_all_items(vec![session, events])
}

/// What is at `uri`.
pub(super) async fn read(act: &Act, uri: &str) -> Result<ReadResourceResult, Failure> {
    let text = match place(uri)? {
        Place::Session(id) => json(&own_session(act, id).await?),
        Place::Events(id, query) => {
            let session = own_session(act, id).await?;
            let asked = query.clone();
            let id = session.id;
            let items = act.call(|store| async move { store.events(id, asked).await }).await?;
            json(&Events::of(items, &query))
        }
    }?;
    let contents = ResourceContents::text(text, uri).with_mime_type(JSON);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// A page of events. Payloads are as they were written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    items: Vec<Event>,
    /// Where the next page begins, if this one is full.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_after: Option<u64>,
}

impl Events {
    fn of(items: Vec<Event>, query: &EventQuery) -> Self {
        let full = items.len() == query.limit.get() && query.order == ah_model::Order::Oldest;
        let next_after = items.last().filter(|_| full).map(|event| event.seq);
        Self { items, next_after }
    }
}

fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::internal(error.to_string()))
}

/// A resource by its address.
enum Place {
    Session(SessionId),
    Events(SessionId, EventQuery),
}

fn place(uri: &str) -> Result<Place, Failure> {
    let unknown = || Failure::from(StoreError::not_found(Kind::Session, uri));
    let rest = uri.strip_prefix(SESSIONS).ok_or_else(unknown)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    match path.split_once('/') {
        None if query.is_empty() => Ok(Place::Session(path.parse()?)),
        Some((id, "events")) => {
            Ok(Place::Events(id.parse()?, EventQuery::from_query(&pairs(query)?)?))
        }
        None | Some(_) => Err(unknown()),
    }
}

/// Numbers and words need no escapes, so none are read.
fn pairs(query: &str) -> Result<Vec<(String, String)>, Invalid> {
    const KNOWN: [&str; 5] = ["after", "upTo", "limit", "order", "type"];
    let pair = |part: &str| match part.split_once('=') {
        Some((name, value)) if KNOWN.contains(&name) => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err(Invalid::new("uri", format!("{part:?} is not known here"))),
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

/// A refusal as the protocol has it for what is no tool.
pub(super) fn error(failure: &Failure) -> ErrorData {
    let data = serde_json::to_value(Refusal::from(failure)).ok();
    let text = failure.problem().detail.clone();
    match failure.problem().code.as_str() {
        // Who may not see a resource is told no more than that it is not there for it.
        "not-found" | "forbidden" => ErrorData::resource_not_found(text, data),
        "invalid" => ErrorData::invalid_params(text, data),
        _ => ErrorData::internal_error(text, data),
    }
}
