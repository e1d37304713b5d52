//! Long polls: a page of events that waits until there is one.

use std::time::Duration;

use ah_model::{Event, EventQuery, SessionId};
use tokio::time::{Instant, sleep_until};

use crate::extract::Pairs;
use crate::limits::WAIT_SECONDS_MAX;
use crate::problem::Failure;
use crate::state::ServerState;
use crate::store_call::next_events;

/// How long the client wants to wait.
pub(crate) fn wait(pairs: &Pairs) -> Result<Duration, Failure> {
    let seconds = pairs.number("wait")?.unwrap_or(0);
    if seconds > WAIT_SECONDS_MAX {
        let reason = format!("{seconds} seconds, at most {WAIT_SECONDS_MAX} are allowed");
        return Err(Failure::invalid("wait", reason));
    }
    Ok(Duration::from_secs(seconds))
}

/// The events that match, as soon as there are any; none when the time is over or the server stops.
pub(crate) async fn events_within(
    state: &ServerState,
    session: SessionId,
    query: EventQuery,
    wait: Duration,
) -> Result<Vec<Event>, Failure> {
    let end = Instant::now() + wait;
    let events = read(state, &session, &query).await?;
    if !events.is_empty() || wait.is_zero() {
        return Ok(events);
    }
    let mut watch = state.watch(session.clone(), query.after).await?;
    loop {
        tokio::select! {
            () = state.closing() => return Ok(Vec::new()),
            () = sleep_until(end) => return Ok(Vec::new()),
            news = next_events(&mut *watch) => drop(news?),
        }
        // What is new may not be what was asked for, so the store is asked again.
        let events = read(state, &session, &query).await?;
        if !events.is_empty() {
            return Ok(events);
        }
    }
}

async fn read(
    state: &ServerState,
    session: &SessionId,
    query: &EventQuery,
) -> Result<Vec<Event>, Failure> {
    let (session, query) = (session.clone(), query.clone());
    state.call(|store| async move { store.events(session, query).await }).await
}
