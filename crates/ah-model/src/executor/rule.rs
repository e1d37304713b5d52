//! Who may do what with an executor.

use serde::{Deserialize, Serialize};

use crate::Invalid;
use crate::limits::{EXECUTOR_RULES_MAX, LABEL_BYTES_MAX};
use crate::text::check_filled;
use crate::word::words;

words!(
    /// What somebody may do with an executor.
    ExecutorVerb, "executor verb", {
        /// Have a run of theirs launched there.
        Launch = "launch",
        /// Stop a run there.
        Stop = "stop",
        /// Pause a run there, and let it go on.
        Pause = "pause",
        /// Have a command done there.
        Dispatch = "dispatch",
        /// Wait for it at a fence.
        Fence = "fence",
    }
);

/// The user of a rule that is for everybody.
pub const EVERYBODY: &str = "*";

/// Somebody may do these things with an executor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecutorRule {
    /// Who; `*` is everybody.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = LABEL_BYTES_MAX)))]
    pub user: String,
    /// What.
    #[cfg_attr(feature = "schema", schemars(length(max = ExecutorVerb::ALL.len())))]
    pub verbs: Vec<ExecutorVerb>,
}

impl ExecutorRule {
    /// Refuses rules of nobody, and too many of them.
    pub fn check_all(rules: &[Self]) -> Result<(), Invalid> {
        if rules.len() > EXECUTOR_RULES_MAX {
            let reason = format!("{} rules, at most {EXECUTOR_RULES_MAX} are allowed", rules.len());
            return Err(Invalid::new("rules", reason));
        }
        rules.iter().try_for_each(Self::check)
    }

    fn check(&self) -> Result<(), Invalid> {
        check_filled("rules.user", &self.user, LABEL_BYTES_MAX)?;
        match self.verbs.len() <= ExecutorVerb::ALL.len() {
            true => Ok(()),
            false => Err(Invalid::new("rules.verbs", format!("{} verbs", self.verbs.len()))),
        }
    }
}

/// Whether `rules` let `user` do `verb`. Without any rule everybody may do everything; with one, who
/// is not named may do only what everybody may.
pub fn allows(rules: &[ExecutorRule], user: Option<&str>, verb: ExecutorVerb) -> bool {
    let is_for = |rule: &&ExecutorRule| rule.user == EVERYBODY || Some(rule.user.as_str()) == user;
    rules.is_empty() || rules.iter().filter(is_for).any(|rule| rule.verbs.contains(&verb))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(user: &str, verbs: &[ExecutorVerb]) -> ExecutorRule {
        ExecutorRule { user: user.to_owned(), verbs: verbs.to_vec() }
    }

    #[test]
    fn without_a_rule_everybody_may_and_with_one_only_who_is_named() {
        let (launch, stop) = (ExecutorVerb::Launch, ExecutorVerb::Stop);
        assert!(allows(&[], None, launch));
        let rules = [rule("ann", &[launch]), rule(EVERYBODY, &[stop])];
        assert!(allows(&rules, Some("ann"), launch) && allows(&rules, Some("ann"), stop));
        assert!(!allows(&rules, Some("bob"), launch) && !allows(&rules, None, launch));
        assert!(allows(&rules, None, stop), "everybody is somebody who is not known, too");
    }
}
