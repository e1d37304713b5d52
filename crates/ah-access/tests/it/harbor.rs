//! A harbor of real sockets and real programs over the oracle: access points, executors, runs.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ah_access::executor::core::AgentOptions;
use ah_access::executor::outbox::{Outbox, OutboxOptions};
use ah_access::executor::{Executor, Mailbox, Parts, Servers};
use ah_access::frame::{ConnectionConfig, Load};
use ah_access::link::{Limits, LinkError, Listener, Transports, Way};
use ah_access::point::{AccessPoint, PointHandle, PointOptions};
use ah_conformance::{ModelStore, SeededIds};
use ah_model::{
    EventQuery, ExecutorId, NewRepo, NewRun, NewSession, Offer, RawJson, Run, RunId, RunKind,
    SessionId, Vcs,
};
use ah_process::Process;
use ah_store::{Capabilities, Ids, Store, SystemClock};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::given::{Ca, Leaf, TestClock};
use crate::host;
use crate::link::given::terms;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A store, an authority and a place for files.
pub(crate) struct Harbor {
    ca: Ca,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) folder: TempDir,
    lease_ms: u64,
}

/// Something that serves until it is stopped or killed.
pub(crate) struct Serving {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Serving {
    pub(crate) fn begin<F: Future<Output = ()> + Send + 'static>(
        serve: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop: Some(stop), task: tokio::spawn(serve(stopped)) }
    }

    pub(crate) async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }

    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl Harbor {
    /// One over SQLite, with its rows in the place for files.
    pub(crate) fn on_sqlite() -> Self {
        let mut harbor = Self::new();
        let (ids, capabilities) = given();
        let options = SqliteOptions::new(harbor.folder.path().join("store.db"));
        let store = SqlStore::open_sqlite(options, capabilities, Arc::new(SystemClock), ids);
        harbor.store = Arc::new(store.unwrap().0);
        harbor
    }

    pub(crate) fn new() -> Self {
        let (ids, capabilities) = given();
        let store = ModelStore::new(Arc::new(SystemClock), ids, capabilities);
        let (store, folder) = (Arc::new(store), tempfile::tempdir().unwrap());
        Self { ca: Ca::new(), store, folder, lease_ms: 10_000 }
    }

    /// One whose executors are lost soon.
    pub(crate) fn with_lease(lease_ms: u64) -> Self {
        let mut harbor = Self::new();
        harbor.lease_ms = lease_ms;
        harbor
    }

    fn bound(&self, address: &str) -> Result<Listener, LinkError> {
        let terms = terms(&self.ca, &Leaf::server(), &TestClock::new());
        let address = address.parse().unwrap();
        Listener::bind(address, Transports::Quic, terms, Limits::listener())
    }

    pub(crate) fn access_point(&self, address: &str) -> (Serving, PointHandle, String) {
        self.serve(self.bound(address).unwrap())
    }

    /// Another one in the place of one that died. Its socket is given back a moment later.
    pub(crate) async fn access_point_again(&self, address: &str) -> Serving {
        loop {
            match self.bound(address) {
                Ok(listener) => break self.serve(listener).0,
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn serve(&self, listener: Listener) -> (Serving, PointHandle, String) {
        let address = listener.address().to_string();
        let (store, clock) = (Arc::clone(&self.store), Arc::new(SystemClock));
        let point =
            AccessPoint::new(Arc::new(listener), store, clock, point_options(self.lease_ms));
        let handle = point.handle();
        let serving = Serving::begin(|stopped| async move {
            point.serve(async move { drop(stopped.await) }).await;
        });
        (serving, handle, address)
    }

    pub(crate) fn executor(&self, node: &str, address: &str) -> Serving {
        self.executor_for(node, address, 4)
    }

    /// One that works on so many runs at a time.
    pub(crate) fn executor_for(&self, node: &str, address: &str, capacity: u32) -> Serving {
        let directory = self.folder.path().join(node);
        std::fs::create_dir_all(&directory).unwrap();
        let mailbox = Mailbox::new();
        let handle = mailbox.handle();
        let tell = Box::new(move |lease: &ah_model::Lease| handle.ended(lease));
        let host = host::open(&directory.join("host"), host::keeper(), tell).unwrap();
        let id = || format!("outbox-{node}").parse().unwrap();
        let options = OutboxOptions::default();
        let (outbox, _) = Outbox::open(&directory.join("outbox"), options, "test", id).unwrap();
        let terms = terms(&self.ca, &Leaf::node(node), &TestClock::new());
        let parts = Parts {
            options: AgentOptions { capacity, ..agent_options(node) },
            servers: Servers {
                hosts: vec![address.to_owned()],
                way: Way::Quic,
                terms: Box::new(move || Arc::clone(&terms)),
            },
            host,
            outbox,
            clock: Arc::new(SystemClock),
            load: Box::new(Load::default),
            tell: Box::new(|_| {}),
        };
        let executor = Executor::new(parts, mailbox);
        Serving::begin(|stopped| async move {
            executor.serve(async move { drop(stopped.await) }).await;
        })
    }

    pub(crate) async fn queue(&self, name: &str, script: &str) -> RunId {
        let session: SessionId = format!("ses-{name}").parse().unwrap();
        let parameters = RawJson::of(&json!({ "argv": ["sh", "-c", script] })).unwrap();
        let run = NewRun {
            session: Some(Box::new(new_session(&session))),
            ..NewRun::new(session, RunKind::Start, parameters)
        };
        self.store.create_run(run).await.unwrap().id
    }

    pub(crate) async fn until(&self, id: &RunId, is_so: impl Fn(&Run) -> bool) -> Run {
        let look = async {
            loop {
                let run = self.store.run(id.clone()).await.unwrap();
                if is_so(&run) {
                    return run;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, look).await;
        match found {
            Ok(run) => run,
            Err(_) => panic!("{:?}", self.store.run(id.clone()).await),
        }
    }

    pub(crate) async fn ended(&self, id: &RunId) -> Run {
        self.until(id, |run| !run.status.is_live()).await
    }

    pub(crate) async fn events(&self, run: &Run) -> Vec<(String, Value)> {
        self.events_of(&run.session_id).await
    }

    pub(crate) async fn events_of(&self, session: &SessionId) -> Vec<(String, Value)> {
        let events = self.store.events(session.clone(), EventQuery::default()).await.unwrap();
        events.into_iter().map(|event| (event.kind, event.data.read().unwrap())).collect()
    }
}

/// Programs outlive executors; here they end with the test.
impl Drop for Harbor {
    fn drop(&mut self) {
        let root = format!("AH_RUN_FOLDER={}/", self.folder.path().display());
        let is_here = |one: &Process| {
            let environment = std::fs::read(format!("/proc/{}/environ", one.id));
            let environment = environment.unwrap_or_default();
            one.lives
                && environment.split(|byte| *byte == 0).any(|it| it.starts_with(root.as_bytes()))
        };
        let find = || ah_process::all().into_iter().filter(is_here).collect();
        ah_process::end_all(find).unwrap();
    }
}

fn given() -> (Ids, Capabilities) {
    (Ids::new(Box::new(SeededIds::new(1))), Capabilities { workspaces: false })
}

pub(crate) fn new_session(id: &SessionId) -> NewSession {
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/srv/harbor".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let new = NewSession::new(repo, "codex".parse().unwrap());
    NewSession { id: Some(id.clone()), ..new }
}

fn point_options(lease_ms: u64) -> PointOptions {
    PointOptions {
        server_id: "harbor".to_owned(),
        boot: std::process::id().to_be_bytes().repeat(2)[..6].try_into().unwrap(),
        connection: ConnectionConfig {
            heartbeat_ms: 200,
            heartbeats_missed_max: 10,
            lease_ms,
            requests_max: 64,
            reports_max: 4,
        },
        hello_ms: 5_000,
        request_ms: 5_000,
        grace_ms: 1_000,
        look_ms: 1_000,
        audit_ms: 2_000,
    }
}

fn agent_options(node: &str) -> AgentOptions {
    AgentOptions {
        executor_id: executor_id(node),
        software: "test".to_owned(),
        identity_provider: "files".to_owned(),
        offer: Offer::default(),
        machine: None,
        details: RawJson::null(),
        capacity: 4,
        retry_ms: 50,
        retry_max_ms: 500,
        greeting_ms: 5_000,
        unsure_ms: 10_000,
        seed: 1,
    }
}

pub(crate) fn executor_id(node: &str) -> ExecutorId {
    format!("spiffe://example.org/ah/agent/{node}").parse().unwrap()
}

pub(crate) fn logged(events: &[(String, Value)]) -> String {
    let logs = events.iter().filter(|(kind, _)| kind == "hostLog");
    logs.map(|(_, data)| data["text"].as_str().unwrap()).collect()
}

pub(crate) fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// Something on the disk that says that a program has come so far.
pub(crate) async fn until_there(path: &Path) {
    let look = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap();
}
