//! Ends processes that nobody waits for.

use std::time::{Duration, Instant};

use crate::{Group, Process};

/// How long the end of processes that were killed is awaited, and how often it is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);

/// Kills the groups of those that `find` gives until it gives none; those that it gave at first.
/// The error is one that does not end.
pub fn end_all(find: impl Fn() -> Vec<Process>) -> Result<Vec<Process>, Process> {
    let found = find();
    let until = Instant::now() + PATIENCE;
    let mut living = found.clone();
    while let Some(process) = living.first() {
        if Instant::now() >= until {
            return Err(process.clone());
        }
        living.iter().for_each(|process| Group::of(process.group).kill());
        std::thread::sleep(PAUSE);
        living = find();
    }
    Ok(found)
}
