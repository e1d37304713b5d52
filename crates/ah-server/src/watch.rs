//! Long polls: answers that wait until there is something to say, for a while.

use std::sync::Arc;
use std::time::Duration;

use ah_model::{
    ChangeKind, Event, EventQuery, FeedCursor, FeedEntry, Happening, Order, PageLimit, Run, RunId,
    SessionId,
};
use tokio::time::{Instant, sleep_until};

use crate::extract::Pairs;
use crate::live::{Batch, FeedFilter, FeedReader, Heard, News, OwnSessions, Reader};
use crate::problem::Failure;
use crate::state::ServerState;

/// How long the client wants to wait, in the part `name` of the query.
pub(crate) fn wait(pairs: &Pairs, name: &'static str, max: u64) -> Result<Duration, Failure> {
    let seconds = pairs.number(name)?.unwrap_or(0);
    if seconds > max {
        let reason = format!("{seconds} seconds, at most {max} are allowed");
        return Err(Failure::invalid(name, reason));
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
    if wait.is_zero() {
        return events(state, &session, &query).await;
    }
    let end = Instant::now() + wait;
    // Subscribed before the store is read: what is not in the one comes from the other.
    let mut news = state.news_of_session(session.clone());
    state.followed().await?;
    let mut found = events(state, &session, &query).await?;
    while found.is_empty() {
        let heard = tokio::select! {
            () = sleep_until(end) => return Ok(found),
            heard = news.hear() => heard,
        };
        found = match heard {
            Heard::Over => return Ok(found),
            Heard::Batch(batch) if !ends_session(&batch) => matching(&batch, &query),
            Heard::Batch(_) | Heard::Missed => events(state, &session, &query).await?,
        };
    }
    Ok(found)
}

async fn events(
    state: &ServerState,
    session: &SessionId,
    query: &EventQuery,
) -> Result<Vec<Event>, Failure> {
    let (session, query) = (session.clone(), query.clone());
    state.call(|store| async move { store.events(session, query).await }).await
}

fn ends_session(batch: &Batch) -> bool {
    let ends = |entry: &Arc<FeedEntry>| match &entry.happening {
        Happening::Change(change) => change.kind == ChangeKind::SessionDeleted,
        Happening::Event(_) => false,
    };
    batch.entries().iter().any(ends)
}

/// The events of `batch` that a page of `query` holds.
fn matching(batch: &Batch, query: &EventQuery) -> Vec<Event> {
    let is_asked_for = |event: &&Event| {
        event.seq > query.after
            && query.up_to.is_none_or(|up_to| event.seq <= up_to)
            && (query.types.is_empty() || query.types.contains(&event.kind))
    };
    let events = batch.entries().iter().filter_map(|entry| match &entry.happening {
        Happening::Event(event) => Some(event),
        Happening::Change(_) => None,
    });
    let mut found: Vec<Event> = events.filter(is_asked_for).cloned().collect();
    match query.order {
        Order::Oldest => found.truncate(query.limit.get()),
        Order::Newest => drop(found.drain(..found.len().saturating_sub(query.limit.get()))),
    }
    found
}

/// A page of the feed and where to go on.
pub(crate) type FeedPage = (Vec<FeedEntry>, FeedCursor);

/// The entries after `after` that are wanted, as soon as there are any; none when the time is over
/// or the server stops. The cursor moves on past what is not wanted, too.
pub(crate) async fn feed_within(
    state: &ServerState,
    after: FeedCursor,
    limit: PageLimit,
    filter: FeedFilter,
    own: Option<OwnSessions>,
    wait: Duration,
) -> Result<FeedPage, Failure> {
    if wait.is_zero() {
        return feed_now(state, after, limit, &filter, own).await;
    }
    let end = Instant::now() + wait;
    let reader = FeedReader::open(state.clone(), after, filter, limit).await?;
    let Some(mut reader) = reader.map(|reader| reader.only(own)) else {
        return Ok((Vec::new(), after));
    };
    loop {
        let news = tokio::select! {
            () = sleep_until(end) => return Ok((Vec::new(), reader.cursor())),
            news = reader.next() => news?,
        };
        let Some(news) = news else {
            return Ok((Vec::new(), reader.cursor()));
        };
        let page = page(&reader, news, limit);
        if !page.0.is_empty() {
            return Ok(page);
        }
    }
}

/// What of the next page of the feed is wanted.
async fn feed_now(
    state: &ServerState,
    after: FeedCursor,
    limit: PageLimit,
    filter: &FeedFilter,
    own: Option<OwnSessions>,
) -> Result<FeedPage, Failure> {
    let read = state.call(move |store| async move { store.feed(after, limit).await });
    let mut entries = read.await?;
    let cursor = entries.last().map_or(after, |last| last.cursor);
    entries.retain(|entry| filter.wants(entry));
    if let Some(mut own) = own {
        own.learn(state, &entries).await?;
        entries.retain(|entry| own.shows(entry));
    }
    Ok((entries, cursor))
}

/// What of `news` is wanted, at most `limit` entries, and the place behind the last that was looked
/// at.
fn page(reader: &FeedReader, news: News, limit: PageLimit) -> FeedPage {
    let entries: Vec<FeedEntry> = match news {
        News::Stored(entries) => entries,
        News::Live(batch, first) => {
            batch.entries()[first..].iter().map(|entry| FeedEntry::clone(entry)).collect()
        }
    };
    let (mut found, mut cursor) = (Vec::new(), reader.cursor());
    for entry in entries {
        if found.len() == limit.get() {
            return (found, cursor);
        }
        cursor = entry.cursor;
        if reader.wants(&entry) {
            found.push(entry);
        }
    }
    (found, reader.cursor())
}

/// The run once it has ended; as it is when the time is over or the server stops.
pub(crate) async fn ended_within(
    state: &ServerState,
    id: RunId,
    wait: Duration,
) -> Result<Run, Failure> {
    let end = Instant::now() + wait;
    let run = read_run(state, &id).await?;
    if !run.status.is_live() || wait.is_zero() {
        return Ok(run);
    }
    let mut news = state.news_of_session(run.session_id.clone());
    state.followed().await?;
    loop {
        let run = read_run(state, &id).await?;
        if !run.status.is_live() {
            return Ok(run);
        }
        loop {
            let heard = tokio::select! {
                () = sleep_until(end) => return Ok(run),
                heard = news.hear() => heard,
            };
            match heard {
                Heard::Over => return Ok(run),
                Heard::Batch(batch) if !is_about(&batch, &id) => {}
                Heard::Batch(_) | Heard::Missed => break,
            }
        }
    }
}

async fn read_run(state: &ServerState, id: &RunId) -> Result<Run, Failure> {
    let id = id.clone();
    state.call(|store| async move { store.run(id).await }).await
}

/// Whether `batch` says something of the run, or that its session has gone with it.
fn is_about(batch: &Batch, run: &RunId) -> bool {
    let about = |entry: &Arc<FeedEntry>| match &entry.happening {
        Happening::Change(change) => change.run_id.as_ref() == Some(run),
        Happening::Event(_) => false,
    };
    ends_session(batch) || batch.entries().iter().any(about)
}
