//! Agents in the oracle.

use ah_model::{
    Agent, AgentFilter, AgentId, AgentImport, AgentImported, AgentUpdate, Appended, Approval,
    Beginning, Cause, Cursor, Exit, Fork, Invalid, Lifecycle, Membership, NewAgent, NewApproval,
    NewEvent, NewSession, Order, Origin, Page, PageRequest, RETIRED, Renewal, SPAWN, Session,
    SessionId, SessionStatus, StatusChange, Usage,
};
use ah_store::{Agents, Kind, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, after_number, after_text, overfull};

#[async_trait]
impl Agents for ModelStore {
    async fn create_agent(&self, agent: NewAgent) -> Result<Agent, StoreError> {
        agent.check()?;
        let agent = self.clean(agent);
        self.write_once(|rows, door| rows.create_agent(agent, door))
    }

    async fn agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.read(|rows| rows.agent(&id).cloned())
    }

    async fn agent_of_name(&self, name: String) -> Result<Option<Agent>, StoreError> {
        self.read(|rows| Ok(rows.agent_named(&name).cloned()))
    }

    async fn agent_of_origin(&self, origin: Origin) -> Result<Option<Agent>, StoreError> {
        self.read(|rows| Ok(rows.agent_from(&origin).cloned()))
    }

    async fn agent_ids_with_prefix(&self, prefix: String) -> Result<Vec<AgentId>, StoreError> {
        self.read(|rows| {
            let ids = rows.agents.keys().filter(|id| id.as_str().starts_with(&prefix));
            Ok(ids.take(2).cloned().collect())
        })
    }

    async fn list_agents(
        &self,
        filter: AgentFilter,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        let after = after_text(&page)?;
        self.read(|rows| {
            let agents = rows.agents.values().filter(|agent| filter.matches(agent));
            let behind = |agent: &&Agent| after.is_none_or(|after| agent.name.as_str() > after);
            let mut agents: Vec<_> = agents.filter(behind).collect();
            agents.sort_by_key(|agent| &agent.name);
            let items = overfull(agents.into_iter().cloned(), &page);
            let cursor = |agent: &Agent| Cursor::Text(agent.name.clone());
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn update_agent(&self, id: AgentId, update: AgentUpdate) -> Result<Agent, StoreError> {
        let update = self.clean(update);
        self.write(|rows, door| {
            let agent = rows.agent_mut(&id)?;
            update.check(&agent.agent_type)?;
            let applied = agent.apply(&update, door.now());
            applied.map_err(|reason| refused(agent, reason))?;
            Ok(agent.clone())
        })
    }

    async fn set_agent_lifecycle(
        &self,
        id: AgentId,
        lifecycle: Lifecycle,
    ) -> Result<Agent, StoreError> {
        self.write(|rows, door| rows.set_agent_lifecycle(&id, lifecycle, door))
    }

    async fn destroy_agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.write(|rows, door| rows.destroy_agent(&id, door))
    }

    async fn revive_agent(&self, id: AgentId) -> Result<Approval, StoreError> {
        self.write_once(|rows, door| {
            let agent = rows.agent(&id)?;
            agent.refuse_alive().map_err(|reason| refused(agent, reason))?;
            rows.request_approval(NewApproval::new(&agent.name, SPAWN), door)
        })
    }

    async fn renew_agent(&self, id: AgentId, renewal: Renewal) -> Result<Session, StoreError> {
        renewal.check()?;
        let renewal = self.clean(renewal);
        self.write_once(|rows, door| rows.renew_agent(&id, renewal, door))
    }

    async fn append_to_agent(
        &self,
        id: AgentId,
        expected: Option<SessionId>,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.write_once(|rows, door| {
            let done = rows.append_to_agent(&id, expected.as_ref(), events, door)?;
            Ok(Appended { redacted, ..done })
        })
    }

    async fn agent_sessions(
        &self,
        id: AgentId,
        order: Order,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        self.read(|rows| {
            rows.agent(&id)?;
            let after = after_number(&page)?;
            let mut sessions: Vec<_> =
                rows.sessions.values().filter(|session| is_of(session, &id)).collect();
            sessions.sort_by_key(|session| number(session));
            if order == Order::Newest {
                sessions.reverse();
            }
            let behind = |session: &&Session| match order {
                Order::Oldest => after.is_none_or(|after| number(session) > after),
                Order::Newest => after.is_none_or(|after| number(session) < after),
            };
            let sessions = sessions.into_iter().filter(behind);
            let items = overfull(sessions.map(|session| rows.show(session)), &page);
            let cursor = |session: &Session| Cursor::Number(number(session));
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn import_agent(&self, import: AgentImport) -> Result<AgentImported, StoreError> {
        import.check()?;
        let import = self.clean(import);
        self.write(|rows, door| rows.import_agent(import, door))
    }
}

impl Rows {
    /// Refuses, in this order: a taken id, a taken name, a taken origin, what no session may be.
    fn create_agent(&mut self, new: NewAgent, door: &Door) -> Result<Agent, StoreError> {
        let now = door.now();
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.agent(now)?,
        };
        if self.agents.contains_key(&id) {
            return Err(StoreError::conflict(Kind::Agent, id, "exists already"));
        }
        if self.agent_named(&new.name).is_some() {
            return Err(StoreError::conflict(Kind::Agent, new.name, "exists already"));
        }
        if self.agents.keys().any(|other| other.as_str() == new.name) {
            return Err(StoreError::conflict(Kind::Agent, new.name, "is the id of another agent"));
        }
        if self.agent_named(id.as_str()).is_some() {
            return Err(StoreError::conflict(Kind::Agent, id, "is the name of another agent"));
        }
        let holder =
            new.origin.as_ref().and_then(|origin| Some((origin, self.agent_from(origin)?)));
        if let Some((origin, holder)) = holder {
            let reason = format!("comes from {} {} already", origin.source, origin.external_id);
            return Err(refused(holder, reason));
        }
        let mut agent = Agent::created(&new, id, now)?;
        let session = self.create_session(new.session, door)?;
        self.join(&session.id, agent.begins_session(Cause::Created))?;
        agent.active_session_id = Some(session.id);
        self.agents.insert(agent.id.clone(), agent.clone());
        Ok(agent)
    }

    fn set_agent_lifecycle(
        &mut self,
        id: &AgentId,
        to: Lifecycle,
        door: &Door,
    ) -> Result<Agent, StoreError> {
        let now = door.now();
        let agent = self.agent_mut(id)?;
        let before = agent.lifecycle;
        agent.transition(to, now).map_err(|reason| refused(agent, reason))?;
        let agent = agent.clone();
        if before != Lifecycle::Dead && to == Lifecycle::Dead {
            self.end_session_of(&agent, door)?;
        }
        Ok(agent)
    }

    fn destroy_agent(&mut self, id: &AgentId, door: &Door) -> Result<Agent, StoreError> {
        let agent = self.agent_mut(id)?;
        let news = agent.destroy(door.now()).map_err(|reason| refused(agent, reason))?;
        let agent = agent.clone();
        if news {
            self.end_session_of(&agent, door)?;
            self.fail_approvals(&agent.name, door)?;
        }
        Ok(agent)
    }

    /// What an agent that died was at has ended.
    fn end_session_of(&mut self, agent: &Agent, door: &Door) -> Result<(), StoreError> {
        let Some(active) = &agent.active_session_id else { return Ok(()) };
        self.row_mut(active)?.close(RETIRED, door.now());
        self.end_work(active, door)
    }

    fn renew_agent(
        &mut self,
        id: &AgentId,
        renewal: Renewal,
        door: &Door,
    ) -> Result<Session, StoreError> {
        let (agent, active) = self.going_on(id)?;
        if let Some(reason) = renewal.refusal(&active.id, active.last_seq) {
            return Err(refused(&agent, reason));
        }
        let next = self.next_session(&agent, &active, &renewal)?;
        self.go_on_in(agent, &active, next, renewal.cause(), door)
    }

    /// Ends the session that goes on and begins the next one, which may be a fork.
    pub(super) fn go_on_in(
        &mut self,
        mut agent: Agent,
        active: &Session,
        (new, forked_from): (NewSession, Option<Fork>),
        cause: Cause,
        door: &Door,
    ) -> Result<Session, StoreError> {
        let now = door.now();
        self.row_mut(&active.id)?.close(cause.as_str(), now);
        self.end_work(&active.id, door)?;
        let session = self.create_session(new, door)?;
        self.row_mut(&session.id)?.forked_from = forked_from;
        self.join(&session.id, agent.begins_session(cause))?;
        agent.goes_on_in(session.id.clone(), now);
        self.agents.insert(agent.id.clone(), agent);
        self.shown(&session.id)
    }

    /// The session to create for `renewal`, and where it was forked from.
    fn next_session(
        &self,
        agent: &Agent,
        active: &Session,
        renewal: &Renewal,
    ) -> Result<(NewSession, Option<Fork>), StoreError> {
        let (mut new, forked_from) = match &renewal.how {
            Beginning::Reset { .. } | Beginning::Compaction { .. } => (active.successor(), None),
            Beginning::Fork { session, at_seq } => {
                let stem = self.shown(session.as_ref().unwrap_or(&active.id))?;
                if !is_of(&stem, &agent.id) {
                    let reason = format!("{} is not a session of agent {}", stem.id, agent.name);
                    return Err(Invalid::new("fork session", reason).into());
                }
                let (new, fork) = stem.fork(*at_seq)?;
                (new, Some(fork))
            }
        };
        new.id.clone_from(&renewal.session_id);
        new.details.reset_message = renewal.reason().map(str::to_owned);
        new.details.inference_session_id.clone_from(&renewal.inference_session_id);
        Ok((new, forked_from))
    }

    fn append_to_agent(
        &mut self,
        id: &AgentId,
        expected: Option<&SessionId>,
        events: Vec<NewEvent>,
        door: &Door,
    ) -> Result<Appended, StoreError> {
        let now = door.now();
        let (agent, active) = self.going_on(id)?;
        Agent::expect(&active.id, expected).map_err(|reason| refused(&agent, reason))?;
        let appended = self.append_events(&active.id, events, now)?;
        if appended.appended > 0 && active.status == SessionStatus::Created {
            let begins = StatusChange { to: SessionStatus::Running, exit: Exit::default() };
            let moved = self.row_mut(&active.id)?.transition(begins, now);
            moved.map_err(|reason| StoreError::conflict(Kind::Session, &active.id, reason))?;
        }
        Ok(appended)
    }

    /// The agent, which lives, and the session it goes on in.
    pub(super) fn going_on(&self, id: &AgentId) -> Result<(Agent, Session), StoreError> {
        let agent = self.agent(id)?.clone();
        agent.refuse_dead().map_err(|reason| refused(&agent, reason))?;
        match &agent.active_session_id {
            None => Err(refused(&agent, "has no session".to_owned())),
            Some(active) => {
                let active = self.shown(active)?;
                Ok((agent, active))
            }
        }
    }

    /// Makes a session one of an agent's.
    pub(super) fn join(&mut self, id: &SessionId, place: Membership) -> Result<(), StoreError> {
        self.row_mut(id)?.of_agent = Some(place);
        Ok(())
    }

    /// Whether an export's word that a session is an agent's can be kept here.
    pub(super) fn has_place(&self, place: &Membership) -> bool {
        let known = self.agents.get(&place.id);
        let taken = |session: &Session| {
            let taken = session.of_agent.as_ref();
            taken.is_some_and(|taken| (&taken.id, taken.number) == (&place.id, place.number))
        };
        known.is_some_and(|agent| place.number <= agent.session_count)
            && !self.sessions.values().any(taken)
    }

    pub(super) fn agent(&self, id: &AgentId) -> Result<&Agent, StoreError> {
        self.agents.get(id).ok_or_else(|| StoreError::not_found(Kind::Agent, id))
    }

    pub(super) fn agent_mut(&mut self, id: &AgentId) -> Result<&mut Agent, StoreError> {
        self.agents.get_mut(id).ok_or_else(|| StoreError::not_found(Kind::Agent, id))
    }

    pub(super) fn agent_named(&self, name: &str) -> Option<&Agent> {
        self.agents.values().find(|agent| agent.name.eq_ignore_ascii_case(name))
    }

    pub(super) fn agent_from(&self, origin: &Origin) -> Option<&Agent> {
        self.agents.values().find(|agent| agent.origin.as_ref() == Some(origin))
    }
}

pub(super) fn refused(agent: &Agent, reason: String) -> StoreError {
    StoreError::conflict(Kind::Agent, &agent.name, reason)
}

impl Rows {
    /// Makes an agent's totals those of the sessions it has.
    pub(super) fn recount(&mut self, id: &AgentId) {
        let spent = self.sessions.values().filter(|session| is_of(session, id)).map(|s| s.usage);
        let total = spent.fold(Usage::default(), Usage::plus);
        if let Some(agent) = self.agents.get_mut(id) {
            agent.usage = total;
        }
    }
}

pub(super) fn is_of(session: &Session, agent: &AgentId) -> bool {
    session.of_agent.as_ref().is_some_and(|place| place.id == *agent)
}

/// The place of a session in its agent's life.
fn number(session: &Session) -> i64 {
    let number = session.of_agent.as_ref().map_or(0, |place| place.number);
    i64::try_from(number).unwrap()
}
