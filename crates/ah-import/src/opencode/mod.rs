//! opencode's database: `opencode.db`, which keeps every change of a session as an event, and the
//! newest state of sessions, messages and parts as rows.
//!
//! An event is known by its number in its session. A session that began before there were events is
//! read from its rows first. A part that grows is told again: who reads takes the newest telling.
//! Sub-agents are sessions that name their parent.

mod entry;
mod messages;

use std::path::Path;

use ah_model::Timestamp;
use ah_store::Store;
use serde::{Deserialize, Serialize};

use self::entry::{of_event, of_message, of_part, of_session, time};
use self::messages::Messages;
use crate::foreign_db::{Database, Program, Table, TableRow};
use crate::transcript::{
    Import, RowRun, Title, TitleRank, TranscriptOptions, TranscriptReport, Wanted, databases, kind,
    mark, project_dir, set_mark, text_of,
};
use crate::writer::Stop;
use crate::{ImportError, Progress};

/// What the sessions say they came from.
pub(crate) const SOURCE: &str = "opencode";

/// What a session is called before it has a title.
const UNTITLED: [&str; 2] = ["New session - ", "Child session - "];

/// How far a database was read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Position {
    /// The newest event, by its place and its id: places of deleted events are given again.
    rowid: i64,
    event: String,
    /// The newest change of a session that has no events.
    updated: i64,
}

pub(crate) async fn import(
    store: &dyn Store,
    root: &Path,
    options: &TranscriptOptions<'_>,
    progress: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<TranscriptReport, ImportError> {
    let mut import = Import::new(store, SOURCE, options);
    let found = databases(root, options, |name| name.starts_with(SOURCE) && name.ends_with(".db"))?;
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
    let database = Database::open(Program::Opencode, path)?;
    let Some(sessions) = Table::find(&database, "session")? else {
        return Err(database.refuse("it has no table session".to_owned()));
    };
    let key = path.to_string_lossy();
    let before: Position = mark(import, &key).await?.unwrap_or_default();
    let events = Table::find(&database, "event")?;
    let position = known(&database, events.as_ref(), before.clone())?;
    let messages = Messages::new(&database)?;
    let mut source = Source {
        database,
        sessions,
        events,
        messages,
        run: RowRun::new(import),
        position,
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

/// Where to go on: at the start when the newest event is not the one that was read.
fn known(
    database: &Database,
    events: Option<&Table>,
    position: Position,
) -> Result<Position, ImportError> {
    let Some(events) = events.filter(|_| position.rowid > 0) else { return Ok(position) };
    let row = events.select(database, "WHERE rowid = ?1", &[&position.rowid])?;
    let is_same = row.first().and_then(|row| text_of(row, "id")) == Some(position.event.clone());
    Ok(if is_same { position } else { Position { rowid: 0, ..position } })
}

/// A database on its way.
struct Source<'i, 'a> {
    database: Database,
    sessions: Table,
    events: Option<Table>,
    messages: Messages,
    run: RowRun<'i, 'a>,
    position: Position,
    /// Whether a session was too old.
    left_out: bool,
}

impl Source<'_, '_> {
    async fn take(&mut self, key: &str) -> Result<(), Stop> {
        self.without_events(key).await?;
        while let Some(events) = &self.events {
            let after = "WHERE rowid > ?1 ORDER BY rowid";
            let page = events
                .select(&self.database, after, &[&self.position.rowid])
                .map_err(Stop::Import)?;
            let Some(last) = page.last() else { break };
            let position = Position {
                rowid: last.rowid,
                event: text_of(last, "id").unwrap_or_default(),
                ..self.position.clone()
            };
            for row in &page {
                self.event(row).await?;
            }
            self.reached(key, position).await?;
        }
        Ok(())
    }

    async fn event(&mut self, row: &TableRow) -> Result<(), Stop> {
        let Some(name) = text_of(row, "aggregate_id") else { return Ok(()) };
        let is_first = row.cell("seq").bytes() == b"0";
        let kind = text_of(row, "type").unwrap_or_default();
        if !self.open(&name).await? {
            return Ok(());
        }
        if is_first && !kind.starts_with("session.created") {
            // It is older than its events.
            self.rows_of(&name).await?;
        }
        let entry = of_event(row, &mut self.messages, &self.database);
        self.run.take(&name, entry).await
    }

    /// Takes the sessions that have no events, as far as they changed.
    async fn without_events(&mut self, key: &str) -> Result<(), Stop> {
        let numbered = self.database.columns("event_sequence").map_err(Stop::Import)?;
        let which = match numbered.is_empty() {
            true => "",
            false => "id NOT IN (SELECT aggregate_id FROM event_sequence) AND ",
        };
        let condition = format!("WHERE {which}time_updated > ?1 ORDER BY time_updated");
        loop {
            let page = self
                .sessions
                .select(&self.database, &condition, &[&self.position.updated])
                .map_err(Stop::Import)?;
            let Some(last) = page.last() else { return Ok(()) };
            let updated = time(last, "time_updated").map_or(0, Timestamp::unix_ms);
            for row in &page {
                let Some(name) = text_of(row, "id") else { continue };
                if self.open(&name).await? {
                    self.rows_of(&name).await?;
                }
            }
            let position = Position { updated, ..self.position.clone() };
            self.reached(key, position).await?;
        }
    }

    /// Takes the row of a session, its messages and their parts as they are by now. Ids begin with
    /// the time.
    async fn rows_of(&mut self, name: &str) -> Result<(), Stop> {
        let row = self.sessions.select(&self.database, "WHERE id = ?1", &[&name]);
        if let Some(row) = row.map_err(Stop::Import)?.first() {
            self.run.take(name, of_session(row)).await?;
        }
        let mut after = String::new();
        loop {
            let page = self.messages.messages_of(&self.database, name, &after);
            let page = page.map_err(Stop::Import)?;
            let Some(last) = page.last().and_then(|row| text_of(row, "id")) else { return Ok(()) };
            for row in &page {
                let entry = of_message(row, &mut self.messages);
                self.run.take(name, entry).await?;
                self.parts_of(name, &text_of(row, "id").unwrap_or_default()).await?;
            }
            after = last;
        }
    }

    async fn parts_of(&mut self, name: &str, message: &str) -> Result<(), Stop> {
        let mut after = String::new();
        loop {
            let page = self.messages.parts_of(&self.database, message, &after);
            let page = page.map_err(Stop::Import)?;
            let Some(last) = page.last().and_then(|row| text_of(row, "id")) else { return Ok(()) };
            for row in &page {
                let entry = of_part(row, &mut self.messages, &self.database);
                self.run.take(name, entry).await?;
            }
            after = last;
        }
    }

    /// Finds or makes the session of that id, and before it its parents; whether it is wanted.
    async fn open(&mut self, name: &str) -> Result<bool, Stop> {
        let mut line = vec![name.to_owned()];
        let mut rows = Vec::new();
        while let Some(id) = line.last().filter(|id| !self.run.has(id)).cloned() {
            let row = self.sessions.select(&self.database, "WHERE id = ?1", &[&id]);
            let row = row.map_err(Stop::Import)?.pop();
            let parent = row.as_ref().and_then(|row| text_of(row, "parent_id"));
            rows.push((id, row));
            match parent {
                Some(parent) if !line.contains(&parent) => line.push(parent),
                _ => break,
            }
        }
        for (id, row) in rows.into_iter().rev() {
            let Some(row) = row else {
                // It was deleted there. Its events went with it, all but what was read already.
                return Ok(self.run.has(name));
            };
            self.open_row(&id, &row).await?;
        }
        Ok(self.run.has(name))
    }

    async fn open_row(&mut self, name: &str, row: &TableRow) -> Result<(), Stop> {
        let updated = time(row, "time_updated");
        let since = self.run.import.options.since;
        if since.is_some_and(|since| updated.is_some_and(|updated| updated < since)) {
            self.left_out = true;
            return Ok(());
        }
        let parent = match text_of(row, "parent_id") {
            Some(parent) => self.run.id(&parent).await?,
            None => None,
        };
        let dir = text_of(row, "directory").unwrap_or_else(|| "/".to_owned());
        let created_at = time(row, "time_created").or(updated);
        let wanted = Wanted {
            origin: self.run.import.origin(name),
            created_at: created_at.unwrap_or(Timestamp::from_unix_ms(0)),
            repo: (self.run.import.options.repo_of)(Path::new(&dir)),
            kind: kind(SOURCE, text_of(row, "version").as_deref()),
            project_dir: project_dir(&dir),
            parent,
            forked_from: None,
            labels: Vec::new(),
            title_before: None,
        };
        let title = text_of(row, "title");
        let title = title.filter(|title| !UNTITLED.iter().any(|begin| title.starts_with(begin)));
        let title = title.and_then(|title| Title::of(TitleRank::Made, &title));
        self.run.open(wanted, title).await
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
}
