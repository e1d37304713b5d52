//! Times and spans as people type them: `2h`, `7d`, or an RFC 3339 time.

use ah_model::{Invalid, Timestamp};

/// The time `text` names: a span before `now`, or a time itself.
pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Timestamp, Invalid> {
    match span_ms(text) {
        Some(ms) => Ok(now.minus_ms(ms)),
        None => text.parse().map_err(|_| {
            let reason =
                format!("{text:?} is neither a span like 90m, 2h, 7d nor an RFC 3339 time");
            Invalid::new("time", reason)
        }),
    }
}

/// The time `text` names: a span after `now`, or a time itself.
pub(crate) fn parse_ahead(text: &str, now: Timestamp) -> Result<Timestamp, Invalid> {
    match span_ms(text) {
        Some(ms) => Ok(now.minus_ms(ms.saturating_neg())),
        None => parse(text, now),
    }
}

/// The milliseconds of a span like `90s` or `5m`.
pub(crate) fn span(text: &str) -> Result<u64, Invalid> {
    let ms = span_ms(text).and_then(|ms| u64::try_from(ms).ok());
    ms.ok_or_else(|| Invalid::new("time", format!("{text:?} is not a span like 90s, 5m, 2h")))
}

fn span_ms(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let count: i64 = text[..text.len() - unit.len_utf8()].parse().ok().filter(|n| *n >= 0)?;
    let unit_ms: i64 = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => 86_400_000,
        'w' => 604_800_000,
        _ => return None,
    };
    count.checked_mul(unit_ms)
}

/// How long before `now` something was, in one unit.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = (now.unix_ms() - at.unix_ms()) / 1_000;
    match seconds {
        ..=0 => "now".to_owned(),
        1..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// How long after `now` something will be, in one unit.
pub(crate) fn ahead(at: Timestamp, now: Timestamp) -> String {
    span_of(u64::try_from(at.unix_ms() - now.unix_ms()).unwrap_or(0))
}

/// A span, in one unit.
pub(crate) fn span_of(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        ..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_count_back_from_now_and_times_stand_for_themselves() {
        let now = Timestamp::from_unix_ms(1_000_000_000_000);
        for (text, ms) in [("0s", 0), ("90m", 5_400_000), ("2h", 7_200_000), ("1w", 604_800_000)] {
            assert_eq!(parse(text, now), Ok(now.minus_ms(ms)), "{text}");
        }
        let time = "2020-01-01T00:00:00Z";
        assert_eq!(parse(time, now), Ok(time.parse().unwrap()));
        for bad in ["", "h", "-1h", "2x", "yesterday", "1é"] {
            assert!(parse(bad, now).is_err(), "{bad}");
        }
    }
}
