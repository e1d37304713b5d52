//! Time as a side of a connection sees it.

use ah_model::Timestamp;

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
