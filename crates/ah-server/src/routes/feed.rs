//! The feed: everything that happens, as pages, as long polls and as a stream.

use ah_model::{FeedCursor, FeedEntry, PageLimit, SessionId};
use ah_store::StoreError;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::auth::{Caller, Lasting};
use crate::extract::Pairs;
use crate::limits::{FEED_FILTER_MAX, RETRY_AFTER, STREAM_PAGE_ITEMS, WAIT_SECONDS_MAX};
use crate::live::{FeedFilter, FeedReader, OwnSessions};
use crate::problem::Failure;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;
use crate::{sse, watch};

pub(crate) fn routes() -> Routes {
    let all = doc("What happened after a place in the feed").query(params::feed());
    let all = all.query([params::wait()]).answers::<FeedPage>(200).streams();
    let last = doc("Where the feed ends now").answers::<End>(200);
    // An agent is shown what is about itself and its own sessions.
    let access = Access::LOOK.or_any_agent();
    Routes::new().get("/feed", access, all, read).get("/feed/end", access, last, end)
}

#[derive(Serialize, JsonSchema)]
struct End {
    cursor: FeedCursor,
}

#[derive(Serialize, JsonSchema)]
struct FeedPage {
    items: Vec<FeedEntry>,
    cursor: FeedCursor,
}

async fn end(State(state): State<ServerState>) -> Answer {
    let cursor = state.call(|store| async move { store.feed_end().await }).await?;
    ok(&End { cursor })
}

async fn read(
    State(state): State<ServerState>,
    pairs: Pairs,
    headers: HeaderMap,
    caller: Caller,
) -> Answer {
    let filter = filter(&pairs)?;
    let after = pairs.get("after").map_or(Ok(FeedCursor::default()), str::parse)?;
    let own = caller.agent().cloned().zip(caller.party());
    let own = own.map(|(agent, party)| OwnSessions::of(agent, party));
    if sse::is_wanted(&headers) {
        let after = sse::begin(&headers, after)?;
        let subscriber = state.metrics.subscriber();
        let limit = PageLimit::at_most(STREAM_PAGE_ITEMS);
        let right = Lasting::new(state.clone(), caller);
        let reader = FeedReader::open(state, after, filter, limit).await?;
        // A server that stops: the client is to come back.
        let busy = || StoreError::Busy { retry_after: RETRY_AFTER };
        return Ok(sse::stream(reader.ok_or_else(busy)?.only(own), right, subscriber));
    }
    let limit = pairs.number("limit")?.map_or(Ok(PageLimit::default()), PageLimit::new)?;
    let wait = watch::wait(&pairs, "wait", WAIT_SECONDS_MAX)?;
    let (items, cursor) = watch::feed_within(&state, after, limit, filter, own, wait).await?;
    ok(&FeedPage { items, cursor })
}

/// `session` and `types`, each as often as wanted.
fn filter(pairs: &Pairs) -> Result<FeedFilter, Failure> {
    let sessions: Vec<SessionId> =
        pairs.all("session").map(str::parse).collect::<Result<_, _>>()?;
    let types: Vec<String> = pairs.all("types").map(str::to_owned).collect();
    for (name, count) in [("session", sessions.len()), ("types", types.len())] {
        if count > FEED_FILTER_MAX {
            let reason = format!("{count} of them, at most {FEED_FILTER_MAX} are allowed");
            return Err(Failure::invalid(name, reason));
        }
    }
    Ok(FeedFilter { sessions, types })
}
