//! Sessions in the oracle.

use std::cmp::Reverse;

use ah_model::{
    Agent, Cursor, ExportHeader, Fork, Membership, NewSession, Origin, Page, PageRequest,
    RunStatus, Session, SessionFilter, SessionId, SessionUpdate, StatusChange, Timestamp, Usage,
};
use ah_store::{Kind, SessionFork, Sessions, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, foreign, overfull};

#[async_trait]
impl Sessions for ModelStore {
    async fn create_session(&self, session: NewSession) -> Result<Session, StoreError> {
        session.check()?;
        let session = self.clean(session);
        self.write_once(|rows, door| rows.create_session(session, door))
    }

    async fn session(&self, id: SessionId) -> Result<Session, StoreError> {
        self.read(|rows| rows.shown(&id))
    }

    async fn session_of_origin(&self, origin: Origin) -> Result<Option<Session>, StoreError> {
        self.read(|rows| rows.holder(&origin).map(|id| rows.shown(id)).transpose())
    }

    async fn session_ids_with_prefix(&self, prefix: String) -> Result<Vec<SessionId>, StoreError> {
        self.read(|rows| {
            let ids = rows.sessions.keys();
            let ids = ids.filter(|id| id.as_str().starts_with(&prefix));
            Ok(ids.take(2).cloned().collect())
        })
    }

    async fn list_sessions(
        &self,
        filter: SessionFilter,
        page: PageRequest,
    ) -> Result<Page<Session>, StoreError> {
        let after = after_activity(&page)?;
        self.read(|rows| {
            let mut sessions: Vec<_> = rows
                .sessions
                .values()
                .filter(|session| filter.matches(session))
                .filter(|session| after.as_ref().is_none_or(|after| place(session) > *after))
                .collect();
            sessions.sort_by_key(|session| place(session));
            let shown = sessions.into_iter().map(|session| rows.show(session));
            let items = overfull(shown, &page);
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn set_session_status(
        &self,
        id: SessionId,
        change: StatusChange,
    ) -> Result<Session, StoreError> {
        change.check()?;
        let change = self.clean(change);
        self.write(|rows, door| {
            let ended = change.to.is_finished();
            let moved = rows.row_mut(&id)?.transition(change, door.now());
            moved.map_err(|reason| StoreError::conflict(Kind::Session, &id, reason))?;
            if ended {
                rows.end_work(&id, door)?;
            }
            rows.shown(&id)
        })
    }

    async fn update_session(
        &self,
        id: SessionId,
        update: SessionUpdate,
    ) -> Result<Session, StoreError> {
        update.check()?;
        self.write(|rows, door| rows.update_session(&id, &update, door.now()))
    }

    async fn rename_session(&self, id: SessionId, title: String) -> Result<Session, StoreError> {
        Session::check_title(&title)?;
        let title = self.clean(title);
        self.write(|rows, _| {
            rows.row_mut(&id)?.title = Some(title).filter(|title| !title.is_empty());
            rows.shown(&id)
        })
    }

    async fn pin_session(&self, id: SessionId, pinned: bool) -> Result<Session, StoreError> {
        self.write(|rows, _| {
            rows.row_mut(&id)?.pinned = pinned;
            rows.shown(&id)
        })
    }

    async fn fork_session(&self, id: SessionId, fork: SessionFork) -> Result<Session, StoreError> {
        if let Some(title) = &fork.title {
            Session::check_title(title)?;
        }
        let fork = SessionFork { title: self.clean(fork.title), ..fork };
        self.write_once(|rows, door| rows.fork_session(&id, fork, door))
    }

    async fn delete_session(&self, id: SessionId) -> Result<(), StoreError> {
        self.write(|rows, _| rows.delete_session(&id))
    }

    async fn restore_session(&self, header: ExportHeader) -> Result<Session, StoreError> {
        header.check()?;
        let header = self.clean(header);
        self.write(|rows, door| {
            let id = header.session.id.clone();
            match rows.sessions.get(&id) {
                None => rows.insert_restored(header, door)?,
                Some(known) if known.created_at != header.session.created_at => {
                    let reason = "is another session of that id, created at another time";
                    return Err(StoreError::conflict(Kind::Session, id, reason));
                }
                Some(known) if known.last_seq != header.session.last_seq => {
                    let reason = "has another number of events than the header says";
                    return Err(StoreError::conflict(Kind::Session, id, reason));
                }
                Some(_) => rows.overwrite(header.session)?,
            }
            rows.shown(&id)
        })
    }
}

impl Rows {
    pub(super) fn create_session(
        &mut self,
        new: NewSession,
        door: &Door,
    ) -> Result<Session, StoreError> {
        self.insert_session(new, door.now(), door)
    }

    /// Refuses, in this order: an unknown workspace, an unknown parent, a taken id, a taken origin.
    pub(super) fn insert_session(
        &mut self,
        new: NewSession,
        created_at: Timestamp,
        door: &Door,
    ) -> Result<Session, StoreError> {
        self.check_workspace(new.workspace.as_deref(), door.capabilities)?;
        if let Some(parent) = &new.parent {
            self.row(parent)?;
        }
        let now = door.now();
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.session(now)?,
        };
        if self.sessions.contains_key(&id) {
            return Err(StoreError::conflict(Kind::Session, id, "exists already"));
        }
        self.check_origin(new.origin.as_ref())?;
        let repo_id = self.put_repo(new.repo.clone(), now).id;
        self.put_agent_kind(new.agent.clone(), None);
        self.put_runtime(new.runtime.clone(), None);
        let session = Session::created(new, id.clone(), repo_id, created_at);
        self.sessions.insert(id.clone(), session);
        self.shown(&id)
    }

    /// The kind that it may name is registered with it.
    pub(super) fn update_session(
        &mut self,
        id: &SessionId,
        update: &SessionUpdate,
        now: Timestamp,
    ) -> Result<Session, StoreError> {
        let row = self.row_mut(id)?;
        let refused = |reason| StoreError::conflict(Kind::Session, id, reason);
        if let Some(origin) = row.new_origin(update).map_err(refused)?.cloned() {
            self.check_origin(Some(&origin))?;
        }
        self.row_mut(id)?.update(update, now);
        if let Some(agent) = &update.agent {
            self.put_agent_kind(agent.clone(), None);
        }
        self.shown(id)
    }

    fn fork_session(
        &mut self,
        id: &SessionId,
        fork: SessionFork,
        door: &Door,
    ) -> Result<Session, StoreError> {
        let (mut new, forked_from) = self.shown(id)?.fork(fork.at_seq)?;
        new.id = fork.id;
        new.title = fork.title.or(new.title);
        let session = self.create_session(new, door)?;
        self.row_mut(&session.id)?.forked_from = Some(forked_from);
        self.shown(&session.id)
    }

    fn delete_session(&mut self, id: &SessionId) -> Result<(), StoreError> {
        self.row(id)?;
        let stands_on = |fork: &Option<Fork>| fork.as_ref().is_some_and(|f| f.session_id == *id);
        if let Some(fork) = self.sessions.values().find(|s| stands_on(&s.forked_from)) {
            let reason = format!("session {} was forked from it", fork.id);
            return Err(StoreError::conflict(Kind::Session, id, reason));
        }
        let goes_on = |agent: &&Agent| agent.active_session_id.as_ref() == Some(id);
        if let Some(agent) = self.agents.values().find(goes_on) {
            let reason = format!("is the active session of agent {}", agent.name);
            return Err(StoreError::conflict(Kind::Session, id, reason));
        }
        if let Some(run) = self.live_runs(id).find(|run| run.status != RunStatus::Pending) {
            let reason = format!("has the live run {}", run.id);
            return Err(StoreError::conflict(Kind::Session, id, reason));
        }
        self.forget_session(id);
        Ok(())
    }

    /// Removes a session and all that goes with it; who names it as the parent has none from now.
    pub(super) fn forget_session(&mut self, id: &SessionId) {
        let removed = self.sessions.remove(id);
        self.events.remove(id);
        self.spendings.remove(id);
        self.happenings.forget_events(id);
        if let Some(place) = removed.and_then(|session| session.of_agent) {
            self.recount(&place.id);
        }
        self.tasks.retain(|_, task| task.session_id != *id);
        self.runs.retain(|_, row| row.run.session_id != *id);
        self.fleets.remove(id);
        self.fences.retain(|_, fence| fence.session_id != *id);
        self.callbacks.retain(|_, callback| callback.parent_session_id != *id);
        for child in self.sessions.values_mut() {
            child.parent_session_id.take_if(|parent| parent == id);
        }
        for row in self.runs.values_mut() {
            row.run.parent_session_id.take_if(|parent| parent == id);
        }
    }

    /// Inserts what an export says, without events; links to what is not here are dropped, but a
    /// fork cannot stand without the log it shares.
    fn insert_restored(&mut self, header: ExportHeader, door: &Door) -> Result<(), StoreError> {
        let mut session = header.session;
        self.check_origin(session.origin.as_ref())?;
        if let Some(fork) = &session.forked_from {
            let stem = self.row(&fork.session_id)?;
            if fork.at_seq > stem.last_seq {
                let reason = format!("was forked past the end of session {}", stem.id);
                return Err(StoreError::conflict(Kind::Session, &session.id, reason));
            }
        }
        session.parent_session_id.take_if(|id| self.row(id).is_err());
        session.workspace.take_if(|name| !self.knows_workspace(name));
        session.of_agent.take_if(|place| !self.has_place(place));
        let repo = self.put_repo(session.repo.clone(), door.now());
        self.put_agent_kind(session.agent.clone(), None);
        self.put_runtime(session.runtime.clone(), None);
        session.repo_id = Some(repo.id);
        session.last_seq = 0;
        session.usage = Usage::default();
        if self.is_left(session.of_agent.as_ref(), &session.id) {
            session.left_behind();
        }
        self.sessions.insert(session.id.clone(), session);
        for task in header.tasks {
            self.insert_task(task);
        }
        Ok(())
    }

    /// Whether the agent of a session goes on in another.
    fn is_left(&self, place: Option<&Membership>, session: &SessionId) -> bool {
        let agent = place.and_then(|place| self.agents.get(&place.id));
        agent.is_some_and(|agent| agent.active_session_id.as_ref() != Some(session))
    }

    /// Everything that changes in a session's life is the export's, but what is held of its log
    /// is the store's.
    fn overwrite(&mut self, mut from: Session) -> Result<(), StoreError> {
        if self.is_left(self.row(&from.id)?.of_agent.as_ref(), &from.id) {
            from.left_behind();
        }
        let session = self.row_mut(&from.id)?;
        *session = Session {
            agent: session.agent.clone(),
            repo_id: session.repo_id,
            repo: session.repo.clone(),
            runtime: session.runtime.clone(),
            workspace: session.workspace.clone(),
            parent_session_id: session.parent_session_id.clone(),
            forked_from: session.forked_from.clone(),
            origin: session.origin.clone(),
            of_agent: session.of_agent.clone(),
            last_seq: session.last_seq,
            ..from
        };
        let (id, place) = (session.id.clone(), session.of_agent.clone());
        self.settle(&id);
        if let Some(place) = place {
            self.recount(&place.id);
        }
        Ok(())
    }

    /// An origin that is taken is named by the session that holds it: the caller wants that one.
    fn check_origin(&self, origin: Option<&Origin>) -> Result<(), StoreError> {
        let Some((origin, holder)) = origin.and_then(|o| Some((o, self.holder(o)?))) else {
            return Ok(());
        };
        let reason = format!("comes from {} {} already", origin.source, origin.external_id);
        Err(StoreError::conflict(Kind::Session, holder, reason))
    }

    pub(super) fn holder(&self, origin: &Origin) -> Option<&SessionId> {
        let mut sessions = self.sessions.values();
        let found = sessions.find(|session| session.origin.as_ref() == Some(origin));
        found.map(|session| &session.id)
    }

    pub(super) fn row(&self, id: &SessionId) -> Result<&Session, StoreError> {
        let found = self.sessions.get(id);
        found.ok_or_else(|| StoreError::not_found(Kind::Session, id))
    }

    pub(super) fn row_mut(&mut self, id: &SessionId) -> Result<&mut Session, StoreError> {
        let found = self.sessions.get_mut(id);
        found.ok_or_else(|| StoreError::not_found(Kind::Session, id))
    }

    pub(super) fn shown(&self, id: &SessionId) -> Result<Session, StoreError> {
        self.row(id).map(|session| self.show(session))
    }

    /// The session with its repository as that is known now.
    pub(super) fn show(&self, session: &Session) -> Session {
        let repo = &self.repos[&session.repo_id.unwrap()];
        Session { repo: repo.found.clone(), ..session.clone() }
    }
}

/// Where a session stands in a list: last activity first, then the greater id.
type Place = (Reverse<Timestamp>, Reverse<String>);

fn place(session: &Session) -> Place {
    let id = session.id.to_string();
    (Reverse(session.last_activity_at), Reverse(id))
}

fn cursor(session: &Session) -> Cursor {
    Cursor::Activity { at: session.last_activity_at, id: session.id.to_string() }
}

fn after_activity(page: &PageRequest) -> Result<Option<Place>, StoreError> {
    match &page.cursor {
        None => Ok(None),
        Some(Cursor::Activity { at, id }) => Ok(Some((Reverse(*at), Reverse(id.clone())))),
        Some(cursor @ (Cursor::Number(_) | Cursor::Text(_))) => Err(foreign(cursor)),
    }
}
