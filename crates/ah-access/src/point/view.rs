//! What people see of those who are connected.

use ah_model::{ExecutorId, RawJson, RunId};
use serde::Serialize;

use super::{Point, Presence};
use crate::frame::{HeldState, Load};
use crate::identity::Certificate;
use crate::link::Link;
use crate::moment::Moment;

/// An executor that is connected, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutorView {
    /// Who it is.
    pub executor_id: ExecutorId,
    /// Of its connection.
    pub generation: u64,
    /// `good`, `poor` or `bad`.
    pub quality: &'static str,
    /// How long a round trip takes.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// What it holds.
    pub runs: Vec<RunView>,
}

/// A run that an executor holds, as people see it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The run.
    pub run_id: RunId,
    /// Of its claim.
    pub epoch: u64,
    /// What the executor says of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<HeldState>,
    /// How long the store keeps it for the executor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_left_ms: Option<u64>,
}

impl Point {
    /// What people see of an executor.
    pub fn view(&self, presence: &Presence, now: Moment) -> ExecutorView {
        let runs = presence.assignments.iter().map(|(id, held)| RunView {
            run_id: id.clone(),
            epoch: held.epoch,
            state: held.state,
            lease_left_ms: held.lease_until_ms.map(|until| until.saturating_sub(now.ms)),
        });
        ExecutorView {
            executor_id: presence.executor.id.clone(),
            generation: presence.executor.generation,
            quality: presence.quality(&self.options.connection, now.ms).as_str(),
            rtt_ms: presence.rtt_ms,
            connected_for_ms: now.ms.saturating_sub(presence.connected_ms),
            heard_ago_ms: now.ms.saturating_sub(presence.heard_ms),
            heartbeats: presence.beats,
            load: presence.load.clone(),
            room: presence.room(),
            runs: runs.collect(),
        }
    }
}

/// What a peer's certificate says, to be kept with its enrolment.
pub(super) fn identity_of(link: &Link) -> RawJson {
    let Some(certificate) = link.chain().first().and_then(|der| Certificate::parse(der).ok())
    else {
        return RawJson::null();
    };
    let identity = serde_json::json!({
        "serial": certificate.serial,
        "notBefore": certificate.not_before,
        "notAfter": certificate.not_after,
        "publicKeySha256": certificate.spki_sha256,
    });
    RawJson::of(&identity).unwrap_or_else(|_| RawJson::null())
}
