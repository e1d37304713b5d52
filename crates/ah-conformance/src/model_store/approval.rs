//! Approvals in the oracle.

use ah_model::{
    AGENT_DESTROYED, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Cause, Decision,
    NewApproval, Page, PageRequest, SPAWN, Verdict,
};
use ah_store::{Approvals, Kind, StoreError};
use async_trait::async_trait;

use super::agent::refused as agent_refused;
use super::{Door, ModelStore, Rows, newest_page, with_prefix};

#[async_trait]
impl Approvals for ModelStore {
    async fn request_approval(&self, approval: NewApproval) -> Result<Approval, StoreError> {
        approval.check()?;
        let approval = self.clean(approval);
        self.write_once(|rows, door| rows.request_approval(approval, door))
    }

    async fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        self.read(|rows| Ok(rows.approvals[&rows.approval_place(&id)?].clone()))
    }

    async fn approval_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        self.read(|rows| {
            let ids = rows.approvals.values().map(|approval| approval.id.clone());
            Ok(with_prefix(ids, &prefix))
        })
    }

    async fn list_approvals(
        &self,
        filter: ApprovalFilter,
        page: PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        self.read(|rows| newest_page(&rows.approvals, &page, |approval| filter.matches(approval)))
    }

    async fn decide_approval(
        &self,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, StoreError> {
        decision.check()?;
        let decision = self.clean(decision);
        self.write(|rows, door| rows.decide_approval(&id, decision, door))
    }

    async fn carried_out(
        &self,
        id: ApprovalId,
        problem: Option<String>,
    ) -> Result<Approval, StoreError> {
        Approval::check_problem(problem.as_deref())?;
        let problem = self.clean(problem);
        self.write(|rows, door| {
            let approval = rows.approval_mut(&id)?;
            let noted = approval.carried_out(problem, door.now());
            noted.map_err(|reason| refused(approval, reason))?;
            Ok(approval.clone())
        })
    }
}

impl Rows {
    pub(super) fn request_approval(
        &mut self,
        mut new: NewApproval,
        door: &Door,
    ) -> Result<Approval, StoreError> {
        match self.agent_named(&new.agent) {
            None if new.kind == SPAWN => {}
            None => return Err(StoreError::not_found(Kind::Agent, &new.agent)),
            Some(agent) => {
                let fits = match new.kind == SPAWN {
                    true => agent.refuse_alive(),
                    false => agent.refuse_dead(),
                };
                fits.map_err(|reason| agent_refused(agent, reason))?;
                new.agent.clone_from(&agent.name);
            }
        }
        let waits =
            |approval: &&Approval| approval.kind == SPAWN && is_pending_of(approval, &new.agent);
        let asked_before = self.approvals.values().find(waits).filter(|_| new.kind == SPAWN);
        if let Some(asked_before) = asked_before {
            return Ok(asked_before.clone());
        }
        if let Some(id) = new.id.as_ref().filter(|id| self.approval_place(id).is_ok()) {
            return Err(StoreError::conflict(Kind::Approval, id, "exists already"));
        }
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.approval(door.now())?,
        };
        let approval = Approval::requested(&new, id, self.next_place(), door.now());
        self.insert_approval(approval.clone());
        Ok(approval)
    }

    fn decide_approval(
        &mut self,
        id: &ApprovalId,
        decision: Decision,
        door: &Door,
    ) -> Result<Approval, StoreError> {
        let decision = Decision { by: self.known(&decision.by)?, ..decision };
        let approval = self.approval_mut(id)?;
        let decided = approval.decide(&decision, door.now());
        let news = decided.map_err(|reason| refused(approval, reason))?;
        let approval = approval.clone();
        if news {
            if approval.is_to_be_carried_out() && approval.kind == SPAWN {
                self.bring_back(&approval, door)?;
            }
            self.tell(approval.decision_notice(), door)?;
        }
        Ok(self.approval_mut(id)?.clone())
    }

    /// A destroyed agent lives again, in a session of its own. One that never was is the host's to
    /// make.
    fn bring_back(&mut self, approval: &Approval, door: &Door) -> Result<(), StoreError> {
        let destroyed = self.agent_named(&approval.agent).filter(|a| a.refuse_alive().is_ok());
        let Some(id) = destroyed.map(|agent| agent.id.clone()) else {
            return Ok(());
        };
        let agent = self.agent_mut(&id)?;
        agent.revive(door.now()).map_err(|reason| agent_refused(agent, reason))?;
        let (agent, last) = self.going_on(&id)?;
        self.go_on_in(agent, &last, (last.successor(), None), Cause::Revival, door)?;
        let approval = self.approval_mut(&approval.id)?;
        approval.carried_out(None, door.now()).map_err(|reason| refused(approval, reason))
    }

    /// What a destroyed agent waits for will not come.
    pub(super) fn fail_approvals(&mut self, agent: &str, door: &Door) -> Result<(), StoreError> {
        let note = Some(AGENT_DESTROYED.to_owned());
        let decision = Decision { note, ..Decision::operator(Verdict::Failed) };
        let pending = self.approvals.values_mut().filter(|a| is_pending_of(a, agent));
        for approval in pending {
            let decided = approval.decide(&decision, door.now());
            decided.map_err(|reason| refused(approval, reason))?;
        }
        Ok(())
    }

    pub(super) fn insert_approval(&mut self, approval: Approval) {
        self.approvals.insert(i64::try_from(approval.number).unwrap(), approval);
    }

    pub(super) fn approval_place(&self, id: &ApprovalId) -> Result<i64, StoreError> {
        let place = self.approvals.iter().find(|(_, approval)| approval.id == *id);
        let place = place.map(|(place, _)| *place);
        place.ok_or_else(|| StoreError::not_found(Kind::Approval, id))
    }

    fn approval_mut(&mut self, id: &ApprovalId) -> Result<&mut Approval, StoreError> {
        let place = self.approval_place(id)?;
        Ok(self.approvals.get_mut(&place).unwrap())
    }
}

fn is_pending_of(approval: &Approval, agent: &str) -> bool {
    approval.status == ApprovalStatus::Pending && approval.agent.eq_ignore_ascii_case(agent)
}

fn refused(approval: &Approval, reason: String) -> StoreError {
    StoreError::conflict(Kind::Approval, &approval.id, reason)
}
