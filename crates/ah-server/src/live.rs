//! What happens, handed on while it happens.
//!
//! One task per server follows the store's feed while anybody wants news. It writes the frame of
//! each entry once and hands it to the readers of its session and to those of everything. Readers
//! wait on bounded rings: who falls behind is told so and reads from the store again, so a slow
//! reader costs the others nothing and loses nothing. A thousand readers cost one read per commit.

mod batch;
mod everything;
mod follow;
mod own;
mod session;
mod share;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ah_model::{FeedCursor, FeedEntry, SessionId};
use ah_store::StoreError;
use tokio::sync::broadcast::{self, Receiver, Sender};
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::timeout;

pub(crate) use batch::{Batch, News, Reader};
pub(crate) use everything::{FeedFilter, FeedReader};
pub(crate) use own::OwnSessions;
pub(crate) use session::SessionReader;

use crate::limits::{LIVE_BYTES_MAX, LIVE_RING, LIVE_START_MAX, LIVE_UNIT_BYTES, RETRY_AFTER};
use crate::problem::Failure;
use crate::state::ServerState;

type Topic = Sender<Arc<Batch>>;

/// Who wants news, and how far the feed was handed on.
pub(crate) struct Live {
    inner: Mutex<Inner>,
    /// What lies before it was handed on, or is about to be, to whoever subscribed before; nothing
    /// while nobody follows.
    reached: watch::Sender<Option<FeedCursor>>,
    /// Told when the last watcher has gone.
    left: Notify,
    /// One permit per [`LIVE_UNIT_BYTES`] of what waits to be taken.
    room: Arc<Semaphore>,
    /// For what readers hold of the store.
    pages: Arc<Semaphore>,
}

struct Inner {
    sessions: HashMap<SessionId, Topic>,
    /// Nothing once the server stops.
    everything: Option<Topic>,
    watchers: usize,
    following: bool,
}

impl Live {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            sessions: HashMap::new(),
            everything: Some(Sender::new(LIVE_RING)),
            watchers: 0,
            following: false,
        };
        Self {
            inner: Mutex::new(inner),
            reached: watch::Sender::new(None),
            left: Notify::new(),
            room: Arc::new(Semaphore::new(LIVE_BYTES_MAX / LIVE_UNIT_BYTES)),
            pages: share::room(),
        }
    }

    /// Ends every subscription: there will be no more news.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.everything = None;
        inner.sessions.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands `entries` to everybody who waits for one of them, and says how many that were.
    ///
    /// The place is noted before they are sent: who subscribes in between reads up to there from
    /// the store, and passes over what it is sent as well.
    fn hand_on(&self, entries: Vec<FeedEntry>) -> usize {
        let Some(last) = entries.last().map(|entry| entry.cursor) else { return 0 };
        let entries: Vec<Arc<FeedEntry>> = entries.into_iter().map(Arc::new).collect();
        let (everything, sessions) = {
            let inner = self.lock();
            self.reached.send_replace(Some(last));
            let everything = inner.everything.clone().filter(|topic| topic.receiver_count() > 0);
            (everything, inner.topics_of(&entries))
        };
        let mut readers = 0;
        for (topic, entries) in sessions {
            readers += self.send(&topic, entries, session::push_frame);
        }
        if let Some(topic) = everything {
            readers += self.send(&topic, entries, everything::push_frame);
        }
        readers
    }

    /// Sends `entries` to the readers of a topic, and says how many there were.
    fn send(&self, topic: &Topic, entries: Vec<Arc<FeedEntry>>, frame: batch::PushFrame) -> usize {
        let mut readers = 0;
        for batch in Batch::cut(entries, frame, &self.room) {
            // Nobody there is no trouble: they left meanwhile.
            readers = readers.max(topic.send(Arc::new(batch)).unwrap_or(0));
        }
        readers
    }
}

impl Inner {
    /// The topics of the sessions that `entries` are about, each with its own entries.
    fn topics_of(&self, entries: &[Arc<FeedEntry>]) -> Vec<(Topic, Vec<Arc<FeedEntry>>)> {
        if self.sessions.is_empty() {
            return Vec::new();
        }
        let mut found: HashMap<&SessionId, (Topic, Vec<Arc<FeedEntry>>)> = HashMap::new();
        for entry in entries {
            let Some(id) = entry.happening.session_id() else { continue };
            let Some(topic) = self.sessions.get(id) else { continue };
            let (_, own) = found.entry(id).or_insert_with(|| (topic.clone(), Vec::new()));
            own.push(Arc::clone(entry));
        }
        found.into_values().collect()
    }
}

/// Keeps the feed followed until it is dropped.
pub(crate) struct Interest(Arc<Live>);

impl Drop for Interest {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.watchers -= 1;
        if inner.watchers == 0 {
            self.0.left.notify_one();
        }
    }
}

/// A reader's place at a topic.
pub(crate) struct Subscription {
    receiver: Option<Receiver<Arc<Batch>>>,
    session: Option<SessionId>,
    interest: Interest,
}

/// What a subscription says.
pub(crate) enum Heard {
    /// These entries.
    Batch(Arc<Batch>),
    /// Something was missed: the store has it.
    Missed,
    /// The server stops.
    Over,
}

impl Subscription {
    /// The next news; waits for them.
    pub(crate) async fn hear(&mut self) -> Heard {
        let Some(receiver) = &mut self.receiver else { return Heard::Over };
        match receiver.recv().await {
            Ok(batch) if batch.is_whole() => Heard::Batch(batch),
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => Heard::Missed,
            Err(broadcast::error::RecvError::Closed) => Heard::Over,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut inner = self.interest.0.lock();
        // Given up inside the lock, so that of two who leave at once one sees that it is the last.
        drop(self.receiver.take());
        let Some(id) = &self.session else { return };
        if inner.sessions.get(id).is_some_and(|topic| topic.receiver_count() == 0) {
            inner.sessions.remove(id);
        }
    }
}

impl ServerState {
    /// Has the feed followed while the result lives.
    pub(crate) fn want_news(&self) -> Interest {
        let mut inner = self.live.lock();
        inner.watchers += 1;
        if !inner.following && inner.everything.is_some() {
            inner.following = true;
            tokio::spawn(follow::follow(self.clone()));
        }
        Interest(Arc::clone(&self.live))
    }

    /// News of one session from now on.
    pub(crate) fn news_of_session(&self, id: SessionId) -> Subscription {
        let interest = self.want_news();
        let mut inner = self.live.lock();
        let open = inner.everything.is_some();
        let receiver = open.then(|| {
            let topic = inner.sessions.entry(id.clone());
            topic.or_insert_with(|| Sender::new(LIVE_RING)).subscribe()
        });
        drop(inner);
        Subscription { receiver, session: Some(id), interest }
    }

    /// All news from now on.
    pub(crate) fn news_of_everything(&self) -> Subscription {
        let interest = self.want_news();
        let receiver = self.live.lock().everything.as_ref().map(Sender::subscribe);
        Subscription { receiver, session: None, interest }
    }

    /// Waits until the feed is followed, for whoever has subscribed: from here on all news come by
    /// subscription, and what lies before is in the store. Nothing when the server stops.
    pub(crate) async fn followed(&self) -> Result<Option<FeedCursor>, Failure> {
        let mut reached = self.live.reached.subscribe();
        let place = async {
            // The sender lives as long as this state, so the wait ends only by its word.
            let place = reached.wait_for(Option::is_some).await;
            place.ok().and_then(|place| *place)
        };
        tokio::select! {
            () = self.closing() => Ok(None),
            place = timeout(LIVE_START_MAX, place) => {
                place.map_err(|_| StoreError::Busy { retry_after: RETRY_AFTER }.into())
            }
        }
    }
}
