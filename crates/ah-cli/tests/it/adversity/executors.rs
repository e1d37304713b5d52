//! An access point and executors that are killed again and again under load: every run ends, its
//! output is there whole and once, and nobody else ever had it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ah_model::{
    Event, EventQuery, NewRepo, NewRun, NewSession, RawJson, Run, RunKind, RunStatus, SessionId,
    Vcs,
};
use ah_store::{Capabilities, Events, Ids, Runs, SystemClock, SystemIds, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::{Value, json};

use super::random::Random;
use crate::harbor::{Harbor, Process, within};

const NODES: [&str; 3] = ["node-1", "node-2", "node-3"];
const RUNS: usize = 36;
const KILLS: usize = 24;
const LINES: usize = 12;

#[test]
fn whoever_is_killed_every_run_is_carried_out_once_and_all_of_it_is_told() {
    let harbor = Harbor::new();
    let mut point = Some(harbor.access_point());
    NODES.iter().for_each(|node| harbor.issue(node));
    let start = |node: &&str| harbor.executor(node, &["--capacity", "4"]);
    let mut executors: Vec<Option<Process>> = NODES.iter().map(|node| Some(start(node))).collect();
    let script = format!("for n in $(seq {LINES}); do echo line $n; sleep 0.2; done");
    let runs: Vec<(String, String)> = (0..RUNS)
        .map(|number| {
            let session = format!("ses-{number}");
            (harbor.queue(&session, &script), session)
        })
        .collect();
    let mut random = Random::new(7);
    for _ in 0..KILLS {
        thread::sleep(Duration::from_millis(100 + random.below(400) as u64));
        match random.below(4) {
            3 => {
                point.take().unwrap().kill();
                point = Some(harbor.access_point());
            }
            node => {
                executors[node].take().unwrap().kill();
                executors[node] = Some(start(&NODES[node]));
            }
        }
    }
    let whole: String = (1..=LINES).map(|line| format!("line {line}\n")).collect();
    for (run, session) in &runs {
        let run = harbor.ended(run);
        assert_eq!(run["status"], "completed", "{run}");
        assert_eq!(harbor.begun(session), 1, "nobody else began it: {run}");
        assert_eq!(harbor.written(session), whole, "{run}");
    }
}

const FLEET: usize = 200;
const FLEET_PATIENCE: Duration = Duration::from_secs(300);
const SESSIONS: usize = 10;

/// The store of a harbor, used beside its access point.
fn store(harbor: &Harbor) -> SqlStore {
    let options = SqliteOptions::new(harbor.home.database());
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: false };
    SqlStore::open_sqlite(options, capabilities, Arc::new(SystemClock), ids).unwrap().0
}

fn new_run(number: usize) -> NewRun {
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/srv/harbor".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let session: SessionId = format!("ses-{number}").parse().unwrap();
    let new = NewSession::new(repo, "tester".parse().unwrap());
    let script = format!("echo begin {number}; sleep 1; echo end {number}");
    let parameters = RawJson::of(&json!({ "argv": ["sh", "-c", script] })).unwrap();
    NewRun {
        session: Some(Box::new(NewSession { id: Some(session.clone()), ..new })),
        ..NewRun::new(session, RunKind::Start, parameters)
    }
}

#[test]
fn two_hundred_executors_carry_out_ten_sessions_each() {
    let harbor = Harbor::new();
    let mut point = harbor.access_point();
    let nodes: Vec<String> = (0..FLEET).map(|number| format!("node-{number}")).collect();
    nodes.iter().for_each(|node| harbor.issue(node));
    let capacity = SESSIONS.to_string();
    let executor = |node: &String| harbor.executor(node, &["--capacity", &capacity]);
    let _executors: Vec<Process> = nodes.iter().map(executor).collect();
    let store = store(&harbor);
    let runs: Vec<Run> = (0..FLEET * SESSIONS)
        .map(|number| block_on(store.create_run(new_run(number))).unwrap())
        .collect();
    // In the middle of it the access point dies.
    within(FLEET_PATIENCE, || {
        let ended = runs.iter().filter(|run| !status(&store, run).is_live()).count();
        (ended > FLEET * SESSIONS / 4).then_some(())
    });
    point.kill();
    let _point = harbor.access_point();
    let mut by_executor: BTreeMap<String, usize> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        within(FLEET_PATIENCE, || (!status(&store, run).is_live()).then_some(()));
        let run = block_on(store.run(run.id.clone())).unwrap();
        assert_eq!(run.status, RunStatus::Completed, "{run:?}");
        *by_executor.entry(run.executor_id.unwrap().to_string()).or_default() += 1;
        let events = block_on(store.events(run.session_id, EventQuery::default())).unwrap();
        // A claim may go back before anything began: of an executor that stopped answering.
        let begun = events.iter().filter(|event| event.kind == "hostStarted").count();
        assert_eq!(begun, 1, "nobody else began it: {events:?}");
        let logs = events.iter().filter(|event| event.kind == "hostLog");
        let text = |event: &Event| {
            event.data.read::<Value>().unwrap()["text"].as_str().unwrap().to_owned()
        };
        let written: String = logs.map(text).collect();
        assert_eq!(written, format!("begin {number}\nend {number}\n"));
    }
    assert!(by_executor.len() > FLEET / 2, "only {} took part", by_executor.len());
}

fn status(store: &SqlStore, run: &Run) -> RunStatus {
    block_on(store.run(run.id.clone())).unwrap().status
}
