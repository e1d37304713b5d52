//! An access point and executors over real sockets, with real programs. The store is the oracle.

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
    RunStatus, SessionId, Vcs,
};
use ah_store::{Capabilities, Ids, Store, SystemClock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::given::{Ca, Leaf, TestClock};
use crate::host;
use crate::link::given::terms;

const PATIENCE: Duration = Duration::from_secs(60);

/// A store, an authority and a place for files.
struct Harbor {
    ca: Ca,
    store: Arc<dyn Store>,
    folder: TempDir,
}

/// Something that serves until it is stopped or killed.
struct Serving {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

impl Serving {
    fn begin<F: Future<Output = ()> + Send + 'static>(
        serve: impl FnOnce(oneshot::Receiver<()>) -> F,
    ) -> Self {
        let (stop, stopped) = oneshot::channel();
        Self { stop: Some(stop), task: tokio::spawn(serve(stopped)) }
    }

    async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.task.await.unwrap();
    }

    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

impl Harbor {
    fn new() -> Self {
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: false };
        let store = ModelStore::new(Arc::new(SystemClock), ids, capabilities);
        Self { ca: Ca::new(), store: Arc::new(store), folder: tempfile::tempdir().unwrap() }
    }

    fn bound(&self, address: &str) -> Result<Listener, LinkError> {
        let terms = terms(&self.ca, &Leaf::server(), &TestClock::new());
        let address = address.parse().unwrap();
        Listener::bind(address, Transports::Quic, terms, Limits::listener())
    }

    fn access_point(&self, address: &str) -> (Serving, PointHandle, String) {
        self.serve(self.bound(address).unwrap())
    }

    fn serve(&self, listener: Listener) -> (Serving, PointHandle, String) {
        let address = listener.address().to_string();
        let (store, clock) = (Arc::clone(&self.store), Arc::new(SystemClock));
        let point = AccessPoint::new(Arc::new(listener), store, clock, point_options());
        let handle = point.handle();
        let serving = Serving::begin(|stopped| async move {
            point.serve(async move { drop(stopped.await) }).await;
        });
        (serving, handle, address)
    }

    fn executor(&self, node: &str, address: &str) -> Serving {
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
            options: agent_options(node),
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

    async fn queue(&self, name: &str, script: &str) -> RunId {
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some("/srv/harbor".to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let session: SessionId = format!("ses-{name}").parse().unwrap();
        let new = NewSession::new(repo, "codex".parse().unwrap());
        let parameters = RawJson::of(&json!({ "argv": ["sh", "-c", script] })).unwrap();
        let run = NewRun {
            session: Some(Box::new(NewSession { id: Some(session.clone()), ..new })),
            ..NewRun::new(session, RunKind::Start, parameters)
        };
        self.store.create_run(run).await.unwrap().id
    }

    async fn until(&self, id: &RunId, is_so: impl Fn(&Run) -> bool) -> Run {
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

    async fn ended(&self, id: &RunId) -> Run {
        self.until(id, |run| !run.status.is_live()).await
    }

    async fn events(&self, run: &Run) -> Vec<(String, Value)> {
        let events =
            self.store.events(run.session_id.clone(), EventQuery::default()).await.unwrap();
        events.into_iter().map(|event| (event.kind, event.data.read().unwrap())).collect()
    }
}

fn point_options() -> PointOptions {
    PointOptions {
        server_id: "harbor".to_owned(),
        boot: std::process::id().to_be_bytes().repeat(2)[..6].try_into().unwrap(),
        connection: ConnectionConfig {
            heartbeat_ms: 200,
            heartbeats_missed_max: 10,
            lease_ms: 10_000,
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

fn executor_id(node: &str) -> ExecutorId {
    format!("spiffe://example.org/ah/agent/{node}").parse().unwrap()
}

fn logged(events: &[(String, Value)]) -> String {
    let logs = events.iter().filter(|(kind, _)| kind == "hostLog");
    logs.map(|(_, data)| data["text"].as_str().unwrap()).collect()
}

fn kinds(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(kind, _)| kind.as_str()).collect()
}

/// Something on the disk that says that a program has come so far.
async fn until_there(path: &Path) {
    let look = async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.unwrap();
}

#[tokio::test]
async fn a_run_is_carried_out_and_what_it_wrote_is_in_its_session() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let run = harbor.queue("1", "echo hello; echo trouble >&2; exit 3").await;
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Failed, 1));
    assert_eq!(run.error.as_deref(), Some("exit code 3"));
    let events = harbor.events(&run).await;
    assert_eq!(kinds(&events), ["hostStarted", "hostLog", "hostLog", "hostExited"]);
    let mut words: Vec<String> = logged(&events).lines().map(str::to_owned).collect();
    words.sort();
    assert_eq!(words, ["hello", "trouble"]);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn many_runs_on_several_executors_all_end() {
    let harbor = Harbor::new();
    let (point, handle, address) = harbor.access_point("127.0.0.1:0");
    let nodes = ["node-1", "node-2", "node-3"];
    let executors: Vec<Serving> =
        nodes.iter().map(|node| harbor.executor(node, &address)).collect();
    let mut runs = Vec::new();
    for number in 0..24 {
        runs.push(harbor.queue(&number.to_string(), &format!("echo {number}")).await);
    }
    for (number, run) in runs.iter().enumerate() {
        let run = harbor.ended(run).await;
        assert_eq!(run.status, RunStatus::Completed);
        assert_eq!(logged(&harbor.events(&run).await), format!("{number}\n"));
    }
    let (counts, present) = handle.view().await.unwrap();
    assert_eq!(present.len(), nodes.len());
    assert_eq!((counts.launched, counts.stale, counts.broken), (24, 0, 0));
    for executor in executors {
        executor.stop().await;
    }
    point.stop().await;
}

#[tokio::test]
async fn an_access_point_that_dies_loses_nothing() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let (begun, go_on) = (harbor.folder.path().join("begun"), harbor.folder.path().join("go-on"));
    let script = format!(
        "echo before; touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo after",
        begun.display(),
        go_on.display()
    );
    let run = harbor.queue("1", &script).await;
    until_there(&begun).await;
    point.kill().await;
    std::fs::write(&go_on, "").unwrap();
    // The socket of the dead one is given back a moment later.
    let (point, _, _) = loop {
        match harbor.bound(&address) {
            Ok(listener) => break harbor.serve(listener),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Completed, 1));
    assert_eq!(logged(&harbor.events(&run).await), "before\nafter\n");
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn an_executor_that_comes_again_finds_its_programs() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let (begun, go_on) = (harbor.folder.path().join("begun"), harbor.folder.path().join("go-on"));
    let script = format!(
        "echo before; touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo after; exit 5",
        begun.display(),
        go_on.display()
    );
    let run = harbor.queue("1", &script).await;
    until_there(&begun).await;
    executor.stop().await;
    std::fs::write(&go_on, "").unwrap();
    let executor = harbor.executor("node-1", &address);
    let run = harbor.ended(&run).await;
    assert_eq!((run.status, run.lease_epoch), (RunStatus::Failed, 1));
    assert_eq!(run.error.as_deref(), Some("exit code 5"));
    assert_eq!(logged(&harbor.events(&run).await), "before\nafter\n");
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn a_run_that_is_stopped_ends_and_says_so() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let run = harbor.queue("1", "exec sleep 600").await;
    harbor.until(&run, |run| run.status == RunStatus::Running).await;
    harbor.store.stop_run(run.clone()).await.unwrap();
    let run = harbor.ended(&run).await;
    assert_eq!(run.status, RunStatus::Stopped);
    executor.stop().await;
    point.stop().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_fails_the_run_in_words() {
    let harbor = Harbor::new();
    let (point, _, address) = harbor.access_point("127.0.0.1:0");
    let executor = harbor.executor("node-1", &address);
    let session: SessionId = "ses-1".parse().unwrap();
    let first = harbor.queue("1", "true").await;
    harbor.ended(&first).await;
    let parameters = RawJson::of(&json!({ "argv": ["no-such-program"] })).unwrap();
    let new = NewRun::new(session, RunKind::Resume, parameters);
    let run = harbor.store.create_run(new).await.unwrap();
    let run = harbor.ended(&run.id).await;
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.error.as_deref().unwrap().contains("no-such-program"), "{:?}", run.error);
    executor.stop().await;
    point.stop().await;
}
