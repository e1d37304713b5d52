//! Fences: all members of a fleet have the leader's files before a step runs.
//!
//! The leader makes a snapshot, each follower reaches it or does not, and only when all have reached
//! it the step is queued. Invariants: a fleet has at most one open fence; a fence moves only by the
//! functions of [`Fence`]; what was said of a member stays.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::fleet::put;
use crate::limits::{
    FENCE_MS_MAX, LABEL_BYTES_MAX, PROMPT_BYTES_MAX, RUN_TIMEOUT_MS_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::{
    Demands, ExecutorId, FenceId, Fleet, Invalid, Lease, MemberName, NewRun, RawJson, RunId,
    RunKind, SessionId, Timestamp,
};

/// Where a fence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FenceStatus {
    /// The leader makes its snapshot.
    Snapshot,
    /// Followers reach it.
    Pull,
    /// All have the same files.
    Consistent,
    /// Somebody did not answer in time.
    Timeout,
    /// Somebody could not reach it, or the fleet changed.
    Error,
}

impl FenceStatus {
    /// Every status, in the order of a fence's life.
    pub const ALL: [Self; 5] =
        [Self::Snapshot, Self::Pull, Self::Consistent, Self::Timeout, Self::Error];

    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Pull => "pull",
            Self::Consistent => "consistent",
            Self::Timeout => "timeout",
            Self::Error => "error",
        }
    }

    /// Whether it still goes on.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Snapshot | Self::Pull)
    }
}

impl FromStr for FenceStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = Self::ALL.into_iter().find(|status| status.as_str() == text);
        found.ok_or_else(|| Invalid::new("fence status", format!("{text:?} is unknown")))
    }
}

impl fmt::Display for FenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A program that members run once all have the same files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewStep {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables it has besides the executor's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Who runs it; all members when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = crate::limits::FLEET_MEMBERS_MAX)))]
    pub on: Vec<MemberName>,
    /// How long it may wait for its executor to take it; for ever when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = RUN_TIMEOUT_MS_MAX)))]
    pub timeout_ms: Option<u64>,
}

impl NewStep {
    fn check(&self) -> Result<(), Invalid> {
        let program = self.argv.first().map_or("", String::as_str);
        check_filled("step.argv", program, SHORT_TEXT_BYTES_MAX)?;
        let words = self.argv.iter().chain(self.env.keys()).chain(self.env.values());
        let bytes: usize = words.map(String::len).sum();
        if bytes > PROMPT_BYTES_MAX {
            let reason = format!("{bytes} bytes, at most {PROMPT_BYTES_MAX} are allowed");
            return Err(Invalid::new("step.argv", reason));
        }
        if let Some(ms) = self.timeout_ms.filter(|ms| !(1..=RUN_TIMEOUT_MS_MAX).contains(ms)) {
            let reason = format!("{ms}, 1 to {RUN_TIMEOUT_MS_MAX} are allowed");
            return Err(Invalid::new("step.timeoutMs", reason));
        }
        let names: BTreeSet<&MemberName> = self.on.iter().collect();
        if names.len() < self.on.len() {
            return Err(Invalid::new("step.on", "names a member twice"));
        }
        Ok(())
    }
}

/// A fence to begin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFence {
    /// The session whose fleet it is for.
    pub session_id: SessionId,
    /// How long it may take.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = FENCE_MS_MAX)))]
    pub timeout_ms: u64,
    /// What runs when all have the same files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<NewStep>,
    /// Who asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
}

impl NewFence {
    /// Refuses a time that is too short or too long, and a step that cannot be run.
    pub fn check(&self) -> Result<(), Invalid> {
        if !(1..=FENCE_MS_MAX).contains(&self.timeout_ms) {
            let reason = format!("{}, 1 to {FENCE_MS_MAX} are allowed", self.timeout_ms);
            return Err(Invalid::new("timeoutMs", reason));
        }
        if let Some(user) = &self.requested_by {
            check_filled("requestedBy", user, LABEL_BYTES_MAX)?;
        }
        self.step.as_ref().map_or(Ok(()), NewStep::check)
    }
}

/// The leader's files at a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// What made it; `digest` names the contents and keeps no copy.
    pub provider: String,
    /// Its name: the same name is the same files.
    pub name: String,
    /// How many files there are.
    #[serde(default)]
    pub files: u64,
    /// How many bytes are in them.
    #[serde(default)]
    pub bytes: u64,
}

impl Snapshot {
    fn check(&self) -> Result<(), Invalid> {
        check_filled("snapshot.provider", &self.provider, LABEL_BYTES_MAX)?;
        check_filled("snapshot.name", &self.name, LABEL_BYTES_MAX)
    }
}

/// Whether a member has the leader's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FenceOutcome {
    /// It has.
    Consistent,
    /// It did not have them in time.
    Timeout,
    /// It could not get them.
    Error,
}

/// What became of a member at a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FenceMember {
    /// Its name.
    pub name: MemberName,
    /// The run by which its executor is held.
    pub run_id: RunId,
    /// What became of it; nothing yet when absent.
    pub outcome: Option<FenceOutcome>,
    /// In words.
    pub detail: Option<String>,
    /// Who it was.
    pub executor_id: Option<ExecutorId>,
    /// When it said so.
    pub at: Option<Timestamp>,
}

/// The step of a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Variables it has besides the executor's own.
    pub env: BTreeMap<String, String>,
    /// Who runs it.
    pub on: Vec<MemberName>,
    /// How long it may wait for its executor to take it.
    pub timeout_ms: Option<u64>,
    /// The runs that execute it, once all have the same files.
    pub runs: BTreeMap<MemberName, RunId>,
}

/// A point that all members of a fleet reach before a step runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fence {
    /// Its id; later ones sort behind earlier ones.
    pub id: FenceId,
    /// The session.
    pub session_id: SessionId,
    /// The epoch of the fleet that it is for.
    pub epoch: u64,
    /// Who led then.
    pub leader: MemberName,
    /// Where it stands.
    pub status: FenceStatus,
    /// The leader's files, once they are known.
    pub snapshot: Option<Snapshot>,
    /// What became of each member.
    pub members: Vec<FenceMember>,
    /// What runs afterwards.
    pub step: Option<Step>,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// When it is over at the latest.
    pub deadline_at: Timestamp,
    /// When it began.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// What the holder of a member says at a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FenceReport {
    /// The fence.
    pub fence_id: FenceId,
    /// The lease of the member's run: who does not hold it says nothing.
    pub lease: Lease,
    /// What it says.
    pub what: FenceSaid,
}

/// What is said at a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FenceSaid {
    /// The leader made its snapshot.
    Snapshot(Snapshot),
    /// A follower has it.
    Consistent {},
    /// It does not have it in time.
    Timeout {
        /// What is missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// It cannot make it, or get it.
    Error {
        /// Why.
        detail: String,
    },
}

impl FenceReport {
    /// Refuses texts that cannot be stored.
    pub fn check(&self) -> Result<(), Invalid> {
        match &self.what {
            FenceSaid::Snapshot(snapshot) => snapshot.check(),
            FenceSaid::Consistent {} => Ok(()),
            FenceSaid::Timeout { detail } => {
                check_optional("detail", detail.as_deref(), SHORT_TEXT_BYTES_MAX)
            }
            FenceSaid::Error { detail } => check_filled("detail", detail, SHORT_TEXT_BYTES_MAX),
        }
    }
}

impl Fence {
    /// A fence of `fleet` just begun at `now`; refuses a step for who is no member.
    pub fn started(
        new: NewFence,
        id: FenceId,
        fleet: &Fleet,
        now: Timestamp,
    ) -> Result<Self, Invalid> {
        let step = new.step.map(|step| Step::of(step, fleet)).transpose()?;
        let members = fleet.members.iter().map(|member| FenceMember {
            name: member.name.clone(),
            run_id: member.run_id.clone(),
            outcome: None,
            detail: None,
            executor_id: None,
            at: None,
        });
        Ok(Self {
            id,
            session_id: new.session_id,
            epoch: fleet.epoch,
            leader: fleet.leader.clone(),
            status: FenceStatus::Snapshot,
            snapshot: None,
            members: members.collect(),
            step,
            requested_by: new.requested_by,
            deadline_at: now.plus_ms(new.timeout_ms),
            created_at: now,
            ended_at: None,
        })
    }

    /// The member that a run holds.
    pub fn member_of(&self, run: &RunId) -> Option<&FenceMember> {
        self.members.iter().find(|member| member.run_id == *run)
    }

    /// Who has something to do now: the leader first, then all others that have not said anything.
    pub fn awaited(&self) -> impl Iterator<Item = &FenceMember> {
        let status = self.status;
        self.members.iter().filter(move |member| match status {
            FenceStatus::Snapshot => member.name == self.leader,
            FenceStatus::Pull => member.outcome.is_none(),
            FenceStatus::Consistent | FenceStatus::Timeout | FenceStatus::Error => false,
        })
    }

    /// Notes what `executor`, which holds `run`, says. `false` if it said the same before; refuses
    /// what is not its turn, and anything else once it has spoken.
    pub fn hear(
        &mut self,
        run: &RunId,
        executor: Option<&ExecutorId>,
        what: &FenceSaid,
        now: Timestamp,
    ) -> Result<bool, String> {
        let member = self.member_of(run).ok_or_else(|| format!("has no member of run {run}"))?;
        let (leads, name) = (member.name == self.leader, member.name.clone());
        let (outcome, detail) = match what {
            FenceSaid::Snapshot(_) | FenceSaid::Consistent {} => (FenceOutcome::Consistent, None),
            FenceSaid::Timeout { detail } => (FenceOutcome::Timeout, detail.clone()),
            FenceSaid::Error { detail } => (FenceOutcome::Error, Some(detail.clone())),
        };
        if let Some(before) = member.outcome {
            let same_files = match what {
                FenceSaid::Snapshot(snapshot) => self.snapshot.as_ref() == Some(snapshot),
                _ => true,
            };
            return match self.status.is_open() {
                _ if before == outcome && same_files => Ok(false),
                true => Err(format!("has heard {name} say something else")),
                false => Err(format!("is {}", self.status)),
            };
        }
        match (what, leads, self.status) {
            (_, _, status) if !status.is_open() => return Err(format!("is {status}")),
            (FenceSaid::Snapshot(_), false, _) => {
                return Err(format!("is led by {}, not {name}", self.leader));
            }
            (FenceSaid::Consistent {}, true, _) => {
                return Err(format!("waits for a snapshot of {name}, which leads"));
            }
            (FenceSaid::Consistent {}, false, FenceStatus::Snapshot) => {
                return Err("has no snapshot yet".to_owned());
            }
            _ => {}
        }
        if let FenceSaid::Snapshot(snapshot) = what {
            self.snapshot = Some(snapshot.clone());
            self.status = FenceStatus::Pull;
        }
        self.note(&name, outcome, detail, executor, now);
        if leads && outcome != FenceOutcome::Consistent {
            self.give_up(&format!("{name}, which leads, made no snapshot"), now);
        }
        self.settle(now);
        Ok(true)
    }

    /// Ends it when its time is over: who has not spoken is late. `false` if it is not due.
    pub fn expire(&mut self, now: Timestamp) -> bool {
        if !self.status.is_open() || now < self.deadline_at {
            return false;
        }
        let late: Vec<MemberName> = self.unheard();
        for name in late {
            self.note(&name, FenceOutcome::Timeout, None, None, now);
        }
        self.settle(now);
        true
    }

    /// Ends it for `reason`; `false` if it has ended.
    pub fn give_up(&mut self, reason: &str, now: Timestamp) -> bool {
        if !self.status.is_open() {
            return false;
        }
        for name in self.unheard() {
            self.note(&name, FenceOutcome::Error, Some(reason.to_owned()), None, now);
        }
        self.settle(now);
        true
    }

    fn unheard(&self) -> Vec<MemberName> {
        let unheard = self.members.iter().filter(|member| member.outcome.is_none());
        unheard.map(|member| member.name.clone()).collect()
    }

    fn note(
        &mut self,
        name: &MemberName,
        outcome: FenceOutcome,
        detail: Option<String>,
        executor: Option<&ExecutorId>,
        now: Timestamp,
    ) {
        let Some(member) = self.members.iter_mut().find(|member| member.name == *name) else {
            return;
        };
        member.outcome = Some(outcome);
        member.detail = detail;
        member.executor_id = executor.cloned();
        member.at = Some(now);
    }

    /// Ends it once everybody has spoken. An error weighs more than a delay.
    fn settle(&mut self, now: Timestamp) {
        let outcomes: Option<Vec<FenceOutcome>> =
            self.members.iter().map(|member| member.outcome).collect();
        let Some(outcomes) = outcomes.filter(|_| self.status.is_open()) else { return };
        self.status = match outcomes.into_iter().max() {
            Some(FenceOutcome::Error) => FenceStatus::Error,
            Some(FenceOutcome::Timeout) => FenceStatus::Timeout,
            Some(FenceOutcome::Consistent) | None => FenceStatus::Consistent,
        };
        self.ended_at = Some(now);
    }

    /// Who was late.
    pub fn laggards(&self) -> impl Iterator<Item = &MemberName> {
        let late = |member: &&FenceMember| member.outcome == Some(FenceOutcome::Timeout);
        self.members.iter().filter(late).map(|member| &member.name)
    }

    /// The runs of its step, one for each that is to run it, on the executor that has the files.
    /// None unless all have the same files, and none once they are queued.
    pub fn step_runs(&self, fleet: &Fleet) -> Result<Vec<(MemberName, NewRun)>, Invalid> {
        let Some(step) = self.step.as_ref().filter(|step| step.runs.is_empty()) else {
            return Ok(Vec::new());
        };
        if self.status != FenceStatus::Consistent {
            return Ok(Vec::new());
        }
        let mut parameters = json!({ "argv": step.argv, "env": step.env, "fence": self.id });
        put(&mut parameters, "directory", fleet.files.directory.as_ref());
        let parameters = RawJson::of(&parameters)?;
        let members = self.members.iter().filter(|member| step.on.contains(&member.name));
        let run = |member: &FenceMember| {
            let executor_id = member.executor_id.clone();
            let run = NewRun {
                demands: Demands { executor_id, ..Demands::default() },
                timeout_ms: step.timeout_ms,
                requested_by: self.requested_by.clone(),
                ..NewRun::new(self.session_id.clone(), RunKind::Start, parameters.clone())
            };
            (member.name.clone(), run)
        };
        Ok(members.map(run).collect())
    }

    /// What the session shows when it begins.
    pub fn started_data(&self) -> serde_json::Value {
        let names: Vec<&MemberName> = self.members.iter().map(|member| &member.name).collect();
        json!({
            "fenceId": self.id, "epoch": self.epoch, "leader": self.leader, "members": names,
            "deadlineAt": self.deadline_at,
        })
    }

    /// What the session shows when it has ended.
    pub fn result_data(&self) -> serde_json::Value {
        let laggards: Vec<&MemberName> = self.laggards().collect();
        let member = |member: &FenceMember| json!({ "name": member.name, "outcome": member.outcome, "detail": member.detail });
        let members: Vec<serde_json::Value> = self.members.iter().map(member).collect();
        json!({
            "fenceId": self.id, "epoch": self.epoch, "status": self.status,
            "snapshot": self.snapshot, "members": members, "laggards": laggards,
            "runs": self.step.as_ref().map(|step| &step.runs),
        })
    }
}

impl Step {
    fn of(new: NewStep, fleet: &Fleet) -> Result<Self, Invalid> {
        let all = || fleet.members.iter().map(|member| member.name.clone()).collect();
        let on = if new.on.is_empty() { all() } else { new.on };
        if let Some(name) = on.iter().find(|name| fleet.member(name).is_none()) {
            return Err(Invalid::new("step.on", format!("{name} is no member")));
        }
        let NewStep { argv, env, timeout_ms, .. } = new;
        Ok(Self { argv, env, on, timeout_ms, runs: BTreeMap::new() })
    }
}

#[cfg(test)]
mod tests;
