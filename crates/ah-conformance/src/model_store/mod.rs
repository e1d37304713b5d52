//! The oracle: the whole contract in memory, as simple as it can be said.
//!
//! Where the contract's words leave a choice, this store makes it and the others agree with it.
//! Every rule is ah-model's; this room only keeps rows. A write works on a copy of all rows that
//! replaces them when it succeeds, so a refused one changes nothing.

mod agent;
mod agent_import;
mod agent_kind;
mod approval;
mod callback;
mod draft;
mod event;
mod executor;
mod feed;
mod fence;
mod fleet;
mod hive;
mod kv;
mod message;
mod outbox;
mod question;
mod relocation;
mod repo;
mod request_key;
mod retention;
mod run;
mod run_report;
mod run_sweep;
mod runtime;
mod scrub;
mod search;
mod session;
mod spending;
mod task;
mod token;
mod workspace;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use ah_model::{
    Agent, AgentId, AgentKind, Approval, Callback, Credentials, Cursor, Draft, DraftId, Event,
    Executor, ExecutorEvent, ExecutorId, Fence, FenceId, Fleet, Invalid, Message, OutboxId, Page,
    PageRequest, Question, Receipt, Redact, Redaction, Redactions, Redactor, Repo, RepoPath,
    RequestKey, Runtime, Session, SessionId, SpendingSums, Task, Timestamp, TokenId, Workspace,
};
use ah_store::{Capabilities, Clock, Ids, Store, StoreError};
use tokio::sync::watch;

use self::feed::Happenings;
use self::request_key::Answer;
use self::run::RunRow;

/// A [`Store`] in memory.
pub struct ModelStore {
    door: Arc<Door>,
    rows: Arc<Mutex<Rows>>,
    /// Rises with every write; readers at the end of a log wait for it.
    writes: watch::Sender<u64>,
    /// The request that this view of the store is for.
    key: Option<RequestKey>,
    redaction: Redaction,
}

/// Where time, randomness and the declared differences come from.
struct Door {
    clock: Arc<dyn Clock>,
    ids: Ids,
    capabilities: Capabilities,
}

impl Door {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Everything kept. Sessions hold what belongs to their row; what they show of others (the
/// repository, a task's status) is looked up when they are read.
#[derive(Clone, Default)]
struct Rows {
    repos: BTreeMap<i64, Repo>,
    /// Where each was before, oldest first.
    repo_paths: Vec<(i64, RepoPath)>,
    agents: BTreeMap<AgentId, Agent>,
    agent_kinds: BTreeMap<i64, AgentKind>,
    runtimes: BTreeMap<i64, Runtime>,
    workspaces: BTreeMap<i64, Workspace>,
    sessions: BTreeMap<SessionId, Session>,
    events: BTreeMap<SessionId, Vec<Arc<Event>>>,
    /// What each session spent.
    spendings: BTreeMap<SessionId, SpendingSums>,
    tasks: BTreeMap<i64, Task>,
    /// By their number in the queue.
    runs: BTreeMap<i64, RunRow>,
    /// By a number that rises with each.
    callbacks: BTreeMap<i64, Callback>,
    executors: BTreeMap<ExecutorId, Executor>,
    /// By their number.
    executor_events: BTreeMap<i64, ExecutorEvent>,
    /// How far the reports of each outbox are kept.
    outboxes: BTreeMap<(ExecutorId, OutboxId), u64>,
    fleets: BTreeMap<SessionId, Fleet>,
    fences: BTreeMap<FenceId, Fence>,
    tokens: BTreeMap<TokenId, Credentials>,
    /// By their number, as approvals and questions are.
    messages: BTreeMap<i64, Message>,
    approvals: BTreeMap<i64, Approval>,
    questions: BTreeMap<i64, Question>,
    receipts: BTreeMap<i64, Receipt>,
    happenings: Happenings,
    /// Of keyed requests, by the key.
    answers: BTreeMap<String, Answer>,
    drafts: BTreeMap<DraftId, Draft>,
    pairs: BTreeMap<(String, String), String>,
    /// How far the index of search reaches.
    searched: i64,
    last_number: i64,
}

impl ModelStore {
    /// An empty store.
    pub fn new(clock: Arc<dyn Clock>, ids: Ids, capabilities: Capabilities) -> Self {
        Self {
            door: Arc::new(Door { clock, ids, capabilities }),
            rows: Arc::default(),
            writes: watch::Sender::new(0),
            key: None,
            redaction: Redaction::On,
        }
    }

    /// The same store, as one that keeps secrets would see it.
    pub fn careless(&self) -> Self {
        Self {
            door: self.door.clone(),
            rows: self.rows.clone(),
            writes: self.writes.clone(),
            key: None,
            redaction: Redaction::Off,
        }
    }

    /// `value` as it is kept.
    fn clean<T: Redact>(&self, value: T) -> T {
        self.clean_counted(value).0
    }

    fn clean_counted<T: Redact>(&self, value: T) -> (T, Redactions) {
        Redactor::clean(self.redaction, value)
    }

    fn read<T>(&self, work: impl FnOnce(&Rows) -> T) -> T {
        work(&self.rows.lock().unwrap())
    }

    /// Runs `work` on a copy, which becomes the truth unless it is refused.
    fn write<T>(
        &self,
        work: impl FnOnce(&mut Rows, &Door) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.write_unnoted(|rows, door| {
            let before = rows.clone();
            let done = work(rows, door)?;
            rows.note_changes(&before, door.now());
            Ok(done)
        })
    }

    /// [`Self::write`] of what nobody is told of.
    fn write_unnoted<T>(
        &self,
        work: impl FnOnce(&mut Rows, &Door) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut rows = self.rows.lock().unwrap();
        let mut copy = rows.clone();
        let done = work(&mut copy, &self.door)?;
        *rows = copy;
        drop(rows);
        self.writes.send_modify(|writes| *writes += 1);
        Ok(done)
    }
}

impl Rows {
    /// A number for a new row, never given out before.
    fn next_number(&mut self) -> i64 {
        self.last_number += 1;
        self.last_number
    }

    /// [`Self::next_number`] as rows show it.
    fn next_place(&mut self) -> u64 {
        u64::try_from(self.next_number()).unwrap()
    }
}

impl Store for ModelStore {
    fn capabilities(&self) -> Capabilities {
        self.door.capabilities
    }

    fn keyed(&self, key: RequestKey) -> Box<dyn Store> {
        Box::new(Self {
            door: self.door.clone(),
            rows: self.rows.clone(),
            writes: self.writes.clone(),
            key: Some(key),
            redaction: self.redaction,
        })
    }
}

/// The page of rows that are in the order of their number.
fn numbered_page<T: Clone>(
    rows: &BTreeMap<i64, T>,
    page: &PageRequest,
    number: impl Fn(&T) -> i64,
) -> Result<Page<T>, StoreError> {
    let after = after_number(page)?.unwrap_or(i64::MIN);
    let items = rows.iter().filter(|(id, _)| **id > after);
    let items = overfull(items.map(|(_, row)| row.clone()), page);
    let cursor = |row: &T| Cursor::Number(number(row));
    Ok(Page::from_overfull(items, page.limit, cursor))
}

/// The page of the rows that pass, by their number, newest first.
fn newest_page<T: Clone>(
    rows: &BTreeMap<i64, T>,
    page: &PageRequest,
    passes: impl Fn(&T) -> bool,
) -> Result<Page<T>, StoreError> {
    let before = after_number(page)?.unwrap_or(i64::MAX);
    let rows = rows.iter().rev().filter(|(number, row)| **number < before && passes(row));
    let items = overfull(rows.map(|(number, row)| (*number, row.clone())), page);
    let cursor = |(number, _): &(i64, T)| Cursor::Number(*number);
    let Page { items, next_cursor } = Page::from_overfull(items, page.limit, cursor);
    Ok(Page { items: items.into_iter().map(|(_, row)| row).collect(), next_cursor })
}

/// The first two that begin with `prefix`, in their order.
fn with_prefix<T: Ord + ToString>(ids: impl Iterator<Item = T>, prefix: &str) -> Vec<T> {
    let mut ids: Vec<T> = ids.filter(|id| id.to_string().starts_with(prefix)).collect();
    ids.sort();
    ids.truncate(2);
    ids
}

/// One item more than the page holds, which tells whether there is another page.
fn overfull<T>(items: impl Iterator<Item = T>, page: &PageRequest) -> Vec<T> {
    items.take(page.limit.get() + 1).collect()
}

fn after_number(page: &PageRequest) -> Result<Option<i64>, StoreError> {
    match &page.cursor {
        None => Ok(None),
        Some(Cursor::Number(number)) => Ok(Some(*number)),
        Some(cursor @ (Cursor::Activity { .. } | Cursor::Text(_))) => Err(foreign(cursor)),
    }
}

fn after_text(page: &PageRequest) -> Result<Option<&str>, StoreError> {
    match &page.cursor {
        None => Ok(None),
        Some(Cursor::Text(text)) => Ok(Some(text)),
        Some(cursor @ (Cursor::Activity { .. } | Cursor::Number(_))) => Err(foreign(cursor)),
    }
}

fn foreign(cursor: &Cursor) -> StoreError {
    Invalid::new("cursor", format!("{cursor} is not one of this list")).into()
}
