//! What an executor offers of itself, and what a run demands of it.

use serde::{Deserialize, Serialize};

use crate::limits::{LABEL_BYTES_MAX, SHORT_TEXT_BYTES_MAX, TAGS_MAX};
use crate::text::{check_filled, check_optional};
use crate::{ExecutorId, Invalid, Labels, SessionDetails};

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
        schemars(length(max = TAGS_MAX), inner(length(min = 1, max = LABEL_BYTES_MAX)))
    )]
    pub tags: Vec<String>,
    /// The executor itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executor_id: Option<ExecutorId>,
    /// Labels it must have, all of them.
    #[serde(skip_serializing_if = "no_labels")]
    pub labels: Labels,
    /// An agent program it must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Its operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<String>,
    /// Its architecture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub architecture: Option<String>,
    /// Cores it must have at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_cores: Option<u32>,
    /// Memory it must have at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}

fn no_labels(labels: &Labels) -> bool {
    labels.0.is_empty()
}

impl Demands {
    /// Refuses texts that cannot be stored and too many tags.
    pub fn check(&self) -> Result<(), Invalid> {
        let texts = [
            ("demands.hostname", &self.hostname),
            ("demands.projectDir", &self.project_dir),
            ("demands.executorProfile", &self.executor_profile),
            ("demands.executorType", &self.executor_type),
            ("demands.agent", &self.agent),
            ("demands.os", &self.os),
            ("demands.architecture", &self.architecture),
        ];
        for (field, text) in texts {
            check_optional(field, text.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        }
        self.labels.check()?;
        check_tags("demands.tags", &self.tags)
    }

    /// Whether all that is demanded stands in offers.
    fn asks_only_of_offers(&self) -> bool {
        self.executor_id.is_none()
            && self.labels.0.is_empty()
            && self.agent.is_none()
            && self.os.is_none()
            && self.architecture.is_none()
            && self.cpu_cores.is_none()
            && self.memory_bytes.is_none()
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

    /// These, and where they are silent `other`; tags and labels of both.
    pub fn or(self, other: Self) -> Self {
        let mut tags = self.tags;
        tags.extend(other.tags);
        tags.sort();
        tags.dedup();
        let mut labels = other.labels;
        labels.0.extend(self.labels.0);
        Self {
            hostname: self.hostname.or(other.hostname),
            project_dir: self.project_dir.or(other.project_dir),
            executor_profile: self.executor_profile.or(other.executor_profile),
            executor_type: self.executor_type.or(other.executor_type),
            tags,
            executor_id: self.executor_id.or(other.executor_id),
            labels,
            agent: self.agent.or(other.agent),
            os: self.os.or(other.os),
            architecture: self.architecture.or(other.architecture),
            cpu_cores: self.cpu_cores.or(other.cpu_cores),
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
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

    /// Whether a run with `demands` may be taken by somebody of whom nothing else is known: no
    /// label, no machine, no name.
    pub fn meets(&self, demands: &Demands) -> bool {
        let same =
            |demand: &Option<String>, offer: &Option<String>| demand.is_none() || demand == offer;
        let has = |tag: &String| self.tags.contains(tag);
        demands.asks_only_of_offers()
            && same(&demands.hostname, &self.hostname)
            && same(&demands.project_dir, &self.project_dir)
            && same(&demands.executor_profile, &self.executor_profile)
            && same(&demands.executor_type, &self.executor_type)
            && demands.tags.iter().all(has)
            && (!self.require_matching_tags || demands.tags.iter().any(has))
    }
}

pub(super) fn check_tags(field: &'static str, tags: &[String]) -> Result<(), Invalid> {
    if tags.len() > TAGS_MAX {
        let reason = format!("{} tags, at most {TAGS_MAX} are allowed", tags.len());
        return Err(Invalid::new(field, reason));
    }
    tags.iter().try_for_each(|tag| check_filled(field, tag, LABEL_BYTES_MAX))
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
