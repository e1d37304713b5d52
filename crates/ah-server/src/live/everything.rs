//! A reader of the whole feed. Its place is a cursor, which counts events and changes each for
//! itself, because the store promises an order only within each.

use std::sync::Arc;

use ah_model::{Change, Event, FeedCursor, FeedEntry, Happening, PageLimit, SessionId};
use serde::Serialize;

use super::batch::{News, PushFrame, Reader};
use super::own::OwnSessions;
use super::share::{Share, entry_bytes};
use super::{Heard, Subscription};
use crate::problem::Failure;
use crate::state::ServerState;

/// Which entries a client wants; all when nothing is said.
#[derive(Default)]
pub(crate) struct FeedFilter {
    /// Of these sessions.
    pub(crate) sessions: Vec<SessionId>,
    /// `event`, types of events, and words of changes.
    pub(crate) types: Vec<String>,
}

impl FeedFilter {
    /// Whether everything is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.types.is_empty()
    }

    /// Whether `entry` is about something that is wanted, whatever happened to it.
    pub(crate) fn concerns(&self, entry: &FeedEntry) -> bool {
        let about = entry.happening.session_id();
        self.sessions.is_empty() || about.is_some_and(|id| self.sessions.contains(id))
    }

    /// Whether `entry` is wanted.
    pub(crate) fn wants(&self, entry: &FeedEntry) -> bool {
        let names: &[&str] = match &entry.happening {
            Happening::Event(event) => &[EVENT, event.kind.as_str()],
            Happening::Change(change) => &[change.kind.as_str()],
        };
        let named = |name: &&str| self.types.iter().any(|kind| kind == name);
        // What is missing may have been wanted.
        if entry.happening.is_trimmed() {
            return true;
        }
        self.concerns(entry) && (self.types.is_empty() || names.iter().any(named))
    }
}

/// The name of a frame that holds an event.
const EVENT: &str = "event";

/// Goes through the feed from a cursor on.
pub(crate) struct FeedReader {
    state: ServerState,
    place: FeedCursor,
    filter: FeedFilter,
    limit: PageLimit,
    news: Subscription,
    /// Up to where the store is read; what comes behind it is handed on.
    stored: FeedCursor,
    share: Share,
    /// What its caller may see, if that is not everything.
    own: Option<OwnSessions>,
    /// Found, and not yet known whether the caller may see it.
    found: Option<News>,
}

impl FeedReader {
    /// A reader of what happened after `after`. Nothing when the server stops.
    pub(crate) async fn open(
        state: ServerState,
        after: FeedCursor,
        filter: FeedFilter,
        limit: PageLimit,
    ) -> Result<Option<Self>, Failure> {
        let news = state.news_of_everything();
        let Some(stored) = state.followed().await? else {
            return Ok(None);
        };
        let share = Share::of(&state.live.pages);
        let (own, found) = (None, None);
        Ok(Some(Self { state, place: after, filter, limit, news, stored, share, own, found }))
    }

    /// The same for a caller who sees nothing else.
    pub(crate) fn only(self, own: Option<OwnSessions>) -> Self {
        Self { own, ..self }
    }

    /// Up to where it has read.
    pub(crate) fn cursor(&self) -> FeedCursor {
        self.place
    }

    fn is_behind(&self) -> bool {
        self.place.event < self.stored.event || self.place.change < self.stored.change
    }

    /// The next page of the store; none also when there is no room for it.
    async fn read(&mut self) -> Result<Vec<FeedEntry>, Failure> {
        let (after, limit) = (self.place, self.limit);
        let read = self.state.call(move |store| async move { store.feed(after, limit).await });
        let entries = read.await?;
        if !entries.is_empty() && !self.share.hold(entries.iter().map(entry_bytes).sum()) {
            return Ok(Vec::new());
        }
        match entries.last() {
            Some(last) => self.place = last.cursor,
            // Numbers that belong to nothing any more, such as those of deleted sessions.
            None => self.place = later(self.place, self.stored),
        }
        Ok(entries)
    }
}

impl FeedReader {
    /// The next entries, whoever may see them.
    async fn find(&mut self) -> Result<Option<News>, Failure> {
        self.share.give_back();
        loop {
            while self.is_behind() {
                if !self.share.wait(&self.state).await {
                    return Ok(None);
                }
                let entries = self.read().await?;
                if !entries.is_empty() {
                    return Ok(Some(News::Stored(entries)));
                }
            }
            match self.news.hear().await {
                Heard::Over => return Ok(None),
                Heard::Missed => match self.state.followed().await? {
                    Some(reached) => self.stored = reached,
                    None => return Ok(None),
                },
                Heard::Batch(batch) => match unseen(batch.entries(), &mut self.place) {
                    None => {}
                    Some(Unseen::From(first)) => return Ok(Some(News::Live(batch, first))),
                    Some(Unseen::Own(entries)) => return Ok(Some(News::Stored(entries))),
                },
            }
        }
    }

    /// Learns whether the caller may see what was found.
    async fn learn(&mut self) -> Result<(), Failure> {
        let Self { state, filter, own: Some(own), found: Some(found), .. } = self else {
            return Ok(());
        };
        let entries: Vec<&FeedEntry> = match found {
            News::Stored(entries) => entries.iter().collect(),
            News::Live(batch, first) => {
                batch.entries()[*first..].iter().map(|entry| &**entry).collect()
            }
        };
        own.learn(state, entries.into_iter().filter(|entry| filter.concerns(entry))).await
    }
}

impl Reader for FeedReader {
    const FRAME: PushFrame = push_frame;

    /// What was found is kept here until it is handed out: who waits may look away meanwhile.
    async fn next(&mut self) -> Result<Option<News>, Failure> {
        if self.found.is_none() {
            self.found = self.find().await?;
        }
        self.learn().await?;
        Ok(self.found.take())
    }

    fn wants(&self, entry: &FeedEntry) -> bool {
        self.filter.wants(entry) && self.own.as_ref().is_none_or(|own| own.shows(entry))
    }

    fn wants_all(&self) -> bool {
        self.filter.is_empty() && self.own.is_none()
    }

    fn place(&self) -> Option<String> {
        (!self.wants_all()).then(|| self.place.to_string())
    }
}

/// What a reader has not seen of some entries.
#[derive(Debug, PartialEq, Eq)]
enum Unseen {
    /// All from this one on, and their cursors are also its own.
    From(usize),
    /// These. The reader has seen events and changes in another order, so it has cursors of its own.
    Own(Vec<FeedEntry>),
}

/// What of `entries` somebody at `place` has not seen, who is behind them then.
fn unseen(entries: &[Arc<FeedEntry>], place: &mut FeedCursor) -> Option<Unseen> {
    let before = *place;
    let first = entries.iter().position(|entry| is_after(entry, before))?;
    let rest = &entries[first..];
    let mut own = Vec::new();
    for entry in rest.iter().filter(|entry| is_after(entry, before)) {
        *place = behind(*place, entry);
        own.push((*place, entry));
    }
    if own.len() == rest.len() && own.iter().all(|(place, entry)| *place == entry.cursor) {
        return Some(Unseen::From(first));
    }
    let moved = |(cursor, entry): (FeedCursor, &Arc<FeedEntry>)| FeedEntry {
        cursor,
        happening: entry.happening.clone(),
    };
    Some(Unseen::Own(own.into_iter().map(moved).collect()))
}

/// Whether `entry` comes after `place`, among its own kind.
fn is_after(entry: &FeedEntry, place: FeedCursor) -> bool {
    match entry.happening {
        Happening::Event(_) => entry.cursor.event > place.event,
        Happening::Change(_) => entry.cursor.change > place.change,
    }
}

/// The place behind `entry` for somebody who was at `place`.
fn behind(place: FeedCursor, entry: &FeedEntry) -> FeedCursor {
    match entry.happening {
        Happening::Event(_) => FeedCursor { event: entry.cursor.event, ..place },
        Happening::Change(_) => FeedCursor { change: entry.cursor.change, ..place },
    }
}

fn later(one: FeedCursor, other: FeedCursor) -> FeedCursor {
    FeedCursor { event: one.event.max(other.event), change: one.change.max(other.change) }
}

/// An entry as it is sent, without a copy of its payload.
#[derive(Serialize)]
struct Shown<'a> {
    cursor: FeedCursor,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<&'a Change>,
}

/// `id:` is the cursor behind the entry.
pub(super) fn push_frame(part: &mut Vec<u8>, entry: &FeedEntry) {
    let (name, event, change) = match &entry.happening {
        Happening::Event(event) => (EVENT, Some(event), None),
        Happening::Change(change) => (change.kind.as_str(), None, Some(change)),
    };
    let cursor = entry.cursor;
    part.extend_from_slice(format!("id: {cursor}\nevent: {name}\ndata: ").as_bytes());
    // An entry is texts, numbers and raw JSON, and a vector takes every byte.
    let _ = serde_json::to_writer(&mut *part, &Shown { cursor, event, change });
    part.extend_from_slice(b"\n\n");
}

#[cfg(test)]
mod tests {
    use ah_model::{ChangeKind, RawJson, Timestamp};

    use super::*;

    fn cursor(event: u64, change: u64) -> FeedCursor {
        FeedCursor { event, change }
    }

    fn event(number: u64, change: u64) -> Arc<FeedEntry> {
        let event = Event {
            session_id: "s".parse().unwrap(),
            seq: number,
            ts: Timestamp::EPOCH,
            kind: "t".to_owned(),
            data: RawJson::null(),
            dedup_key: None,
        };
        let happening = Happening::Event(event);
        Arc::new(FeedEntry { cursor: cursor(number, change), happening })
    }

    fn change(event: u64, number: u64) -> Arc<FeedEntry> {
        let change = Change {
            kind: ChangeKind::SessionUpdated,
            session_id: Some("s".parse().unwrap()),
            run_id: None,
            executor_id: None,
            party: None,
            subject: None,
            at: Timestamp::EPOCH,
        };
        let happening = Happening::Change(change);
        Arc::new(FeedEntry { cursor: cursor(event, number), happening })
    }

    fn cursors(unseen: Option<Unseen>) -> Vec<FeedCursor> {
        match unseen {
            Some(Unseen::Own(entries)) => entries.iter().map(|entry| entry.cursor).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_is_at_the_same_place_is_given_all_of_it() {
        let entries = [change(4, 3), change(4, 4), event(5, 4), event(7, 4)];
        let mut place = cursor(4, 2);
        assert_eq!(unseen(&entries, &mut place), Some(Unseen::From(0)));
        assert_eq!(place, cursor(7, 4));
        let mut place = cursor(4, 4);
        assert_eq!(unseen(&entries, &mut place), Some(Unseen::From(2)));
        assert_eq!(place, cursor(7, 4));
        assert_eq!(unseen(&entries, &mut place), None);
    }

    #[test]
    fn who_has_seen_another_order_is_given_the_rest_with_its_own_cursors() {
        let entries = [change(4, 3), event(5, 3), event(6, 3), change(6, 4)];
        let mut place = cursor(5, 2);
        assert_eq!(
            cursors(unseen(&entries, &mut place)),
            [cursor(5, 3), cursor(6, 3), cursor(6, 4)]
        );
        assert_eq!(place, cursor(6, 4));
        let mut ahead = cursor(5, 9);
        assert_eq!(cursors(unseen(&entries, &mut ahead)), [cursor(6, 9)]);
    }

    #[test]
    fn a_filter_knows_events_by_their_type_and_changes_by_their_word() {
        let filter = |session: &str, kind: &str| FeedFilter {
            sessions: vec![session.parse().unwrap()],
            types: vec![kind.to_owned()],
        };
        let (event, change) = (event(1, 1), change(1, 2));
        for (filter, wanted) in [
            (FeedFilter::default(), [true, true]),
            (filter("s", "event"), [true, false]),
            (filter("s", "t"), [true, false]),
            (filter("s", "session-updated"), [false, true]),
            (filter("other", "event"), [false, false]),
        ] {
            assert_eq!([filter.wants(&event), filter.wants(&change)], wanted);
        }
    }
}
