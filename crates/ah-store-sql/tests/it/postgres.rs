//! The contract on PostgreSQL, in a schema per test.
//!
//! `AH_TEST_POSTGRES` names the server. Without it the tests fail, because a suite that silently
//! runs on half of the engines proves half of what it says; `skip` set by hand skips them aloud.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ah_conformance::{Harness, ModelHarness, SeededIds, TestClock};
use ah_model::{
    Beginning, HiveSwept, Hold, NewAgent, NewMessage, NewQuestion, Party, Receive, Redaction,
    Renewal, RetentionRules,
};
use ah_store::{Agents, Capabilities, Hive, Ids, Messages, Questions, Retention, Store, block_on};
use ah_store_sql::{PostgresOptions, SqlStore};
use async_trait::async_trait;
use postgres::{Client, NoTls};

use crate::given::new_session;

pub(crate) struct PostgresHarness {
    store: Option<SqlStore>,
    clock: TestClock,
    opened: u64,
    url: String,
    schema: String,
}

impl PostgresHarness {
    fn new(url: String) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("test_{}_{number}", std::process::id());
        let mut harness = Self { store: None, clock: TestClock::new(), opened: 0, url, schema };
        harness.open();
        harness
    }

    fn open(&mut self) {
        self.opened += 1;
        let options = PostgresOptions {
            schema: Some(self.schema.clone()),
            ..PostgresOptions::new(self.url.clone())
        };
        let ids = Ids::new(Box::new(SeededIds::new(self.opened)));
        let clock = Arc::new(self.clock.clone());
        let capabilities = Capabilities { workspaces: true };
        let opened = SqlStore::connect_postgres(options, capabilities, clock, ids);
        self.store = Some(opened.unwrap().0);
    }
}

impl Drop for PostgresHarness {
    fn drop(&mut self) {
        self.store = None;
        if let Ok(mut client) = Client::connect(&self.url, NoTls) {
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
            let _ = client.batch_execute(&drop);
        }
    }
}

#[async_trait]
impl Harness for PostgresHarness {
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

#[expect(clippy::disallowed_methods, reason = "tests are told where their server is")]
pub(crate) fn server_url() -> Option<String> {
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

/// Locks `mira` as a purge does, begins `work`, and removes her messages once that waits for her: who
/// takes messages before agents would be waited for in turn.
fn purge_beside<T: Send>(h: &PostgresHarness, work: impl FnOnce(&SqlStore) -> T + Send) -> T {
    let mut client = Client::connect(&h.url, NoTls).unwrap();
    client.batch_execute(&format!("SET search_path TO {}", h.schema)).unwrap();
    let mut purge = client.transaction().unwrap();
    let locked = "SELECT id FROM agent_instances WHERE name = 'mira' FOR UPDATE";
    assert_eq!(purge.query(locked, &[]).unwrap().len(), 1);
    std::thread::scope(|scope| {
        let store = h.store.as_ref().unwrap();
        let working = scope.spawn(move || work(store));
        let waits = "SELECT EXISTS (SELECT 1 FROM pg_locks \
            WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))";
        while !purge.query_one(waits, &[]).unwrap().get::<_, bool>(0) {
            assert!(!working.is_finished(), "it went by an agent that is being purged");
            std::thread::yield_now();
        }
        purge.batch_execute("SET LOCAL lock_timeout = '100ms'").unwrap();
        let removed = purge.execute("DELETE FROM messages WHERE recipient = 'mira'", &[]);
        assert_eq!(removed.unwrap(), 1);
        purge.commit().unwrap();
        working.join().unwrap()
    })
}

/// `mira` is sent a message, which she gets.
fn mira_gets_mail(store: &SqlStore) -> Hold {
    let mira = Party::Agent("mira".to_owned());
    let agent = NewAgent { id: "mira".parse().ok(), ..NewAgent::new("mira", new_session()) };
    block_on(store.create_agent(agent)).unwrap();
    let mail = NewMessage::new(Party::Operator, mira.clone(), "hello");
    block_on(store.send_message(mail)).unwrap();
    let got = block_on(store.receive_messages(Receive::next(mira, "r", 60_000))).unwrap().messages;
    Hold { id: got[0].id.clone(), delivery: None }
}

#[test]
fn retention_takes_agents_before_messages() {
    let Some(url) = server_url() else { return };
    let h = PostgresHarness::new(url);
    let store = h.store.as_ref().unwrap();
    let hold = mira_gets_mail(store);
    block_on(store.ack_messages(vec![hold])).unwrap();
    let fresh = Renewal::new(Beginning::Reset { message: None });
    block_on(store.renew_agent("mira".parse().unwrap(), fresh)).unwrap();
    h.clock.advance_ms(1);
    let rules =
        RetentionRules { messages_ms: Some(0), sessions_ms: Some(0), ..RetentionRules::KEEP };
    let step = purge_beside(&h, |store| block_on(store.retention_step(rules)).unwrap());
    let removed = &step.receipt.removed;
    assert_eq!((removed.rows("messages"), removed.rows("sessions")), (0, 1));
}

#[test]
fn leases_and_deadlines_take_agents_before_messages() {
    let Some(url) = server_url() else { return };
    let h = PostgresHarness::new(url);
    let store = h.store.as_ref().unwrap();
    mira_gets_mail(store);
    let mira = Party::Agent("mira".to_owned());
    let question = NewQuestion::new(mira, Party::Operator, "which?");
    block_on(store.ask_question(NewQuestion { ttl_ms: Some(60_000), ..question })).unwrap();
    h.clock.advance_ms(60_000);
    let swept = purge_beside(&h, |store| block_on(store.sweep_hive()).unwrap());
    assert_eq!(swept, HiveSwept { expired: 1, ..HiveSwept::default() });
}

fn server() -> Box<dyn Harness> {
    match server_url() {
        Some(url) => Box::new(PostgresHarness::new(url)),
        None => Box::new(ModelHarness::new(Capabilities { workspaces: true }, 1)),
    }
}

mod contract {
    ah_conformance::conformance!(super::server);
}
