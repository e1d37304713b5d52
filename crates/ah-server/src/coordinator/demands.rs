//! What a run demands of its runner, from all who have a say in it.

use ah_model::{Demands, Session};
use serde::Deserialize;

use super::blueprint::Blueprint;
use super::limits::NO_MATCH_MS;

/// Demands as they are asked for; what is not known is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AskedDemands {
    hostname: Option<String>,
    project_dir: Option<String>,
    executor_profile: Option<String>,
    executor_type: Option<String>,
    tags: Option<Vec<String>>,
}

impl From<AskedDemands> for Demands {
    fn from(asked: AskedDemands) -> Self {
        // An empty text demands nothing, as in the original.
        let said = |text: Option<String>| text.filter(|text| !text.is_empty());
        Self {
            hostname: said(asked.hostname),
            project_dir: said(asked.project_dir),
            executor_profile: said(asked.executor_profile),
            executor_type: said(asked.executor_type),
            tags: asked.tags.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// The dialect that a run is asked for in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// With a `prompt`.
    Prompt,
    /// With `parameters`.
    Parameters,
}

/// All demands on the run, who comes first wins: the runner that brings the agent, the place where
/// `resumed` ran before, the blueprint, its type, and what the request adds. And how long it waits
/// for a runner that meets them: in the older dialect for ever if nothing but the type is demanded.
pub(super) fn merged(
    blueprint: Option<&Blueprint>,
    resumed: Option<&Session>,
    additional: Demands,
    dialect: Dialect,
) -> (Demands, Option<u64>) {
    let owner = blueprint.and_then(|blueprint| blueprint.owner.as_deref());
    let owned = owner.map_or_else(Demands::default, |owner| Demands {
        hostname: owner.offer.hostname.clone(),
        project_dir: owner.offer.project_dir.clone(),
        executor_profile: owner.offer.executor_profile.clone(),
        ..Demands::default()
    });
    let before = resumed
        .map_or_else(Demands::default, |session| Demands::default().or_affinity(&session.details));
    let said = blueprint.map(Blueprint::demands).unwrap_or_default();
    let procedural = blueprint.is_some_and(Blueprint::is_procedural);
    let executor_type = if procedural { "procedural" } else { "autonomous" };
    let typed = Demands { executor_type: Some(executor_type.to_owned()), ..Demands::default() };
    let given = owned.or(before).or(said);
    let only_typed = given.is_empty() && additional.is_empty();
    let waits = only_typed && dialect == Dialect::Prompt;
    (given.or(typed).or(additional), (!waits).then_some(NO_MATCH_MS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(json: &str) -> Demands {
        serde_json::from_str::<AskedDemands>(json).unwrap().into()
    }

    #[test]
    fn who_comes_first_wins_and_tags_are_joined() {
        let members = serde_json::from_str(
            r#"{"name":"a","demands":{"hostname":"h1","tags":["x"]},"type":"autonomous"}"#,
        );
        let blueprint = Blueprint { members: members.unwrap(), owner: None };
        let additional = asked(r#"{"hostname":"h2","project_dir":"/p","tags":["y","x"]}"#);
        let (demands, timeout) = merged(Some(&blueprint), None, additional, Dialect::Prompt);
        let expected = asked(
            r#"{"hostname":"h1","project_dir":"/p","executor_type":"autonomous","tags":["x","y"]}"#,
        );
        assert_eq!((demands, timeout), (expected, Some(NO_MATCH_MS)));
    }

    #[test]
    fn a_run_that_demands_nothing_waits_for_ever_in_the_older_dialect_only() {
        let plain = asked(r#"{"executor_type":"autonomous"}"#);
        for (dialect, timeout) in
            [(Dialect::Prompt, None), (Dialect::Parameters, Some(NO_MATCH_MS))]
        {
            let found = merged(None, None, asked(r#"{"hostname":"","other":1}"#), dialect);
            assert_eq!(found, (plain.clone(), timeout));
        }
    }
}
