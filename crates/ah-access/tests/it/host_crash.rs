//! Executors and keepers that are killed, and what the next executor makes of what they left.

use std::fs;
use std::process::Command;
use std::time::Duration;

use ah_access::executor::host::{HostError, Started};
use ah_access::frame::HeldState;
use ah_model::{Lease, RunOutcome};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::host::{Machine, await_that, keeper, lease, shell, start, take_all};
use crate::worker::{Task, Worker, start as start_worker};

/// A program that waits to be let go.
const GATED: &str = "echo before; while [ ! -e $AH_RUN_FOLDER/go ]; do sleep 0.01; done; \
                     echo after; exit 7";

/// A program that does not end when it is asked.
const STUBBORN: &str = "trap '' TERM; echo ready; while :; do sleep 0.01; done";

impl Machine {
    /// An executor in a process of its own that has begun a run.
    fn executor(&self, parameters: &Value) -> Worker {
        let runs = vec![("r1".to_owned(), 1, parameters.clone())];
        let task = Task::Launch { keeper: keeper(), runs };
        let mut worker = start_worker(&self.directory(), &task);
        let said = worker.said().next().unwrap();
        assert!(said.starts_with("r1 Ok(Now("), "{said}");
        worker
    }

    fn let_go(&self, lease: &Lease) {
        fs::write(self.run_folder(lease).join("go"), "").unwrap();
    }

    /// The number of a process in a file of a run's folder.
    fn process(&self, lease: &Lease, name: &str) -> Pid {
        let id = self.read(lease, name)["id"].as_u64().unwrap();
        Pid::from_raw(i32::try_from(id).unwrap()).unwrap()
    }

    fn kill(&self, lease: &Lease, name: &str) {
        kill_process(self.process(lease, name), Signal::KILL).unwrap();
    }
}

#[test]
fn a_run_outlives_its_executor_and_the_next_one_takes_it_over() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.executor(&shell(GATED)).kill();
    let host = machine.host();
    assert_eq!(host.runs()[0].state, HeldState::Running);
    assert_eq!(host.launch(&start("r1", 1, &shell(GATED))).unwrap(), Started::Before);
    await_that("output", || host.output(&lease).unwrap().is_some());
    let piece = host.output(&lease).unwrap().unwrap();
    host.taken(&lease, &piece).unwrap();
    assert_eq!(piece.text, "before\n");
    machine.let_go(&lease);
    let end = machine.end(&host, &lease);
    assert_eq!((end.code, end.lost), (Some(7), None));
    assert_eq!(take_all(&host, &lease).0, "after\n");
}

#[test]
fn a_run_that_ends_without_an_executor_is_found_ended() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.executor(&shell(GATED)).kill();
    machine.let_go(&lease);
    await_that("an end", || machine.run_folder(&lease).join("exit.json").exists());
    let host = machine.host();
    assert_eq!(host.runs()[0].state, HeldState::Ended);
    assert_eq!(host.end(&lease).unwrap().code, Some(7));
    assert_eq!(take_all(&host, &lease).0, "before\nafter\n");
    host.forget(&lease).unwrap();
    drop(host);
    assert!(machine.host().runs().is_empty());
}

#[test]
fn a_run_that_was_taken_over_can_be_paused_and_stopped() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.executor(&shell(STUBBORN)).kill();
    let host = machine.host();
    await_that("ready", || host.output(&lease).unwrap().is_some());
    host.pause(&lease).unwrap();
    drop(host);
    let host = machine.host();
    assert_eq!(host.runs()[0].state, HeldState::Paused);
    host.resume(&lease).unwrap();
    host.stop(&lease, Duration::from_millis(20)).unwrap();
    assert_eq!(machine.end(&host, &lease).signal, Some(9));
}

#[test]
fn time_to_stop_goes_on_when_the_executor_is_killed() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    let host = machine.host();
    host.launch(&start("r1", 1, &shell(STUBBORN))).unwrap();
    await_that("ready", || host.output(&lease).unwrap().is_some());
    host.stop(&lease, Duration::from_millis(50)).unwrap();
    drop(host);
    await_that("an end", || machine.run_folder(&lease).join("exit.json").exists());
    assert_eq!(machine.host().end(&lease).unwrap().signal, Some(9));
}

/// A program whose children do not end with it.
const CHILDREN: &str = "sleep 600 & setsid sleep 600 & wait";

#[test]
fn of_a_run_whose_keeper_is_killed_nothing_runs_when_it_is_said_to_be_lost() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    let host = machine.host();
    host.launch(&start("r1", 1, &shell(CHILDREN))).unwrap();
    await_that("children", || machine.living(&lease).len() >= 3);
    let program = machine.process(&lease, "keeper.json");
    kill_process(program, Signal::KILL).unwrap();
    let end = machine.end(&host, &lease);
    assert_eq!(machine.living(&lease), []);
    let keeper = program.as_raw_nonzero();
    assert_eq!(end.lost, Some(format!("its keeper, process {keeper}, was killed")));
    let ended = end.ended();
    assert_eq!((ended.outcome, ended.exit.code), (RunOutcome::Failed, None));
    assert!(ended.error.unwrap().starts_with("lost: its keeper"));
}

#[test]
fn a_run_whose_executor_and_keeper_are_killed_is_ended_before_it_is_found_lost() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    let mut executor = machine.executor(&shell(CHILDREN));
    await_that("children", || machine.living(&lease).len() >= 3);
    machine.kill(&lease, "keeper.json");
    executor.kill();
    let host = machine.host();
    let lost = machine.end(&host, &lease);
    assert_eq!(machine.living(&lease), []);
    assert!(lost.lost.as_ref().unwrap().contains("was killed"));
    drop(host);
    // It stays so.
    assert_eq!(machine.host().end(&lease), Some(lost));
}

#[test]
fn a_program_does_not_outlive_its_keeper_unwatched() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.executor(&shell("while :; do sleep 0.01; done")).kill();
    let program = machine.process(&lease, "program.json");
    machine.kill(&lease, "keeper.json");
    // No executor is there to end it.
    let is_gone = || rustix::process::test_kill_process(program).is_err();
    await_that("the end of the program", is_gone);
    assert!(machine.host().end(&lease).unwrap().lost.is_some());
}

#[test]
fn after_a_new_start_of_the_machine_processes_of_the_same_number_are_left_alone() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.executor(&shell(GATED)).kill();
    machine.kill(&lease, "keeper.json");
    await_that("the end of the program", || machine.living(&lease).is_empty());
    let mut stranger = Command::new("sleep").arg("600").spawn().unwrap();
    let born = serde_json::to_value(ah_process::born(stranger.id()).unwrap()).unwrap();
    for name in ["keeper.json", "program.json"] {
        let mut known = json!({ "id": stranger.id(), "born": born.clone() });
        known["born"]["boot"] = json!("another");
        fs::write(machine.run_folder(&lease).join(name), known.to_string()).unwrap();
    }
    let lost = machine.host().end(&lease).unwrap().lost;
    assert_eq!(lost.as_deref(), Some("the machine began again"));
    assert_eq!(stranger.try_wait().unwrap(), None);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
}

#[test]
fn a_keeper_that_comes_after_its_run_was_given_up_begins_nothing() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    // The executor is killed when it has begun a keeper that does nothing yet.
    let slow = ["sh", "-c", "exec sleep 60"].map(str::to_owned).to_vec();
    let runs = vec![("r1".to_owned(), 1, shell("touch $AH_RUN_FOLDER/ran"))];
    let mut executor = start_worker(&machine.directory(), &Task::Launch { keeper: slow, runs });
    await_that("a keeper", || machine.run_folder(&lease).join("keeper.log").exists());
    executor.kill();
    let host = machine.host();
    let end = host.end(&lease).unwrap();
    assert_eq!(end.lost.as_deref(), Some("its keeper never began"));
    let folder = machine.run_folder(&lease);
    let late = Command::new(&keeper()[0]).arg("keep").arg(&folder).output().unwrap();
    assert!(!late.status.success());
    assert!(String::from_utf8(late.stderr).unwrap().contains("was given up"));
    assert!(!folder.join("ran").exists());
    // Nor does a second keeper beside a first.
    host.launch(&start("r1", 2, &shell(GATED))).unwrap();
    let folder = machine.run_folder(&crate::host::lease("r1", 2));
    let second = Command::new(&keeper()[0]).arg("keep").arg(&folder).output().unwrap();
    assert!(String::from_utf8(second.stderr).unwrap().contains("another keeper"));
}

#[test]
fn an_executor_that_is_killed_while_it_begins_runs_begins_none_of_them_twice() {
    for begun in [1, 2, 5, 9, 14] {
        let mut machine = Machine::new();
        let script = format!("echo $AH_RUN_ID >> {}", machine.work("ran").display());
        let runs: Vec<(String, u64, Value)> =
            (0..20).map(|run| (format!("r{run}"), 1, shell(&script))).collect();
        let task = Task::Launch { keeper: keeper(), runs: runs.clone() };
        let mut executor = start_worker(&machine.directory(), &task);
        let mut said = executor.said();
        let answered = said.by_ref().take(begun).filter(|line| line.contains("Now(")).count();
        executor.kill();
        let answered = answered + said.count();
        let host = machine.host();
        assert_eq!(host.damaged(), []);
        assert!(host.runs().len() >= answered, "{answered}");
        for (run, epoch, parameters) in &runs {
            host.launch(&start(run, *epoch, parameters)).unwrap();
        }
        let mut ran: Vec<String> = Vec::new();
        for (run, epoch, _) in &runs {
            let end = machine.end(&host, &lease(run, *epoch));
            match end.lost {
                None => ran.push(run.clone()),
                Some(reason) => assert_eq!(reason, "its keeper never began"),
            }
        }
        let text = fs::read_to_string(machine.work("ran")).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        ran.sort();
        assert_eq!(lines, ran);
    }
}

#[test]
fn a_folder_that_cannot_be_read_costs_only_its_own_run() {
    let mut machine = Machine::new();
    let host = machine.host();
    for run in ["r1", "r2"] {
        host.launch(&start(run, 1, &shell("exit 4"))).unwrap();
        machine.end(&host, &lease(run, 1));
    }
    drop(host);
    let broken = machine.run_folder(&lease("r1", 1));
    fs::write(broken.join("order.json"), "{").unwrap();
    let runs = machine.directory().join("runs");
    for remains in [".new.x", ".old.1-r3"] {
        fs::create_dir(runs.join(remains)).unwrap();
    }
    let host = machine.host();
    let [(path, reason)] = host.damaged() else { panic!("{:?}", host.damaged()) };
    assert!(*path == broken && reason.contains("order.json"), "{reason}");
    assert_eq!(host.runs().len(), 1);
    assert_eq!(host.end(&lease("r2", 1)).unwrap().code, Some(4));
    assert!(matches!(host.kill(&lease("r1", 1)), Err(HostError::NotHeld { .. })));
    assert_eq!(fs::read_dir(runs).unwrap().count(), 2);
}
