//! What the host does for agents: the store decides, the host carries out.

use std::fmt;
use std::sync::Arc;

use ah_model::{
    APPLY_COMMIT, Agent, AgentId, AgentUpdate, Approval, ApprovalId, Decision, Invalid,
    NewApproval, Receipt, RemovalStep, SPAWN,
};
use ah_store::{Clock, Ids, Kind, Store, StoreError, SystemClock, SystemIds, block_on};

use crate::applied::Applied;
use crate::model_file::check_model;
use crate::{Homes, HostError};

/// A store and, if it is this machine that keeps them, the homes of its agents. Without homes the
/// store is a server's, whose own host does what is to be done there.
#[derive(Clone)]
pub struct Host {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) homes: Option<Homes>,
    pub(crate) clock: Arc<dyn Clock>,
    ids: Arc<Ids>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("homes", &self.homes).finish_non_exhaustive()
    }
}

impl Host {
    /// A host of `store`.
    pub fn new(store: Arc<dyn Store>, homes: Option<Homes>) -> Self {
        let ids = Arc::new(Ids::new(Box::new(SystemIds)));
        Self { store, homes, clock: Arc::new(SystemClock), ids }
    }

    /// The same with another clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The homes, if they are here.
    pub fn homes(&self) -> Option<&Homes> {
        self.homes.as_ref()
    }

    /// Makes the home of an agent, or checks the one that is there.
    pub fn create_home(&self, agent: &Agent) -> Result<(), HostError> {
        match &self.homes {
            Some(homes) => homes.create(&agent.name).map(drop),
            None => Ok(()),
        }
    }

    /// Asks for an approval. The commit of an `apply_commit` is copied and pinned first.
    pub fn request_approval(&self, new: NewApproval) -> Result<Approval, HostError> {
        match (&self.homes, &*new.kind) {
            (Some(homes), APPLY_COMMIT) => self.request_commit(homes, new),
            (Some(_), SPAWN) => {
                self.check_spawn(&new)?;
                self.ask(new)
            }
            _ => self.ask(new),
        }
    }

    fn ask(&self, new: NewApproval) -> Result<Approval, HostError> {
        Ok(block_on(self.store.request_approval(new))?)
    }

    /// An agent that is not there can only be made of what is said about it.
    fn check_spawn(&self, new: &NewApproval) -> Result<(), HostError> {
        new.check()?;
        if self.agent_of_name(&new.agent)?.is_none() {
            crate::carry_out::agent_to_spawn(&new.agent, &new.details)?;
        }
        Ok(())
    }

    fn request_commit(&self, homes: &Homes, new: NewApproval) -> Result<Approval, HostError> {
        new.check_but_commit()?;
        let agent = self.agent_of_name(&new.agent)?;
        let agent = agent.ok_or_else(|| StoreError::not_found(Kind::Agent, &new.agent))?;
        let alive = agent.refuse_dead();
        alive.map_err(|reason| StoreError::conflict(Kind::Agent, &agent.id, reason))?;
        let home = homes.create(&agent.name)?;
        let applied = Applied::open(homes.git(), &home)?;
        let id = match &new.id {
            Some(id) => id.clone(),
            None => self.ids.approval(self.clock.now())?,
        };
        // The tag comes before the row: a commit that nobody asks for costs a little space, a row
        // without its commit could never be approved.
        let was_there = applied.is_pinned(&id)?;
        let named = new.commit_ref.as_deref().or(new.commit.as_deref()).unwrap_or("HEAD");
        let commit = applied.pin(named, &id)?;
        let asked = match &new.commit {
            Some(other) if *other != commit => {
                let reason = format!("{other} is not {named}, which is {commit}");
                Err(Invalid::new("commit", reason).into())
            }
            _ => self.ask(NewApproval { id: Some(id.clone()), commit: Some(commit), ..new }),
        };
        let is_taken = match &asked {
            Ok(approval) => approval.id == id,
            Err(error) => !is_refusal(error),
        };
        if !is_taken && !was_there {
            applied.unpin(&id)?;
        }
        asked
    }

    /// Decides an approval and carries it out. What was to be allowed and cannot be done any more
    /// fails instead, with a note.
    pub fn decide(&self, id: ApprovalId, decision: Decision) -> Result<Approval, HostError> {
        let Some(homes) = &self.homes else {
            return self.settle(id, decision);
        };
        decision.check()?;
        let approval = block_on(self.store.approval(id.clone()))?;
        match &*approval.kind {
            APPLY_COMMIT => self.decide_commit(homes, &approval, decision),
            SPAWN => self.decide_spawn(homes, &approval, decision),
            _ => self.settle(id, decision),
        }
    }

    /// Decides in the store.
    pub(crate) fn settle(&self, id: ApprovalId, decision: Decision) -> Result<Approval, HostError> {
        Ok(block_on(self.store.decide_approval(id, decision))?)
    }

    /// The agent of that name.
    pub(crate) fn agent_of_name(&self, name: &str) -> Result<Option<Agent>, HostError> {
        Ok(block_on(self.store.agent_of_name(name.to_owned()))?)
    }

    /// One bounded step of a purge: destroys the agent, takes its home away, then removes its rows
    /// and what it had.
    pub fn purge_step(&self, id: AgentId) -> Result<RemovalStep, HostError> {
        match &self.homes {
            Some(homes) => self.purge_step_here(homes, &id),
            None => Ok(block_on(self.store.purge_step(id))?),
        }
    }

    /// Purges an agent, telling after every step what is gone.
    pub fn purge(&self, id: AgentId, told: &mut dyn FnMut(&Receipt)) -> Result<Receipt, HostError> {
        loop {
            let step = self.purge_step(id.clone())?;
            told(&step.receipt);
            if !step.more {
                return Ok(step.receipt);
            }
        }
    }

    /// The model an agent runs on: its home's file, else what the store says of it.
    pub fn model(&self, agent: &Agent) -> Result<Option<String>, HostError> {
        let home = self.homes.as_ref().map_or(Ok(None), |homes| homes.find(&agent.name))?;
        let chosen = home.map_or(Ok(None), |home| home.model())?;
        Ok(chosen.or_else(|| agent.model.clone()))
    }

    /// Chooses a model, or none; in the store and in the home's file.
    pub fn set_model(&self, id: AgentId, model: Option<&str>) -> Result<Agent, HostError> {
        model.map_or(Ok(()), check_model)?;
        let model_or_none = Some(model.unwrap_or_default().to_owned());
        let update = AgentUpdate { model: model_or_none, ..AgentUpdate::default() };
        let agent = block_on(self.store.update_agent(id, update))?;
        if let Some(homes) = &self.homes {
            homes.create(&agent.name)?.set_model(model)?;
        }
        Ok(agent)
    }
}

/// Whether the store says no, rather than that it does not know.
fn is_refusal(error: &HostError) -> bool {
    matches!(
        error,
        HostError::Store(
            StoreError::NotFound { .. } | StoreError::Conflict { .. } | StoreError::Invalid(_)
        )
    )
}
