//! Structured streams: what a coding agent prints, a line for each step, while it runs without a
//! terminal.
//!
//! A line becomes an event with the line as its payload, of the type that an import of the transcript
//! or a hook gives it. Messages of Claude Code have the ids of its transcript: their keys are `stream/`
//! and the key of the transcript's line. It is not that key itself: a stream has no prompts, and what
//! an import adds to a log stands behind what is there. Other events have no key: who runs the
//! program gives them one of the run and the line, `run/…`. A context shows what either tells until
//! hooks or a transcript tell it (`ah-model/src/context/streamed.rs`), as it does with hooks.
//! Nothing here fails: what cannot be read is kept as it is. The same lines give the same events.

mod claude_code;
mod codex;
mod text;

use ah_model::{NewEvent, RawJson, Timestamp, Usage};

use self::claude_code::ClaudeStream;
use self::codex::CodexStream;
use self::text::TextStream;
use crate::transcript::{Content, Spent, Totals, USAGE, content};
use crate::unreadable;

/// What the keys of events begin with that have one.
const KEY: &str = "stream";
/// What an event says where its line stood.
const PLACE: &str = "stream";

/// What a program prints.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StreamFormat {
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeCode,
    /// `codex exec --json`.
    Codex,
    /// Plain text: all of it is the answer.
    #[default]
    Text,
}

impl StreamFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::Text];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => crate::claude_code::SOURCE,
            Self::Codex => crate::codex::SOURCE,
            Self::Text => "text",
        }
    }
}

/// What a line, or the end of a stream, means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Streamed {
    /// To be appended to the session.
    Event(NewEvent),
    /// The session has this id where it comes from, and this model answers.
    External {
        /// The id there.
        id: String,
        /// The model, if it is said.
        model: Option<String>,
    },
    /// The turn has come to its end.
    Outcome {
        /// Whether it did what it should.
        ok: bool,
        /// Why not.
        reason: Option<String>,
    },
}

/// Reads the lines of one process in order.
#[derive(Debug)]
pub struct StreamReader {
    format: Format,
    /// Lines so far.
    number: u64,
}

#[derive(Debug)]
enum Format {
    ClaudeCode(Box<ClaudeStream>),
    Codex(CodexStream),
    Text(TextStream),
}

impl StreamReader {
    /// At the beginning of a stream.
    pub fn new(format: StreamFormat) -> Self {
        let format = match format {
            StreamFormat::ClaudeCode => Format::ClaudeCode(Box::default()),
            StreamFormat::Codex => Format::Codex(CodexStream::default()),
            StreamFormat::Text => Format::Text(TextStream::default()),
        };
        Self { format, number: 0 }
    }

    /// Says what is counted of the session by now: the totals of Codex are those of the whole thread,
    /// and an import may read the transcript meanwhile. To be called before the first line of a
    /// program that resumes a session, and again as often as it is known.
    pub fn counted(&mut self, counted: Usage) {
        match &mut self.format {
            Format::ClaudeCode(stream) => stream.counted(counted),
            Format::Codex(stream) => stream.counted(counted),
            Format::Text(_) => {}
        }
    }

    /// What a line means, with or without its end. A line of any length is taken; who reads the
    /// stream bounds it.
    pub fn line(&mut self, line: &[u8], at: Timestamp) -> Vec<Streamed> {
        let line = line.trim_ascii_end();
        self.number += 1;
        let json = match (&mut self.format, content(line)) {
            (Format::Text(text), _) => return text.line(line, self.number, at),
            (_, Content::Blank) => return Vec::new(),
            (_, Content::Json(json)) if json.as_str().starts_with('{') => json,
            _ => return text::printed(line, self.number, at),
        };
        match &mut self.format {
            Format::ClaudeCode(stream) => stream.line(&json, at),
            Format::Codex(stream) => stream.line(&json, at),
            Format::Text(_) => Vec::new(),
        }
    }

    /// What it means that there are no more lines.
    pub fn end(&mut self, at: Timestamp) -> Vec<Streamed> {
        let ended = match &mut self.format {
            Format::ClaudeCode(stream) => stream.ended(),
            Format::Codex(stream) => stream.ended(),
            Format::Text(text) => return text.end(at),
        };
        let reason = || Some("the stream ended before its turn".to_owned());
        let cut = (!ended).then(|| Streamed::Outcome { ok: false, reason: reason() });
        cut.into_iter().collect()
    }
}

/// An event of `data`, or several where it is more than one may hold.
fn events(data: &RawJson, kind: String, key: Option<String>, at: Timestamp) -> Vec<Streamed> {
    // One without a key is checked as if it had one.
    let checked = key.clone().unwrap_or_else(|| KEY.to_owned());
    keyed(unreadable::events(PLACE, data, kind, checked, at), key)
}

/// The events, without keys where there is none to make them of.
fn keyed(events: Vec<NewEvent>, key: Option<String>) -> Vec<Streamed> {
    let unkeyed = |event: NewEvent| NewEvent { dedup_key: None, ..event };
    let event = |event| if key.is_some() { event } else { unkeyed(event) };
    events.into_iter().map(event).map(Streamed::Event).collect()
}

/// The line as an event. One with numbers of its own that would be counted as tokens of the session
/// is put into another object: they are counted apart.
fn line_event(json: &RawJson, kind: String, key: Option<String>, at: Timestamp) -> Vec<Streamed> {
    if Usage::of_event(json) == Usage::default() {
        return events(json, kind, key, at);
    }
    let wrapped = crate::raw_object::json_of(format!("{{\"line\":{}}}", json.as_str()));
    events(&wrapped, kind, key, at)
}

/// The event with what a stream says at its end that all of its answers cost, beyond those that it
/// told one by one.
fn totals_event(spent: Spent, key: Option<String>, at: Timestamp) -> Vec<Streamed> {
    let data = Totals::of(spent);
    data.map_or_else(Vec::new, |data| events(&data, USAGE.to_owned(), key, at))
}
