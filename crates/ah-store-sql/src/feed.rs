//! The feed in SQL: events and changes by the numbers they got when they were written.

use std::time::Instant;

use ah_model::{Change, Event, FeedCursor, FeedEntry, Happening, PageLimit, SessionId, limits};
use ah_store::{Feed, FeedWatch, StoreError};
use async_trait::async_trait;
use tokio::sync::watch;

use crate::SqlStore;
use crate::horizon::{Line, WAIT_MAX, Wait, Writers, before_gap};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::tx::{Dialect, More, Row, Tx, query_all, query_first};

const CHANGES: &str = "SELECT id, kind, session_id, run_id, executor_id, party, subject, at \
    FROM changes \
    WHERE id > $1 ORDER BY id LIMIT $2";
const EVENTS: &str = "SELECT id, session_id, seq, ts, type, data, dedup_key FROM events \
    WHERE id > $1 ORDER BY id LIMIT $2";
const SIZES: &str = "SELECT CAST(octet_length(data) AS bigint) FROM events \
    WHERE id > $1 ORDER BY id LIMIT $2";

fn read_change(row: &dyn Row) -> Result<(u64, Change), StoreError> {
    let row = Reader::new(row);
    let number = row.uint()?;
    let (kind, session_id, run_id) = (row.parse()?, row.opt_parse()?, row.opt_parse()?);
    let (executor_id, party, subject) = (row.opt_parse()?, row.opt_parse()?, row.opt_text()?);
    let at = row.time()?;
    Ok((number, Change { kind, session_id, run_id, executor_id, party, subject, at }))
}

fn read_event(row: &dyn Row) -> Result<(u64, Event), StoreError> {
    let row = Reader::new(row);
    let number = row.uint()?;
    let session_id: SessionId = row.parse()?;
    let (seq, ts, kind, data) = (row.uint()?, row.time()?, row.text()?, row.json()?);
    let event = Event { session_id, seq, ts, kind, data, dedup_key: row.opt_text()? };
    Ok((number, event))
}

const WRITERS: &str = "SELECT l.virtualtransaction FROM pg_locks l \
    JOIN pg_database d ON d.oid = l.database AND d.datname = current_database() \
    WHERE l.locktype = 'relation' AND l.relation = to_regclass($1) \
    AND l.mode = 'RowExclusiveLock'";

/// Who has a table locked for writing at this moment, whatever the snapshot.
fn writers(tx: &mut dyn Tx, table: &str) -> Result<Writers, StoreError> {
    query_all(tx, WRITERS, &[table.into()], |row| row.text(0))
}

/// PostgreSQL sends every row of a result: as many as fit a page are asked for.
fn rows_that_fit(tx: &mut dyn Tx, after: u64, rows: u64) -> Result<u64, StoreError> {
    if tx.dialect() == Dialect::Sqlite {
        return Ok(rows);
    }
    let (mut fit, mut bytes) = (0, 0);
    tx.query(SIZES, &[after.into(), rows.into()], &mut |row| {
        bytes += row.opt_int(0)?.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if bytes > limits::PAGE_BYTES_MAX && fit > 0 {
            return Ok(More::No);
        }
        fit += 1;
        Ok(More::Yes)
    })?;
    Ok(fit)
}

/// Events as `read` makes them of their rows; it says how large each is.
fn events<T>(
    tx: &mut dyn Tx,
    after: u64,
    rows: u64,
    read: impl Fn(&dyn Row) -> Result<(u64, T, usize), StoreError>,
) -> Result<Vec<(u64, T)>, StoreError> {
    let fit = rows_that_fit(tx, after, rows)?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    tx.query(EVENTS, &[after.into(), fit.into()], &mut |row| {
        let (number, event, size) = read(row)?;
        bytes += size;
        if bytes > limits::PAGE_BYTES_MAX && !events.is_empty() {
            return Ok(More::No);
        }
        events.push((number, event));
        Ok(More::Yes)
    })?;
    Ok(events)
}

fn sized(row: &dyn Row) -> Result<(u64, Event, usize), StoreError> {
    let (number, event) = read_event(row)?;
    let size = event.data.as_str().len();
    Ok((number, event, size))
}

/// What a look at the feed found.
enum Found {
    /// These, or the end.
    Entries(Vec<FeedEntry>),
    /// Nothing that may be shown, though it is not the end.
    Gap(Wait),
}

/// One of the tables that the feed is made of.
struct Part<'a> {
    table: &'static str,
    line: &'a Line,
    /// Up to where it was settled before the snapshot was taken.
    settled: u64,
}

impl<'a> Part<'a> {
    fn new(table: &'static str, line: &'a Line) -> Self {
        Self { table, line, settled: line.settled() }
    }

    /// Cuts what may not be shown yet, and says what that means. SQLite's writers commit one after
    /// the other, so there it is settled what is read.
    fn cut<T>(
        &self,
        tx: &mut dyn Tx,
        after: u64,
        rows: &mut Vec<(u64, T)>,
    ) -> Result<Option<Wait>, StoreError> {
        if tx.dialect() == Dialect::Sqlite {
            return Ok(None);
        }
        let numbers: Vec<u64> = rows.iter().map(|(number, _)| *number).collect();
        let shown = before_gap(after, &numbers, self.settled);
        rows.truncate(shown);
        match numbers.last().filter(|_| shown < numbers.len()) {
            None => Ok(None),
            Some(last) => {
                let writers = writers(tx, self.table)?;
                Ok(Some(self.line.stands_before_gap(*last, writers)))
            }
        }
    }
}

/// Events with their numbers; one that cannot be read is nothing.
pub(crate) type Numbered = Vec<(u64, Option<Event>)>;

/// The log of all events, up to where nothing can come before anything in it any more.
pub(crate) struct SettledEvents<'a>(Part<'a>);

impl<'a> SettledEvents<'a> {
    /// Must stand before the first statement of the transaction, which takes the snapshot.
    pub(crate) fn begin(ctx: &'a Resources) -> Self {
        Self(Part::new("events", &ctx.horizon.events))
    }

    /// Events behind a number, and what to wait for where one may still come between.
    pub(crate) fn after(
        &self,
        tx: &mut dyn Tx,
        after: u64,
        rows: u64,
    ) -> Result<(Numbered, Option<Wait>), StoreError> {
        let read = |row: &dyn Row| match sized(row) {
            Ok((number, event, size)) => Ok((number, Some(event), size)),
            Err(_) => Ok((row.uint(0)?, None, 0)),
        };
        let mut events = events(tx, after, rows, read)?;
        let wait = self.0.cut(tx, after, &mut events)?;
        Ok((events, wait))
    }
}

/// What happened after `after`: changes first, so that a session is known before its events.
fn read(
    tx: &mut dyn Tx,
    ctx: &Resources,
    after: FeedCursor,
    limit: PageLimit,
) -> Result<Found, StoreError> {
    // Before the first statement, which takes the snapshot.
    let of_changes = Part::new("changes", &ctx.horizon.changes);
    let of_events = Part::new("events", &ctx.horizon.events);
    let rows = limit.get() as u64;
    let mut changes = query_all(tx, CHANGES, &[after.change.into(), rows.into()], read_change)?;
    let changes_wait = of_changes.cut(tx, after.change, &mut changes)?;
    let mut cursor = after;
    let mut entries = Vec::with_capacity(changes.len());
    for (number, change) in changes {
        cursor.change = number;
        entries.push(FeedEntry { cursor, happening: Happening::Change(change) });
    }
    let rows = rows - entries.len() as u64;
    let mut events = if rows == 0 { Vec::new() } else { events(tx, after.event, rows, sized)? };
    let events_wait = of_events.cut(tx, after.event, &mut events)?;
    for (number, event) in events {
        cursor.event = number;
        entries.push(FeedEntry { cursor, happening: Happening::Event(event) });
    }
    Ok(match (changes_wait, events_wait) {
        _ if !entries.is_empty() => Found::Entries(entries),
        (None, None) => Found::Entries(entries),
        (Some(Wait::Again), _) | (_, Some(Wait::Again)) => Found::Gap(Wait::Again),
        _ => Found::Gap(Wait::Held),
    })
}

const LAST: [(&str, &str); 2] = [
    ("events", "SELECT coalesce(max(id), 0) FROM events"),
    ("changes", "SELECT coalesce(max(id), 0) FROM changes"),
];

/// The newest numbers, and who may still fill gaps before them.
fn end(tx: &mut dyn Tx) -> Result<(FeedCursor, Writers), StoreError> {
    let mut numbers = [0; 2];
    let mut at_work = Writers::new();
    for (number, (table, newest)) in numbers.iter_mut().zip(LAST) {
        *number = query_first(tx, newest, &[], |row| row.uint(0))?.unwrap_or(0);
        if tx.dialect() == Dialect::Postgres {
            at_work.extend(writers(tx, table)?);
        }
    }
    Ok((FeedCursor { event: numbers[0], change: numbers[1] }, at_work))
}

#[async_trait]
impl Feed for SqlStore {
    async fn feed_end(&self) -> Result<FeedCursor, StoreError> {
        let mut commits = self.subscribe()?;
        let (cursor, before) = self.read(|tx, _| end(tx)).await?;
        let began = Instant::now();
        let mut at_work = before.clone();
        // Who wrote then may have a number below: once they have ended, it lies before the end.
        while before.iter().any(|writer| at_work.contains(writer)) && began.elapsed() < WAIT_MAX {
            heard(&mut commits).await?;
            (_, at_work) = self.read(|tx, _| end(tx)).await?;
        }
        Ok(cursor)
    }

    async fn feed(
        &self,
        after: FeedCursor,
        limit: PageLimit,
    ) -> Result<Vec<FeedEntry>, StoreError> {
        // Subscribed before the first look, so that no end of a writer is missed.
        let mut commits = None;
        loop {
            match self.read(move |tx, ctx| read(tx, ctx, after, limit)).await? {
                Found::Entries(entries) => return Ok(entries),
                Found::Gap(Wait::Again) => {}
                Found::Gap(Wait::Held) => match &mut commits {
                    None => commits = Some(self.subscribe()?),
                    Some(commits) => heard(commits).await?,
                },
            }
        }
    }

    async fn watch_feed(&self, after: FeedCursor) -> Result<Box<dyn FeedWatch>, StoreError> {
        let changes = self.subscribe()?;
        Ok(Box::new(SqlFeedWatch { store: self.clone(), after, changes }))
    }
}

struct SqlFeedWatch {
    store: SqlStore,
    after: FeedCursor,
    changes: watch::Receiver<u64>,
}

#[async_trait]
impl FeedWatch for SqlFeedWatch {
    async fn next(&mut self) -> Result<Vec<FeedEntry>, StoreError> {
        loop {
            // Marked as seen before the read: a commit during it wakes the next round.
            self.changes.borrow_and_update();
            let entries = self.store.feed(self.after, PageLimit::MAX).await?;
            if let Some(last) = entries.last() {
                self.after = last.cursor;
                return Ok(entries);
            }
            heard(&mut self.changes).await?;
        }
    }
}

/// Waits for a commit of anybody, or for a while.
async fn heard(commits: &mut watch::Receiver<u64>) -> Result<(), StoreError> {
    let closed = |_| StoreError::backend("watch the feed", "the store was closed");
    commits.changed().await.map_err(closed)
}
