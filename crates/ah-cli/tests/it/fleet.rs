//! `ah fleet` where no executor is: what is asked for, what is refused, and time that runs out.

use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Home, succeeded};

const FORM: [&str; 7] = ["fleet", "create", "s1", "--member", "a", "--member", "b"];

fn formed() -> Home {
    let home = Home::new();
    home.create_session("s1");
    home.json(&FORM);
    home
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn names(fleet: &Value) -> Vec<&str> {
    let members = fleet["members"].as_array().unwrap();
    members.iter().map(|member| member["name"].as_str().unwrap()).collect()
}

/// The id of the run that holds a member.
fn run_of(fleet: &Value, name: &str) -> String {
    let mut members = fleet["members"].as_array().unwrap().iter();
    let member = members.find(|member| member["name"] == name).unwrap();
    member["runId"].as_str().unwrap().to_owned()
}

fn fences(home: &Home) -> Vec<Value> {
    home.json(&["fleet", "fences", "s1"])["items"].as_array().unwrap().clone()
}

#[test]
fn a_fleet_is_formed_changed_and_ended() {
    let home = Home::new();
    home.create_session("s1");
    let more = ["--leader", "b", "--dir", "/src", "--pull", "rsync -a host:/src/ .", "--ignore"];
    let fleet = home.json(&[&FORM[..], &more, &["target", "--tag", "gpu"]].concat());
    assert_eq!(
        (fleet["sessionId"].as_str(), fleet["status"].as_str(), fleet["epoch"].as_u64()),
        (Some("s1"), Some("live"), Some(1))
    );
    assert_eq!((fleet["leader"].as_str(), names(&fleet)), (Some("b"), vec!["a", "b"]));
    let files = json!({ "directory": "/src", "pull": ["rsync", "-a", "host:/src/", "."], "ignore": ["target"] });
    assert_eq!(fleet["files"], files);
    assert_eq!(fleet["members"][0]["demands"], json!({ "tags": ["gpu"] }));
    assert_eq!(home.json(&["fleet", "show", "s1"]), fleet);

    let fleet = home.json(&["fleet", "lead", "s1", "a"]);
    assert_eq!((fleet["leader"].as_str(), fleet["epoch"].as_u64()), (Some("a"), Some(2)));
    let fleet = home.json(&["fleet", "add", "s1", "c", "--os", "linux"]);
    assert_eq!(names(&fleet), ["a", "b", "c"]);
    assert_eq!(fleet["members"][2]["demands"], json!({ "os": "linux" }));
    assert_eq!(names(&home.json(&["fleet", "remove", "s1", "b"])), ["a", "c"]);
    assert_eq!(home.json(&["fleet", "list"])["items"].as_array().unwrap().len(), 1);

    let fleet = home.json(&["fleet", "end", "s1"]);
    assert_eq!(fleet["status"], "ended");
    assert_eq!(home.json(&["fleet", "list"])["items"], json!([]));
    assert_eq!(home.json(&["fleet", "list", "--ended"])["items"], json!([fleet]));
}

#[test]
fn people_read_who_leads_and_who_holds_whom() {
    let home = formed();
    let fleet = home.json(&["fleet", "show", "s1"]);
    let run = run_of(&fleet, "b");
    let claimed = home.json(&["run", "claim", "--executor", "node-7", "--run", &run]);
    assert_eq!(claimed["member"], "b");
    let text = succeeded(&home.run(&["fleet", "show", "s1"]), "show");
    let row = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("a"), ["a", "leader", "pending", "-", "-", &run_of(&fleet, "a")]);
    assert_eq!(row("b"), ["b", "follower", "claimed", "node-7", "-", &run]);
    let list = succeeded(&home.run(&["run", "list", "--session", "s1"]), "run list");
    let head: Vec<&str> = list.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head[4], "MEMBER");
    let line = list.lines().find(|line| line.starts_with(&run)).unwrap();
    assert_eq!(line.split_whitespace().nth(4), Some("b"));
    let shown = succeeded(&home.run(&["run", "show", &run]), "run show");
    assert!(shown.lines().any(|line| line.split_whitespace().eq(["member:", "b"])), "{shown}");
    let session = succeeded(&home.run(&["session", "show", "s1"]), "session show");
    assert!(session.contains("a leads b"), "{session}");
    succeeded(&home.run(&["fleet", "end", "s1"]), "end");
    let session = succeeded(&home.run(&["session", "show", "s1"]), "session show");
    assert!(!session.contains("leads"), "{session}");
}

#[test]
fn what_cannot_be_is_refused_with_the_next_command() {
    let home = formed();
    home.create_session("other");
    let cases: &[(&[&str], i32, &[&str])] = &[
        (&["fleet", "show", "nobody"], 3, &["session nobody", "ah session list"]),
        (&["fleet", "show", "other"], 3, &["other", "ah fleet create"]),
        (&["fleet", "run", "other", "--", "true"], 3, &["other", "ah fleet create"]),
        (&["fleet", "create", "other"], 2, &["--member"]),
        (&["fleet", "create", "other", "--member", "x", "--member", "x"], 2, &["x is there twice"]),
        (&["fleet", "create", "other", "--member", "x", "--leader", "y"], 2, &["y is no member"]),
        (&["fleet", "create", "other", "--member", "x=n"], 3, &["executor n", "ah executor list"]),
        (&FORM, 4, &["session s1", "ah fleet show s1", "ah fleet end s1"]),
        (&["fleet", "lead", "s1", "z"], 4, &["z", "ah fleet show s1"]),
        (&["fleet", "add", "s1", "a"], 4, &["a already", "ah fleet show s1"]),
        (&["fleet", "remove", "s1", "z"], 4, &["z", "ah fleet show s1"]),
        (&["fleet", "remove", "s1", "a"], 4, &["led by a", "ah fleet show s1"]),
        (&["fleet", "run", "s1", "--on", "a,z", "--", "true"], 2, &["z is no member"]),
        (&["fleet", "run", "s1", "--env", "x", "--", "true"], 2, &["--env \"x\" is not K=V"]),
        (&["fleet", "run", "s1", "--timeout", "soon", "--", "true"], 2, &["\"soon\""]),
        (&["fleet", "run", "s1"], 2, &["PROGRAM"]),
    ];
    for (arguments, exit, needles) in cases {
        let output = home.run(arguments);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(*exit), "{arguments:?}: {said}");
        for needle in *needles {
            assert!(said.contains(needle), "{arguments:?} without {needle:?}: {said}");
        }
    }
    assert_eq!(home.json(&["fleet", "show", "s1"])["epoch"], 1);
    assert_eq!(fences(&home), Vec::<Value>::new());
}

#[test]
fn a_leader_alone_has_no_followers_to_run_anything() {
    let home = formed();
    home.json(&["fleet", "remove", "s1", "b"]);
    let output = home.run(&["fleet", "run", "s1", "--on", "followers", "--", "true"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = said(&output);
    assert!(said.contains("a is alone") && said.contains("ah fleet add s1"), "{said}");
    assert_eq!(fences(&home), Vec::<Value>::new());
}

#[test]
fn a_fence_that_nobody_answers_ends_in_time_and_names_all() {
    let home = formed();
    let output = home.run(&["fleet", "fence", "s1", "--timeout", "1s", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let fence: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(fence["status"], "timeout");
    let outcomes: Vec<_> =
        fence["members"].as_array().unwrap().iter().map(|m| (&m["name"], &m["outcome"])).collect();
    assert_eq!(outcomes, [(&json!("a"), &json!("timeout")), (&json!("b"), &json!("timeout"))]);
    let problem: Value = serde_json::from_slice(&output.stderr).unwrap();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("timed out: a, b did not have the files of a"), "{detail}");
    assert!(problem["hints"][0].as_str().unwrap().contains("ah fleet show s1"), "{problem}");
    assert_eq!(fences(&home), [fence]);

    let output = home.run(&["fleet", "fence", "s1", "--timeout", "1s"]);
    assert_eq!(output.status.code(), Some(1), "another one is possible: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.split_whitespace().eq(["b", "timeout", "-"])), "{text}");
}

#[test]
fn a_step_whose_fence_fails_is_not_run() {
    let home = formed();
    let run = ["fleet", "run", "s1", "--timeout", "1s", "--json", "--", "true"];
    let output = home.run(&run);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = said(&output);
    assert!(said.contains("nothing was run") && said.contains("a, b"), "{said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let kinds: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into())
        .collect();
    assert_eq!(kinds, ["fenceStarted", "fenceResult"]);
    let runs = home.json(&["run", "list", "--session", "s1"]);
    assert_eq!(runs["items"].as_array().unwrap().len(), 2, "those that hold members: {runs}");
}

#[test]
fn who_does_not_wait_has_a_fence_that_is_open() {
    let home = formed();
    let run = ["fleet", "run", "s1", "--on", "leader", "--env", "K=a=b", "--detach"];
    let output = home.run(&[&run[..], &["--json", "--", "make", "test"]].concat());
    let fence: Value = serde_json::from_str(&succeeded(&output, "detach")).unwrap();
    assert_eq!(fence["status"], "snapshot");
    let step = json!({
        "argv": ["make", "test"], "env": { "K": "a=b" }, "on": ["a"], "timeoutMs": 60_000,
        "runs": {},
    });
    assert_eq!(fence["step"], step);
    let output = home.run(&["fleet", "fence", "s1"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let said = said(&output);
    assert!(said.contains("ah fleet fences s1"), "{said}");
}

#[test]
fn who_waits_for_members_is_answered_once_all_are_held() {
    let home = Home::new();
    home.create_session("s1");
    let child = home.spawn(&[&FORM[..], &["--wait", "10m"]].concat());
    let hold = |executor: &str| {
        let claim = ["run", "claim", "--executor", executor, "--wait", "1m"];
        let run = home.json(&claim);
        let epoch = run["leaseEpoch"].to_string();
        home.json(&["run", "start", run["id"].as_str().unwrap(), "--epoch", &epoch]);
    };
    hold("node-1");
    hold("node-2");
    succeeded(&child.wait_with_output().unwrap(), "create --wait");
}

#[test]
fn members_that_nobody_takes_are_named_when_the_wait_is_over() {
    let home = Home::new();
    home.create_session("s1");
    let output = home.run(&[&FORM[..], &["--wait", "0s"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = said(&output);
    assert!(said.contains("nobody holds a, b") && said.contains("ah fleet end s1"), "{said}");
    assert_eq!(home.json(&["fleet", "show", "s1"])["status"], "live");
}
