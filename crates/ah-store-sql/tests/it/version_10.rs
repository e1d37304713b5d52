//! A database of version 10, the last without spendings: what its sessions spent is known by their
//! totals.

use ah_model::{Spending, SpendingFilter, Usage};
use ah_store::{Spendings, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 10,
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
        "9__fleets",
        "10__search"
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
        "9__fleets",
        "10__search"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines: a session that names its model, one that does not, and one that
/// spent nothing.
const ROWS: &str = r"
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at, input_tokens, reasoning_tokens) VALUES
      ('named', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-03T23:59:59.999Z', 5, 6),
      ('nameless', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T00:00:00.000Z', 0, 7),
      ('free', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z', 0, 0);
    INSERT INTO session_labels (session_id, k, v) VALUES
      ('named', 'model', 'opus'), ('nameless', 'team', 'core');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (10, 'search', 'of another time', '2026-01-02T03:04:05.000Z');";

fn check(store: &SqlStore, upgrade: &Upgrade) {
    let steps = ["11__spendings", "12__known_blocks", "13__repo_fingerprints", "14__overviews"]
        .map(str::to_owned);
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (10, steps.as_slice()));
    let spent = |session: &str, day: &str, model: &str, input_tokens, reasoning_tokens| Spending {
        session_id: session.parse().unwrap(),
        repo_id: 1,
        agent: "codex".to_owned(),
        day: day.parse().unwrap(),
        model: model.to_owned(),
        usage: Usage { input_tokens, reasoning_tokens, ..Usage::default() },
        told: None,
    };
    let found = block_on(store.list_spendings(SpendingFilter::default(), <_>::default())).unwrap();
    let expected =
        [spent("named", "2026-01-03", "opus", 5, 6), spent("nameless", "2026-01-02", "", 0, 7)];
    assert_eq!(found.items, expected);
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

#[test]
fn a_file_of_version_10_counts_totals_on_the_day_of_the_last_activity() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_10_counts_totals_on_the_day_of_the_last_activity() {
    OLD.open_schema();
}
