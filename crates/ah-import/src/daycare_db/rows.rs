//! The rows of a Daycare database, whatever their columns hold: later versions of the program added
//! some.

use crate::ImportError;
use crate::foreign_db::{Cell, Database, cell, column};

/// Rows of a session's history that are read at once, and their bytes.
const PAGE_ROWS: usize = 1_000;
const PAGE_BYTES: usize = 8 * 1024 * 1024;

/// A row of `agents`, or what stands for one that is missing.
#[derive(Debug, Clone)]
pub(super) struct AgentRow {
    /// Where it is; nothing for one that is missing.
    pub(super) rowid: Option<i64>,
    pub(super) id: Cell,
    /// `type`, `descriptor` and so on, in the order of [`AGENT_COLUMNS`].
    cells: Vec<Cell>,
    /// The columns nobody here knows.
    pub(super) others: Vec<(String, Cell)>,
}

const AGENT_COLUMNS: [&str; 9] = [
    "type",
    "descriptor",
    "active_session_id",
    "permissions",
    "tokens",
    "stats",
    "lifecycle",
    "created_at",
    "updated_at",
];

impl AgentRow {
    /// What stands for an agent that has sessions and no row.
    pub(super) fn missing(id: Cell) -> Self {
        Self { rowid: None, id, cells: Vec::new(), others: Vec::new() }
    }

    pub(super) fn cell(&self, column: &str) -> &Cell {
        let place = AGENT_COLUMNS.iter().position(|name| *name == column);
        place.and_then(|place| self.cells.get(place)).unwrap_or(&Cell::Null)
    }
}

/// A row of `sessions`, without its texts.
#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub(super) rowid: i64,
    pub(super) id: Cell,
    pub(super) created_at: Cell,
    pub(super) ended_at: Cell,
}

/// The texts of a session.
#[derive(Debug, Clone)]
pub(super) struct SessionTexts {
    pub(super) reset_message: Cell,
    pub(super) inference_session_id: Cell,
}

/// A row of `session_history`.
#[derive(Debug, Clone)]
pub(super) struct HistoryRow {
    pub(super) rowid: i64,
    pub(super) kind: Cell,
    pub(super) at: Cell,
    pub(super) data: Cell,
}

/// The columns that the tables have.
#[derive(Debug)]
pub(super) struct Schema {
    agents: Vec<String>,
    sessions: Vec<String>,
    history: Vec<String>,
}

const SESSION_COLUMNS: [&str; 6] =
    ["id", "agent_id", "inference_session_id", "created_at", "reset_message", "ended_at"];
const HISTORY_COLUMNS: [&str; 5] = ["id", "session_id", "type", "at", "data"];

impl Schema {
    /// What the database has, or why it is none of Daycare's.
    pub(super) fn read(database: &Database) -> Result<Self, ImportError> {
        let columns = |table: &str, needed: &[&str]| {
            let found = database.columns(table)?;
            let missing = needed.iter().find(|name| !found.iter().any(|column| column == *name));
            match (found.is_empty(), missing) {
                (true, _) => Err(database.refuse(format!("it has no table {table}"))),
                (_, Some(name)) => {
                    Err(database.refuse(format!("its table {table} has no column {name}")))
                }
                (_, None) => Ok(found),
            }
        };
        Ok(Self {
            agents: columns("agents", &["id"])?,
            sessions: columns("sessions", &["id", "agent_id"])?,
            history: columns("session_history", &["session_id", "data"])?,
        })
    }

    /// The columns of sessions and their history that nobody here knows, by table.
    pub(super) fn unknown(&self) -> Vec<(&'static str, &str)> {
        let sessions = unknown(&self.sessions, &SESSION_COLUMNS).map(|name| ("sessions", name));
        let history = unknown(&self.history, &HISTORY_COLUMNS);
        sessions.chain(history.map(|name| ("session_history", name))).collect()
    }
}

fn unknown<'a>(found: &'a [String], known: &'a [&str]) -> impl Iterator<Item = &'a str> {
    found.iter().map(String::as_str).filter(move |name| !known.contains(name))
}

impl Database {
    /// Tables that hold something else.
    pub(super) fn other_tables(&self) -> Result<Vec<String>, ImportError> {
        let text = "SELECT name FROM sqlite_schema WHERE type = 'table'
            AND name NOT IN ('agents', 'sessions', 'session_history', '_migrations')
            AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name";
        self.collect(text, &[], |row| row.get(0))
    }

    /// Bytes of all history.
    pub(super) fn history_bytes(&self) -> Result<u64, ImportError> {
        let text = "SELECT coalesce(sum(octet_length(data)), 0) FROM session_history";
        let sums = self.collect(text, &[], |row| row.get::<_, i64>(0))?;
        Ok(sums.first().and_then(|sum| u64::try_from(*sum).ok()).unwrap_or(0))
    }

    /// Where the agents are, in the order they were written.
    pub(super) fn agents(&self) -> Result<Vec<i64>, ImportError> {
        self.collect("SELECT rowid FROM agents ORDER BY rowid", &[], |row| row.get(0))
    }

    pub(super) fn agent(&self, schema: &Schema, rowid: i64) -> Result<AgentRow, ImportError> {
        let known = AGENT_COLUMNS.iter().map(|name| column(&schema.agents, name));
        let mut names = AGENT_COLUMNS.to_vec();
        names.push("id");
        let others: Vec<&str> = unknown(&schema.agents, &names).collect();
        let quoted = others.iter().map(|name| column(&schema.agents, name));
        let columns: Vec<String> = known.chain(quoted).collect();
        let text = format!("SELECT id, {} FROM agents WHERE rowid = ?1", columns.join(", "));
        let rows = self.collect(&text, &[&rowid], |row| {
            let cells = (1..=AGENT_COLUMNS.len()).map(|place| cell(row, place));
            let others = others.iter().enumerate().map(|(place, name)| {
                let value = cell(row, 1 + AGENT_COLUMNS.len() + place)?;
                Ok(((*name).to_owned(), value))
            });
            Ok(AgentRow {
                rowid: Some(rowid),
                id: cell(row, 0)?,
                cells: cells.collect::<rusqlite::Result<_>>()?,
                others: others.collect::<rusqlite::Result<_>>()?,
            })
        })?;
        rows.into_iter().next().ok_or_else(|| self.refuse(format!("row {rowid} of agents is gone")))
    }

    /// The ids of agents that have sessions and no row.
    pub(super) fn missing_agents(&self) -> Result<Vec<Cell>, ImportError> {
        let text = "SELECT agent_id, min(rowid) FROM sessions AS s
            WHERE NOT EXISTS (SELECT 1 FROM agents AS a WHERE a.id = s.agent_id)
            GROUP BY agent_id ORDER BY 2";
        self.collect(text, &[], |row| cell(row, 0))
    }

    /// The ids of sessions that have a history and no row.
    pub(super) fn missing_sessions(&self) -> Result<Vec<Cell>, ImportError> {
        let text = "SELECT session_id, min(rowid) FROM session_history AS h
            WHERE NOT EXISTS (SELECT 1 FROM sessions AS s WHERE s.id = h.session_id)
            GROUP BY session_id ORDER BY 2";
        self.collect(text, &[], |row| cell(row, 0))
    }

    /// The sessions of an agent, in the order they were written.
    pub(super) fn sessions(
        &self,
        schema: &Schema,
        agent: &Cell,
    ) -> Result<Vec<SessionRow>, ImportError> {
        let text = format!(
            "SELECT rowid, id, {}, {} FROM sessions WHERE agent_id IS ?1 ORDER BY rowid",
            column(&schema.sessions, "created_at"),
            column(&schema.sessions, "ended_at"),
        );
        self.collect(&text, &[agent], |row| {
            Ok(SessionRow {
                rowid: row.get(0)?,
                id: cell(row, 1)?,
                created_at: cell(row, 2)?,
                ended_at: cell(row, 3)?,
            })
        })
    }

    pub(super) fn session_texts(
        &self,
        schema: &Schema,
        rowid: i64,
    ) -> Result<SessionTexts, ImportError> {
        let text = format!(
            "SELECT {}, {} FROM sessions WHERE rowid = ?1",
            column(&schema.sessions, "reset_message"),
            column(&schema.sessions, "inference_session_id"),
        );
        let texts = self.collect(&text, &[&rowid], |row| {
            Ok(SessionTexts { reset_message: cell(row, 0)?, inference_session_id: cell(row, 1)? })
        })?;
        let gone = || self.refuse(format!("row {rowid} of sessions is gone"));
        texts.into_iter().next().ok_or_else(gone)
    }

    /// Some rows of a session's history behind `after`, in the order they were written.
    pub(super) fn history(
        &self,
        schema: &Schema,
        session: &Cell,
        after: i64,
    ) -> Result<Vec<HistoryRow>, ImportError> {
        let text = format!(
            "SELECT rowid, {}, {}, data FROM session_history
             WHERE session_id IS ?1 AND rowid > ?2 ORDER BY rowid",
            column(&schema.history, "type"),
            column(&schema.history, "at"),
        );
        let page = || -> rusqlite::Result<Vec<HistoryRow>> {
            let mut statement = self.connection.prepare_cached(&text)?;
            let mut rows = statement.query((session, after))?;
            let (mut page, mut bytes) = (Vec::new(), 0);
            while page.len() < PAGE_ROWS && bytes < PAGE_BYTES {
                let Some(row) = rows.next()? else {
                    break;
                };
                let (kind, at, data) = (cell(row, 1)?, cell(row, 2)?, cell(row, 3)?);
                bytes += data.bytes().len();
                page.push(HistoryRow { rowid: row.get(0)?, kind, at, data });
            }
            Ok(page)
        };
        let page = page().map_err(|error| self.foreign(&error))?;
        self.check_unchanged()?;
        Ok(page)
    }
}
