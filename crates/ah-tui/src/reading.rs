//! A list that is read again when it changed: one reading at a time, and not without a pause.

use ah_model::Timestamp;

use crate::harbor::Refused;

/// Shortest time between the beginnings of two readings.
const PAUSE_MS: i64 = 100;

/// Whether something is to be read, is being read, or was.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    wanted: bool,
    is_under_way: bool,
    began: Option<Timestamp>,
}

impl Reading {
    /// It may be other than what is known.
    pub(crate) fn want(&mut self) {
        self.wanted = true;
    }

    /// Whether a reading is to begin now; if so it has.
    pub(crate) fn begins(&mut self, now: Timestamp) -> bool {
        let begins = self.wanted && !self.is_under_way && self.rest_ms(now) == 0;
        if begins {
            *self = Self { wanted: false, is_under_way: true, began: Some(now) };
        }
        begins
    }

    /// It was read, or could not be: what is away now is read later.
    pub(crate) fn ended<T>(&mut self, read: &Result<T, Refused>) {
        self.stopped();
        self.wanted |= read.as_ref().is_err_and(Refused::is_gone);
    }

    /// Nothing is under way any more.
    pub(crate) fn stopped(&mut self) {
        self.is_under_way = false;
    }

    /// There is nothing to read.
    pub(crate) fn forget(&mut self) {
        self.wanted = false;
    }

    /// In how many milliseconds a reading may begin that waits for nothing else.
    pub(crate) fn wake_ms(&self, now: Timestamp) -> Option<u64> {
        (self.wanted && !self.is_under_way).then(|| self.rest_ms(now))
    }

    fn rest_ms(&self, now: Timestamp) -> u64 {
        let since = self.began.map_or(PAUSE_MS, |began| now.unix_ms() - began.unix_ms());
        // A clock that went back does not stop anything.
        if since < 0 { 0 } else { u64::try_from(PAUSE_MS - since).unwrap_or(0) }
    }
}
