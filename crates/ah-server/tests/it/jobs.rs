//! What a server does by itself: deadlines, removal of what is too old, what approvals allow.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ah_conformance::{SeededIds, TestClock};
use ah_hive::Homes;
use ah_model::{
    ApprovalStatus, ChangeKind, Decision, FeedCursor, Happening, Hold, MessageFilter,
    MessageStatus, NewApproval, NewMessage, NewQuestion, PageLimit, PageRequest, Party, RawJson,
    Receive, SPAWN, Verdict,
};
use ah_server::{JobLine, ServerOptions, ServerState, serve};
use ah_store::{Capabilities, Ids, Store, StoreError};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::guarded::agent;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const GRACE: Duration = Duration::from_secs(3);

/// A store whose clock is moved by hand, served or not. The runtime's own clock jumps whenever
/// everybody waits.
struct Harbor {
    store: Arc<dyn Store>,
    clock: TestClock,
    lines: Arc<Mutex<Vec<String>>>,
    directory: tempfile::TempDir,
}

/// Servers end when this is dropped, or told to.
struct Server {
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Harbor {
    fn new() -> Self {
        let (directory, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: true };
        let shared = Arc::new(clock.clone());
        let store = SqlStore::open_sqlite(options, capabilities, shared, ids).unwrap().0;
        Self { store: Arc::new(store), clock, lines: Arc::default(), directory }
    }

    async fn serve(&self) -> Server {
        let lines = Arc::clone(&self.lines);
        let jobs = move |line: &JobLine<'_>| lines.lock().unwrap().push(line.to_string());
        let options = ServerOptions {
            clock: Arc::new(self.clock.clone()),
            homes: Some(Homes::new(self.directory.path())),
            jobs: Some(Arc::new(jobs)),
            ..ServerOptions::default()
        };
        let state = ServerState::with_options(Arc::clone(&self.store), options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = async { drop(stopped.await) };
        let served = tokio::spawn(serve(listener, state.sweeping_after(Some(GRACE)), stopped));
        Server { stop, served }
    }

    /// Sends the operator a message and handles it.
    async fn handled(&self, id: &str) {
        let mut message = NewMessage::new(Party::Operator, Party::Operator, "12345");
        message.id = Some(id.parse().unwrap());
        self.store.send_message(message).await.unwrap();
        let receive = Receive::next(Party::Operator, "h", 60_000);
        assert_eq!(self.store.receive_messages(receive).await.unwrap().messages.len(), 1);
        let hold = Hold { id: id.parse().unwrap(), delivery: Some(1) };
        self.store.ack_messages(vec![hold]).await.unwrap();
    }

    async fn is_gone(&self, message: &str) -> bool {
        match self.store.message(message.parse().unwrap()).await {
            Ok(_) => false,
            Err(StoreError::NotFound { .. }) => true,
            Err(error) => panic!("{error}"),
        }
    }

    /// How many changes of `kind` the feed tells of; reading it applies nothing.
    async fn changes(&self, kind: ChangeKind) -> usize {
        let feed = self.store.feed(FeedCursor::default(), PageLimit::MAX).await.unwrap();
        let is =
            |happening: &Happening| matches!(happening, Happening::Change(c) if c.kind == kind);
        feed.iter().filter(|entry| is(&entry.happening)).count()
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_expires_on_time_though_nobody_looks_at_it() {
    let harbor = Harbor::new();
    let _server = harbor.serve().await;
    let mira = serde_json::from_str(&agent("a1", "mira", "s1").to_string()).unwrap();
    harbor.store.create_agent(mira).await.unwrap();
    let mira = Party::Agent("mira".to_owned());
    let question =
        NewQuestion { ttl_ms: Some(5_000), ..NewQuestion::new(mira, Party::Operator, "why") };
    harbor.store.ask_question(question).await.unwrap();
    harbor.clock.advance_ms(4_999);
    sleep(Duration::from_secs(10)).await;
    assert_eq!(harbor.changes(ChangeKind::QuestionUpdated).await, 1);
    harbor.clock.advance_ms(1);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(harbor.changes(ChangeKind::QuestionUpdated).await, 2);
    // Who asked is told.
    assert_eq!(harbor.changes(ChangeKind::MessageQueued).await, 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_due_while_no_server_ran_is_applied_once_by_two_that_begin() {
    let harbor = Harbor::new();
    let message = NewMessage::new(Party::Operator, Party::Operator, "b");
    harbor.store.send_message(message).await.unwrap();
    let receive = Receive::next(Party::Operator, "h", 1_000);
    assert_eq!(harbor.store.receive_messages(receive).await.unwrap().messages.len(), 1);
    harbor.clock.advance_ms(1_000);
    let _servers = (harbor.serve().await, harbor.serve().await);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(harbor.changes(ChangeKind::MessageQueued).await, 2);
    let (all, page) = (MessageFilter::default(), PageRequest::default());
    let list = harbor.store.list_messages(all, page).await.unwrap();
    let found = list.items.iter().map(|message| (message.status, message.attempts));
    assert_eq!(found.collect::<Vec<_>>(), [(MessageStatus::Queued, 1)]);
}

#[tokio::test(start_paused = true)]
async fn what_is_too_old_goes_soon_after_the_start_and_every_hour() {
    let harbor = Harbor::new();
    harbor.handled("m1").await;
    harbor.clock.advance_ms(31 * DAY_MS);
    harbor.handled("m2").await;
    let _server = harbor.serve().await;
    sleep(GRACE - Duration::from_secs(1)).await;
    assert!(!harbor.is_gone("m1").await);
    sleep(Duration::from_secs(2)).await;
    assert!(harbor.is_gone("m1").await);
    assert!(!harbor.is_gone("m2").await);
    harbor.clock.advance_ms(31 * DAY_MS);
    sleep(Duration::from_secs(59 * 60)).await;
    assert!(!harbor.is_gone("m2").await);
    sleep(Duration::from_secs(2 * 60)).await;
    assert!(harbor.is_gone("m2").await);
    let receipts = harbor.store.list_receipts(PageRequest::default()).await.unwrap().items;
    let lines = harbor.lines.lock().unwrap().clone();
    assert_eq!((receipts.len(), lines.len()), (2, 2), "{lines:?}");
    for (receipt, line) in receipts.iter().rev().zip(&lines) {
        assert_eq!(receipt.removed.rows("messages"), 1);
        assert_eq!(receipt.removed.0["messages"].bytes, 5);
        assert!(receipt.finished_at.is_some());
        assert!(line.starts_with("retention ") && line.contains(" messages=1 "), "{line}");
        assert!(line.ends_with(&format!(" receipt={}", receipt.id)), "{line}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stopped_removes_nothing_and_applies_nothing() {
    let harbor = Harbor::new();
    harbor.handled("m1").await;
    let Server { stop, served } = harbor.serve().await;
    drop(stop);
    served.await.unwrap().unwrap();
    harbor.clock.advance_ms(31 * DAY_MS);
    sleep(Duration::from_secs(2 * 60 * 60)).await;
    assert!(!harbor.is_gone("m1").await);
}

#[tokio::test(start_paused = true)]
async fn what_was_approved_while_no_server_ran_is_carried_out_when_one_begins() {
    let harbor = Harbor::new();
    let details = json!({ "agent": agent("a1", "mira", "s1") });
    let details = RawJson::of(&details).unwrap();
    let approval = NewApproval { details, ..NewApproval::new("mira", SPAWN) };
    let approval = harbor.store.request_approval(approval).await.unwrap();
    let decision = Decision::operator(Verdict::Approved);
    harbor.store.decide_approval(approval.id.clone(), decision).await.unwrap();
    let _server = harbor.serve().await;
    sleep(Duration::from_secs(1)).await;
    let done = harbor.store.approval(approval.id.clone()).await.unwrap();
    assert_eq!((done.status, done.problem.as_deref()), (ApprovalStatus::Approved, None));
    assert!(done.carried_out_at.is_some());
    assert!(harbor.store.agent_of_name("mira".to_owned()).await.unwrap().is_some());
    assert!(harbor.directory.path().join("agents/mira/state").is_dir());
    let line = format!("carry-out spawn of mira approval={}", approval.id);
    assert_eq!(*harbor.lines.lock().unwrap(), [line]);
}
