//! Upkeep of the index, beside the writers: events are read and split outside of the transaction that
//! writes, which is kept short.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ah_model::{Event, IndexState, IndexStep, PageLimit, SEARCH_RULES, Said};
use ah_store::StoreError;

use super::index::{self, Entry, State};
use super::terms::Mark;
use crate::SqlStore;
use crate::feed::SettledEvents;
use crate::horizon::Wait;
use crate::resources::Resources;
use crate::statement::{marks, padded};
use crate::tx::{Tx, query_all, query_first};

/// Words that one step writes, in bytes: some milliseconds' work.
const WORDS_MAX: usize = 128 * 1024;
/// Events that are gone that one step takes out.
const GONE_MAX: u64 = 1_000;
const SESSIONS_AT_ONCE: usize = 64;

/// What a step is about to write.
struct Batch {
    state: State,
    /// The last event that was read.
    to: u64,
    events: u64,
    entries: Vec<Entry>,
    wait: Option<Wait>,
    /// Whether there is anything to write.
    idle: bool,
}

impl Batch {
    fn nothing(state: State) -> Self {
        Self { state, to: 0, events: 0, entries: Vec::new(), wait: None, idle: false }
    }
}

/// One step of upkeep.
pub(super) async fn step(store: &SqlStore, limit: PageLimit) -> Result<IndexStep, StoreError> {
    let batch = store.read(move |tx, ctx| next(tx, ctx, limit)).await?;
    if batch.idle {
        return store.read(move |tx, _| done(tx, &batch, 0)).await;
    }
    let batch = Arc::new(batch);
    store.write(move |tx, _| write(tx, &batch)).await
}

/// Reads what comes next.
fn next(tx: &mut dyn Tx, ctx: &Resources, limit: PageLimit) -> Result<Batch, StoreError> {
    let log = SettledEvents::begin(ctx);
    let state = index::state(tx)?;
    if state.rules != SEARCH_RULES {
        return Ok(Batch::nothing(state));
    }
    let (events, wait) = log.after(tx, state.position, limit.get() as u64)?;
    let places = places(tx, &events)?;
    let (mut entries, mut bytes, mut to, mut read) = (Vec::new(), 0, state.position, 0);
    for (number, event) in &events {
        if bytes >= WORDS_MAX {
            break;
        }
        let words = event.as_ref().and_then(|event| words(event, &places));
        bytes += words.as_ref().map_or(0, String::len);
        entries.extend(words.map(|words| (*number, words)));
        (to, read) = (*number, read + 1);
    }
    let idle = read == 0 && state.merging == 0 && !any_gone(tx, state.position)?;
    Ok(Batch { state, to, events: read, entries, wait, idle })
}

/// The words of an event and its marks, each once; nothing when it says nothing.
fn words(event: &Event, places: &HashMap<String, Place>) -> Option<String> {
    let mut words: BTreeSet<String> = Said::of(event)?.words();
    if words.is_empty() {
        return None;
    }
    let session = event.session_id.as_str();
    words.insert(Mark::Session(session).word());
    words.insert(Mark::Type(&event.kind).word());
    if let Some(place) = places.get(session) {
        words.insert(Mark::Repo(place.repo).word());
        words.insert(Mark::Agent(&place.agent).word());
    }
    Some(words.into_iter().collect::<Vec<_>>().join(" "))
}

/// Where a session works, and what holds it; neither changes.
struct Place {
    repo: i64,
    agent: String,
}

fn places(
    tx: &mut dyn Tx,
    events: &[(u64, Option<Event>)],
) -> Result<HashMap<String, Place>, StoreError> {
    let sessions = events.iter().filter_map(|(_, event)| event.as_ref());
    let sessions: BTreeSet<&str> = sessions.map(|event| event.session_id.as_str()).collect();
    let sessions: Vec<&str> = sessions.into_iter().collect();
    let mut places = HashMap::new();
    for ids in sessions.chunks(SESSIONS_AT_ONCE) {
        let sql = format!(
            "SELECT s.id, s.repo_id, a.name FROM sessions s JOIN agents a ON a.id = s.agent_id \
             WHERE s.id IN ({})",
            marks(1, ids.len())
        );
        let params = padded([], ids.iter().map(|id| (*id).into()));
        places.extend(query_all(tx, &sql, &params, |row| {
            Ok((row.text(0)?, Place { repo: row.int(1)?, agent: row.text(2)? }))
        })?);
    }
    Ok(places)
}

fn write(tx: &mut dyn Tx, batch: &Batch) -> Result<IndexStep, StoreError> {
    if batch.state.rules != SEARCH_RULES {
        index::clear(tx)?;
        return done(tx, batch, 0);
    }
    // What was read may have been scrubbed meanwhile: then it is read again.
    if index::state(tx)?.merging != batch.state.merging {
        return done(tx, &Batch::nothing(batch.state), 0);
    }
    // Somebody else may have read the same: then it is in the index already.
    if batch.events > 0 {
        if !index::move_on(tx, &batch.state, batch.to)? {
            return done(tx, &Batch::nothing(batch.state), 0);
        }
        index::insert(tx, &batch.entries)?;
    }
    // Behind the insert: what went after it was read is taken out again.
    let removed = index::remove_gone(tx, batch.to, GONE_MAX)?;
    match batch.state.merging {
        _ if removed > 0 => index::set_merging(tx, index::TO_BEGIN)?,
        0 => {}
        // Once everything is in: a merge that goes on beside inserts never ends.
        merging if batch.events == 0 => index::merge(tx, merging)?,
        _ => {}
    }
    done(tx, batch, removed)
}

/// Puts the words of changed events in the place of those that they had, and sees to it that the old
/// ones leave the file. Who read one before it was changed finds that out by the same row.
pub(crate) fn rewrite(tx: &mut dyn Tx, events: &[(u64, Event)]) -> Result<(), StoreError> {
    if events.is_empty() {
        return Ok(());
    }
    index::note_scrub(tx)?;
    let state = index::state(tx)?;
    if state.rules != SEARCH_RULES {
        return Ok(());
    }
    let known: Vec<(u64, Option<Event>)> = events
        .iter()
        .filter(|(number, _)| *number <= state.position)
        .map(|(number, event)| (*number, Some(event.clone())))
        .collect();
    let places = places(tx, &known)?;
    let numbers: Vec<u64> = known.iter().map(|(number, _)| *number).collect();
    index::remove(tx, &numbers)?;
    let entry =
        |(number, event): &(u64, Option<Event>)| Some((*number, words(event.as_ref()?, &places)?));
    let entries: Vec<Entry> = known.iter().filter_map(entry).collect();
    if entries.is_empty() { Ok(()) } else { index::insert(tx, &entries) }
}

/// One step of upkeep, as long as there is something to write out. Whether there is more.
pub(crate) async fn settle(store: &SqlStore) -> Result<bool, StoreError> {
    let state = store.read(|tx, _| index::state(tx)).await?;
    if state.merging == 0 {
        return Ok(false);
    }
    step(store, PageLimit::MAX).await.map(|_| true)
}

const NEWEST: &str = "SELECT coalesce(max(id), 0) FROM events";
const ANY_GONE: &str = "SELECT id FROM search_gone WHERE id <= $1 LIMIT 1";

fn any_gone(tx: &mut dyn Tx, position: u64) -> Result<bool, StoreError> {
    Ok(query_first(tx, ANY_GONE, &[position.into()], |row| row.int(0))?.is_some())
}

/// What was done, and what is left.
fn done(tx: &mut dyn Tx, batch: &Batch, removed: u64) -> Result<IndexStep, StoreError> {
    let now = index::state(tx)?;
    let newest = query_first(tx, NEWEST, &[], |row| row.uint(0))?.unwrap_or(0);
    let left = newest.saturating_sub(now.position);
    let waits = batch.events == 0 && batch.wait == Some(Wait::Held);
    let state = match left > 0 || now.merging > 0 || any_gone(tx, now.position)? {
        true if waits => IndexState::Waits,
        true => IndexState::More,
        false => IndexState::Done,
    };
    Ok(IndexStep { indexed: batch.events, removed, left, state })
}
