//! `ah executor`: what an operator says of machines that enrolled.

use std::process::Stdio;
use std::sync::Arc;

use ah_model::{Enrolment, Machine, Offer, RawJson};
use ah_store::{Capabilities, Executors, Ids, SystemClock, SystemIds, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::{Value, json};

use crate::support::Home;

const ID: &str = "spiffe://example.org/ah/agent/node-1";

/// A home whose database knows an executor.
fn enrolled() -> Home {
    let home = Home::new();
    home.json(&["executor", "list"]);
    let options = SqliteOptions::new(home.state().join("state.db"));
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: false };
    let clock = Arc::new(SystemClock);
    let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
    let machine = Machine {
        os_name: "linux".to_owned(),
        os_version: "6.1".to_owned(),
        architecture: "x86_64".to_owned(),
        cpu_cores: 8,
        memory_bytes: 1 << 30,
        agents: vec!["claude".to_owned()],
        ..Machine::default()
    };
    let enrolment = Enrolment {
        id: ID.parse().unwrap(),
        identity_provider: "files".to_owned(),
        identity: RawJson::null(),
        offer: Offer { tags: vec!["offered".to_owned()], ..Offer::default() },
        details: RawJson::null(),
        machine: Some(machine),
        capacity: Some(4),
    };
    block_on(store.enrol_executor(enrolment)).unwrap();
    home
}

fn stdout(home: &Home, args: &[&str]) -> String {
    let output = home.run(args);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_operator_says_what_an_executor_is_and_finds_it_by_that() {
    let home = enrolled();
    home.json(&["executor", "label", ID, "region=eu", "b=1"]);
    let labelled = home.json(&["executor", "label", ID, "--unset", "b"]);
    assert_eq!(labelled["labels"], json!({ "region": "eu" }));
    let tagged = home.json(&["executor", "tag", ID, "z", "gpu", "--remove", "z"]);
    assert_eq!(tagged["tags"], json!(["gpu"]));
    let named = home.json(&["executor", "rename", ID, "the big one", "--owner", "ann"]);
    assert_eq!([&named["friendlyName"], &named["owner"]], ["the big one", "ann"]);
    let like = ["executor", "list", "--tag", "gpu", "--tag", "offered", "--label", "region=eu"];
    assert_eq!(home.json(&like)["items"][0]["id"], ID);
    let none = home.json(&["executor", "list", "--status", "draining"]);
    assert_eq!(none["items"], json!([]));
    let shown = stdout(&home, &["executor", "show", ID]);
    for text in ["the big one", "linux 6.1 x86_64", "1.0 GiB", "gpu offered", "everybody may"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

#[test]
fn rules_are_said_user_by_user_and_taken_away() {
    let home = enrolled();
    home.json(&["executor", "authorize", ID, "ann", "launch", "stop"]);
    let ruled = home.json(&["executor", "authorize", ID, "*", "stop"]);
    let ann = json!({ "user": "ann", "verbs": ["launch", "stop"] });
    let everybody = json!({ "user": "*", "verbs": ["stop"] });
    assert_eq!(ruled["authorization"], json!([ann, everybody]));
    let wrong = home.run(&["executor", "authorize", ID, "ann", "fly"]);
    assert!(!wrong.status.success());
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("launch, stop, pause, dispatch, fence"), "{said}");
    let less = home.json(&["executor", "authorize", ID, "ann"]);
    assert_eq!(less["authorization"], json!([everybody]));
    let reset = home.json(&["executor", "authorize", ID, "--reset"]);
    assert_eq!(reset["authorization"], json!([]));
}

#[test]
fn rules_that_are_set_at_once_are_all_there() {
    let home = enrolled();
    let users: Vec<String> = (0..8).map(|number| format!("user-{number}")).collect();
    let begin = |user: &String| {
        home.ah(&["executor", "authorize", ID, user, "launch"]).stdout(Stdio::null()).spawn()
    };
    let at_once: Vec<_> = users.iter().map(|user| begin(user).unwrap()).collect();
    for mut one in at_once {
        assert!(one.wait().unwrap().success());
    }
    let shown = home.json(&["executor", "show", ID]);
    let rules = shown["authorization"].as_array().unwrap();
    let mut named: Vec<_> = rules.iter().map(|rule| rule["user"].as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, users);
}

fn queue(home: &Home, session: &str, more: &[&str]) -> Value {
    home.create_session(session);
    home.json(&[&["run", "create", session, "--prompt", "do it"][..], more].concat())
}

fn claim(home: &Home, more: &[&str]) -> Option<Value> {
    let claim = ["run", "claim", "--executor", ID, "--json"];
    let output = home.run(&[&claim[..], more].concat());
    match output.status.code() {
        Some(0) => Some(serde_json::from_slice(&output.stdout).unwrap()),
        Some(3) => None,
        _ => panic!("{output:?}"),
    }
}

#[test]
fn a_drained_executor_gets_nothing_and_a_disabled_one_loses_what_it_has() {
    let home = enrolled();
    let demands = ["--os", "Linux", "--agent", "claude", "--cpu-cores", "8", "--on", ID];
    let run = queue(&home, "s1", &demands);
    assert_eq!(run["demands"]["executorId"], ID);
    home.json(&["executor", "drain", ID]);
    assert_eq!(claim(&home, &[]), None);
    home.json(&["executor", "enable", ID]);
    assert_eq!(claim(&home, &["--run", run["id"].as_str().unwrap()]).unwrap()["id"], run["id"]);
    assert_eq!(home.json(&["executor", "disable", ID])["status"], "disabled");
    let lost = home.json(&["run", "show", run["id"].as_str().unwrap()]);
    assert_eq!(lost["status"], "pending", "it had not begun");
    let drained = home.run(&["executor", "drain", ID]);
    assert_eq!(drained.status.code(), Some(4));
    assert!(stdout(&home, &["executor", "list"]).contains("disabled"));
}

#[test]
fn what_an_operator_did_is_in_the_history_with_who_did_it() {
    let home = enrolled();
    home.json(&["executor", "tag", ID, "gpu"]);
    home.json(&["executor", "revoke", ID]);
    assert_eq!(home.run(&["executor", "enable", ID]).status.code(), Some(4));
    let gone = home.run(&["executor", "remove", ID, "--force"]);
    assert_eq!(gone.status.code(), Some(4), "forgotten, it could enrol again");
    let history = home.json(&["executor", "history", ID]);
    let kinds: Vec<_> =
        history["items"].as_array().unwrap().iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(kinds, ["revoked", "changed", "enrolled"]);
    assert_eq!(history["items"][1]["data"]["change"], json!({ "addTags": ["gpu"] }));
    assert!(stdout(&home, &["executor", "history"]).contains("revoked"));
}
