//! What a run would do.

use ah_bundle::{BundleError, StateDir};
use serde::Serialize;
use serde_json::json;

use super::super::place::Identity;
use crate::app::App;
use crate::error::CommandError;

/// What is asked for, in the words of agentcli.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    /// No state is kept.
    None,
    /// What is there is restored; else something is made and saved.
    RestoreOrSave,
    /// What is there is refined.
    Refine,
}

/// What the flags ask for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) action: Action,
    pub(crate) has_refine_text: bool,
    pub(crate) has_refine_file: bool,
}

/// Prints the plan with the keys of agentcli, whatever the format: it is for programs. Looks at the
/// directory, and touches nothing.
pub(crate) fn print(
    app: &App,
    plan: &Plan,
    state: Option<(&StateDir, &Identity)>,
    has_prestage: bool,
) -> Result<(), CommandError> {
    let (mut notes, mut runs_prestage) = (Vec::new(), false);
    if let Some((dir, identity)) = state {
        let is_there = match dir.load(&identity.scope) {
            Ok(loaded) => {
                notes.push(format!("{} is there", loaded.snapshot.name));
                notes.extend(loaded.damage.iter().map(|damage| format!("passed over: {damage}")));
                true
            }
            Err(error @ (BundleError::NoState { .. } | BundleError::NothingForScope { .. })) => {
                notes.push(error.to_string());
                false
            }
            Err(error) => return Err(error.into()),
        };
        runs_prestage = has_prestage && (!is_there || plan.action == Action::Refine);
        notes.push(
            match (is_there, runs_prestage, plan.action) {
                (true, false, Action::Refine) => {
                    "the text would be added to the developer's prompt"
                }
                (true, false, _) => "it would be restored, no pre-stage would run",
                (false, false, _) => "a pre-stage is needed and none is given",
                (_, true, _) => "the pre-stage would run, and its answer be saved",
            }
            .to_owned(),
        );
    }
    let (dir, identity) = state.unzip();
    app.output.json(&json!({ "plan": {
        "action": plan.action,
        "state_dir": dir.map_or_else(String::new, |dir| dir.path().display().to_string()),
        "scope_key": identity.map_or("", |identity| identity.scope.as_str()),
        "refine": plan.action == Action::Refine,
        "has_refine_text": plan.has_refine_text,
        "has_refine_file": plan.has_refine_file,
        "runs_prestage": runs_prestage,
        "notes": notes,
    } }))
}
