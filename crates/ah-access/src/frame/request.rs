//! What an access point asks of an executor, each on a stream of its own, and how it is answered.
//!
//! A request is done at most once per id: an executor that sees an id again answers as before. Who
//! drops the stream takes the request back.

use std::collections::BTreeMap;

use ah_model::limits::{
    JSON_DEPTH_MAX, LEASE_MS_MAX, LEASE_MS_MIN, PROMPT_BYTES_MAX, RUN_RESULT_BYTES_MAX,
    RUN_TIMEOUT_MS_MAX, SHORT_TEXT_BYTES_MAX,
};
use ah_model::{FenceId, Invalid, MemberName, RawJson, RequestId, RunId, RunKind, SessionId};
use serde::{Deserialize, Serialize};

use super::bounded::{check_count, check_filled, check_optional, check_within, list, texts};
use super::word::open_words;
use super::{Body, Frame, FrameKind};

/// Longest time that a request may take: an hour.
const DEADLINE_MS_MAX: u64 = 60 * 60 * 1_000;
/// Longest time between the request to end and the end by force.
const GRACE_MS_MAX: u64 = 60 * 60 * 1_000;
/// Most arguments of a process.
const ARGUMENTS_MAX: usize = 1_024;
/// Most variables of a process.
const VARIABLES_MAX: usize = 1_024;

/// What every request begins with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestHead {
    /// Names the request; the same again is the same request.
    pub id: RequestId,
    /// How long it may take from its arrival on. Not a time of day: clocks differ.
    pub deadline_ms: u64,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// What joins it with others in logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl RequestHead {
    fn check(&self) -> Result<(), Invalid> {
        check_within("request.deadlineMs", self.deadline_ms, (1, DEADLINE_MS_MAX))?;
        check_optional("request.actor", self.actor.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        check_optional("request.trace", self.trace.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// Begin a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Launch {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim; everything said of the run shows it.
    pub epoch: u64,
    /// How long the lease lasts without a heartbeat.
    pub lease_ms: u64,
    /// The session it executes.
    pub session_id: SessionId,
    /// Begin or go on.
    pub kind: RunKind,
    /// What the executor is told, as it was queued.
    pub parameters: RawJson,
    /// The member of the session's fleet that it is for. Who leads is not said: that changes while
    /// the run goes on, and a fence tells each member what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
}

impl Launch {
    /// Whether the run only holds its executor for a member of a fleet.
    pub fn is_hold(&self) -> bool {
        ah_model::is_hold(self.member.as_ref(), &self.parameters)
    }
}

impl Body for Launch {
    const KIND: FrameKind = FrameKind::Launch;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()?;
        check_within("leaseMs", self.lease_ms, (LEASE_MS_MIN, LEASE_MS_MAX))?;
        check_json("parameters", &self.parameters, PROMPT_BYTES_MAX)
    }
}

/// End a run well: ask its process, and end it when the time is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// How long its process may take before it is killed.
    pub grace_ms: u64,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Body for Stop {
    const KIND: FrameKind = FrameKind::Stop;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()?;
        check_within("graceMs", self.grace_ms, (0, GRACE_MS_MAX))?;
        check_optional("reason", self.reason.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// End a run at once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cancel {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Body for Cancel {
    const KIND: FrameKind = FrameKind::Cancel;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()?;
        check_optional("reason", self.reason.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// Hold a run still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pause {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// How.
    pub mode: PauseMode,
}

/// How a run is held still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PauseMode {
    /// Its processes are stopped where they are.
    Suspend,
    /// Its state is written down first.
    Checkpoint,
}

impl Body for Pause {
    const KIND: FrameKind = FrameKind::Pause;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()
    }
}

/// Let a run that was held still go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resume {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
}

impl Body for Resume {
    const KIND: FrameKind = FrameKind::Resume;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()
    }
}

/// Start another process beside a run, in its directory. There is no shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispatch {
    /// The request.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// The program and its arguments.
    #[serde(deserialize_with = "list::<_, _, ARGUMENTS_MAX>")]
    pub argv: Vec<String>,
    /// Variables it has besides those of the run.
    #[serde(default, deserialize_with = "texts::<_, VARIABLES_MAX>")]
    pub env: BTreeMap<String, String>,
    /// Its directory, below the run's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How long it may run; as long as its run when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl Body for Dispatch {
    const KIND: FrameKind = FrameKind::Dispatch;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()?;
        check_count("argv", self.argv.len(), ARGUMENTS_MAX)?;
        check_count("env", self.env.len(), VARIABLES_MAX)?;
        let program = self.argv.first().map_or("", String::as_str);
        check_filled("argv", program, SHORT_TEXT_BYTES_MAX)?;
        let max = Self::KIND.body_bytes_max();
        self.argv.iter().try_for_each(|text| check_optional("argv", Some(text), max))?;
        for (name, text) in &self.env {
            check_filled("env", name, SHORT_TEXT_BYTES_MAX)?;
            if name.contains('=') {
                return Err(Invalid::new("env", format!("`=` in the name {name:?}")));
            }
            check_optional("env", Some(text), max)?;
        }
        check_within("timeoutMs", self.timeout_ms.unwrap_or(1), (1, RUN_TIMEOUT_MS_MAX))?;
        check_optional("directory", self.directory.as_deref(), SHORT_TEXT_BYTES_MAX)
    }
}

/// Reach a point that all members of a fleet reach before any goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fence {
    /// The request; its deadline is the fence's.
    pub request: RequestHead,
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// Names the fence.
    pub fence_id: FenceId,
    /// What this member does.
    pub step: FenceStep,
    /// What the leader's snapshot is called; a follower reaches it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// How many files are in it; who does not reach it says how far it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// How many bytes are in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Who leads: where a follower gets the files from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<MemberName>,
}

/// What a member does at a fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FenceStep {
    /// The leader makes a snapshot and replies with its name.
    Snapshot,
    /// A follower pulls the snapshot and replies when it has it.
    Pull,
}

impl Body for Fence {
    const KIND: FrameKind = FrameKind::Fence;

    fn check(&self) -> Result<(), Invalid> {
        self.request.check()?;
        match (self.step, &self.snapshot) {
            (FenceStep::Pull, None) => Err(Invalid::new("snapshot", "a follower needs its name")),
            (_, snapshot) => check_optional("snapshot", snapshot.as_deref(), SHORT_TEXT_BYTES_MAX),
        }
    }
}

impl Frame {
    /// What all requests begin with, if it is one.
    pub fn request_head(&self) -> Option<&RequestHead> {
        match self {
            Self::Launch(body) => Some(&body.request),
            Self::Stop(body) => Some(&body.request),
            Self::Cancel(body) => Some(&body.request),
            Self::Pause(body) => Some(&body.request),
            Self::Resume(body) => Some(&body.request),
            Self::Dispatch(body) => Some(&body.request),
            Self::Fence(body) => Some(&body.request),
            _ => None,
        }
    }
}

/// How a request ended; the last frame of its stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// The request.
    pub request_id: RequestId,
    /// How it ended.
    pub code: ReplyCode,
    /// Why it did not end well, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// What it gave: a process's number, a snapshot's name.
    #[serde(default = "RawJson::null")]
    pub data: RawJson,
}

open_words! {
    /// How a request ended.
    ReplyCode {
        /// It is done, or was done before.
        Done = "done",
        /// The executor does not take it, and has begun nothing: it may go to another.
        Rejected = "rejected",
        /// The executor does not hold that run.
        UnknownRun = "unknown-run",
        /// The epoch is not the run's.
        StaleEpoch = "stale-epoch",
        /// The executor cannot do such a thing.
        Unsupported = "unsupported",
        /// Its time was over.
        Expired = "expired",
        /// It was taken back.
        Cancelled = "cancelled",
        /// It was begun, and did not work.
        Failed = "failed",
    }
}

impl Body for Reply {
    const KIND: FrameKind = FrameKind::Reply;

    fn check(&self) -> Result<(), Invalid> {
        check_optional("detail", self.detail.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        check_json("data", &self.data, RUN_RESULT_BYTES_MAX)
    }
}

/// A request is being worked on. It prolongs nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The request.
    pub request_id: RequestId,
    /// The number of this frame on its stream, from 1.
    pub step: u64,
    /// How far it is, in words.
    pub detail: String,
}

impl Body for Progress {
    const KIND: FrameKind = FrameKind::Progress;

    fn check(&self) -> Result<(), Invalid> {
        check_filled("detail", &self.detail, SHORT_TEXT_BYTES_MAX)
    }
}

/// Refuses JSON that is too long, or nested too deep to be stored.
fn check_json(field: &'static str, json: &RawJson, max: usize) -> Result<(), Invalid> {
    let (bytes, depth) = (json.as_str().len(), json.depth());
    if bytes > max {
        let reason = format!("{bytes} bytes, at most {max} are allowed");
        return Err(Invalid::new(field, reason));
    }
    if depth > JSON_DEPTH_MAX {
        let reason = format!("nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed");
        return Err(Invalid::new(field, reason));
    }
    Ok(())
}
