//! A database of version 9, the last without search: what is in it is found.

use ah_model::{IndexState, PageLimit, PageRequest, SearchQuery};
use ah_store::{Searches, Sessions, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 9,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks",
        "8__enrolled_executors",
        "9__fleets"
    ),
    postgres: migrations!(
        "postgres":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks",
        "8__enrolled_executors",
        "9__fleets"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines: a session with two events.
const ROWS: &str = r#"
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at, last_seq) VALUES
      ('s', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z', 2);
    INSERT INTO events (session_id, seq, ts, type, data) VALUES
      ('s', 1, '2026-01-02T03:04:05.000Z', 'user_message', '"An old Word"'),
      ('s', 2, '2026-01-02T03:04:05.000Z', 'note', '"word"');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (9, 'fleets', 'of another time', '2026-01-02T03:04:05.000Z');"#;

fn check(store: &SqlStore, upgrade: &Upgrade) {
    let steps = [
        "10__search",
        "11__spendings",
        "12__known_blocks",
        "13__repo_fingerprints",
        "14__overviews",
    ]
    .map(str::to_owned);
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (9, steps.as_slice()));
    let step = || block_on(store.update_search_index(PageLimit::MAX)).unwrap();
    while step().state != IndexState::Done {}
    let found = || {
        let query = SearchQuery::new("word".parse().unwrap());
        let page = block_on(store.search(query, PageRequest::default())).unwrap();
        page.items.iter().map(|hit| hit.seq).collect::<Vec<_>>()
    };
    assert_eq!(found(), [1]);
    // The fixture's checksum is not ours; nothing else is to be said, of the index neither.
    let violations = block_on(store.check()).unwrap().violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
    block_on(store.delete_session("s".parse().unwrap())).unwrap();
    while step().state != IndexState::Done {}
    assert_eq!(found(), [0; 0]);
    let violations = block_on(store.check()).unwrap().violations;
    assert_eq!(violations.len(), 1, "{violations:?}");
}

#[test]
fn what_is_in_a_file_of_version_9_is_found() {
    OLD.open_file();
}

#[test]
fn what_is_in_a_postgres_schema_of_version_9_is_found() {
    OLD.open_schema();
}
