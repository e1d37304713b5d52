//! Events of a session: appended, read, waited for, streamed.

use ah_model::limits::APPEND_EVENTS_MAX;
use ah_model::{Appended, Event, EventQuery, NewEvent, SessionId};
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::auth::{Caller, Lasting};
use crate::extract::{JsonBody, Pairs, PathId, bounded_events};
use crate::limits::{EVENTS_BODY_BYTES_MAX, WAIT_SECONDS_MAX};
use crate::live::SessionReader;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;
use crate::{sse, watch};

pub(crate) fn routes() -> Routes {
    let append = doc("Appends events to a session; answers once they are durable")
        .answers::<Appended>(201)
        .fails([404, 409]);
    let read = doc("Reads a session's events, waits for them, or streams them")
        .query(params::events())
        .query([params::wait()])
        .answers::<Items<Event>>(200)
        .streams()
        .fails([404]);
    Routes::new()
        .post("/sessions/{id}/events", Access::EXECUTE.of_session(), append, append_events)
        .get("/sessions/{id}/events", Access::LOOK.of_session(), read, read_events)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "EventsToAppend")]
struct Given {
    /// In the order in which they happened.
    #[schemars(length(min = 1, max = APPEND_EVENTS_MAX))]
    #[serde(deserialize_with = "bounded_events")]
    events: Vec<NewEvent>,
    /// Only behind this event.
    #[serde(default)]
    after: Option<u64>,
}

async fn append_events(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    JsonBody(Given { events, after }, _share): JsonBody<Given, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    let append = state.append(move |store| async move {
        match after {
            Some(after) => store.append_events_after(id, after, events).await,
            None => store.append_events(id, events).await,
        }
    });
    created(&append.await?)
}

async fn read_events(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    pairs: Pairs,
    headers: HeaderMap,
    caller: Caller,
) -> Answer {
    let query: EventQuery = pairs.read()?;
    query.check()?;
    if sse::is_wanted(&headers) {
        let after = sse::begin(&headers, query.after)?;
        let subscriber = state.metrics.subscriber();
        let right = Lasting::new(state.clone(), caller);
        let reader = SessionReader::open(state, id, after, query.types).await?;
        return Ok(sse::stream(reader, right, subscriber));
    }
    let wait = watch::wait(&pairs, "wait", WAIT_SECONDS_MAX)?;
    let items = watch::events_within(&state, id, query, wait).await?;
    ok(&Items { items })
}
