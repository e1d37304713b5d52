//! The feed in the oracle.
//!
//! Events are put into it where they are appended. Changes are found by comparing what is kept
//! before a write with what is kept behind it, so none can be forgotten and none is made up.

use std::sync::{Arc, Mutex};

use ah_model::{
    Agent, Change, ChangeKind, Event, Executor, FeedCursor, FeedEntry, Happening, MessageStatus,
    PageLimit, Party, Run, RunStatus, Session, SessionId, Timestamp, Usage, limits,
};
use ah_store::{Feed, FeedWatch, StoreError};
use async_trait::async_trait;
use tokio::sync::watch;

use super::{ModelStore, Rows};

/// Everything that happened, in the order of the writes; numbers are never given out again.
#[derive(Clone, Default)]
pub(super) struct Happenings {
    entries: Vec<Entry>,
    end: FeedCursor,
}

#[derive(Clone)]
enum Entry {
    Event(u64, Arc<Event>),
    Change(u64, Change),
}

impl Happenings {
    pub(super) fn event(&mut self, event: Arc<Event>) {
        self.end.event += 1;
        self.entries.push(Entry::Event(self.end.event, event));
    }

    /// Puts a changed event in the place of the one with its seq.
    pub(super) fn replace_event(&mut self, changed: &Arc<Event>) {
        for entry in &mut self.entries {
            if let Entry::Event(_, event) = entry
                && (&event.session_id, event.seq) == (&changed.session_id, changed.seq)
            {
                *event = changed.clone();
            }
        }
    }

    fn change(&mut self, change: Change) {
        self.end.change += 1;
        self.entries.push(Entry::Change(self.end.change, change));
    }

    /// The events that are kept, with their numbers, in order.
    pub(super) fn events(&self) -> impl DoubleEndedIterator<Item = (u64, &Event)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(number, event) => Some((*number, &**event)),
            Entry::Change(..) => None,
        })
    }

    /// A session that is gone has no events; its changes stay.
    pub(super) fn forget_events(&mut self, id: &SessionId) {
        self.entries.retain(|entry| match entry {
            Entry::Event(_, event) => event.session_id != *id,
            Entry::Change(..) => true,
        });
    }

    /// As [`Self::forget_events`], for the first ones of a session.
    pub(super) fn forget_events_up_to(&mut self, id: &SessionId, seq: u64) {
        self.entries.retain(|entry| match entry {
            Entry::Event(_, event) => event.session_id != *id || event.seq > seq,
            Entry::Change(..) => true,
        });
    }

    /// Drops the first changes, as long as they are before a time and each `may_go`. The last of
    /// them says so in their place.
    pub(super) fn forget_changes(&mut self, before: Timestamp, mut may_go: impl FnMut() -> bool) {
        let changes = self.entries.iter().filter_map(|entry| match entry {
            Entry::Change(number, change) => Some((*number, change)),
            Entry::Event(..) => None,
        });
        let mut changes = changes.filter(|(_, change)| change.kind != ChangeKind::ChangesTrimmed);
        let mut last = 0;
        while let Some((number, _)) = changes.next().filter(|(_, it)| it.at < before && may_go()) {
            last = number;
        }
        self.entries.retain_mut(|entry| match entry {
            Entry::Change(number, change) if *number == last => {
                *change = Change { at: change.at, ..self::change(ChangeKind::ChangesTrimmed) };
                true
            }
            Entry::Change(number, _) => *number > last,
            Entry::Event(..) => true,
        });
    }

    /// What is behind `after`, at most `limit` and [`limits::PAGE_BYTES_MAX`] of payload, at least
    /// one. The cursor of each is the place that was reached with it.
    fn page(&self, after: FeedCursor, limit: PageLimit) -> Vec<FeedEntry> {
        let mut cursor = after;
        let mut bytes = 0;
        let mut page = Vec::new();
        for entry in &self.entries {
            let happening = match entry {
                Entry::Event(number, event) if *number > after.event => {
                    bytes += event.data.as_str().len();
                    cursor.event = *number;
                    Happening::Event(Event::clone(event))
                }
                Entry::Change(number, change) if *number > after.change => {
                    cursor.change = *number;
                    Happening::Change(change.clone())
                }
                Entry::Event(..) | Entry::Change(..) => continue,
            };
            let heavy = bytes > limits::PAGE_BYTES_MAX && !page.is_empty();
            if heavy || page.len() == limit.get() {
                break;
            }
            page.push(FeedEntry { cursor, happening });
        }
        page
    }
}

#[async_trait]
impl Feed for ModelStore {
    async fn feed_end(&self) -> Result<FeedCursor, StoreError> {
        self.read(|rows| Ok(rows.happenings.end))
    }

    async fn feed(
        &self,
        after: FeedCursor,
        limit: PageLimit,
    ) -> Result<Vec<FeedEntry>, StoreError> {
        self.read(|rows| Ok(rows.happenings.page(after, limit)))
    }

    async fn watch_feed(&self, after: FeedCursor) -> Result<Box<dyn FeedWatch>, StoreError> {
        let (rows, writes) = (self.rows.clone(), self.writes.subscribe());
        Ok(Box::new(ModelFeedWatch { rows, writes, after }))
    }
}

struct ModelFeedWatch {
    rows: Arc<Mutex<Rows>>,
    writes: watch::Receiver<u64>,
    after: FeedCursor,
}

#[async_trait]
impl FeedWatch for ModelFeedWatch {
    async fn next(&mut self) -> Result<Vec<FeedEntry>, StoreError> {
        loop {
            // Marked as seen before the read, so a write between read and wait wakes us.
            self.writes.mark_unchanged();
            let page = self.rows.lock().unwrap().happenings.page(self.after, PageLimit::MAX);
            if let Some(last) = page.last() {
                self.after = last.cursor;
                return Ok(page);
            }
            self.writes
                .changed()
                .await
                .map_err(|closed| StoreError::backend("follow a closed store", closed))?;
        }
    }
}

impl Rows {
    /// Puts into the feed how these rows differ from those before the write.
    pub(super) fn note_changes(&mut self, before: &Self, now: Timestamp) {
        let mut changes = Vec::new();
        self.changed_sessions(before, &mut changes);
        self.changed_runs(before, &mut changes);
        self.changed_executors(before, &mut changes);
        self.changed_fleets(before, &mut changes);
        self.changed_agents(before, &mut changes);
        self.changed_approvals(before, &mut changes);
        self.changed_questions(before, &mut changes);
        self.changed_messages(before, &mut changes);
        self.changed_repos(before, &mut changes);
        for change in changes {
            self.happenings.change(Change { at: now, ..change });
        }
    }

    fn changed_sessions(&self, before: &Self, changes: &mut Vec<Change>) {
        for session in self.sessions.values() {
            match before.sessions.get(&session.id) {
                None => changes.push(of_session(ChangeKind::SessionCreated, &session.id)),
                Some(known) if known == session => {}
                Some(known) if without_log(known) == without_log(session) => {}
                Some(_) => changes.push(of_session(ChangeKind::SessionUpdated, &session.id)),
            }
        }
        for id in before.sessions.keys().filter(|id| !self.sessions.contains_key(id)) {
            changes.push(of_session(ChangeKind::SessionDeleted, id));
        }
    }

    /// A run that is removed with its session is no change of its own.
    fn changed_runs(&self, before: &Self, changes: &mut Vec<Change>) {
        for (place, row) in &self.runs {
            let known = before.runs.get(place).map(|row| stage(&row.run));
            if known == Some(stage(&row.run)) {
                continue;
            }
            let kind = match row.run.status {
                RunStatus::Pending => ChangeKind::RunQueued,
                RunStatus::Stopping if known.is_some_and(|(was, _)| was != RunStatus::Stopping) => {
                    ChangeKind::RunStopping
                }
                _ => ChangeKind::RunUpdated,
            };
            changes.push(of_run(kind, &row.run));
        }
    }

    /// A fleet or a fence that is removed with its session is no change of its own.
    fn changed_fleets(&self, before: &Self, changes: &mut Vec<Change>) {
        for (session, fleet) in &self.fleets {
            if before.fleets.get(session) != Some(fleet) {
                changes.push(of_session(ChangeKind::FleetUpdated, session));
            }
        }
        for (id, fence) in &self.fences {
            if before.fences.get(id) != Some(fence) {
                changes.push(of_session(ChangeKind::FenceUpdated, &fence.session_id));
            }
        }
    }

    fn changed_executors(&self, before: &Self, changes: &mut Vec<Change>) {
        let ids = before.executors.keys().chain(self.executors.keys());
        let mut ids: Vec<_> = ids.collect();
        ids.sort();
        ids.dedup();
        for id in ids {
            let known = before.executors.get(id).map(said);
            if known != self.executors.get(id).map(said) {
                let executor_id = Some(id.clone());
                changes.push(Change { executor_id, ..change(ChangeKind::ExecutorUpdated) });
            }
        }
    }
}

impl Rows {
    /// Only where a repository is: what it says of itself is told by nobody.
    fn changed_repos(&self, before: &Self, changes: &mut Vec<Change>) {
        for (id, repo) in &self.repos {
            let known = before.repos.get(id);
            if known.is_some_and(|known| known.found.root_path != repo.found.root_path) {
                let subject = Some(id.to_string());
                changes.push(Change { subject, ..change(ChangeKind::RepoMoved) });
            }
        }
    }
}

/// What the hive is made of. Messages come last: notices are told of behind their cause.
impl Rows {
    fn changed_agents(&self, before: &Self, changes: &mut Vec<Change>) {
        for (id, agent) in &self.agents {
            if before.agents.get(id).is_none_or(|known| is_other(known, agent)) {
                changes.push(of_party(ChangeKind::AgentUpdated, agent_party(&agent.name), None));
            }
        }
        for (_, agent) in before.agents.iter().filter(|(id, _)| !self.agents.contains_key(id)) {
            changes.push(of_party(ChangeKind::AgentUpdated, agent_party(&agent.name), None));
        }
    }

    fn changed_approvals(&self, before: &Self, changes: &mut Vec<Change>) {
        for (number, approval) in &self.approvals {
            if before.approvals.get(number) != Some(approval) {
                let subject = Some(approval.id.to_string());
                let party = agent_party(&approval.agent);
                changes.push(of_party(ChangeKind::ApprovalUpdated, party, subject));
            }
        }
    }

    fn changed_questions(&self, before: &Self, changes: &mut Vec<Change>) {
        for (number, question) in &self.questions {
            if before.questions.get(number) != Some(question) {
                let subject = Some(question.id.to_string());
                let party = question.from.clone();
                changes.push(of_party(ChangeKind::QuestionUpdated, party, subject));
            }
        }
    }

    /// Being handed out is no change, nor is a lease that is kept for longer. What was handed out in
    /// the step that sent it was queued all the same.
    fn changed_messages(&self, before: &Self, changes: &mut Vec<Change>) {
        for (number, message) in &self.messages {
            let known = before.messages.get(number).map(|known| known.status);
            let kind = match message.status {
                status if known == Some(status) => continue,
                MessageStatus::Leased if known.is_some() => continue,
                MessageStatus::Leased | MessageStatus::Queued => ChangeKind::MessageQueued,
                MessageStatus::Acked | MessageStatus::Dead => ChangeKind::MessageUpdated,
            };
            let subject = Some(message.id.to_string());
            changes.push(of_party(kind, message.to.clone(), subject));
        }
    }
}

/// Whether an agent is not what it was, but for its sessions: beginning another one is a revision
/// that is not told.
fn is_other(known: &Agent, agent: &Agent) -> bool {
    let renewed = known.active_session_id != agent.active_session_id;
    let without_sessions = |agent: &Agent| Agent {
        active_session_id: None,
        session_count: 0,
        usage: Usage::default(),
        revision: if renewed { 0 } else { agent.revision },
        updated_at: agent.created_at,
        ..agent.clone()
    };
    without_sessions(known) != without_sessions(agent)
}

/// A session's row without what an append moves, and without its parent: who lost it is told of
/// the parent's end.
fn without_log(session: &Session) -> Session {
    Session {
        last_seq: 0,
        usage: Usage::default(),
        last_activity_at: session.created_at,
        parent_session_id: None,
        ..session.clone()
    }
}

/// What moves a run on; a renewal does not.
fn stage(run: &Run) -> (RunStatus, Option<Timestamp>) {
    (run.status, run.started_at)
}

/// An executor without when it was last heard of.
fn said(executor: &Executor) -> Executor {
    Executor { seen_at: executor.registered_at, ..executor.clone() }
}

fn change(kind: ChangeKind) -> Change {
    Change {
        kind,
        session_id: None,
        run_id: None,
        executor_id: None,
        party: None,
        subject: None,
        at: Timestamp::EPOCH,
    }
}

fn of_session(kind: ChangeKind, id: &SessionId) -> Change {
    Change { session_id: Some(id.clone()), ..change(kind) }
}

fn of_run(kind: ChangeKind, run: &Run) -> Change {
    let (session_id, run_id) = (Some(run.session_id.clone()), Some(run.id.clone()));
    Change { session_id, run_id, executor_id: run.executor_id.clone(), ..change(kind) }
}

fn agent_party(name: &str) -> Party {
    Party::Agent(name.to_owned())
}

fn of_party(kind: ChangeKind, party: Party, subject: Option<String>) -> Change {
    Change { party: Some(party), subject, ..change(kind) }
}
