//! Waiting: for mail in a thread of its own, and for whatever comes first in the loop.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use ah_model::{Awaited, Party};
use ah_store::{Store, block_on};

/// News that wait to be heard; a program that says more waits.
pub(super) const NEWS_MAX: usize = 64;
/// Longest piece of what a program writes. With [`NEWS_MAX`] it bounds what waits in memory.
pub(super) const PIECE_BYTES_MAX: u64 = 64 * 1024;

/// What a loop hears of.
#[derive(Debug)]
pub(super) enum News {
    /// Somebody said stop; the word itself is elsewhere.
    Stop,
    /// There may be mail, or waiting for it failed.
    Mail,
    /// The program of a turn, by its number.
    Program(u64, ProgramNews),
}

/// What a program does.
#[derive(Debug)]
pub(super) enum ProgramNews {
    /// It wrote a line, or a part of one that is long.
    Piece(Stream, Vec<u8>),
    /// It writes no more there.
    Closed(Stream),
    /// It ended.
    Exited(io::Result<ExitStatus>),
}

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}

/// Waits for the mail of one party, once at a time.
pub(super) struct Waiter {
    store: Arc<dyn Store>,
    party: Party,
    news: SyncSender<News>,
    waiting: Arc<AtomicBool>,
    cancelled: Arc<Cancelled>,
}

/// That nobody waits any more.
#[derive(Debug, Default)]
struct Cancelled(Mutex<(bool, Option<Waker>)>);

impl Cancelled {
    fn say(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.cancelled.say();
    }
}

impl Waiter {
    pub(super) fn new(store: Arc<dyn Store>, party: Party, news: SyncSender<News>) -> Self {
        Self { store, party, news, waiting: Arc::default(), cancelled: Arc::default() }
    }

    /// Begins to wait, unless that goes on already. Whatever ends it is news.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        if self.waiting.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let cancelled = Arc::clone(&self.cancelled);
        let (store, news) = (Arc::clone(&self.store), self.news.clone());
        let (awaited, waiting) = (Awaited::Mail(self.party.clone()), Arc::clone(&self.waiting));
        let work = move || {
            // Why it failed shows when the mail is asked for.
            let _ = block_on(first(store.wait_for(awaited), &cancelled));
            waiting.store(false, Ordering::Release);
            let _ = news.try_send(News::Mail);
        };
        std::thread::Builder::new().name("ah-mail".to_owned()).spawn(work).map(drop)
    }
}

/// The end of `work`, unless it is cancelled before.
async fn first<T>(work: impl Future<Output = T>, cancelled: &Cancelled) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context| {
        if let Poll::Ready(done) = work.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        cancelled.poll(context).map(|()| None)
    })
    .await
}
