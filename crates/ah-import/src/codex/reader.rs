//! Reads a rollout line by line.

use ah_model::{RawJson, Timestamp, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::line::{PromptForm, What, theirs, usage};
use crate::transcript::{Entry, Facts, Reader, Spent, Title, TitleRank, Turn, View, over};

/// What the keys of lines with an ordinal begin with.
pub(super) const ORDINAL: &str = "ordinal/";

/// The key of the line of that ordinal.
pub(super) fn ordinal_key(ordinal: u64) -> String {
    format!("{ORDINAL}{ordinal}")
}

/// What a reader has to know of the lines before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct State {
    time: Option<Timestamp>,
    pub(super) title: Option<Title>,
    prompts: Option<PromptForm>,
    /// Whether turns say where they begin and end.
    turns: bool,
    /// Whether each answer has a record of its tokens.
    records: bool,
    /// The newest totals, which old programs write again and again.
    totals: Usage,
    model: Option<String>,
}

/// A reader of one file.
pub(super) struct CodexReader {
    thread: String,
    created_at: Timestamp,
    state: State,
}

impl CodexReader {
    pub(super) fn new(thread: &str, created_at: Timestamp, state: State) -> Self {
        Self { thread: thread.to_owned(), created_at, state }
    }

    /// The tokens of an answer: from its own record, else from totals that have grown.
    fn spent(&mut self, what: What, payload: &View<'_>, number: u64) -> Option<Spent> {
        let model = self.state.model.clone();
        match what {
            What::Spent => {
                self.state.records = true;
                let answer = payload.text("response_id")?;
                Some(Spent {
                    answer,
                    usage: usage(&payload.object("usage")),
                    model,
                    cost_usd: None,
                })
            }
            What::Counts if !self.state.records => {
                let info = payload.object("info");
                let totals = usage(&info.object("total_token_usage"));
                let before = std::mem::replace(&mut self.state.totals, totals);
                if totals == before {
                    return None;
                }
                let last = info.get("last_token_usage").map(|last| usage(&View::of_slice(last)));
                let usage = last.unwrap_or_else(|| over(totals, before));
                Some(Spent { answer: format!("number/{number}"), usage, model, cost_usd: None })
            }
            _ => None,
        }
    }

    fn turn(&mut self, what: What) -> Option<Turn> {
        match what {
            What::TurnBegan => {
                self.state.turns = true;
                Some(Turn::Open)
            }
            What::TurnEnded => Some(Turn::Ended),
            _ if self.state.turns => None,
            What::Prompt(_) | What::Call | What::Result => Some(Turn::Open),
            What::Answer => Some(Turn::Ended),
            _ => None,
        }
    }

    fn title(&mut self, what: What, payload: &View<'_>) -> Option<Title> {
        let title = match what {
            What::Prompt(PromptForm::Event) => {
                Title::of(TitleRank::Prompt, &payload.text("message")?)?
            }
            What::Prompt(PromptForm::Item) => {
                let content = payload.object("item").get("content")?.elements(usize::MAX)?;
                let text = |part| View::of_slice(part).text("text");
                Title::of(TitleRank::Prompt, &content.into_iter().find_map(text)?)?
            }
            What::Named => Title::of(TitleRank::Given, &payload.text("thread_name")?)?,
            _ => return None,
        };
        if !title.replaces(self.state.title.as_ref()) {
            return None;
        }
        self.state.title = Some(title.clone());
        Some(title)
    }
}

impl Reader for CodexReader {
    fn read(&mut self, json: &RawJson, number: u64) -> Entry {
        let line = View::of(json);
        let payload = line.object("payload");
        let time = line.time();
        self.state.time = time.or(self.state.time);
        let ordinal = line.get("ordinal").and_then(|ordinal| ordinal.as_str().parse().ok());
        let what = What::of(&line, &payload);
        let mut kind = what.kind(&line, &payload);
        let mut facts = Facts { turn: self.turn(what), ..Facts::default() };
        match what {
            What::Prompt(form) if *self.state.prompts.get_or_insert(form) != form => {
                kind = theirs(&line, &payload);
            }
            What::Settings => self.state.model = payload.text("model").or(self.state.model.take()),
            What::Start => facts.branch = payload.object("git").text("branch"),
            _ => {}
        }
        facts.title = self.title(what, &payload);
        facts.model = self.state.model.clone().filter(|_| what == What::Settings);
        let spent = self.spent(what, &payload, number);
        Entry {
            session: self.thread.clone(),
            kind,
            key: ordinal.map_or_else(|| number_key(number), ordinal_key),
            timed: time.is_some(),
            facts,
            spent,
            totals: false,
            copied: false,
        }
    }

    fn time(&self) -> Timestamp {
        self.state.time.unwrap_or(self.created_at)
    }

    fn raw_key(&mut self, _fingerprint: u64, number: u64) -> String {
        number_key(number)
    }

    fn state(&self) -> Value {
        serde_json::to_value(&self.state).unwrap_or_default()
    }
}

/// The key of the line of that number, for one that has no ordinal.
fn number_key(number: u64) -> String {
    format!("number/{number}")
}
