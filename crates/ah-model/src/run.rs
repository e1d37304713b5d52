//! Runs: one execution of a session by somebody, leased to its holder.
//!
//! Invariants: a session has at most one live run, those of its fleet aside; a run moves only by the
//! functions of [`Run`]; who holds a lease of an older epoch moves nothing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::{
    LABEL_BYTES_MAX, LEASE_MS_MAX, LEASE_MS_MIN, PROMPT_BYTES_MAX, RENEW_RUNS_MAX, RUN_CLAIMS_MAX,
    RUN_RESULT_BYTES_MAX, RUN_TIMEOUT_MS_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::{
    Demands, Executor, ExecutorId, Exit, Invalid, MemberName, NewSession, Offer, RawJson, RunId,
    Session, SessionId, SessionStatus, Taker, Timestamp,
};

/// Whether the session begins or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunKind {
    /// The first run of a session.
    Start,
    /// A later one.
    Resume,
}

impl RunKind {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Resume => "resume",
        }
    }
}

impl FromStr for RunKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "start" => Ok(Self::Start),
            "resume" => Ok(Self::Resume),
            _ => Err(Invalid::new("run kind", format!("{text:?} is none of start, resume"))),
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Nobody has taken it.
    Pending,
    /// Leased, not started.
    Claimed,
    /// At work.
    Running,
    /// Asked to stop.
    Stopping,
    /// Ended well.
    Completed,
    /// Ended badly, or lost.
    Failed,
    /// Ended on request.
    Stopped,
}

impl RunStatus {
    /// Every status, in the order of a run's life.
    pub const ALL: [Self; 7] = [
        Self::Pending,
        Self::Claimed,
        Self::Running,
        Self::Stopping,
        Self::Completed,
        Self::Failed,
        Self::Stopped,
    ];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// Whether somebody still has, or may take, the run.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Claimed | Self::Running | Self::Stopping)
    }
}

impl FromStr for RunStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| Invalid::new("run status", format!("{text:?} is unknown")))
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How whoever asked for a run waits for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExecutionMode {
    /// It waits for the end.
    #[default]
    Sync,
    /// It looks again.
    AsyncPoll,
    /// The parent session is resumed with the result.
    AsyncCallback,
}

impl ExecutionMode {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::AsyncPoll => "async_poll",
            Self::AsyncCallback => "async_callback",
        }
    }
}

impl FromStr for ExecutionMode {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "sync" => Ok(Self::Sync),
            "async_poll" => Ok(Self::AsyncPoll),
            "async_callback" => Ok(Self::AsyncCallback),
            _ => {
                let reason = format!("{text:?} is none of sync, async_poll, async_callback");
                Err(Invalid::new("execution mode", reason))
            }
        }
    }
}

/// A run to queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewRun {
    /// Its id; minted when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RunId>,
    /// The session to execute.
    pub session_id: SessionId,
    /// The session itself, when it is to be created with its first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<NewSession>>,
    /// Begin or go on.
    pub kind: RunKind,
    /// What the executor is told.
    pub parameters: RawJson,
    /// What the executor must offer. A resume also demands the host and profile that ran the
    /// session before, where nothing else is said.
    #[serde(default)]
    pub demands: Demands,
    /// How whoever asked waits.
    #[serde(default)]
    pub execution_mode: ExecutionMode,
    /// Whom a callback goes to; the session's parent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// How long it may wait for somebody to take it; for ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = RUN_TIMEOUT_MS_MAX)))]
    pub timeout_ms: Option<u64>,
    /// Whether it is queued again, rather than failed, when its holder is lost at work.
    #[serde(default)]
    pub requeue: bool,
    /// Who asks for it; executors may have rules about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = LABEL_BYTES_MAX), pattern(r"\S"))
    )]
    pub requested_by: Option<String>,
}

impl NewRun {
    /// A run of `session` with nothing else said.
    pub fn new(session_id: SessionId, kind: RunKind, parameters: RawJson) -> Self {
        Self {
            id: None,
            session_id,
            session: None,
            kind,
            parameters,
            demands: Demands::default(),
            execution_mode: ExecutionMode::default(),
            parent_session_id: None,
            timeout_ms: None,
            requeue: false,
            requested_by: None,
        }
    }

    /// Refuses parts that break their own rule, and a session that is not the run's.
    pub fn check(&self) -> Result<(), Invalid> {
        self.demands.check()?;
        if self.parameters.as_str().len() > PROMPT_BYTES_MAX {
            let reason = format!("over {PROMPT_BYTES_MAX} bytes");
            return Err(Invalid::new("parameters", reason));
        }
        if let Some(ms) = self.timeout_ms.filter(|ms| !(1..=RUN_TIMEOUT_MS_MAX).contains(ms)) {
            let reason = format!("{ms}, 1 to {RUN_TIMEOUT_MS_MAX} are allowed");
            return Err(Invalid::new("timeoutMs", reason));
        }
        if let Some(user) = &self.requested_by {
            check_filled("requestedBy", user, LABEL_BYTES_MAX)?;
        }
        let Some(session) = &self.session else { return Ok(()) };
        if session.id.as_ref() != Some(&self.session_id) {
            return Err(Invalid::new("session", "its id is not the run's sessionId"));
        }
        if self.kind != RunKind::Start {
            return Err(Invalid::new("session", "one that is created now cannot be resumed"));
        }
        session.check()
    }
}

/// A run the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// The session it executes.
    pub session_id: SessionId,
    /// Begin or go on.
    pub kind: RunKind,
    /// Where it stands.
    pub status: RunStatus,
    /// What the executor is told.
    pub parameters: RawJson,
    /// What the executor must offer.
    pub demands: Demands,
    /// How whoever asked waits.
    pub execution_mode: ExecutionMode,
    /// Whom a callback goes to.
    pub parent_session_id: Option<SessionId>,
    /// How long it may wait for somebody to take it.
    pub timeout_ms: Option<u64>,
    /// When it fails if nobody has taken it.
    pub take_by: Option<Timestamp>,
    /// Whether it is queued again when its holder is lost at work.
    pub requeue: bool,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// The member of the session's fleet that it holds, or whose step it is. Such a run does not move
    /// its session, and is none of its turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberName>,
    /// Who holds it, or held it last.
    pub executor_id: Option<ExecutorId>,
    /// Rises with every claim; a holder with an older one is refused.
    pub lease_epoch: u64,
    /// When the holder must have renewed.
    pub lease_expires_at: Option<Timestamp>,
    /// When somebody asked it to stop.
    pub stop_requested_at: Option<Timestamp>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it gave back.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<RawJson>,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it was last claimed.
    pub claimed_at: Option<Timestamp>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// What a holder shows to prove that the run is still its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lease {
    /// The run.
    pub run_id: RunId,
    /// The epoch of the claim.
    pub epoch: u64,
}

/// Somebody who would take a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunClaim {
    /// Who.
    pub executor_id: ExecutorId,
    /// What it has.
    #[serde(default)]
    pub offer: Offer,
    /// How long before it must renew.
    #[cfg_attr(feature = "schema", schemars(range(min = LEASE_MS_MIN, max = LEASE_MS_MAX)))]
    pub lease_ms: u64,
    /// Only this run; the one that waits longest when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

impl RunClaim {
    /// Refuses an offer that breaks its rule and a lease that is too short or too long.
    pub fn check(&self) -> Result<(), Invalid> {
        self.offer.check()?;
        check_lease_ms(self.lease_ms)
    }

    /// Who takes the run, when `executor` is what is kept of it.
    pub fn taker<'a>(&'a self, executor: Option<&'a Executor>) -> Taker<'a> {
        Taker { id: &self.executor_id, offer: &self.offer, executor }
    }
}

/// What became of leases that were to be kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Renewed {
    /// Those that are not the executor's any more: it must end them and report nothing more.
    pub lost: Vec<Lease>,
    /// Those that are kept, and whose run somebody wants stopped.
    pub stop: Vec<Lease>,
}

/// Refuses too many leases at once, and a time that is too short or too long.
pub fn check_renewal(leases: &[Lease], lease_ms: u64) -> Result<(), Invalid> {
    if leases.len() > RENEW_RUNS_MAX {
        let reason = format!("{} of them, at most {RENEW_RUNS_MAX} are allowed", leases.len());
        return Err(Invalid::new("leases", reason));
    }
    check_lease_ms(lease_ms)
}

/// Refuses a lease that is too short or too long.
pub fn check_lease_ms(ms: u64) -> Result<(), Invalid> {
    if (LEASE_MS_MIN..=LEASE_MS_MAX).contains(&ms) {
        return Ok(());
    }
    let reason = format!("{ms}, {LEASE_MS_MIN} to {LEASE_MS_MAX} are allowed");
    Err(Invalid::new("leaseMs", reason))
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RunOutcome {
    /// Well.
    Completed,
    /// Badly.
    Failed,
    /// On request.
    Stopped,
}

impl From<RunOutcome> for RunStatus {
    fn from(outcome: RunOutcome) -> Self {
        match outcome {
            RunOutcome::Completed => Self::Completed,
            RunOutcome::Failed => Self::Failed,
            RunOutcome::Stopped => Self::Stopped,
        }
    }
}

/// What a holder reports at the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What it gave back.
    #[serde(
        default,
        deserialize_with = "crate::json::given",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<RawJson>,
    /// Whether the session waits for its next turn rather than ends, when the run completed.
    #[serde(default)]
    pub idle: bool,
    /// How the agent's process ended.
    #[serde(default)]
    pub exit: Exit,
}

impl RunEnd {
    /// An end of which nothing else is known.
    pub fn new(outcome: RunOutcome) -> Self {
        Self { outcome, error: None, result: None, idle: false, exit: Exit::default() }
    }

    /// A failure for `reason`.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { error: Some(reason.into()), ..Self::new(RunOutcome::Failed) }
    }

    /// Refuses texts and results that cannot be stored.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("error", self.error.as_deref(), PROMPT_BYTES_MAX)?;
        check_optional("reason", self.exit.reason.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        let bytes = self.result.as_ref().map_or(0, |result| result.as_str().len());
        if bytes > RUN_RESULT_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {RUN_RESULT_BYTES_MAX} are allowed");
            return Err(Invalid::new("result", reason));
        }
        Ok(())
    }

    /// Where the session goes.
    pub fn session_status(&self) -> SessionStatus {
        match (self.outcome, self.idle) {
            (RunOutcome::Completed, true) => SessionStatus::Idle,
            (RunOutcome::Completed, false) => SessionStatus::Succeeded,
            (RunOutcome::Failed, _) => SessionStatus::Failed,
            (RunOutcome::Stopped, _) => SessionStatus::Cancelled,
        }
    }

    /// How the session ended: what is known of the process, with the error as the reason.
    pub fn session_exit(&self) -> Exit {
        let cut = |text: &String| text.chars().take(SHORT_TEXT_BYTES_MAX / 4).collect();
        let reason = self.exit.reason.clone().or_else(|| self.error.as_ref().map(cut));
        Exit { reason, ..self.exit.clone() }
    }
}

/// The error of a run whose holder was lost at work.
pub const LOST: &str = "lost: its executor did not renew the lease in time";

/// What time does to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
    /// Nothing yet.
    Nothing,
    /// Its claim is void; it is queued again.
    Requeue,
    /// It has ended like this.
    End(RunEnd),
}

impl Run {
    /// A run just queued at `now` with `id`, of `session` as it is.
    pub fn queued(new: NewRun, id: RunId, session: &Session, now: Timestamp) -> Self {
        let demands = match new.kind {
            RunKind::Start => new.demands,
            RunKind::Resume => new.demands.or_affinity(&session.details),
        };
        Self {
            id,
            session_id: new.session_id,
            kind: new.kind,
            status: RunStatus::Pending,
            parameters: new.parameters,
            demands,
            execution_mode: new.execution_mode,
            parent_session_id: new.parent_session_id.or_else(|| session.parent_session_id.clone()),
            timeout_ms: new.timeout_ms,
            take_by: new.timeout_ms.map(|ms| now.plus_ms(ms)),
            requeue: new.requeue,
            requested_by: new.requested_by,
            member: None,
            executor_id: None,
            lease_epoch: 0,
            lease_expires_at: None,
            stop_requested_at: None,
            error: None,
            result: None,
            created_at: now,
            claimed_at: None,
            started_at: None,
            ended_at: None,
        }
    }

    /// As [`Self::queued`], for a member of the session's fleet. Nobody is told of its end.
    pub fn of_member(
        new: NewRun,
        member: MemberName,
        id: RunId,
        session: &Session,
        now: Timestamp,
    ) -> Self {
        let run = Self::queued(new, id, session, now);
        Self { member: Some(member), parent_session_id: None, ..run }
    }

    /// The lease that the run's holder has.
    pub fn lease(&self) -> Lease {
        Lease { run_id: self.id.clone(), epoch: self.lease_epoch }
    }

    /// Gives a pending run to `claim` at `now`.
    pub fn claim(&mut self, claim: &RunClaim, now: Timestamp) {
        self.status = RunStatus::Claimed;
        self.executor_id = Some(claim.executor_id.clone());
        self.lease_epoch += 1;
        self.lease_expires_at = Some(now.plus_ms(claim.lease_ms));
        self.claimed_at = Some(now);
    }

    /// Refuses who does not hold the run: an older epoch, or a run that nobody holds. A lease that
    /// is over stays good until the run is swept: nobody else has it before.
    pub fn check_held(&self, lease: &Lease) -> Result<(), String> {
        if lease.epoch != self.lease_epoch || self.lease_epoch == 0 {
            return Err(format!("is at epoch {}, not {}", self.lease_epoch, lease.epoch));
        }
        if matches!(self.status, RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping) {
            return Ok(());
        }
        Err(format!("is {}", self.status))
    }

    /// Lets the holder have it for longer.
    pub fn renew(&mut self, lease: &Lease, lease_ms: u64, now: Timestamp) -> Result<(), String> {
        self.check_held(lease)?;
        self.lease_expires_at = Some(now.plus_ms(lease_ms));
        Ok(())
    }

    /// Keeps a lease of `executor`: whether a stop is wanted, or `None` if it is not its own.
    pub fn renew_for(
        &mut self,
        executor: &ExecutorId,
        lease: &Lease,
        lease_ms: u64,
        now: Timestamp,
    ) -> Option<bool> {
        if self.executor_id.as_ref() != Some(executor) {
            return None;
        }
        self.renew(lease, lease_ms, now).ok()?;
        Some(self.status == RunStatus::Stopping)
    }

    /// Notes that the holder began; saying it twice is no change. One that was asked to stop
    /// meanwhile stays so, and its holder sees it.
    pub fn start(&mut self, lease: &Lease, now: Timestamp) -> Result<(), String> {
        self.check_held(lease)?;
        if self.status == RunStatus::Claimed {
            self.status = RunStatus::Running;
        }
        if self.started_at.is_none() {
            self.started_at = Some(now);
        }
        Ok(())
    }

    /// Ends it as its holder says; `false` if it said so before. An end that is not the one it has
    /// is refused.
    pub fn finish(&mut self, lease: &Lease, end: &RunEnd, now: Timestamp) -> Result<bool, String> {
        let status = RunStatus::from(end.outcome);
        if lease.epoch == self.lease_epoch && lease.epoch > 0 && self.status == status {
            return Ok(false);
        }
        self.check_held(lease)?;
        self.end(end, now);
        Ok(true)
    }

    /// Ends it, whoever held it.
    pub fn end(&mut self, end: &RunEnd, now: Timestamp) {
        self.status = end.outcome.into();
        self.error.clone_from(&end.error);
        self.result.clone_from(&end.result);
        self.lease_expires_at = None;
        self.take_by = None;
        self.ended_at = Some(now);
    }

    /// Asks it to stop: one that nobody has ends at once (`true`), else its holder is told. Asking
    /// again is no change; a run that has ended refuses.
    pub fn stop(&mut self, now: Timestamp) -> Result<bool, String> {
        match self.status {
            RunStatus::Pending => {
                self.stop_requested_at = Some(now);
                self.end(&RunEnd::new(RunOutcome::Stopped), now);
                Ok(true)
            }
            RunStatus::Claimed | RunStatus::Running => {
                self.stop_requested_at = Some(now);
                self.status = RunStatus::Stopping;
                Ok(false)
            }
            RunStatus::Stopping => Ok(false),
            RunStatus::Completed | RunStatus::Failed | RunStatus::Stopped => {
                Err(format!("is {} and cannot be stopped", self.status))
            }
        }
    }

    /// What `now` means for it.
    pub fn due(&self, now: Timestamp) -> Due {
        match self.status {
            RunStatus::Pending if self.take_by.is_some_and(|by| by <= now) => {
                let ms = self.timeout_ms.unwrap_or_default();
                Due::End(RunEnd::failed(format!("nobody took it within {} s", ms.div_ceil(1_000))))
            }
            RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping
                if self.lease_expires_at.is_some_and(|at| at <= now) =>
            {
                self.lost()
            }
            _ => Due::Nothing,
        }
    }

    /// What the loss of its holder means for it.
    pub fn lost(&self) -> Due {
        let lost = |outcome| RunEnd { error: Some(LOST.to_owned()), ..RunEnd::new(outcome) };
        match self.status {
            RunStatus::Stopping => Due::End(lost(RunOutcome::Stopped)),
            RunStatus::Claimed | RunStatus::Running if self.lease_epoch >= RUN_CLAIMS_MAX => {
                Due::End(RunEnd::failed(format!("lost by {RUN_CLAIMS_MAX} executors, one by one")))
            }
            RunStatus::Claimed => Due::Requeue,
            RunStatus::Running if self.requeue => Due::Requeue,
            RunStatus::Running => Due::End(lost(RunOutcome::Failed)),
            _ => Due::Nothing,
        }
    }

    /// Queues it again at `now`: at its old place, without a holder, with its whole time to wait.
    pub fn requeue(&mut self, now: Timestamp) {
        self.status = RunStatus::Pending;
        self.lease_expires_at = None;
        self.executor_id = None;
        self.started_at = None;
        self.take_by = self.timeout_ms.map(|ms| now.plus_ms(ms));
    }
}

/// Which runs of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// In one of these statuses; in any when empty.
    pub statuses: Vec<RunStatus>,
    /// Of this session.
    pub session_id: Option<SessionId>,
    /// Held by this executor, or held last.
    pub executor_id: Option<ExecutorId>,
}

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Swept {
    /// Claims that were void: queued again.
    pub requeued: u64,
    /// Runs that ended: lost, never taken, or stopped while nobody held them.
    pub ended: u64,
    /// Callback runs queued for parents.
    pub callbacks: u64,
}

#[cfg(test)]
mod tests;
