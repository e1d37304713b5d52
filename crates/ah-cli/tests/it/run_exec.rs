//! `ah run exec`: programs beside a run, whoever is killed meanwhile.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Output};

use serde_json::Value;

use crate::harbor::{Harbor, Process, until};

/// A run that waits, held by an executor.
struct Held {
    harbor: Harbor,
    executor: Process,
    run: String,
    _point: Process,
}

impl Held {
    /// A run that ends when its file `end` is there.
    fn new() -> Self {
        let harbor = Harbor::new();
        let _point = harbor.access_point();
        harbor.issue("node-1");
        let executor = harbor.executor("node-1", &[]);
        let end = harbor.home.path().join("end");
        let run = harbor.queue("s1", &waits_for(&end, "exit 0"));
        until(|| (harbor.run(&run)["status"] == "running").then_some(()));
        Self { harbor, executor, run, _point }
    }

    fn place(&self, name: &str) -> PathBuf {
        self.harbor.home.path().join(name)
    }

    fn put(&self, name: &str) {
        fs::write(self.place(name), "").unwrap();
    }

    fn words<'a>(&'a self, url: &'a str, more: &[&'a str], script: &'a str) -> Vec<&'a str> {
        let exec = ["run", "exec", &self.run, "--remote-server", url];
        [&exec[..], more, &["--", "sh", "-c", script]].concat()
    }

    fn exec(&self, more: &[&str], script: &str) -> Output {
        self.harbor.home.run(&self.words(&self.harbor.url(), more, script))
    }

    /// Begins `ah run exec`, and waits until its program has.
    fn follow(&self, script: &str) -> Child {
        let script = format!("touch {}; {script}", self.place("begun").display());
        let child = self.harbor.home.spawn(&self.words(&self.harbor.url(), &[], &script));
        until(|| self.place("begun").exists().then_some(()));
        child
    }

    /// The events that executors told of, in their order: of the run's program, or of one beside it.
    fn told(&self, is_beside: bool) -> Vec<(String, Value)> {
        let events = self.harbor.home.json(&["session", "events", "s1"])["items"].clone();
        let events = events.as_array().unwrap().iter().filter(|event| {
            let is_of_host = event["type"].as_str().unwrap().starts_with("host");
            is_of_host && event["data"]["dispatchId"].is_string() == is_beside
        });
        let told =
            |event: &Value| (event["type"].as_str().unwrap().to_owned(), event["data"].clone());
        events.map(told).collect()
    }
}

fn waits_for(file: &std::path::Path, then: &str) -> String {
    format!("while [ ! -e {} ]; do sleep 0.05; done; {then}", file.display())
}

fn kinds(told: &[(String, Value)]) -> Vec<&str> {
    told.iter().map(|(kind, _)| kind.as_str()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_program_beside_a_run_is_heard_and_ends_the_command_as_it_ended() {
    let held = Held::new();
    let script = "echo $WORD $AH_RUN_ID; echo oops >&2; printf end; exit 7";
    let output = held.exec(&["--env", "WORD=hello"], script);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(text(&output.stdout), format!("hello {}\nend", held.run));
    assert_eq!(text(&output.stderr), "oops\n");
    let output = held.exec(&[], "kill -9 $$");
    assert_eq!(output.status.code(), Some(137), "{output:?}");
    let output = held.exec(&["--timeout", "1s"], "sleep 600");
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let told = held.told(true);
    let (_, last) = told.last().unwrap();
    assert_eq!(last["error"], "its time was over before it ended");
    assert_eq!(held.told(false).len(), 1, "its run goes on");
}

#[test]
fn a_program_outlives_its_executor_and_is_told_of_once() {
    let mut held = Held::new();
    let go = held.place("go");
    let child = held.follow(&waits_for(&go, "echo after; exit 5"));
    held.executor.kill();
    held.executor = held.harbor.executor("node-1", &[]);
    held.put("go");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(5), "after\n".to_owned()));
    assert_eq!(kinds(&held.told(true)), ["hostStarted", "hostLog", "hostExited"]);
    held.put("end");
    assert_eq!(held.harbor.ended(&held.run)["status"], "completed");
    assert_eq!(kinds(&held.told(false)), ["hostStarted", "hostExited"]);
}

#[test]
fn a_program_ends_with_its_run_and_the_run_after_it() {
    let held = Held::new();
    let child = held.follow("exec sleep 600");
    held.put("end");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "it was asked to end: {output:?}");
    let run = held.harbor.ended(&held.run);
    assert_eq!(run["status"], "completed", "{run}");
    let events = held.harbor.home.json(&["session", "events", "s1"])["items"].clone();
    let ends = events.as_array().unwrap().iter().filter(|event| event["type"] == "hostExited");
    let ends: Vec<bool> = ends.map(|event| event["data"]["dispatchId"].is_string()).collect();
    assert_eq!(ends, [true, false]);
    let output = held.exec(&[], "true");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(text(&output.stderr).contains("it is completed"), "{output:?}");
}

#[test]
fn who_may_not_or_cannot_start_a_program_is_told_why() {
    let mut held = Held::new();
    let home = &held.harbor.home;
    let output = home.run(&["run", "exec", &held.run, "--", "true"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("--remote-server"), "{output:?}");

    let output = held.exec(&["--dir", "../.."], "true");
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(text(&output.stderr).contains("not below the directory of the run"), "{output:?}");

    let executor = held.harbor.run(&held.run)["executorId"].as_str().unwrap().to_owned();
    home.json(&["executor", "authorize", &executor, "*", "launch"]);
    let output = held.exec(&[], "touch ran");
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(text(&output.stderr).contains("may not dispatch on executor"), "{output:?}");
    home.json(&["executor", "authorize", &executor, "--reset"]);

    held.executor.kill();
    let output = until(|| {
        let output = held.exec(&["--detach"], "touch ran");
        (output.status.code() == Some(4)).then_some(output)
    });
    let said = text(&output.stderr);
    assert!(said.contains(&format!("its executor {executor} is not connected")), "{said}");
    assert_eq!(held.told(true), []);
}
