//! What a program writes, as events of its session.
//!
//! The log is written first, then the store is told. Keys are made of the run, its epoch and the
//! number of the line, so that the same log read again gives the same events: what a worker that was
//! killed had not told yet is told by whoever comes after it, and nothing is told twice.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};

use ah_import::stream::{StreamFormat, StreamReader, Streamed};
use ah_model::{Appended, Lease, NewEvent, RawJson, Redaction, Redactor, Timestamp, Usage, limits};
use ah_store::{Store, StoreError, block_on};
use serde_json::{Value, json};

use crate::RunError;
use crate::child::Stream;
use crate::folder::Folder;

/// Most events, and about most bytes, that are told at once.
const BATCH_EVENTS: usize = 500;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// Most bytes that wait to be told; the program waits while there are more.
const WAITING_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most that is kept of what a program says on stderr, to say why it failed.
const COMPLAINT_BYTES_MAX: usize = 2 * 1024;
/// Longest line of a log that is read again.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Makes events of lines.
pub(crate) struct Recorder {
    lease: Lease,
    reader: StreamReader,
    /// Lines so far.
    lines: u64,
    waiting: Vec<NewEvent>,
    waiting_bytes: usize,
    pub(crate) complaint: String,
    pub(crate) external: Option<String>,
    /// What the program itself said of its end.
    pub(crate) said: Option<Result<(), String>>,
}

impl Recorder {
    pub(crate) fn new(lease: Lease, format: StreamFormat) -> Self {
        Self {
            lease,
            reader: StreamReader::new(format),
            lines: 0,
            waiting: Vec::new(),
            waiting_bytes: 0,
            complaint: String::new(),
            external: None,
            said: None,
        }
    }

    /// Says what is counted of the session already: some tools tell only sums of all its turns.
    pub(crate) fn counted(&mut self, usage: Usage) {
        self.reader.counted(usage);
    }

    /// Notes an event of ours.
    pub(crate) fn note(&mut self, kind: &str, data: &Value, part: &str, at: Timestamp) {
        let data = RawJson::of(data).unwrap_or_else(|_| RawJson::null());
        let key = Some(self.key(part));
        self.wait(NewEvent { kind: kind.to_owned(), data, dedup_key: key, ts: Some(at) });
    }

    /// Notes what the agent is told. A tool with hooks or a transcript tells it as well: then it is shown
    /// as they do.
    pub(crate) fn prompt(&mut self, prompt: &str, at: Timestamp) {
        let data = RawJson::of(&json!({ "text": prompt })).unwrap_or_else(|_| RawJson::null());
        let dedup_key = Some(self.key("prompt"));
        self.wait(NewEvent { kind: "user_message".to_owned(), data, dedup_key, ts: Some(at) });
    }

    /// Takes a line in; what of it is for people to read.
    pub(crate) fn line(&mut self, stream: Stream, line: &[u8], at: Timestamp) -> Vec<String> {
        let number = self.lines;
        self.lines += 1;
        let streamed = match stream {
            Stream::Output => self.reader.line(line, at),
            Stream::Errors => {
                let text = String::from_utf8_lossy(line);
                let text = text.trim_end_matches(['\n', '\r']);
                self.complain(text);
                self.note(
                    "hostLog",
                    &json!({ "stream": "stderr", "text": text }),
                    &number.to_string(),
                    at,
                );
                return vec![text.to_owned()];
            }
        };
        self.take(streamed, &number.to_string())
    }

    /// Nothing more is written.
    pub(crate) fn end(&mut self, at: Timestamp) {
        let streamed = self.reader.end(at);
        self.take(streamed, "end");
    }

    fn take(&mut self, streamed: Vec<Streamed>, part: &str) -> Vec<String> {
        let mut shown = Vec::new();
        for (number, one) in streamed.into_iter().enumerate() {
            match one {
                Streamed::Event(mut event) => {
                    shown.extend(readable(&event.kind, &event.data));
                    let key = || self.key(&format!("{part}.{number}"));
                    event.dedup_key = Some(event.dedup_key.take().unwrap_or_else(key));
                    self.wait(event);
                }
                Streamed::External { id, .. } => self.external = Some(id),
                Streamed::Outcome { ok: true, .. } => self.said = Some(Ok(())),
                Streamed::Outcome { ok: false, reason } => {
                    let reason = reason.unwrap_or_else(|| "it says that it failed".to_owned());
                    self.said = Some(Err(reason));
                }
            }
        }
        shown
    }

    fn key(&self, part: &str) -> String {
        format!("run/{}/{}/{part}", self.lease.run_id, self.lease.epoch)
    }

    fn wait(&mut self, event: NewEvent) {
        self.waiting_bytes += event.data.as_str().len();
        self.waiting.push(event);
    }

    fn complain(&mut self, text: &str) {
        self.complaint.push_str(text);
        self.complaint.push('\n');
        let over = self.complaint.len().saturating_sub(COMPLAINT_BYTES_MAX);
        self.complaint.drain(..self.complaint.ceil_char_boundary(over));
    }

    /// Whether something waits to be told.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether so much waits that the program has to.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes > WAITING_BYTES_MAX
    }

    /// Tells the store what waits. What it refuses for ever is named in place of the event; what it
    /// cannot take now goes on waiting.
    pub(crate) fn tell(&mut self, store: &dyn Store) -> Result<(), StoreError> {
        while !self.waiting.is_empty() {
            let count = self.batch();
            let batch = self.waiting.get(..count).unwrap_or_default().to_vec();
            match append(store, &self.lease, batch) {
                Ok(_) => {}
                Err(StoreError::Invalid(_)) => self.tell_each(store, count)?,
                Err(other) => return Err(other),
            }
            self.waiting.drain(..count);
        }
        self.waiting_bytes = 0;
        Ok(())
    }

    /// How many of those that wait go at once.
    fn batch(&self) -> usize {
        let mut bytes = 0;
        let fits = self.waiting.iter().take(BATCH_EVENTS).take_while(|event| {
            bytes += event.data.as_str().len();
            bytes <= BATCH_BYTES
        });
        fits.count().max(1)
    }

    fn tell_each(&self, store: &dyn Store, count: usize) -> Result<(), StoreError> {
        for event in self.waiting.iter().take(count) {
            let Err(error) = append(store, &self.lease, vec![event.clone()]) else { continue };
            let StoreError::Invalid(invalid) = error else { return Err(error) };
            let text = format!("a record of {} bytes was refused", event.data.as_str().len());
            let data =
                RawJson::of(&json!({ "stream": "host", "text": format!("{text}: {invalid}") }))?;
            let dedup_key = event.dedup_key.as_ref().map(|key| format!("{key}/refused"));
            let dedup_key = dedup_key.filter(|key| key.len() <= limits::DEDUP_KEY_BYTES_MAX);
            let ts = event.ts;
            append(
                store,
                &self.lease,
                vec![NewEvent { kind: "hostLog".to_owned(), data, dedup_key, ts }],
            )?;
        }
        Ok(())
    }
}

fn append(store: &dyn Store, lease: &Lease, events: Vec<NewEvent>) -> Result<Appended, StoreError> {
    block_on(store.append_to_run(lease.clone(), events))
}

/// What people read of an event: its text, if it has one.
pub fn readable(kind: &str, data: &RawJson) -> Option<String> {
    if !matches!(kind, "hostLog" | "assistant_message") {
        return None;
    }
    let said: Value = data.read().ok()?;
    match said["text"].as_str() {
        // All of a plain answer was shown line by line.
        Some(text) if kind == "hostLog" => Some(text.to_owned()),
        Some(_) => None,
        None => spoken(&said),
    }
}

/// The texts of a message in the form of its tool.
fn spoken(said: &Value) -> Option<String> {
    let message = if said["message"].is_object() { &said["message"] } else { said };
    let parts = match &message["content"] {
        Value::String(text) => return Some(text.clone()),
        Value::Array(parts) => parts.as_slice(),
        _ => return message["item"]["text"].as_str().map(str::to_owned),
    };
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

/// The log of a run as it is written.
pub(crate) struct LogFile {
    log: File,
    errors: File,
    lines: u64,
    redaction: Redaction,
}

impl LogFile {
    pub(crate) fn open(folder: &Folder, redaction: Redaction) -> Result<Self, RunError> {
        let (log, errors) = folder.open_log()?;
        Ok(Self { log, errors, lines: 0, redaction })
    }

    /// Keeps a line. A disk that is full costs the raw log, not the run.
    pub(crate) fn line(&mut self, stream: Stream, line: &[u8]) {
        let _ = self.log.write_all(&clean(self.redaction, line));
        if stream == Stream::Errors {
            let _ = writeln!(self.errors, "{}", self.lines);
        }
        self.lines += 1;
    }
}

/// The line without its secrets; one that has none is what it was to the byte.
fn clean(redaction: Redaction, line: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(line);
    let (text, end) = match text.strip_suffix('\n') {
        Some(text) => (text, "\n"),
        None => (text.as_ref(), ""),
    };
    // A record must be one afterwards, too: only its strings are looked at.
    let (clean, found) = match RawJson::parse("line", text, usize::MAX) {
        Ok(record) => {
            let (record, found) = Redactor::clean(redaction, record);
            (record.as_str().to_owned(), found)
        }
        Err(_) => Redactor::clean(redaction, text.to_owned()),
    };
    match found.is_empty() {
        true => Cow::Borrowed(line),
        false => Cow::Owned(format!("{clean}{end}").into_bytes()),
    }
}

/// Reads the log of a run again, into `recorder`.
pub(crate) fn read_again(folder: &Folder, recorder: &mut Recorder, at: Timestamp) {
    let Ok(file) = File::open(folder.log()) else { return };
    let errors: BTreeSet<u64> = folder.error_lines().into_iter().collect();
    let mut log = BufReader::new(file);
    for number in 0.. {
        let mut line = Vec::new();
        match log.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let stream = if errors.contains(&number) { Stream::Errors } else { Stream::Output };
        recorder.line(stream, &line, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Folders;

    const LINES: [(Stream, &str); 5] = [
        (Stream::Output, "one\n"),
        (Stream::Errors, "oh\n"),
        (Stream::Output, "\n"),
        (Stream::Errors, "no\n"),
        (Stream::Output, "without an end"),
    ];

    fn recorder() -> Recorder {
        let lease = Lease { run_id: "r1".parse().unwrap(), epoch: 3 };
        Recorder::new(lease, StreamFormat::Text)
    }

    #[test]
    fn a_log_that_is_read_again_gives_the_same_events() {
        let state = tempfile::tempdir().unwrap();
        let folder = Folders::below(state.path()).of(&"r1".parse().unwrap());
        folder.make().unwrap();
        let now = Timestamp::from_unix_ms(7);
        let mut log = LogFile::open(&folder, Redaction::On).unwrap();
        let mut first = recorder();
        for (stream, line) in LINES {
            log.line(stream, line.as_bytes());
            first.line(stream, line.as_bytes(), now);
        }
        let mut again = recorder();
        read_again(&folder, &mut again, now);
        for one in [&mut first, &mut again] {
            one.end(now);
        }
        assert_eq!(again.waiting, first.waiting);
        let keys: Vec<_> = first.waiting.iter().filter_map(|e| e.dedup_key.as_deref()).collect();
        let expected =
            ["0.0", "1", "2.0", "3", "4.0", "end.0"].map(|part| format!("run/r1/3/{part}"));
        assert_eq!(keys, expected);
        assert_eq!(first.complaint, "oh\nno\n");
    }

    #[test]
    fn the_log_has_no_secrets_and_all_else_to_the_byte() {
        let url = "https://bob:hunter2hunter2@example.org";
        let gone = "https://bob:[redacted:url-credentials]@example.org";
        let record = |text: &str| format!("{{\"type\": \"x\", \"text\": \"{text}\"}}\n");
        let kept = [record("plain"), "plain \u{0} text".to_owned()];
        for line in &kept {
            assert_eq!(clean(Redaction::On, line.as_bytes()), Cow::Borrowed(line.as_bytes()));
        }
        assert_eq!(clean(Redaction::On, b"\xff\n"), Cow::Borrowed(b"\xff\n"));
        let shown = |redaction, line: &str| {
            String::from_utf8(clean(redaction, line.as_bytes()).into_owned()).unwrap()
        };
        assert_eq!(shown(Redaction::On, &format!("get {url}\n")), format!("get {gone}\n"));
        let said: Value = serde_json::from_str(&shown(Redaction::On, &record(url))).unwrap();
        assert_eq!(said["text"], gone);
        assert_eq!(shown(Redaction::Off, url), url);
    }
}
