//! Group commit: concurrent writes of one process share a transaction and a sync.
//!
//! A lone writer does its own work on its own thread and pays for no queue. When the process's
//! writer is taken, or another process holds the queue lock, the write goes to a thread that takes
//! all waiting writes as one batch. A caller is answered after its own commit is durable.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ah_store::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::Callers;
use super::bell::Bell;
use super::error;
use super::pool::Pool;
use super::queue_lock::{QueueLock, Turn};
use super::tx::SqliteTx;
use super::wal::Wal;
use crate::Job;
use crate::change;
use crate::hub::Hub;
use crate::names::{self, Names};

/// What an error says was being done to the database.
const PURPOSE: &str = "write to";
/// Most writes of one batch.
const BATCH_MAX: usize = 512;
/// Longest wait for callers to come back with their next write.
const GATHER_MAX: Duration = Duration::from_millis(1);
/// Most batches in a row that are handed over: who waits for the queue lock in another process is
/// sure to get it only while this one syncs.
const HAND_OVERS_MAX: usize = 8;
/// Longest wait for the threads to end.
const CLOSE_MAX: Duration = Duration::from_millis(200);
/// How often waiting writes are looked at for having waited too long.
const WATCHDOG_STEP: Duration = Duration::from_millis(250);

type Answer = Result<(), StoreError>;

struct Waiting {
    job: Job,
    since: Instant,
    answer: oneshot::Sender<Answer>,
}

/// Writes of one transaction, and what to answer each once it is durable.
struct Batch {
    writes: Vec<Waiting>,
    answers: Vec<Answer>,
}

impl Batch {
    fn answer(self) {
        for (waiting, answer) in self.writes.into_iter().zip(self.answers) {
            // A caller that went away has nobody to tell.
            let _ = waiting.answer.send(answer);
        }
    }
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Written while others waited: on their way to the disk.
    committed: Vec<Batch>,
    /// How many of those are unanswered, also while they are synced.
    unanswered: usize,
    /// How many were handed over since the writer synced one itself.
    handed_over: usize,
    /// Somebody of this process is writing.
    taken: bool,
    threads: Vec<JoinHandle<()>>,
    closed: bool,
}

pub(crate) struct Writer {
    pool: Arc<Pool>,
    lock: QueueLock,
    bell: Bell,
    wal: Wal,
    hub: Hub,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Wakes the thread that syncs.
    more_committed: Condvar,
    /// Wakes the watchdog only, which otherwise looks at its own pace.
    closing: Condvar,
    callers: Callers,
    /// Whoever writes has it.
    names: Mutex<Names>,
}

impl Writer {
    pub(crate) fn new(
        pool: Arc<Pool>,
        lock: QueueLock,
        wal: Wal,
        hub: Hub,
        callers: Callers,
    ) -> Arc<Self> {
        let (queue, closing) = (Mutex::default(), Condvar::new());
        let (changed, more_committed) = (Condvar::new(), Condvar::new());
        let bell = lock.bell();
        let names = Mutex::default();
        Arc::new(Self {
            pool,
            lock,
            bell,
            wal,
            hub,
            queue,
            changed,
            more_committed,
            closing,
            callers,
            names,
        })
    }

    /// Runs `job` in a transaction and returns once it is durable.
    pub(crate) async fn write(self: &Arc<Self>, job: Job) -> Answer {
        let job = match self.write_alone(job)? {
            Ok(answer) => return answer,
            Err(job) => job,
        };
        let (answer, answered) = oneshot::channel();
        let is_idle = {
            let mut queue = self.queue();
            // Threads first: a write that is answered with their failure must not be done later.
            self.start_threads(&mut queue)?;
            queue.waiting.push_back(Waiting { job, since: Instant::now(), answer });
            !queue.taken
        };
        // Who writes looks for what waits before it goes.
        if is_idle {
            self.changed.notify_one();
        }
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::backend("write", "the writer has stopped")))
    }

    /// Ends the threads; waiting writes are refused. Joined, so that the connections are closed and
    /// the WAL is tidied; a thread that another process keeps waiting is left behind.
    pub(crate) fn close(&self) {
        let mut queue = self.queue();
        queue.closed = true;
        queue.waiting.clear();
        let threads = std::mem::take(&mut queue.threads);
        drop(queue);
        self.changed.notify_all();
        self.more_committed.notify_all();
        self.closing.notify_all();
        let start = Instant::now();
        for thread in threads {
            while !thread.is_finished() && start.elapsed() < CLOSE_MAX {
                std::thread::sleep(Duration::from_micros(100));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        }
    }

    /// Writes on the caller's thread if nobody else writes, else gives the job back.
    fn write_alone(&self, mut job: Job) -> Result<Result<Answer, Job>, StoreError> {
        {
            let mut queue = self.queue();
            if self.callers == Callers::Tasks || queue.taken || !queue.waiting.is_empty() {
                return Ok(Err(job));
            }
            queue.taken = true;
        }
        let _released = Release(self);
        let Some(turn) = self.lock.try_take()? else {
            return Ok(Err(job));
        };
        let answer = self.commit(turn, |connection, path, names| {
            let mut tx = SqliteTx::writing(connection, path, names);
            job(&mut tx)?;
            change::write(&mut tx)?;
            Names::settle(&mut tx)
        });
        Ok(Ok(answer.and_then(|()| self.make_durable())))
    }

    /// One transaction around `work`, seen by all but not yet synced. The queue lock is given up
    /// before the sync, so that other processes commit meanwhile.
    fn commit(
        &self,
        turn: Turn<'_>,
        work: impl FnOnce(&Connection, &Path, &mut Names) -> Answer,
    ) -> Answer {
        let path = self.pool.path.as_path();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        self.pool.with(|connection| {
            let tx = SqliteTx::new(connection, path);
            tx.control("BEGIN IMMEDIATE", PURPOSE)?;
            names.begin();
            let done =
                work(connection, path, &mut names).and_then(|()| tx.control("COMMIT", PURPOSE));
            if done.is_err() {
                names.forget();
                if !connection.is_autocommit() {
                    tx.control("ROLLBACK", PURPOSE)?;
                }
            }
            done
        })?;
        drop(names);
        drop(turn);
        self.bell.ring();
        Ok(())
    }

    /// Syncs every commit before it, and wakes who waits for one.
    fn make_durable(&self) -> Answer {
        self.wal.sync(|| self.checkpoint())?;
        self.hub.wake();
        Ok(())
    }

    /// Copies the whole WAL into the database, synced, and empties it.
    fn checkpoint(&self) -> Answer {
        let path = self.pool.path.as_path();
        let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = self.pool.with(|connection| {
            let done = connection.query_row(sql, [], |row| row.get(0));
            done.map_err(|error| error::map(error, path, PURPOSE))
        })?;
        match busy {
            0 => Ok(()),
            _ => Err(StoreError::Busy { retry_after: self.pool.busy_timeout }),
        }
    }

    /// Whether the WAL is longer than what a process may leave behind.
    pub(crate) fn is_wal_long(&self) -> bool {
        self.wal.is_long()
    }

    /// The bell that its commits ring.
    pub(crate) fn bell(&self) -> &Bell {
        &self.bell
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, queue: MutexGuard<'a, Queue>) -> MutexGuard<'a, Queue> {
        self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner)
    }

    fn start_threads(self: &Arc<Self>, queue: &mut Queue) -> Result<(), StoreError> {
        if !queue.threads.is_empty() {
            return Ok(());
        }
        queue.threads.push(self.start_thread("ah-writer", Self::serve)?);
        queue.threads.push(self.start_thread("ah-sync", Self::sync_committed)?);
        queue.threads.push(self.start_thread("ah-watchdog", Self::refuse_late)?);
        Ok(())
    }

    fn start_thread(
        self: &Arc<Self>,
        name: &str,
        body: fn(&Self),
    ) -> Result<JoinHandle<()>, StoreError> {
        let writer = Arc::clone(self);
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || body(&writer))
            .map_err(|error| StoreError::backend("start the writer thread", error))
    }

    /// The writer thread: batch after batch until closed.
    fn serve(&self) {
        loop {
            {
                let mut queue = self.queue();
                while !queue.closed && (queue.taken || queue.waiting.is_empty()) {
                    queue = self.wait(queue);
                }
                if queue.closed {
                    return;
                }
                queue.taken = true;
            }
            let _released = Release(self);
            while self.write_next_batch() {}
        }
    }

    /// Writes what waits; whether more writes are to be expected at once.
    fn write_next_batch(&self) -> bool {
        let start = Instant::now();
        let written = match self.lock.take() {
            Ok(turn) => self.write_batch(turn),
            Err(error) => {
                refuse(self.take_batch().0, &error);
                Written::default()
            }
        };
        // One write alone shares nothing: its caller does the next one itself.
        written.writes > 1 && self.gather(written.callers, start.elapsed())
    }

    /// Lets the callers just answered come back, so that their next writes share a sync again:
    /// without it one of them would write alone while the others wait. Never waits longer than the
    /// batch before took.
    fn gather(&self, expected: usize, longest: Duration) -> bool {
        let start = Instant::now();
        loop {
            let waiting = self.queue().waiting.len();
            if waiting >= expected || start.elapsed() >= longest.min(GATHER_MAX) {
                return waiting > 0;
            }
            std::thread::yield_now();
        }
    }

    /// What waits, and how many callers there are with those whose writes are being synced.
    fn take_batch(&self) -> (Vec<Waiting>, usize) {
        let mut queue = self.queue();
        let count = queue.waiting.len().min(BATCH_MAX);
        let callers = queue.waiting.len() + queue.unanswered;
        (queue.waiting.drain(..count).collect(), callers)
    }

    /// Runs everything that waits in one transaction. A write that is refused is undone alone.
    fn write_batch(&self, turn: Turn<'_>) -> Written {
        // Taken after the lock was had: writes that came meanwhile ride along.
        let (mut batch, callers) = self.take_batch();
        let written = Written { writes: batch.len(), callers };
        if batch.is_empty() {
            return written;
        }
        let mut answers = Vec::new();
        let done = self.commit(turn, |connection, path, names| {
            answers = run_batch(connection, path, names, &mut batch)?;
            Ok(())
        });
        match done {
            Ok(()) => self.settle(Batch { writes: batch, answers }),
            Err(error) => refuse(batch, &error),
        }
        written
    }

    /// Sees to the sync of a batch: by the other thread if there is more to write meanwhile.
    fn settle(&self, batch: Batch) {
        {
            let mut queue = self.queue();
            let more = !queue.waiting.is_empty() && !queue.closed;
            if more && queue.handed_over < HAND_OVERS_MAX {
                queue.handed_over += 1;
                queue.unanswered += batch.writes.len();
                queue.committed.push(batch);
                self.more_committed.notify_one();
                return;
            }
            queue.handed_over = 0;
        }
        match self.make_durable() {
            Ok(()) => batch.answer(),
            Err(error) => refuse(batch.writes, &error),
        }
    }

    /// The thread that syncs what the writer handed over, all of it at once.
    fn sync_committed(&self) {
        loop {
            let batches = {
                let mut queue = self.queue();
                while queue.committed.is_empty() {
                    if queue.closed {
                        return;
                    }
                    queue = self.more_committed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                std::mem::take(&mut queue.committed)
            };
            let count: usize = batches.iter().map(|batch| batch.writes.len()).sum();
            let done = self.make_durable();
            self.queue().unanswered -= count;
            for batch in batches {
                match &done {
                    Ok(()) => batch.answer(),
                    Err(error) => refuse(batch.writes, error),
                }
            }
        }
    }

    /// The watchdog thread: a write that waited too long is refused as busy.
    fn refuse_late(&self) {
        let limit = self.pool.busy_timeout;
        let mut queue = self.queue();
        while !queue.closed {
            let waited = self.closing.wait_timeout(queue, WATCHDOG_STEP);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
            while queue.waiting.front().is_some_and(|first| first.since.elapsed() >= limit) {
                if let Some(late) = queue.waiting.pop_front() {
                    let _ = late.answer.send(Err(StoreError::Busy { retry_after: limit }));
                }
            }
        }
    }
}

/// What a batch was.
#[derive(Default)]
struct Written {
    writes: usize,
    /// Those who wrote, and those whose writes before it were not answered yet.
    callers: usize,
}

/// Lets the next writer of the process in when dropped.
struct Release<'a>(&'a Writer);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.queue();
        queue.taken = false;
        if !queue.waiting.is_empty() {
            self.0.changed.notify_one();
        }
    }
}

/// Runs the jobs of a batch. What is refused has nearly always changed nothing; where it did, all is
/// undone and done again with every job apart.
fn run_batch(
    connection: &Connection,
    path: &Path,
    names: &mut Names,
    batch: &mut [Waiting],
) -> Result<Vec<Answer>, StoreError> {
    if let Some(answers) = run_together(&mut SqliteTx::writing(connection, path, names), batch)? {
        return Ok(answers);
    }
    names.forget();
    let tx = SqliteTx::new(connection, path);
    tx.control("ROLLBACK", PURPOSE)?;
    tx.control("BEGIN IMMEDIATE", PURPOSE)?;
    // What one that is undone found out must not be believed: each has a transaction's memory of its
    // own.
    let mut apart = |waiting: &mut Waiting| {
        run_apart(&mut SqliteTx::writing(connection, path, names), &mut waiting.job)
    };
    let answers = batch.iter_mut().map(&mut apart).collect::<Result<_, _>>()?;
    names.forget();
    Ok(answers)
}

/// Runs one job after another, without savepoints, for each of which SQLite would copy every page
/// that a job changes. Nothing if one failed that had changed something.
fn run_together(
    tx: &mut SqliteTx<'_>,
    batch: &mut [Waiting],
) -> Result<Option<Vec<Answer>>, StoreError> {
    let connection = tx.connection();
    let mut answers = Vec::with_capacity(batch.len());
    for waiting in batch {
        let before = connection.total_changes();
        let noted = change::waiting(tx);
        match (waiting.job)(tx) {
            Err(error) if connection.is_autocommit() => return Err(error),
            Err(_) if connection.total_changes() != before => return Ok(None),
            Err(error) => {
                change::take_back(tx, noted);
                answers.push(Err(error));
            }
            Ok(()) => answers.push(Ok(())),
        }
    }
    change::write(tx)?;
    Names::settle(tx)?;
    Ok(Some(answers))
}

/// Runs one job of a batch in a savepoint. The outer error ends the whole batch: the engine has
/// rolled everything back itself, as it does when the disk is full.
fn run_apart(tx: &mut SqliteTx<'_>, job: &mut Job) -> Result<Answer, StoreError> {
    tx.control("SAVEPOINT job", PURPOSE)?;
    let answer = job(tx).and_then(|()| change::write(tx));
    match answer {
        Err(error) if tx.connection().is_autocommit() => return Err(error),
        Err(_) => {
            names::forget(tx);
            tx.control("ROLLBACK TO job", PURPOSE)?;
        }
        Ok(()) => {}
    }
    tx.control("RELEASE job", PURPOSE)?;
    Ok(answer)
}

/// Gives every caller its own copy of what ended the batch.
fn refuse(batch: Vec<Waiting>, error: &StoreError) {
    for waiting in batch {
        let copy = match error {
            StoreError::Busy { retry_after } => StoreError::Busy { retry_after: *retry_after },
            StoreError::Corrupt { what, source } => {
                StoreError::corrupt(what.clone(), source.to_string())
            }
            StoreError::Backend { operation, source } => {
                StoreError::backend(operation.clone(), source.to_string())
            }
            other => StoreError::backend("write", other.to_string()),
        };
        let _ = waiting.answer.send(Err(copy));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::super::Durability;
    use super::super::open::{Missing, open};
    use super::*;
    use crate::tx::Tx;

    fn waiting(job: impl FnMut(&mut dyn Tx) -> Answer + Send + 'static) -> Waiting {
        let (answer, _) = oneshot::channel();
        Waiting { job: Box::new(job), since: Instant::now(), answer }
    }

    /// A job that adds a row and then does as told.
    fn adds(number: u64, then: fn() -> Answer) -> Waiting {
        waiting(move |tx| {
            tx.execute("INSERT INTO t (number) VALUES ($1)", &[number.into()])?;
            then()
        })
    }

    fn refuses() -> Answer {
        Err(StoreError::backend("test", "refused"))
    }

    /// Which jobs of a batch succeed, and the rows afterwards.
    fn outcome(mut batch: Vec<Waiting>) -> (Vec<bool>, Vec<i64>) {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (number INTEGER PRIMARY KEY); BEGIN").unwrap();
        let answers =
            run_batch(&connection, Path::new("t.db"), &mut Names::default(), &mut batch).unwrap();
        connection.execute_batch("COMMIT").unwrap();
        let mut rows = connection.prepare("SELECT number FROM t").unwrap();
        let rows = rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
        (answers.iter().map(Result::is_ok).collect(), rows)
    }

    #[test]
    fn a_job_that_fails_in_mid_write_is_undone_alone() {
        let done = || Ok(());
        let batch = vec![adds(1, done), adds(2, refuses), adds(3, done), adds(4, refuses)];
        assert_eq!(outcome(batch), (vec![true, false, true, false], vec![1, 3]));
    }

    #[test]
    fn a_statement_that_breaks_a_rule_undoes_its_job_alone() {
        let done = || Ok(());
        let batch = vec![adds(1, done), adds(1, done), adds(2, done)];
        assert_eq!(outcome(batch), (vec![true, false, true], vec![1, 2]));
    }

    #[test]
    fn a_job_that_is_refused_before_it_writes_costs_no_second_run() {
        let runs = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let once = waiting(move |_| {
            counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        });
        let batch = vec![once, waiting(|_| refuses()), adds(1, || Ok(()))];
        assert_eq!(outcome(batch), (vec![true, false, true], vec![1]));
        assert_eq!(runs.load(std::sync::atomic::Ordering::Relaxed), 1);
    }

    /// A writer of a database with one empty table, whose commits `wal` makes durable.
    fn writer(directory: &Path, wal: Wal) -> Arc<Writer> {
        let path = directory.join("t.db");
        let connection = open(&path, Missing::Create, Duration::from_secs(10)).unwrap();
        let schema = "PRAGMA journal_mode = WAL; CREATE TABLE t (number INTEGER PRIMARY KEY);
                      CREATE TABLE changes (id INTEGER PRIMARY KEY);";
        connection.execute_batch(schema).unwrap();
        let lock = QueueLock::open(&path).unwrap();
        let pool = Arc::new(Pool::new(path, Duration::from_secs(10), connection));
        Writer::new(pool, lock, wal, Hub::new(), Callers::Tasks)
    }

    fn rows(writer: &Writer) -> i64 {
        let count = "SELECT count(*) FROM t";
        let count = |connection: &Connection| {
            Ok(connection.query_row(count, [], |row| row.get(0)).unwrap())
        };
        writer.pool.with(count).unwrap()
    }

    fn until(holds: impl Fn() -> bool) {
        while !holds() {
            std::thread::yield_now();
        }
    }

    /// Two writes, the second of which comes while the first is done; `meanwhile` runs once both
    /// can be seen. What each was answered, and whether before `meanwhile`.
    fn one_after_another(writer: &Arc<Writer>, meanwhile: impl FnOnce()) -> [(bool, bool); 2] {
        let released = AtomicBool::new(false);
        let write = |number: u64, then: Box<dyn Fn() + Send>| {
            let job = move |tx: &mut dyn Tx| {
                then();
                tx.execute("INSERT INTO t (number) VALUES ($1)", &[number.into()]).map(drop)
            };
            let answer = ah_store::block_on(writer.write(Box::new(job)));
            (answer.is_ok(), !released.load(Ordering::SeqCst))
        };
        let (begun, other) = (Arc::new(AtomicBool::new(false)), Arc::clone(writer));
        let begins = Arc::clone(&begun);
        std::thread::scope(|scope| {
            let first = move || {
                begins.store(true, Ordering::SeqCst);
                until(|| !other.queue().waiting.is_empty());
            };
            let first = scope.spawn(|| write(1, Box::new(first)));
            until(|| begun.load(Ordering::SeqCst));
            let second = scope.spawn(|| write(2, Box::new(|| ())));
            until(|| rows(writer) == 2);
            released.store(true, Ordering::SeqCst);
            meanwhile();
            [first.join().unwrap(), second.join().unwrap()]
        })
    }

    #[test]
    fn what_comes_while_a_batch_is_synced_is_written_meanwhile_and_nothing_is_answered_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.db");
        let writer = writer(directory.path(), Wal::new(&path, Durability::Full));
        let disk = writer.wal.hold();
        assert_eq!(one_after_another(&writer, || drop(disk)), [(true, false), (true, false)]);
        writer.close();
    }

    #[test]
    fn of_two_batches_one_is_refused_by_a_failed_sync_and_the_other_waits_for_a_checkpoint() {
        let directory = tempfile::tempdir().unwrap();
        // There is no WAL of that name, so it cannot be synced.
        let wal = Wal::new(&directory.path().join("other.db"), Durability::Full);
        let writer = writer(directory.path(), wal);
        let disk = writer.wal.hold();
        let mut answered = one_after_another(&writer, || drop(disk));
        answered.sort_unstable();
        assert_eq!(answered, [(false, false), (true, false)]);
        let wal = std::fs::metadata(directory.path().join("t.db-wal")).unwrap().len();
        assert_eq!(wal, 0, "copied to the database and emptied");
        writer.close();
    }
}
