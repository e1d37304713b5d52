//! What a database of the Agent Coordinator holds, of either age: tables and columns are looked up.

use super::lineage::{Parent, Place, parents_first};
use super::{event_row, run_row, session_row};
use crate::ImportError;
use crate::foreign_db::{Cell, Database, Table, cell, column};

/// The name of what events and runs without a session are known by.
pub(super) const OF_NO_SESSION: &str = "(no session)";

/// The tables.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) sessions: Table,
    pub(super) events: Table,
    /// The older age kept runs in memory.
    pub(super) runs: Option<Table>,
}

impl Tables {
    /// What the database has, or why it is none of the Agent Coordinator's.
    pub(super) fn read(database: &Database) -> Result<Self, ImportError> {
        let needed = |name: &'static str| {
            let expected = "`sessions` and `events` are expected, as in its `observability.db`";
            let table = Table::find(database, name)?
                .ok_or_else(|| database.refuse(format!("it has no table {name}; {expected}")))?;
            match table.columns.iter().any(|column| column == "session_id") {
                true => Ok(table),
                false => {
                    let reason = format!("its table {name} has no column session_id; {expected}");
                    Err(database.refuse(reason))
                }
            }
        };
        let runs = Table::find(database, run_row::TABLE)?;
        Ok(Self {
            sessions: needed(session_row::TABLE)?,
            events: needed(event_row::TABLE)?,
            runs: runs.filter(|runs| runs.columns.iter().any(|column| column == "session_id")),
        })
    }

    /// Every session, parents first; those of which only events or runs are left behind the others.
    pub(super) fn places(&self, database: &Database) -> Result<Vec<Place>, ImportError> {
        let text = format!(
            "SELECT rowid, session_id, {} FROM sessions ORDER BY rowid",
            column(&self.sessions.columns, "parent_session_id")
        );
        let rows = database.collect(&text, &[], |row| {
            let (rowid, id, parent) = (row.get(0)?, cell(row, 1)?, cell(row, 2)?);
            let parent = parent.id().map_or(Parent::None, Parent::Named);
            Ok(Place { name: id.id().unwrap_or_default(), id, rowid: Some(rowid), parent })
        })?;
        let mut places = parents_first(rows);
        for table in [Some(&self.events), self.runs.as_ref()].into_iter().flatten() {
            for id in missing_sessions(database, table.name)? {
                let name = id.id().unwrap_or_else(|| OF_NO_SESSION.to_owned());
                if !places.iter().any(|place| place.rowid.is_none() && place.id == id) {
                    places.push(Place { id, name, rowid: None, parent: Parent::None });
                }
            }
        }
        Ok(places)
    }

    /// Bytes of all events.
    pub(super) fn event_bytes(&self, database: &Database) -> Result<u64, ImportError> {
        let columns = &self.events.columns;
        let lengths = columns
            .iter()
            .map(|name| format!("coalesce(sum(octet_length({})), 0)", column(columns, name)));
        let text = format!("SELECT {} FROM events", lengths.collect::<Vec<_>>().join(" + "));
        let sums = database.collect(&text, &[], |row| row.get::<_, i64>(0))?;
        Ok(sums.first().and_then(|sum| u64::try_from(*sum).ok()).unwrap_or(0))
    }

    /// The rows of a session's events, in the order they were written, and the time of each.
    pub(super) fn events_of(
        &self,
        database: &Database,
        session: &Cell,
    ) -> Result<Vec<(i64, Cell)>, ImportError> {
        let time = column(&self.events.columns, "timestamp");
        let text = format!("SELECT rowid, {time} FROM events WHERE session_id IS ?1");
        let mut rows = database
            .collect(&text, &[session], |row| Ok((row.get::<_, i64>(0)?, cell(row, 1)?)))?;
        rows.sort_by_key(|(rowid, _)| *rowid);
        Ok(rows)
    }

    /// The newest event that may say how the process of a session ended.
    pub(super) fn last_end(
        &self,
        database: &Database,
        session: &Cell,
    ) -> Result<Option<i64>, ImportError> {
        let kind = column(&self.events.columns, "event_type");
        let text = format!(
            "SELECT max(rowid) FROM events WHERE session_id IS ?1
             AND {kind} IN ('session_stop', 'run_completed')"
        );
        let found = database.collect(&text, &[session], |row| row.get::<_, Option<i64>>(0))?;
        Ok(found.into_iter().flatten().next())
    }

    /// The rows of a session's runs, in the order they were written.
    pub(super) fn runs_of(
        &self,
        database: &Database,
        session: &Cell,
    ) -> Result<Vec<i64>, ImportError> {
        match self.runs {
            None => Ok(Vec::new()),
            Some(_) => {
                let text = "SELECT rowid FROM runs WHERE session_id IS ?1 ORDER BY rowid";
                database.collect(text, &[session], |row| row.get(0))
            }
        }
    }

    /// The rows of all runs, in the order they were written.
    pub(super) fn all_runs(&self, database: &Database) -> Result<Vec<i64>, ImportError> {
        match self.runs {
            None => Ok(Vec::new()),
            Some(_) => {
                database.collect("SELECT rowid FROM runs ORDER BY rowid", &[], |row| row.get(0))
            }
        }
    }
}

/// The ids of sessions that a table names and that have no row.
fn missing_sessions(database: &Database, table: &str) -> Result<Vec<Cell>, ImportError> {
    let text = format!(
        "SELECT session_id, min(rowid) FROM {table} AS t
         WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.session_id = t.session_id)
         GROUP BY session_id ORDER BY 2"
    );
    database.collect(&text, &[], |row| cell(row, 0))
}

/// Tables that hold something else.
pub(super) fn other_tables(database: &Database) -> Result<Vec<String>, ImportError> {
    let text = "SELECT name FROM sqlite_schema WHERE type = 'table'
        AND name NOT IN ('sessions', 'events', 'runs')
        AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name";
    database.collect(text, &[], |row| row.get(0))
}
