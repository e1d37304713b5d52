//! From calls of hooks to sessions in a store.

use std::path::Path;

use ah_model::{
    Exit, NewEvent, NewRepo, NewSession, Origin, Session, SessionStatus, SessionUpdate,
    StatusChange, Timestamp,
};
use ah_store::{Store, StoreError};

use super::{HookCall, HookEvent, HookFate};
use crate::minted::free_id;
use crate::transcript::{BATCH_BYTES, BATCH_EVENTS, is_label, kind, rewrite};

/// The label that names the model, as the import of a transcript gives it.
const MODEL: &str = "model";
/// The label that says what kind of sub-agent a session is of.
const AGENT_TYPE: &str = "agent-type";

type RepoOf<'a> = &'a (dyn Fn(&Path) -> NewRepo + Sync);

pub(super) async fn record(
    store: &dyn Store,
    calls: &[HookCall],
    repo_of: RepoOf<'_>,
) -> Vec<HookFate> {
    let mut fates = vec![HookFate::Recorded; calls.len()];
    let mut groups: Vec<Group> = Vec::new();
    for (place, (call, fate)) in calls.iter().zip(&mut fates).enumerate() {
        match call.event() {
            Ok(event) => add(&mut groups, place, event),
            Err(invalid) => *fate = HookFate::Refused(invalid.to_string()),
        }
    }
    let ended: Vec<Origin> = groups.iter().flat_map(|group| group.ended.iter().cloned()).collect();
    for mut group in groups {
        let written = group.write(store, repo_of).await;
        let Err(error) = written else { continue };
        let fate = match error {
            StoreError::Invalid(invalid) => HookFate::Refused(invalid.to_string()),
            other => HookFate::Waiting(other.to_string()),
        };
        for (place, slot) in fates.iter_mut().enumerate() {
            if group.places.contains(&place) {
                slot.clone_from(&fate);
            }
        }
    }
    for child in ended {
        // Nothing is lost with it: the call itself is in the log.
        let _ = end(store, child).await;
    }
    fates
}

/// Notes that a sub-agent rests, if it ever did something.
async fn end(store: &dyn Store, child: Origin) -> Result<(), StoreError> {
    match store.session_of_origin(child).await? {
        Some(child) => bring_to(store, &child, SessionStatus::Idle).await,
        None => Ok(()),
    }
}

/// Calls of one session, in their order.
struct Group {
    places: Vec<usize>,
    first: HookEvent,
    events: Vec<NewEvent>,
    title: Option<String>,
    model: Option<String>,
    status: Option<SessionStatus>,
    /// The sub-agents that came to their end.
    ended: Vec<Origin>,
}

fn add(groups: &mut Vec<Group>, place: usize, mut event: HookEvent) {
    let found = groups.iter_mut().find(|group| group.first.origin == event.origin);
    match found {
        Some(group) => {
            group.places.push(place);
            group.ended.extend(ended(&event));
            group.events.append(&mut event.events);
            group.title = group.title.take().or(event.title);
            group.model = event.model.or(group.model.take());
            group.status = event.status.or(group.status);
        }
        None => groups.push(Group {
            places: vec![place],
            events: std::mem::take(&mut event.events),
            title: event.title.clone(),
            model: event.model.clone(),
            status: event.status,
            ended: ended(&event).into_iter().collect(),
            first: event,
        }),
    }
}

fn ended(event: &HookEvent) -> Option<Origin> {
    let external_id = event.ended.clone()?;
    Some(Origin { external_id, ..event.origin.clone() })
}

impl Group {
    async fn write(&mut self, store: &dyn Store, repo_of: RepoOf<'_>) -> Result<(), StoreError> {
        let row = match store.session_of_origin(self.first.origin.clone()).await? {
            Some(row) => row,
            None => match self.adopt(store).await? {
                Some(row) => row,
                None => self.create(store, repo_of).await?,
            },
        };
        for batch in batches(std::mem::take(&mut self.events)) {
            store.append_events(row.id.clone(), batch).await?;
        }
        self.settle(store, row).await
    }

    /// The session that the agent was started for, if it is of this program and came from nowhere yet.
    async fn adopt(&self, store: &dyn Store) -> Result<Option<Session>, StoreError> {
        let Some(id) = self.first.session.clone() else { return Ok(None) };
        let row = match store.session(id.clone()).await {
            Ok(row) => row,
            Err(StoreError::NotFound { .. }) => return Ok(None),
            Err(other) => return Err(other),
        };
        let origin = &self.first.origin;
        if row.origin.is_some() || row.agent.name != origin.source {
            return Ok(None);
        }
        let update = SessionUpdate { origin: Some(origin.clone()), ..SessionUpdate::default() };
        match store.update_session(id, update).await {
            Ok(row) => Ok(Some(row)),
            // Another hook of the agent was first.
            Err(StoreError::Conflict { .. }) => store.session_of_origin(origin.clone()).await,
            Err(other) => Err(other),
        }
    }

    /// Makes the session, below its parent, which may not be there either.
    async fn create(&self, store: &dyn Store, repo_of: RepoOf<'_>) -> Result<Session, StoreError> {
        let parent = match &self.first.parent {
            None => None,
            Some(parent) => {
                let origin = Origin { external_id: parent.clone(), ..self.first.origin.clone() };
                let new = NewSession { origin: Some(origin), ..self.wanted(repo_of) };
                Some(found_or_made(store, new, self.first.at).await?.id)
            }
        };
        let mut new = self.wanted(repo_of);
        new.parent = parent;
        new.title.clone_from(&self.title);
        let said = [(MODEL, &self.model), (AGENT_TYPE, &self.first.agent_type)];
        for (key, value) in said {
            if let Some(value) = value.as_ref().filter(|value| is_label(value)) {
                new.labels.0.insert(key.to_owned(), value.clone());
            }
        }
        found_or_made(store, new, self.first.at).await
    }

    fn wanted(&self, repo_of: RepoOf<'_>) -> NewSession {
        let HookEvent { origin, project_dir, .. } = &self.first;
        let repo = repo_of(Path::new(project_dir.as_deref().unwrap_or("/")));
        let mut new = NewSession::new(repo, kind(&origin.source, None));
        new.origin = Some(origin.clone());
        new.details.project_dir.clone_from(project_dir);
        new
    }

    /// Brings the row to what was told: most calls tell nothing of it.
    async fn settle(&self, store: &dyn Store, row: Session) -> Result<(), StoreError> {
        if let Some(title) = self.title.clone().filter(|_| row.title.is_none()) {
            store.rename_session(row.id.clone(), title).await?;
        }
        if let Some(model) = self.model.as_ref().filter(|model| is_label(model))
            && row.labels.0.get(MODEL) != Some(model)
        {
            let change = |row: &mut Session| {
                row.labels.0.insert(MODEL.to_owned(), model.clone());
            };
            rewrite(store, &row.id, change).await?;
        }
        if let Some(status) = self.status {
            bring_to(store, &row, status).await?;
        }
        Ok(())
    }
}

/// Moves a session on where that is allowed: one that somebody has ended stays so.
async fn bring_to(
    store: &dyn Store,
    row: &Session,
    status: SessionStatus,
) -> Result<(), StoreError> {
    // A session that rests has run, even if its beginning was not told.
    let begun = (row.status == SessionStatus::Created && status != SessionStatus::Running)
        .then_some(SessionStatus::Running);
    let from = begun.unwrap_or(row.status);
    for to in begun.into_iter().chain(from.can_become(status).then_some(status)) {
        let change = StatusChange { to, exit: Exit::default() };
        match store.set_session_status(row.id.clone(), change).await {
            // Another hook of the session was first.
            Ok(_) | Err(StoreError::Conflict { .. }) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(())
}

/// The session of that origin, made if it is not there; many may do so at once.
async fn found_or_made(
    store: &dyn Store,
    mut new: NewSession,
    at: Timestamp,
) -> Result<Session, StoreError> {
    let Some(origin) = new.origin.clone() else { return store.create_session(new).await };
    if let Some(found) = store.session_of_origin(origin.clone()).await? {
        return Ok(found);
    }
    // The id that an import of its transcript would give it.
    new.id = Some(free_id(store, &origin.external_id, at).await?);
    match store.create_session(new).await {
        Err(error @ StoreError::Conflict { .. }) => {
            store.session_of_origin(origin).await?.ok_or(error)
        }
        other => other,
    }
}

/// `events` in pieces that a store takes at once.
fn batches(events: Vec<NewEvent>) -> Vec<Vec<NewEvent>> {
    let (mut batches, mut bytes) = (Vec::<Vec<NewEvent>>::new(), 0);
    for event in events {
        let size = event.data.as_str().len();
        match batches.last_mut() {
            Some(batch) if batch.len() < BATCH_EVENTS && bytes + size <= BATCH_BYTES => {
                batch.push(event);
                bytes += size;
            }
            _ => {
                batches.push(vec![event]);
                bytes = size;
            }
        }
    }
    batches
}
