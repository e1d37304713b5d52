//! Programs whose executor is away, and what their keepers do about it.

use std::fs;

use ah_access::executor::host::{Asked, Start, Started};
use ah_access::frame::HeldState;
use ah_model::{Lease, RunOutcome};

use crate::host::{Machine, await_that, keeper, lease, shell, since_boot_ms, start};
use crate::worker::{Task, Worker, start as start_worker};

/// A program that does not end when it is asked.
const STUBBORN: &str = "trap '' TERM; while :; do sleep 0.01; done";
/// A program that waits to be let go.
const GATED: &str = "while [ ! -e $AH_RUN_FOLDER/go ]; do sleep 0.01; done; exit 7";

/// How late an end may be on a busy machine.
const LATE_MS: u64 = 10_000;

impl Machine {
    /// An executor in a process of its own that has begun a run which it holds for so long.
    fn holder(&self, script: &str, lease_ms: u64) -> Worker {
        let run = ("r1".to_owned(), 1, shell(script));
        let mut worker =
            start_worker(&self.directory(), &Task::Lease { keeper: keeper(), run, lease_ms });
        let said = worker.said().next().unwrap();
        assert!(said.starts_with("r1 Ok(Now("), "{said}");
        worker
    }

    fn until_ms(&self, lease: &Lease) -> u64 {
        self.read(lease, "order.json")["untilMs"].as_u64().unwrap()
    }

    fn has_ended(&self, lease: &Lease) -> bool {
        self.run_folder(lease).join("exit.json").exists()
    }

    /// Waits until the lease that a run was begun with is long over, and lets its program go.
    fn outlive(&self, lease: &Lease) {
        let until_ms = self.until_ms(lease);
        await_that("the end of the lease", || since_boot_ms() > until_ms + 500);
        assert!(!self.has_ended(lease));
        fs::write(self.run_folder(lease).join("go"), "").unwrap();
    }
}

#[test]
fn a_program_whose_executor_stays_away_is_ended_by_its_keeper_when_the_lease_is_over() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.holder(STUBBORN, 1_500).kill();
    let until_ms = machine.until_ms(&lease);
    await_that("an end", || machine.has_ended(&lease));
    let ended_ms = since_boot_ms();
    assert!((until_ms..until_ms + LATE_MS).contains(&ended_ms), "{ended_ms}, due {until_ms}");
    assert_eq!(machine.living(&lease), []);
    // The next executor finds it, and says why.
    let host = machine.host();
    assert_eq!(host.runs()[0].state, HeldState::Ended);
    let end = host.end(&lease).unwrap();
    assert_eq!((end.signal, end.asked), (Some(9), Some(Asked::Lease)));
    let ended = end.ended();
    let error = "its executor was away until its lease was over".to_owned();
    assert_eq!((ended.outcome, ended.error), (RunOutcome::Failed, Some(error)));
}

#[test]
fn one_that_is_held_still_is_ended_as_well() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.holder(GATED, 6_000).kill();
    let host = machine.host();
    host.pause(&lease).unwrap();
    drop(host);
    await_that("an end", || machine.has_ended(&lease));
    assert_eq!(machine.host().end(&lease).unwrap().asked, Some(Asked::Lease));
}

#[test]
fn while_the_executor_prolongs_the_lease_nothing_is_ended() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    let host = machine.host();
    let until_ms = Some(since_boot_ms() + 3_000);
    let begun = host.launch(&Start { until_ms, ..start("r1", 1, &shell(GATED)) }).unwrap();
    assert!(matches!(begun, Started::Now(_)));
    let leases = [lease.clone()];
    host.prolong(&leases, since_boot_ms() + 3_600_000);
    // One that was said before and comes late takes nothing back.
    host.prolong(&leases, since_boot_ms());
    machine.outlive(&lease);
    let end = machine.end(&host, &lease);
    assert_eq!((end.code, end.asked), (Some(7), None));
}

#[test]
fn an_executor_that_comes_again_within_the_lease_keeps_its_program() {
    let mut machine = Machine::new();
    let lease = lease("r1", 1);
    machine.holder(GATED, 6_000).kill();
    let host = machine.host();
    host.prolong(std::slice::from_ref(&lease), since_boot_ms() + 3_600_000);
    machine.outlive(&lease);
    let end = machine.end(&host, &lease);
    assert_eq!((end.code, end.asked), (Some(7), None));
}
