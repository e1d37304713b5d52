//! Time as a side of a connection sees it.

use std::time::Duration;

use ah_model::Timestamp;
use ah_process::since_boot;

/// A moment, by both clocks of one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the side began. Never goes back; everything is decided by it.
    pub ms: u64,
    /// What the side's clock on the wall says. Told to others, and decides nothing.
    pub wall: Timestamp,
}

impl Moment {
    /// Whether `ms` has come.
    pub(crate) fn is_past(self, ms: u64) -> bool {
        self.ms >= ms
    }
}

/// When a side began. Its time goes on while its machine sleeps, as that of others does: who slept
/// through a lease has lost it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began(Duration);

impl Began {
    pub(crate) fn now() -> Self {
        Self(since_boot())
    }

    /// Milliseconds since then.
    pub(crate) fn elapsed_ms(self) -> u64 {
        ms(since_boot().saturating_sub(self.0))
    }

    /// A moment of this side, counted from when the machine began, as other processes of it know it.
    pub(crate) fn since_boot_ms(self, moment_ms: u64) -> u64 {
        ms(self.0).saturating_add(moment_ms)
    }
}

/// Milliseconds since the machine began.
pub(crate) fn since_boot_ms() -> u64 {
    ms(since_boot())
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
