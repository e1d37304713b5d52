//! Entries of the feed with their frames, written once for all readers of a topic.

use std::future::Future;
use std::sync::Arc;

use ah_model::{FeedEntry, Happening};
use axum::body::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{LIVE_BATCH_BYTES, LIVE_UNIT_BYTES};
use crate::problem::Failure;

/// Writes the frame of an entry behind what is there; nothing for an entry that has none.
pub(crate) type PushFrame = fn(&mut Vec<u8>, &FeedEntry);

/// What a reader found.
pub(crate) enum News {
    /// Entries from the store; their frames are still to be written.
    Stored(Vec<FeedEntry>),
    /// The entries of a batch from this one on.
    Live(Arc<Batch>, usize),
}

/// Somebody who goes through the feed, or a part of it: first through the store, then by what is
/// handed on, without gap or repetition.
pub(crate) trait Reader: Send + 'static {
    /// The next entries; waits for them. Nothing when the server stops.
    fn next(&mut self) -> impl Future<Output = Result<Option<News>, Failure>> + Send;

    /// Whether the client wants it.
    fn wants(&self, entry: &FeedEntry) -> bool;

    /// Whether the client wants everything.
    fn wants_all(&self) -> bool;

    /// How an entry is written.
    const FRAME: PushFrame;

    /// The place to go on from as the `id` of a frame, if it is worth saying without an entry.
    fn place(&self) -> Option<String>;
}

/// Some entries of one topic.
pub(crate) struct Batch {
    entries: Vec<Arc<FeedEntry>>,
    frames: Bytes,
    /// Where the frame of each entry ends.
    ends: Vec<usize>,
    whole: bool,
    _room: Option<OwnedSemaphorePermit>,
}

impl Batch {
    /// Cuts `entries` into batches of bounded size. What finds no room, or is too large to be held
    /// for slow readers, is only announced: readers get it from the store.
    pub(super) fn cut(
        entries: Vec<Arc<FeedEntry>>,
        frame: PushFrame,
        room: &Arc<Semaphore>,
    ) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut open = Open::default();
        for entry in entries {
            if payload_bytes(&entry) > LIVE_BATCH_BYTES {
                batches.extend(std::mem::take(&mut open).close(room));
                batches.push(Self::announcement());
                continue;
            }
            open.push(entry, frame);
            if open.frames.len() >= LIVE_BATCH_BYTES {
                batches.extend(std::mem::take(&mut open).close(room));
            }
        }
        batches.extend(open.close(room));
        batches
    }

    fn announcement() -> Self {
        Self {
            entries: Vec::new(),
            frames: Bytes::new(),
            ends: Vec::new(),
            whole: false,
            _room: None,
        }
    }

    /// Whether it holds what it is about.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Its entries, in order.
    pub(crate) fn entries(&self) -> &[Arc<FeedEntry>] {
        &self.entries
    }

    /// The frames of all entries from the one at `first` on.
    pub(crate) fn frames_from(&self, first: usize) -> Bytes {
        self.frames.slice(self.start(first)..)
    }

    /// The frame of the entry at `index`.
    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        let end = self.ends.get(index).copied().unwrap_or(self.frames.len());
        &self.frames[self.start(index)..end]
    }

    fn start(&self, index: usize) -> usize {
        let before = index.checked_sub(1);
        before.map_or(0, |before| self.ends.get(before).copied().unwrap_or(self.frames.len()))
    }
}

fn payload_bytes(entry: &FeedEntry) -> usize {
    match &entry.happening {
        Happening::Event(event) => event.data.as_str().len(),
        Happening::Change(_) => 0,
    }
}

/// A batch that is being filled.
#[derive(Default)]
struct Open {
    entries: Vec<Arc<FeedEntry>>,
    frames: Vec<u8>,
    ends: Vec<usize>,
}

impl Open {
    fn push(&mut self, entry: Arc<FeedEntry>, frame: PushFrame) {
        frame(&mut self.frames, &entry);
        self.ends.push(self.frames.len());
        self.entries.push(entry);
    }

    fn close(self, room: &Arc<Semaphore>) -> Option<Batch> {
        let Self { entries, frames, ends } = self;
        if entries.is_empty() {
            return None;
        }
        // Twice, because the entries hold their payloads as well.
        let units = (2 * frames.len()).div_ceil(LIVE_UNIT_BYTES).max(1);
        let units = u32::try_from(units).unwrap_or(u32::MAX);
        let Ok(share) = Arc::clone(room).try_acquire_many_owned(units) else {
            return Some(Batch::announcement());
        };
        Some(Batch { entries, frames: frames.into(), ends, whole: true, _room: Some(share) })
    }
}

#[cfg(test)]
mod tests {
    use ah_model::{Event, FeedCursor, RawJson, Timestamp};

    use super::*;

    fn entry(number: u64, bytes: usize) -> Arc<FeedEntry> {
        let data = RawJson::from_stored(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        let event = Event {
            session_id: "s".parse().unwrap(),
            seq: number,
            ts: Timestamp::EPOCH,
            kind: "t".to_owned(),
            data,
            dedup_key: None,
        };
        let cursor = FeedCursor { event: number, change: 0 };
        Arc::new(FeedEntry { cursor, happening: Happening::Event(event) })
    }

    fn frame(into: &mut Vec<u8>, entry: &FeedEntry) {
        into.extend_from_slice(format!("<{}>", entry.cursor.event).as_bytes());
    }

    fn padded(into: &mut Vec<u8>, entry: &FeedEntry) {
        into.resize(into.len() + payload_bytes(entry), b'x');
    }

    #[test]
    fn frames_stand_where_their_entries_do() {
        let room = Arc::new(Semaphore::new(1_000));
        let batches = Batch::cut((1..=3).map(|n| entry(n, 1)).collect(), frame, &room);
        let [batch] = &batches[..] else { panic!("{} batches", batches.len()) };
        assert!(batch.is_whole());
        assert_eq!(batch.frame(1), b"<2>");
        assert_eq!(batch.frames_from(0), "<1><2><3>");
        assert_eq!(batch.frames_from(2), "<3>");
    }

    #[test]
    fn what_is_large_is_cut_and_what_is_too_large_is_only_announced() {
        let room = Arc::new(Semaphore::new(1 << 20));
        let sizes = [LIVE_BATCH_BYTES / 2, LIVE_BATCH_BYTES / 2, 1, LIVE_BATCH_BYTES, 1];
        let entries = sizes.iter().zip(1..).map(|(bytes, n)| entry(n, *bytes)).collect();
        let batches = Batch::cut(entries, padded, &room);
        let shape: Vec<_> = batches.iter().map(|b| (b.entries.len(), b.whole)).collect();
        assert_eq!(shape, [(2, true), (1, true), (0, false), (1, true)]);
    }

    #[test]
    fn what_finds_no_room_is_only_announced_until_readers_have_made_some() {
        let room = Arc::new(Semaphore::new(2));
        let cut = || Batch::cut(vec![entry(1, 1)], frame, &room).pop().unwrap();
        let (first, second) = (cut(), cut());
        assert!(first.is_whole() && second.is_whole());
        assert!(!cut().is_whole());
        drop(first);
        assert!(cut().is_whole());
    }
}
