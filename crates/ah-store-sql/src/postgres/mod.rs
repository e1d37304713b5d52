//! The PostgreSQL engine: connections with a thread each, so the synchronous core serves both
//! engines and any async runtime.

mod error;
mod listen;
mod migrate;
mod pool;
mod tx;

use std::time::Duration;

use ah_model::Timestamp;
use ah_store::StoreError;
use postgres::config::Host;
use postgres::{Client, Config, NoTls};
use tokio::sync::watch;

use self::listen::Listener;
use self::pool::{Isolation, Pool};
use crate::Job;
use crate::hub::Hub;
use crate::migration::Upgrade;

/// How a PostgreSQL store is reached.
#[derive(Debug, Clone)]
pub struct PostgresOptions {
    /// `postgres://user@host/database`.
    pub url: String,
    /// The schema the tables are in; the connection's default when absent.
    pub schema: Option<String>,
    /// How long a write waits for others' locks before it gives up as busy.
    pub busy_timeout: Duration,
}

impl PostgresOptions {
    /// The database at `url` with the usual settings.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), schema: None, busy_timeout: Duration::from_secs(10) }
    }
}

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Everything needed to connect once more.
#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    schema: Option<String>,
    busy_timeout: Duration,
}

impl Address {
    fn new(options: PostgresOptions) -> Result<Self, StoreError> {
        let mut config: Config = options
            .url
            .parse()
            .map_err(|error| StoreError::backend("read the database URL", error_text(&error)))?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        Ok(Self { config, schema: options.schema, busy_timeout: options.busy_timeout })
    }

    fn connect(&self) -> Result<Client, StoreError> {
        let mut client = self.config.connect(NoTls).map_err(|error| self.refusal(error))?;
        let mut settings = format!("SET lock_timeout = {};", self.busy_timeout.as_millis());
        if let Some(schema) = &self.schema {
            let name = schema.replace('"', "\"\"");
            settings.push_str(&format!("SET search_path TO \"{name}\""));
        }
        client.batch_execute(&settings).map_err(|error| error::map(error, "connect"))?;
        Ok(client)
    }

    /// Why there is no connection: the server said so, or nobody answered.
    fn refusal(&self, error: postgres::Error) -> StoreError {
        if error.code().is_some() {
            return error::map(error, "connect to");
        }
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        });
        let hosts: Vec<String> = hosts.collect();
        let ports: Vec<String> = self.config.get_ports().iter().map(u16::to_string).collect();
        let port = if ports.is_empty() { String::new() } else { format!(":{}", ports.join(",")) };
        let server = format!("the PostgreSQL server at {}{port}", hosts.join(","));
        StoreError::Unreachable { server, source: error_text(&error).into() }
    }

    /// The channel on which commits are announced; different schemas do not hear each other.
    fn channel(&self) -> String {
        format!("ah_{}", self.schema.as_deref().unwrap_or("public"))
    }
}

/// The URL may hold a password, so only the reason is passed on.
fn error_text(error: &postgres::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

pub(crate) struct Engine {
    pool: Pool,
    hub: Hub,
    listener: Listener,
}

impl Engine {
    pub(crate) fn connect(
        options: PostgresOptions,
        now: Timestamp,
    ) -> Result<(Self, Upgrade), StoreError> {
        let address = Address::new(options)?;
        let mut client = address.connect()?;
        let upgrade = migrate::migrate(&mut client, address.schema.as_deref(), now)?;
        let hub = Hub::new();
        let listener = Listener::new(address.clone(), hub.clone());
        let pool = Pool::new(address, client, hub.clone());
        Ok((Self { pool, hub, listener }, upgrade))
    }

    pub(crate) async fn write(&self, job: Job) -> Result<(), StoreError> {
        self.pool.run(job, Isolation::Write).await
    }

    pub(crate) async fn read(&self, job: Job) -> Result<(), StoreError> {
        self.pool.run(job, Isolation::Read).await
    }

    /// A subscription to every process's commits from now on.
    pub(crate) fn subscribe(&self) -> Result<watch::Receiver<u64>, StoreError> {
        let changes = self.hub.subscribe();
        self.listener.start()?;
        Ok(changes)
    }
}
