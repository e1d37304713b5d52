//! The one door through which time enters, so tests own it.

use std::time::UNIX_EPOCH;

use ah_model::Timestamp;

/// A source of the current time. It may go back; nothing may depend on it for order.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn now(&self) -> Timestamp {
        let elapsed = std::time::SystemTime::now().duration_since(UNIX_EPOCH);
        let ms = elapsed.map_or(0, |elapsed| elapsed.as_millis());
        Timestamp::from_unix_ms(i64::try_from(ms).unwrap_or(i64::MAX))
    }
}
