//! Secrets on their way into a store: what somebody wants kept goes through [`Redactor::clean`]
//! before it is written, on every path and in every store.
//!
//! What is looked at is what people and programs say: payloads, prompts, bodies, notes, titles,
//! errors and results. What names things stays: ids, keys, hashes, names, labels, paths. Values of
//! `kv` and the commands of fences stay as well, because they are there to be used again.

mod scrub;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::redact::{self, Finding, Redacted};
use crate::{
    Agent, AgentImport, AgentUpdate, Answer, Answered, Approval, Beginning, Callback, Decision,
    DraftFields, Event, Exit, ExportHeader, Happened, HiveImport, Message, NewAgent, NewApproval,
    NewEvent, NewMessage, NewQuestion, NewRun, NewSession, NewTask, Question, RawJson, Receive,
    Release, Renewal, ReportItem, Reports, Run, RunEnd, Session, SessionDetails, SessionImport,
    StatusChange, Task,
};

pub use scrub::{Scrub, ScrubCursor, ScrubFinding, ScrubPlace, ScrubStep};

/// Whether a store takes secrets out of what it is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Redaction {
    /// It does.
    #[default]
    On,
    /// It keeps everything as it is given.
    Off,
}

/// How many secrets were found, by the names of their rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Redactions(pub BTreeMap<String, u64>);

impl Redactions {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there were of all rules.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds `count` secrets of a rule.
    pub fn add(&mut self, rule: &str, count: u64) {
        if count > 0 {
            *self.0.entry(rule.to_owned()).or_default() += count;
        }
    }

    /// Adds all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        other.0.iter().for_each(|(rule, count)| self.add(rule, *count));
    }
}

/// `2 jwt, 1 url-credentials`.
impl std::fmt::Display for Redactions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (rule, count)) in self.0.iter().enumerate() {
            let before = if at == 0 { "" } else { ", " };
            write!(formatter, "{before}{count} {rule}")?;
        }
        Ok(())
    }
}

/// Takes secrets out of values and remembers where they were.
#[derive(Debug, Default)]
pub struct Redactor {
    findings: Vec<Finding>,
}

impl Redactor {
    /// `value` without its secrets, and how many it had.
    pub fn clean<T: Redact>(redaction: Redaction, mut value: T) -> (T, Redactions) {
        let mut redactor = Self::default();
        if redaction == Redaction::On {
            value.redact(&mut redactor);
        }
        let redactions = redactor.redactions();
        (value, redactions)
    }

    /// What was found so far, by rule.
    pub fn redactions(&self) -> Redactions {
        let mut redactions = Redactions::default();
        for finding in &self.findings {
            redactions.add(finding.rule, finding.count as u64);
        }
        redactions
    }

    /// Where something was found so far: the pointer starts with the name of the field.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Redacts a text in the field of that name.
    pub fn text(&mut self, field: &str, text: &mut String) {
        let redacted = redact::text(text);
        if let Some(clean) = self.take(field, redacted) {
            *text = clean;
        }
    }

    /// Redacts a text that may be absent.
    pub fn optional(&mut self, field: &str, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(field, text);
        }
    }

    /// Redacts the strings of a JSON value; all else stays byte for byte.
    pub fn json(&mut self, field: &str, json: &mut RawJson) {
        if json.is_clean() {
            return;
        }
        // What is deeper than any stored value may be was refused before; it stays as it is.
        let Ok(redacted) = redact::checked_json(json.as_str()) else { return };
        let Some(clean) = self.take(field, redacted) else { return };
        // Only strings were exchanged for strings, so it is still JSON.
        if let Ok(clean) = RawJson::from_stored(clean) {
            *json = clean;
        }
    }

    fn optional_json(&mut self, field: &str, json: &mut Option<RawJson>) {
        if let Some(json) = json {
            self.json(field, json);
        }
    }

    /// The redacted text, if anything was found.
    fn take(&mut self, field: &str, redacted: Redacted<'_>) -> Option<String> {
        if redacted.findings.is_empty() {
            return None;
        }
        self.findings.extend(redacted.findings.into_iter().map(|finding| {
            let path = Some(format!("/{field}{}", finding.path.unwrap_or_default()));
            Finding { path, ..finding }
        }));
        Some(redacted.text.into_owned())
    }
}

/// Something that can be kept without its secrets.
pub trait Redact {
    /// Takes the secrets out.
    fn redact(&mut self, redactor: &mut Redactor);
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.iter_mut().for_each(|value| value.redact(redactor));
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.iter_mut().for_each(|value| value.redact(redactor));
    }
}

/// A plain text: a title, or what a problem was.
impl Redact for String {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("text", self);
    }
}

/// A payload of its own.
impl Redact for RawJson {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("data", self);
    }
}

impl Redact for NewEvent {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("data", &mut self.data);
    }
}

impl Redact for Event {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("data", &mut self.data);
    }
}

impl Redact for NewSession {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("title", &mut self.title);
        self.details.redact(redactor);
    }
}

impl Redact for SessionDetails {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("resetMessage", &mut self.reset_message);
    }
}

impl Redact for Exit {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("reason", &mut self.reason);
    }
}

impl Redact for StatusChange {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.exit.redact(redactor);
    }
}

impl Redact for Session {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("title", &mut self.title);
        self.details.redact(redactor);
        self.exit.redact(redactor);
    }
}

impl Redact for ExportHeader {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.session.redact(redactor);
        self.tasks.redact(redactor);
    }
}

impl Redact for NewTask {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("prompt", &mut self.prompt);
    }
}

impl Redact for Task {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("prompt", &mut self.prompt);
    }
}

impl Redact for DraftFields {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("description", &mut self.description);
        redactor.text("repository", &mut self.repository);
    }
}

impl Redact for NewMessage {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("body", &mut self.body);
    }
}

impl Redact for Message {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("body", &mut self.body);
        redactor.optional("note", &mut self.note);
    }
}

impl Redact for Receive {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.send.redact(redactor);
    }
}

impl Redact for Release {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("note", &mut self.note);
    }
}

impl Redact for NewQuestion {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("text", &mut self.text);
        self.options.iter_mut().for_each(|option| redactor.text("options", option));
    }
}

impl Redact for Question {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.text("text", &mut self.text);
        self.options.iter_mut().for_each(|option| redactor.text("options", option));
        self.answer.redact(redactor);
        self.late_answer.redact(redactor);
    }
}

impl Redact for Answer {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.values.iter_mut().for_each(|value| redactor.text("values", value));
    }
}

impl Redact for Answered {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.values.iter_mut().for_each(|value| redactor.text("values", value));
    }
}

impl Redact for NewApproval {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("reason", &mut self.reason);
        redactor.json("details", &mut self.details);
    }
}

impl Redact for Approval {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("reason", &mut self.reason);
        redactor.json("details", &mut self.details);
        redactor.optional("note", &mut self.note);
        redactor.optional("problem", &mut self.problem);
    }
}

impl Redact for Decision {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("note", &mut self.note);
    }
}

impl Redact for HiveImport {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.messages.redact(redactor);
        self.approvals.redact(redactor);
        self.questions.redact(redactor);
    }
}

impl Redact for NewRun {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("parameters", &mut self.parameters);
        if let Some(session) = &mut self.session {
            session.redact(redactor);
        }
    }
}

impl Redact for Run {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("parameters", &mut self.parameters);
        redactor.optional("error", &mut self.error);
        redactor.optional_json("result", &mut self.result);
    }
}

impl Redact for RunEnd {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("error", &mut self.error);
        redactor.optional_json("result", &mut self.result);
        self.exit.redact(redactor);
    }
}

impl Redact for Callback {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("error", &mut self.error);
        redactor.optional_json("result", &mut self.result);
    }
}

impl Redact for Reports {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.items.redact(redactor);
    }
}

impl Redact for ReportItem {
    fn redact(&mut self, redactor: &mut Redactor) {
        match &mut self.what {
            Happened::Started {} => {}
            Happened::Event { data, .. } => redactor.json("data", data),
            Happened::Ended(ended) => {
                redactor.optional("error", &mut ended.error);
                redactor.optional_json("result", &mut ended.result);
                ended.exit.redact(redactor);
            }
        }
    }
}

impl Redact for NewAgent {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional_json("descriptor", &mut self.descriptor);
        redactor.json("permissions", &mut self.permissions);
        redactor.json("tokens", &mut self.tokens);
        redactor.json("stats", &mut self.stats);
        redactor.json("metadata", &mut self.metadata);
        self.session.redact(redactor);
    }
}

impl Redact for Agent {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.json("descriptor", &mut self.descriptor);
        redactor.json("permissions", &mut self.permissions);
        redactor.json("tokens", &mut self.tokens);
        redactor.json("stats", &mut self.stats);
        redactor.json("metadata", &mut self.metadata);
    }
}

impl Redact for AgentUpdate {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional_json("descriptor", &mut self.descriptor);
        redactor.optional_json("permissions", &mut self.permissions);
        redactor.optional_json("tokens", &mut self.tokens);
        redactor.optional_json("stats", &mut self.stats);
        redactor.optional_json("metadata", &mut self.metadata);
    }
}

impl Redact for Renewal {
    fn redact(&mut self, redactor: &mut Redactor) {
        match &mut self.how {
            Beginning::Reset { message } => redactor.optional("message", message),
            Beginning::Compaction { summary } => redactor.text("summary", summary),
            Beginning::Fork { .. } => {}
        }
    }
}

impl Redact for AgentImport {
    fn redact(&mut self, redactor: &mut Redactor) {
        self.agent.redact(redactor);
        self.sessions.redact(redactor);
    }
}

impl Redact for SessionImport {
    fn redact(&mut self, redactor: &mut Redactor) {
        redactor.optional("resetMessage", &mut self.reset_message);
        self.events.redact(redactor);
    }
}
