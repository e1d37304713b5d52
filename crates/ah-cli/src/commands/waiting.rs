//! Waiting for mail, answers, decisions, runs and events without asking the store again and again.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel, sync_channel};
use std::time::{Duration, Instant};

use ah_model::{Awaited, Event, SessionId};
use ah_store::{Store, StoreError, block_on};

use crate::error::{CommandError, Exit};

/// Leases and deadlines end by time alone, which wakes nobody: so often somebody looks.
pub(crate) const TICK: Duration = Duration::from_secs(1);

/// How much longer the next look waits after each that was in vain.
pub(crate) const REST: Duration = Duration::from_millis(20);

/// Looks at once, and again whenever there may be what is awaited, until `wait` is over; for ever
/// when it is absent.
pub(crate) fn until<T>(
    store: &Arc<dyn Store>,
    awaited: Awaited,
    wait: Option<Duration>,
    mut look: impl FnMut() -> Result<Option<T>, CommandError>,
) -> Result<Option<T>, CommandError> {
    if let Some(found) = look()? {
        return Ok(Some(found));
    }
    let end = wait.map(|wait| Instant::now() + wait);
    let left = || end.map(|end| end.saturating_duration_since(Instant::now()));
    let news = news(store, awaited)?;
    let mut in_vain = 0;
    while left().is_none_or(|left| !left.is_zero()) {
        match news.recv_timeout(left().unwrap_or(TICK).min(TICK)) {
            Ok(Ok(())) => in_vain += 1,
            Err(RecvTimeoutError::Timeout) => in_vain = 0,
            Ok(Err(error)) => return Err(error.into()),
            Err(RecvTimeoutError::Disconnected) => return Err(broken("nobody listens any more")),
        }
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        // Others may be quicker again and again, or what there is may not be what is looked for.
        std::thread::sleep((REST * in_vain).min(TICK).min(left().unwrap_or(TICK)));
    }
    Ok(None)
}

/// A signal whenever there may be what is awaited. The one who waits takes it before the next is
/// waited for, so that one that somebody else was quicker for is not asked for in a loop. The
/// thread ends with the process.
fn news(
    store: &Arc<dyn Store>,
    awaited: Awaited,
) -> Result<Receiver<Result<(), StoreError>>, CommandError> {
    let (tell, told) = sync_channel(0);
    let store = Arc::clone(store);
    let listen = move || loop {
        let news = block_on(store.wait_for(awaited.clone()));
        let is_over = news.is_err();
        if tell.send(news).is_err() || is_over {
            return;
        }
    };
    spawn(listen)?;
    Ok(told)
}

/// Looks at once, and again whenever anything happened, until `wait` is over.
pub(crate) fn until_changed<T>(
    store: &Arc<dyn Store>,
    wait: Duration,
    mut look: impl FnMut() -> Result<Option<T>, CommandError>,
) -> Result<Option<T>, CommandError> {
    let end = Instant::now() + wait;
    // Watched before the first look, so that nothing comes between.
    let changes = if wait.is_zero() { None } else { Some(changes(store)?) };
    loop {
        if let Some(found) = look()? {
            return Ok(Some(found));
        }
        let left = end.saturating_duration_since(Instant::now());
        let Some(changes) = changes.as_ref().filter(|_| !left.is_zero()) else {
            return Ok(None);
        };
        match changes.recv_timeout(left) {
            Ok(()) => while changes.try_recv().is_ok() {},
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(broken("the store can no longer be followed"));
            }
        }
    }
}

/// A signal for everything that happens. Its thread ends with the process.
fn changes(store: &Arc<dyn Store>) -> Result<Receiver<()>, CommandError> {
    let from = block_on(store.feed_end())?;
    let mut watch = block_on(store.watch_feed(from))?;
    let (tell, told) = channel();
    spawn(move || while block_on(watch.next()).is_ok() && tell.send(()).is_ok() {})?;
    Ok(told)
}

/// The events of a session as they come, for somebody who has to look at other things too.
pub(crate) struct Following {
    batches: Receiver<Result<Vec<Event>, StoreError>>,
    batch: std::vec::IntoIter<Event>,
    /// The number of the newest event that was given out.
    seq: u64,
}

impl Following {
    /// Follows a session behind its event `after`. Its thread ends with the process.
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        session: &SessionId,
        after: u64,
    ) -> Result<Self, CommandError> {
        let mut watch = block_on(store.watch_events(session.clone(), after))?;
        let (tell, batches) = sync_channel(1);
        let follow = move || loop {
            let next = block_on(watch.next());
            let is_over = next.is_err();
            if tell.send(next).is_err() || is_over {
                return;
            }
        };
        spawn(follow)?;
        Ok(Self { batches, batch: Vec::new().into_iter(), seq: after })
    }

    /// The next event, or none when nothing has come within `wait`.
    pub(crate) fn next(&mut self, wait: Duration) -> Result<Option<Event>, CommandError> {
        if self.batch.as_slice().is_empty() {
            match self.batches.recv_timeout(wait) {
                Ok(batch) => self.batch = batch?.into_iter(),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(broken("nobody listens any more"));
                }
            }
        }
        let event = self.batch.next();
        self.seq = event.as_ref().map_or(self.seq, |event| event.seq);
        Ok(event)
    }

    /// Whether the event `seq` was given out.
    pub(crate) fn has(&self, seq: u64) -> bool {
        self.seq >= seq
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), CommandError> {
    let thread = std::thread::Builder::new().name("ah-wait".to_owned());
    thread.spawn(work).map(drop).map_err(|error| broken(&error.to_string()))
}

fn broken(reason: &str) -> CommandError {
    CommandError::new(Exit::Failed, format!("cannot wait: {reason}"))
}
