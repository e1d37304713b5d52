//! Agents from other stores: found again by their origin, added to, never doubled.

use ah_model::{
    Agent, AgentId, AgentImport, AgentImported, IMPORTED, Invalid, Lifecycle, NewSession, Origin,
    RETIRED, Session, SessionId, SessionImport,
};
use ah_store::{Kind, StoreError};

use super::{Access, exists, get, of_name, of_origin, row};
use crate::change;
use crate::event::{self, Append};
use crate::resources::Resources;
use crate::session::{self, Place};
use crate::tx::Tx;

pub(super) fn import(
    tx: &mut dyn Tx,
    ctx: &Resources,
    import: &AgentImport,
) -> Result<AgentImported, StoreError> {
    let origin = import.agent.origin.as_ref();
    let origin = origin.ok_or_else(|| Invalid::new("origin", "an imported agent needs one"))?;
    let known = of_origin(tx, origin)?.map(|agent| agent.id);
    let created = known.is_none();
    let (before, agent) = match known {
        Some(id) => {
            let before = get(tx, &id, Access::Change)?;
            let mut agent = before.clone();
            agent.take_newer(import)?;
            (Some(before), agent)
        }
        None => (None, insert(tx, ctx, import)?),
    };
    let done = AgentImported {
        agent_id: agent.id.clone(),
        name: agent.name.clone(),
        created,
        sessions: 0,
        events: 0,
        present: 0,
    };
    let mut work = Work { import, source: &origin.source, agent, done };
    let mut last = None;
    for (place, session) in import.sessions.iter().enumerate() {
        last = Some(work.session(tx, ctx, session, place)?);
    }
    if let Some(last) = last {
        work.settle(tx, ctx, last)?;
    }
    row::save(tx, &work.agent)?;
    if before.is_none_or(|before| is_other(&before, &work.agent)) {
        change::agent(tx, ctx, &work.agent.name)?;
    }
    Ok(work.done)
}

/// Whether more of an agent changed than its sessions.
fn is_other(before: &Agent, agent: &Agent) -> bool {
    let renewed = before.active_session_id != agent.active_session_id;
    let but_sessions = Agent {
        active_session_id: before.active_session_id.clone(),
        session_count: before.session_count,
        usage: before.usage,
        revision: if renewed { before.revision } else { agent.revision },
        updated_at: before.updated_at,
        ..agent.clone()
    };
    but_sessions != *before
}

/// Writes the row of an agent that is new here, under an id and a name that are free.
fn insert(tx: &mut dyn Tx, ctx: &Resources, import: &AgentImport) -> Result<Agent, StoreError> {
    let id = free_id(tx, ctx, import.agent.id.as_ref())?;
    let mut name = import.agent.name.clone();
    for candidate in import.names() {
        let an_id = import.agent.id.as_ref().is_none_or(|id| id.as_str() != candidate)
            && exists(tx, &candidate)?;
        if !an_id && of_name(tx, &candidate)?.is_none() {
            name = candidate;
            break;
        }
    }
    let agent = Agent::imported(import, id, name)?;
    row::insert(tx, &agent)?;
    Ok(agent)
}

fn free_id(
    tx: &mut dyn Tx,
    ctx: &Resources,
    wanted: Option<&AgentId>,
) -> Result<AgentId, StoreError> {
    match wanted {
        Some(id) if !exists(tx, id.as_str())? && of_name(tx, id.as_str())?.is_none() => {
            Ok(id.clone())
        }
        _ => ctx.ids.agent(ctx.now()),
    }
}

const SET_INFERENCE: &str = "UPDATE sessions SET inference_session_id = $1 WHERE id = $2";

struct Work<'a> {
    import: &'a AgentImport,
    source: &'a str,
    agent: Agent,
    done: AgentImported,
}

impl Work<'_> {
    /// Brings one session in, or what is new of it.
    fn session(
        &mut self,
        tx: &mut dyn Tx,
        ctx: &Resources,
        given: &SessionImport,
        place: usize,
    ) -> Result<SessionId, StoreError> {
        let mut session = match self.known(tx, given)? {
            Some(session) => session,
            None => self.begin(tx, ctx, given)?,
        };
        if !given.events.is_empty() {
            let (session, agent) = (&session.id, Some(&self.agent.id));
            let append =
                Append { session, after: None, events: &given.events, agent, active_at: None };
            let appended = event::append(tx, ctx, &append)?;
            self.done.events += appended.appended;
            self.done.present += appended.duplicates;
        }
        session.last_seq = session::last_seq(tx, &session.id)?;
        if let (None, Some(id)) =
            (&session.details.inference_session_id, &given.inference_session_id)
        {
            tx.execute(SET_INFERENCE, &[id.into(), session.id.as_str().into()])?;
        }
        let before = session.clone();
        session.follow_import(given, self.import.end_reason(place));
        session::save_if_changed(tx, ctx, &before, &session)?;
        Ok(session.id)
    }

    fn known(&self, tx: &mut dyn Tx, given: &SessionImport) -> Result<Option<Session>, StoreError> {
        let external_id = given.external_id.clone();
        let origin = Origin { source: self.source.to_owned(), external_id };
        let Some(session) = session::of_origin(tx, &origin)? else {
            return Ok(None);
        };
        if session.of_agent.as_ref().is_none_or(|membership| membership.id != self.agent.id) {
            let reason = "belongs to another agent";
            return Err(StoreError::conflict(Kind::Session, &session.id, reason));
        }
        session::get(tx, &session.id, Access::Change).map(Some)
    }

    fn begin(
        &mut self,
        tx: &mut dyn Tx,
        ctx: &Resources,
        given: &SessionImport,
    ) -> Result<Session, StoreError> {
        let external_id = given.external_id.clone();
        let mut new = NewSession {
            id: None,
            parent: None,
            origin: Some(Origin { source: self.source.to_owned(), external_id }),
            ..self.import.agent.session.clone()
        };
        new.details.reset_message.clone_from(&given.reset_message);
        new.details.inference_session_id.clone_from(&given.inference_session_id);
        let of_agent = Some(self.agent.begins_session(given.cause));
        let place = Place { forked_from: None, of_agent, at: Some(given.created_at) };
        self.done.sessions += 1;
        session::create(tx, ctx, new, place)
    }

    /// The last session goes on, unless the agent went on here; a dead agent's does not.
    fn settle(
        &mut self,
        tx: &mut dyn Tx,
        ctx: &Resources,
        last: SessionId,
    ) -> Result<(), StoreError> {
        let mut last = session::get(tx, &last, Access::Change)?;
        let last_before = last.clone();
        let mut active = match &self.agent.active_session_id {
            Some(id) if *id != last.id => Some(session::get(tx, id, Access::Change)?),
            _ => None,
        };
        let active_before = active.clone();
        if Agent::follows_import(active.as_ref(), &last, self.source) {
            let cause = last.of_agent.as_ref().map_or("reset", |place| place.cause.as_str());
            if let Some(mut left) = active.take() {
                left.close(cause, last.created_at);
                session::save_status(tx, ctx, &left)?;
            }
            self.agent.active_session_id = Some(last.id.clone());
        } else {
            let at = last.last_activity_at;
            last.close(IMPORTED, at);
        }
        if self.agent.lifecycle == Lifecycle::Dead {
            let dying = active.as_mut().unwrap_or(&mut last);
            dying.close(RETIRED, self.import.updated_at.max(dying.last_activity_at));
        }
        if let (Some(before), Some(active)) = (active_before, active) {
            session::save_if_changed(tx, ctx, &before, &active)?;
        }
        session::save_if_changed(tx, ctx, &last_before, &last)
    }
}
