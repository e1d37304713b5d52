//! How bundles are shown.

use ah_bundle::{Damage, Problem, Redacted, Snapshot, StateDir};
use serde::Serialize;

use crate::error::CommandError;
use crate::output::Output;

/// How many damaged files are named one by one; `verify` names them all.
const DAMAGE_NAMED: usize = 5;

/// Prints a bundle: for programs `value`, which holds it, for people the bundle itself.
pub(crate) fn bundle<T: Serialize>(
    output: Output,
    value: &T,
    snapshot: &Snapshot,
) -> Result<(), CommandError> {
    match output.is_json() {
        true => output.json(value),
        false => output.stored(&snapshot.bundle.encode()),
    }
}

/// Says which files were passed over, why, what is used instead, and what to do about it.
pub(crate) fn tell_damage(output: Output, dir: &StateDir, damage: &[Damage], used: &str) {
    if damage.is_empty() || output.is_json() {
        return;
    }
    warn_of(output, damage);
    output.talk(&format!("{used} is used"));
    output.talk(&next_command(dir, damage));
}

/// Names damaged files.
pub(crate) fn warn_of(output: Output, damage: &[Damage]) {
    for one in damage.iter().take(DAMAGE_NAMED) {
        output.talk(&format!("warning: {one}"));
    }
    if let more @ 1.. = damage.len().saturating_sub(DAMAGE_NAMED) {
        output.talk(&format!("warning: and {more} more"));
    }
}

/// What helps against damage of this kind.
pub(crate) fn next_command(dir: &StateDir, damage: &[Damage]) -> String {
    let place = dir.path().display();
    let is_mode = |one: &Damage| matches!(one.problem, Problem::UnsafeMode { .. });
    match damage.iter().any(is_mode) {
        true => format!("`ah bundle fix-permissions --state-dir {place}` sets modes"),
        false => format!(
            "`ah bundle verify --state-dir {place}` shows everything, \
             `ah bundle quarantine --state-dir {place}` puts damaged files aside"
        ),
    }
}

/// Says what was taken out before the bundle was stored.
pub(crate) fn tell_redacted(output: Output, redacted: &[Redacted]) {
    if output.is_json() {
        return;
    }
    for one in redacted {
        output.talk(&format!("{} was taken out ({}), it is not stored", one.path, one.rule));
    }
}
