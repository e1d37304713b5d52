//! What readers hold of the store, bounded for all of them together.
//!
//! A reader that finds no room lets go of what it read, waits with empty hands, and reads again: who
//! waits holds nothing, so those who hold something are never kept waiting by it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use ah_model::{Event, FeedEntry, Happening};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use crate::limits::{STREAM_PAGES_BYTES_MAX, STREAM_UNIT_BYTES};
use crate::state::ServerState;

const UNITS_MAX: usize = STREAM_PAGES_BYTES_MAX / STREAM_UNIT_BYTES;
/// What an entry takes beside its payload, about.
const ENTRY_BYTES: usize = 256;

type Turn = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>> + Send + Sync>>;

/// The room for what all readers of a server hold.
pub(super) fn room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(UNITS_MAX))
}

/// The room of one reader.
pub(super) struct Share {
    room: Arc<Semaphore>,
    /// For what its client has not yet taken.
    held: Option<OwnedSemaphorePermit>,
    /// For what it is about to read.
    reserved: Option<OwnedSemaphorePermit>,
    /// Its place in the queue; kept when who waits looks away for a moment.
    turn: Option<Turn>,
}

impl Share {
    pub(super) fn of(room: &Arc<Semaphore>) -> Self {
        Self { room: Arc::clone(room), held: None, reserved: None, turn: None }
    }

    /// The client has taken everything.
    pub(super) fn give_back(&mut self) {
        self.held = None;
    }

    /// Waits for the room that was missing, if any was; false when the server stops.
    pub(super) async fn wait(&mut self, state: &ServerState) -> bool {
        if let Some(turn) = &mut self.turn {
            tokio::select! {
                () = state.closing() => return false,
                // Nobody closes the room.
                reserved = turn => self.reserved = reserved.ok(),
            }
            self.turn = None;
        }
        !state.is_closing()
    }

    /// Holds so many bytes if there is room. If not, they are to be let go and read again after
    /// [`Self::wait`]. What is larger than all room takes all of it.
    pub(super) fn hold(&mut self, bytes: usize) -> bool {
        let units = bytes.div_ceil(STREAM_UNIT_BYTES).clamp(1, UNITS_MAX);
        let reserved = self.reserved.take();
        let missing = units.saturating_sub(reserved.as_ref().map_or(0, permits));
        let Some(more) = self.try_take(missing) else {
            // Given back first: who waits holds nothing.
            drop(reserved);
            let room = Arc::clone(&self.room);
            self.turn = Some(Box::pin(room.acquire_many_owned(count(units))));
            return false;
        };
        self.held = match reserved {
            Some(mut all) => {
                all.merge(more);
                let excess = permits(&all).saturating_sub(units);
                drop(all.split(excess));
                Some(all)
            }
            None => Some(more),
        };
        true
    }

    fn try_take(&self, units: usize) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.room).try_acquire_many_owned(count(units)).ok()
    }
}

fn permits(permit: &OwnedSemaphorePermit) -> usize {
    permit.num_permits()
}

fn count(units: usize) -> u32 {
    u32::try_from(units).unwrap_or(u32::MAX)
}

/// What an event takes in memory, about.
pub(super) fn event_bytes(event: &Event) -> usize {
    ENTRY_BYTES + event.data.as_str().len()
}

/// The same of an entry.
pub(super) fn entry_bytes(entry: &FeedEntry) -> usize {
    match &entry.happening {
        Happening::Event(event) => event_bytes(event),
        Happening::Change(_) => ENTRY_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ah_conformance::{SeededIds, TestClock};
    use ah_model::{FeedCursor, NewEvent, NewRepo, NewSession, PageLimit, RawJson, SessionId, Vcs};
    use ah_store::{Capabilities, Ids, Store};
    use ah_store_sql::{SqlStore, SqliteOptions};
    use tokio::time::timeout;

    use super::*;
    use crate::live::{FeedFilter, FeedReader, News, Reader, SessionReader};

    const PAYLOAD: usize = 10_000;
    /// A little more than two pages.
    const ROOM: usize = 2 * 33 * PAYLOAD / STREAM_UNIT_BYTES + 60;

    /// A server with a session of two hundred events, and room for two pages of it.
    async fn given() -> (ServerState, SessionId, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let clock = Arc::new(TestClock::new());
        let capabilities = Capabilities { workspaces: false };
        let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
        let session = NewSession::new(repo, "codex".parse().unwrap());
        let id = store.create_session(session).await.unwrap().id;
        let data = RawJson::from_stored(format!("\"{}\"", "x".repeat(PAYLOAD))).unwrap();
        let event = NewEvent { kind: "a".to_owned(), data, ts: None, dedup_key: None };
        store.append_events(id.clone(), vec![event; 200]).await.unwrap();
        let state = ServerState::new(store);
        state.live.pages.forget_permits(UNITS_MAX - ROOM);
        (state, id, directory)
    }

    async fn seqs(reader: &mut impl Reader) -> Option<Vec<u64>> {
        let news = timeout(Duration::from_millis(300), reader.next()).await.ok()?;
        let Ok(Some(News::Stored(entries))) = news else { panic!("no page") };
        let seq = |entry: FeedEntry| match entry.happening {
            Happening::Event(event) => Some(event.seq),
            Happening::Change(_) => None,
        };
        Some(entries.into_iter().filter_map(seq).collect())
    }

    #[tokio::test]
    async fn readers_whose_clients_take_nothing_hold_no_more_than_the_room_for_all() {
        let (state, id, _directory) = given().await;
        let mut readers = Vec::new();
        for _ in 0..20 {
            let open = SessionReader::open(state.clone(), id.clone(), 0, Vec::new());
            readers.push(open.await.unwrap());
        }
        let feed = FeedReader::open(
            state.clone(),
            FeedCursor::default(),
            FeedFilter::default(),
            PageLimit::at_most(32),
        );
        let mut feed = feed.await.unwrap().unwrap();
        let mut given = Vec::new();
        for reader in &mut readers {
            given.push(seqs(reader).await);
        }
        let first: Vec<u64> = (1..=32).collect();
        assert_eq!(given.iter().flatten().count(), 2, "two pages fit");
        assert!(given.iter().flatten().all(|page| *page == first));
        assert!(seqs(&mut feed).await.is_none());
        // Once they are gone everybody gets on, in turn, and misses nothing.
        readers.drain(..2);
        for mut reader in readers {
            assert_eq!(seqs(&mut reader).await.unwrap(), first);
        }
        assert_eq!(seqs(&mut feed).await.unwrap().first(), Some(&1));
        let next = seqs(&mut feed).await.unwrap();
        assert_eq!(next, (next[0]..next[0] + 32).collect::<Vec<_>>());
        drop(feed);
        assert_eq!(state.live.pages.available_permits(), ROOM);
    }

    #[tokio::test]
    async fn what_is_larger_than_all_room_takes_all_of_it_and_gives_back_what_it_does_not_need() {
        let (state, _, _directory) = given().await;
        state.live.pages.add_permits(UNITS_MAX - ROOM);
        let (mut one, mut other) = (Share::of(&state.live.pages), Share::of(&state.live.pages));
        assert!(one.hold(2 * STREAM_PAGES_BYTES_MAX));
        assert_eq!(state.live.pages.available_permits(), 0);
        assert!(!other.hold(10 * STREAM_UNIT_BYTES));
        one.give_back();
        assert!(other.wait(&state).await);
        // Meanwhile it has become less, or more.
        assert!(other.hold(STREAM_UNIT_BYTES));
        assert_eq!(state.live.pages.available_permits(), UNITS_MAX - 1);
        state.close();
        assert!(!other.wait(&state).await);
    }
}
