//! Executors: machines that run sessions, what they offer, and what a run demands of them.

mod change;
mod enrolment;
mod id;
mod machine;
mod offer;
mod presence;
mod rule;
mod status;
mod taker;

use serde::{Deserialize, Serialize};

pub use self::change::{ChangeRefused, ExecutorChange, ExecutorEvent, ExecutorRecord};
pub use self::enrolment::{Enrolment, TOKEN_PROVIDER};
pub use self::id::ExecutorId;
pub use self::machine::{Gpu, Machine};
pub use self::offer::{Demands, Offer};
pub use self::presence::{ExecutorPresence, Load, PresentRun, Quality};
pub use self::rule::{EVERYBODY, ExecutorRule, ExecutorVerb, allows};
pub use self::status::ExecutorStatus;
pub use self::taker::{Taker, WhyNot, may_take};
use crate::limits::EXECUTOR_JSON_BYTES_MAX;
use crate::{Invalid, Labels, RawJson, Timestamp};

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
    /// Where its identity comes from: files, exec, vault or spiffe; token if it only registered.
    pub identity_provider: String,
    /// What is known of its identity.
    pub identity: RawJson,
    /// What people call it.
    pub friendly_name: Option<String>,
    /// Whose it is.
    pub owner: Option<String>,
    /// Its machine, once it has enrolled.
    pub machine: Option<Machine>,
    /// What the operator says of it.
    pub labels: Labels,
    /// Tags that the operator gave it, besides those that it offers; sorted.
    pub tags: Vec<String>,
    /// Who may do what with it; everybody everything when there is none.
    pub authorization: Vec<ExecutorRule>,
    /// What the operator lets it do.
    pub status: ExecutorStatus,
    /// How many runs it works on at a time, if it said so.
    pub capacity: Option<u32>,
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

/// Which executors of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecutorFilter {
    /// In one of these statuses; in any when empty.
    pub statuses: Vec<ExecutorStatus>,
    /// With all of these tags, whoever gave them.
    pub tags: Vec<String>,
    /// With all of these labels.
    pub labels: Labels,
}

impl ExecutorFilter {
    /// Whether `executor` is one of them.
    pub fn matches(&self, executor: &Executor) -> bool {
        let has_tag =
            |tag: &String| executor.tags.contains(tag) || executor.offer.tags.contains(tag);
        let has_label =
            |(key, value): (&String, &String)| executor.labels.0.get(key) == Some(value);
        (self.statuses.is_empty() || self.statuses.contains(&executor.status))
            && self.tags.iter().all(has_tag)
            && self.labels.0.iter().all(has_label)
    }
}
