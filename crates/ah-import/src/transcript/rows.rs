//! Sessions that a program keeps as rows of a database instead of lines of a file.
//!
//! Rows are taken in the order they were written, whosever they are, a page at a time. After each
//! page the sessions are whole, and then it is noted how far the import came.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ah_model::limits::KV_KEY_BYTES_MAX;
use ah_model::{KvEntry, RawJson, SessionId, Timestamp, to_hex};
use ah_store::StoreError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::ahead::fitting;
use super::session::Item;
use super::{Facts, Import, SessionLog, Spent, Title, TranscriptOptions, Wanted, with_log};
use crate::ImportError;
use crate::agent::json;
use crate::foreign_db::{Cell, TableRow};
use crate::unreadable::Place;
use crate::writer::{Raw, Stop};

/// A row, as an event of its session.
pub(crate) struct RowEntry {
    pub(crate) kind: String,
    pub(crate) key: String,
    pub(crate) data: RawJson,
    /// That of the row before when it says none.
    pub(crate) time: Option<Timestamp>,
    pub(crate) facts: Facts,
    pub(crate) spent: Option<Spent>,
}

/// The sessions of a database on their way.
pub(crate) struct RowRun<'i, 'a> {
    pub(crate) import: &'i mut Import<'a>,
    logs: BTreeMap<String, SessionLog<'a>>,
    /// Those that something was taken of since they were whole.
    touched: Vec<String>,
    /// The titles that were given them, as far as that is noted.
    titles: BTreeMap<String, Option<Title>>,
}

impl<'i, 'a> RowRun<'i, 'a> {
    pub(crate) fn new(import: &'i mut Import<'a>) -> Self {
        Self { import, logs: BTreeMap::new(), touched: Vec::new(), titles: BTreeMap::new() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.logs.contains_key(name)
    }

    /// The id here of the session `name`; nothing when it is not here.
    pub(crate) async fn id(&self, name: &str) -> Result<Option<SessionId>, StoreError> {
        match self.logs.get(name).and_then(SessionLog::id) {
            Some(id) => Ok(Some(id.clone())),
            None => Ok(self.import.known(name).await?.map(|known| known.id)),
        }
    }

    /// Finds or makes a session; `title` is the one that it has there.
    pub(crate) async fn open(
        &mut self,
        mut wanted: Wanted,
        title: Option<Title>,
    ) -> Result<(), Stop> {
        let name = wanted.origin.external_id.clone();
        let before: Option<Title> = mark(self.import, &title_key(&name)).await?;
        wanted.title_before = before.as_ref().map(|title| title.text.clone());
        let mut log = self.import.open(&wanted).await?;
        for title in [before.clone(), title] {
            log.note(Facts { title, ..Facts::default() });
        }
        self.titles.insert(name.clone(), before);
        self.logs.insert(name, log);
        Ok(())
    }

    /// Takes a row of the session `name`; one that can be no event is kept raw.
    pub(crate) async fn take(&mut self, name: &str, entry: RowEntry) -> Result<(), Stop> {
        let Some(log) = self.logs.get_mut(name) else { return Ok(()) };
        let RowEntry { kind, key, data, time, facts, spent } = entry;
        touch(&mut self.touched, name);
        let time = time.unwrap_or(log.newest());
        log.note(facts);
        let full = match fitting(data.clone()) {
            Ok(data) => log.push(Item { kind, key, data, time }),
            Err(reason) => {
                let place = Place::new(&kind, None, &reason);
                let raw = Raw::<&[u8]>::Held(data.as_str().as_bytes());
                log.keep_raw(&place, raw, &key, time).await?
            }
        };
        if let Some(spent) = &spent {
            log.count(spent, time);
        }
        if full {
            log.flush().await?;
        }
        Ok(())
    }

    /// Brings every session that something was taken of to its end.
    pub(crate) async fn settle(&mut self) -> Result<(), Stop> {
        for name in std::mem::take(&mut self.touched) {
            let Some(log) = self.logs.get_mut(&name) else { continue };
            log.finish().await?;
            let title = log.title().cloned();
            if title.is_some() && self.titles.get(&name) != Some(&title) {
                set_mark(self.import, &title_key(&name), &title).await?;
                self.titles.insert(name, title);
            }
        }
        Ok(())
    }

    /// Reports what became of the sessions.
    pub(crate) fn finish(self) {
        for (name, log) in self.logs {
            let (_, new) = log.usage();
            self.import.report.add(name, log.id().cloned(), new, log.tally, None);
        }
    }
}

fn touch(touched: &mut Vec<String>, name: &str) {
    if touched.last().is_none_or(|last| last != name) && !touched.iter().any(|one| one == name) {
        touched.push(name.to_owned());
    }
}

fn title_key(name: &str) -> String {
    format!("title/{name}")
}

/// What is kept in the store's pairs under `key`.
pub(crate) async fn mark<T: DeserializeOwned>(
    import: &Import<'_>,
    key: &str,
) -> Result<Option<T>, StoreError> {
    match import.store.kv_get(scope(import), short(key)).await {
        Ok(entry) => Ok(serde_json::from_str(&entry.value).ok()),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Keeps `value` under `key`, unless nothing may be written.
pub(crate) async fn set_mark<T: Serialize + Sync>(
    import: &Import<'_>,
    key: &str,
    value: &T,
) -> Result<(), StoreError> {
    if import.options.dry_run {
        return Ok(());
    }
    let value = serde_json::to_string(value).unwrap_or_default();
    import.store.kv_set(KvEntry { scope: scope(import), key: short(key), value }).await
}

fn scope(import: &Import<'_>) -> String {
    format!("import/{}", import.source)
}

fn short(key: &str) -> String {
    match key.len() > KV_KEY_BYTES_MAX {
        true => to_hex(&Sha256::digest(key)),
        false => key.to_owned(),
    }
}

/// The databases at `root` that are to be looked at: itself, or those in it whose names `is_one`
/// takes.
pub(crate) fn databases(
    root: &Path,
    options: &TranscriptOptions<'_>,
    is_one: impl Fn(&str) -> bool,
) -> Result<Vec<PathBuf>, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: root.to_owned(), source };
    let root = root.canonicalize().map_err(unreadable)?;
    if root.is_file() {
        return Ok(vec![root]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&root).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_file() && is_one(name) {
            found.push(path);
        }
    }
    found.sort();
    found.retain(|path| is_wanted(path, options));
    Ok(found)
}

fn is_wanted(path: &Path, options: &TranscriptOptions<'_>) -> bool {
    let has = |only: &BTreeSet<PathBuf>| only.contains(path) || only.contains(&with_log(path));
    options.only.is_none_or(has)
}

/// A row as JSON, with the columns in their order. Those of `inner` hold JSON and stay it.
pub(crate) fn row_json(row: &TableRow, inner: &[&str]) -> RawJson {
    let mut text = String::from("{");
    for (name, cell) in &row.cells {
        if text.len() > 1 {
            text.push(',');
        }
        let value = match inner.contains(&name.as_str()) {
            true => json(&cell.bytes()).unwrap_or_else(|_| cell.json()),
            false => cell.json(),
        };
        text.push_str(RawJson::of(name).unwrap_or_else(|_| RawJson::null()).as_str());
        text.push(':');
        text.push_str(value.as_str());
    }
    text.push('}');
    crate::raw_object::json_of(text)
}

/// A text of a row, if it has one that is not empty.
pub(crate) fn text_of(row: &TableRow, column: &str) -> Option<String> {
    row.cell(column).text().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// A count of a row.
pub(crate) fn count_of(row: &TableRow, column: &str) -> u64 {
    match row.cell(column) {
        Cell::Integer(number) => u64::try_from(*number).unwrap_or(0),
        Cell::Null | Cell::Real(_) | Cell::Text(_) | Cell::Blob(_) => 0,
    }
}
