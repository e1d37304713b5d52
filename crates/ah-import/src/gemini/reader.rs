//! Reads a session line by line.

use ah_model::{RawJson, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::SOURCE;
use crate::transcript::{Entry, Facts, Reader, Spent, Title, TitleRank, Turn, View, foreign};
use crate::unreadable::fingerprint;

/// What a reader has to know of the lines before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct State {
    time: Option<Timestamp>,
    pub(super) title: Option<Title>,
}

/// A reader of one file.
pub(super) struct GeminiReader {
    session: String,
    created_at: Timestamp,
    state: State,
}

impl GeminiReader {
    pub(super) fn new(session: &str, created_at: Timestamp, state: State) -> Self {
        Self { session: session.to_owned(), created_at, state }
    }

    fn user(line: &View<'_>, facts: &mut Facts) -> String {
        facts.turn = Some(Turn::Open);
        let content = line.get("content");
        let parts = content.and_then(|content| content.elements(usize::MAX)).unwrap_or_default();
        let parts: Vec<_> = parts.into_iter().map(View::of_slice).collect();
        if parts.iter().any(|part| part.get("functionResponse").is_some()) {
            return "tool_result".to_owned();
        }
        let text = line.text("content").or_else(|| parts.iter().find_map(|part| part.text("text")));
        facts.title = text.and_then(|text| Title::of(TitleRank::Prompt, &text));
        "user_message".to_owned()
    }

    /// A message without an id of its own changes what is known of the session.
    fn other(line: &View<'_>, facts: &mut Facts) -> String {
        if line.get("$rewindTo").is_some() {
            return "rewind".to_owned();
        }
        if let Some(set) = line.get("$set") {
            let summary = View::of_slice(set).text("summary");
            facts.title = summary.and_then(|text| Title::of(TitleRank::Made, &text));
            return foreign(SOURCE, "$set");
        }
        match line.get("sessionId").is_some() && line.get("projectHash").is_some() {
            true => "session_start".to_owned(),
            false => foreign(SOURCE, &line.text("type").unwrap_or_default()),
        }
    }
}

impl Reader for GeminiReader {
    fn read(&mut self, json: &RawJson, number: u64) -> Entry {
        let line = View::of(json);
        let time = [line.time(), time_of(&line, "lastUpdated"), time_of(&line, "startTime")];
        let time = time.into_iter().flatten().next();
        let set = time_of(&line.object("$set"), "lastUpdated");
        self.state.time = time.or(set).or(self.state.time);
        let id = line.id("id");
        let (mut facts, mut spent) = (Facts::default(), None);
        let kind = match line.text("type").as_deref() {
            Some("user") if id.is_some() => Self::user(&line, &mut facts),
            Some("gemini") if id.is_some() => {
                facts.model = line.text("model");
                let calls = line.get("toolCalls").is_some_and(|calls| calls.as_str() != "[]");
                facts.turn = Some(if calls { Turn::Open } else { Turn::Ended });
                spent = id.as_ref().map(|id| self::spent(id, &line));
                "assistant_message".to_owned()
            }
            _ => Self::other(&line, &mut facts),
        };
        facts.title = facts.title.filter(|title| title.replaces(self.state.title.as_ref()));
        self.state.title = facts.title.clone().or(self.state.title.take());
        Entry {
            session: self.session.clone(),
            kind,
            key: key(id.as_deref(), json, number),
            timed: time.or(set).is_some(),
            facts,
            spent,
            totals: false,
            copied: false,
        }
    }

    fn time(&self) -> Timestamp {
        self.state.time.unwrap_or(self.created_at)
    }

    fn raw_key(&mut self, fingerprint: u64, number: u64) -> String {
        format!("line/{fingerprint:016x}/{number}")
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }
}

/// A message is told again under its id, with other words; a line without one stands in one place.
fn key(id: Option<&str>, line: &RawJson, number: u64) -> String {
    let digest = fingerprint(line.as_str().as_bytes());
    match id {
        Some(id) => format!("line/{id}/{digest:016x}"),
        None => format!("line/{digest:016x}/{number}"),
    }
}

fn time_of(line: &View<'_>, name: &str) -> Option<Timestamp> {
    line.text(name)?.parse().ok()
}

/// Tokens as Gemini counts them: its input has what a cache held, but not what tools gave to it.
fn spent(id: &str, line: &View<'_>) -> Spent {
    let tokens = line.object("tokens");
    let (input, cached) = (tokens.number("input"), tokens.number("cached"));
    let usage = Usage {
        input_tokens: input.saturating_sub(cached) + tokens.number("tool"),
        output_tokens: tokens.number("output"),
        cache_read_tokens: cached.min(input),
        cache_write_tokens: 0,
        reasoning_tokens: tokens.number("thoughts"),
    };
    Spent { answer: id.to_owned(), usage, model: line.text("model"), cost_usd: None }
}
