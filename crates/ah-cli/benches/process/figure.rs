//! One line of the report.

/// Whether more or less is better.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

/// Ours beside raw.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) ours: f64,
    pub(crate) raw: f64,
    pub(crate) goal: Goal,
    /// More about it, for people.
    pub(crate) note: String,
}

impl Figure {
    pub(crate) fn print(&self, json: bool) {
        let Self { name, unit, ours, raw, goal, note } = self;
        let ratio = ours / raw;
        let (goal, met) = match goal {
            Goal::AtLeast(bound) => (format!("at least {bound}"), ratio >= *bound),
            Goal::AtMost(bound) => (format!("at most {bound}"), ratio <= *bound),
        };
        if json {
            let document = serde_json::json!({
                "name": name, "unit": unit, "ours": ours, "raw": raw, "ratio": ratio,
                "goal": goal, "met": met, "note": note,
            });
            println!("{document}");
        } else {
            let missed = if met { "" } else { "  MISSED" };
            println!(
                "{name:<34} ours {ours:.2} {unit}, raw {raw:.2} {unit}, ratio {ratio:.2} \
                 (goal {goal}){missed}  {note}"
            );
        }
    }
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
