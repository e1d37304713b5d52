//! What the transcripts of coding agents have in common: JSON lines in files that grow, a session
//! or more in each.
//!
//! A line is an event with the line as its payload, byte for byte. It is known again by a key that
//! the format makes of it, so that reading a file twice, in any number of pieces, or by two imports
//! at once, gives the same events. A line without its end is left for the next import. Memory is
//! bounded by a batch of events, the longest line that is one event, and the ids of one session's
//! answers.

mod ahead;
mod files;
mod lineage;
mod position;
mod report;
mod rows;
mod session;
mod spent;
mod view;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};

use ah_model::limits::EVENT_DATA_BYTES_MAX;
use ah_model::{NewRepo, Origin, RawJson, Session, Timestamp, Usage};
use ah_store::{Store, StoreError};
use serde_json::Value;

use self::ahead::{Ahead, ReadLine};
use self::position::{Position, Positions};
use self::session::Item;
use crate::agent::json;
use crate::lines::{Line, Lines};
use crate::report::Tally;
use crate::unreadable::{Place, fingerprint, fingerprint_of};
use crate::writer::{Raw, Stop};
use crate::{ImportError, Progress};

pub(crate) use ahead::{Content, content};
pub(crate) use files::{SourceFile, find, with_log};
pub use files::{Stamp, transcript_files};
pub(crate) use lineage::Lineage;
pub use report::{FileCounts, TranscriptReport, TranscriptSession};
pub(crate) use rows::{RowEntry, RowRun, count_of, databases, mark, row_json, set_mark, text_of};
pub(crate) use session::{
    BATCH_BYTES, BATCH_EVENTS, Facts, SessionLog, Title, TitleRank, Turn, Wanted, is_label, kind,
    project_dir, rewrite,
};
pub(crate) use spent::{Answers, Spent, Totals, USAGE, over};
pub(crate) use view::{View, foreign};

/// How to import transcripts.
pub struct TranscriptOptions<'a> {
    /// Only says what an import would do.
    pub dry_run: bool,
    /// Only files that were written to at this time or later.
    pub since: Option<Timestamp>,
    /// Only these files, by their whole paths; the others are not looked at.
    pub only: Option<&'a BTreeSet<PathBuf>>,
    /// The repository that a directory belongs to; a plain directory when it is in none, or is not
    /// on this machine.
    pub repo_of: &'a (dyn Fn(&Path) -> NewRepo + Sync),
}

/// How many bytes of a file's beginning, and how many lines, tell whose it is.
const HEAD_BYTES: u64 = 4 * 1024 * 1024;
const HEAD_LINES: u64 = 400;

/// How many bytes are read until it is noted how far: an import that is killed reads them again.
const SAVE_BYTES: u64 = 32 * 1024 * 1024;

/// What a format makes of a line.
#[derive(Debug)]
pub(crate) struct Entry {
    /// The session it belongs to, by its id there.
    pub(crate) session: String,
    pub(crate) kind: String,
    pub(crate) key: String,
    /// Whether it says its time itself.
    pub(crate) timed: bool,
    pub(crate) facts: Facts,
    pub(crate) spent: Option<Spent>,
    /// Whether the line has the totals of the session, to be looked at when all before is counted.
    pub(crate) totals: bool,
    /// Whether the session that this one was forked from has the line.
    pub(crate) copied: bool,
}

/// Reads the lines of one file in order.
pub(crate) trait Reader: Send {
    /// What a line means.
    fn read(&mut self, line: &RawJson, number: u64) -> Entry;

    /// The time of the newest line that says it.
    fn time(&self) -> Timestamp;

    /// The key of a line that cannot be read.
    fn raw_key(&mut self, fingerprint: u64, number: u64) -> String;

    /// What the totals of the line before say beyond the tokens that are `counted`.
    fn beyond(&mut self, _counted: Usage) -> Option<Spent> {
        None
    }

    /// What it has to know to go on after the newest line.
    fn state(&self) -> Value;
}

/// An import of one program's transcripts.
pub(crate) struct Import<'a> {
    pub(crate) store: &'a dyn Store,
    pub(crate) options: &'a TranscriptOptions<'a>,
    pub(crate) source: &'static str,
    positions: Positions<'a>,
    report: TranscriptReport,
    /// The tokens of the sessions that were read.
    totals: HashMap<String, Usage>,
    /// What belongs to no session.
    pub(crate) general: Tally,
}

/// A file with something new in it.
pub(crate) struct Grown {
    pub(crate) file: SourceFile,
    pub(crate) position: Position,
}

/// A file, and whose it is.
pub(crate) struct Reading<'r, 'a> {
    pub(crate) grown: &'r Grown,
    pub(crate) wanted: Wanted,
    /// The session, where it was opened before.
    pub(crate) opened: Option<SessionLog<'a>>,
    /// The tokens of other files that the totals of this one cover.
    pub(crate) covered: Usage,
}

impl<'a> Import<'a> {
    pub(crate) fn new(
        store: &'a dyn Store,
        source: &'static str,
        options: &'a TranscriptOptions<'a>,
    ) -> Self {
        Self {
            store,
            options,
            source,
            positions: Positions::new(store, source),
            report: TranscriptReport::new(source, options.dry_run),
            totals: HashMap::new(),
            general: Tally::default(),
        }
    }

    /// Those of `files` that have something new, and how many bytes of it.
    pub(crate) async fn grown(
        &mut self,
        files: Vec<SourceFile>,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<Vec<Grown>, StoreError> {
        let (mut grown, mut bytes) = (Vec::new(), 0);
        for file in files {
            self.report.files.found += 1;
            if self.options.only.is_some_and(|only| !only.contains(&file.path)) {
                self.report.files.unchanged += 1;
                continue;
            }
            let changed = file.changed.unwrap_or(Timestamp::MAX);
            if self.options.since.is_some_and(|since| changed < since) {
                self.report.files.older += 1;
                continue;
            }
            let position = self.positions.load(&file).await?;
            if position.offset == file.bytes {
                self.report.files.unchanged += 1;
                continue;
            }
            bytes += file.bytes - position.offset;
            grown.push(Grown { file, position });
        }
        progress(Progress::Found { agents: grown.len() as u64, bytes });
        Ok(grown)
    }

    pub(crate) fn origin(&self, name: &str) -> Origin {
        Origin { source: self.source.to_owned(), external_id: name.to_owned() }
    }

    /// The session of that name, if it is here.
    pub(crate) async fn known(&self, name: &str) -> Result<Option<Session>, StoreError> {
        self.store.session_of_origin(self.origin(name)).await
    }

    /// Has a file read from its start if the session it was read for is not here any more.
    pub(crate) async fn restart(&self, name: &str, grown: &mut Grown) -> Result<(), StoreError> {
        if grown.position.offset > 0 && self.known(name).await?.is_none() {
            grown.position = Position::default();
        }
        Ok(())
    }

    /// Finds or makes a session before its lines are read, so that others can name it.
    pub(crate) async fn open(&self, wanted: &Wanted) -> Result<SessionLog<'a>, Stop> {
        SessionLog::open(self.store, self.options.dry_run, wanted.clone()).await
    }

    /// The tokens of the session of that name.
    pub(crate) async fn total(&self, name: &str) -> Result<Usage, StoreError> {
        match self.totals.get(name) {
            Some(total) => Ok(*total),
            None => Ok(self.known(name).await?.map_or_else(Usage::default, |row| row.usage)),
        }
    }

    /// Notes that a database was found, and whether it had something new.
    pub(crate) fn looked(&mut self, has_new: bool) {
        self.report.files.found += 1;
        match has_new {
            true => self.report.files.read += 1,
            false => self.report.files.unchanged += 1,
        }
    }

    /// Notes that a database could not be taken to its end.
    pub(crate) fn failed(&mut self, name: &str, reason: String) {
        self.report.files.failed += 1;
        self.general.remark(name, None, reason);
    }

    /// Notes that nothing is taken of a file.
    pub(crate) fn skip(&mut self, file: &SourceFile, reason: &str) {
        self.report.files.skipped += 1;
        self.general.remark(&file.name, None, format!("left out: {reason}"));
    }

    /// Notes that a file cannot be taken, and ends the import if nothing can.
    pub(crate) fn fail(&mut self, file: &SourceFile, stop: Stop) -> Result<(), ImportError> {
        match stop {
            Stop::Import(error) => return Err(error),
            Stop::Agent(reason) | Stop::Failed(reason) => {
                self.report.files.failed += 1;
                self.general.remark(&file.name, None, reason);
            }
        }
        Ok(())
    }

    /// Takes the new lines of a file.
    pub(crate) async fn read(
        &mut self,
        mut reading: Reading<'_, 'a>,
        reader: &mut dyn Reader,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<(), ImportError> {
        let file = &reading.grown.file;
        let opened = reading.opened.take().map(|log| (log.name().to_owned(), log));
        let mut logs: BTreeMap<_, _> = opened.into_iter().collect();
        let mut run = FileRun { import: self, reading: &reading, logs: &mut logs };
        let result = run.lines(reader, progress).await;
        let failed = match result {
            Ok(()) => None,
            Err(Stop::Agent(reason) | Stop::Failed(reason)) => Some(reason),
            Err(Stop::Import(error)) => return Err(error),
        };
        match failed {
            Some(_) => self.report.files.failed += 1,
            None => self.report.files.read += 1,
        }
        if logs.is_empty()
            && let Some(reason) = &failed
        {
            self.general.remark(&file.name, None, reason.clone());
        }
        for (name, log) in logs {
            let (total, new) = log.usage();
            self.totals.insert(name.clone(), total);
            self.report.add(name, log.id().cloned(), new, log.tally, failed.clone());
        }
        Ok(())
    }

    pub(crate) fn finish(mut self) -> TranscriptReport {
        self.report.remarks = self.general.remarks;
        self.report.more_remarks = self.general.more_remarks;
        self.report
    }
}

/// The first lines of a file that are JSON, until `each` says that it has enough.
pub(crate) fn head(file: &SourceFile, mut each: impl FnMut(&RawJson) -> bool) -> Result<(), Stop> {
    let mut count = 0;
    scan(file, |json, end| {
        count += 1;
        each(json) && count < HEAD_LINES && end < HEAD_BYTES
    })
}

/// The lines of a file that are JSON, each with the place of its end, until `each` says that it has
/// enough.
pub(crate) fn scan(
    file: &SourceFile,
    mut each: impl FnMut(&RawJson, u64) -> bool,
) -> Result<(), Stop> {
    let failed = |error| Stop::io(&file.name, &error);
    let input = File::open(&file.path).map_err(failed)?;
    let mut lines = Lines::new(input, file.bytes, EVENT_DATA_BYTES_MAX);
    while let Some(line) = lines.next().map_err(failed)?.filter(|line| line.ended) {
        let end = lines.place().0;
        let read = lines.held(&line).and_then(|bytes| json(bytes).ok());
        if read.is_some_and(|json| !each(&json, end)) {
            break;
        }
    }
    Ok(())
}

/// One file on its way.
struct FileRun<'r, 'i, 'a> {
    import: &'i Import<'a>,
    reading: &'r Reading<'r, 'a>,
    logs: &'r mut BTreeMap<String, SessionLog<'a>>,
}

impl<'a> FileRun<'_, '_, 'a> {
    async fn lines(
        &mut self,
        reader: &mut dyn Reader,
        progress: &mut (dyn FnMut(Progress<'_>) + Send),
    ) -> Result<(), Stop> {
        let Grown { file, position } = self.reading.grown;
        let failed = |error| Stop::io(&file.name, &error);
        let mut lines = Ahead::start(file, position).map_err(failed)?;
        let start = (position.offset, position.line);
        let (mut done, mut told, mut saved) = (start, position.offset, position.offset);
        while let Some(ReadLine { line, end, content }) = lines.next().map_err(failed)? {
            let full = self.line(line, content, reader).await?;
            done = end;
            if full {
                self.flush().await?;
                if done.0 - saved >= SAVE_BYTES {
                    self.save(done, reader).await?;
                    saved = done.0;
                }
                progress(Progress::Agent { name: &file.name, bytes: done.0 - told });
                told = done.0;
            }
        }
        for log in self.logs.values_mut() {
            log.finish().await?;
        }
        progress(Progress::Agent { name: &file.name, bytes: file.bytes - told });
        if done != start {
            self.save(done, reader).await?;
        }
        Ok(())
    }

    /// Takes a line; whether it is time to flush.
    async fn line(
        &mut self,
        line: Line,
        content: Content,
        reader: &mut dyn Reader,
    ) -> Result<bool, Stop> {
        let time = reader.time();
        match content {
            Content::Blank => {
                let main = self.reading.wanted.origin.external_id.clone();
                self.log(&main, time).await?.tally.records.blank += 1;
                Ok(false)
            }
            Content::Json(json) => self.entry(json, line.number, reader).await,
            Content::Bad(bytes, reason) => {
                let key = reader.raw_key(fingerprint(&bytes), line.number);
                self.keep_raw(&line, &reason, Raw::<&[u8]>::Held(&bytes), &key, time).await
            }
            Content::Long => self.long_line(line, reader).await,
        }
    }

    /// Keeps a line that is longer than an event, which is read again piece by piece.
    async fn long_line(&mut self, line: Line, reader: &mut dyn Reader) -> Result<bool, Stop> {
        let file = &self.reading.grown.file;
        let failed = |error| Stop::io(&file.name, &error);
        let input = File::open(&file.path).map_err(failed)?;
        let mut lines = Lines::new(input, file.bytes, EVENT_DATA_BYTES_MAX);
        let whole = lines.revisit(&line).map_err(failed)?;
        let digest = fingerprint_of(whole, line.bytes).map_err(failed)?;
        let (time, key) = (reader.time(), reader.raw_key(digest, line.number));
        let reason = format!("{} bytes, more than an event holds", line.bytes);
        let raw = Raw::Long(lines.revisit(&line).map_err(failed)?, line.bytes);
        self.keep_raw(&line, &reason, raw, &key, time).await
    }

    async fn entry(
        &mut self,
        data: RawJson,
        number: u64,
        reader: &mut dyn Reader,
    ) -> Result<bool, Stop> {
        let entry = reader.read(&data, number);
        let time = reader.time();
        let log = self.log(&entry.session, time).await?;
        if !entry.timed {
            log.tally.records.untimed += 1;
        }
        if entry.copied {
            log.tally.given.present += 1;
            return Ok(false);
        }
        log.note(entry.facts);
        let full = log.push(Item { kind: entry.kind, key: entry.key, data, time });
        if let Some(spent) = &entry.spent {
            log.count(spent, time);
        }
        if entry.totals {
            let counted = self.reading.covered;
            let counted = self.logs.values().fold(counted, |sum, log| sum.plus(log.usage().0));
            if let Some(spent) = reader.beyond(counted) {
                self.log(&entry.session, time).await?.count(&spent, time);
            }
        }
        Ok(full)
    }

    async fn keep_raw<R: std::io::Read + Send>(
        &mut self,
        line: &Line,
        reason: &str,
        raw: Raw<'_, R>,
        key: &str,
        time: Timestamp,
    ) -> Result<bool, Stop> {
        let place = Place::new(&self.reading.grown.file.name, Some(line.number), reason);
        let main = self.reading.wanted.origin.external_id.clone();
        self.log(&main, time).await?.keep_raw(&place, raw, key, time).await
    }

    /// The session of that name, which is that of the file or a child of it that begins at `time`.
    async fn log(&mut self, name: &str, time: Timestamp) -> Result<&mut SessionLog<'a>, Stop> {
        if !self.logs.contains_key(name) {
            let wanted = self.wanted(name, time).await?;
            let Import { store, options, .. } = self.import;
            let log = SessionLog::open(*store, options.dry_run, wanted).await?;
            self.logs.insert(name.to_owned(), log);
        }
        self.logs.get_mut(name).ok_or_else(|| Stop::Failed(format!("{name} is not there")))
    }

    async fn wanted(&self, name: &str, time: Timestamp) -> Result<Wanted, StoreError> {
        let main = &self.reading.wanted;
        if main.origin.external_id == name {
            return Ok(main.clone());
        }
        let parent = self.import.known(&main.origin.external_id).await?.map(|parent| parent.id);
        Ok(Wanted {
            origin: self.import.origin(name),
            created_at: time,
            parent,
            forked_from: None,
            labels: Vec::new(),
            title_before: None,
            ..main.clone()
        })
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        for log in self.logs.values_mut() {
            log.flush().await?;
        }
        Ok(())
    }

    async fn save(&self, place: (u64, u64), reader: &dyn Reader) -> Result<(), Stop> {
        if !self.import.options.dry_run {
            let file = &self.reading.grown.file;
            self.import.positions.save(file, place, reader.state()).await?;
        }
        Ok(())
    }
}
