//! A server that asks for tokens, and everything of it that tests look at.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use ah_conformance::{SeededIds, TestClock};
use ah_model::{NewToken, TokenId, TokenRole, TokenSecret};
use ah_server::{AuthMode, LogLine, RunningServer, ServerOptions, ServerState};
use ah_store::{Capabilities, Clock, Ids, Store, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::{Value, json};

use crate::http::{Connection, Reply, ask_as};

pub(crate) struct Guarded {
    server: RunningServer,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: TestClock,
    log: Arc<Mutex<Vec<String>>>,
    _directory: tempfile::TempDir,
}

impl Guarded {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    /// A server whose other options `change` sets.
    pub(crate) fn with(change: impl FnOnce(&mut ServerOptions)) -> Self {
        let (directory, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: true };
        let opened =
            SqlStore::open_sqlite(options, capabilities, Arc::new(clock.clone()), ids).unwrap();
        let (store, log) = (Arc::new(opened.0), Arc::new(Mutex::new(Vec::new())));
        let mut options = ServerOptions {
            auth: AuthMode::Tokens,
            log: Some(sink(&log)),
            clock: Arc::new(clock.clone()),
            ..ServerOptions::default()
        };
        change(&mut options);
        let state = ServerState::with_options(Arc::clone(&store) as Arc<dyn Store>, options);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = RunningServer::start(listener, state).unwrap();
        Self { server, store, clock, log, _directory: directory }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Stops the server.
    pub(crate) fn stop(self) {
        self.server.stop().unwrap();
    }

    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// A token of `role` with the id `id`.
    pub(crate) fn token(&self, id: &str, role: TokenRole) -> String {
        self.keep(id, |token| token.role = role)
    }

    /// A token for the agent `name`.
    pub(crate) fn agent_token(&self, id: &str, name: &str) -> String {
        self.keep(id, |token| {
            token.role = TokenRole::Agent;
            token.agent = Some(name.to_owned());
        })
    }

    /// A token of `role` that is called `name` in lists.
    pub(crate) fn named_token(&self, id: &str, role: TokenRole, name: &str) -> String {
        self.keep(id, |token| {
            token.role = role;
            token.name = Some(name.to_owned());
        })
    }

    /// A token that ends `ms` after now.
    pub(crate) fn short_token(&self, id: &str, role: TokenRole, ms: u64) -> String {
        self.keep(id, |token| {
            token.role = role;
            token.expires_at = Some(self.clock.now().plus_ms(ms));
        })
    }

    fn keep(&self, id: &str, change: impl FnOnce(&mut NewToken)) -> String {
        let secret = secret(id, 7);
        let mut token = NewToken {
            id: secret.id().clone(),
            hash: secret.hash(),
            role: TokenRole::Viewer,
            agent: None,
            name: None,
            expires_at: None,
        };
        change(&mut token);
        block_on(self.store.create_token(token)).unwrap();
        secret.reveal()
    }

    /// Asks once, on a connection of its own; `path` is below `/api/v1`.
    pub(crate) fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> Reply {
        ask_as(&mut self.connect(), (method, &format!("/api/v1{path}")), token, body)
    }

    /// Asks for what must succeed.
    pub(crate) fn done(&self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let reply = self.ask(method, path, Some(token), &body.to_string());
        let text = String::from_utf8_lossy(&reply.body);
        assert!((200..300).contains(&reply.status), "{method} {path}: {} {text}", reply.status);
        if reply.body.is_empty() { Value::Null } else { reply.json() }
    }

    /// The lines of the log so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

fn sink(log: &Arc<Mutex<Vec<String>>>) -> ah_server::LogSink {
    let log = Arc::clone(log);
    Arc::new(move |line: &LogLine<'_>| log.lock().unwrap().push(line.to_string()))
}

/// The token of `id` whose every random byte is `byte`.
pub(crate) fn secret(id: &str, byte: u8) -> TokenSecret {
    TokenSecret::new(id.parse::<TokenId>().unwrap(), [byte; 32])
}

/// A session to create.
pub(crate) fn session(id: &str) -> Value {
    json!({
        "id": id,
        "agent": { "type": "codex", "version": "1" },
        "repo": { "vcs": "git", "rootPath": "/r", "remoteUrl": null, "defaultBranch": null },
    })
}

/// An agent to create, with its first session.
pub(crate) fn agent(id: &str, name: &str, first: &str) -> Value {
    json!({ "id": id, "name": name, "type": "permanent", "session": session(first) })
}
