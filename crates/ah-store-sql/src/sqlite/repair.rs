//! Makes rows of older programs fit to be upgraded. They ran with foreign keys off and took any
//! text as an id, so parents may be missing and ids may be odd. A session is worth more than its
//! repository's row: what is lost is named anew, and only what belongs to nothing is left out. The
//! backup made before keeps everything as it was.

use ah_model::SessionId;
use rusqlite::{Connection, Result};

/// Parents that sessions refer to and that are gone.
const PARENTS: &str = "
    INSERT INTO repos (id, vcs, root_path)
      SELECT DISTINCT repo_id, 'none', '(lost repository ' || repo_id || ')' FROM sessions
      WHERE repo_id NOT IN (SELECT id FROM repos);
    INSERT INTO agents (id, name, version)
      SELECT DISTINCT agent_id, 'unknown', 'lost-' || agent_id FROM sessions
      WHERE agent_id NOT IN (SELECT id FROM agents);
    INSERT INTO runtimes (id, type)
      SELECT DISTINCT runtime_id, 'disabled' FROM sessions
      WHERE runtime_id NOT IN (SELECT id FROM runtimes);
    UPDATE sessions SET workspace_id = NULL
      WHERE workspace_id NOT IN (SELECT id FROM workspaces);";

/// Repairs a database of version 1 or 2 and returns how many rows had to be left out.
pub(super) fn repair(connection: &Connection) -> Result<u64> {
    rename_odd_ids(connection)?;
    connection.execute_batch(PARENTS)?;
    drop_orphans(connection)
}

/// Gives sessions whose id is none of ours one that is.
fn rename_odd_ids(connection: &Connection) -> Result<()> {
    let mut statement = connection.prepare("SELECT rowid, id FROM sessions")?;
    let sessions: Vec<(i64, Option<String>)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1).ok())))?
        .collect::<Result<_>>()?;
    let is_odd =
        |id: &Option<String>| id.as_deref().is_none_or(|id| id.parse::<SessionId>().is_err());
    for (row, old) in sessions.into_iter().filter(|(_, id)| is_odd(id)) {
        let new = format!("odd-id-{row}");
        connection.execute("UPDATE sessions SET id = ?1 WHERE rowid = ?2", (&new, row))?;
        for table in ["tasks", "events"] {
            let follow = format!("UPDATE {table} SET session_id = ?1 WHERE session_id = ?2");
            connection.execute(&follow, (&new, &old))?;
        }
    }
    Ok(())
}

/// Removes rows that belong to nothing. Removing one may orphan others, so it goes on until none
/// is left; every round removes at least one.
fn drop_orphans(connection: &Connection) -> Result<u64> {
    const ORPHANS: &str = "SELECT DISTINCT \"table\", rowid FROM pragma_foreign_key_check";
    let mut dropped = 0;
    loop {
        let mut statement = connection.prepare(ORPHANS)?;
        let orphans: Vec<(String, i64)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_>>()?;
        if orphans.is_empty() {
            return Ok(dropped);
        }
        for (table, rowid) in orphans {
            let delete = format!("DELETE FROM \"{table}\" WHERE rowid = ?1");
            dropped += connection.execute(&delete, [rowid])? as u64;
        }
    }
}
