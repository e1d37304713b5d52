//! Times, numbers and words as they are read.

use ah_model::{Spent, Timestamp};
use ratatui::style::Style;

use super::Look;

/// Whole seconds from `since` to `now`.
pub(crate) fn seconds(since: Timestamp, now: Timestamp) -> i64 {
    ((now.unix_ms() - since.unix_ms()) / 1_000).max(0)
}

/// A span in its largest unit.
fn span(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{}s", seconds.max(0)),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// How long ago.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    match seconds(at, now) {
        0 => "now".to_owned(),
        seconds => span(seconds),
    }
}

/// How long there is, to the second once that is little.
pub(crate) fn left(until: Timestamp, now: Timestamp) -> String {
    match seconds(now, until) {
        0 => "over".to_owned(),
        seconds @ 1..3_600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        seconds => span(seconds),
    }
}

/// The time of a day, in UTC.
pub(crate) fn clock(at: Timestamp) -> String {
    at.to_string().get(11..19).unwrap_or_default().to_owned()
}

/// How long something took.
pub(crate) fn took(from: Timestamp, to: Timestamp) -> String {
    match (to.unix_ms() - from.unix_ms()).max(0) {
        ms @ ..1_000 => format!("{ms} ms"),
        ms @ 1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        ms => format!("{} m {} s", ms / 60_000, ms % 60_000 / 1_000),
    }
}

/// A number of things, short: `950`, `12k`, `3.4M`.
pub(crate) fn count(number: u64) -> String {
    match number {
        ..10_000 => number.to_string(),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// What was spent, as far as prices are known.
pub(crate) fn cost(spent: &Spent) -> String {
    let more = if spent.unpriced > 0 { "+" } else { "" };
    match spent.cost.usd() {
        0.0 if spent.unpriced > 0 => "no price known".to_owned(),
        usd => format!("${usd:.2}{more}"),
    }
}

/// How a status looks.
pub(crate) fn status(word: &str, look: Look) -> Style {
    match word {
        "running" | "active" => look.good(),
        "failed" => look.bad(),
        "stopping" | "created" => look.warn(),
        "succeeded" | "idle" | "cancelled" | "sleeping" | "dead" | "destroyed" => look.dim(),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_one_unit() {
        let at = |s: i64| Timestamp::from_unix_ms(s * 1_000);
        for (seconds, shown) in
            [(0, "now"), (-5, "now"), (59, "59s"), (60, "1m"), (7_200, "2h"), (200_000, "2d")]
        {
            assert_eq!(ago(at(0), at(seconds)), shown);
        }
        for (seconds, shown) in [(0, "over"), (-1, "over"), (61, "1:01"), (3_600, "1h")] {
            assert_eq!(left(at(seconds), at(0)), shown);
        }
        assert_eq!(took(at(0), Timestamp::from_unix_ms(1_250)), "1.2 s");
        assert_eq!(["950", "12k", "3.4M"].map(str::to_owned), [950, 12_345, 3_456_789].map(count));
    }
}
