//! An executor that is connected, as the access point knows it. In memory only.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ah_model::{Executor, Lease, OutboxId, Quality, ReportItem, RequestId, Run, RunId, SessionId};

use super::request::Open;
use crate::frame::{ConnectionConfig, Held, HeldState, Load};

/// An executor that is connected.
#[derive(Debug)]
pub struct Presence {
    /// What the store has of it, without its details.
    pub executor: Executor,
    /// The version that both speak.
    pub protocol: u8,
    /// When it came.
    pub connected_ms: u64,
    /// When it was last heard.
    pub heard_ms: u64,
    /// How many heartbeats came; the number of the last.
    pub beats: u64,
    /// How long a round trip takes.
    pub rtt_ms: Option<u32>,
    /// How busy it is.
    pub load: Load,
    /// What it holds.
    pub assignments: BTreeMap<RunId, Assignment>,
    /// The outbox whose reports come on this connection.
    pub(super) outbox: OutboxId,
    /// Requests that are not answered.
    pub(super) requests: BTreeMap<RequestId, Open>,
    /// Runs that are no longer its own; told with the next heartbeat.
    pub(super) lost: Vec<Held>,
    /// Claims on their way.
    pub(super) claiming: BTreeMap<RunId, Claiming>,
    /// When leases are prolonged next; `None` while they are.
    pub(super) renew_ms: Option<u64>,
    /// When it is compared with the store next; `None` while it is.
    pub(super) audit_ms: Option<u64>,
    /// What seemed wrong at the last comparison.
    pub(super) suspects: Vec<Held>,
    /// Reports that came; the first is with the store while `taking`.
    pub(super) reports: VecDeque<Vec<ReportItem>>,
    pub(super) taking: Taking,
    /// Runs it would not take, and until when it is not asked again.
    pub(super) avoid: BTreeMap<RunId, u64>,
}

/// Whether the store has the first report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taking {
    No,
    Now,
    /// It failed; again from then on.
    Again {
        at_ms: u64,
    },
}

/// A run that is being claimed for an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claiming {
    pub(super) session_id: SessionId,
    pub(super) is_hold: bool,
}

/// A run that an executor holds, or was asked to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Of its claim.
    pub epoch: u64,
    /// The session.
    pub session_id: SessionId,
    /// It only holds the executor for a member of a fleet, and needs no place for a program.
    pub is_hold: bool,
    /// What the executor says of it; nothing before the first heartbeat that names it.
    pub state: Option<HeldState>,
    /// How long the store keeps it for the executor, by this side's clock; not known of what it held
    /// before it came here, until the store has prolonged it.
    pub lease_until_ms: Option<u64>,
    /// The number of the last heartbeat that named it, or that came before it was given.
    pub named_beat: u64,
    /// When it was last asked to stop.
    pub stop_asked_ms: Option<u64>,
}

impl Assignment {
    /// Of a run that is given after heartbeat `beat`.
    pub(super) fn new(run: &Run, lease_until_ms: Option<u64>, beat: u64) -> Self {
        Self {
            epoch: run.lease_epoch,
            session_id: run.session_id.clone(),
            is_hold: run.is_hold(),
            state: None,
            lease_until_ms,
            named_beat: beat,
            stop_asked_ms: None,
        }
    }

    pub(super) fn lease(&self, run_id: &RunId) -> Lease {
        Lease { run_id: run_id.clone(), epoch: self.epoch }
    }
}

/// After so many heartbeats without it, a run that was given is looked for.
const UNNAMED_BEATS: u64 = 2;
/// A round trip that takes longer is poor.
const RTT_POOR_MS: u32 = 500;

impl Presence {
    /// How good its connection is at `now_ms`.
    pub fn quality(&self, config: &ConnectionConfig, now_ms: u64) -> Quality {
        let missed = now_ms.saturating_sub(self.heard_ms) / config.heartbeat_ms.max(1);
        match missed {
            0 | 1 if self.rtt_ms.is_none_or(|rtt| rtt <= RTT_POOR_MS) => Quality::Good,
            0..=2 => Quality::Poor,
            _ => Quality::Bad,
        }
    }

    /// How many runs it could take besides those it has. Those that only hold it for a fleet need
    /// no room.
    pub fn room(&self) -> u32 {
        let held = self.assignments.values().filter(|held| !held.is_hold).count();
        let claiming = self.claiming.values().filter(|claim| !claim.is_hold).count();
        let taken = u32::try_from(held + claiming).unwrap_or(u32::MAX);
        self.executor.capacity.unwrap_or(0).saturating_sub(taken)
    }

    /// The sessions whose fleets it is in.
    pub(super) fn fleets(&self) -> BTreeSet<&SessionId> {
        let held = self.assignments.values().filter(|held| held.is_hold);
        let claiming = self.claiming.values().filter(|claim| claim.is_hold);
        let held = held.map(|held| &held.session_id);
        held.chain(claiming.map(|claim| &claim.session_id)).collect()
    }

    pub(super) fn silent_at(&self, config: &ConnectionConfig) -> u64 {
        self.heard_ms + config.heartbeat_ms * config.heartbeats_missed_max
    }

    /// Whether the executor has lived on for a while without naming a run. Counted in its heartbeats:
    /// one that is only late is not taken for one that has forgotten.
    pub(super) fn is_unnamed(&self, assignment: &Assignment) -> bool {
        self.beats > assignment.named_beat + UNNAMED_BEATS
    }

    /// The run is not its own any more: it hears so with its next heartbeat.
    pub(super) fn lose(&mut self, run_id: &RunId, epoch: u64) {
        if self.assignments.get(run_id).is_some_and(|held| held.epoch == epoch) {
            self.assignments.remove(run_id);
        }
        let lost = Held { run_id: run_id.clone(), epoch };
        if !self.lost.contains(&lost) {
            self.lost.push(lost);
        }
    }
}
