//! `ah run` and `ah executor`: a harness that lives on the command line alone.

use std::time::Duration;

use serde_json::Value;

use crate::support::Home;

fn queue(home: &Home, session: &str, more: &[&str]) -> String {
    home.create_session(session);
    let create = ["run", "create", session, "--prompt", "do it"];
    let run = home.json(&[&create[..], more].concat());
    run["id"].as_str().unwrap().to_owned()
}

fn claim(home: &Home, more: &[&str]) -> Option<Value> {
    let output = home.run(&[&["run", "claim", "--executor", "e1", "--json"][..], more].concat());
    match output.status.code() {
        Some(0) => Some(serde_json::from_slice(&output.stdout).unwrap()),
        Some(3) => None,
        _ => panic!("{output:?}"),
    }
}

#[test]
fn a_run_lives_from_the_queue_to_its_end() {
    let home = Home::new();
    let id = queue(&home, "s1", &[]);
    let run = claim(&home, &[]).unwrap();
    assert_eq!(run["id"], id.as_str());
    assert_eq!(run["status"], "claimed");
    assert_eq!(claim(&home, &[]), None, "nobody else gets it");
    let epoch = run["leaseEpoch"].to_string();
    assert_eq!(home.json(&["run", "start", &id, "--epoch", &epoch])["status"], "running");
    assert_eq!(home.json(&["session", "show", "s1"])["status"], "running");
    home.json(&["run", "renew", &id, "--epoch", &epoch, "--for", "5m"]);
    let finish = ["run", "finish", &id, "--epoch", &epoch, "completed", "--result", "[1.00]"];
    let output = home.run(&[&finish[..], &["--json"]].concat());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("\"result\":[1.00]"), "{said}");
    assert_eq!(home.json(&["session", "show", "s1"])["status"], "succeeded");
    assert_eq!(home.json(&finish)["status"], "completed", "saying it again is no change");
}

#[test]
fn who_lost_the_lease_is_refused_with_the_reason() {
    let home = Home::new();
    let id = queue(&home, "s1", &[]);
    claim(&home, &[]).unwrap();
    let output = home.run(&["run", "start", &id, "--epoch", "7"]);
    assert_eq!(output.status.code(), Some(4));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("is at epoch 1, not 7"), "{said}");
}

#[test]
fn demands_choose_who_may_take_it() {
    let home = Home::new();
    let id = queue(&home, "s1", &["--tag", "gpu", "--profile", "big"]);
    assert_eq!(claim(&home, &[]), None);
    assert_eq!(claim(&home, &["--tag", "gpu"]), None);
    let run = claim(&home, &["--tag", "gpu", "--tag", "eu", "--profile", "big"]).unwrap();
    assert_eq!(run["id"], id.as_str());
}

#[test]
fn a_claim_that_waits_is_woken_by_another_process() {
    let home = Home::new();
    home.create_session("s1");
    let wait = ["run", "claim", "--executor", "e1", "--wait", "60s", "--json"];
    let waiting = home.spawn(&wait);
    // Wherever in its life the other process is now, it must get the run.
    std::thread::sleep(Duration::from_millis(300));
    let run = home.json(&["run", "create", "s1", "--prompt", "go"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(got["id"], run["id"]);
}

#[test]
fn a_stop_ends_what_nobody_has_and_tells_who_has_it() {
    let home = Home::new();
    let waiting = queue(&home, "s1", &[]);
    assert_eq!(home.json(&["run", "stop", &waiting])["status"], "stopped");
    assert_eq!(home.json(&["session", "show", "s1"])["status"], "cancelled");
    let held = queue(&home, "s2", &[]);
    claim(&home, &[]).unwrap();
    assert_eq!(home.json(&["run", "stop", &held])["status"], "stopping");
    let renewed = home.json(&["run", "renew", &held, "--epoch", "1"]);
    assert_eq!(renewed["status"], "stopping", "the holder sees it when it renews");
    home.json(&["run", "finish", &held, "--epoch", "1", "stopped"]);
    assert_eq!(home.run(&["run", "stop", &held]).status.code(), Some(4));
}

#[test]
fn a_resume_goes_to_the_machine_that_ran_it_and_a_second_one_is_refused() {
    let home = Home::new();
    let id = queue(&home, "s1", &[]);
    claim(&home, &[]).unwrap();
    home.json(&["run", "finish", &id, "--epoch", "1", "completed", "--idle"]);
    let resume = ["run", "create", "s1", "--resume", "--prompt", "and then"];
    let again = home.json(&resume);
    assert!(again["demands"]["hostname"].is_string(), "{again}");
    assert_eq!(home.run(&resume).status.code(), Some(4));
    assert_eq!(claim(&home, &["--hostname", "elsewhere"]), None);
    assert_eq!(claim(&home, &[]).unwrap()["id"], again["id"]);
}

#[test]
fn lists_name_what_there_is_and_say_what_to_do_when_there_is_nothing() {
    let home = Home::new();
    let output = home.run(&["run", "list"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("ah run create"), "{output:?}");
    let id = queue(&home, "s1", &[]);
    let listed = home.json(&["run", "list", "--status", "pending", "--session", "s1"]);
    assert_eq!(listed["items"][0]["id"], id.as_str());
    assert_eq!(home.json(&["executor", "list"])["items"], Value::Array(vec![]));
    let missing = home.run(&["executor", "show", "nobody"]);
    assert_eq!(missing.status.code(), Some(3), "{missing:?}");
    let shown = home.run(&["run", "show", &id]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("do it"), "{shown:?}");
}
