//! Agents in SQL: `row` reads and writes the row, `list` filters and pages, `import` brings agents
//! in from elsewhere, this file holds the use cases.
//!
//! Rows are locked in one order everywhere: the agent, then its sessions.

mod import;
mod list;
mod row;

use ah_model::{
    Agent, AgentFilter, AgentId, AgentImport, AgentImported, AgentUpdate, Appended, Approval,
    Beginning, Cause, ChangeKind, Fork, Invalid, Lifecycle, Membership, NewAgent, NewApproval,
    NewEvent, NewSession, Order, Origin, Page, PageRequest, RETIRED, Renewal, SPAWN, Session,
    SessionId,
};
use ah_store::{Agents, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::approval;
use crate::change;
use crate::event::{self, Append};
use crate::page::ids_with_prefix;
use crate::resources::Resources;
use crate::run;
use crate::session::{self, Access, Place};
use crate::tx::{Tx, query_first};

/// The agent of that id.
pub(crate) fn get(tx: &mut dyn Tx, id: &AgentId, access: Access) -> Result<Agent, StoreError> {
    if access == Access::Change {
        lock(tx, id)?;
    }
    row::find(tx, "i.id = $1", &[id.as_str().into()])?
        .ok_or_else(|| StoreError::not_found(Kind::Agent, id))
}

const EXISTS: &str = "SELECT id FROM agent_instances WHERE id = $1";

fn exists(tx: &mut dyn Tx, id: &str) -> Result<bool, StoreError> {
    Ok(query_first(tx, EXISTS, &[id.into()], |row| row.text(0))?.is_some())
}

/// Keeps everybody else from changing the agent until the transaction ends; whether there is one.
pub(crate) fn lock(tx: &mut dyn Tx, id: &AgentId) -> Result<bool, StoreError> {
    let sql = format!("{EXISTS}{}", tx.dialect().for_update());
    Ok(query_first(tx, &sql, &[id.as_str().into()], |row| row.text(0))?.is_some())
}

/// The agent of that id, to whom nobody addresses anything until the transaction ends.
pub(crate) fn lock_to_remove(tx: &mut dyn Tx, id: &AgentId) -> Result<Agent, StoreError> {
    let sql = format!("{EXISTS}{}", tx.dialect().for_removal());
    query_first(tx, &sql, &[id.as_str().into()], |_| Ok(()))?;
    get(tx, id, Access::Read)
}

const OF_SESSION: &str = "SELECT instance_id FROM sessions WHERE id = $1";

/// The agent whose session it is, locked. A session never changes its agent.
pub(crate) fn lock_of_session(
    tx: &mut dyn Tx,
    session: &SessionId,
) -> Result<Option<AgentId>, StoreError> {
    let agent = query_first(tx, OF_SESSION, &[session.as_str().into()], |row| row.opt_parse(0))?;
    let Some(agent) = agent.flatten() else {
        return Ok(None);
    };
    Ok(lock(tx, &agent)?.then_some(agent))
}

const PLACE: &str = "SELECT i.id FROM agent_instances i WHERE i.id = $1 AND i.session_count >= $2 \
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.instance_id = i.id AND s.instance_number = $2)";

/// The place that a session had before it was removed here; no other.
pub(crate) fn free_place(
    tx: &mut dyn Tx,
    place: Option<Membership>,
) -> Result<Option<Membership>, StoreError> {
    let Some(place) = place else { return Ok(None) };
    let params = [place.id.as_str().into(), place.number.into()];
    let free = query_first(tx, PLACE, &params, |row| row.text(0))?;
    Ok(free.map(|_| place))
}

const LEFT: &str = "SELECT id FROM agent_instances WHERE id = $1 AND active_session_id <> $2";

/// Whether the agent of a session goes on in another.
pub(crate) fn is_left(
    tx: &mut dyn Tx,
    place: Option<&Membership>,
    session: &SessionId,
) -> Result<bool, StoreError> {
    let Some(place) = place else { return Ok(false) };
    let params = [place.id.as_str().into(), session.as_str().into()];
    Ok(query_first(tx, LEFT, &params, |row| row.text(0))?.is_some())
}

/// The agent of that name, in any case of its letters.
pub(crate) fn of_name(tx: &mut dyn Tx, name: &str) -> Result<Option<Agent>, StoreError> {
    let name = name.to_ascii_lowercase();
    row::find(tx, "lower(i.name) = $1", &[(&name).into()])
}

fn of_origin(tx: &mut dyn Tx, origin: &Origin) -> Result<Option<Agent>, StoreError> {
    let params = [(&origin.source).into(), (&origin.external_id).into()];
    row::find(tx, "i.source = $1 AND i.external_id = $2", &params)
}

fn create(tx: &mut dyn Tx, ctx: &Resources, new: &NewAgent) -> Result<Agent, StoreError> {
    let now = ctx.now();
    let id = match &new.id {
        Some(id) => id.clone(),
        None => ctx.ids.agent(now)?,
    };
    refuse_taken(tx, &id, new)?;
    let mut agent = Agent::created(new, id, now)?;
    let membership = agent.begins_session(Cause::Created);
    row::insert(tx, &agent)?;
    change::agent(tx, ctx, &agent.name)?;
    let place = Place { of_agent: Some(membership), ..Place::default() };
    agent.active_session_id = Some(session::create(tx, ctx, new.session.clone(), place)?.id);
    row::save(tx, &agent)?;
    Ok(agent)
}

fn refuse_taken(tx: &mut dyn Tx, id: &AgentId, new: &NewAgent) -> Result<(), StoreError> {
    let taken = |name: &str| Err(StoreError::conflict(Kind::Agent, name, "exists already"));
    if exists(tx, id.as_str())? {
        return taken(id.as_str());
    }
    if of_name(tx, &new.name)?.is_some() {
        return taken(&new.name);
    }
    // A name and an id are given in the same places: neither may be another agent's other one.
    if exists(tx, &new.name)? {
        let reason = "is the id of another agent";
        return Err(StoreError::conflict(Kind::Agent, &new.name, reason));
    }
    if of_name(tx, id.as_str())?.is_some() {
        let reason = "is the name of another agent";
        return Err(StoreError::conflict(Kind::Agent, id, reason));
    }
    let Some(origin) = &new.origin else { return Ok(()) };
    match of_origin(tx, origin)? {
        None => Ok(()),
        Some(holder) => {
            let Origin { source, external_id } = origin;
            let reason = format!("comes from {source} {external_id} already");
            Err(StoreError::conflict(Kind::Agent, holder.name, reason))
        }
    }
}

/// Why `agent` does not take part in this.
fn refused(agent: &Agent, reason: String) -> StoreError {
    StoreError::conflict(Kind::Agent, &agent.name, reason)
}

/// Only an agent that lives.
pub(crate) fn refuse_dead(agent: &Agent) -> Result<(), StoreError> {
    agent.refuse_dead().map_err(|reason| refused(agent, reason))
}

/// Only an agent that was destroyed.
pub(crate) fn refuse_alive(agent: &Agent) -> Result<(), StoreError> {
    agent.refuse_alive().map_err(|reason| refused(agent, reason))
}

const OF_NAME: &str = "SELECT id FROM agent_instances WHERE lower(name) = $1";

/// The agent of that name, which lives or stays dead until the transaction ends: what is asked for it
/// is there when it is destroyed or comes back, or is not asked for.
pub(crate) fn standing_of_name(tx: &mut dyn Tx, name: &str) -> Result<Option<Agent>, StoreError> {
    let sql = format!("{OF_NAME}{}", tx.dialect().for_standing());
    named(tx, &sql, name)
}

/// The agent of that name, which nobody else changes until the transaction ends.
pub(crate) fn lock_of_name(tx: &mut dyn Tx, name: &str) -> Result<Option<Agent>, StoreError> {
    let sql = format!("{OF_NAME}{}", tx.dialect().for_update());
    named(tx, &sql, name)
}

/// Read by a statement after the one that locks, which may have waited for a change.
fn named(tx: &mut dyn Tx, sql: &str, name: &str) -> Result<Option<Agent>, StoreError> {
    let name = name.to_ascii_lowercase();
    let id = query_first(tx, sql, &[(&name).into()], |row| row.parse(0))?;
    id.map(|id| get(tx, &id, Access::Read)).transpose()
}

fn update(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &AgentId,
    update: &AgentUpdate,
) -> Result<Agent, StoreError> {
    let mut agent = get(tx, id, Access::Change)?;
    update.check(&agent.agent_type)?;
    agent.apply(update, ctx.now()).map_err(|reason| refused(&agent, reason))?;
    save(tx, ctx, &agent)?;
    Ok(agent)
}

/// Writes what of an agent changed, and notes it.
fn save(tx: &mut dyn Tx, ctx: &Resources, agent: &Agent) -> Result<(), StoreError> {
    row::save(tx, agent)?;
    change::agent(tx, ctx, &agent.name)
}

fn set_lifecycle(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &AgentId,
    to: Lifecycle,
) -> Result<Agent, StoreError> {
    let mut agent = get(tx, id, Access::Change)?;
    if agent.lifecycle == to {
        return Ok(agent);
    }
    let now = ctx.now();
    agent.transition(to, now).map_err(|reason| refused(&agent, reason))?;
    save(tx, ctx, &agent)?;
    if to == Lifecycle::Dead {
        end_session(tx, ctx, &agent)?;
    }
    Ok(agent)
}

/// What an agent that has died goes on in ends, unless it has.
fn end_session(tx: &mut dyn Tx, ctx: &Resources, agent: &Agent) -> Result<(), StoreError> {
    let Some(active) = &agent.active_session_id else { return Ok(()) };
    let mut active = session::get(tx, active, Access::Change)?;
    let before = active.clone();
    active.close(RETIRED, ctx.now());
    session::save_if_changed(tx, ctx, &before, &active)?;
    run::end_work(tx, ctx, &mut active)
}

fn destroy(tx: &mut dyn Tx, ctx: &Resources, id: &AgentId) -> Result<Agent, StoreError> {
    let mut agent = get(tx, id, Access::Change)?;
    let destroyed = agent.destroy(ctx.now());
    if destroyed.map_err(|reason| refused(&agent, reason))? {
        save(tx, ctx, &agent)?;
        end_session(tx, ctx, &agent)?;
        approval::fail_pending(tx, ctx, &agent)?;
    }
    Ok(agent)
}

/// Asks for the spawn of an agent that was destroyed.
fn ask_to_revive(tx: &mut dyn Tx, ctx: &Resources, id: &AgentId) -> Result<Approval, StoreError> {
    let agent = get(tx, id, Access::Read)?;
    refuse_alive(&agent)?;
    approval::request(tx, ctx, &NewApproval::new(agent.name, SPAWN))
}

/// Brings a destroyed agent, which is locked, back in a session that follows its last one.
pub(crate) fn revive(tx: &mut dyn Tx, ctx: &Resources, mut agent: Agent) -> Result<(), StoreError> {
    let now = ctx.now();
    agent.revive(now).map_err(|reason| refused(&agent, reason))?;
    let last = agent.active_session_id.clone();
    let last = last.ok_or_else(|| refused(&agent, "has no session".to_owned()))?;
    let mut last = session::get(tx, &last, Access::Change)?;
    change::agent(tx, ctx, &agent.name)?;
    let next = Next { new: last.successor(), forked_from: None, cause: Cause::Revival };
    go_on_in(tx, ctx, &mut agent, &mut last, next).map(drop)
}

/// An agent that may go on, locked, and its active session.
fn living(tx: &mut dyn Tx, id: &AgentId) -> Result<(Agent, SessionId), StoreError> {
    let agent = get(tx, id, Access::Change)?;
    agent.refuse_dead().map_err(|reason| refused(&agent, reason))?;
    match agent.active_session_id.clone() {
        Some(active) => Ok((agent, active)),
        None => Err(refused(&agent, "has no session".to_owned())),
    }
}

fn renew(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &AgentId,
    renewal: &Renewal,
) -> Result<Session, StoreError> {
    let (mut agent, active) = living(tx, id)?;
    let mut active = session::get(tx, &active, Access::Change)?;
    if let Some(reason) = renewal.refusal(&active.id, active.last_seq) {
        return Err(refused(&agent, reason));
    }
    let (mut new, forked_from) = next_session(tx, &agent, &active, renewal)?;
    new.id.clone_from(&renewal.session_id);
    new.details.inference_session_id.clone_from(&renewal.inference_session_id);
    let next = Next { new, forked_from, cause: renewal.cause() };
    go_on_in(tx, ctx, &mut agent, &mut active, next)
}

/// A session that an agent goes on in.
struct Next {
    new: NewSession,
    forked_from: Option<Fork>,
    cause: Cause,
}

/// Ends the session that went on and begins the next one.
fn go_on_in(
    tx: &mut dyn Tx,
    ctx: &Resources,
    agent: &mut Agent,
    active: &mut Session,
    next: Next,
) -> Result<Session, StoreError> {
    let (Next { new, forked_from, cause }, now) = (next, ctx.now());
    let before = active.clone();
    active.close(cause.as_str(), now);
    session::save_if_changed(tx, ctx, &before, active)?;
    run::end_work(tx, ctx, active)?;
    let of_agent = Some(agent.begins_session(cause));
    let session = session::create(tx, ctx, new, Place { forked_from, of_agent, at: None })?;
    agent.goes_on_in(session.id.clone(), now);
    row::save(tx, agent)?;
    Ok(session)
}

/// The session that `renewal` asks for, and the point it is forked from.
fn next_session(
    tx: &mut dyn Tx,
    agent: &Agent,
    active: &Session,
    renewal: &Renewal,
) -> Result<(NewSession, Option<Fork>), StoreError> {
    let (stem, at_seq) = match &renewal.how {
        Beginning::Reset { .. } | Beginning::Compaction { .. } => {
            let mut new = active.successor();
            new.details.reset_message = renewal.reason().map(str::to_owned);
            return Ok((new, None));
        }
        Beginning::Fork { session: Some(stem), at_seq } => {
            (session::get(tx, stem, Access::Change)?, *at_seq)
        }
        Beginning::Fork { session: None, at_seq } => (active.clone(), *at_seq),
    };
    if stem.of_agent.as_ref().is_none_or(|membership| membership.id != agent.id) {
        let reason = format!("{} is not a session of agent {}", stem.id, agent.name);
        return Err(Invalid::new("fork session", reason).into());
    }
    let (new, fork) = stem.fork(at_seq)?;
    Ok((new, Some(fork)))
}

/// The first event begins the session; nothing else does for an agent.
const BEGIN: &str = "UPDATE sessions SET status = 'running', started_at = $1 \
    WHERE id = $2 AND status = 'created'";

fn append(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &AgentId,
    expected: Option<&SessionId>,
    events: &[NewEvent],
) -> Result<Appended, StoreError> {
    let (agent, session) = living(tx, id)?;
    Agent::expect(&session, expected).map_err(|reason| refused(&agent, reason))?;
    let now = ctx.now();
    let (session, agent) = (&session, Some(&agent.id));
    let wanted = Append { session, after: None, events, agent, active_at: Some(now) };
    let done = event::append(tx, ctx, &wanted)?;
    if done.appended > 0 && tx.execute(BEGIN, &[now.into(), session.as_str().into()])? > 0 {
        change::session(tx, ctx, ChangeKind::SessionUpdated, session)?;
    }
    Ok(done)
}

#[async_trait]
impl Agents for SqlStore {
    async fn create_agent(&self, agent: NewAgent) -> Result<Agent, StoreError> {
        agent.check()?;
        let agent = self.clean(agent);
        self.once(move |tx, ctx| create(tx, ctx, &agent)).await
    }

    async fn agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.read(move |tx, _| get(tx, &id, Access::Read)).await
    }

    async fn agent_of_name(&self, name: String) -> Result<Option<Agent>, StoreError> {
        self.read(move |tx, _| of_name(tx, &name)).await
    }

    async fn agent_of_origin(&self, origin: Origin) -> Result<Option<Agent>, StoreError> {
        self.read(move |tx, _| of_origin(tx, &origin)).await
    }

    async fn agent_ids_with_prefix(&self, prefix: String) -> Result<Vec<AgentId>, StoreError> {
        self.read(move |tx, _| ids_with_prefix(tx, "agent_instances", &prefix)).await
    }

    async fn list_agents(
        &self,
        filter: AgentFilter,
        page: PageRequest,
    ) -> Result<Page<Agent>, StoreError> {
        self.read(move |tx, _| list::agents(tx, &filter, &page)).await
    }

    async fn update_agent(&self, id: AgentId, wanted: AgentUpdate) -> Result<Agent, StoreError> {
        let wanted = self.clean(wanted);
        self.write(move |tx, ctx| update(tx, ctx, &id, &wanted)).await
    }

    async fn set_agent_lifecycle(
        &self,
        id: AgentId,
        lifecycle: Lifecycle,
    ) -> Result<Agent, StoreError> {
        self.write(move |tx, ctx| set_lifecycle(tx, ctx, &id, lifecycle)).await
    }

    async fn destroy_agent(&self, id: AgentId) -> Result<Agent, StoreError> {
        self.write(move |tx, ctx| destroy(tx, ctx, &id)).await
    }

    async fn revive_agent(&self, id: AgentId) -> Result<Approval, StoreError> {
        self.once(move |tx, ctx| ask_to_revive(tx, ctx, &id)).await
    }

    async fn renew_agent(&self, id: AgentId, renewal: Renewal) -> Result<Session, StoreError> {
        renewal.check()?;
        let renewal = self.clean(renewal);
        self.once(move |tx, ctx| renew(tx, ctx, &id, &renewal)).await
    }

    async fn append_to_agent(
        &self,
        id: AgentId,
        expected: Option<SessionId>,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.once(move |tx, ctx| {
            let done = append(tx, ctx, &id, expected.as_ref(), &events)?;
            Ok(Appended { redacted: redacted.clone(), ..done })
        })
        .await
    }

    async fn agent_sessions(
        &self,
        id: AgentId,
        order: Order,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        self.read(move |tx, _| list::sessions(tx, &id, order, &page)).await
    }

    async fn import_agent(&self, import: AgentImport) -> Result<AgentImported, StoreError> {
        import.check()?;
        let import = self.clean(import);
        self.write(move |tx, ctx| import::import(tx, ctx, &import)).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ah_conformance::{SeededIds, TestClock};
    use ah_model::{AgentFilter, Lifecycle, NewAgent, NewRepo, NewSession, PageRequest, Vcs};
    use ah_store::{Agents, Capabilities, Ids, block_on, load_agents};

    use crate::{SqlStore, SqliteOptions};

    #[test]
    fn one_odd_row_hides_no_other_agent_and_is_found_as_it_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: false };
        let clock = Arc::new(TestClock::new());
        let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
        for name in ["odd", "sound"] {
            let session = NewSession::new(repo.clone(), "codex".parse().unwrap());
            block_on(store.create_agent(NewAgent::new(name, session))).unwrap();
        }
        let odd = "UPDATE agent_instances SET updated_at = 'soon', lifecycle = 'weird', \
                   descriptor = 'not json' WHERE name = 'odd'";
        block_on(store.write(move |tx, _| tx.execute(odd, &[]))).unwrap();

        let roster = block_on(load_agents(&store)).unwrap();
        assert_eq!((roster.active.len(), roster.sleeping.len()), (1, 1));
        let filter =
            AgentFilter { lifecycles: vec![Lifecycle::Sleeping], ..AgentFilter::default() };
        let page = block_on(store.list_agents(filter, PageRequest::default())).unwrap();
        assert_eq!(page.items[0].descriptor.as_str(), r#"{"unreadable":"not json"}"#);
        let violations = block_on(store.check()).unwrap().violations;
        let rules: Vec<_> = violations.iter().map(|violation| violation.rule).collect();
        let named = [
            "what agents are described by is JSON",
            "an agent has a lifecycle of the state machine",
        ];
        assert_eq!(rules, named);
    }
}
