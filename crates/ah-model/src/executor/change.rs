//! What an operator changes about an executor, and the record of it.

use serde::{Deserialize, Serialize};

use super::offer::check_tags;
use super::{Executor, ExecutorRule, ExecutorStatus};
use crate::limits::{EXECUTOR_JSON_BYTES_MAX, EXECUTOR_RULES_MAX, LABEL_BYTES_MAX, LABELS_MAX};
use crate::text::{check_filled, check_optional};
use crate::{ExecutorId, Invalid, Labels, RawJson, Timestamp};

/// What to change; parts that are absent stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ExecutorChange {
    /// Labels to set.
    #[serde(skip_serializing_if = "no_labels")]
    pub set_labels: Labels,
    /// Labels to take away, by their key; one that is not there is no matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = LABELS_MAX)))]
    pub unset_labels: Vec<String>,
    /// Tags to add.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = crate::limits::TAGS_MAX), inner(length(min = 1, max = LABEL_BYTES_MAX)))
    )]
    pub add_tags: Vec<String>,
    /// Tags to take away; one that is not there is no matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = crate::limits::TAGS_MAX)))]
    pub remove_tags: Vec<String>,
    /// Who may do what, in place of all rules before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<ExecutorRule>>,
    /// Rules to set, each in place of those of its user; others stay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = EXECUTOR_RULES_MAX)))]
    pub set_rules: Vec<ExecutorRule>,
    /// Users whose rules to take away; one that has none is no matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = EXECUTOR_RULES_MAX)))]
    pub unset_rules: Vec<String>,
    /// What people call it; an empty text takes the name away.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LABEL_BYTES_MAX)))]
    pub friendly_name: Option<String>,
    /// Whose it is; an empty text says that nobody owns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(max = LABEL_BYTES_MAX)))]
    pub owner: Option<String>,
    /// What it may do from now on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<ExecutorStatus>,
}

fn no_labels(labels: &Labels) -> bool {
    labels.0.is_empty()
}

impl ExecutorChange {
    /// A change of the status alone.
    pub fn to(status: ExecutorStatus) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// Refuses parts that cannot be stored, and the name of who wants it if that cannot.
    pub fn check(&self, by: Option<&str>) -> Result<(), Invalid> {
        check_optional("by", by, LABEL_BYTES_MAX)?;
        self.set_labels.check()?;
        if self.unset_labels.len() > LABELS_MAX {
            let reason = format!("{}, at most {LABELS_MAX} are allowed", self.unset_labels.len());
            return Err(Invalid::new("unsetLabels", reason));
        }
        check_tags("addTags", &self.add_tags)?;
        check_tags("removeTags", &self.remove_tags)?;
        self.rules.as_deref().map_or(Ok(()), ExecutorRule::check_all)?;
        ExecutorRule::check_all(&self.set_rules)?;
        if self.unset_rules.len() > EXECUTOR_RULES_MAX {
            let count = self.unset_rules.len();
            let reason = format!("{count}, at most {EXECUTOR_RULES_MAX} are allowed");
            return Err(Invalid::new("unsetRules", reason));
        }
        check_optional("friendlyName", self.friendly_name.as_deref(), LABEL_BYTES_MAX)?;
        check_optional("owner", self.owner.as_deref(), LABEL_BYTES_MAX)
    }

    /// What an executor is with everything changed but the status.
    fn applied(&self, executor: &Executor) -> Result<Executor, Invalid> {
        let mut changed = executor.clone();
        changed.labels.0.extend(self.set_labels.0.clone());
        changed.labels.0.retain(|key, _| !self.unset_labels.contains(key));
        changed.labels.check()?;
        changed.tags.extend(self.add_tags.iter().cloned());
        changed.tags.retain(|tag| !self.remove_tags.contains(tag));
        changed.tags.sort();
        changed.tags.dedup();
        check_tags("tags", &changed.tags)?;
        if let Some(rules) = &self.rules {
            changed.authorization.clone_from(rules);
        }
        for rule in &self.set_rules {
            changed.authorization.retain(|before| before.user != rule.user);
            changed.authorization.push(rule.clone());
        }
        changed.authorization.retain(|rule| !self.unset_rules.contains(&rule.user));
        ExecutorRule::check_all(&changed.authorization)?;
        set_text(&mut changed.friendly_name, self.friendly_name.as_ref());
        set_text(&mut changed.owner, self.owner.as_ref());
        Ok(changed)
    }
}

fn set_text(to: &mut Option<String>, text: Option<&String>) {
    if let Some(text) = text {
        *to = Some(text.clone()).filter(|text| !text.is_empty());
    }
}

/// Why an executor could not be changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeRefused {
    /// It would break a rule.
    Invalid(Invalid),
    /// Its status does not let it.
    Status(String),
}

impl Executor {
    /// Applies `change`, which `by` wants; returns what is to be recorded, in order. No change at
    /// all is no record.
    pub fn change(
        &mut self,
        change: &ExecutorChange,
        by: Option<&str>,
    ) -> Result<Vec<ExecutorRecord>, ChangeRefused> {
        let mut changed = change.applied(self).map_err(ChangeRefused::Invalid)?;
        let mut records = Vec::new();
        if changed != *self {
            let said = ExecutorChange { status: None, ..change.clone() };
            records.push((ExecutorEvent::CHANGED, record(by, Some(&said))?));
        }
        if let Some(to) = change.status
            && self.status.change(to).map_err(ChangeRefused::Status)?
        {
            changed.status = to;
            records.push((ExecutorEvent::of_status(to), record(by, None)?));
        }
        *self = changed;
        Ok(records)
    }
}

/// The data of a record.
fn record(by: Option<&str>, change: Option<&ExecutorChange>) -> Result<RawJson, ChangeRefused> {
    #[derive(Serialize)]
    struct Said<'a> {
        #[serde(skip_serializing_if = "Option::is_none")]
        by: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        change: Option<&'a ExecutorChange>,
    }
    RawJson::of(&Said { by, change }).map_err(ChangeRefused::Invalid)
}

/// What is to be recorded of an executor: the kind of an [`ExecutorEvent`], and its data.
pub type ExecutorRecord = (&'static str, RawJson);

/// Something that happened to an executor, or to a peer that said it was one. It is kept when the
/// executor has gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutorEvent {
    /// Its number; they rise, with gaps.
    pub number: u64,
    /// The executor.
    pub executor_id: ExecutorId,
    /// What happened; open text.
    pub kind: String,
    /// What is known of it.
    pub data: RawJson,
    /// When.
    pub at: Timestamp,
}

impl ExecutorEvent {
    /// It enrolled for the first time.
    pub const ENROLLED: &'static str = "enrolled";
    /// It enrolled again, with something new.
    pub const RE_ENROLLED: &'static str = "re_enrolled";
    /// The operator changed something about it.
    pub const CHANGED: &'static str = "changed";
    /// It was enabled.
    pub const ENABLED: &'static str = "enabled";
    /// It takes nothing new.
    pub const DRAINING: &'static str = "draining";
    /// It was disabled.
    pub const DISABLED: &'static str = "disabled";
    /// It was revoked.
    pub const REVOKED: &'static str = "revoked";
    /// It was forgotten.
    pub const REMOVED: &'static str = "removed";
    /// What it reported of runs that are not its own any more was not kept.
    pub const STALE_REPORT: &'static str = "stale_report";

    fn of_status(status: ExecutorStatus) -> &'static str {
        match status {
            ExecutorStatus::Active => Self::ENABLED,
            ExecutorStatus::Draining => Self::DRAINING,
            ExecutorStatus::Disabled => Self::DISABLED,
            ExecutorStatus::Revoked => Self::REVOKED,
        }
    }

    /// Refuses a kind and data that cannot be stored.
    pub fn check(kind: &str, data: &RawJson) -> Result<(), Invalid> {
        check_filled("kind", kind, LABEL_BYTES_MAX)?;
        let bytes = data.as_str().len();
        if bytes > EXECUTOR_JSON_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {EXECUTOR_JSON_BYTES_MAX} are allowed");
            return Err(Invalid::new("data", reason));
        }
        Ok(())
    }
}
