//! A harbor with agents, and its sockets.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use ah_conformance::{ModelStore, SeededIds, TestClock};
use ah_model::{
    Agent, NewAgent, NewRepo, NewSession, NewToken, Question, QuestionFilter, TokenRole,
    TokenSecret, Vcs,
};
use ah_server::{AuthMode, RunningServer, ServerOptions, ServerState};
use ah_store::{Agents, Capabilities, Ids, Questions, Store, Tokens, block_on};
use tempfile::TempDir;

use super::wire::{Era, Http, Lines, Wire};
use crate::http::{Connection, request};

/// Longest wait of a test for anything.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) struct Harbor {
    pub(super) store: Arc<ModelStore>,
    pub(super) clock: TestClock,
    server: Option<RunningServer>,
    warnings: Arc<Mutex<Vec<String>>>,
    /// How many tokens there are.
    tokens: AtomicU64,
    /// How long one request waits in the new era.
    round: Duration,
    directory: TempDir,
}

impl Harbor {
    /// A harbor with the agents alice, bob and the protected manager.
    pub(super) fn new() -> Self {
        Self::with_round(ServerOptions::default().mcp_round)
    }

    /// The same, where one request waits that long in the new era.
    pub(super) fn with_round(round: Duration) -> Self {
        let clock = TestClock::new();
        let ids = Ids::new(Box::new(SeededIds::new(5)));
        let capabilities = Capabilities { workspaces: true };
        let store = Arc::new(ModelStore::new(Arc::new(clock.clone()), ids, capabilities));
        let directory = tempfile::tempdir().unwrap();
        let warnings = Arc::default();
        let tokens = AtomicU64::new(0);
        let mut harbor = Self { store, clock, server: None, warnings, tokens, round, directory };
        for name in ["alice", "bob"] {
            harbor.create(name);
        }
        let manager = NewAgent { protected: true, ..new_agent("manager") };
        block_on(harbor.store.create_agent(manager)).unwrap();
        harbor.start();
        harbor
    }

    pub(super) fn create(&self, name: &str) -> Agent {
        block_on(self.store.create_agent(new_agent(name))).unwrap()
    }

    pub(super) fn agent(&self, name: &str) -> Agent {
        block_on(self.store.agent_of_name(name.to_owned())).unwrap().unwrap()
    }

    /// The questions that are kept, newest first.
    pub(super) fn questions(&self) -> Vec<Question> {
        let filter = QuestionFilter::default();
        block_on(self.store.list_questions(filter, Default::default())).unwrap().items
    }

    pub(super) fn state(&self) -> ServerState {
        self.state_at(self.sockets())
    }

    /// A server with its sockets in another directory.
    pub(super) fn state_at(&self, sockets: PathBuf) -> ServerState {
        let warnings = Arc::clone(&self.warnings);
        let options = ServerOptions {
            auth: AuthMode::Tokens,
            sockets: Some(sockets),
            clock: Arc::new(self.clock.clone()),
            jobs: Some(Arc::new(move |line| warnings.lock().unwrap().push(line.to_string()))),
            mcp_round: self.round,
            ..ServerOptions::default()
        };
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        ServerState::with_options(store, options).sweeping_after(None)
    }

    pub(super) fn start(&mut self) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.server = Some(RunningServer::start(listener, self.state()).unwrap());
        // A server answers once it has made the sockets of everybody there is.
        let mut connection = Connection::open(self.address());
        connection.send(request("GET", "/healthz", &[], ""));
        assert_eq!(connection.reply().status, 200);
    }

    pub(super) fn stop(&mut self) {
        self.server.take().unwrap().stop().unwrap();
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.server.as_ref().unwrap().address()
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap().clone()
    }

    pub(super) fn sockets(&self) -> PathBuf {
        self.directory.path().join("run")
    }

    pub(super) fn socket(&self, below: &str) -> PathBuf {
        self.sockets().join(below)
    }

    /// Lines to the socket of an agent, opened in that era.
    pub(super) fn agent_lines(&self, name: &str, era: Era) -> Lines {
        Lines::open(&self.socket(&format!("agents/{name}/mcp.sock")), era)
    }

    /// The same for the agent's usual program.
    pub(super) fn lines(&self, name: &str) -> Lines {
        self.agent_lines(name, Era::V2025_11_25)
    }

    pub(super) fn operator(&self) -> Lines {
        Lines::open(&self.socket("host.sock"), Era::V2026_07_28)
    }

    /// Requests with a token for the agent.
    pub(super) fn http(&self, name: &str, era: Era) -> Http {
        let number = self.tokens.fetch_add(1, Ordering::Relaxed);
        let token = self.token(&format!("t{number}"), TokenRole::Agent, Some(name));
        Http::open(self.address(), Some(token), era)
    }

    pub(super) fn token(&self, id: &str, role: TokenRole, agent: Option<&str>) -> String {
        let secret = TokenSecret::new(id.parse().unwrap(), [7; 32]);
        let token = NewToken {
            id: secret.id().clone(),
            hash: secret.hash(),
            role,
            agent: agent.map(str::to_owned),
            name: None,
            expires_at: None,
        };
        block_on(self.store.create_token(token)).unwrap();
        secret.reveal()
    }

    /// Every way in for an agent, in every era.
    pub(super) fn ways(&self, name: &str) -> Vec<(String, Box<dyn Wire>)> {
        let mut ways: Vec<(String, Box<dyn Wire>)> = Vec::new();
        for era in Era::ALL {
            let version = era.version();
            ways.push((format!("socket {version}"), Box::new(self.agent_lines(name, era))));
            ways.push((format!("http {version}"), Box::new(self.http(name, era))));
        }
        ways
    }
}

pub(super) fn new_agent(name: &str) -> NewAgent {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::Git, root_path, remote_url: None, default_branch: None };
    NewAgent::new(name, NewSession::new(repo, "codex@1".parse().unwrap()))
}

/// Waits until it is so.
pub(super) fn assert_eventually(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The permissions of a file.
pub(super) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}
