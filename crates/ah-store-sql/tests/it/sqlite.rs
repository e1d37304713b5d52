//! The contract on SQLite.

use std::sync::Arc;

use ah_conformance::{Harness, SeededIds, TestClock};
use ah_model::Redaction;
use ah_store::{Capabilities, Ids, Store};
use ah_store_sql::{SqlStore, SqliteOptions};
use async_trait::async_trait;

/// A database in a directory of its own.
pub(crate) struct SqliteHarness {
    store: Option<SqlStore>,
    clock: TestClock,
    capabilities: Capabilities,
    opened: u64,
    directory: tempfile::TempDir,
}

impl SqliteHarness {
    pub(crate) fn new(capabilities: Capabilities) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = TestClock::new();
        let mut harness = Self { store: None, clock, capabilities, opened: 0, directory };
        harness.open();
        harness
    }

    fn open(&mut self) {
        self.opened += 1;
        let options = SqliteOptions::new(self.directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(self.opened)));
        let clock = Arc::new(self.clock.clone());
        let (store, _) = SqlStore::open_sqlite(options, self.capabilities, clock, ids).unwrap();
        self.store = Some(store);
    }
}

#[async_trait]
impl Harness for SqliteHarness {
    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone().unwrap())
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn careless(&mut self) -> Arc<dyn Store> {
        Arc::new(self.store.clone().unwrap().with_redaction(Redaction::Off))
    }

    async fn reopen(&mut self) {
        self.store = None;
        self.open();
    }
}

fn local() -> SqliteHarness {
    SqliteHarness::new(Capabilities { workspaces: false })
}

fn serving() -> SqliteHarness {
    SqliteHarness::new(Capabilities { workspaces: true })
}

mod without_workspaces {
    ah_conformance::conformance!(super::local);
}

mod with_workspaces {
    ah_conformance::conformance!(super::serving);
}
