//! `ah question`: asked, answered in time or late.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Home;

fn hive() -> Home {
    let home = Home::new();
    home.create_agent("alice");
    home.create_agent("bob");
    home
}

fn ask(home: &Home, more: &[&str]) -> Value {
    home.json(&[&["question", "ask", "Which colour?", "--from", "alice"][..], more].concat())
}

#[test]
fn the_operator_is_asked_and_answers() {
    let home = hive();
    let asked = ask(&home, &["--option", "red", "--option", "blue", "--ttl", "1h"]);
    assert_eq!((&asked["to"], &asked["outcome"]), (&"operator".into(), &"open".into()));
    let id = asked["id"].as_str().unwrap();
    let output = home.run(&["question", "answer", id, "green"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("\"green\" is none of red, blue"), "{said}");
    let answered = home.json(&["question", "answer", &id[..32], "blue"]);
    assert_eq!(answered["outcome"], "answered");
    assert_eq!(answered["answer"]["values"], json!(["blue"]));
    assert_eq!(home.json(&["question", "answer", id, "blue"])["outcome"], "answered");
    assert_eq!(home.run(&["question", "answer", id, "red"]).status.code(), Some(4));
    let told = home.json(&["message", "recv", "alice"]);
    assert_eq!(
        (&told["kind"], &told["about"], &told["body"]),
        (&"answer".into(), &asked["id"], &"blue".into())
    );
}

#[test]
fn who_waits_gets_the_answer_of_another_process() {
    let home = hive();
    let ask = ["question", "ask", "Go?", "--from", "alice", "--wait", "--json"];
    let waiting = home.spawn(&ask);
    let id = loop {
        let open = home.json(&["question", "list", "--status", "open"]);
        if let Some(id) = open["items"][0]["id"].as_str() {
            break id.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    home.json(&["question", "answer", &id, "yes"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&got["outcome"], &got["answer"]["values"]), (&"answered".into(), &json!(["yes"])));
}

#[test]
fn no_answer_in_time_is_exit_4_with_the_outcome_and_a_late_one_is_kept() {
    let home = hive();
    let output =
        home.run(&["question", "ask", "Go?", "--from", "alice", "--ttl", "1s", "--wait", "--json"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(got["outcome"], "expired");
    let problem: Value = serde_json::from_slice(&output.stderr).unwrap_or_default();
    assert!(problem["detail"].as_str().is_none_or(|detail| detail.contains("in time")));
    let id = got["id"].as_str().unwrap();
    let late = home.json(&["question", "answer", id, "too late"]);
    assert_eq!((&late["outcome"], &late["status"]), (&"late".into(), &"expired".into()));
    assert_eq!(
        (&late["answer"], &late["lateAnswer"]["values"]),
        (&Value::Null, &json!(["too late"]))
    );
    let told = home.json(&["message", "list", "--to", "alice"]);
    assert_eq!(
        told["items"].as_array().unwrap().len(),
        2,
        "told of the end and of the late answer"
    );
}

#[test]
fn deadlines_are_applied_by_whoever_reads() {
    let home = hive();
    ask(&home, &["--ttl", "1s"]);
    std::thread::sleep(Duration::from_millis(1_100));
    let listed = home.json(&["question", "list"]);
    assert_eq!(listed["items"][0]["outcome"], "expired");
    assert_eq!(home.json(&["message", "recv", "alice"])["kind"], "answer");
}

#[test]
fn agents_ask_agents_and_only_those_asked_answer() {
    let home = hive();
    let asked = ask(&home, &["--to", "bob"]);
    let id = asked["id"].as_str().unwrap();
    let told = home.json(&["message", "recv", "bob"]);
    assert_eq!((&told["kind"], &told["about"]), (&"question".into(), &asked["id"]));
    let output = home.run(&["question", "answer", id, "x", "--by", "alice"]);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!(home.json(&["question", "answer", id, "x", "--by", "bob"])["answer"]["by"], "bob");
    assert_eq!(home.run(&["question", "withdraw", id]).status.code(), Some(4));
}

#[test]
fn several_may_be_chosen_when_they_may() {
    let home = hive();
    let one = ask(&home, &["--option", "a", "--option", "b"]);
    let some = ask(&home, &["--option", "a", "--option", "b", "--multi"]);
    let id = |question: &Value| question["id"].as_str().unwrap().to_owned();
    assert_eq!(home.run(&["question", "answer", &id(&one), "a", "b"]).status.code(), Some(2));
    let answered = home.json(&["question", "answer", &id(&some), "a", "b"]);
    assert_eq!(answered["answer"]["values"], json!(["a", "b"]));
}

#[test]
fn a_question_of_nobody_says_what_to_type() {
    let output = hive().run(&["question", "ask", "Go?"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--from AGENT"), "{said}");
}
