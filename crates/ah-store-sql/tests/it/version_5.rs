//! A database of version 5, the last without mail: what is in it stays, and the hive comes in.

use std::sync::Arc;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{
    ChangeKind, Decision, FeedCursor, Happening, Lifecycle, NewApproval, NewMessage, PageLimit,
    PageRequest, Party, Receive, Verdict,
};
use ah_store::{Agents, Approvals, Capabilities, Feed, Ids, Messages, Sessions, Tokens, block_on};
use ah_store_sql::{PostgresOptions, SqlStore, SqliteOptions, Upgrade};
use postgres::{Client, NoTls};
use rusqlite::Connection;

use crate::postgres::server_url;

macro_rules! version_5 {
    ($engine:literal) => {
        concat!(
            include_str!(concat!("../../migrations/", $engine, "/1__base_tables.sql")),
            include_str!(concat!("../../migrations/", $engine, "/2__executor_tables.sql")),
            include_str!(concat!("../../migrations/", $engine, "/3__logs_and_lineage.sql")),
            include_str!(concat!("../../migrations/", $engine, "/4__agents.sql")),
            include_str!(concat!("../../migrations/", $engine, "/5__leases_and_tokens.sql")),
        )
    };
}

/// The same rows for both engines: an agent in its session, its token, and a note for the feed.
const ROWS: &str = "
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO agent_instances (id, name, kind_id, type, descriptor, permissions, tokens, stats,
        metadata, lifecycle, session_count, created_at, updated_at) VALUES
      ('i', 'Mira', 1, 'permanent', '{}', '{}', 'null', '{}', '{}', 'active', 1,
        '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at, instance_id, instance_number, begun_by) VALUES
      ('kept', 1, 1, 1, 'running', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z', 'i', 1, 'created');
    UPDATE agent_instances SET active_session_id = 'kept';
    INSERT INTO tokens (id, hash, role, agent, created_at) VALUES
      ('t', '0000000000000000000000000000000000000000000000000000000000000000', 'agent', 'Mira',
        '2026-01-02T03:04:05.000Z');
    INSERT INTO changes (kind, session_id, at) VALUES
      ('session-created', 'kept', '2026-01-02T03:04:05.000Z');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (5, 'leases_and_tokens', 'of another time', '2026-01-02T03:04:05.000Z');";

fn check(store: &SqlStore, upgrade: &Upgrade) {
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (5, ["6__hive".to_owned()].as_slice()));
    let agent = block_on(store.agent_of_name("mira".to_owned())).unwrap().unwrap();
    assert_eq!((agent.lifecycle, agent.session_count), (Lifecycle::Active, 1));
    assert_eq!((agent.protected, agent.destroyed_at), (false, None));
    let tokens = block_on(store.list_tokens(PageRequest::default())).unwrap().items;
    assert_eq!(tokens[0].agent.as_deref(), Some("Mira"));
    check_hive(store);
    let feed = block_on(store.feed(FeedCursor::default(), PageLimit::MAX)).unwrap();
    let kinds = feed.iter().filter_map(|entry| match &entry.happening {
        Happening::Change(change) => Some(change.kind),
        Happening::Event(_) => None,
    });
    let kinds: Vec<_> = kinds.take(2).collect();
    assert_eq!(kinds, [ChangeKind::SessionCreated, ChangeKind::MessageQueued]);
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

/// The agent that was there gets mail, dies, and comes back in a session of its own.
fn check_hive(store: &SqlStore) {
    let mira = Party::Agent("mira".to_owned());
    let new = NewMessage::new(Party::Operator, mira.clone(), "hello");
    let sent = block_on(store.send_message(new)).unwrap().remove(0);
    assert_eq!(sent.to, Party::Agent("Mira".to_owned()));
    let got = block_on(store.receive_messages(Receive::next(mira, "r", 1_000))).unwrap();
    assert_eq!(got[0].id, sent.id);
    block_on(store.destroy_agent("i".parse().unwrap())).unwrap();
    let kept = block_on(store.session("kept".parse().unwrap())).unwrap();
    assert!(kept.status.is_finished());
    let spawn = block_on(store.request_approval(NewApproval::new("MIRA", "spawn"))).unwrap();
    let decision = Decision::operator(Verdict::Approved);
    block_on(store.decide_approval(spawn.id, decision)).unwrap();
    let agent = block_on(store.agent("i".parse().unwrap())).unwrap();
    assert_eq!((agent.lifecycle, agent.session_count), (Lifecycle::Active, 2));
}

fn parts() -> (Capabilities, Arc<TestClock>, Ids) {
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    (Capabilities { workspaces: true }, Arc::new(TestClock::new()), ids)
}

#[test]
fn a_file_of_version_5_keeps_its_agents_and_takes_the_hive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    write_file(&path);
    let (capabilities, clock, ids) = parts();
    let options = SqliteOptions::new(&path);
    let (store, upgrade) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
    let backup = upgrade.backup.clone().unwrap();
    assert_eq!(ah_store_sql::inspect_sqlite(&backup).unwrap().from, 5);
    check(&store, &upgrade);
}

#[expect(clippy::disallowed_methods, reason = "an older program writes here")]
fn write_file(path: &std::path::Path) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(version_5!("sqlite")).unwrap();
    connection.execute_batch(ROWS).unwrap();
    connection.execute_batch("PRAGMA user_version = 5").unwrap();
}

#[test]
fn a_postgres_schema_of_version_5_keeps_its_agents_and_takes_the_hive() {
    let Some(url) = server_url() else { return };
    let schema = format!("version_5_{}", std::process::id());
    let mut client = Client::connect(&url, NoTls).unwrap();
    let create = format!("CREATE SCHEMA {schema}; SET search_path TO {schema};");
    client.batch_execute(&create).unwrap();
    client.batch_execute(version_5!("postgres")).unwrap();
    client.batch_execute(ROWS).unwrap();
    let (capabilities, clock, ids) = parts();
    let mut options = PostgresOptions::new(&url);
    options.schema = Some(schema.clone());
    let opened = SqlStore::connect_postgres(options, capabilities, clock, ids);
    let checked = opened.map(|(store, upgrade)| check(&store, &upgrade));
    client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
    checked.unwrap();
}
