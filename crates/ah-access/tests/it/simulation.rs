//! Access points and executors on a bad network, in a time of their own, decided by a seed.
//!
//! The code under test is the whole of both sides but for sockets, disks and processes: those are
//! played here, and fail. The store is the oracle of the conformance suite.
//! A failure names its seed and what happened last.

mod beside;
mod check;
mod machine;
mod net;
mod server;
mod world;

use world::{Tally, World};

const SEEDS: u64 = 1_000;

/// Seeds run in a few tests, so that cores share them.
fn walk(part: u64, parts: u64) {
    let mut tally = Tally::default();
    for seed in (0..SEEDS).filter(|seed| seed % parts == part) {
        tally += World::new(seed).run();
    }
    let Tally { fenced, lost, away, refused, unsure, again, completed, beside, asked_again } =
        tally;
    let counts = [fenced, lost, away, refused, unsure, again, completed, beside, asked_again];
    assert!(counts.iter().all(|count| *count > 0), "not everything happened: {tally:?}");
}

#[test]
fn no_network_loses_doubles_or_splits_a_run_first_quarter() {
    walk(0, 4);
}

#[test]
fn no_network_loses_doubles_or_splits_a_run_second_quarter() {
    walk(1, 4);
}

#[test]
fn no_network_loses_doubles_or_splits_a_run_third_quarter() {
    walk(2, 4);
}

#[test]
fn no_network_loses_doubles_or_splits_a_run_last_quarter() {
    walk(3, 4);
}
