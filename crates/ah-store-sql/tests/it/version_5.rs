//! A database of version 5, the last without mail: what is in it stays, and the hive comes in.

use ah_model::{
    ChangeKind, Decision, FeedCursor, Happening, Lifecycle, NewApproval, NewMessage, PageLimit,
    PageRequest, Party, Receive, Verdict,
};
use ah_store::{Agents, Approvals, Feed, Messages, Sessions, Tokens, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 5,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens"
    ),
    postgres: migrations!(
        "postgres":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens"
    ),
    rows: ROWS,
    check,
};

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
    assert_eq!(
        (upgrade.from, upgrade.steps.as_slice()),
        (
            5,
            [
                "6__hive",
                "7__message_blocks",
                "8__enrolled_executors",
                "9__fleets",
                "10__search",
                "11__spendings",
                "12__known_blocks",
                "13__repo_fingerprints",
                "14__overviews"
            ]
            .map(str::to_owned)
            .as_slice()
        )
    );
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
    let got = block_on(store.receive_messages(Receive::next(mira, "r", 1_000))).unwrap().messages;
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

#[test]
fn a_file_of_version_5_keeps_its_agents_and_takes_the_hive() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_5_keeps_its_agents_and_takes_the_hive() {
    OLD.open_schema();
}
