//! Connections, each driven by its own thread, fed from one queue.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ah_store::StoreError;
use postgres::{Client, IsolationLevel};
use tokio::sync::oneshot;

use super::tx::{PostgresTx, Statements};
use super::{Address, error};
use crate::Job;
use crate::hub::Hub;

/// Most connections of one process.
const CONNECTIONS_MAX: usize = 8;
/// How often work that lost a race is done again.
const ATTEMPTS_MAX: u32 = 20;
/// Commits are announced to other processes at least this often under constant load.
const ANNOUNCE_EVERY: Duration = Duration::from_millis(20);

/// What a transaction must see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// One state of the database throughout.
    Read,
    /// The newest committed rows, locked one by one as they are changed.
    Write,
}

struct Waiting {
    job: Job,
    isolation: Isolation,
    answer: oneshot::Sender<Result<(), StoreError>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    idle: usize,
    closed: bool,
}

struct Shared {
    address: Address,
    hub: Hub,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// A commit has not been announced to other processes.
    unannounced: AtomicBool,
}

pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Connected and migrated by the opener; the first thread takes it.
    first: Mutex<Option<Client>>,
}

impl Pool {
    pub(crate) fn new(address: Address, first: Client, hub: Hub) -> Self {
        let (queue, changed) = (Mutex::default(), Condvar::new());
        let unannounced = AtomicBool::new(false);
        let shared = Arc::new(Shared { address, hub, queue, changed, unannounced });
        Self { shared, threads: Mutex::default(), first: Mutex::new(Some(first)) }
    }

    pub(crate) async fn run(&self, job: Job, isolation: Isolation) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        {
            let mut queue = self.shared.queue();
            // The thread first: a write that is answered with its failure must not be done later.
            if queue.waiting.len() >= queue.idle {
                self.add_thread()?;
            }
            queue.waiting.push_back(Waiting { job, isolation, answer });
        }
        self.shared.changed.notify_one();
        answered
            .await
            .unwrap_or_else(|_| Err(StoreError::backend("reach the database", "it was closed")))
    }

    fn add_thread(&self) -> Result<(), StoreError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if threads.len() >= CONNECTIONS_MAX {
            return Ok(());
        }
        let client = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("ah-postgres".into())
            .spawn(move || Worker { shared, client, statements: Statements::new() }.serve())
            .map_err(|error| StoreError::backend("start a connection's thread", error))?;
        threads.push(thread);
        Ok(())
    }
}

impl Drop for Pool {
    /// Waits for work under way, so that what was committed is also announced.
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.changed.notify_all();
        let threads = self.threads.get_mut().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next work, or nothing when there is none right now.
    fn take(&self) -> Option<Waiting> {
        self.queue().waiting.pop_front()
    }

    /// Waits for work; nothing once the pool is closed.
    fn wait(&self) -> Option<Waiting> {
        let mut queue = self.queue();
        loop {
            if let Some(waiting) = queue.waiting.pop_front() {
                return Some(waiting);
            }
            if queue.closed {
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

/// A connection and its thread.
struct Worker {
    shared: Arc<Shared>,
    client: Option<Client>,
    statements: Statements,
}

impl Worker {
    fn serve(mut self) {
        let mut announced = Instant::now();
        loop {
            let mut next = self.shared.take();
            if next.is_none() || announced.elapsed() >= ANNOUNCE_EVERY {
                self.announce();
                announced = Instant::now();
            }
            if next.is_none() {
                next = self.shared.wait();
            }
            let Some(Waiting { mut job, isolation, answer }) = next else {
                return;
            };
            let done = self.attempt(&mut job, isolation);
            if done.is_ok() && isolation == Isolation::Write {
                self.shared.unannounced.store(true, Ordering::Release);
                self.shared.hub.wake();
            }
            // A caller that went away has nobody to tell.
            let _ = answer.send(done);
        }
    }

    /// Tells other processes that something was committed. Apart from the commits themselves:
    /// inside them it would make them wait for each other.
    fn announce(&mut self) {
        if !self.shared.unannounced.swap(false, Ordering::AcqRel) {
            return;
        }
        let channel = self.shared.address.channel();
        if let Ok(client) = self.client() {
            // Readers look by themselves once a second; a lost announcement only delays them.
            let _ = client.execute("SELECT pg_notify($1, '')", &[&channel]);
        }
    }

    fn client(&mut self) -> Result<&mut Client, StoreError> {
        let client = match self.client.take() {
            Some(client) if !client.is_closed() => client,
            _ => {
                self.statements.clear();
                self.shared.address.connect()?
            }
        };
        Ok(self.client.insert(client))
    }

    fn attempt(&mut self, job: &mut Job, isolation: Isolation) -> Result<(), StoreError> {
        let mut reconnected = false;
        for attempt in 0..ATTEMPTS_MAX {
            match self.transact(job, isolation)? {
                Attempt::Done(done) => return done,
                Attempt::LostRace => std::thread::sleep(pause(attempt)),
                Attempt::NotBegun(error) if reconnected => return Err(error),
                // An idle connection may have died unnoticed; nothing was sent on it.
                Attempt::NotBegun(_) => {
                    reconnected = true;
                    self.client = None;
                }
            }
        }
        Err(StoreError::Busy { retry_after: Duration::from_millis(100) })
    }

    fn transact(&mut self, job: &mut Job, isolation: Isolation) -> Result<Attempt, StoreError> {
        self.client()?;
        let (Some(client), statements) = (&mut self.client, &mut self.statements) else {
            return Err(StoreError::backend("reach the database", "no connection"));
        };
        let failed = |error| error::map(error, "use");
        let builder = client.build_transaction();
        let started = match isolation {
            Isolation::Read => {
                builder.isolation_level(IsolationLevel::RepeatableRead).read_only(true).start()
            }
            Isolation::Write => builder.start(),
        };
        let mut transaction = match started {
            Ok(transaction) => transaction,
            Err(error) => return Ok(Attempt::NotBegun(failed(error))),
        };
        let mut tx = PostgresTx { transaction: &mut transaction, statements, lost_race: false };
        let done = job(&mut tx);
        let lost_race = tx.lost_race;
        match done {
            Ok(()) => match transaction.commit() {
                Ok(()) => Ok(Attempt::Done(Ok(()))),
                Err(error) if error::is_lost_race(&error) => Ok(Attempt::LostRace),
                Err(error) => Err(failed(error)),
            },
            Err(error) => {
                transaction.rollback().map_err(failed)?;
                Ok(if lost_race { Attempt::LostRace } else { Attempt::Done(Err(error)) })
            }
        }
    }
}

/// How long to wait after a lost race: longer each time, and not as long as everybody else, so that
/// those who met do not meet again.
fn pause(attempt: u32) -> Duration {
    let most = u64::from(1_u32 << attempt.min(6));
    let thread = std::thread::current().id();
    let spread = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), thread);
    Duration::from_millis(spread % most)
}

enum Attempt {
    Done(Result<(), StoreError>),
    LostRace,
    NotBegun(StoreError),
}
