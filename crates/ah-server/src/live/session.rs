//! A reader of one session's log. Its place is a seq: they have no gaps, so one that is missing
//! shows, and is read from the store.

use ah_model::SessionId;
use ah_model::{ChangeKind, Event, EventQuery, FeedCursor, FeedEntry, Happening, PageLimit};

use super::batch::{Batch, News, PushFrame, Reader};
use super::share::{Share, event_bytes};
use super::{Heard, Subscription};
use crate::limits::STREAM_PAGE_ITEMS;
use crate::problem::Failure;
use crate::state::ServerState;

/// Goes through a session's log from a seq on. A session that goes meanwhile is `NotFound`.
pub(crate) struct SessionReader {
    state: ServerState,
    session: SessionId,
    after: u64,
    types: Vec<String>,
    news: Subscription,
    /// What was read when the reader was made.
    first: Vec<Event>,
    /// Whether the store may have more than was read.
    behind: bool,
    share: Share,
}

impl SessionReader {
    /// A reader of the events of `session` behind `after`, of these types, or of all.
    pub(crate) async fn open(
        state: ServerState,
        session: SessionId,
        after: u64,
        types: Vec<String>,
    ) -> Result<Self, Failure> {
        let news = state.news_of_session(session.clone());
        state.followed().await?;
        let (first, behind, share) = (Vec::new(), true, Share::of(&state.live.pages));
        let mut reader = Self { state, session, after, types, news, first, behind, share };
        reader.first = reader.read().await?;
        Ok(reader)
    }

    /// The next page of the store; with none the reader has caught up, or there is no room for it.
    async fn read(&mut self) -> Result<Vec<Event>, Failure> {
        let (session, after) = (self.session.clone(), self.after);
        let limit = PageLimit::at_most(STREAM_PAGE_ITEMS);
        let query = EventQuery { after, limit, ..EventQuery::default() };
        let read = self.state.call(|store| async move { store.events(session, query).await });
        let events = read.await?;
        if !events.is_empty() && !self.share.hold(events.iter().map(event_bytes).sum()) {
            return Ok(Vec::new());
        }
        match events.last() {
            Some(last) => self.after = last.seq,
            None => self.behind = false,
        }
        Ok(events)
    }

    /// Where in `batch` goes on what was read; nothing if it has nothing new, or if the store is to
    /// be asked.
    fn take(&mut self, batch: &Batch) -> Option<usize> {
        let (mut first, mut after) = (None, self.after);
        for (index, entry) in batch.entries().iter().enumerate() {
            match &entry.happening {
                Happening::Event(event) if event.seq <= after => {}
                Happening::Event(event) if event.seq == after + 1 => {
                    after = event.seq;
                    first.get_or_insert(index);
                }
                Happening::Change(change) if change.kind != ChangeKind::SessionDeleted => {}
                // A gap, or the end of the session: the store knows.
                Happening::Event(_) | Happening::Change(_) => {
                    self.behind = true;
                    return None;
                }
            }
        }
        self.after = after;
        first
    }
}

impl Reader for SessionReader {
    const FRAME: PushFrame = push_frame;

    async fn next(&mut self) -> Result<Option<News>, Failure> {
        loop {
            let first = std::mem::take(&mut self.first);
            if !first.is_empty() {
                return Ok(Some(stored(first)));
            }
            self.share.give_back();
            while self.behind {
                if !self.share.wait(&self.state).await {
                    return Ok(None);
                }
                let events = self.read().await?;
                if !events.is_empty() {
                    return Ok(Some(stored(events)));
                }
            }
            match self.news.hear().await {
                Heard::Over => return Ok(None),
                Heard::Missed => self.behind = true,
                Heard::Batch(batch) => {
                    if let Some(first) = self.take(&batch) {
                        return Ok(Some(News::Live(batch, first)));
                    }
                }
            }
        }
    }

    fn wants(&self, entry: &FeedEntry) -> bool {
        match &entry.happening {
            Happening::Event(event) => self.wants_all() || self.types.contains(&event.kind),
            Happening::Change(_) => false,
        }
    }

    fn wants_all(&self) -> bool {
        self.types.is_empty()
    }

    fn place(&self) -> Option<String> {
        None
    }
}

/// Stored events as entries; who reads a session asks for no place in the feed.
fn stored(events: Vec<Event>) -> News {
    let cursor = FeedCursor::default();
    let entry = |event| FeedEntry { cursor, happening: Happening::Event(event) };
    News::Stored(events.into_iter().map(entry).collect())
}

/// `id:` is the seq. Payloads hold no line ends between their tokens; a type may, and would break
/// its frame.
pub(super) fn push_frame(part: &mut Vec<u8>, entry: &FeedEntry) {
    let Happening::Event(event) = &entry.happening else { return };
    let kind = event.kind.replace(['\n', '\r'], " ");
    part.extend_from_slice(format!("id: {}\nevent: {kind}\ndata: ", event.seq).as_bytes());
    // An event is texts, numbers and raw JSON, and a vector takes every byte.
    let _ = serde_json::to_writer(&mut *part, event);
    part.extend_from_slice(b"\n\n");
}
