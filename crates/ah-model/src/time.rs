//! Points in time: UTC, whole milliseconds, RFC 3339 text. Order comes from `seq`, never from these.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Invalid;

/// Milliseconds since the Unix epoch, from year 0 to year 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

const YEAR_0_MS: i64 = -62_167_219_200_000;
/// The last millisecond the parser takes.
const YEAR_9999_END_MS: i64 = 253_402_207_200_999;

impl Timestamp {
    /// The latest time that can be written: sorts after every other.
    pub const MAX: Self = Self(YEAR_9999_END_MS);

    /// The time `ms` milliseconds after the epoch, clamped to the years 0 to 9999.
    pub fn from_unix_ms(ms: i64) -> Self {
        Self(ms.clamp(YEAR_0_MS, YEAR_9999_END_MS))
    }

    /// Milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> i64 {
        self.0
    }

    /// The text with `-` for what file names cannot hold everywhere.
    pub fn file_stamp(self) -> String {
        self.to_string().replace([':', '.'], "-")
    }

    /// This time less `ms` milliseconds.
    #[must_use]
    pub fn minus_ms(self, ms: i64) -> Self {
        Self::from_unix_ms(self.0.saturating_sub(ms))
    }
}

/// Days since the epoch to (year, month, day) of the proleptic Gregorian calendar.
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 { month_index + 3 } else { month_index - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(86_400_000));
        let ms = self.0.rem_euclid(86_400_000);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        let fraction = ms % 1_000;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    /// Reads RFC 3339 with any offset; finer digits than milliseconds are dropped.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parsed: jiff::Timestamp = text
            .parse()
            .map_err(|_| Invalid::new("time", format!("{text:?} is not an RFC 3339 time")))?;
        let ms = parsed.as_nanosecond().div_euclid(1_000_000);
        match i64::try_from(ms) {
            Ok(ms) if (YEAR_0_MS..=YEAR_9999_END_MS).contains(&ms) => Ok(Self(ms)),
            _ => Err(Invalid::new("time", format!("{text:?} is outside the years 0 to 9999"))),
        }
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_utc_with_milliseconds_and_reads_back() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_763_200_358_123, "2025-11-15T09:52:38.123Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (YEAR_9999_END_MS, "9999-12-30T22:00:00.999Z"),
        ] {
            assert_eq!(Timestamp::from_unix_ms(ms).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp::from_unix_ms(ms)));
        }
    }

    #[test]
    fn offsets_are_turned_into_utc_and_finer_digits_dropped() {
        let time: Timestamp = "2025-11-15T10:52:38.123987+01:00".parse().unwrap();
        assert_eq!(time.to_string(), "2025-11-15T09:52:38.123Z");
    }

    #[test]
    fn what_is_no_time_is_refused_by_name() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert_eq!(error.to_string(), "invalid time: \"yesterday\" is not an RFC 3339 time");
    }
}
