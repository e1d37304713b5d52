//! Export and import of a session over any store, in bounded memory.

use std::io::{BufRead, Write};

use ah_model::{
    EXPORT_FORMAT, EXPORT_VERSION, Event, EventQuery, ExportDigest, ExportError, ExportFooter,
    ExportHeader, ExportLine, ExportedEvent, Invalid, NewEvent, PageLimit, PageRequest, Redaction,
    Redactor, Session, SessionId, Task, TaskFilter, limits, parse_export_line,
};
use serde::Serialize;

use crate::{BoxError, Kind, Store, StoreError};

const BATCH_EVENTS: usize = 1_000;
const BATCH_BYTES: usize = 8 * 1024 * 1024;
/// A line holds one event, whose text may be escaped: at most six bytes for one.
const LINE_BYTES_MAX: u64 = 6 * limits::EVENT_DATA_BYTES_MAX as u64;

/// Writes the session as a document; the same state gives the same bytes. Returns its events.
pub async fn export_session(
    store: &dyn Store,
    id: &SessionId,
    out: &mut (dyn Write + Send),
) -> Result<u64, StoreError> {
    let mut export = SessionExport::begin(store, id.clone()).await?;
    while let Some(part) = export.part(store).await? {
        out.write_all(&part).map_err(write_error)?;
    }
    out.flush().map_err(write_error)?;
    Ok(export.last_seq)
}

/// A session as a document, part by part: whoever passes it on holds no more than one.
#[expect(missing_debug_implementations, reason = "it is passed on, never looked at")]
pub struct SessionExport {
    id: SessionId,
    last_seq: u64,
    after: u64,
    /// Lines that were not given yet.
    lines: Vec<u8>,
    /// Of all lines so far; gone with the last.
    digest: Option<ExportDigest>,
}

impl SessionExport {
    /// The document as the session is now: events appended since belong to the next export.
    pub async fn begin(store: &dyn Store, id: SessionId) -> Result<Self, StoreError> {
        let session = store.session(id.clone()).await?;
        let tasks = tasks_of(store, &id).await?;
        let (last_seq, digest) = (session.last_seq, Some(ExportDigest::default()));
        let mut export = Self { id, last_seq, after: 0, lines: Vec::new(), digest };
        export.line(&ExportHeader::new(session, tasks))?;
        Ok(export)
    }

    /// The next lines; nothing after the last.
    pub async fn part(&mut self, store: &dyn Store) -> Result<Option<Vec<u8>>, StoreError> {
        if self.after < self.last_seq {
            self.read_on(store).await?;
        } else if let Some(digest) = self.digest.take() {
            self.line(&ExportFooter { events: self.last_seq, sha256: digest.finish() })?;
        } else {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.lines)))
    }

    async fn read_on(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        let query =
            EventQuery { after: self.after, limit: PageLimit::MAX, ..EventQuery::default() };
        let events = store.events(self.id.clone(), query).await?;
        if events.is_empty() {
            let source = format!("it ends at {} instead of {}", self.after, self.last_seq);
            return Err(StoreError::corrupt(format!("the log of session {}", self.id), source));
        }
        for event in events {
            self.after = event.seq;
            if event.seq <= self.last_seq {
                self.line(&ExportedEvent::from(event))?;
            }
        }
        Ok(())
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), StoreError> {
        let line = serde_json::to_string(value)
            .map_err(|error| StoreError::backend("write the export", error))?;
        if let Some(digest) = &mut self.digest {
            digest.line(&line);
        }
        self.lines.extend_from_slice(line.as_bytes());
        self.lines.push(b'\n');
        Ok(())
    }
}

/// Every task of the session, oldest first.
async fn tasks_of(store: &dyn Store, id: &SessionId) -> Result<Vec<Task>, StoreError> {
    let filter = TaskFilter { session_id: Some(id.clone()), ..TaskFilter::default() };
    let mut request = PageRequest { limit: PageLimit::MAX, cursor: None };
    let mut tasks = Vec::new();
    loop {
        let page = store.list_tasks(filter.clone(), request).await?;
        tasks.extend(page.items);
        if page.next_cursor.is_none() {
            break;
        }
        request = PageRequest { limit: PageLimit::MAX, cursor: page.next_cursor };
    }
    tasks.reverse();
    Ok(tasks)
}

fn write_error(error: std::io::Error) -> StoreError {
    StoreError::backend("write the export", error)
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// The session.
    pub session_id: SessionId,
    /// Events that were new.
    pub imported: u64,
    /// Events that were there already.
    pub present: u64,
}

/// Reads a document from start to end and proves that it is whole.
pub fn check_export(input: &mut dyn BufRead) -> Result<ExportHeader, StoreError> {
    let mut lines = Lines::new(input);
    let mut digest = ExportDigest::default();
    let header = read_header(&mut lines, &mut digest)?;
    let mut expected = 1;
    let footer = loop {
        let Some((number, line)) = lines.next()? else {
            return Err(damaged(ExportError::Cut(expected)));
        };
        match parse_export_line(number, line).map_err(damaged)? {
            ExportLine::Footer(footer) => {
                check_count(number, &header, &footer, expected - 1)?;
                break footer;
            }
            ExportLine::Event(event) if event.seq != expected => {
                let found = event.seq;
                return Err(damaged(ExportError::Seq { line: number, expected, found }));
            }
            ExportLine::Event(_) => digest.line(line),
        }
        expected += 1;
    };
    let found = digest.finish();
    if footer.sha256 != found {
        return Err(damaged(ExportError::Digest { stated: footer.sha256, found }));
    }
    match lines.next()? {
        Some((number, _)) => Err(damaged(ExportError::Trailing(number))),
        None => Ok(header),
    }
}

/// Header and footer both state how many events there are.
fn check_count(
    line: u64,
    header: &ExportHeader,
    footer: &ExportFooter,
    found: u64,
) -> Result<(), StoreError> {
    for stated in [header.session.last_seq, footer.events] {
        if stated != found {
            let reason = format!("{stated} events are stated, {found} are there");
            return Err(damaged(ExportError::Line { line, reason }));
        }
    }
    Ok(())
}

/// Restores a document that [`check_export`] has passed. Doing it again, or after a crash half
/// way, adds only what is missing; a session of that id with other events, or one that somebody
/// else appends to meanwhile, is a conflict.
pub async fn import_session(
    store: &dyn Store,
    input: &mut (dyn BufRead + Send),
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ImportReport, StoreError> {
    let mut lines = Lines::new(input);
    let header = read_header(&mut lines, &mut ExportDigest::default())?;
    let session = begin_restore(store, &header).await?;
    let mut import = Import { store, session: session.id, held: session.last_seq, imported: 0 };
    let mut batch = Vec::new();
    let mut bytes = 0;
    while let Some((number, line)) = lines.next()? {
        bytes += line.len();
        let ExportLine::Event(event) = parse_export_line(number, line).map_err(damaged)? else {
            break;
        };
        batch.push(event);
        if batch.len() >= BATCH_EVENTS || bytes >= BATCH_BYTES {
            progress(number - 1);
            import.batch(std::mem::take(&mut batch)).await?;
            bytes = 0;
        }
    }
    import.batch(batch).await?;
    let present = header.session.last_seq.saturating_sub(import.imported);
    // A session that had every event keeps its own row, which may be newer than the document's.
    if import.imported > 0 {
        store.restore_session(header).await?;
    }
    Ok(ImportReport { session_id: import.session, imported: import.imported, present })
}

/// The session to import into. One that is here already keeps its row until its events are known
/// to be the document's.
async fn begin_restore(store: &dyn Store, header: &ExportHeader) -> Result<Session, StoreError> {
    match store.session(header.session.id.clone()).await {
        Ok(session) if session.created_at == header.session.created_at => Ok(session),
        Ok(_) | Err(StoreError::NotFound { .. }) => store.restore_session(header.clone()).await,
        Err(error) => Err(error),
    }
}

struct Import<'a> {
    store: &'a dyn Store,
    session: SessionId,
    /// How many events the session had before.
    held: u64,
    imported: u64,
}

impl Import<'_> {
    /// Compares the events the session has, appends the ones it has not.
    async fn batch(&mut self, mut events: Vec<ExportedEvent>) -> Result<(), StoreError> {
        let new = events.split_off(events.partition_point(|event| event.seq <= self.held));
        self.compare(events).await?;
        let Some(first) = new.first() else {
            return Ok(());
        };
        let after = first.seq.saturating_sub(1);
        let count = new.len() as u64;
        let new: Vec<NewEvent> = new.into_iter().map(NewEvent::from).collect();
        let done = self.store.append_events_after(self.session.clone(), after, new).await?;
        if done.appended != count {
            return Err(self.differs(done.first_seq));
        }
        self.imported += count;
        Ok(())
    }

    async fn compare(&self, events: Vec<ExportedEvent>) -> Result<(), StoreError> {
        let mut given = events.into_iter().peekable();
        while let Some(first) = given.peek() {
            let query =
                EventQuery { after: first.seq - 1, limit: PageLimit::MAX, ..EventQuery::default() };
            let events = self.store.events(self.session.clone(), query).await?;
            if events.first().is_none_or(|stored| stored.seq != first.seq) {
                return Err(self.differs(first.seq));
            }
            for stored in events {
                let Some(event) = given.next_if(|event| event.seq == stored.seq) else {
                    break;
                };
                if !same(&event, stored) {
                    return Err(self.differs(event.seq));
                }
            }
        }
        Ok(())
    }

    fn differs(&self, seq: u64) -> StoreError {
        let reason = format!("event {seq} differs from the document's");
        StoreError::conflict(Kind::Session, &self.session, reason)
    }
}

/// Whether they are the same, or are so without the secrets that a store takes out.
fn same(event: &ExportedEvent, stored: Event) -> bool {
    let stored = ExportedEvent::from(stored);
    if *event == stored {
        return true;
    }
    let (data, found) = Redactor::clean(Redaction::On, NewEvent::from(event.clone()));
    !found.is_empty() && ExportedEvent { data: data.data, ..event.clone() } == stored
}

fn read_header(
    lines: &mut Lines<'_>,
    digest: &mut ExportDigest,
) -> Result<ExportHeader, StoreError> {
    let Some((_, line)) = lines.next()? else {
        return Err(damaged(ExportError::Header("it is empty".to_owned())));
    };
    let header: ExportHeader = serde_json::from_str(line)
        .map_err(|error| damaged(ExportError::Header(error.to_string())))?;
    if header.format != EXPORT_FORMAT {
        return Err(damaged(ExportError::Header(format!("its format is {:?}", header.format))));
    }
    if header.version > EXPORT_VERSION {
        return Err(damaged(ExportError::Newer(header.version)));
    }
    digest.line(line);
    Ok(header)
}

fn damaged(error: ExportError) -> StoreError {
    Invalid::new("document", error.to_string()).into()
}

struct Lines<'a> {
    input: &'a mut dyn BufRead,
    line: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, line: Vec::new(), number: 0 }
    }

    /// The next line and its number.
    fn next(&mut self) -> Result<Option<(u64, &str)>, StoreError> {
        self.line.clear();
        let read = std::io::Read::take(&mut *self.input, LINE_BYTES_MAX)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| StoreError::backend("read the document", error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        // A last line without its end was cut.
        if self.line.pop() != Some(b'\n') {
            return Err(damaged(ExportError::Cut(self.number)));
        }
        let line = std::str::from_utf8(&self.line).map_err(|error| {
            damaged(ExportError::Line {
                line: self.number,
                reason: BoxError::from(error).to_string(),
            })
        })?;
        Ok(Some((self.number, line)))
    }
}
