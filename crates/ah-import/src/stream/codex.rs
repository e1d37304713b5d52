//! The stream of Codex: the thread, its turns and what was done in them. Nothing in it has an id that
//! hooks or the rollout have, and the prompt is not in it.
//!
//! A turn's numbers are those of all answers of its thread, also of processes before: what they have
//! beyond what is counted is a total, which an import of the rollout takes its answers from before it
//! counts more.

use ah_model::{RawJson, Timestamp, Usage};

use super::{KEY, Streamed, line_event, totals_event};
use crate::codex::{SOURCE, usage};
use crate::transcript::{Spent, View, foreign, over};

/// Where a stream stands.
#[derive(Debug, Default)]
pub(super) struct CodexStream {
    thread: Option<String>,
    /// What is counted of the thread.
    counted: Usage,
    /// What went wrong last, outside of a turn's end.
    error: Option<String>,
    /// Whether the newest turn has its end.
    ended: bool,
}

/// The items that are calls of tools.
const CALLS: [&str; 4] = ["command_execution", "mcp_tool_call", "file_change", "collab_tool_call"];

impl CodexStream {
    pub(super) fn counted(&mut self, counted: Usage) {
        self.counted = counted;
    }

    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn line(&mut self, json: &RawJson, at: Timestamp) -> Vec<Streamed> {
        let line = View::of(json);
        let word = line.text("type").unwrap_or_default();
        let mut found = Vec::new();
        if let Some(id) = line.id("thread_id").filter(|id| self.thread.as_ref() != Some(id)) {
            self.thread = Some(id.clone());
            found.push(Streamed::External { id, model: None });
        }
        found.extend(line_event(json, kind(&word, &line.object("item")), None, at));
        match word.as_str() {
            "turn.started" => self.ended = false,
            "turn.completed" => {
                self.ended = true;
                let usage = over(usage(&line.object("usage")), self.counted);
                self.counted = self.counted.plus(usage);
                let answer = format!("{KEY}/{}", self.thread.as_deref().unwrap_or_default());
                let spent = Spent { answer, usage, model: None, cost_usd: None };
                found.extend(totals_event(spent, None, at));
                found.push(Streamed::Outcome { ok: true, reason: None });
            }
            "turn.failed" => {
                self.ended = true;
                let reason = line.object("error").text("message").or(self.error.take());
                found.push(Streamed::Outcome { ok: false, reason });
            }
            "error" => self.error = line.text("message"),
            _ => {}
        }
        found
    }
}

/// Our word for a line, or that of Codex.
fn kind(word: &str, item: &View<'_>) -> String {
    let thing = item.text("type").unwrap_or_default();
    let is_call = CALLS.contains(&thing.as_str());
    match (word, thing.as_str()) {
        ("thread.started", _) => "session_start".to_owned(),
        ("item.started", _) if is_call => "pre_tool".to_owned(),
        ("item.completed", _) if is_call => "post_tool".to_owned(),
        ("item.completed", "agent_message") => "assistant_message".to_owned(),
        ("item.completed", thing) if !thing.is_empty() => foreign(SOURCE, thing),
        (word, _) => foreign(SOURCE, word),
    }
}
