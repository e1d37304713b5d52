//! Executors: machines that run sessions, what they offer, and what a run demands of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{
    EXECUTOR_ID_BYTES_MAX, EXECUTOR_JSON_BYTES_MAX, SHORT_TEXT_BYTES_MAX, TAGS_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::{Invalid, RawJson, SessionDetails, Timestamp};

/// Names an executor: 1 to 512 visible ASCII characters, such as a SPIFFE ID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExecutorId(String);

impl ExecutorId {
    /// The id as it is stored and printed.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ExecutorId {
    type Error = Invalid;

    fn try_from(text: String) -> Result<Self, Invalid> {
        if text.is_empty() || text.len() > EXECUTOR_ID_BYTES_MAX {
            let reason = format!("{} bytes, 1 to {EXECUTOR_ID_BYTES_MAX} are allowed", text.len());
            return Err(Invalid::new("executor id", reason));
        }
        match text.chars().find(|c| !c.is_ascii_graphic()) {
            Some(bad) => {
                Err(Invalid::new("executor id", format!("`{}` in {text:?}", bad.escape_default())))
            }
            None => Ok(Self(text)),
        }
    }
}

impl FromStr for ExecutorId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::try_from(text.to_owned())
    }
}

impl From<ExecutorId> for String {
    fn from(id: ExecutorId) -> Self {
        id.0
    }
}

impl fmt::Display for ExecutorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a run demands: each part that is given must be offered as it is, and every tag.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Demands {
    /// The machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// The directory the executor serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_dir: Option<String>,
    /// The executor's profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor_profile: Option<String>,
    /// The executor's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor_type: Option<String>,
    /// Tags it must have, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(max = TAGS_MAX), inner(length(min = 1, max = crate::limits::LABEL_BYTES_MAX)))
    )]
    pub tags: Vec<String>,
}

impl Demands {
    /// Refuses texts that cannot be stored and too many tags.
    pub fn check(&self) -> Result<(), Invalid> {
        let texts = [
            ("demands.hostname", &self.hostname),
            ("demands.projectDir", &self.project_dir),
            ("demands.executorProfile", &self.executor_profile),
            ("demands.executorType", &self.executor_type),
        ];
        for (field, text) in texts {
            check_optional(field, text.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        }
        check_tags("demands.tags", &self.tags)
    }

    /// Whether nothing is demanded.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// These, and where they are silent the host and profile that ran the session before.
    pub fn or_affinity(self, before: &SessionDetails) -> Self {
        Self {
            hostname: self.hostname.or_else(|| before.hostname.clone()),
            executor_profile: self.executor_profile.or_else(|| before.executor_profile.clone()),
            ..self
        }
    }

    /// These, and where they are silent `other`; tags of both.
    pub fn or(self, other: Self) -> Self {
        let mut tags = self.tags;
        tags.extend(other.tags);
        tags.sort();
        tags.dedup();
        Self {
            hostname: self.hostname.or(other.hostname),
            project_dir: self.project_dir.or(other.project_dir),
            executor_profile: self.executor_profile.or(other.executor_profile),
            executor_type: self.executor_type.or(other.executor_type),
            tags,
        }
    }
}

/// What an executor offers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Offer {
    /// Its machine.
    pub hostname: Option<String>,
    /// The directory it serves.
    pub project_dir: Option<String>,
    /// Its profile.
    pub executor_profile: Option<String>,
    /// Its type.
    pub executor_type: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether it takes only runs that demand one of its tags.
    pub require_matching_tags: bool,
}

impl Offer {
    /// Refuses texts that cannot be stored and too many tags.
    pub fn check(&self) -> Result<(), Invalid> {
        let texts = [
            ("hostname", &self.hostname),
            ("projectDir", &self.project_dir),
            ("executorProfile", &self.executor_profile),
            ("executorType", &self.executor_type),
        ];
        for (field, text) in texts {
            check_optional(field, text.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        }
        check_tags("tags", &self.tags)
    }

    /// Whether a run with `demands` may be taken.
    pub fn meets(&self, demands: &Demands) -> bool {
        let same =
            |demand: &Option<String>, offer: &Option<String>| demand.is_none() || demand == offer;
        let has = |tag: &String| self.tags.contains(tag);
        same(&demands.hostname, &self.hostname)
            && same(&demands.project_dir, &self.project_dir)
            && same(&demands.executor_profile, &self.executor_profile)
            && same(&demands.executor_type, &self.executor_type)
            && demands.tags.iter().all(has)
            && (!self.require_matching_tags || demands.tags.iter().any(has))
    }
}

fn check_tags(field: &'static str, tags: &[String]) -> Result<(), Invalid> {
    if tags.len() > TAGS_MAX {
        let reason = format!("{} tags, at most {TAGS_MAX} are allowed", tags.len());
        return Err(Invalid::new(field, reason));
    }
    tags.iter().try_for_each(|tag| check_filled(field, tag, crate::limits::LABEL_BYTES_MAX))
}

/// An executor to register; the same id again replaces what was known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewExecutor {
    /// Its id.
    pub id: ExecutorId,
    /// What it offers.
    #[serde(default)]
    pub offer: Offer,
    /// What else it says of itself.
    #[serde(default = "RawJson::null")]
    pub details: RawJson,
}

impl NewExecutor {
    /// Refuses an offer that breaks its rule and details that are too large.
    pub fn check(&self) -> Result<(), Invalid> {
        self.offer.check()?;
        let bytes = self.details.as_str().len();
        if bytes > EXECUTOR_JSON_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {EXECUTOR_JSON_BYTES_MAX} are allowed");
            return Err(Invalid::new("details", reason));
        }
        Ok(())
    }
}

/// An executor the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Executor {
    /// Its id.
    pub id: ExecutorId,
    /// What it offers.
    pub offer: Offer,
    /// What else it says of itself.
    pub details: RawJson,
    /// Rises with every registration.
    pub generation: u64,
    /// When it was first registered.
    pub created_at: Timestamp,
    /// When it was last registered.
    pub registered_at: Timestamp,
    /// When it was last heard of, within [`crate::limits::SEEN_EVERY_MS`].
    pub seen_at: Timestamp,
    /// When somebody asked it to go.
    pub removal_requested_at: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Offer {
        Offer {
            hostname: Some("h".to_owned()),
            tags: vec!["gpu".to_owned(), "eu".to_owned()],
            ..Offer::default()
        }
    }

    fn tagged(tags: &[&str]) -> Demands {
        Demands { tags: tags.iter().map(ToString::to_string).collect(), ..Demands::default() }
    }

    #[test]
    fn every_demand_must_be_offered() {
        assert!(offer().meets(&Demands::default()));
        assert!(offer().meets(&tagged(&["eu", "gpu"])));
        assert!(!offer().meets(&tagged(&["eu", "arm"])));
        let here = Demands { hostname: Some("h".to_owned()), ..Demands::default() };
        assert!(offer().meets(&here));
        let profile = Demands { executor_profile: Some("p".to_owned()), ..here };
        assert!(!offer().meets(&profile), "what is not offered is not met");
    }

    #[test]
    fn a_choosy_executor_takes_only_runs_with_one_of_its_tags() {
        let choosy = Offer { require_matching_tags: true, ..offer() };
        assert!(!choosy.meets(&Demands::default()));
        assert!(choosy.meets(&tagged(&["eu"])));
    }
}
