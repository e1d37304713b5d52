//! Events of a session: appended, read, waited for, streamed.

use ah_model::{EventQuery, NewEvent, SessionId};
use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use serde::Deserialize;

use crate::answer::{Answer, Items, created, ok};
use crate::extract::{JsonBody, Pairs, PathId, bounded_events};
use crate::limits::EVENTS_BODY_BYTES_MAX;
use crate::state::ServerState;
use crate::{sse, watch};

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/sessions/{id}/events", post(append).get(read))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(deserialize_with = "bounded_events")]
    events: Vec<NewEvent>,
    /// Only behind this event.
    #[serde(default)]
    after: Option<u64>,
}

async fn append(
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

async fn read(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
    pairs: Pairs,
    headers: HeaderMap,
) -> Answer {
    let query: EventQuery = pairs.read()?;
    query.check()?;
    if sse::is_wanted(&headers) {
        let after = sse::begin(&headers, &query)?;
        return sse::stream(state, id, after, query.types).await;
    }
    let items = watch::events_within(&state, id, query, watch::wait(&pairs)?).await?;
    ok(&Items { items })
}
