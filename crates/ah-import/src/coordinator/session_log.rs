//! Gives a session to the store: its row, its events, and its row again, because appending moves
//! the row on.
//!
//! Between the first and the last of these the session has a label that says so. An import that
//! was killed there is known by it, and the next one brings the row to its end. What happened to a
//! session here after it came is never undone: the side with the newer activity gives the row.

use std::collections::HashSet;
use std::io::Read;

use ah_model::{
    EventQuery, ExportHeader, NewEvent, PageLimit, RawJson, Session, SessionDetails, SessionStatus,
    Timestamp,
};
use ah_store::{Store, StoreError};

use super::session_row::STATUS_LABEL;
use crate::report::{Given, Tally};
use crate::unreadable::{self, Parts, Place, UNREADABLE};
use crate::writer::Stop;

/// The label of a session whose import has not come to its end, and its value.
pub(super) const UNFINISHED: (&str, &str) = ("import", "unfinished");

/// Events of one append, and bytes of their payloads. An append is over by one event at most.
const BATCH_EVENTS: usize = 1_000;
const BATCH_BYTES: usize = 16 * 1024 * 1024;

/// Who gives the row of a session that is here already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowOf {
    /// The file.
    Source,
    /// The store: something happened to it here since.
    Store,
}

/// A session on its way into the store.
pub(super) struct SessionLog<'a> {
    store: &'a dyn Store,
    dry_run: bool,
    /// As the file says.
    wanted: Session,
    /// As it is here.
    known: Option<Session>,
    row_of: RowOf,
    /// Whether the row becomes another.
    changed: bool,
    /// The keys of the events that are here.
    keys: HashSet<String>,
    batch: Vec<NewEvent>,
    batch_bytes: usize,
    /// Whether anything was appended, or would be.
    begun: bool,
    /// The time of what says none.
    time: Timestamp,
    given: Given,
}

impl<'a> SessionLog<'a> {
    /// Looks at what there is of `wanted`, whose origin is that of `known`.
    pub(super) async fn open(
        store: &'a dyn Store,
        dry_run: bool,
        wanted: Session,
        known: Option<Session>,
        tally: &mut Tally,
    ) -> Result<Self, Stop> {
        ExportHeader::new(wanted.clone(), Vec::new()).check().map_err(StoreError::from)?;
        let (mut keys, mut row_of) = (HashSet::new(), RowOf::Source);
        if let Some(known) = &known {
            keys = held_keys(store, known).await?;
            row_of = row_of_known(store, &wanted, known, tally).await?;
        }
        let mut log = Self {
            store,
            dry_run,
            time: wanted.created_at,
            wanted,
            row_of,
            changed: false,
            keys,
            batch: Vec::new(),
            batch_bytes: 0,
            begun: false,
            given: Given { created: known.is_none(), ..Given::default() },
            known,
        };
        let other = log.known.as_ref().is_some_and(|known| log.row_over(known) != *known);
        log.changed = other && row_of == RowOf::Source;
        Ok(log)
    }

    /// Adds an event unless it is there; without a time it gets that of the one before.
    pub(super) async fn push(
        &mut self,
        kind: &str,
        data: RawJson,
        key: String,
        time: Option<Timestamp>,
    ) -> Result<(), Stop> {
        self.time = time.unwrap_or(self.time);
        if !self.keys.insert(key.clone()) {
            self.given.present += 1;
            return Ok(());
        }
        self.batch_bytes += data.as_str().len();
        let (kind, ts) = (kind.to_owned(), Some(self.time));
        self.batch.push(NewEvent { kind, data, dedup_key: Some(key), ts });
        if self.batch.len() >= BATCH_EVENTS || self.batch_bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    /// Keeps what cannot be read, and says so.
    pub(super) async fn keep_raw(
        &mut self,
        place: &Place<'_>,
        bytes: &[u8],
        key: &str,
        tally: &mut Tally,
    ) -> Result<(), Stop> {
        tally.kept_raw(place.file, place.line, place.reason);
        match unreadable::whole(place, bytes) {
            Some(data) => self.push(UNREADABLE, data, key.to_owned(), place.time).await,
            None => self.keep_parts(place, Parts::new(bytes, bytes.len() as u64), key).await,
        }
    }

    async fn keep_parts<R: Read>(
        &mut self,
        place: &Place<'_>,
        mut parts: Parts<R>,
        key: &str,
    ) -> Result<(), Stop> {
        let mut number = 1_u64;
        while let Some(data) = parts.next(place).map_err(|error| Stop::io(place.file, &error))? {
            self.push(UNREADABLE, data, format!("{key}/{number}"), place.time).await?;
            number += 1;
        }
        Ok(())
    }

    /// Gives what is left; what was given, and whether the row is another than before.
    pub(super) async fn finish(mut self) -> Result<(Given, bool), Stop> {
        self.flush().await?;
        let due = self.begun || self.given.created || self.changed;
        if due && self.row_of == RowOf::Source && !self.dry_run {
            let row = match &self.known {
                None => self.wanted.clone(),
                // Appending has moved the row on.
                Some(known) if self.begun => {
                    self.row_over(&self.store.session(known.id.clone()).await?)
                }
                Some(known) => self.row_over(known),
            };
            self.restore(row).await?;
        }
        Ok((self.given, self.changed))
    }

    /// Appends what has gathered.
    async fn flush(&mut self) -> Result<(), Stop> {
        let events = std::mem::take(&mut self.batch);
        self.batch_bytes = 0;
        let count = events.len() as u64;
        if count == 0 {
            return Ok(());
        }
        if self.dry_run {
            self.begun = true;
            self.given.events += count;
            return Ok(());
        }
        self.begin().await?;
        let done = self.store.append_events(self.wanted.id.clone(), events).await?;
        self.given.events += done.appended;
        self.given.present += done.duplicates;
        Ok(())
    }

    /// Gives the row, labelled as unfinished, before the first event.
    async fn begin(&mut self) -> Result<(), Stop> {
        if std::mem::replace(&mut self.begun, true) || self.row_of == RowOf::Store {
            return Ok(());
        }
        let mut row = self.known.as_ref().map_or(self.wanted.clone(), |known| self.row_over(known));
        let (key, value) = UNFINISHED;
        row.labels.0.insert(key.to_owned(), value.to_owned());
        self.known = Some(self.restore(row).await?);
        Ok(())
    }

    async fn restore(&self, row: Session) -> Result<Session, StoreError> {
        self.store.restore_session(ExportHeader::new(row, Vec::new())).await
    }

    /// What the file says, over what is here: only what the file knows of is another.
    fn row_over(&self, here: &Session) -> Session {
        let said = self.wanted.clone();
        let mut labels = here.labels.clone();
        labels.0.retain(|key, _| key != STATUS_LABEL && key != UNFINISHED.0);
        labels.0.extend(said.labels.0);
        let of = said.details;
        let ours = &here.details;
        Session {
            status: said.status,
            exit: said.exit,
            started_at: said.started_at,
            ended_at: said.ended_at,
            last_resumed_at: said.last_resumed_at,
            last_activity_at: said.last_activity_at,
            labels,
            details: SessionDetails {
                project_dir: of.project_dir.or_else(|| ours.project_dir.clone()),
                hostname: of.hostname.or_else(|| ours.hostname.clone()),
                executor_session_id: of
                    .executor_session_id
                    .or_else(|| ours.executor_session_id.clone()),
                executor_profile: of.executor_profile.or_else(|| ours.executor_profile.clone()),
                executor_type: of.executor_type.or_else(|| ours.executor_type.clone()),
                ..ours.clone()
            },
            ..here.clone()
        }
    }
}

/// Whether the file or the store knows better where a session stands.
async fn row_of_known(
    store: &dyn Store,
    wanted: &Session,
    known: &Session,
    tally: &mut Tally,
) -> Result<RowOf, Stop> {
    let at_work = match known.status {
        SessionStatus::Created | SessionStatus::Running | SessionStatus::Stopping => true,
        SessionStatus::Idle
        | SessionStatus::Succeeded
        | SessionStatus::Failed
        | SessionStatus::Cancelled => {
            store.session_runs(known.id.clone()).await?.iter().any(|run| run.status.is_live())
        }
    };
    let unfinished = known.labels.0.get(UNFINISHED.0).is_some_and(|value| value == UNFINISHED.1);
    if at_work || known.last_activity_at > wanted.last_activity_at && !unfinished {
        let what = "went on here, so that its state stays as it is; only its records are taken";
        tally.remark(super::session_row::TABLE, None, what);
        return Ok(RowOf::Store);
    }
    Ok(RowOf::Source)
}

/// The keys of a session's events.
async fn held_keys(store: &dyn Store, session: &Session) -> Result<HashSet<String>, StoreError> {
    let (mut keys, mut after) = (HashSet::new(), 0);
    while after < session.last_seq {
        let query = EventQuery { after, limit: PageLimit::MAX, ..EventQuery::default() };
        let events = store.events(session.id.clone(), query).await?;
        let Some(last) = events.last() else {
            break;
        };
        after = last.seq;
        keys.extend(events.into_iter().filter_map(|event| event.dedup_key));
    }
    Ok(keys)
}
