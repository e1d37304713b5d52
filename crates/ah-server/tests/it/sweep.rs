//! What time decides, and that a server lets executors come back first.

use std::sync::Arc;
use std::time::Duration;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{
    NewRepo, NewRun, NewSession, Offer, RawJson, Run, RunClaim, RunKind, RunStatus, Vcs,
};
use ah_server::{ServerState, serve};
use ah_store::{Capabilities, Ids, Runs};
use ah_store_sql::{SqlStore, SqliteOptions};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

const LEASE_MS: u64 = 5_000;

/// A server whose clock jumps whenever everybody waits, and the store behind it.
struct Server {
    store: Arc<SqlStore>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
    _directory: tempfile::TempDir,
}

impl Server {
    /// Serves a store with the run `r1`, which is claimed and whose lease is over.
    async fn start(grace: Option<Duration>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let (clock, ids) = (TestClock::new(), Ids::new(Box::new(SeededIds::new(1))));
        let capabilities = Capabilities { workspaces: true };
        let shared = Arc::new(clock.clone());
        let (store, _) = SqlStore::open_sqlite(options, capabilities, shared, ids).unwrap();
        let store = Arc::new(store);
        store.create_run(new_run()).await.unwrap();
        let claim = RunClaim {
            executor_id: "e1".parse().unwrap(),
            offer: Offer::default(),
            lease_ms: LEASE_MS,
            run_id: None,
        };
        assert!(store.claim_run(claim).await.unwrap().is_some());
        clock.advance_ms(LEASE_MS as i64);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let state = match grace {
            Some(grace) => ServerState::new(store.clone()).sweeping_after(Some(grace)),
            None => ServerState::new(store.clone()),
        };
        let served = tokio::spawn(serve(listener, state, stopped));
        Self { store, stop, served, _directory: directory }
    }

    async fn run(&self) -> Run {
        self.store.run("r1".parse().unwrap()).await.unwrap()
    }
}

fn new_run() -> NewRun {
    let root_path = Some("/r".to_owned());
    let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
    let mut session = NewSession::new(repo, "codex".parse().unwrap());
    session.id = Some("s1".parse().unwrap());
    let mut run = NewRun::new("s1".parse().unwrap(), RunKind::Start, RawJson::null());
    run.id = Some("r1".parse().unwrap());
    run.session = Some(Box::new(session));
    run
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_over_is_queued_again_once_executors_had_time_to_renew() {
    let server = Server::start(None).await;
    let start = Instant::now();
    sleep_until(start + Duration::from_secs(29)).await;
    assert_eq!(server.run().await.status, RunStatus::Claimed);
    sleep_until(start + Duration::from_secs(32)).await;
    assert_eq!(server.run().await.status, RunStatus::Pending);
}

#[tokio::test(start_paused = true)]
async fn an_executor_that_renews_in_time_keeps_its_run() {
    let server = Server::start(None).await;
    sleep(Duration::from_secs(20)).await;
    let lease = server.run().await.lease();
    server.store.renew_run(lease, LEASE_MS).await.unwrap();
    sleep(Duration::from_secs(20)).await;
    assert_eq!(server.run().await.status, RunStatus::Claimed);
}

#[tokio::test(start_paused = true)]
async fn the_time_that_executors_have_is_an_option() {
    let server = Server::start(Some(Duration::from_secs(3))).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(server.run().await.status, RunStatus::Claimed);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(server.run().await.status, RunStatus::Pending);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stopped_sweeps_no_more() {
    let server = Server::start(None).await;
    let Server { store, stop, served, _directory } = server;
    drop(stop);
    served.await.unwrap().unwrap();
    sleep(Duration::from_secs(120)).await;
    let run = store.run("r1".parse().unwrap()).await.unwrap();
    assert_eq!(run.status, RunStatus::Claimed);
}
