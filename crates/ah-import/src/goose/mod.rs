//! goose's database: `sessions.db`, with a row for each message and one for the tokens of each call.
//!
//! A message is known by its id and what it says: goose deletes and writes again all messages of a
//! session that it compacts. Its sessions are numbered by day, so that two machines have sessions of
//! one id: the second that comes here gets a name of its own.

mod entry;

use std::collections::HashMap;
use std::path::Path;

use ah_model::{Timestamp, to_hex};
use ah_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::entry::{day_time, of_ledger, of_message, of_session, of_totals};
use crate::foreign_db::{Cell, Database, Program, Table, TableRow};
use crate::transcript::{
    Import, RowEntry, RowRun, Title, TitleRank, TranscriptOptions, TranscriptReport, Wanted,
    databases, kind, mark, project_dir, set_mark, text_of,
};
use crate::writer::Stop;
use crate::{ImportError, Progress};

/// What the sessions say they came from.
pub(crate) const SOURCE: &str = "goose";

/// The name of its database.
const DATABASE: &str = "sessions.db";
/// Digits that tell sessions of one id apart.
const DIGEST_DIGITS: usize = 12;

/// How far a database was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Position {
    /// The newest message, and the newest row of the tokens.
    message: i64,
    ledger: i64,
    /// The digest of the first session: another one is another database.
    store: String,
}

pub(crate) async fn import(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    let mut import = Import::new(store, SOURCE, options);
    let found = databases(root, options, |name| name == DATABASE)?;
    let bytes = found.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum();
    progress(Progress::Found { agents: found.len() as u64, bytes });
    for path in found {
        read(&mut import, &path).await?;
        let bytes = path.metadata().map_or(0, |meta| meta.len());
        progress(Progress::Agent { name: &path.to_string_lossy(), bytes });
    }
    Ok(import.finish())
}

async fn read(import: &mut Import<'_>, path: &Path) -> Result<(), ImportError> {
    let database = Database::open(Program::Goose, path)?;
    let sessions = Table::find(&database, "sessions")?;
    let messages = Table::find(&database, "messages")?;
    let (Some(sessions), Some(messages)) = (sessions, messages) else {
        return Err(database.refuse("it has no tables sessions and messages".to_owned()));
    };
    let key = path.to_string_lossy();
    let before: Position = mark(import, &key).await?.unwrap_or_default();
    let first = sessions.select(&database, "ORDER BY created_at, id LIMIT 1", &[])?;
    let store = first.first().map(digest).unwrap_or_default();
    let is_same = before.store == store && newest(&database, &messages)? >= before.message;
    let position = match is_same {
        true => before.clone(),
        false => Position { store, ..Position::default() },
    };
    let ledger = Table::find(&database, "usage_ledger")?;
    let mut source = Source {
        database,
        sessions,
        messages,
        ledger,
        run: RowRun::new(import),
        position,
        names: HashMap::new(),
        left_out: false,
    };
    let taken = source.take(&key).await;
    let has_new = source.position != before;
    source.run.finish();
    import.looked(has_new);
    match taken {
        Ok(()) => Ok(()),
        Err(Stop::Import(error)) => Err(error),
        Err(Stop::Agent(reason) | Stop::Failed(reason)) => {
            import.failed(&key, reason);
            Ok(())
        }
    }
}

/// The number of the newest message.
fn newest(database: &Database, messages: &Table) -> Result<i64, ImportError> {
    let newest = messages.select(database, "ORDER BY rowid DESC LIMIT 1", &[])?;
    Ok(newest.first().map_or(0, |row| row.rowid))
}

/// What a session is told from others of its id by.
fn digest(session: &TableRow) -> String {
    let mut digest = Sha256::new();
    for column in ["id", "created_at", "working_dir"] {
        digest.update(session.cell(column).bytes());
        digest.update([0]);
    }
    to_hex(&digest.finalize()).chars().take(DIGEST_DIGITS).collect()
}

/// A database on its way.
struct Source<'i, 'a> {
    database: Database,
    sessions: Table,
    messages: Table,
    ledger: Option<Table>,
    run: RowRun<'i, 'a>,
    position: Position,
    /// What its sessions are called here; nothing for those that are too old.
    names: HashMap<String, Option<String>>,
    /// Whether a session was too old.
    left_out: bool,
}

impl Source<'_, '_> {
    async fn take(&mut self, key: &str) -> Result<(), Stop> {
        loop {
            let after = "WHERE rowid > ?1 ORDER BY rowid";
            let page = self.messages.select(&self.database, after, &[&self.position.message]);
            let page = page.map_err(Stop::Import)?;
            let Some(last) = page.last() else { break };
            for row in &page {
                self.row(row, of_message(row)).await?;
            }
            let message = last.rowid;
            self.reached(key, Position { message, ..self.position.clone() }).await?;
        }
        while let Some(ledger) = &self.ledger {
            let after = "WHERE rowid > ?1 ORDER BY rowid";
            let page = ledger.select(&self.database, after, &[&self.position.ledger]);
            let page = page.map_err(Stop::Import)?;
            let Some(last) = page.last() else { break };
            for row in &page {
                self.row(row, of_ledger(row)).await?;
            }
            let ledger = last.rowid;
            self.reached(key, Position { ledger, ..self.position.clone() }).await?;
        }
        Ok(())
    }

    async fn row(&mut self, row: &TableRow, entry: RowEntry) -> Result<(), Stop> {
        let Some(id) = text_of(row, "session_id") else { return Ok(()) };
        match self.open(&id).await? {
            Some(name) => self.run.take(&name, entry).await,
            None => Ok(()),
        }
    }

    /// Notes how far the import came, unless it left something out.
    async fn reached(&mut self, key: &str, position: Position) -> Result<(), Stop> {
        self.run.settle().await?;
        if !self.left_out {
            set_mark(self.run.import, key, &position).await?;
        }
        self.position = position;
        self.database.renew().map_err(Stop::Import)
    }

    /// Finds or makes the session of that id there, and before it its parents; what it is called
    /// here, if it is wanted.
    async fn open(&mut self, id: &str) -> Result<Option<String>, Stop> {
        let (mut line, mut rows) = (vec![id.to_owned()], Vec::new());
        while let Some(id) = line.last().filter(|id| !self.names.contains_key(*id)).cloned() {
            let row = self.sessions.select(&self.database, "WHERE id = ?1", &[&id]);
            let Some(row) = row.map_err(Stop::Import)?.pop() else { break };
            let parent = text_of(&row, "parent_session_id");
            rows.push((id, row));
            match parent {
                Some(parent) if !line.contains(&parent) => line.push(parent),
                _ => break,
            }
        }
        for (id, row) in rows.into_iter().rev() {
            let name = self.open_row(&id, &row).await?;
            self.names.insert(id, name);
        }
        Ok(self.names.get(id).cloned().flatten())
    }

    async fn open_row(&mut self, id: &str, row: &TableRow) -> Result<Option<String>, Stop> {
        let updated = day_time(row.cell("updated_at"));
        let since = self.run.import.options.since;
        if since.is_some_and(|since| updated.is_some_and(|updated| updated < since)) {
            self.left_out = true;
            return Ok(None);
        }
        let name = name(self.run.import, id, row).await?;
        let parent = match text_of(row, "parent_session_id") {
            Some(parent) => match self.names.get(&parent).cloned().flatten() {
                Some(name) => self.run.id(&name).await?,
                None => None,
            },
            None => None,
        };
        let dir = text_of(row, "working_dir").unwrap_or_else(|| "/".to_owned());
        let kind_of = text_of(row, "session_type").filter(|word| word != "user");
        let wanted = Wanted {
            origin: self.run.import.origin(&name),
            created_at: day_time(row.cell("created_at"))
                .or(updated)
                .unwrap_or(Timestamp::from_unix_ms(0)),
            repo: (self.run.import.options.repo_of)(Path::new(&dir)),
            kind: kind(SOURCE, None),
            project_dir: project_dir(&dir),
            parent,
            forked_from: None,
            labels: kind_of.map(|word| ("agent-type", word)).into_iter().collect(),
            title_before: None,
        };
        self.run.open(wanted, title(row)).await?;
        self.run.take(&name, of_session(row)).await?;
        if self.ledger.is_none() {
            self.run.take(&name, of_totals(row)).await?;
        }
        Ok(Some(name))
    }
}

/// What the session of that id is called here: as there, unless another session has that name.
async fn name(import: &Import<'_>, id: &str, row: &TableRow) -> Result<String, StoreError> {
    let (key, own) = (format!("session/{id}"), digest(row));
    let holder: Option<String> = mark(import, &key).await?;
    match holder {
        Some(holder) if holder != own => Ok(format!("{id}@{own}")),
        Some(_) => Ok(id.to_owned()),
        None => {
            set_mark(import, &key, &own).await?;
            Ok(id.to_owned())
        }
    }
}

/// The name that a person gave it counts more than one that was made up.
fn title(row: &TableRow) -> Option<Title> {
    let given = matches!(row.cell("user_set_name"), Cell::Integer(1));
    let rank = if given { TitleRank::Given } else { TitleRank::Made };
    let text = text_of(row, "name").or_else(|| text_of(row, "description"))?;
    Title::of(rank, &text)
}
