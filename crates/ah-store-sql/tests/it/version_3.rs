//! A database of version 3, the last without agents: what is in it stays, and agents come in.

use ah_model::{EventQuery, NewAgent, NewRun, Offer, RawJson, Run, RunClaim, RunKind, SessionId};
use ah_store::{Agents, Events, Runs, Sessions, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations, new_session};

const OLD: OldDatabase = OldDatabase {
    version: 3,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage"
    ),
    postgres: migrations!(
        "postgres":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines.
const ROWS: &str = "
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at, last_seq, reset_message) VALUES
      ('kept', 1, 1, 1, 'running', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z', 1, 'why it began');
    INSERT INTO events (session_id, ts, type, data, seq) VALUES
      ('kept', '2026-01-02T03:04:05.000Z', 'note', '{\"text\":\"kept\"}', 1);
    INSERT INTO runs (id, session_id, kind, status, parameters, created_at, ended_at) VALUES
      ('a-later', 'kept', 'resume', 'pending', '{}', '2026-01-02T03:04:06.000Z', NULL),
      ('b-first', 'kept', 'start', 'completed', '{}', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.500Z');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (3, 'logs_and_lineage', 'of another time', '2026-01-02T03:04:05.000Z');";

fn check(store: &SqlStore, upgrade: &Upgrade) {
    assert_eq!((upgrade.from, upgrade.steps[0].as_str()), (3, "4__agents"));
    let kept: SessionId = "kept".parse().unwrap();
    let session = block_on(store.session(kept.clone())).unwrap();
    assert_eq!((session.of_agent, session.last_seq), (None, 1));
    let events = block_on(store.events(kept, EventQuery::default())).unwrap();
    assert_eq!(events[0].data.as_str(), r#"{"text":"kept"}"#);
    check_queue(store);
    let new = NewAgent::new("librarian", new_session());
    assert_eq!(block_on(store.create_agent(new)).unwrap().session_count, 1);
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

/// The runs there were have their places, by the time they were queued; new ones stand behind them.
fn check_queue(store: &SqlStore) {
    let ids = |runs: Vec<Run>| runs.iter().map(|run| run.id.to_string()).collect::<Vec<_>>();
    let runs = block_on(store.session_runs("kept".parse().unwrap())).unwrap();
    assert_eq!(ids(runs), ["b-first", "a-later"]);
    let session = block_on(store.create_session(new_session())).unwrap().id;
    let new = NewRun::new(session, RunKind::Start, RawJson::null());
    let new = block_on(store.create_run(new)).unwrap();
    let claim = || RunClaim {
        executor_id: "e".parse().unwrap(),
        offer: Offer::default(),
        lease_ms: 1_000,
        run_id: None,
    };
    let claimed = (0..2).filter_map(|_| block_on(store.claim_run(claim())).unwrap()).collect();
    assert_eq!(ids(claimed), ["a-later".to_owned(), new.id.to_string()]);
}

#[test]
fn a_file_of_version_3_keeps_its_sessions_and_takes_agents() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_3_keeps_its_sessions_and_takes_agents() {
    OLD.open_schema();
}
