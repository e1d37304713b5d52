//! The host's sweep over the live events of all homes: by age, then the newest of each agent.
//!
//! The file, its journal and everything around it may be hostile, and its writer may be at work. So
//! the file gets a second name in a directory of the host's, reached without following links, and is
//! looked at and opened there: nothing can be exchanged for it, and SQLite finds no journal, log or
//! shared memory beside it but its own. (A journal says what is written where, and could make older
//! versions of SQLite delete any file.) Locks
//! belong to the file and not to its name, so an honest writer is waited for as ever, and its own
//! journal is looked for while the lock is held. Removal goes in small transactions whose journal is
//! memory and which wait for no disk, so that a writer never waits long. Nothing grows with the size
//! of a file or the number of homes.

use std::ffi::OsStr;
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{Amount, Timestamp};

use super::FILE;
use super::database::{Database, LOCKED, ROW_BYTES_MAX, Reason, SLOW, reason};
use crate::home::Homes;
use crate::place::{Dir, check_file};
use crate::{HostError, LiveRules};

/// Rows that are looked at in one statement, and removed in one transaction.
const ROWS_AT_ONCE: i64 = 256;
/// Payload that is removed in one transaction; a single row may be larger.
const BYTES_AT_ONCE: u64 = 1024 * 1024;
/// Rows of one home that are looked at in one sweep; the next one goes on.
const ROWS_MAX: i64 = 2_000_000;
/// Larger files are not looked at.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// How long SQLite waits for a lock, perhaps while it holds another that a writer waits for.
const BUSY: Duration = Duration::from_millis(2);
/// How long one lock is waited for, while nobody waits for ours.
const PATIENCE: Duration = Duration::from_millis(500);
const PATIENCE_PAUSE: Duration = Duration::from_micros(200);
/// How often something is tried that took too long: the machine may just have had other work.
const SLOW_TRIES: u32 = 4;
/// How long locks of one home are waited for in all.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(20);
/// After each transaction a writer has so much more time than that took, within these bounds.
const REST_FACTOR: u32 = 2;
const REST: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));
/// Pages that one transaction gives back.
const PAGES_AT_ONCE: i64 = 64;
/// How often, and how long each time, the end of a writer's transaction is waited for.
const QUIET_TRIES: u32 = 20;
const QUIET_PAUSE: Duration = Duration::from_millis(5);
/// What the sweep may leave in its directory.
const LEFT: [&str; 4] = [FILE, "events.sqlite-journal", "events.sqlite-wal", "events.sqlite-shm"];
const JOURNAL: &str = LEFT[1];
const LOG: &str = LEFT[2];

const LOGGED: &str = "it has a write-ahead log, which no writer of ours makes";

/// Whether anything is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Plan,
    Remove,
}

/// Who is told what went of a home, and says whether the sweep goes on.
pub(crate) type Told<'a> = &'a mut dyn FnMut(Amount) -> bool;

/// What a sweep did, or would do.
#[derive(Debug, Default)]
pub(crate) struct Sweep {
    /// Events that are gone.
    pub(crate) removed: Amount,
    /// Bytes that the file system has again.
    pub(crate) bytes_reclaimed: u64,
    /// Homes that were skipped in whole or in part, and why.
    pub(crate) warnings: Vec<String>,
}

impl Homes {
    /// Sweeps every home, and tells of each what went. What is wrong with one is a warning, and the
    /// rest goes on.
    pub(crate) fn sweep_live(
        &self,
        rules: LiveRules,
        now: Timestamp,
        action: Action,
        told: Told<'_>,
    ) -> Result<Sweep, HostError> {
        let mut sweep = Sweep::default();
        let names = self.names()?;
        let strange = names.strange.iter().map(|name| format!("{name:?} is no home of an agent"));
        sweep.warnings.extend(strange);
        let (Some(agents), false) = (self.agents()?, names.known.is_empty()) else {
            return Ok(sweep);
        };
        let place = self.make_sweep()?;
        let Some(_alone) = place.try_lock()? else {
            sweep.warnings.push("another sweep of live events is under way".to_owned());
            return Ok(sweep);
        };
        for name in names.known {
            let mut home = Swept::default();
            let done = sweep_home(&agents, &place, &name, (rules, now, action), &mut home);
            sweep.removed += home.removed;
            sweep.bytes_reclaimed += home.bytes_reclaimed;
            if let Err(reason) = done {
                sweep.warnings.push(format!("live events of {name} skipped: {reason}"));
            }
            if home.removed != Amount::default() && !told(home.removed) {
                break;
            }
        }
        Ok(sweep)
    }
}

#[derive(Debug, Default)]
struct Swept {
    removed: Amount,
    bytes_reclaimed: u64,
}

type Order = (LiveRules, Timestamp, Action);

fn sweep_home(
    agents: &Dir,
    place: &Dir,
    name: &str,
    order: Order,
    swept: &mut Swept,
) -> Result<(), Reason> {
    let words = |error: HostError| error.to_string();
    let Some(home) = agents.child(name).map_err(words)? else {
        return Ok(());
    };
    let Some(state) = home.child("state").map_err(words)? else {
        return Ok(());
    };
    let Some(stat) = state.stat(OsStr::new(FILE)).map_err(words)? else {
        return Ok(());
    };
    check_file(&stat, &state.path().join(FILE)).map_err(words)?;
    await_quiet(&state)?;
    clear(place).map_err(words)?;
    state.link(FILE, place, FILE).map_err(words)?;
    let done = sweep_file(place, &state, order, swept);
    clear(place).map_err(words)?;
    done
}

fn clear(place: &Dir) -> Result<(), HostError> {
    LEFT.into_iter().try_for_each(|name| place.remove_file(name))
}

/// Waits for the end of a transaction that is under way. One that was left half done is its
/// writer's to undo.
fn await_quiet(state: &Dir) -> Result<(), Reason> {
    for _ in 0..QUIET_TRIES {
        if is_quiet(state)? {
            return Ok(());
        }
        thread::sleep(QUIET_PAUSE);
    }
    Err("a write to it was left half done, or does not end".to_owned())
}

/// Whether no transaction is under way or was left half done.
fn is_quiet(state: &Dir) -> Result<bool, Reason> {
    let size = |name: &str| -> Result<u64, HostError> {
        let Some(stat) = state.stat(OsStr::new(name))? else {
            return Ok(0);
        };
        check_file(&stat, &state.path().join(name))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    };
    let words = |error: HostError| error.to_string();
    if size(LOG).map_err(words)? > 0 {
        return Err(LOGGED.to_owned());
    }
    Ok(size(JOURNAL).map_err(words)? == 0)
}

/// Sweeps the file under its second name.
fn sweep_file(place: &Dir, state: &Dir, order: Order, swept: &mut Swept) -> Result<(), Reason> {
    let path = place.path().join(FILE);
    let stat = place.stat(OsStr::new(FILE)).map_err(|error| error.to_string())?;
    let stat = stat.ok_or("it went away")?;
    check_file(&stat, &state.path().join(FILE)).map_err(|error| error.to_string())?;
    if stat.st_nlink != 2 {
        return Err(format!("it has {} names, it must have one", stat.st_nlink.saturating_sub(1)));
    }
    let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if bytes > FILE_BYTES_MAX {
        return Err(format!("it has {bytes} bytes, at most {FILE_BYTES_MAX} are looked at"));
    }
    if bytes == 0 {
        // Its writer has made it and not begun.
        return Ok(());
    }
    let mut patience = Patience::new();
    let database = patience.wait(|| Database::open(&path, BUSY))?;
    // Asked before it is set: setting it would turn a write-ahead log into none.
    let mode: String = patience.wait(|| {
        database.hurry();
        let mode = database.connection.query_row("PRAGMA journal_mode", [], |row| row.get(0));
        mode.map_err(reason)
    })?;
    if mode == "wal" {
        return Err(LOGGED.to_owned());
    }
    let settings = "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF";
    patience.wait(|| database.connection.execute_batch(settings).map_err(reason))?;
    patience.wait(|| {
        database.hurry();
        database.check()
    })?;
    let (rules, now, action) = order;
    let before = rules.max_age_ms.map(|ms| now.minus_ms(i64::try_from(ms).unwrap_or(i64::MAX)));
    let before = before.map(Timestamp::unix_ms);
    let mut pass = Pass { database, state, rules, before, patience, kept: 0, swept };
    pass.run(action)?;
    match action {
        Action::Plan => Ok(()),
        Action::Remove => pass.reclaim(),
    }
}

/// How much longer a writer is waited for.
struct Patience {
    left: Duration,
}

impl Patience {
    fn new() -> Self {
        Self { left: PATIENCE_IN_ALL }
    }

    /// Does `work` until nobody is in its way.
    fn wait<T>(&mut self, mut work: impl FnMut() -> Result<T, Reason>) -> Result<T, Reason> {
        let began = Instant::now();
        let most = self.left.min(PATIENCE);
        let mut slow = 0;
        loop {
            match work() {
                Err(reason) if reason == LOCKED && began.elapsed() < most => {
                    thread::sleep(PATIENCE_PAUSE);
                }
                Err(reason) if reason == SLOW && slow + 1 < SLOW_TRIES => slow += 1,
                done => {
                    self.left = self.left.saturating_sub(began.elapsed());
                    return done;
                }
            }
        }
    }
}

/// One look through a file, newest first.
struct Pass<'a> {
    database: Database,
    state: &'a Dir,
    rules: LiveRules,
    /// What is older goes.
    before: Option<i64>,
    patience: Patience,
    /// How many stay so far.
    kept: u64,
    swept: &'a mut Swept,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    id: i64,
    /// Absent if it is no time; then only the number decides.
    at: Option<i64>,
    bytes: u64,
}

/// The size of a value is read from its head, however long it is.
const NEWEST: &str = "SELECT rowid, iif(typeof(ts) = 'integer', ts, NULL),
        coalesce(octet_length(payload_json), 0),
        coalesce(octet_length(kind), 0) + coalesce(octet_length(ts), 0)
    FROM events WHERE rowid <= ?1 ORDER BY rowid DESC LIMIT ?2";

impl Pass<'_> {
    fn run(&mut self, action: Action) -> Result<(), Reason> {
        let mut from = i64::MAX;
        for _ in 0..ROWS_MAX / ROWS_AT_ONCE {
            let rows = self.rows(from)?;
            let Some(next) = rows.last().and_then(|row| row.id.checked_sub(1)) else {
                return Ok(());
            };
            from = next;
            let old: Vec<Row> = rows.into_iter().filter(|row| !self.stays(row)).collect();
            self.remove(&old, action)?;
        }
        Err(format!("it holds more than {ROWS_MAX} events; the rest is for the next time"))
    }

    fn stays(&mut self, row: &Row) -> bool {
        if row.at.zip(self.before).is_some_and(|(at, before)| at < before) {
            return false;
        }
        self.kept += 1;
        self.rules.newest.is_none_or(|newest| self.kept <= newest)
    }

    fn rows(&mut self, from: i64) -> Result<Vec<Row>, Reason> {
        let database = &self.database;
        self.patience.wait(|| {
            database.hurry();
            read_rows(database, from)
        })
    }

    fn remove(&mut self, old: &[Row], action: Action) -> Result<(), Reason> {
        let mut rest = old;
        while !rest.is_empty() {
            let mut bytes = 0_u64;
            let fits = rest.iter().take_while(|row| {
                bytes = bytes.saturating_add(row.bytes);
                bytes <= BYTES_AT_ONCE
            });
            let (batch, later) = rest.split_at(fits.count().max(1));
            if action == Action::Remove {
                self.delete_patiently(batch)?;
            }
            let bytes = batch.iter().map(|row| row.bytes).sum();
            self.swept.removed += Amount { rows: batch.len() as u64, bytes };
            rest = later;
        }
        Ok(())
    }

    fn delete_patiently(&mut self, batch: &[Row]) -> Result<(), Reason> {
        for _ in 1..SLOW_TRIES {
            match self.alone(|pass| pass.delete(batch)) {
                Err(reason) if reason == SLOW => {}
                done => return done,
            }
        }
        self.alone(|pass| pass.delete(batch))
    }

    fn delete(&self, batch: &[Row]) -> Result<(), Reason> {
        let delete = || -> rusqlite::Result<()> {
            let text = "DELETE FROM events WHERE rowid = ?1";
            let mut statement = self.database.connection.prepare_cached(text)?;
            batch.iter().try_for_each(|row| statement.execute([row.id]).map(drop))
        };
        delete().map_err(reason)
    }

    /// Does `work` in a transaction, while no writer is in one.
    fn alone<T>(&mut self, work: impl FnOnce(&Self) -> Result<T, Reason>) -> Result<T, Reason> {
        let connection = &self.database.connection;
        self.patience.wait(|| connection.execute_batch("BEGIN IMMEDIATE").map_err(reason))?;
        self.database.hurry();
        let began = Instant::now();
        let quiet = is_quiet(self.state).and_then(|quiet| match quiet {
            true => Ok(()),
            false => Err("a write to it was left half done".to_owned()),
        });
        let done = quiet.and_then(|()| work(self));
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.database.connection.execute_batch(end).map_err(reason);
        if done.is_ok() && ended.is_err() {
            // A commit that somebody's reading kept from happening leaves the lock held.
            self.database.connection.execute_batch("ROLLBACK").map_err(reason)?;
        }
        thread::sleep((began.elapsed() * REST_FACTOR).clamp(REST.0, REST.1));
        done.and_then(|value| ended.map(|()| value))
    }

    /// Gives back the pages that are free, if the file was made so that they can be.
    fn reclaim(&mut self) -> Result<(), Reason> {
        const INCREMENTAL: i64 = 2;
        if self.number("PRAGMA auto_vacuum")? != INCREMENTAL {
            return Ok(());
        }
        let page = self.number("PRAGMA page_size")?;
        loop {
            let free = self.number("PRAGMA freelist_count")?;
            if free == 0 {
                return Ok(());
            }
            self.alone(Self::give_back)?;
            let given = free - self.number("PRAGMA freelist_count")?;
            if given <= 0 {
                return Ok(());
            }
            self.swept.bytes_reclaimed += u64::try_from(given * page).unwrap_or(0);
        }
    }

    fn give_back(&self) -> Result<(), Reason> {
        let give = || -> rusqlite::Result<()> {
            let text = format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})");
            let mut statement = self.database.connection.prepare(&text)?;
            let mut rows = statement.query([])?;
            // It gives one page back for each row.
            while rows.next()?.is_some() {}
            Ok(())
        };
        give().map_err(reason)
    }

    fn number(&mut self, text: &str) -> Result<i64, Reason> {
        let database = &self.database;
        self.patience.wait(|| {
            database.hurry();
            database.connection.query_row(text, [], |row| row.get(0)).map_err(reason)
        })
    }
}

fn read_rows(database: &Database, from: i64) -> Result<Vec<Row>, Reason> {
    let read = || -> rusqlite::Result<Vec<(Row, u64)>> {
        let mut statement = database.connection.prepare_cached(NEWEST)?;
        let size = |bytes: i64| u64::try_from(bytes).unwrap_or(0);
        let rows = statement.query_map([from, ROWS_AT_ONCE], |row| {
            let bytes = size(row.get(2)?);
            let whole = bytes.saturating_add(size(row.get(3)?));
            Ok((Row { id: row.get(0)?, at: row.get(1)?, bytes }, whole))
        })?;
        rows.collect()
    };
    let rows = read().map_err(reason)?;
    // Removing it would take as long as reading it does.
    match rows.iter().find(|(_, whole)| *whole > ROW_BYTES_MAX) {
        Some((row, whole)) => Err(format!("event {} is too large: {whole} bytes", row.id)),
        None => Ok(rows.into_iter().map(|(row, _)| row).collect()),
    }
}
