//! What a behaviour is given: a fresh store, a clock it drives by hand, and a way to reopen.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use ah_model::Timestamp;
use ah_store::{Capabilities, Clock, Ids, Store};
use async_trait::async_trait;

use crate::{ModelStore, SeededIds};

/// 2026-01-02T03:04:05.678Z, where every test clock starts.
const START_MS: i64 = 1_767_323_045_678;

/// A clock that moves only when a test moves it, in either direction. Clones share the time.
#[derive(Debug, Clone)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    /// A clock at the start.
    pub fn new() -> Self {
        Self(Arc::new(AtomicI64::new(START_MS)))
    }

    /// Moves the clock by `ms`; back when negative.
    pub fn advance_ms(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the clock.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.unix_ms(), Ordering::SeqCst);
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_ms(self.0.load(Ordering::SeqCst))
    }
}

/// One fresh, empty store; dropping it removes what was made for it.
#[async_trait]
pub trait Harness: Send + Sync {
    /// The store, as it is open now.
    fn store(&self) -> Arc<dyn Store>;

    /// The clock the store reads.
    fn clock(&self) -> &TestClock;

    /// The same data through a store that keeps secrets, as one from before there was a redactor.
    fn careless(&mut self) -> Arc<dyn Store>;

    /// Closes the store and opens the same data again, with an id source that does not repeat.
    async fn reopen(&mut self);
}

#[async_trait]
impl<H: Harness + ?Sized> Harness for Box<H> {
    fn store(&self) -> Arc<dyn Store> {
        (**self).store()
    }

    fn clock(&self) -> &TestClock {
        (**self).clock()
    }

    fn careless(&mut self) -> Arc<dyn Store> {
        (**self).careless()
    }

    async fn reopen(&mut self) {
        (**self).reopen().await;
    }
}

/// The oracle's own harness.
pub struct ModelHarness {
    store: Arc<ModelStore>,
    clock: TestClock,
}

impl ModelHarness {
    /// A fresh oracle with `capabilities`, its ids decided by `seed`.
    pub fn new(capabilities: Capabilities, seed: u64) -> Self {
        let clock = TestClock::new();
        let store = oracle(&clock, capabilities, seed);
        Self { store, clock }
    }
}

#[async_trait]
impl Harness for ModelHarness {
    fn store(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn careless(&mut self) -> Arc<dyn Store> {
        Arc::new(self.store.careless())
    }

    /// Memory has nothing to close: the data stays.
    async fn reopen(&mut self) {}
}

/// An empty oracle that reads `clock`.
pub(crate) fn oracle(clock: &TestClock, capabilities: Capabilities, seed: u64) -> Arc<ModelStore> {
    let ids = Ids::new(Box::new(SeededIds::new(seed)));
    Arc::new(ModelStore::new(Arc::new(clock.clone()), ids, capabilities))
}
