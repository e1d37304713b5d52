//! The stream of Claude Code: the messages of the transcript with their ids, between notes of the
//! program, and a result.
//!
//! An answer's numbers are those of its beginning: its input is right, its output is one token. The
//! result has the numbers of all answers: what it has beyond them is a total, which an import of the
//! transcript takes its answers from before it counts more.

use ah_model::{RawJson, Timestamp, Usage};

use super::{KEY, Streamed, events, line_event, totals_event};
use crate::claude_code::{ClaudeReader, Message, SOURCE, line_key};
use crate::transcript::{Answers, Reader, Spent, USAGE, View, foreign, over};

/// Where a stream stands.
#[derive(Debug, Default)]
pub(super) struct ClaudeStream {
    session: Option<String>,
    model: Option<String>,
    /// What the answers told, what all results said, and what of that is counted as totals. There
    /// may be several results, all behind the answers of sub-agents that ran on.
    answers: Answers,
    said: Usage,
    totals: Usage,
    /// What was counted of the session when the process began, and what since, also by an import
    /// that read the transcript meanwhile.
    before: Option<Usage>,
    since: Usage,
    /// Whether the newest turn has its result.
    ended: bool,
}

impl ClaudeStream {
    pub(super) fn counted(&mut self, counted: Usage) {
        let before = *self.before.get_or_insert(counted);
        self.since = over(counted, before);
    }

    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    pub(super) fn line(&mut self, json: &RawJson, at: Timestamp) -> Vec<Streamed> {
        let line = View::of(json);
        let kind = line.text("type").unwrap_or_default();
        // Pieces of messages that come whole as well.
        if kind == "stream_event" {
            return Vec::new();
        }
        let key = line.id("uuid").map(|uuid| format!("{KEY}/{}", line_key(&uuid)));
        let mut found = self.external(&line);
        match kind.as_str() {
            // A sub-agent's lines are those of its own session, which hooks and transcripts fill.
            "user" | "assistant" if line.text("parent_tool_use_id").is_some() => {
                found.extend(line_event(json, foreign(SOURCE, "subagent"), key, at));
            }
            "user" | "assistant" => {
                self.ended = false;
                found.extend(self.message(json, key, at));
            }
            "result" => {
                self.ended = true;
                found.extend(line_event(json, foreign(SOURCE, &kind), key, at));
                found.extend(self.result(&line, at));
            }
            "system" if line.text("subtype").as_deref() == Some("compact_boundary") => {
                found.extend(line_event(json, "compaction".to_owned(), key, at));
            }
            kind => found.extend(line_event(json, foreign(SOURCE, kind), key, at)),
        }
        found
    }

    /// The id of the session and its model, when they are said first or otherwise than before.
    fn external(&mut self, line: &View<'_>) -> Vec<Streamed> {
        let Some(id) = line.id("session_id") else { return Vec::new() };
        let model = line.text("model").filter(|model| !model.is_empty());
        let news = self.session.as_ref() != Some(&id) || (model.is_some() && model != self.model);
        self.session = Some(id.clone());
        self.model = model.or(self.model.take());
        news.then(|| Streamed::External { id, model: self.model.clone() }).into_iter().collect()
    }

    /// What was said, as an import of the transcript keeps it.
    fn message(&mut self, json: &RawJson, key: Option<String>, at: Timestamp) -> Vec<Streamed> {
        let session = self.session.clone().unwrap_or_default();
        let entry = ClaudeReader::fresh(&session, at).read(json, 0);
        let time = View::of(json).time().unwrap_or(at);
        let mut found = events(json, entry.kind, key, time);
        if let Some((key, data)) = entry.spent.and_then(|spent| self.answers.count(&spent)) {
            found.extend(events(&data, USAGE.to_owned(), Some(key), time));
        }
        found
    }

    fn result(&mut self, line: &View<'_>, at: Timestamp) -> Vec<Streamed> {
        self.said = self.said.plus(Message::usage(&line.object("usage")));
        let told = self.answers.total.plus(self.totals);
        let usage = over(self.said, told.plus(over(self.since, told)));
        self.totals = self.totals.plus(usage);
        let answer = format!("{KEY}/{}", line.id("uuid").unwrap_or_default());
        let key = line.id("uuid").map(|_| format!("{USAGE}/{answer}"));
        let spent = Spent { answer, usage, model: self.model.clone(), cost_usd: None };
        let mut found = totals_event(spent, key, at);
        let subtype = line.text("subtype").unwrap_or_default();
        let ok = !line.is("is_error") && matches!(subtype.as_str(), "success" | "");
        let said = line.text("result").filter(|said| !said.trim().is_empty());
        let reason = (!ok).then(|| said.unwrap_or(subtype));
        found.push(Streamed::Outcome { ok, reason });
        found
    }
}
