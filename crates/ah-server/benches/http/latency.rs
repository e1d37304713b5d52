//! Times between a cause and its effect, and their figure.

use std::time::Duration;

/// Some times, in milliseconds, shortest first.
pub(crate) struct Latencies(Vec<f64>);

impl Latencies {
    pub(crate) fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut ms: Vec<f64> = times.into_iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
        ms.sort_by(f64::total_cmp);
        assert!(!ms.is_empty(), "nothing was measured");
        Self(ms)
    }

    /// The time that so many of a thousand are not over.
    pub(crate) fn of_thousand(&self, count: usize) -> f64 {
        self.0[(self.0.len() - 1) * count / 1_000]
    }

    /// Prints the 99th of a hundred beside its goal.
    pub(crate) fn report(&self, name: &str, goal_ms: f64, note: &str, json: bool) {
        let (p50, p99, max) =
            (self.of_thousand(500), self.of_thousand(990), self.of_thousand(1_000));
        let (met, goal) = (p99 < goal_ms, format!("p99 under {goal_ms} ms"));
        let note = format!("p50 {p50:.1} ms, longest {max:.1} ms of {}; {note}", self.0.len());
        if json {
            let document = serde_json::json!({
                "name": name, "unit": "ms", "ours": p99, "goal": goal, "met": met, "note": note,
            });
            println!("{document}");
        } else {
            let missed = if met { "" } else { "  MISSED" };
            println!("{name:<34} ours {p99:.1} ms (goal {goal}){missed}  {note}");
        }
    }
}
