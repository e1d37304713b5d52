//! A database of version 8, the last without fleets: its runs stay, and a session takes a fleet
//! beside its live run.

use ah_model::{Demands, NewFleet, NewMember, NewRun, RawJson, RunKind, RunStatus, fleet_events};
use ah_store::{Events, Fleets, Runs, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 8,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks",
        "8__enrolled_executors"
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
        "8__enrolled_executors"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines: a session whose run waits.
const ROWS: &str = r#"
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at) VALUES
      ('s', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z');
    INSERT INTO runs (id, session_id, kind, status, parameters, created_at, number) VALUES
      ('r', 's', 'start', 'pending', '{"prompt":"begin"}', '2026-01-02T03:04:05.000Z', 1);
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (8, 'enrolled_executors', 'of another time', '2026-01-02T03:04:05.000Z');"#;

fn check(store: &SqlStore, upgrade: &Upgrade) {
    let steps = [
        "9__fleets",
        "10__search",
        "11__spendings",
        "12__known_blocks",
        "13__repo_fingerprints",
        "14__overviews",
    ]
    .map(str::to_owned);
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (8, steps.as_slice()));
    let run = block_on(store.run("r".parse().unwrap())).unwrap();
    assert_eq!((run.status, run.member), (RunStatus::Pending, None));
    let member =
        |name: &str| NewMember { name: name.parse().unwrap(), demands: Demands::default() };
    let new = NewFleet {
        session_id: "s".parse().unwrap(),
        members: vec![member("a"), member("b")],
        leader: None,
        files: <_>::default(),
        requested_by: None,
    };
    block_on(store.create_fleet(new)).unwrap();
    let runs = block_on(store.session_runs("s".parse().unwrap())).unwrap();
    let members: Vec<_> =
        runs.iter().map(|run| run.member.as_ref().map(|it| it.as_str())).collect();
    assert_eq!(members, [None, Some("a"), Some("b")]);
    let log = block_on(store.events("s".parse().unwrap(), <_>::default())).unwrap();
    assert_eq!(log.last().unwrap().kind, fleet_events::FORMED);
    // What keeps a second run away is still there.
    let second = NewRun::new("s".parse().unwrap(), RunKind::Start, RawJson::null());
    block_on(store.create_run(second)).unwrap_err();
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

#[test]
fn a_file_of_version_8_keeps_its_runs_and_takes_a_fleet() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_8_keeps_its_runs_and_takes_a_fleet() {
    OLD.open_schema();
}
