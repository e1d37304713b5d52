//! The bus: tells what an agent does to whoever listens, and keeps it.
//!
//! Telling never depends on keeping. A file that cannot be opened or written costs the keeping: what
//! was not kept is counted, the file is tried again now and then, and the status says so. A damaged
//! file is set aside, as the end of the machine's power may damage one.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use ah_model::{RawJson, Timestamp};
use ah_store::{Clock, SystemClock};
use rusqlite::params;
use serde::Serialize;

use super::database::{DAMAGED, Database, Reason, reason};

/// Events that wait for one listener; older ones give way.
const QUEUE_MAX: usize = 1_024;
/// How long a write waits for the sweep or another writer.
const BUSY: Duration = Duration::from_millis(500);
const BUSY_PAUSE: Duration = Duration::from_millis(1);
/// What the name of a file gets that was set aside; there is one at most.
const ASIDE: &str = ".damaged";
/// Longest payload that is kept.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// Longest word for a kind that is kept.
const KIND_BYTES_MAX: usize = 64;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveEvent {
    /// Its number in the file; absent if it was not kept.
    pub id: Option<i64>,
    /// When.
    pub at: Timestamp,
    /// What sort of thing.
    pub kind: String,
    /// What exactly.
    pub payload: RawJson,
}

/// How the bus keeps events.
#[derive(Debug, Clone, Copy)]
pub struct BusOptions {
    /// Most bytes of the file; what would go beyond is lost until the host has swept.
    pub bytes_max: u64,
    /// A file that could not be used is tried again after so long.
    pub retry_after: Duration,
}

impl Default for BusOptions {
    fn default() -> Self {
        Self { bytes_max: 512 * 1024 * 1024, retry_after: Duration::from_secs(5) }
    }
}

/// Whether events are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BusStatus {
    /// Whether the last one was.
    pub storing: bool,
    /// How many were.
    pub stored: u64,
    /// How many were not.
    pub lost: u64,
    /// The last thing that kept one from being kept.
    pub problem: Option<String>,
}

/// What a listener gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The next event.
    Event(Arc<LiveEvent>),
    /// It was too slow for so many.
    Missed(u64),
}

/// A bus; its clones are the same one.
#[derive(Clone)]
pub struct Bus {
    shared: Arc<Shared>,
}

impl fmt::Debug for Bus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bus").field("path", &self.shared.path).finish_non_exhaustive()
    }
}

struct Shared {
    path: PathBuf,
    options: BusOptions,
    clock: Arc<dyn Clock>,
    keeper: Mutex<Keeper>,
    listeners: Mutex<Vec<Weak<Queue>>>,
}

struct Keeper {
    database: Option<Database>,
    /// Not before that is the file tried again.
    again: Option<Instant>,
    status: BusStatus,
}

impl Bus {
    /// A bus that keeps events in the file at `path`.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with(path, BusOptions::default(), Arc::new(SystemClock))
    }

    /// A bus with other options and another clock.
    pub fn with(path: impl Into<PathBuf>, options: BusOptions, clock: Arc<dyn Clock>) -> Self {
        let status = BusStatus { storing: false, stored: 0, lost: 0, problem: None };
        let mut keeper = Keeper { database: None, again: None, status };
        let path = path.into();
        // So that the status says what is to be expected before anything happens.
        keeper.open(&path, &options);
        Self {
            shared: Arc::new(Shared {
                path,
                options,
                clock,
                keeper: Mutex::new(keeper),
                listeners: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Tells everybody who listens, and keeps it if that is possible.
    pub fn publish(&self, kind: &str, payload: RawJson) -> Arc<LiveEvent> {
        let shared = &self.shared;
        let event = LiveEvent { id: None, at: shared.clock.now(), kind: kind.to_owned(), payload };
        // Held until it is told: listeners get events in the order of their numbers.
        let mut keeper = lock(&shared.keeper);
        let id = keeper.keep(&shared.path, &shared.options, &event);
        let event = Arc::new(LiveEvent { id, ..event });
        lock(&shared.listeners).retain(|listener| match listener.upgrade() {
            Some(queue) => {
                queue.push(Arc::clone(&event));
                true
            }
            None => false,
        });
        event
    }

    /// Listens from now on.
    pub fn subscribe(&self) -> Subscription {
        self.subscribe_with(QUEUE_MAX)
    }

    /// Listens from now on, with so many events waiting at most.
    pub fn subscribe_with(&self, queue_max: usize) -> Subscription {
        let queue = Arc::new(Queue {
            most: queue_max.max(1),
            waiting: Mutex::new(Waiting::default()),
            came: Condvar::new(),
        });
        lock(&self.shared.listeners).push(Arc::downgrade(&queue));
        Subscription { queue, bus: Arc::downgrade(&self.shared) }
    }

    /// Whether events are kept.
    pub fn status(&self) -> BusStatus {
        lock(&self.shared.keeper).status.clone()
    }
}

impl Keeper {
    fn keep(&mut self, path: &Path, options: &BusOptions, event: &LiveEvent) -> Option<i64> {
        if let Some(problem) = too_large(event) {
            // The file is as good as before.
            self.status.lost += 1;
            self.status.problem = Some(problem);
            return None;
        }
        if self.database.is_none() && self.again.is_none_or(|again| Instant::now() >= again) {
            self.open(path, options);
        }
        let Some(database) = &self.database else {
            self.status.lost += 1;
            return None;
        };
        match insert(database, event) {
            Ok(id) => {
                self.status.storing = true;
                self.status.stored += 1;
                Some(id)
            }
            Err(problem) => {
                self.status.lost += 1;
                self.fail(problem, path, options);
                None
            }
        }
    }

    fn open(&mut self, path: &Path, options: &BusOptions) {
        match open(path, options) {
            Ok(database) => {
                self.database = Some(database);
                self.again = None;
                self.status.storing = true;
            }
            Err(problem) => self.fail(problem, path, options),
        }
    }

    fn fail(&mut self, problem: Reason, path: &Path, options: &BusOptions) {
        self.database = None;
        let is_gone = problem == DAMAGED && set_aside(path);
        self.again = (!is_gone).then(|| Instant::now() + options.retry_after);
        self.status.storing = false;
        self.status.problem = Some(problem);
    }
}

/// Makes place for a new file.
fn set_aside(path: &Path) -> bool {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    // It belongs to the old file; as a rule there is none.
    let _ = std::fs::remove_file(beside("-journal"));
    std::fs::rename(path, beside(ASIDE)).is_ok()
}

fn too_large(event: &LiveEvent) -> Option<Reason> {
    let bytes = event.payload.as_str().len();
    let fits = bytes <= PAYLOAD_BYTES_MAX && event.kind.len() <= KIND_BYTES_MAX;
    (!fits).then(|| format!("an event of {bytes} bytes, at most {PAYLOAD_BYTES_MAX} are kept"))
}

const INSERT: &str = "INSERT INTO events (ts, kind, payload_json) VALUES (?1, ?2, ?3)";

fn insert(database: &Database, event: &LiveEvent) -> Result<i64, Reason> {
    let connection = &database.connection;
    let insert = || -> rusqlite::Result<i64> {
        let mut statement = connection.prepare_cached(INSERT)?;
        statement.insert(params![event.at.unix_ms(), event.kind, event.payload.as_str()])
    };
    insert().map_err(reason)
}

/// Opens the file, made where there is none: private, ours, plain and no link.
fn open(path: &Path, options: &BusOptions) -> Result<Database, Reason> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let path =
        folder.map_err(|error| error.to_string())?.join(path.file_name().unwrap_or(OsStr::new("")));
    let mut create = std::fs::OpenOptions::new();
    match create.write(true).create_new(true).mode(0o600).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.to_string()),
    }
    let metadata = path.symlink_metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("it is no plain file".to_owned());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    let mut database = Database::open(&path, BUSY)?;
    database.connection.busy_handler(Some(wait_again)).map_err(reason)?;
    database.prepare(options.bytes_max.div_ceil(PAGE_BYTES))?;
    database.check()?;
    Ok(database)
}

/// Looks often: the sweep takes many short turns, and SQLite's own waiting grows to longer ones.
fn wait_again(tries: i32) -> bool {
    std::thread::sleep(BUSY_PAUSE);
    Duration::from_millis(u64::try_from(tries).unwrap_or(0)) < BUSY
}

/// What a page of a new file holds.
const PAGE_BYTES: u64 = 4_096;

/// The events that wait for one listener.
struct Queue {
    most: usize,
    waiting: Mutex<Waiting>,
    came: Condvar,
}

#[derive(Default)]
struct Waiting {
    events: VecDeque<Arc<LiveEvent>>,
    missed: u64,
}

impl Queue {
    fn push(&self, event: Arc<LiveEvent>) {
        let mut waiting = lock(&self.waiting);
        if waiting.events.len() >= self.most {
            waiting.events.pop_front();
            waiting.missed += 1;
        }
        waiting.events.push_back(event);
        self.came.notify_all();
    }
}

impl Waiting {
    fn next(&mut self) -> Option<Delivery> {
        match std::mem::take(&mut self.missed) {
            0 => self.events.pop_front().map(Delivery::Event),
            missed => Some(Delivery::Missed(missed)),
        }
    }
}

/// What somebody listens with. Dropping it ends the listening.
pub struct Subscription {
    queue: Arc<Queue>,
    bus: Weak<Shared>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subscription")
    }
}

impl Subscription {
    /// The next, if it is there or comes in time.
    pub fn next(&self, within: Duration) -> Option<Delivery> {
        let mut waiting = lock(&self.queue.waiting);
        let until = Instant::now() + within;
        loop {
            if let Some(delivery) = waiting.next() {
                return Some(delivery);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_over() {
                return None;
            }
            let waited = self.queue.came.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the bus is gone, so that nothing more comes.
    pub fn is_over(&self) -> bool {
        self.bus.strong_count() == 0
    }
}

impl Drop for Shared {
    /// Nobody waits for what cannot come.
    fn drop(&mut self) {
        for queue in lock(&self.listeners).iter().filter_map(Weak::upgrade) {
            let _waiting = lock(&queue.waiting);
            queue.came.notify_all();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
