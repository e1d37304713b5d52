//! What people see of those who are connected.

use ah_model::{ExecutorPresence, PresentRun, RawJson};

use super::{Point, Presence};
use crate::identity::Certificate;
use crate::link::Link;
use crate::moment::Moment;

impl Point {
    /// What people see of an executor.
    pub fn view(&self, presence: &Presence, now: Moment) -> ExecutorPresence {
        let runs = presence.assignments.iter().map(|(id, held)| PresentRun {
            run_id: id.clone(),
            epoch: held.epoch,
            state: held.state.map(|state| state.as_str().to_owned()),
            lease_left_ms: held.lease_until_ms.map(|until| until.saturating_sub(now.ms)),
        });
        ExecutorPresence {
            executor_id: presence.executor.id.clone(),
            generation: presence.executor.generation,
            quality: presence.quality(&self.options.connection, now.ms),
            rtt_ms: presence.rtt_ms,
            connected_for_ms: now.ms.saturating_sub(presence.connected_ms),
            heard_ago_ms: now.ms.saturating_sub(presence.heard_ms),
            heartbeats: presence.beats,
            load: presence.load.clone(),
            room: presence.room(),
            drift: u32::try_from(presence.suspects.len()).unwrap_or(u32::MAX),
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
