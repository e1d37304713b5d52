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
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(0);
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

    /// So many milliseconds later.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        self.minus_ms(i64::try_from(ms).unwrap_or(i64::MAX).saturating_neg())
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

/// Reads the form that [`Timestamp`] writes, which is nearly every time that is read; anything else
/// is left to the parser of all forms.
fn own_form(text: &str) -> Option<Timestamp> {
    let bytes: &[u8; 24] = text.as_bytes().try_into().ok()?;
    let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')];
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().try_fold(0_i64, |sum, byte| {
            byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
        })
    };
    if marks.iter().any(|(at, mark)| bytes[*at] != *mark) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    // Days that no month has more of; the others and leap seconds are the parser's.
    let plain = (1..=12).contains(&month) && (1..=28).contains(&day);
    if !plain || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    let ms = seconds * 1_000 + number(20, 23)?;
    (YEAR_0_MS..=YEAR_9999_END_MS).contains(&ms).then_some(Timestamp(ms))
}

/// Days from the epoch to a day of the proleptic Gregorian calendar; [`civil`] backwards.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = civil(self.0.div_euclid(86_400_000));
        let ms = self.0.rem_euclid(86_400_000);
        let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
        // Many times are written for every message: by hand that takes a quarter of the time.
        let mut text = *b"0000-00-00T00:00:00.000Z";
        put(&mut text[0..4], year);
        put(&mut text[5..7], month);
        put(&mut text[8..10], day);
        put(&mut text[11..13], hour);
        put(&mut text[14..16], minute);
        put(&mut text[17..19], second);
        put(&mut text[20..23], ms % 1_000);
        f.write_str(str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Writes a number to the places of its digits.
fn put(places: &mut [u8], mut number: i64) {
    for place in places.iter_mut().rev() {
        *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    /// Reads RFC 3339 with any offset; finer digits than milliseconds are dropped.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(time) = own_form(text) {
            return Ok(time);
        }
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

    proptest::proptest! {
        #[test]
        fn any_time_reads_back_as_itself_and_as_the_full_parser_reads_it(
            ms in YEAR_0_MS..YEAR_9999_END_MS,
        ) {
            let time = Timestamp::from_unix_ms(ms);
            let text = time.to_string();
            proptest::prop_assert_eq!(text.parse(), Ok(time));
            if let Some(own) = own_form(&text) {
                let parsed: jiff::Timestamp = text.parse().unwrap();
                proptest::prop_assert_eq!(own.unix_ms(), parsed.as_millisecond());
            }
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
