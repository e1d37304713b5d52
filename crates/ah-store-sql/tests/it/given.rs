//! What several tests start from.

use std::path::Path;
use std::sync::Arc;

use ah_conformance::{SeededIds, TestClock};
use ah_model::{NewRepo, NewSession, Vcs};
use ah_store::{Capabilities, Ids};
use ah_store_sql::{PostgresOptions, SqlStore, SqliteOptions, Upgrade};
use postgres::{Client, NoTls};
use rusqlite::Connection;

use crate::postgres::server_url;

/// A session in a plain directory.
pub(crate) fn new_session() -> NewSession {
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/r".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    NewSession::new(repo, "codex".parse().unwrap())
}

/// The text of migrations of an engine.
macro_rules! migrations {
    ($engine:literal: $($name:literal),+) => {
        concat!($(include_str!(concat!("../../migrations/", $engine, "/", $name, ".sql"))),+)
    };
}
pub(crate) use migrations;

/// A database as an older program left it.
pub(crate) struct OldDatabase {
    pub(crate) version: i64,
    /// What made its tables, on each engine.
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// The same rows for both.
    pub(crate) rows: &'static str,
    /// What must hold of it once it is opened.
    pub(crate) check: fn(&SqlStore, &Upgrade),
}

impl OldDatabase {
    /// Opens it as a file.
    pub(crate) fn open_file(&self) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        self.write_file(&path);
        let (capabilities, clock, ids) = parts();
        let options = SqliteOptions::new(&path);
        let (store, upgrade) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
        let backup = upgrade.backup.clone().unwrap();
        assert_eq!(ah_store_sql::inspect_sqlite(&backup).unwrap().from, self.version);
        (self.check)(&store, &upgrade);
    }

    #[expect(clippy::disallowed_methods, reason = "an older program writes here")]
    fn write_file(&self, path: &Path) {
        let connection = Connection::open(path).unwrap();
        connection.execute_batch(self.sqlite).unwrap();
        connection.execute_batch(self.rows).unwrap();
        connection.execute_batch(&format!("PRAGMA user_version = {}", self.version)).unwrap();
    }

    /// Opens it as a schema of PostgreSQL.
    pub(crate) fn open_schema(&self) {
        let Some(url) = server_url() else { return };
        let schema = format!("version_{}_{}", self.version, std::process::id());
        let mut client = Client::connect(&url, NoTls).unwrap();
        let create = format!("CREATE SCHEMA {schema}; SET search_path TO {schema};");
        client.batch_execute(&create).unwrap();
        client.batch_execute(self.postgres).unwrap();
        client.batch_execute(self.rows).unwrap();
        let (capabilities, clock, ids) = parts();
        let mut options = PostgresOptions::new(&url);
        options.schema = Some(schema.clone());
        let opened = SqlStore::connect_postgres(options, capabilities, clock, ids);
        let checked = opened.map(|(store, upgrade)| (self.check)(&store, &upgrade));
        client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).unwrap();
        checked.unwrap();
    }
}

fn parts() -> (Capabilities, Arc<TestClock>, Ids) {
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    (Capabilities { workspaces: true }, Arc::new(TestClock::new()), ids)
}
