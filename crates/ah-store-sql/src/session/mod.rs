//! Sessions in SQL: `row` reads and writes the wide row, `list` filters and pages, this file holds
//! the use cases.

mod list;
mod row;

use ah_model::{
    ChangeKind, ExportHeader, Fork, Membership, NewSession, Origin, Page, PageRequest, Session,
    SessionFilter, SessionId, SessionUpdate, StatusChange, Timestamp, Usage,
};
use ah_store::{Kind, SessionFork, Sessions, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::ids_with_prefix;
use crate::resources::Resources;
use crate::tx::{Tx, query_first};
use crate::{agent, agent_kind, change, repo, run, spending, task, usage, workspace};

pub(crate) use self::list::size;
pub(crate) use self::row::{SELECT, insert, read, read_origin};

/// Whether the caller is about to change the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Change,
}

/// The session of that id.
pub(crate) fn get(tx: &mut dyn Tx, id: &SessionId, access: Access) -> Result<Session, StoreError> {
    find(tx, id, access)?.ok_or_else(|| StoreError::not_found(Kind::Session, id))
}

/// The session of that id, if there is one.
pub(crate) fn find(
    tx: &mut dyn Tx,
    id: &SessionId,
    access: Access,
) -> Result<Option<Session>, StoreError> {
    if access == Access::Change && !exists_locked(tx, id)? {
        return Ok(None);
    }
    row::find(tx, "s.id = $1", &[id.as_str().into()])
}

/// Whether there is a session of that id, which nobody else changes until the transaction ends.
pub(crate) fn exists_locked(tx: &mut dyn Tx, id: &SessionId) -> Result<bool, StoreError> {
    let sql = format!("{LAST_SEQ}{}", tx.dialect().for_update());
    Ok(query_first(tx, &sql, &[id.as_str().into()], |row| row.opt_int(0))?.is_some())
}

/// Whether there is a session of that id.
pub(crate) fn exists(tx: &mut dyn Tx, id: &SessionId) -> Result<bool, StoreError> {
    Ok(query_first(tx, LAST_SEQ, &[id.as_str().into()], |row| row.opt_int(0))?.is_some())
}

const LAST_SEQ: &str = "SELECT last_seq FROM sessions WHERE id = $1";

/// The newest seq of a session whose row nobody else may change until the transaction ends.
pub(crate) fn lock(tx: &mut dyn Tx, id: &SessionId) -> Result<u64, StoreError> {
    let sql = format!("{LAST_SEQ}{}", tx.dialect().for_update());
    query_first(tx, &sql, &[id.as_str().into()], |row| row.uint(0))?
        .ok_or_else(|| StoreError::not_found(Kind::Session, id))
}

/// The newest seq of a session.
pub(crate) fn last_seq(tx: &mut dyn Tx, id: &SessionId) -> Result<u64, StoreError> {
    query_first(tx, LAST_SEQ, &[id.as_str().into()], |row| row.uint(0))?
        .ok_or_else(|| StoreError::not_found(Kind::Session, id))
}

/// What a new session has that its caller does not choose.
#[derive(Debug, Default)]
pub(crate) struct Place {
    pub(crate) forked_from: Option<Fork>,
    pub(crate) of_agent: Option<Membership>,
    /// When it began; now when absent.
    pub(crate) at: Option<Timestamp>,
}

/// Creates a session of what was asked for.
pub(crate) fn create(
    tx: &mut dyn Tx,
    ctx: &Resources,
    new: NewSession,
    place: Place,
) -> Result<Session, StoreError> {
    if let Some(name) = &new.workspace {
        ctx.need_workspaces()?;
        if workspace::find(tx, name)?.is_none() {
            return Err(StoreError::not_found(Kind::Workspace, name));
        }
    }
    let now = ctx.now();
    let id = match &new.id {
        Some(id) => id.clone(),
        None => ctx.ids.session(now)?,
    };
    if let Some(parent) = &new.parent {
        last_seq(tx, parent)?;
    }
    refuse_taken(tx, &id, new.origin.as_ref())?;
    let repo = repo::put(tx, ctx, &new.repo)?;
    let mut session = Session::created(new, id, repo.id, place.at.unwrap_or(now));
    session.repo = repo.found;
    (session.forked_from, session.of_agent) = (place.forked_from, place.of_agent);
    insert(tx, &session)?;
    change::session(tx, ctx, ChangeKind::SessionCreated, &session.id)?;
    Ok(session)
}

fn refuse_taken(
    tx: &mut dyn Tx,
    id: &SessionId,
    origin: Option<&Origin>,
) -> Result<(), StoreError> {
    if query_first(tx, LAST_SEQ, &[id.as_str().into()], |row| row.int(0))?.is_some() {
        return Err(StoreError::conflict(Kind::Session, id, "exists already"));
    }
    origin.map_or(Ok(()), |origin| refuse_known(tx, origin))
}

/// Refuses an origin that a session has.
fn refuse_known(tx: &mut dyn Tx, origin: &Origin) -> Result<(), StoreError> {
    match of_origin(tx, origin)? {
        None => Ok(()),
        Some(holder) => {
            let Origin { source, external_id } = origin;
            // Named by the holder: that is the session the caller is looking for.
            let reason = format!("comes from {source} {external_id} already");
            Err(StoreError::conflict(Kind::Session, holder.id, reason))
        }
    }
}

pub(crate) fn of_origin(tx: &mut dyn Tx, origin: &Origin) -> Result<Option<Session>, StoreError> {
    let params = [(&origin.source).into(), (&origin.external_id).into()];
    row::find(tx, "s.source = $1 AND s.external_id = $2", &params)
}

const SET_STATUS: &str = "UPDATE sessions SET status = $1, started_at = $2, ended_at = $3, \
    exit_code = $4, exit_signal = $5, exit_reason = $6, last_activity_at = $7, \
    last_resumed_at = $8 WHERE id = $9";

fn set_status(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &SessionId,
    change: StatusChange,
) -> Result<Session, StoreError> {
    let mut session = get(tx, id, Access::Change)?;
    session
        .transition(change, ctx.now())
        .map_err(|reason| StoreError::conflict(Kind::Session, id, reason))?;
    save_status(tx, ctx, &session)?;
    if session.status.is_finished() {
        run::end_work(tx, ctx, &mut session)?;
    }
    Ok(session)
}

/// Writes what a change of status changes.
pub(crate) fn save_status(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &Session,
) -> Result<(), StoreError> {
    let params = [
        session.status.as_str().into(),
        session.started_at.into(),
        session.ended_at.into(),
        session.exit.code.into(),
        session.exit.signal.into(),
        session.exit.reason.as_ref().into(),
        session.last_activity_at.into(),
        session.last_resumed_at.into(),
        session.id.as_str().into(),
    ];
    tx.execute(SET_STATUS, &params)?;
    change::session(tx, ctx, ChangeKind::SessionUpdated, &session.id)
}

/// As [`save_status`], if there is anything to write.
pub(crate) fn save_if_changed(
    tx: &mut dyn Tx,
    ctx: &Resources,
    before: &Session,
    session: &Session,
) -> Result<(), StoreError> {
    if session == before { Ok(()) } else { save_status(tx, ctx, session) }
}

const SET_ORIGIN: &str = "UPDATE sessions SET source = $1, external_id = $2 WHERE id = $3";
const SET_KIND: &str = "UPDATE sessions SET agent_id = $1 WHERE id = $2";

/// Takes in what a program says of a session that is locked.
pub(crate) fn apply_update(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut session: Session,
    wanted: &SessionUpdate,
) -> Result<Session, StoreError> {
    let refused = |reason| StoreError::conflict(Kind::Session, &session.id, reason);
    if let Some(origin) = session.new_origin(wanted).map_err(refused)? {
        refuse_known(tx, origin)?;
        let Origin { source, external_id } = origin;
        tx.execute(SET_ORIGIN, &[source.into(), external_id.into(), session.id.as_str().into()])?;
    }
    session.update(wanted, ctx.now());
    row::overwrite(tx, &session)?;
    if let Some(kind) = &wanted.agent {
        let kind = agent_kind::ensure(tx, kind)?;
        tx.execute(SET_KIND, &[kind.into(), session.id.as_str().into()])?;
    }
    change::session(tx, ctx, ChangeKind::SessionUpdated, &session.id)?;
    Ok(session)
}

const SET_TITLE: &str = "UPDATE sessions SET title = $1 WHERE id = $2";
const SET_PINNED: &str = "UPDATE sessions SET pinned = $1 WHERE id = $2";

fn fork(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &SessionId,
    wanted: &SessionFork,
) -> Result<Session, StoreError> {
    let (mut new, point) = get(tx, id, Access::Change)?.fork(wanted.at_seq)?;
    new.id.clone_from(&wanted.id);
    if wanted.title.is_some() {
        new.title.clone_from(&wanted.title);
    }
    create(tx, ctx, new, Place { forked_from: Some(point), ..Place::default() })
}

const A_FORK: &str = "SELECT id FROM sessions WHERE forked_from = $1 ORDER BY id LIMIT 1";
const AN_AGENT: &str = "SELECT name FROM agent_instances WHERE active_session_id = $1";
const DELETE: &str = "DELETE FROM sessions WHERE id = $1";

fn delete(tx: &mut dyn Tx, ctx: &Resources, id: &SessionId) -> Result<(), StoreError> {
    let owner = agent::lock_of_session(tx, id)?;
    lock(tx, id)?;
    if let Some(fork) = query_first(tx, A_FORK, &[id.as_str().into()], |row| row.text(0))? {
        let reason = format!("session {fork} was forked from it");
        return Err(StoreError::conflict(Kind::Session, id, reason));
    }
    if let Some(agent) = query_first(tx, AN_AGENT, &[id.as_str().into()], |row| row.text(0))? {
        let reason = format!("is the active session of agent {agent}");
        return Err(StoreError::conflict(Kind::Session, id, reason));
    }
    if let Some(run) = run::held(tx, id)? {
        let reason = format!("has the live run {}", run.id);
        return Err(StoreError::conflict(Kind::Session, id, reason));
    }
    tx.execute(DELETE, &[id.as_str().into()])?;
    change::session(tx, ctx, ChangeKind::SessionDeleted, id)?;
    owner.map_or(Ok(()), |agent| usage::recount(tx, agent.as_str()))
}

fn restore(tx: &mut dyn Tx, ctx: &Resources, header: &ExportHeader) -> Result<Session, StoreError> {
    let mut wanted = header.session.clone();
    let owner = agent::lock_of_session(tx, &wanted.id)?;
    let known = match lock(tx, &wanted.id) {
        Ok(_) => Some(get(tx, &wanted.id, Access::Read)?),
        Err(StoreError::NotFound { .. }) => None,
        Err(other) => return Err(other),
    };
    match known {
        Some(known) if known.created_at != wanted.created_at => {
            let reason = format!("is another session, created {}", known.created_at);
            Err(StoreError::conflict(Kind::Session, &wanted.id, reason))
        }
        Some(known) if known.last_seq != wanted.last_seq => {
            let reason = format!("has {} events, the header {}", known.last_seq, wanted.last_seq);
            Err(StoreError::conflict(Kind::Session, &wanted.id, reason))
        }
        Some(known) => {
            if agent::is_left(tx, known.of_agent.as_ref(), &known.id)? {
                wanted.left_behind();
            }
            row::overwrite(tx, &wanted)?;
            spending::settle(tx, &wanted)?;
            change::session(tx, ctx, ChangeKind::SessionUpdated, &known.id)?;
            owner.map_or(Ok(()), |agent| usage::recount(tx, agent.as_str()))?;
            get(tx, &known.id, Access::Read)
        }
        None => restore_absent(tx, ctx, header),
    }
}

fn restore_absent(
    tx: &mut dyn Tx,
    ctx: &Resources,
    header: &ExportHeader,
) -> Result<Session, StoreError> {
    let mut session = header.session.clone();
    if let Some(place) = &session.of_agent {
        // Before the session forked from: an agent is locked before its sessions everywhere.
        agent::lock(tx, &place.id)?;
    }
    refuse_taken(tx, &session.id, session.origin.as_ref())?;
    if let Some(fork) = &session.forked_from {
        let end = lock(tx, &fork.session_id)?;
        if fork.at_seq > end {
            let Fork { session_id: stem, at_seq } = fork;
            let reason = format!("was forked at {at_seq} of session {stem}, which ends at {end}");
            return Err(StoreError::conflict(Kind::Session, &session.id, reason));
        }
    }
    session.parent_session_id = known_parent(tx, session.parent_session_id.take())?;
    session.of_agent = agent::free_place(tx, session.of_agent.take())?;
    session.workspace = match session.workspace.take() {
        Some(name) if ctx.capabilities.workspaces => workspace::find(tx, &name)?.map(|_| name),
        _ => None,
    };
    let repo = repo::put(tx, ctx, &session.repo)?;
    (session.repo_id, session.repo) = (Some(repo.id), repo.found);
    (session.last_seq, session.usage) = (0, Usage::default());
    if agent::is_left(tx, session.of_agent.as_ref(), &session.id)? {
        session.left_behind();
    }
    insert(tx, &session)?;
    change::session(tx, ctx, ChangeKind::SessionCreated, &session.id)?;
    header.tasks.iter().try_for_each(|task| task::insert(tx, task).map(drop))?;
    Ok(session)
}

/// A parent that this store has.
fn known_parent(
    tx: &mut dyn Tx,
    parent: Option<SessionId>,
) -> Result<Option<SessionId>, StoreError> {
    let Some(parent) = parent else {
        return Ok(None);
    };
    match last_seq(tx, &parent) {
        Ok(_) => Ok(Some(parent)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(other) => Err(other),
    }
}

#[async_trait]
impl Sessions for SqlStore {
    async fn create_session(&self, session: NewSession) -> Result<Session, StoreError> {
        session.check()?;
        let session = self.clean(session);
        self.once(move |tx, ctx| create(tx, ctx, session.clone(), Place::default())).await
    }

    async fn session(&self, id: SessionId) -> Result<Session, StoreError> {
        self.read(move |tx, _| get(tx, &id, Access::Read)).await
    }

    async fn session_of_origin(&self, origin: Origin) -> Result<Option<Session>, StoreError> {
        self.read(move |tx, _| of_origin(tx, &origin)).await
    }

    async fn session_ids_with_prefix(&self, prefix: String) -> Result<Vec<SessionId>, StoreError> {
        self.read(move |tx, _| ids_with_prefix(tx, "sessions", &prefix)).await
    }

    async fn list_sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        self.read(move |tx, _| list::list(tx, &filter, &page)).await
    }

    async fn set_session_status(
        &self,
        id: SessionId,
        change: StatusChange,
    ) -> Result<Session, StoreError> {
        change.check()?;
        let change = self.clean(change);
        self.write(move |tx, ctx| set_status(tx, ctx, &id, change.clone())).await
    }

    async fn update_session(
        &self,
        id: SessionId,
        update: SessionUpdate,
    ) -> Result<Session, StoreError> {
        update.check()?;
        self.write(move |tx, ctx| {
            let session = get(tx, &id, Access::Change)?;
            apply_update(tx, ctx, session, &update)
        })
        .await
    }

    async fn rename_session(&self, id: SessionId, title: String) -> Result<Session, StoreError> {
        Session::check_title(&title)?;
        let title = self.clean(title);
        self.write(move |tx, ctx| {
            lock(tx, &id)?;
            let title = Some(title.as_str()).filter(|title| !title.is_empty());
            tx.execute(SET_TITLE, &[title.into(), id.as_str().into()])?;
            change::session(tx, ctx, ChangeKind::SessionUpdated, &id)?;
            get(tx, &id, Access::Read)
        })
        .await
    }

    async fn pin_session(&self, id: SessionId, pinned: bool) -> Result<Session, StoreError> {
        self.write(move |tx, ctx| {
            lock(tx, &id)?;
            tx.execute(SET_PINNED, &[pinned.into(), id.as_str().into()])?;
            change::session(tx, ctx, ChangeKind::SessionUpdated, &id)?;
            get(tx, &id, Access::Read)
        })
        .await
    }

    async fn fork_session(
        &self,
        id: SessionId,
        wanted: SessionFork,
    ) -> Result<Session, StoreError> {
        wanted.title.as_deref().map_or(Ok(()), Session::check_title)?;
        let wanted = SessionFork { title: self.clean(wanted.title), ..wanted };
        self.once(move |tx, ctx| fork(tx, ctx, &id, &wanted)).await
    }

    async fn delete_session(&self, id: SessionId) -> Result<(), StoreError> {
        self.write(move |tx, ctx| delete(tx, ctx, &id)).await
    }

    async fn restore_session(&self, header: ExportHeader) -> Result<Session, StoreError> {
        header.check()?;
        let header = self.clean(header);
        self.write(move |tx, ctx| restore(tx, ctx, &header)).await
    }
}
