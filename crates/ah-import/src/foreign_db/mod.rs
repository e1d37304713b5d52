//! A database file of another program, opened so that nothing of it changes.

mod cell;
mod columns;
mod table;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags, Row, ToSql};

use crate::ImportError;

pub(crate) use cell::Cell;
pub(crate) use columns::{Columns, Leftover};
pub(crate) use table::{Table, TableRow};

/// Whose database a file should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    Daycare,
    Coordinator,
    Hyperhive,
    Opencode,
    Goose,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::Daycare => "Daycare",
            Self::Coordinator => "the Agent Coordinator",
            Self::Hyperhive => "Hyperhive",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
        }
    }

    /// The file is not what it should be.
    fn refuse(self, path: &Path, reason: String) -> ImportError {
        let path = path.to_owned();
        match self {
            Self::Daycare => ImportError::NotDaycareDatabase { path, reason },
            Self::Coordinator => ImportError::NotCoordinatorDatabase { path, reason },
            Self::Hyperhive => ImportError::NotHyperhiveDatabase { path, reason },
            Self::Opencode | Self::Goose => {
                ImportError::NotTranscriptDatabase { program: self.name(), path, reason }
            }
        }
    }
}

/// A foreign database.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) connection: Connection,
    program: Program,
    path: PathBuf,
    /// What the file looked like, when nothing else keeps it as it is.
    seen: Option<Seen>,
}

/// What shows that a file was written to.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    bytes: u64,
    modified: Option<SystemTime>,
    /// The change counter in the header.
    counter: [u8; 4],
    /// Whether a write-ahead log came.
    logged: bool,
}

impl Seen {
    fn look(path: &Path) -> std::io::Result<Self> {
        let meta = fs::metadata(path)?;
        let mut header = [0; 28];
        // A file that is too short is no database, as SQLite will say.
        let _ = fs::File::open(path)?.read_exact(&mut header);
        let mut counter = [0; 4];
        counter.copy_from_slice(&header[24..]);
        let (bytes, modified) = (meta.len(), meta.modified().ok());
        Ok(Self { bytes, modified, counter, logged: beside(path, "-wal").exists() })
    }
}

impl Database {
    /// Opens the file of `program` at `path` for reading only.
    pub(crate) fn open(program: Program, path: &Path) -> Result<Self, ImportError> {
        let unreadable = |source| ImportError::Unreadable { path: path.to_owned(), source };
        let seen = Seen::look(path).map_err(unreadable)?;
        let foreign = |error: rusqlite::Error| program.refuse(path, error.to_string());
        if beside(path, "-journal").metadata().is_ok_and(|meta| meta.len() > 0) {
            let name = program.name();
            let reason = format!("a write was left half done; let {name} or sqlite3 open it once");
            return Err(program.refuse(path, reason));
        }
        // Where there is a log it must be read, with its locks. Without one SQLite would make one
        // and leave it behind, unless it is told that nobody writes; that is then watched here.
        let seen = (!seen.logged).then_some(seen);
        let query = if seen.is_some() { "immutable=1" } else { "mode=ro" };
        let connection = connect(path, query).map_err(foreign)?;
        let settings = "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON; BEGIN";
        connection.execute_batch(settings).map_err(foreign)?;
        Ok(Self { connection, program, path: path.to_owned(), seen })
    }

    /// Looks at the file as it is by now, so that its log can be emptied by who writes it.
    pub(crate) fn renew(&mut self) -> Result<(), ImportError> {
        self.check_unchanged()?;
        self.connection.execute_batch("COMMIT; BEGIN").map_err(|error| self.foreign(&error))
    }

    /// Refuses what was read if somebody wrote meanwhile.
    pub(crate) fn check_unchanged(&self) -> Result<(), ImportError> {
        let Some(seen) = &self.seen else {
            return Ok(());
        };
        match Seen::look(&self.path) {
            Ok(now) if now == *seen => Ok(()),
            Ok(_) => {
                let name = self.program.name();
                Err(self.refuse(format!(
                    "it was written to while it was read; stop {name} and run it again"
                )))
            }
            Err(source) => Err(ImportError::Unreadable { path: self.path.clone(), source }),
        }
    }

    /// The error that the engine's is.
    pub(crate) fn foreign(&self, error: &rusqlite::Error) -> ImportError {
        self.refuse(error.to_string())
    }

    /// The file is not what it should be.
    pub(crate) fn refuse(&self, reason: String) -> ImportError {
        self.program.refuse(&self.path, reason)
    }

    /// All rows of a statement that gives few.
    pub(crate) fn collect<T>(
        &self,
        text: &str,
        bound: &[&dyn ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, ImportError> {
        let rows = self.connection.prepare_cached(text).and_then(|mut statement| {
            statement.query_map(bound, read)?.collect::<rusqlite::Result<Vec<T>>>()
        });
        let rows = rows.map_err(|error| self.foreign(&error))?;
        self.check_unchanged()?;
        Ok(rows)
    }

    /// The columns of a table; none when there is no such table.
    pub(crate) fn columns(&self, table: &str) -> Result<Vec<String>, ImportError> {
        let text = "SELECT c.name FROM sqlite_schema AS s, pragma_table_info(s.name) AS c
            WHERE s.type = 'table' AND s.name = ?1";
        self.collect(text, &[&table], |row| row.get(0))
    }
}

/// The value of a row at `place`.
pub(crate) fn cell(row: &Row<'_>, place: usize) -> rusqlite::Result<Cell> {
    row.get_ref(place).map(Cell::of)
}

/// A column in quotes, or NULL where the table has none of that name.
pub(crate) fn column(found: &[String], name: &str) -> String {
    match found.iter().any(|column| column == name) {
        true => format!("\"{}\"", name.replace('"', "\"\"")),
        false => "NULL".to_owned(),
    }
}

/// The file that SQLite keeps beside a database under a name that ends in `suffix`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[expect(clippy::disallowed_methods, reason = "a foreign file, to which no pragma of ours applies")]
fn connect(path: &Path, query: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri(path, query), flags)
}

/// The path as SQLite reads a URI: every byte that may mean something else is escaped.
fn uri(path: &Path, query: &str) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri + "?" + query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped_in_its_uri() {
        assert_eq!(
            uri(Path::new("/a b/%?#é.db"), "mode=ro"),
            "file:/a%20b/%25%3f%23%c3%a9.db?mode=ro"
        );
    }
}
