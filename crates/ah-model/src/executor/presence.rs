//! Who is connected, as one access point sees it. Nothing of it is kept: an access point that begins
//! again knows nobody until they come.
//!
//! Times are spans and no moments: who reads them may have another clock.

use serde::{Deserialize, Serialize};

use super::ExecutorId;
use crate::RunId;
use crate::word::words;

/// An executor that is connected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct ExecutorPresence {
    /// Who it is.
    pub executor_id: ExecutorId,
    /// The registration that its connection is of.
    pub generation: u64,
    /// How good its connection is.
    pub quality: Quality,
    /// How long a round trip takes, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<u32>,
    /// For how long it has been connected.
    pub connected_for_ms: u64,
    /// How long ago it was last heard.
    pub heard_ago_ms: u64,
    /// How many heartbeats came.
    pub heartbeats: u64,
    /// How busy it is.
    pub load: Load,
    /// How many runs it could take besides those it has.
    pub room: u32,
    /// How many runs were not as the store has them when that was last looked at; what stays so is
    /// mended.
    pub drift: u32,
    /// What it holds.
    pub runs: Vec<PresentRun>,
}

/// A run that an executor that is connected holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PresentRun {
    /// The run.
    pub run_id: RunId,
    /// Of its claim.
    pub epoch: u64,
    /// What the executor says of it: starting, running, paused, stopping, ended; nothing yet when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// How long the store keeps it for the executor, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_left_ms: Option<u64>,
}

/// How much of a machine is in use; what cannot be told is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Load {
    /// Share of all cores, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<f64>,
    /// Memory that is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_free_bytes: Option<u64>,
    /// Storage that is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage_free_bytes: Option<u64>,
}

words!(
    /// How good a connection is.
    Quality, "connection quality", {
        /// Heartbeats come as agreed, and quickly.
        Good = "good",
        /// A heartbeat is missing, or round trips take long.
        Poor = "poor",
        /// Several heartbeats are missing.
        Bad = "bad",
    }
);
