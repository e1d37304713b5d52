//! The Agent Coordinator's database: sessions, their events and runs in a SQLite file, of its first
//! age (January 2026) or a later one.
//!
//! A session is known again by its id, an event by the number of its row and what that holds, a run
//! by its id. Order is the order of writing (`rowid`), never a timestamp, which clients sent
//! unchecked. What belongs to a missing session is kept in one that stands for it.
//!
//! Nothing that was alive there is alive here: see `session_row` and `run_row`.
//!
//! Memory is bounded by the ids of all sessions, the row numbers and keys of one, the pages of
//! events and the largest value of the database.

mod event_row;
mod lineage;
mod report;
mod rows;
mod run_row;
mod session_log;
mod session_row;
mod time;

use std::collections::HashMap;
use std::path::Path;

use ah_model::{Origin, Run, Session, SessionId, Timestamp};
use ah_store::{Store, StoreError};

use self::event_row::EventRow;
use self::lineage::{Parent, Place};
use self::rows::Tables;
use self::run_row::RunSession;
use self::session_log::SessionLog;
use self::session_row::{SessionRow, Times};
use self::time::read_time;
use crate::foreign_db::{Columns, Database, Leftover, Program, TableRow};
use crate::minted::free_id;
use crate::report::{Became, Tally};
use crate::unreadable::Place as RawPlace;
use crate::writer::Stop;
use crate::{ImportError, ImportOptions, Progress};

pub use report::{CoordinatorReport, RunCounts, SessionReport};

/// What sessions of the database say they came from.
pub(crate) const SOURCE: &str = "agent-coordinator";

/// What every part of an import needs.
struct Import<'a> {
    store: &'a dyn Store,
    database: Database,
    tables: Tables,
    options: &'a ImportOptions,
    /// The sessions that were taken, by their names there, with their place in the report.
    taken: HashMap<String, (usize, RunSession)>,
    report: CoordinatorReport,
}

pub(crate) async fn import(
    store: &dyn Store,
    file: &Path,
    options: &ImportOptions,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<CoordinatorReport, ImportError> {
    let database = Database::open(Program::Coordinator, file)?;
    let tables = Tables::read(&database)?;
    let report = CoordinatorReport::new(SOURCE, options.dry_run, left_alone(&database, &tables)?);
    let places = tables.places(&database)?;
    let bytes = tables.event_bytes(&database)?;
    progress(Progress::Found { agents: places.len() as u64, bytes });
    let mut import = Import { store, database, tables, options, taken: HashMap::new(), report };
    for place in places {
        let bytes = import.place(&place).await?;
        progress(Progress::Agent { name: &place.name, bytes });
    }
    import.runs().await?;
    Ok(import.report.finish())
}

/// What is in the database and not taken.
fn left_alone(database: &Database, tables: &Tables) -> Result<Tally, ImportError> {
    let mut tally = Tally::default();
    for table in rows::other_tables(database)? {
        tally.remark(&table, None, "a table of something else, left alone");
    }
    for column in tables.sessions.unknown(&session_row::COLUMNS) {
        tally.remark(session_row::TABLE, None, format!("its column {column} is left out"));
    }
    Ok(tally)
}

/// A session that is being taken.
struct Taking {
    wanted: Session,
    known: Option<Session>,
    /// The rows of its events.
    events: Vec<i64>,
    leftovers: Vec<Leftover>,
    run_session: RunSession,
}

impl Import<'_> {
    /// Takes one session and reports it; the bytes that were read.
    async fn place(&mut self, place: &Place) -> Result<u64, ImportError> {
        let mut tally = Tally::default();
        let became = match self.session(place, &mut tally).await {
            Ok((changed, run_session)) => {
                let number = self.report.details.len();
                self.taken.insert(place.name.clone(), (number, run_session));
                Became::Taken { changed }
            }
            Err(Stop::Agent(reason)) => Became::Skipped(reason),
            Err(Stop::Failed(reason)) => Became::Failed(reason),
            Err(Stop::Import(error)) => return Err(error),
        };
        let bytes = tally.bytes;
        let id = self.taken.get(&place.name).map(|(_, session)| session.id.clone());
        self.report.add(&place.name, id, became, tally);
        Ok(bytes)
    }

    /// Takes one session; whether its row is another than before, and what its runs need to know.
    async fn session(
        &mut self,
        place: &Place,
        tally: &mut Tally,
    ) -> Result<(bool, RunSession), Stop> {
        if place.name.is_empty() {
            return Err(Stop::Failed("has no id, so that it could not be found again".to_owned()));
        }
        let taking = self.read_session(place, tally).await?;
        let (store, dry_run) = (self.store, self.options.dry_run);
        let mut log = SessionLog::open(store, dry_run, taking.wanted, taking.known, tally).await?;
        for left in &taking.leftovers {
            let place = RawPlace::new(left.table, left.line, &left.reason);
            log.keep_raw(&place, &left.bytes, &left.key(), tally).await?;
        }
        let mut rest = &taking.events[..];
        while !rest.is_empty() {
            let page = self.tables.events.page(&self.database, rest)?;
            rest = &rest[page.len()..];
            for row in page {
                record(&mut log, &row, tally).await?;
            }
        }
        let (given, changed) = log.finish().await?;
        tally.given.add(given);
        Ok((changed, taking.run_session))
    }

    /// What the file says of a session, and what is here of it.
    async fn read_session(&mut self, place: &Place, tally: &mut Tally) -> Result<Taking, Stop> {
        let origin = Origin { source: SOURCE.to_owned(), external_id: place.name.clone() };
        let known = self.store.session_of_origin(origin).await?;
        let (mut row, mut leftovers) = self.session_row(place, tally)?;
        let events = self.tables.events_of(&self.database, &place.id)?;
        let run_rows = self.run_rows(self.tables.runs_of(&self.database, &place.id)?)?;
        let now = self.options.now;
        let event_times: Vec<_> = events.iter().filter_map(|(_, time)| read_time(time)).collect();
        let queued = run_rows.iter().find_map(|run| read_time(run.cell("created_at")));
        let said = row.created_at.or(event_times.first().copied()).or(queued);
        let created_at = known.as_ref().map(|known| known.created_at).or(said).unwrap_or(now);
        let id = match &known {
            Some(known) => known.id.clone(),
            None => free_id(self.store, &place.name, created_at).await?,
        };
        let run_session = RunSession {
            id: id.clone(),
            created_at,
            agent_name: row.agent_name.clone(),
            project_dir: row.project_dir(),
        };
        let runs = read_runs(&run_rows, &run_session, &mut leftovers, tally);
        if let Some(rowid) = self.tables.last_end(&self.database, &place.id)? {
            let ends = self.tables.events.page(&self.database, &[rowid])?;
            ends.iter().for_each(|end| row.ended(session_row::exit_of(end)));
        }
        let times = times(created_at, &row, &event_times, &runs, now);
        let parent = self.parent(place, tally);
        let wanted = row.session(id, &place.name, parent, times);
        let events = events.into_iter().map(|(rowid, _)| rowid).collect();
        Ok(Taking { wanted, known, events, leftovers, run_session })
    }

    fn session_row(
        &self,
        place: &Place,
        tally: &mut Tally,
    ) -> Result<(SessionRow, Vec<Leftover>), ImportError> {
        let kind = &self.options.kind;
        let rows = match place.rowid {
            Some(rowid) => self.tables.sessions.page(&self.database, &[rowid])?,
            None => Vec::new(),
        };
        let Some(row) = rows.first() else {
            let what = "no row of that id: a session that failed stands for it";
            tally.remark(session_row::TABLE, None, what);
            return Ok((SessionRow::missing(kind), Vec::new()));
        };
        let mut columns = Columns::new(session_row::TABLE, "session_id", row, tally);
        let session = SessionRow::of(&mut columns, kind);
        Ok((session, columns.leftovers))
    }

    /// The id of the parent here; one that is not here is dropped and named.
    fn parent(&self, place: &Place, tally: &mut Tally) -> Option<SessionId> {
        let what = match &place.parent {
            Parent::None => return None,
            Parent::Named(name) => match self.taken.get(name) {
                Some((_, parent)) => return Some(parent.id.clone()),
                None => format!("parent_session_id: {name:?} is not there, left out"),
            },
            Parent::Circle(name) => {
                format!("parent_session_id: {name:?} is a child of it, left out")
            }
        };
        let line = place.rowid.and_then(|rowid| u64::try_from(rowid).ok());
        tally.remark(session_row::TABLE, line, what);
        None
    }

    fn run_rows(&self, rowids: Vec<i64>) -> Result<Vec<TableRow>, ImportError> {
        let (mut rows, mut rest) = (Vec::new(), &rowids[..]);
        while let Some(table) = self.tables.runs.as_ref().filter(|_| !rest.is_empty()) {
            let page = table.page(&self.database, rest)?;
            rest = &rest[page.len()..];
            rows.extend(page);
        }
        Ok(rows)
    }

    /// Gives all runs in their order, once every session is there that could be a parent.
    async fn runs(&mut self) -> Result<(), ImportError> {
        for rowid in self.tables.all_runs(&self.database)? {
            for row in self.run_rows(vec![rowid])? {
                self.run(&row).await?;
            }
        }
        Ok(())
    }

    async fn run(&mut self, row: &TableRow) -> Result<(), ImportError> {
        let name = row.cell("session_id").id().unwrap_or_else(|| rows::OF_NO_SESSION.to_owned());
        let Some((number, session)) = self.taken.get(&name).cloned() else {
            // What cannot be taken was reported with its session.
            return Ok(());
        };
        // The remarks were made with its session, all but that of its parent.
        let mut tally = Tally::default();
        let mut columns = Columns::new(run_row::TABLE, "run_id", row, &mut tally);
        let mut run = run_row::run(&mut columns, row, &session);
        run.parent_session_id = self.run_parent(row, number);
        let status = run.status;
        let given = give_run(self.store, self.options.dry_run, row, run).await;
        let report = &mut self.report.details[number];
        match given.map_err(Stop::from) {
            Ok(None) => {
                self.report.runs.imported += 1;
                report.add_run();
            }
            Ok(Some(known)) => {
                self.report.runs.present += 1;
                if known.status != status {
                    let what = format!("is {} here, {status} there: left as it is", known.status);
                    report.remark(run_row::TABLE, row.line(), what);
                }
            }
            Err(Stop::Agent(reason) | Stop::Failed(reason)) => report.fail(reason),
            Err(Stop::Import(error)) => return Err(error),
        }
        Ok(())
    }

    fn run_parent(&mut self, row: &TableRow, number: usize) -> Option<SessionId> {
        let name = row.cell("parent_session_id").id()?;
        if let Some((_, parent)) = self.taken.get(&name) {
            return Some(parent.id.clone());
        }
        let what = format!("parent_session_id: {name:?} is not there, left out");
        self.report.details[number].remark(run_row::TABLE, row.line(), what);
        None
    }
}

/// The runs of a session, for their times; what cannot be taken of them is left over.
fn read_runs(
    rows: &[TableRow],
    session: &RunSession,
    leftovers: &mut Vec<Leftover>,
    tally: &mut Tally,
) -> Vec<Run> {
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows {
        let mut columns = Columns::new(run_row::TABLE, "run_id", row, tally);
        runs.push(run_row::run(&mut columns, row, session));
        leftovers.append(&mut columns.leftovers);
    }
    runs
}

/// Gives a run; nothing when it is new, else the one that is there. An id that a run of another
/// session has here is left to that.
async fn give_run(
    store: &dyn Store,
    dry_run: bool,
    row: &TableRow,
    mut run: Run,
) -> Result<Option<Run>, StoreError> {
    let other = run_row::other_id(row, run.created_at);
    for id in [run.id.clone(), other] {
        run.id = id;
        match store.run(run.id.clone()).await {
            Ok(found) if found.session_id == run.session_id => return Ok(Some(found)),
            Ok(_) => {}
            Err(StoreError::NotFound { .. }) if dry_run => return Ok(None),
            // Somebody else may have brought it just now, which is as good.
            Err(StoreError::NotFound { .. }) => return store.restore_run(run).await.map(|_| None),
            Err(error) => return Err(error),
        }
    }
    let (kind, reason) = (ah_store::Kind::Run, "is the id of another run");
    Err(StoreError::conflict(kind, &run.id, reason))
}

/// Gives one row of events.
async fn record(log: &mut SessionLog<'_>, row: &TableRow, tally: &mut Tally) -> Result<(), Stop> {
    tally.bytes += row.bytes();
    let event = EventRow::of(row, tally);
    let Some(reason) = event.refused else {
        return log.push(&event.kind, event.data, event.key, event.time).await;
    };
    let at = row.cell("timestamp").json();
    let place = RawPlace {
        kind: Some(&event.kind),
        at: Some(&at),
        time: event.time,
        ..RawPlace::new(event_row::TABLE, row.line(), &reason)
    };
    log.keep_raw(&place, event.data.as_str().as_bytes(), &event.key, tally).await
}

/// When a session lived. Clients sent any time, so that one in the future says nothing.
fn times(
    created_at: Timestamp,
    row: &SessionRow,
    events: &[Timestamp],
    runs: &[Run],
    now: Timestamp,
) -> Times {
    let of_runs = runs.iter().flat_map(|run| {
        [Some(run.created_at), run.claimed_at, run.started_at, run.ended_at].into_iter().flatten()
    });
    let all = events.iter().copied().chain(row.last_resumed_at).chain(of_runs);
    let newest = all.filter(|time| *time <= now).fold(created_at, Timestamp::max);
    let started_at = runs.iter().filter_map(|run| run.started_at).min();
    Times { created_at, started_at: started_at.unwrap_or(created_at), newest }
}
