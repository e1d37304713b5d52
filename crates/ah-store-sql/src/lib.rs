//! The store on SQLite and PostgreSQL: one set of statements, two engines.
//!
//! The only room with SQL. A file per noun holds its statements above the functions that bind
//! them; rules come from `ah_model` and are called inside the transaction. `sqlite` and `postgres`
//! know how to run a transaction and nothing of the nouns.

mod agent;
mod agent_kind;
mod approval;
mod change;
mod draft;
mod event;
mod executor;
mod feed;
mod fleet;
mod hive;
mod horizon;
mod hub;
mod invariant;
mod kv;
mod lull;
mod maintenance;
mod message;
mod migration;
mod names;
mod page;
mod party;
mod postgres;
mod question;
mod reader;
mod relocation;
mod repo;
mod request_key;
mod resources;
mod retention;
mod run;
mod runtime;
mod scrub;
mod search;
mod session;
mod spending;
mod sqlite;
mod statement;
mod task;
mod token;
mod tx;
mod usage;
mod watch;
mod workspace;

use std::sync::{Arc, Mutex, PoisonError};

use ah_model::{Redact, Redaction, Redactions, Redactor, RequestKey};
use ah_store::{Capabilities, Clock, Ids, Store, StoreError};

pub use crate::invariant::{CheckReport, Violation};
pub use crate::migration::{SCHEMA_VERSION, Upgrade};
pub use crate::postgres::PostgresOptions;
pub use crate::sqlite::{
    Callers, CompactReport, DatabaseStats, Durability, SqliteOptions, inspect_sqlite,
    restore_sqlite,
};

use crate::resources::Resources;
use crate::tx::Tx;

/// A store on either engine. Clones share it.
#[derive(Clone)]
pub struct SqlStore {
    inner: Arc<Inner>,
    /// The request that this handle serves, if it has a key.
    key: Option<Arc<RequestKey>>,
    redaction: Redaction,
}

struct Inner {
    engine: Engine,
    resources: Arc<Resources>,
}

enum Engine {
    Sqlite(sqlite::Engine),
    Postgres(Box<postgres::Engine>),
}

impl SqlStore {
    /// Opens, and makes or upgrades if need be, the SQLite database of `options`.
    pub fn open_sqlite(
        options: SqliteOptions,
        capabilities: Capabilities,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<(Self, Upgrade), StoreError> {
        let (engine, upgrade) = sqlite::Engine::open(options, clock.now())?;
        let resources = Resources::new(clock, ids, capabilities);
        Ok((Self::new(Engine::Sqlite(engine), resources), upgrade))
    }

    /// Connects to, and makes or upgrades if need be, the PostgreSQL database of `options`.
    pub fn connect_postgres(
        options: PostgresOptions,
        capabilities: Capabilities,
        clock: Arc<dyn Clock>,
        ids: Ids,
    ) -> Result<(Self, Upgrade), StoreError> {
        let (engine, upgrade) = postgres::Engine::connect(options, clock.now())?;
        let resources = Resources::new(clock, ids, capabilities);
        Ok((Self::new(Engine::Postgres(Box::new(engine)), resources), upgrade))
    }

    fn new(engine: Engine, resources: Resources) -> Self {
        let inner = Arc::new(Inner { engine, resources: Arc::new(resources) });
        Self { inner, key: None, redaction: Redaction::On }
    }

    /// The same store, which takes secrets out of what it is given, or does not.
    #[must_use]
    pub fn with_redaction(self, redaction: Redaction) -> Self {
        Self { redaction, ..self }
    }

    /// Ends the use of the store by a process that ends, too, and that somebody waits for.
    ///
    /// To close a SQLite database takes longer than to write to it. It is closed only when its WAL
    /// has become long: the next process that has the database to itself reads all of it.
    pub fn leave(self) {
        let is_due = match &self.inner.engine {
            Engine::Sqlite(engine) => engine.is_close_due(),
            // The server notices that the process is gone.
            Engine::Postgres(_) => false,
        };
        if !is_due {
            std::mem::forget(self);
        }
    }

    /// `value` as it is kept: without its secrets. Every value that a caller gives goes through here
    /// once it is checked, outside of the transaction.
    fn clean<T: Redact>(&self, value: T) -> T {
        self.clean_counted(value).0
    }

    /// As [`Self::clean`], with what was found.
    fn clean_counted<T: Redact>(&self, value: T) -> (T, Redactions) {
        Redactor::clean(self.redaction, value)
    }

    /// Runs `work` in a transaction that writes; answers once it is durable. `work` may run again
    /// when the engine had to give way to another writer.
    async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, result) = self.job(work);
        match &self.inner.engine {
            Engine::Sqlite(engine) => engine.write(job).await?,
            Engine::Postgres(engine) => engine.write(job).await?,
        }
        result.take()
    }

    /// Runs `work` in a transaction that sees one state of the store.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (job, result) = self.job(work);
        match &self.inner.engine {
            Engine::Sqlite(engine) => engine.read(job)?,
            Engine::Postgres(engine) => engine.read(job).await?,
        }
        result.take()
    }

    fn subscribe(&self) -> Result<tokio::sync::watch::Receiver<u64>, StoreError> {
        match &self.inner.engine {
            Engine::Sqlite(engine) => engine.subscribe(),
            Engine::Postgres(engine) => engine.subscribe(),
        }
    }

    /// `work` as a job that keeps its result beside it.
    fn job<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn Tx, &Resources) -> Result<T, StoreError> + Send + 'static,
    ) -> (Job, Outcome<T>) {
        let outcome = Outcome(Arc::new(Mutex::new(None)));
        let slot = Arc::clone(&outcome.0);
        let resources = Arc::clone(&self.inner.resources);
        let job = move |tx: &mut dyn Tx| {
            let value = work(tx, &resources)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
            Ok(())
        };
        (Box::new(job), outcome)
    }
}

/// A piece of work inside a transaction. It may run more than once and keeps its own result.
type Job = Box<dyn FnMut(&mut dyn Tx) -> Result<(), StoreError> + Send>;

struct Outcome<T>(Arc<Mutex<Option<T>>>);

impl<T> Outcome<T> {
    fn take(self) -> Result<T, StoreError> {
        let value = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        value.ok_or_else(|| StoreError::backend("run a transaction", "it gave no result"))
    }
}

impl Store for SqlStore {
    fn capabilities(&self) -> Capabilities {
        self.inner.resources.capabilities
    }

    fn keyed(&self, key: RequestKey) -> Box<dyn Store> {
        Box::new(Self { key: Some(Arc::new(key)), ..self.clone() })
    }
}
