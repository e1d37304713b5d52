//! Carrying out what was approved: commits come into force, agents are spawned.
//!
//! Everything here can be done again: after a crash between any two steps the next call finds what
//! is done and does the rest.

use ah_model::limits::SHORT_TEXT_BYTES_MAX;
use ah_model::{
    APPLY_COMMIT, Agent, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Decision, Invalid,
    NewAgent, Origin, Page, PageRequest, RawJson, SPAWN, Verdict,
};
use ah_store::{Kind, StoreError, block_on};
use serde::Deserialize;

use crate::applied::{Applied, Mark, Standing};
use crate::git::failed;
use crate::{Home, Homes, Host, HostError};

/// What agents that an approval made come from.
const SOURCE: &str = "approval";

/// What a request for a new agent says of it.
#[derive(Deserialize)]
struct SpawnDetails {
    agent: NewAgent,
}

/// The agent that a request describes.
pub(crate) fn agent_to_spawn(name: &str, details: &RawJson) -> Result<NewAgent, Invalid> {
    let read: Result<SpawnDetails, _> = serde_json::from_str(details.as_str());
    let SpawnDetails { agent } = read.map_err(|error| {
        Invalid::new("details", format!("say nothing of the agent to create: {error}"))
    })?;
    if !agent.name.eq_ignore_ascii_case(name) {
        let reason = format!("are of agent {}, not of {name}", agent.name);
        return Err(Invalid::new("details", reason));
    }
    agent.check()?;
    Ok(agent)
}

impl Host {
    /// Carries out every approval that is approved and not yet carried out. What does not work is
    /// noted with the approval and tried again the next time.
    pub fn carry_out_due(&self) -> Result<Vec<Approval>, HostError> {
        let Some(homes) = &self.homes else {
            return Ok(Vec::new());
        };
        // What cannot even be noted keeps nothing else from being done.
        let due = self.due(ApprovalFilter::default())?;
        let done: Vec<_> = due.iter().map(|approval| self.carry_out(homes, approval)).collect();
        for name in homes.names()?.known {
            // Tags only tell what the store knows; a home that cannot take them loses nothing.
            let _ = self.mark_decided(homes, &name);
        }
        done.into_iter().collect()
    }

    /// Approvals that pass `filter` and are to be carried out, in the order of asking.
    fn due(&self, filter: ApprovalFilter) -> Result<Vec<Approval>, HostError> {
        let filter = ApprovalFilter { to_carry_out: true, ..filter };
        let mut due = Vec::new();
        let mut request = PageRequest::default();
        loop {
            let page = block_on(self.store.list_approvals(filter.clone(), request.clone()))?;
            let Page { items, next_cursor } = page;
            due.extend(items);
            match next_cursor {
                Some(cursor) => request.cursor = Some(cursor),
                None => break,
            }
        }
        due.reverse();
        Ok(due)
    }

    fn carry_out(&self, homes: &Homes, approval: &Approval) -> Result<Approval, HostError> {
        let done = match &*approval.kind {
            APPLY_COMMIT => self.with_applied(homes, approval, bring_into_force),
            SPAWN => self.spawn(homes, approval),
            _ => Ok(()),
        };
        self.note(&approval.id, done)
    }

    fn with_applied(
        &self,
        homes: &Homes,
        approval: &Approval,
        work: impl FnOnce(&Applied<'_>, &Approval) -> Result<(), HostError>,
    ) -> Result<(), HostError> {
        let home = homes.home(&approval.agent)?;
        work(&Applied::open(homes.git(), &home)?, approval)
    }

    /// Tells the store that it is done, or why not.
    fn note(&self, id: &ApprovalId, done: Result<(), HostError>) -> Result<Approval, HostError> {
        let problem = done.err().map(|error| short(crate::error::with_causes(&error)));
        Ok(block_on(self.store.carried_out(id.clone(), problem))?)
    }

    /// Decides about a commit. Nobody else changes what is in force meanwhile.
    pub(crate) fn decide_commit(
        &self,
        homes: &Homes,
        approval: &Approval,
        decision: Decision,
    ) -> Result<Approval, HostError> {
        let id = approval.id.clone();
        let home = match homes.find(&approval.agent)? {
            Some(home) if home.open_applied()?.is_some() => home,
            _ => return self.settle(id, without_copy(decision)),
        };
        let applied = Applied::open(homes.git(), &home)?;
        let approval = block_on(self.store.approval(id.clone()))?;
        let is_new = approval.status == ApprovalStatus::Pending;
        let decision = match decision.verdict == Verdict::Approved && is_new {
            true => self.approve_or_fail(&applied, &home, &approval, decision)?,
            false => decision,
        };
        let decided = self.settle(id, decision)?;
        if decided.is_to_be_carried_out() {
            return self.note(&decided.id, bring_into_force(&applied, &decided));
        }
        mark_outcome(&applied, &decided)?;
        Ok(decided)
    }

    /// The decision to take: the one given if the commit can come into force, else that it failed.
    fn approve_or_fail(
        &self,
        applied: &Applied<'_>,
        home: &Home,
        approval: &Approval,
        decision: Decision,
    ) -> Result<Decision, HostError> {
        // What was approved before comes into force before: this one is judged against that.
        let about = ApprovalFilter {
            agent: Some(home.name().to_owned()),
            kind: Some(APPLY_COMMIT.to_owned()),
            ..ApprovalFilter::default()
        };
        for earlier in self.due(about)? {
            self.note(&earlier.id, bring_into_force(applied, &earlier))?;
        }
        Ok(match obstacle(applied, approval)? {
            Some(problem) => fail(decision, problem),
            None => decision,
        })
    }

    /// Decides about an agent to spawn.
    pub(crate) fn decide_spawn(
        &self,
        homes: &Homes,
        approval: &Approval,
        decision: Decision,
    ) -> Result<Approval, HostError> {
        let approves = decision.verdict == Verdict::Approved;
        let is_new = approval.status == ApprovalStatus::Pending;
        let decision = match approves && is_new && self.agent_of_name(&approval.agent)?.is_none() {
            true => match agent_to_spawn(&approval.agent, &approval.details) {
                Ok(_) => decision,
                Err(invalid) => fail(decision, invalid.to_string()),
            },
            false => decision,
        };
        let decided = self.settle(approval.id.clone(), decision)?;
        if decided.is_to_be_carried_out() {
            return self.carry_out(homes, &decided);
        }
        if decided.status == ApprovalStatus::Approved
            && let Some(agent) = self.agent_of_name(&decided.agent)?
        {
            self.create_home(&agent)?;
        }
        Ok(decided)
    }

    /// Makes the agent, unless it was made for this approval already, and its home.
    fn spawn(&self, homes: &Homes, approval: &Approval) -> Result<(), HostError> {
        let origin =
            Origin { source: SOURCE.to_owned(), external_id: approval.id.as_str().to_owned() };
        let agent = match block_on(self.store.agent_of_origin(origin.clone()))? {
            Some(agent) => agent,
            None => self.create_spawned(approval, origin)?,
        };
        homes.create(&agent.name).map(drop)
    }

    fn create_spawned(&self, approval: &Approval, origin: Origin) -> Result<Agent, HostError> {
        let agent = agent_to_spawn(&approval.agent, &approval.details)?;
        let new = NewAgent { origin: Some(origin.clone()), ..agent };
        match block_on(self.store.create_agent(new)) {
            // Somebody else may just have done it.
            Err(conflict @ StoreError::Conflict { kind: Kind::Agent, .. }) => {
                block_on(self.store.agent_of_origin(origin))?.ok_or(HostError::Store(conflict))
            }
            made => Ok(made?),
        }
    }

    /// Tags what became of proposals where that was not done: the decision was taken elsewhere, or a
    /// crash came between.
    fn mark_decided(&self, homes: &Homes, name: &str) -> Result<(), HostError> {
        let Some(home) = homes.find(name)? else {
            return Ok(());
        };
        if Applied::unmarked(&home)?.is_empty() {
            return Ok(());
        }
        let applied = Applied::open(homes.git(), &home)?;
        for id in Applied::unmarked(&home)? {
            match block_on(self.store.approval(id)) {
                Ok(approval) => mark_outcome(&applied, &approval)?,
                Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Brings the pinned commit into force. One that was in force and is past stays past.
fn bring_into_force(applied: &Applied<'_>, approval: &Approval) -> Result<(), HostError> {
    let commit = pinned(applied, approval)?;
    let Some(commit) = commit else {
        return Err(failed("rev-parse", LOST));
    };
    applied.mark(Mark::Approved, &approval.id, commit)?;
    match applied.standing(commit)? {
        Standing::Next => applied.advance(commit)?,
        Standing::InForce | Standing::Past => {}
        Standing::Apart => return Err(failed("merge-base", apart(applied, commit)?)),
    }
    applied.mark(Mark::Deployed, &approval.id, commit)
}

const LOST: &str = "the commit that was copied for it is gone";

/// The commit that was asked for, if it is still the one that was copied for it.
fn pinned<'a>(applied: &Applied<'_>, approval: &'a Approval) -> Result<Option<&'a str>, HostError> {
    let there = applied.marked(Mark::Proposal, &approval.id)?;
    Ok(approval.commit.as_deref().filter(|commit| there.as_deref() == Some(*commit)))
}

/// Why a commit cannot come into force.
fn obstacle(applied: &Applied<'_>, approval: &Approval) -> Result<Option<String>, HostError> {
    let Some(commit) = pinned(applied, approval)? else {
        return Ok(Some(LOST.to_owned()));
    };
    match applied.standing(commit)? {
        Standing::Next | Standing::InForce => Ok(None),
        Standing::Past => Ok(Some(format!("{commit} is older than what is in force"))),
        Standing::Apart => apart(applied, commit).map(Some),
    }
}

fn apart(applied: &Applied<'_>, commit: &str) -> Result<String, HostError> {
    let now = applied.in_force()?.unwrap_or_default();
    Ok(format!("{commit} does not go on from {now}, which is in force: not a fast-forward"))
}

/// Tags what became of a proposal that does not come into force now.
fn mark_outcome(applied: &Applied<'_>, approval: &Approval) -> Result<(), HostError> {
    let mark = match approval.status {
        ApprovalStatus::Denied => Mark::Denied,
        ApprovalStatus::Failed => Mark::Failed,
        ApprovalStatus::Withdrawn => Mark::Withdrawn,
        // The one is open, the other is tagged when it is carried out.
        ApprovalStatus::Pending | ApprovalStatus::Approved => return Ok(()),
    };
    match pinned(applied, approval)? {
        Some(commit) => applied.mark(mark, &approval.id, commit),
        None => Ok(()),
    }
}

/// Without the copy nothing can be allowed; anything else can be decided.
fn without_copy(decision: Decision) -> Decision {
    match decision.verdict {
        Verdict::Approved => fail(decision, LOST.to_owned()),
        Verdict::Denied | Verdict::Failed | Verdict::Withdrawn => decision,
    }
}

fn fail(decision: Decision, problem: String) -> Decision {
    let note = match &decision.note {
        Some(note) => format!("{problem} ({note})"),
        None => problem,
    };
    Decision { verdict: Verdict::Failed, note: Some(short(note)), ..decision }
}

/// As much of a text as is stored.
fn short(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(SHORT_TEXT_BYTES_MAX));
    text.replace('\0', " ")
}
