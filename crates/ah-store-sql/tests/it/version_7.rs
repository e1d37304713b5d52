//! A database of version 7, the last whose executors could not enrol: what is in it stays.

use ah_model::{
    Demands, Enrolment, ExecutorFilter, ExecutorStatus, NewRun, Offer, PageRequest, RawJson,
    RunClaim, RunKind,
};
use ah_store::{Executors, Runs, block_on};
use ah_store_sql::{SqlStore, Upgrade};

use crate::given::{OldDatabase, migrations};

const OLD: OldDatabase = OldDatabase {
    version: 7,
    sqlite: migrations!(
        "sqlite":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks"
    ),
    postgres: migrations!(
        "postgres":
        "1__base_tables",
        "2__executor_tables",
        "3__logs_and_lineage",
        "4__agents",
        "5__leases_and_tokens",
        "6__hive",
        "7__message_blocks"
    ),
    rows: ROWS,
    check,
};

/// The same rows for both engines: an executor that registered, with labels and rules that another
/// program left, one that only that program knows, and their history.
const ROWS: &str = r#"
    INSERT INTO repos (vcs, root_path, created_at) VALUES ('git', '/a', '2026-01-02T03:04:05.000Z');
    INSERT INTO agents (name, version) VALUES ('codex', 'latest');
    INSERT INTO runtimes (type) VALUES ('local');
    INSERT INTO sessions (id, repo_id, agent_id, runtime_id, status, started_at, created_at,
        last_activity_at) VALUES
      ('s', 1, 1, 1, 'created', '2026-01-02T03:04:05.000Z', '2026-01-02T03:04:05.000Z',
        '2026-01-02T03:04:05.000Z');
    INSERT INTO executors (executor_id, enrollment_timestamp, identity_provider, offer, details,
        generation, seen_at) VALUES
      ('here', '2026-01-02T03:04:05.000Z', 'token', '{"tags":["a"]}', '{"b":1.00}', 3,
        '2026-01-02T03:04:05.000Z');
    INSERT INTO executors (executor_id, enrollment_timestamp, identity_provider) VALUES
      ('elsewhere', '2026-01-02T03:04:05.000Z', 'spiffe');
    INSERT INTO executor_metadata (executor_id, labels, tags, authorization_rules) VALUES
      ('here', '{"region":"eu"}', '["gpu"]', '{"ann":["launch"]}');
    INSERT INTO executor_history (executor_id, event_type, event_data, event_timestamp) VALUES
      ('elsewhere', 'enrolled', NULL, '2026-01-02T03:04:05.000Z'),
      ('here', 're_enrolled', '{"a":1.00}', '2026-01-02T03:04:06.000Z');
    INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES
      (7, 'message_blocks', 'of another time', '2026-01-02T03:04:05.000Z');"#;

fn check(store: &SqlStore, upgrade: &Upgrade) {
    let steps = [
        "8__enrolled_executors",
        "9__fleets",
        "10__search",
        "11__spendings",
        "12__known_blocks",
        "13__repo_fingerprints",
        "14__overviews",
    ]
    .map(str::to_owned);
    assert_eq!((upgrade.from, upgrade.steps.as_slice()), (7, steps.as_slice()));
    let page = PageRequest::default;
    let known = block_on(store.list_executors(ExecutorFilter::default(), page())).unwrap().items;
    let [here] = known.as_slice() else { panic!("{known:?}") };
    assert_eq!((here.id.as_str(), here.status), ("here", ExecutorStatus::Active));
    assert_eq!((here.details.as_str(), here.generation), (r#"{"b":1.00}"#, 3));
    assert_eq!(here.labels.0["region"], "eu");
    assert_eq!(here.tags, ["gpu"]);
    let history = block_on(store.executor_history(None, page())).unwrap().items;
    let told: Vec<_> = history.iter().map(|row| (row.kind.as_str(), row.data.as_str())).collect();
    assert_eq!(told, [("re_enrolled", r#"{"a":1.00}"#), ("enrolled", "null")]);
    check_enrolment(store);
    check_rules(store);
    let violations = block_on(store.check()).unwrap().violations;
    // The fixture's checksum is not ours; nothing else is to be said.
    assert_eq!(violations.len(), 1, "{violations:?}");
}

/// One that only another program knew enrols as if it were new, and its history goes on.
fn check_enrolment(store: &SqlStore) {
    let enrolment = Enrolment {
        id: "elsewhere".parse().unwrap(),
        identity_provider: "files".to_owned(),
        identity: RawJson::null(),
        offer: Offer::default(),
        details: RawJson::null(),
        machine: None,
        capacity: None,
    };
    let enrolled = block_on(store.enrol_executor(enrolment)).unwrap();
    assert_eq!((enrolled.generation, enrolled.identity_provider.as_str()), (1, "files"));
    let id = Some(enrolled.id.clone());
    let history = block_on(store.executor_history(id, PageRequest::default())).unwrap().items;
    assert_eq!(history.len(), 2);
    assert!(history[0].number > history[1].number, "numbers go on behind the old ones");
    block_on(store.remove_executor(enrolled.id)).unwrap();
}

/// Rules that are of another shape let nobody in.
fn check_rules(store: &SqlStore) {
    let new = NewRun {
        demands: Demands::default(),
        requested_by: Some("ann".to_owned()),
        ..NewRun::new("s".parse().unwrap(), RunKind::Start, RawJson::null())
    };
    block_on(store.create_run(new)).unwrap();
    let claim = |executor: &str| RunClaim {
        executor_id: executor.parse().unwrap(),
        offer: Offer::default(),
        lease_ms: 1_000,
        run_id: None,
    };
    assert_eq!(block_on(store.claim_run(claim("here"))).unwrap(), None);
    assert!(block_on(store.claim_run(claim("another"))).unwrap().is_some());
}

#[test]
fn a_file_of_version_7_keeps_its_executors_and_their_history() {
    OLD.open_file();
}

#[test]
fn a_postgres_schema_of_version_7_keeps_its_executors_and_their_history() {
    OLD.open_schema();
}
