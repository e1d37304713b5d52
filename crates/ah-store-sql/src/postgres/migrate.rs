//! Brings a PostgreSQL schema to the current version, whoever else connects at the same time.

use ah_model::Timestamp;
use ah_store::StoreError;
use postgres::{Client, Transaction};

use super::error;
use crate::migration::{RECORD, SCHEMA_VERSION, Upgrade, checksum, pending};

/// Held while migrating, so that of fifty processes one migrates and the others find it done.
const LOCK: &str = "SELECT pg_advisory_xact_lock(4702394921427289858)";
const EXISTS: &str = "SELECT to_regclass('schema_migrations') IS NOT NULL";
const VERSION: &str = "SELECT coalesce(max(version), 0) FROM schema_migrations";

pub(crate) fn migrate(
    client: &mut Client,
    schema: Option<&str>,
    now: Timestamp,
) -> Result<Upgrade, StoreError> {
    let failed = |error| error::map(error, "upgrade");
    let mut transaction = client.transaction().map_err(failed)?;
    let found = version(&mut transaction).map_err(failed)?;
    if found == SCHEMA_VERSION {
        return Ok(Upgrade::plan(found));
    }
    refuse_newer(found)?;
    transaction.batch_execute(LOCK).map_err(failed)?;
    if let Some(schema) = schema {
        let name = schema.replace('"', "\"\"");
        let create = format!("CREATE SCHEMA IF NOT EXISTS \"{name}\"");
        transaction.batch_execute(&create).map_err(failed)?;
    }
    // Another process may have done it while this one waited for the lock.
    let found = version(&mut transaction).map_err(failed)?;
    refuse_newer(found)?;
    apply(&mut transaction, found, now).map_err(failed)?;
    transaction.commit().map_err(failed)?;
    Ok(Upgrade::plan(found))
}

fn refuse_newer(found: i64) -> Result<(), StoreError> {
    if found <= SCHEMA_VERSION {
        return Ok(());
    }
    let what = "the PostgreSQL database".to_owned();
    Err(StoreError::Newer { what, found, supported: SCHEMA_VERSION })
}

fn version(transaction: &mut Transaction<'_>) -> Result<i64, postgres::Error> {
    let exists: bool = transaction.query_one(EXISTS, &[])?.get(0);
    if !exists {
        return Ok(0);
    }
    Ok(transaction.query_one(VERSION, &[])?.get(0))
}

fn apply(
    transaction: &mut Transaction<'_>,
    from: i64,
    now: Timestamp,
) -> Result<(), postgres::Error> {
    for step in pending(from) {
        transaction.batch_execute(step.postgres)?;
    }
    // The first steps stand before the table that records them, so all are recorded at the end.
    for step in pending(from) {
        let now = super::tx::PostgresTime(now);
        let values: [&(dyn postgres::types::ToSql + Sync); 4] =
            [&step.version, &step.name, &checksum(step.postgres), &now];
        transaction.execute(RECORD, &values)?;
    }
    Ok(())
}
