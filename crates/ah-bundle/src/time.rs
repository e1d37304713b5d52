//! `created_at`: read as Go's RFC 3339 does, written as UTC with microseconds.

use std::fmt;

use ah_model::Timestamp;

const NS_PER_MS: i128 = 1_000_000;
const US_PER_MS: i128 = 1_000;
const NS_PER_US: i128 = 1_000;

/// A point in time with the precision of its text. Greater is later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CreatedAt {
    ns: i128,
}

impl CreatedAt {
    /// Reads what the original accepts: any offset, any fraction with point or comma, an hour of
    /// one digit; no lower-case letters, no second 60, no hour 24, no day a month does not have.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rest = Digits(text);
        let year = rest.exactly(4)?;
        let month = rest.after("-")?.exactly(2)?;
        let day = rest.after("-")?.exactly(2)?;
        let hour = rest.after("T")?.one_or_two()?;
        let minute = rest.after(":")?.exactly(2)?;
        let second = rest.after(":")?.exactly(2)?;
        let fraction_ns = rest.fraction_ns();
        let offset_s = rest.offset_s()?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let plain = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.000Z");
        let time: Timestamp = plain.parse().ok()?;
        let ms = i128::from(time.unix_ms()) - i128::from(offset_s) * 1_000;
        Some(Self { ns: ms * NS_PER_MS + fraction_ns })
    }

    /// The time of a new snapshot: now, but always after its parent, also when the clock went back.
    pub(crate) fn next(now: Timestamp, parent: Option<Self>) -> Self {
        let now = i128::from(now.unix_ms()) * US_PER_MS;
        let after = parent.map(|parent| parent.ns.div_euclid(NS_PER_US) + 1);
        Self { ns: after.map_or(now, |after| now.max(after)) * NS_PER_US }
    }
}

impl fmt::Display for CreatedAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = i64::try_from(self.ns.div_euclid(NS_PER_MS)).unwrap_or(i64::MAX);
        let text = Timestamp::from_unix_ms(ms).to_string();
        let us = self.ns.rem_euclid(NS_PER_MS) / NS_PER_US;
        write!(f, "{}{us:03}Z", text.trim_end_matches('Z'))
    }
}

/// What is left of a time's text.
struct Digits<'a>(&'a str);

impl<'a> Digits<'a> {
    fn after(&mut self, mark: &str) -> Option<&mut Self> {
        self.0 = self.0.strip_prefix(mark)?;
        Some(self)
    }

    fn exactly(&mut self, count: usize) -> Option<u32> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    fn one_or_two(&mut self) -> Option<u32> {
        self.exactly(2).or_else(|| self.exactly(1))
    }

    /// Digits after a point or comma; finer ones than nanoseconds are dropped.
    fn fraction_ns(&mut self) -> i128 {
        let Some(rest) = self.0.strip_prefix(['.', ',']) else { return 0 };
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let Some((digits, after)) = rest.split_at_checked(end).filter(|_| end > 0) else {
            return 0;
        };
        self.0 = after;
        let nine = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
        nine.fold(0, |ns, digit| ns * 10 + i128::from(digit - b'0'))
    }

    /// `Z` or an offset, and nothing after it.
    fn offset_s(&mut self) -> Option<i64> {
        if self.0 == "Z" {
            return Some(0);
        }
        let sign = if self.0.starts_with('-') { -1 } else { 1 };
        self.0 = self.0.strip_prefix(['+', '-'])?;
        let hours = self.exactly(2)?;
        let minutes = self.after(":")?.exactly(2)?;
        // The original takes 24 and 60 as well.
        let in_range = hours <= 24 && minutes <= 60 && self.0.is_empty();
        in_range.then(|| sign * i64::from(hours * 3_600 + minutes * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_original_reads_them() {
        let same = CreatedAt::parse("2026-03-01T08:00:00Z").unwrap();
        for text in [
            "2026-03-01T08:00:00.000Z",
            "2026-03-01T8:00:00Z",
            "2026-03-01T08:00:00,0Z",
            "2026-03-01T10:30:00+02:30",
            "2026-02-28T08:00:00-24:00",
        ] {
            assert_eq!(CreatedAt::parse(text), Some(same), "{text}");
        }
        for text in [
            "2026-03-01t08:00:00Z",
            "2026-03-01T08:00:00z",
            "2026-03-01 08:00:00Z",
            "2026-03-01T08:00:60Z",
            "2026-03-01T24:00:00Z",
            "2026-02-30T08:00:00Z",
            "2026-03-01T08:00:00",
            "2026-03-01T08:00:00.Z",
            "2026-03-01T08:00:00Zx",
            "2026-3-01T08:00:00Z",
            "2026-03-01T08:00:00+0100",
            "2026-03-01T08:00:00+25:00",
            "+026-03-01T08:00:00Z",
            "",
        ] {
            assert_eq!(CreatedAt::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_new_time_is_after_its_parent_also_when_the_clock_went_back() {
        let now = Timestamp::from_unix_ms(1_000);
        let first = CreatedAt::next(now, None);
        assert_eq!(first.to_string(), "1970-01-01T00:00:01.000000Z");
        let second = CreatedAt::next(now, Some(first));
        assert_eq!(second.to_string(), "1970-01-01T00:00:01.000001Z");
        let third = CreatedAt::next(Timestamp::EPOCH, Some(second));
        assert_eq!(third.to_string(), "1970-01-01T00:00:01.000002Z");
        let fine = CreatedAt::parse("1970-01-01T00:00:01.0000029Z").unwrap();
        assert_eq!(CreatedAt::next(now, Some(fine)).to_string(), "1970-01-01T00:00:01.000003Z");
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = "2026-11-15T22:10:00.123456Z";
        assert_eq!(CreatedAt::parse(text).unwrap().to_string(), text);
    }
}
