//! The contract through a server of a PostgreSQL database, in a schema per test.
//!
//! `AH_TEST_POSTGRES` names the database server. Without it the tests fail, because a suite that
//! silently runs on half of the engines proves half of what it says; `skip` set by hand skips them
//! aloud.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ah_conformance::{Harness, SeededIds, TestClock};
use ah_model::Redaction;
use ah_store::{Capabilities, Ids, Store};
use ah_store_sql::{PostgresOptions, SqlStore};
use async_trait::async_trait;
use postgres::{Client, NoTls};

use crate::harness::{Served, SqliteServer};

pub(crate) struct PostgresServer {
    served: Option<Served>,
    clock: TestClock,
    opened: u64,
    url: String,
    schema: String,
}

impl PostgresServer {
    fn new(url: String) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("server_{}_{number}", std::process::id());
        let mut harness = Self { served: None, clock: TestClock::new(), opened: 0, url, schema };
        harness.open();
        harness
    }

    /// A fresh one; nothing when PostgreSQL is skipped by hand.
    pub(crate) fn open_or_skip() -> Option<Self> {
        database_url().map(Self::new)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.served.as_ref().unwrap().address()
    }

    /// Another store and server of the same database.
    pub(crate) fn another(&mut self) -> Served {
        Served::new(self.store_again())
    }

    fn open(&mut self) {
        self.served = Some(Served::new(self.store_again()));
    }

    fn store_again(&mut self) -> SqlStore {
        self.opened += 1;
        let options = PostgresOptions {
            schema: Some(self.schema.clone()),
            ..PostgresOptions::new(self.url.clone())
        };
        let ids = Ids::new(Box::new(SeededIds::new(self.opened)));
        let clock = Arc::new(self.clock.clone());
        let capabilities = Capabilities { workspaces: true };
        SqlStore::connect_postgres(options, capabilities, clock, ids).unwrap().0
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.served = None;
        if let Ok(mut client) = Client::connect(&self.url, NoTls) {
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
            let _ = client.batch_execute(&drop);
        }
    }
}

#[async_trait]
impl Harness for PostgresServer {
    fn store(&self) -> Arc<dyn Store> {
        self.served.as_ref().unwrap().client()
    }

    fn clock(&self) -> &TestClock {
        &self.clock
    }

    fn careless(&mut self) -> Arc<dyn Store> {
        Arc::new(self.store_again().with_redaction(Redaction::Off))
    }

    async fn reopen(&mut self) {
        self.served.take().unwrap().stop();
        self.open();
    }
}

#[expect(clippy::disallowed_methods, reason = "tests are told where their server is")]
fn database_url() -> Option<String> {
    let url = std::env::var("AH_TEST_POSTGRES").unwrap_or_default();
    assert!(
        !url.is_empty(),
        "AH_TEST_POSTGRES is not set: run `cargo xtask test`, which starts a server, or set it to \
         `skip` by hand"
    );
    if url == "skip" {
        println!("PostgreSQL is skipped by hand");
        return None;
    }
    Some(url)
}

pub(crate) fn server() -> Box<dyn Harness> {
    match database_url() {
        Some(url) => Box::new(PostgresServer::new(url)),
        None => Box::new(SqliteServer::new()),
    }
}
