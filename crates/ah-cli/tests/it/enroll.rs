//! `ah agent enroll` and the access point it works for.

use serde_json::{Value, json};

use crate::harbor::{Harbor, until};
use crate::support::succeeded;

#[test]
fn a_run_is_carried_out_by_an_executor_that_enrolled() {
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    harbor.issue("node-1");
    let _executor = harbor.executor("node-1", &["--tag", "gpu", "--capacity", "3"]);
    let run = harbor.queue("ses-1", "echo hello; exit 4");
    let run = harbor.ended(&run);
    assert_eq!(
        (run["status"].as_str(), run["error"].as_str()),
        (Some("failed"), Some("exit code 4"))
    );
    assert_eq!(run["executorId"], "spiffe://example.org/ah/agent/node-1");
    assert_eq!(harbor.written("ses-1"), "hello\n");
    let executor = harbor.home.json(&["executor", "show", "spiffe://example.org/ah/agent/node-1"]);
    assert_eq!(executor["identityProvider"], "files");
    assert_eq!(executor["capacity"], 3);
    assert_eq!(executor["machine"]["osName"], std::env::consts::OS);
    assert!(executor["machine"]["cpuCores"].as_u64().unwrap() > 0);
}

#[test]
fn who_is_connected_is_seen_over_a_server_and_not_in_the_database_alone() {
    let id = "spiffe://example.org/ah/agent/node-1";
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    harbor.issue("node-1");
    let mut executor = harbor.executor("node-1", &["--capacity", "3"]);
    let run = harbor.queue("ses-1", "exec sleep 600");
    let remote = ["--remote-server", &harbor.url()];
    let look = |command: &[&str]| harbor.home.json(&[command, &remote].concat());
    let seen = until(|| {
        let seen = look(&["executor", "list"])["items"][0].clone();
        (seen["presence"]["runs"][0]["state"] == "running").then_some(seen)
    });
    assert_eq!((&seen["id"], &seen["presence"]["executorId"]), (&json!(id), &json!(id)));
    assert_eq!(seen["presence"]["runs"][0]["runId"], run.as_str());
    assert_eq!((&seen["presence"]["room"], &seen["presence"]["drift"]), (&json!(2), &json!(0)));
    assert!(seen["presence"]["heartbeats"].as_u64().unwrap() > 0, "{seen}");

    let people = |command: &[&str]| succeeded(&harbor.home.run(command), "shown");
    let shown = people(&["executor", "show", id, remote[0], remote[1]]);
    assert!(shown.contains("1 of 3") && shown.contains(&format!("{run} running")), "{shown}");
    let row = people(&["executor", "list", remote[0], remote[1]]);
    assert!(row.contains("CONNECTED") && row.contains("1/3"), "{row}");
    // The database alone does not know: it says so, and when it was last seen.
    let shown = people(&["executor", "show", id]);
    let line = |name: &str| shown.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(line("connected").ends_with(" -") && line("seen").contains("T"), "{shown}");
    assert!(harbor.home.json(&["executor", "show", id]).get("presence").is_none());

    executor.kill();
    let gone = until(|| {
        let seen = look(&["executor", "show", id]);
        seen["presence"].is_null().then_some(seen)
    });
    assert!(gone.as_object().unwrap().contains_key("presence"), "{gone}");
}

#[test]
fn over_tcp_it_is_the_same() {
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    harbor.issue("node-1");
    let _executor = harbor.executor("node-1", &["--tcp"]);
    let run = harbor.queue("ses-1", "echo over tcp");
    assert_eq!(harbor.ended(&run)["status"], "completed");
    assert_eq!(harbor.written("ses-1"), "over tcp\n");
}

#[test]
fn who_was_revoked_is_not_let_in_and_that_is_written_down() {
    let harbor = Harbor::new();
    harbor.issue("node-1");
    harbor.home.json(&["ca", "revoke", "node-1"]);
    let _point = harbor.access_point();
    let _executor = harbor.executor("node-1", &[]);
    until(|| harbor.said("node-1").contains("revoked").then_some(()));
    let reason = until(|| {
        let history = harbor.home.json(&["executor", "history"]);
        let events: &Vec<Value> = history["items"].as_array()?;
        let refused = events.iter().find(|event| event["kind"] == "refused")?;
        Some(refused["data"]["reason"].as_str()?.to_owned())
    });
    assert_eq!(reason, "revoked");
    assert!(harbor.home.json(&["executor", "list"])["items"].as_array().unwrap().is_empty());
}

#[test]
fn an_executor_that_is_disabled_goes_and_comes_back_when_it_is_enabled() {
    let id = "spiffe://example.org/ah/agent/node-1";
    let harbor = Harbor::new();
    let _point = harbor.access_point();
    harbor.issue("node-1");
    let _executor = harbor.executor("node-1", &[]);
    until(|| harbor.said("node-1").contains("connected").then_some(()));
    harbor.home.json(&["executor", "disable", id]);
    until(|| harbor.said("node-1").contains("sent away").then_some(()));
    let run = harbor.queue("ses-1", "true");
    harbor.home.json(&["executor", "enable", id]);
    assert_eq!(harbor.ended(&run)["status"], "completed");
}

#[test]
fn an_identity_that_is_not_there_is_named_with_the_way_to_make_one() {
    let harbor = Harbor::new();
    let arguments = ["agent", "enroll", "--server", "127.0.0.1:1", "--identity-dir", "nowhere"];
    let output = harbor.home.run(&arguments);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("nowhere") && errors.contains("ah ca issue"), "{errors}");
}
