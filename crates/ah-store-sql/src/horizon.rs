//! How far the feed is settled on PostgreSQL.
//!
//! Rows get their number before they are committed, so a row may appear behind one with a higher
//! number, and a reader that has gone past the gap would never see it. Whoever gets a number has
//! locked the table for writing before, and keeps it so until the end. So a gap is settled once all
//! who had the table locked after it was seen have ended: what they wrote is in every snapshot that
//! is taken from then on.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No transaction of ours lasts this long; somebody else's may be forgotten.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(300);

/// The transactions that have a table locked for writing.
pub(crate) type Writers = Vec<String>;

#[derive(Debug)]
struct Gap {
    /// Everything up to here is settled when the gap is.
    up_to: u64,
    /// Once these have ended.
    writers: Writers,
    since: Instant,
}

#[derive(Debug, Default)]
struct State {
    settled: u64,
    gap: Option<Gap>,
}

/// What becomes of a reader that stands before a gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Something may still come.
    Held,
    /// More is settled now: a new look goes further.
    Again,
}

/// The settled part of one numbered table. Shared by all readers of a process.
#[derive(Debug, Default)]
pub(crate) struct Line(Mutex<State>);

impl Line {
    /// Up to where nothing more will appear in snapshots that are taken from now on. Asked for
    /// before the snapshot is taken, or it says nothing about it.
    pub(crate) fn settled(&self) -> u64 {
        self.state().settled
    }

    /// Tells of a reader that saw numbers up to `last` behind a gap, and of those who had the table
    /// locked after that.
    pub(crate) fn stands_before_gap(&self, last: u64, writers: Writers) -> Wait {
        let mut state = self.state();
        let gap = state.gap.take().unwrap_or_else(|| Gap {
            up_to: last,
            writers: writers.clone(),
            since: Instant::now(),
        });
        let at_work = gap.writers.iter().any(|writer| writers.contains(writer));
        if at_work && gap.since.elapsed() < WAIT_MAX {
            state.gap = Some(gap);
            return Wait::Held;
        }
        state.settled = state.settled.max(gap.up_to);
        Wait::Again
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many of `numbers`, which follow `after`, come before the first gap that is not settled.
pub(crate) fn before_gap(after: u64, numbers: &[u64], settled: u64) -> usize {
    let mut before = after;
    let gap = numbers.iter().position(|number| {
        let gap = *number > before + 1 && *number - 1 > settled;
        before = *number;
        gap
    });
    gap.unwrap_or(numbers.len())
}

/// The settled parts of what the feed is made of.
#[derive(Debug, Default)]
pub(crate) struct Horizon {
    pub(crate) events: Line,
    pub(crate) changes: Line,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writers(names: &[&str]) -> Writers {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_stands_before_a_gap_is_shown() {
        assert_eq!(before_gap(3, &[4, 5, 6], 0), 3);
        assert_eq!(before_gap(3, &[], 0), 0);
        assert_eq!(before_gap(0, &[1, 2, 4, 5], 0), 2);
        assert_eq!(before_gap(0, &[1, 2, 4, 5], 3), 4, "it is settled that there is no 3");
        assert_eq!(before_gap(0, &[2, 5], 4), 2);
    }

    #[test]
    fn a_gap_that_nobody_can_fill_is_passed_by_the_next_look() {
        let line = Line::default();
        assert_eq!(line.stands_before_gap(7, writers(&[])), Wait::Again);
        assert_eq!(line.settled(), 7);
    }

    #[test]
    fn a_gap_waits_for_those_who_wrote_when_it_was_seen_and_for_no_others() {
        let line = Line::default();
        assert_eq!(line.stands_before_gap(7, writers(&["1/5", "2/9"])), Wait::Held);
        assert_eq!(line.stands_before_gap(8, writers(&["2/9", "3/1"])), Wait::Held);
        assert_eq!(line.settled(), 0);
        assert_eq!(line.stands_before_gap(9, writers(&["3/1"])), Wait::Again);
        assert_eq!(line.settled(), 7, "what came behind it has its own gaps");
        assert_eq!(line.stands_before_gap(9, writers(&["3/1"])), Wait::Held);
    }
}
