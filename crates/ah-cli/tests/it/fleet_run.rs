//! `ah fleet` with executors: fences that hold, programs that run on all, and whoever is lost.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::harbor::{Harbor, Process, until};
use crate::support::succeeded;

/// A session of three executors, each with a directory of its own that is called like its member.
struct Fleet {
    harbor: Harbor,
    point: Process,
    executors: Vec<Process>,
}

const MEMBERS: [(&str, &str); 3] = [("a", "node-1"), ("b", "node-2"), ("c", "node-3")];

impl Fleet {
    /// All members hold an executor of capacity 1, and have one file with the same contents.
    fn formed(lease: &str, more: &[&str]) -> Self {
        let harbor = Harbor::new();
        let point = harbor.access_point_with_lease(lease);
        let mut fleet = Self { harbor, point, executors: Vec::new() };
        for (name, node) in MEMBERS {
            fleet.harbor.issue(node);
            fs::create_dir(fleet.directory(name)).unwrap();
            fleet.write(name, "same");
            let directory = fleet.directory(name);
            let executor = fleet.harbor.executor_in(&directory, node, &["--capacity", "1"]);
            fleet.executors.push(executor);
        }
        for (_, node) in MEMBERS {
            until(|| fleet.harbor.said(node).contains("connected").then_some(()));
        }
        fleet.harbor.home.create_session("s1");
        fleet.form(more);
        fleet
    }

    fn form(&self, more: &[&str]) {
        let members = MEMBERS.map(|(name, node)| format!("{name}={node}"));
        let mut arguments = vec!["fleet", "create", "s1", "--wait", "1m"];
        members.iter().for_each(|member| arguments.extend(["--member", member]));
        self.harbor.home.json(&[&arguments, more].concat());
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.harbor.home.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory(name).join("file"), text).unwrap();
    }

    fn run(&self, more: &[&str], script: &str) -> Output {
        let run = ["fleet", "run", "s1"];
        self.harbor.home.run(&[&run[..], more, &["--", "sh", "-c", script]].concat())
    }

    /// How the newest fence stands.
    fn newest(&self) -> Value {
        self.harbor.home.json(&["fleet", "fences", "s1"])["items"][0].clone()
    }
}

/// The lines of a text in an order of their own.
fn sorted(text: &[u8]) -> Vec<String> {
    let mut lines: Vec<_> =
        String::from_utf8(text.to_vec()).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn a_step_runs_on_all_members_and_says_who_wrote_what() {
    let fleet = Fleet::formed("10m", &[]);
    let output = fleet.run(&["--env", "WORD=hello"], "basename \"$PWD\"; printf $WORD >&2");
    succeeded(&output, "run");
    assert_eq!(sorted(&output.stdout), ["a | a", "b | b", "c | c"]);
    let talk = ["a | hello", "a: exit code 0", "b | hello", "b: exit code 0"];
    assert_eq!(sorted(&output.stderr)[..4], talk);

    let output = fleet.run(&["--on", "leader,c", "--json"], "basename \"$PWD\"; kill -9 $$");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let problem: Value = serde_json::from_slice(&output.stderr).unwrap();
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("a (signal 9") && detail.contains("c (signal 9"), "{detail}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let events: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).count();
    let kinds = ["fenceStarted", "fenceResult", "hostStarted", "hostLog", "hostExited"];
    assert_eq!(kinds.map(of), [1, 1, 2, 2, 2], "{lines}");
    assert_eq!(events.len(), 8, "{lines}");
}

#[test]
fn files_that_differ_keep_a_step_from_running_until_they_are_pulled() {
    let fleet = Fleet::formed("10m", &[]);
    fleet.write("c", "other");
    let output = fleet.run(&["--timeout", "2s"], "touch ran");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("timed out: c did not have the files of a"), "{said}");
    assert!(said.contains("nothing was run"), "{said}");
    for (name, _) in MEMBERS {
        assert!(!fleet.directory(name).join("ran").exists(), "{name}");
    }

    fleet.harbor.home.json(&["fleet", "end", "s1"]);
    let leader = fleet.directory("a").join("file");
    fleet.form(&["--pull", &format!("cp {} file", leader.display())]);
    let output = fleet.run(&[], "cat file; echo");
    succeeded(&output, "run");
    assert_eq!(sorted(&output.stdout), ["a | same", "b | same", "c | same"]);
}

#[test]
fn another_leads_when_the_leader_is_lost() {
    let mut fleet = Fleet::formed("5s", &[]);
    fleet.executors[0].kill();
    let home = &fleet.harbor.home;
    let led = until(|| {
        fleet.harbor.sweep();
        let shown = home.json(&["fleet", "show", "s1"]);
        (shown["leader"] != "a").then_some(shown)
    });
    assert_eq!((led["leader"].as_str(), led["epoch"].as_u64()), (Some("b"), Some(2)));
    let output = fleet.run(&["--timeout", "1s"], "touch ran");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("timed out: a did not have"), "who is lost is late: {said}");
    home.json(&["fleet", "remove", "s1", "a"]);
    let output = fleet.run(&[], "basename \"$PWD\"");
    succeeded(&output, "run");
    assert_eq!(sorted(&output.stdout), ["b | b", "c | c"]);
}

#[test]
fn a_fence_outlives_the_access_point() {
    let mut fleet = Fleet::formed("10m", &[]);
    fleet.write("c", "other");
    let child = fleet.harbor.home.spawn(&["fleet", "fence", "s1", "--timeout", "2m"]);
    until(|| (fleet.newest()["status"] == "pull").then_some(()));
    fleet.point.kill();
    fleet.write("c", "same");
    assert_eq!(fleet.newest()["status"], "pull");
    fleet.point = fleet.harbor.access_point();
    let output = child.wait_with_output().unwrap();
    succeeded(&output, "fence");
    assert_eq!(fleet.newest()["status"], "consistent");
}

#[test]
fn members_come_back_when_the_access_point_was_away_for_longer_than_their_lease() {
    let mut fleet = Fleet::formed("5s", &[]);
    fleet.point.kill();
    for (_, node) in MEMBERS {
        until(|| fleet.harbor.said(node).contains("could not be prolonged").then_some(()));
    }
    fleet.point = fleet.harbor.access_point();
    until(|| {
        fleet.harbor.sweep();
        let shown = fleet.harbor.home.run(&["fleet", "show", "s1"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        (shown.matches(" running ").count() == 3).then_some(())
    });
    // A fence is given up when another leads meanwhile, as on a machine that is slower than a lease.
    let output = until(|| {
        let output = fleet.run(&[], "basename \"$PWD\"");
        output.status.success().then_some(output)
    });
    assert_eq!(sorted(&output.stdout), ["a | a", "b | b", "c | c"]);
}
