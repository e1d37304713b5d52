//! A server over a store in a directory of its own, and a client of it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use ah_client::{RestOptions, RestStore};
use ah_conformance::{Harness, SeededIds, TestClock};
use ah_model::Redaction;
use ah_server::{RunningServer, ServerState};
use ah_store::{Capabilities, Ids, Store};
use ah_store_sql::{SqlStore, SqliteOptions};
use async_trait::async_trait;

const CAPABILITIES: Capabilities = Capabilities { workspaces: true };

/// A server of `store` on a port of its own.
pub(crate) fn serve(store: Arc<dyn Store>) -> RunningServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Behaviours sweep by themselves, at times of their choice.
    let state = ServerState::new(store).sweeping_after(None);
    RunningServer::start(listener, state).unwrap()
}

/// A client of the server at `address`.
pub(crate) fn client(address: SocketAddr) -> Arc<dyn Store> {
    let options = RestOptions::new(format!("http://{address}"));
    Arc::new(RestStore::connect(options).unwrap())
}

/// A store, the server before it and a client: what a behaviour sees is the client.
pub(crate) struct Served {
    client: Arc<dyn Store>,
    server: RunningServer,
}

impl Served {
    pub(crate) fn new(store: SqlStore) -> Self {
        let server = serve(Arc::new(store));
        Self { client: client(server.address()), server }
    }

    pub(crate) fn client(&self) -> Arc<dyn Store> {
        Arc::clone(&self.client)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub(crate) fn stop(self) {
        self.server.stop().unwrap();
    }
}

/// The contract through a server of a SQLite database.
pub(crate) struct SqliteServer {
    served: Option<Served>,
    clock: TestClock,
    opened: u64,
    directory: tempfile::TempDir,
}

impl SqliteServer {
    pub(crate) fn new() -> Self {
        let (directory, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
        let mut harness = Self { served: None, clock, opened: 0, directory };
        harness.open();
        harness
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.served.as_ref().unwrap().address()
    }

    pub(crate) fn stop(&mut self) {
        self.served.take().unwrap().stop();
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
        let options = SqliteOptions::new(self.directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(self.opened)));
        let clock = Arc::new(self.clock.clone());
        SqlStore::open_sqlite(options, CAPABILITIES, clock, ids).unwrap().0
    }
}

#[async_trait]
impl Harness for SqliteServer {
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
        self.stop();
        self.open();
    }
}
