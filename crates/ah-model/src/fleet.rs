//! Fleets: executors that work on one session together, one of them the leader.
//!
//! A member is a run of the session that only holds its executor: lease, epoch and loss are those of
//! any run. Invariants: a session has at most one live fleet; its leader is one of its members; its
//! epoch rises with every change of the leader and never falls, so that what an older leader says is
//! known as such.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::limits::{
    FLEET_LEADER_WAIT_MS, FLEET_MEMBERS_MAX, LABEL_BYTES_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::{
    Demands, FenceId, Invalid, MemberName, NewRun, RawJson, Run, RunId, RunKind, RunStatus,
    SessionId, Timestamp,
};

/// Whether a fleet works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum FleetStatus {
    /// Its members are held, or wait to be.
    Live,
    /// It was ended.
    Ended,
}

impl FleetStatus {
    /// The word stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ended => "ended",
        }
    }
}

impl FromStr for FleetStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "live" => Ok(Self::Live),
            "ended" => Ok(Self::Ended),
            _ => Err(Invalid::new("fleet status", format!("{text:?} is none of live, ended"))),
        }
    }
}

impl fmt::Display for FleetStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A member to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMember {
    /// Its name, unique in the fleet.
    pub name: MemberName,
    /// What its executor must offer.
    #[serde(default)]
    pub demands: Demands,
}

/// Where the files of a fleet are, and how followers get those of the leader.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FleetFiles {
    /// The directory on every machine; the executor's own place for programs when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The program that brings the leader's files to a follower, and its arguments. Without one
    /// something else keeps them the same, and a follower waits for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pull: Vec<String>,
    /// Names of files and directories that are not compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ignore: Vec<String>,
}

/// Most arguments of a pull, and most names that are ignored.
const WORDS_MAX: usize = 256;

impl FleetFiles {
    fn check(&self) -> Result<(), Invalid> {
        check_optional("files.directory", self.directory.as_deref(), SHORT_TEXT_BYTES_MAX)?;
        for (field, words) in [("files.pull", &self.pull), ("files.ignore", &self.ignore)] {
            if words.len() > WORDS_MAX {
                let reason = format!("{} words, at most {WORDS_MAX} are allowed", words.len());
                return Err(Invalid::new(field, reason));
            }
            words.iter().try_for_each(|word| check_filled(field, word, SHORT_TEXT_BYTES_MAX))?;
        }
        Ok(())
    }
}

/// A fleet to form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewFleet {
    /// The session it works on.
    pub session_id: SessionId,
    /// Who is in it.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = FLEET_MEMBERS_MAX)))]
    pub members: Vec<NewMember>,
    /// Who leads; the first member when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<MemberName>,
    /// Its files.
    #[serde(default)]
    pub files: FleetFiles,
    /// Who asks for it; executors may have rules about that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<String>,
}

impl NewFleet {
    /// Refuses no members, too many, two of one name, and a leader who is none of them.
    pub fn check(&self) -> Result<(), Invalid> {
        check_count(self.members.len())?;
        let mut names = BTreeSet::new();
        if let Some(twice) = self.members.iter().find(|one| !names.insert(&one.name)) {
            return Err(Invalid::new("members", format!("{} is there twice", twice.name)));
        }
        if let Some(leader) = self.leader.as_ref().filter(|leader| !names.contains(leader)) {
            return Err(Invalid::new("leader", format!("{leader} is no member")));
        }
        if let Some(user) = &self.requested_by {
            check_filled("requestedBy", user, LABEL_BYTES_MAX)?;
        }
        self.members.iter().try_for_each(|member| member.demands.check())?;
        self.files.check()
    }

    /// Who leads.
    pub fn leader(&self) -> Option<&MemberName> {
        self.leader.as_ref().or_else(|| self.members.first().map(|member| &member.name))
    }
}

fn check_count(members: usize) -> Result<(), Invalid> {
    if (1..=FLEET_MEMBERS_MAX).contains(&members) {
        return Ok(());
    }
    let reason = format!("{members}, 1 to {FLEET_MEMBERS_MAX} are allowed");
    Err(Invalid::new("members", reason))
}

/// One of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// Its name.
    pub name: MemberName,
    /// The run by which its executor is held.
    pub run_id: RunId,
    /// What its executor must offer.
    pub demands: Demands,
    /// The newest fence that it reached.
    pub reached: Option<FenceId>,
}

/// Executors that work on one session together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// The session.
    pub session_id: SessionId,
    /// Whether it works.
    pub status: FleetStatus,
    /// Rises with every change of the leader.
    pub epoch: u64,
    /// Who leads: the files of the session are its.
    pub leader: MemberName,
    /// Who is in it, in the order in which they came.
    pub members: Vec<Member>,
    /// Its files.
    pub files: FleetFiles,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// When it was formed.
    pub created_at: Timestamp,
    /// When its leader last changed.
    pub led_since: Timestamp,
    /// When it was ended.
    pub ended_at: Option<Timestamp>,
}

/// A change of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FleetChange {
    /// The epoch the change was decided at; another is a conflict. Whatever it is when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<u64>,
    /// What changes.
    pub what: FleetDeed,
}

/// What changes of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum FleetDeed {
    /// That member leads.
    Lead(MemberName),
    /// That one joins.
    Add(Box<NewMember>),
    /// That one leaves. The leader cannot.
    Remove(MemberName),
}

impl FleetChange {
    /// Refuses a member that breaks its own rule.
    pub fn check(&self) -> Result<(), Invalid> {
        match &self.what {
            FleetDeed::Add(member) => member.demands.check(),
            FleetDeed::Lead(_) | FleetDeed::Remove(_) => Ok(()),
        }
    }
}

/// Which fleets of a list.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FleetFilter {
    /// With this status.
    pub status: Option<FleetStatus>,
}

/// What a sweep of fleets did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FleetsSwept {
    /// Fences whose time was over.
    pub fences: u64,
    /// Leaders that were lost, and have a successor.
    pub leaders: u64,
}

impl FleetsSwept {
    /// Whether nothing was due.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Fleet {
    /// A fleet just formed at `now`. `runs` hold its members, in their order; `before` is the epoch
    /// of the fleet that the session had.
    pub fn formed(new: NewFleet, runs: &[RunId], before: u64, now: Timestamp) -> Option<Self> {
        let leader = new.leader()?.clone();
        let members = new.members.into_iter().zip(runs).map(|(member, run)| Member {
            name: member.name,
            run_id: run.clone(),
            demands: member.demands,
            reached: None,
        });
        Some(Self {
            session_id: new.session_id,
            status: FleetStatus::Live,
            epoch: before + 1,
            leader,
            members: members.collect(),
            files: new.files,
            requested_by: new.requested_by,
            created_at: now,
            led_since: now,
            ended_at: None,
        })
    }

    /// The member of that name.
    pub fn member(&self, name: &MemberName) -> Option<&Member> {
        self.members.iter().find(|member| member.name == *name)
    }

    /// Refuses what is done to a fleet that was ended, or decided at another epoch.
    pub fn check_live(&self, epoch: Option<u64>) -> Result<(), String> {
        if self.status != FleetStatus::Live {
            return Err(format!("has a fleet that is {}", self.status));
        }
        match epoch.filter(|epoch| *epoch != self.epoch) {
            Some(epoch) => Err(format!("has a fleet at epoch {}, not {epoch}", self.epoch)),
            None => Ok(()),
        }
    }

    /// Gives the fleet to another leader; `false` if it leads already.
    pub fn lead(&mut self, name: &MemberName, now: Timestamp) -> Result<bool, String> {
        if self.member(name).is_none() {
            return Err(format!("has a fleet without a member {name}"));
        }
        if self.leader == *name {
            return Ok(false);
        }
        self.leader = name.clone();
        self.epoch += 1;
        self.led_since = now;
        Ok(true)
    }

    /// Adds a member that `run` holds.
    pub fn add(&mut self, member: NewMember, run: RunId) -> Result<(), String> {
        if self.member(&member.name).is_some() {
            return Err(format!("has a fleet with a member {} already", member.name));
        }
        check_count(self.members.len() + 1).map_err(|invalid| invalid.to_string())?;
        let NewMember { name, demands } = member;
        self.members.push(Member { name, run_id: run, demands, reached: None });
        Ok(())
    }

    /// Lets a member go: the run that held it.
    pub fn remove(&mut self, name: &MemberName) -> Result<RunId, String> {
        if self.leader == *name {
            return Err(format!("is led by {name}: another must lead before it goes"));
        }
        let place = self.members.iter().position(|member| member.name == *name);
        let place = place.ok_or_else(|| format!("has a fleet without a member {name}"))?;
        Ok(self.members.remove(place).run_id)
    }

    /// Notes that a member has the files of a fence.
    pub fn reach(&mut self, name: &MemberName, fence: &FenceId) {
        for member in self.members.iter_mut().filter(|member| member.name == *name) {
            member.reached = Some(fence.clone());
        }
    }

    /// The run by which the leader is held.
    pub fn leader_run(&self) -> Option<&RunId> {
        self.member(&self.leader).map(|member| &member.run_id)
    }

    /// Ends it; `false` if it was ended before.
    pub fn end(&mut self, now: Timestamp) -> bool {
        if self.status == FleetStatus::Ended {
            return false;
        }
        self.status = FleetStatus::Ended;
        self.ended_at = Some(now);
        true
    }

    /// Who leads from `now` on because the leader was lost: one that is at work, and of those the one
    /// that reached the newest fence. Nobody while the leader is held, while nobody else is at work,
    /// and for a while after it was named, so that it can come. `runs` are those of the members.
    pub fn successor(&self, runs: &[Run], now: Timestamp) -> Option<&MemberName> {
        let run = |member: &Member| runs.iter().find(|run| run.id == member.run_id);
        let leads = run(self.member(&self.leader)?);
        let is_held = |run: &Run| {
            matches!(run.status, RunStatus::Claimed | RunStatus::Running | RunStatus::Stopping)
        };
        let is_awaited = |run: &Run| {
            run.status == RunStatus::Pending
                && run.lease_epoch == 0
                && now < self.led_since.plus_ms(FLEET_LEADER_WAIT_MS)
        };
        if leads.is_some_and(|run| is_held(run) || is_awaited(run)) {
            return None;
        }
        let works =
            |member: &&Member| run(member).is_some_and(|run| run.status == RunStatus::Running);
        // The first of equals: the last that is not smaller, from behind.
        let best = self.members.iter().rev().filter(works).max_by_key(|member| &member.reached);
        best.map(|member| &member.name)
    }

    /// The run that holds a member. A lost one is queued again: whoever takes it is a follower.
    pub fn hold(&self, demands: &Demands) -> Result<NewRun, Invalid> {
        let FleetFiles { directory, pull, ignore } = &self.files;
        let mut parameters = json!({ "hold": { "pull": pull, "ignore": ignore } });
        put(&mut parameters, "directory", directory.as_ref());
        let parameters = RawJson::of(&parameters)?;
        Ok(NewRun {
            demands: demands.clone(),
            requeue: true,
            requested_by: self.requested_by.clone(),
            ..NewRun::new(self.session_id.clone(), RunKind::Start, parameters)
        })
    }

    /// What the session shows when it is formed.
    pub fn formed_data(&self) -> serde_json::Value {
        let names: Vec<&MemberName> = self.members.iter().map(|member| &member.name).collect();
        json!({ "epoch": self.epoch, "leader": self.leader, "members": names })
    }

    /// What the session shows when another leads than `before`.
    pub fn leader_data(&self, before: &MemberName, reason: &str) -> serde_json::Value {
        json!({ "epoch": self.epoch, "leader": self.leader, "before": before, "reason": reason })
    }

    /// What the session shows when a member came or went.
    pub fn changed_data(&self, change: MemberChange<'_>) -> serde_json::Value {
        let mut data = self.formed_data();
        let (key, name) = match change {
            MemberChange::Joined(name) => ("joined", name),
            MemberChange::Left(name) => ("left", name),
        };
        put(&mut data, key, Some(&name.to_string()));
        data
    }

    /// What the session shows when it is ended.
    pub fn ended_data(&self) -> serde_json::Value {
        json!({ "epoch": self.epoch })
    }
}

/// Who came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange<'a> {
    /// That one came.
    Joined(&'a MemberName),
    /// That one went.
    Left(&'a MemberName),
}

/// Why somebody leads, and why a fence was given up.
pub mod fleet_reasons {
    /// Somebody asked for another leader.
    pub const ASKED: &str = "asked";
    /// The leader was lost.
    pub const LOST: &str = "the leader was lost";
    /// A fence without its leader.
    pub const LEADER_CHANGED: &str = "the fleet has another leader";
    /// A fence without one of its members.
    pub const MEMBER_LEFT: &str = "a member left the fleet";
    /// A fence without a fleet.
    pub const ENDED: &str = "the fleet was ended";
}

/// Whether a run only holds its executor for a member: `parameters` are those of [`Fleet::hold`]. It
/// needs none of the places that an executor has for programs.
pub fn is_hold(member: Option<&MemberName>, parameters: &RawJson) -> bool {
    #[derive(Deserialize)]
    struct Named {
        hold: Option<serde::de::IgnoredAny>,
    }
    member.is_some()
        && serde_json::from_str::<Named>(parameters.as_str()).is_ok_and(|it| it.hold.is_some())
}

impl Run {
    /// Whether it only holds its executor for a member, see [`is_hold`].
    pub fn is_hold(&self) -> bool {
        is_hold(self.member.as_ref(), &self.parameters)
    }
}

pub(crate) fn put(parameters: &mut serde_json::Value, key: &str, value: Option<&String>) {
    if let Some((object, value)) = parameters.as_object_mut().zip(value) {
        object.insert(key.to_owned(), json!(value));
    }
}

/// Types of the events by which a session tells of its fleet.
pub mod fleet_events {
    /// It was formed.
    pub const FORMED: &str = "fleetFormed";
    /// Another leads.
    pub const LEADER: &str = "leaderChanged";
    /// A member came or went.
    pub const CHANGED: &str = "fleetChanged";
    /// It was ended.
    pub const ENDED: &str = "fleetEnded";
    /// A fence has begun.
    pub const FENCE_STARTED: &str = "fenceStarted";
    /// How a fence ended.
    pub const FENCE_RESULT: &str = "fenceResult";
}
