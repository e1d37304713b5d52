//! What mail, approvals and questions share: waiting, deadlines, and bringing them from elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{HIVE_IMPORT_MAX, PROMPT_BYTES_MAX};
use crate::text::check_text;
use crate::{Approval, ApprovalId, Invalid, Message, Party, Question, QuestionId};

/// What somebody waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// A message that this party can receive.
    Mail(Party),
    /// The end of a question.
    Question(QuestionId),
    /// The decision of an approval.
    Approval(ApprovalId),
}

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mail(party) => write!(f, "mail of {party}"),
            Self::Question(id) => write!(f, "question {id}"),
            Self::Approval(id) => write!(f, "approval {id}"),
        }
    }
}

/// What time has decided.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HiveSwept {
    /// Messages that are queued again.
    pub requeued: u64,
    /// Messages that were given up.
    pub dead: u64,
    /// Questions whose deadline passed.
    pub expired: u64,
}

impl HiveSwept {
    /// Whether anything was done.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Messages, approvals and questions as they are in another store. Their numbers give their order;
/// they get their own here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HiveImport {
    /// Messages, none of them leased.
    #[serde(default)]
    pub messages: Vec<Message>,
    /// Approvals.
    #[serde(default)]
    pub approvals: Vec<Approval>,
    /// Questions.
    #[serde(default)]
    pub questions: Vec<Question>,
}

impl HiveImport {
    /// Refuses more than one step takes, messages that somebody holds, and texts that cannot be
    /// stored.
    pub fn check(&self) -> Result<(), Invalid> {
        let rows = self.messages.len() + self.approvals.len() + self.questions.len();
        if rows > HIVE_IMPORT_MAX {
            let reason = format!("{rows} rows, at most {HIVE_IMPORT_MAX} at once");
            return Err(Invalid::new("import", reason));
        }
        if let Some(held) = self.messages.iter().find(|message| message.lease.is_some()) {
            return Err(Invalid::new("messages", format!("{} is leased", held.id)));
        }
        self.messages.iter().flat_map(texts_of_message).try_for_each(stored("messages"))?;
        self.approvals.iter().flat_map(texts_of_approval).try_for_each(stored("approvals"))?;
        self.questions.iter().flat_map(texts_of_question).try_for_each(stored("questions"))
    }
}

/// Other stores have other limits, so only what no text may be is refused.
fn stored(field: &'static str) -> impl Fn(&str) -> Result<(), Invalid> {
    move |text| check_text(field, text, PROMPT_BYTES_MAX)
}

fn texts_of_message(message: &Message) -> impl Iterator<Item = &str> {
    let texts = [Some(&message.body), message.about.as_ref(), message.note.as_ref()];
    texts.into_iter().flatten().map(String::as_str)
}

fn texts_of_approval(approval: &Approval) -> impl Iterator<Item = &str> {
    let texts = [
        Some(&approval.kind),
        approval.commit_ref.as_ref(),
        approval.commit.as_ref(),
        approval.reason.as_ref(),
        approval.resolver.as_ref(),
        approval.note.as_ref(),
        approval.problem.as_ref(),
    ];
    texts.into_iter().flatten().map(String::as_str)
}

fn texts_of_question(question: &Question) -> impl Iterator<Item = &str> {
    let answers = question.answer.iter().chain(&question.late_answer);
    let answers = answers.flat_map(|given| given.values.iter().chain(&given.resolver));
    let texts = [&question.text].into_iter().chain(&question.options).chain(answers);
    texts.map(String::as_str)
}

/// What an import did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HiveImported {
    /// Rows that are new.
    pub created: u64,
    /// Rows that were known and had gone on there, but not here.
    pub updated: u64,
    /// Rows that were known and stayed as they are.
    pub present: u64,
}
