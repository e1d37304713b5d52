//! One line of the report.

use std::time::{Duration, Instant};

/// Whether more or less is better.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

/// Ours beside raw.
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) raw: f64,
    pub(crate) goal: Goal,
    /// More about it, for people.
    pub(crate) note: String,
}

impl Figure {
    pub(crate) fn print(&self, json: bool) {
        let ratio = self.ours / self.raw;
        let (word, bound, met) = match self.goal {
            Goal::AtLeast(bound) => ("at least", bound, ratio >= bound),
            Goal::AtMost(bound) => ("at most", bound, ratio <= bound),
        };
        let Self { name, unit, ours, raw, note, .. } = self;
        if json {
            let document = serde_json::json!({
                "name": name, "unit": unit, "ours": ours, "raw": raw, "ratio": ratio,
                "goal": format!("{word} {bound}"), "met": met, "note": note,
            });
            println!("{document}");
        } else {
            let met = if met { "" } else { "  MISSED" };
            println!(
                "{name:<34} ours {ours:>10.1} {unit}, raw {raw:>10.1} {unit}, \
                 ratio {ratio:.2} (goal {word} {bound}){met}  {note}"
            );
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs both in turn, `rounds` times, and returns the median of each. Who goes first alternates.
pub(crate) fn alternate(
    rounds: usize,
    mut ours: impl FnMut() -> f64,
    mut raw: impl FnMut() -> f64,
) -> (f64, f64) {
    let (mut our_values, mut raw_values) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        if round % 2 == 0 {
            our_values.push(ours());
            raw_values.push(raw());
        } else {
            raw_values.push(raw());
            our_values.push(ours());
        }
    }
    (median(our_values), median(raw_values))
}

/// How often a second `work` can be done, tried for `time`.
pub(crate) fn rate(time: Duration, mut work: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut count = 0_u32;
    while start.elapsed() < time {
        work();
        count += 1;
    }
    f64::from(count) / start.elapsed().as_secs_f64()
}
