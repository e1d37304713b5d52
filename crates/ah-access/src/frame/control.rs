//! The frames of the control stream: a greeting, signs of life, a farewell.

use ah_model::limits::{
    LABEL_BYTES_MAX, LEASE_MS_MAX, LEASE_MS_MIN, RENEW_RUNS_MAX, SHORT_TEXT_BYTES_MAX,
};
use ah_model::{
    ExecutorId, Invalid, Load, Machine, NewExecutor, Offer, OutboxId, RawJson, RunId, Timestamp,
};
use serde::{Deserialize, Serialize};

use super::bounded::{check_count, check_filled, check_optional, check_within, list};
use super::word::open_words;
use super::{Body, FrameKind};

/// Most runs that one executor holds.
pub(super) const HELD_MAX: usize = RENEW_RUNS_MAX;
/// Heartbeats come no more often than this.
const HEARTBEAT_MS_MIN: u64 = 100;
/// Heartbeats come no more seldom than this.
const HEARTBEAT_MS_MAX: u64 = 10 * 60 * 1_000;
/// Most heartbeats that may be missed before a connection counts as lost.
const HEARTBEATS_MISSED_MAX: u64 = 1_000;
/// Most requests of an executor that are open at a time.
const REQUESTS_MAX: u64 = 4_096;

/// An executor says who it is and what it has. The first frame of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hello {
    /// The highest version of the protocol that it speaks.
    pub protocol: u8,
    /// Who it says it is; what its certificate says decides.
    pub executor_id: ExecutorId,
    /// The program and its version.
    pub software: String,
    /// Where its identity comes from: files, exec, vault or spiffe.
    pub identity_provider: String,
    /// What runs may demand of it.
    #[serde(default)]
    pub offer: Offer,
    /// Its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// What else it says of itself: system, cores, memory, agents on its path.
    #[serde(default = "RawJson::null")]
    pub details: RawJson,
    /// How many runs it works on at a time.
    pub capacity: u32,
    /// Where its reports are kept until they are acknowledged.
    pub outbox: Outbox,
    /// The runs it believes to hold.
    #[serde(default, deserialize_with = "list::<_, _, HELD_MAX>")]
    pub held: Vec<Held>,
}

/// An outbox and how far it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outbox {
    /// Its name; an executor that lost its outbox makes another.
    pub id: OutboxId,
    /// The number of its newest report; 0 when there is none.
    pub last_seq: u64,
}

/// A run that an executor holds, by the epoch of its lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
}

impl Body for Hello {
    const KIND: FrameKind = FrameKind::Hello;

    fn check(&self) -> Result<(), Invalid> {
        check_filled("software", &self.software, LABEL_BYTES_MAX)?;
        check_filled("identityProvider", &self.identity_provider, LABEL_BYTES_MAX)?;
        check_count("held", self.held.len(), HELD_MAX)?;
        let (id, offer) = (self.executor_id.clone(), self.offer.clone());
        NewExecutor { id, offer, details: self.details.clone() }.check()
    }
}

/// The access point takes the executor, and says how they go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ack {
    /// The version that both speak from here on: the lower of the two highest.
    pub protocol: u8,
    /// The access point's name.
    pub server_id: String,
    /// Rises with every connection of this executor; frames of an older one do not count.
    pub epoch: u64,
    /// The access point's time, for the measure of clocks only.
    pub now: Timestamp,
    /// How they go on.
    pub config: ConnectionConfig,
    /// Reports of this outbox are kept up to this number.
    pub reported_seq: u64,
    /// Runs of the greeting that are no longer the executor's: end them, report nothing more.
    #[serde(default, deserialize_with = "list::<_, _, HELD_MAX>")]
    pub lost: Vec<Held>,
}

/// What the access point asks of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionConfig {
    /// How often a heartbeat must come.
    pub heartbeat_ms: u64,
    /// How many may be missed before the connection counts as lost.
    pub heartbeats_missed_max: u64,
    /// How long a lease lasts without a heartbeat.
    pub lease_ms: u64,
    /// How many requests are open at a time.
    pub requests_max: u64,
    /// How many reports may be sent that are not acknowledged.
    pub reports_max: u64,
}

impl ConnectionConfig {
    /// Refuses what is out of bounds.
    pub fn check(&self) -> Result<(), Invalid> {
        let beat = (HEARTBEAT_MS_MIN, HEARTBEAT_MS_MAX);
        check_within("config.heartbeatMs", self.heartbeat_ms, beat)?;
        let missed = (1, HEARTBEATS_MISSED_MAX);
        check_within("config.heartbeatsMissedMax", self.heartbeats_missed_max, missed)?;
        check_within("config.leaseMs", self.lease_ms, (LEASE_MS_MIN, LEASE_MS_MAX))?;
        check_within("config.requestsMax", self.requests_max, (1, REQUESTS_MAX))?;
        check_within("config.reportsMax", self.reports_max, (1, u64::from(u32::MAX)))
    }
}

impl Body for Ack {
    const KIND: FrameKind = FrameKind::Ack;

    fn check(&self) -> Result<(), Invalid> {
        check_filled("serverId", &self.server_id, SHORT_TEXT_BYTES_MAX)?;
        check_count("lost", self.lost.len(), HELD_MAX)?;
        self.config.check()
    }
}

/// The executor lives, and holds these runs: their leases are renewed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// The number of the heartbeat on this connection, from 1.
    pub beat: u64,
    /// The executor's time, for the measure of clocks only.
    pub sent_at: Timestamp,
    /// How long the executor has run.
    pub uptime_ms: u64,
    /// How much of the machine is in use.
    #[serde(default)]
    pub load: Load,
    /// The runs it holds.
    #[serde(default, deserialize_with = "list::<_, _, HELD_MAX>")]
    pub held: Vec<HeldRun>,
}

/// A run that an executor holds, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldRun {
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// How it stands.
    pub state: HeldState,
}

open_words! {
    /// How a run stands on its executor.
    HeldState {
        /// Being made ready.
        Starting = "starting",
        /// At work.
        Running = "running",
        /// Held still.
        Paused = "paused",
        /// Being ended.
        Stopping = "stopping",
        /// Over, and its end is not acknowledged yet.
        Ended = "ended",
    }
}

impl Body for Heartbeat {
    const KIND: FrameKind = FrameKind::Heartbeat;

    fn check(&self) -> Result<(), Invalid> {
        let is_share = |cpu: &f64| (0.0..=1.0).contains(cpu);
        if let Some(cpu) = self.load.cpu.filter(|cpu| !is_share(cpu)) {
            return Err(Invalid::new("load.cpu", format!("{cpu}, 0 to 1 is allowed")));
        }
        check_count("held", self.held.len(), HELD_MAX)
    }
}

/// A heartbeat was heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatAck {
    /// The number of the heartbeat.
    pub beat: u64,
    /// The access point's time, for the measure of clocks only.
    pub now: Timestamp,
    /// How long the store surely keeps every run of the heartbeat for the executor, counted from
    /// when the heartbeat came; absent when it named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_left_ms: Option<u64>,
    /// Runs of the heartbeat that are no longer the executor's: end them, report nothing more.
    #[serde(default, deserialize_with = "list::<_, _, HELD_MAX>")]
    pub lost: Vec<Held>,
}

impl Body for HeartbeatAck {
    const KIND: FrameKind = FrameKind::HeartbeatAck;

    fn check(&self) -> Result<(), Invalid> {
        check_count("lost", self.lost.len(), HELD_MAX)
    }
}

/// The sender goes. Leases stand until they are over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Goodbye {
    /// Why.
    pub reason: GoodbyeReason,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When the other side may come again; at once when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

open_words! {
    /// Why a side goes.
    GoodbyeReason {
        /// Its program ends.
        Shutdown = "shutdown",
        /// Its certificate was renewed: it comes again with the new one.
        Rotation = "rotation",
        /// The executor takes no more runs, and has none left.
        Drained = "drained",
        /// The same executor has another, newer connection.
        Replaced = "replaced",
        /// Nothing was heard for too long.
        Silent = "silent",
        /// The other side sent what it must not send.
        Protocol = "protocol",
        /// The executor was disabled or revoked.
        Revoked = "revoked",
    }
}

impl Body for Goodbye {
    const KIND: FrameKind = FrameKind::Goodbye;

    fn check(&self) -> Result<(), Invalid> {
        check_optional("detail", self.detail.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// The access point does not take the executor. The last frame of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refused {
    /// Why.
    pub reason: RefusedReason,
    /// In words, with the command that helps.
    pub detail: String,
    /// When it may come again; when absent, not before somebody has changed something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

open_words! {
    /// Why an executor is not taken.
    RefusedReason {
        /// Its certificate is not accepted.
        Identity = "identity",
        /// The greeting names another executor than the certificate.
        IdentityMismatch = "identity-mismatch",
        /// It was revoked.
        Revoked = "revoked",
        /// It was disabled.
        Disabled = "disabled",
        /// No version of the protocol is common.
        Version = "version",
        /// The first frame was no greeting, or a bad one.
        Protocol = "protocol",
        /// The access point has no room.
        Busy = "busy",
    }
}

impl Body for Refused {
    const KIND: FrameKind = FrameKind::Refused;

    fn check(&self) -> Result<(), Invalid> {
        check_filled("detail", &self.detail, SHORT_TEXT_BYTES_MAX)
    }
}
