//! What writers were told, held against what the database has.
//!
//! Every event of these tests names its writer and its line and can be made again from them, so
//! any event can be checked whole. A writer's lines count from zero in the order it sends them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use ah_model::{Appended, Event, EventQuery, NewEvent, PageLimit, RawJson, SessionId, limits};
use ah_store::{Capabilities, Events, Ids, StoreError, SystemClock, SystemIds, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde::{Deserialize, Serialize};

/// The session of most tests.
pub(super) const SESSION: &str = "adversity";

/// One line of one writer: the payload of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) writer: u64,
    pub(super) line: u64,
    /// Length of `pad`.
    length: usize,
    pad: String,
}

impl Line {
    pub(super) fn new(writer: u64, line: u64, length: usize) -> Self {
        let letter = b'a' + ((writer * 7 + line) % 26) as u8;
        Self { writer, line, length, pad: char::from(letter).to_string().repeat(length) }
    }

    pub(super) fn payload(&self) -> String {
        serde_json::to_string(self).unwrap()
    }

    /// As `ah session append --stdin-jsonl` reads it, with the line end.
    pub(super) fn jsonl(&self) -> String {
        format!("{{\"type\":\"line\",\"data\":{}}}\n", self.payload())
    }

    pub(super) fn event(&self) -> NewEvent {
        let data = RawJson::parse("data", &self.payload(), limits::EVENT_DATA_BYTES_MAX).unwrap();
        let dedup_key = Some(format!("{}/{}", self.writer, self.line));
        NewEvent { kind: "line".to_owned(), data, dedup_key, ts: None }
    }

    /// The line in an event, if it is whole.
    fn of(event: &Event) -> Result<Self, Fault> {
        let found: Self = serde_json::from_str(event.data.as_str())
            .map_err(|error| Fault::Damaged(format!("event {}: {error}", event.seq)))?;
        if found != Self::new(found.writer, found.line, found.length) {
            return Err(Fault::Damaged(format!("event {} is not as it was sent", event.seq)));
        }
        Ok(found)
    }
}

/// The lines that writers were told to be durable: for each writer the seqs of its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Acked(BTreeMap<u64, Vec<u64>>);

impl Acked {
    /// Adds the lines that the next acknowledgement of `writer` covers.
    pub(super) fn add(&mut self, writer: u64, answer: &Appended) {
        assert_eq!(answer.duplicates, 0, "nothing is sent twice");
        self.0.entry(writer).or_default().extend(answer.first_seq..=answer.last_seq);
    }

    pub(super) fn len(&self) -> u64 {
        self.0.values().map(|seqs| seqs.len() as u64).sum()
    }

    /// Writer, line and seq of each.
    fn iter(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.0
            .iter()
            .flat_map(|(writer, seqs)| (0..).zip(seqs).map(|(line, seq)| (*writer, line, *seq)))
    }
}

/// What is wrong with a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Something acknowledged is not there.
    Lost(String),
    /// What is there contradicts itself, or cannot be read.
    Damaged(String),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound { .. } => Self::Lost(error.to_string()),
            other => Self::Damaged(format!("{other}: {:?}", std::error::Error::source(&other))),
        }
    }
}

pub(super) fn open(database: &Path) -> Result<SqlStore, StoreError> {
    let options = SqliteOptions::new(database);
    let (clock, ids) = (Arc::new(SystemClock), Ids::new(Box::new(SystemIds)));
    Ok(SqlStore::open_sqlite(options, Capabilities { workspaces: false }, clock, ids)?.0)
}

/// Proves that the session has everything acknowledged, in order and whole, and that the store
/// keeps its own rules. Returns how many events there are.
pub(super) fn check(store: &SqlStore, session: &str, acked: &Acked) -> Result<u64, Fault> {
    let report = block_on(store.check())?;
    if !report.violations.is_empty() {
        return Err(Fault::Damaged(format!("{:?}", report.violations)));
    }
    let lines = lines(store, session)?;
    in_order(&lines)?;
    for (writer, line, seq) in acked.iter() {
        let found = lines.get(seq as usize - 1).map(|found| (found.writer, found.line));
        if found != Some((writer, line)) {
            let expected = format!("line {line} of writer {writer} as event {seq}");
            return Err(Fault::Lost(format!("{expected}; of {} it is {found:?}", lines.len())));
        }
    }
    Ok(lines.len() as u64)
}

/// The lines of a session by seq, which must count from one without gaps.
fn lines(store: &SqlStore, session: &str) -> Result<Vec<Line>, Fault> {
    let session: SessionId = session.parse().unwrap();
    let mut lines = Vec::new();
    loop {
        let after = lines.len() as u64;
        let query = EventQuery { after, limit: PageLimit::MAX, ..EventQuery::default() };
        let events = block_on(store.events(session.clone(), query))?;
        if events.is_empty() {
            return Ok(lines);
        }
        for event in events {
            if event.seq != lines.len() as u64 + 1 {
                return Err(Fault::Damaged(format!("{} after {}", event.seq, lines.len())));
            }
            lines.push(Line::of(&event)?);
        }
    }
}

/// Every writer's lines are the first ones it sent, in the order it sent them.
fn in_order(lines: &[Line]) -> Result<(), Fault> {
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    for found in lines {
        let expected = next.entry(found.writer).or_default();
        if found.line != *expected {
            let writer = found.writer;
            let problem = format!("writer {writer}: line {} before {expected}", found.line);
            return Err(Fault::Damaged(problem));
        }
        *expected += 1;
    }
    Ok(())
}
