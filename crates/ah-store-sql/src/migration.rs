//! Migrations: numbered files, frozen once landed, applied in order in one transaction.
//!
//! The same numbers and names stand in both folders. The version step is part of the transaction
//! that makes the change, so a crash leaves either the old or the new schema, never half of one.

use ah_model::to_hex;
use sha2::{Digest, Sha256};

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Migration {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal),* $(,)?) => {
        &[$(Migration {
            version: $version,
            name: $name,
            sqlite: include_str!(concat!("../migrations/sqlite/", $version, "__", $name, ".sql")),
            postgres:
                include_str!(concat!("../migrations/postgres/", $version, "__", $name, ".sql")),
        }),*]
    };
}

/// Every step, in order.
pub(crate) const MIGRATIONS: &[Migration] = migrations![1 "base_tables", 2 "executor_tables", 3 "logs_and_lineage", 4 "agents", 5 "leases_and_tokens", 6 "hive", 7 "message_blocks", 8 "enrolled_executors", 9 "fleets", 10 "search", 11 "spendings", 12 "known_blocks", 13 "repo_fingerprints", 14 "overviews"];

/// The version this program reads and writes.
pub const SCHEMA_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// The first version that records its steps in `schema_migrations`.
pub(crate) const RECORDED_FROM: i64 = 3;

/// Notes a step in `schema_migrations`.
pub(crate) const RECORD: &str =
    "INSERT INTO schema_migrations (version, name, sha256, applied_at) VALUES ($1, $2, $3, $4)";

/// The digest of a step's text, as it is recorded.
pub(crate) fn checksum(sql: &str) -> String {
    to_hex(&Sha256::digest(sql.as_bytes()))
}

/// The steps that lead from `version` to [`SCHEMA_VERSION`].
pub(crate) fn pending(version: i64) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().filter(move |migration| migration.version > version)
}

/// What an upgrade did, or would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    /// The version found.
    pub from: i64,
    /// The version reached.
    pub to: i64,
    /// The steps between, `N__name`.
    pub steps: Vec<String>,
    /// Where the data was copied to before.
    pub backup: Option<std::path::PathBuf>,
    /// Rows left out because what they belong to is gone; the backup has them.
    pub dropped: u64,
}

impl Upgrade {
    pub(crate) fn plan(from: i64) -> Self {
        let steps = pending(from).map(|step| format!("{}__{}", step.version, step.name)).collect();
        Self { from, to: SCHEMA_VERSION, steps, backup: None, dropped: 0 }
    }
}
