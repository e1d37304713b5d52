//! Questions: asked of the operator or of an agent, with a deadline.
//!
//! Invariants: a question is resolved once; an answer at or after the deadline is kept as late and
//! never becomes the answer in time.

use serde::{Deserialize, Serialize};

use crate::limits::{
    LABEL_BYTES_MAX, OPTIONS_MAX, PROMPT_BYTES_MAX, QUESTION_TTL_MS_MAX, SHORT_TEXT_BYTES_MAX,
};
use crate::text::{check_filled, check_optional};
use crate::word::words;
use crate::{Invalid, MessageKind, Notice, Party, QuestionId, Timestamp};

words!(
    /// Where a question stands.
    QuestionStatus, "question status",
    {
        /// Waits for an answer.
        Open = "open",
        /// Answered in time.
        Answered = "answered",
        /// The deadline passed before an answer came.
        Expired = "expired",
        /// Taken back by who asked.
        Withdrawn = "withdrawn",
    }
);

words!(
    /// What came of a question.
    Outcome, "outcome",
    {
        /// Nothing yet.
        Open = "open",
        /// An answer in time.
        Answered = "answered",
        /// An answer after the deadline.
        Late = "late",
        /// No answer in time, and none since.
        Expired = "expired",
        /// Nothing: it was taken back.
        Withdrawn = "withdrawn",
    }
);

/// A question to ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewQuestion {
    /// Its id; minted when absent.
    #[serde(default)]
    pub id: Option<QuestionId>,
    /// Who asks.
    pub from: Party,
    /// Who is asked.
    pub to: Party,
    /// What.
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = PROMPT_BYTES_MAX), pattern(r"\S"))
    )]
    pub text: String,
    /// The answers to choose from; any text when empty.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = OPTIONS_MAX)))]
    pub options: Vec<String>,
    /// Whether several may be chosen.
    #[serde(default)]
    pub multi: bool,
    /// Whether an answer may also be something that is not among the options.
    #[serde(default)]
    pub free_text: bool,
    /// How long there is to answer; for ever when absent.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = QUESTION_TTL_MS_MAX)))]
    pub ttl_ms: Option<u64>,
}

impl NewQuestion {
    /// A question of any answer and without a deadline.
    pub fn new(from: Party, to: Party, text: impl Into<String>) -> Self {
        Self {
            id: None,
            from,
            to,
            text: text.into(),
            options: Vec::new(),
            multi: false,
            free_text: false,
            ttl_ms: None,
        }
    }

    /// Refuses what cannot be stored or answered.
    pub fn check(&self) -> Result<(), Invalid> {
        check_filled("text", &self.text, PROMPT_BYTES_MAX)?;
        if self.from.is(self.to.as_str()) {
            return Err(Invalid::new("to", format!("{} asks itself", self.from)));
        }
        check_values("options", &self.options)?;
        if self.multi && self.options.is_empty() {
            return Err(Invalid::new("multi", "needs options to choose from"));
        }
        if self.ttl_ms.is_some_and(|ms| !(1..=QUESTION_TTL_MS_MAX).contains(&ms)) {
            let reason = format!("1 to {QUESTION_TTL_MS_MAX} are allowed");
            return Err(Invalid::new("ttlMs", reason));
        }
        Ok(())
    }
}

/// Refuses too many, empty, overlong and repeated values.
fn check_values(field: &'static str, values: &[String]) -> Result<(), Invalid> {
    if values.len() > OPTIONS_MAX {
        let reason = format!("{} values, at most {OPTIONS_MAX} are allowed", values.len());
        return Err(Invalid::new(field, reason));
    }
    for (place, value) in values.iter().enumerate() {
        check_filled(field, value, SHORT_TEXT_BYTES_MAX)?;
        if values[..place].contains(value) {
            return Err(Invalid::new(field, format!("{value:?} is there twice")));
        }
    }
    Ok(())
}

/// An answer to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// Who answers: who was asked, or the operator.
    pub by: Party,
    /// Which of the people, machines or tokens that is.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = LABEL_BYTES_MAX)))]
    pub resolver: Option<String>,
    /// What; one unless several may be chosen.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = OPTIONS_MAX)))]
    pub values: Vec<String>,
}

impl Answer {
    /// The operator's.
    pub fn operator(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { by: Party::Operator, resolver: None, values }
    }

    /// Refuses what cannot be stored.
    pub fn check(&self) -> Result<(), Invalid> {
        check_optional("resolver", self.resolver.as_deref(), LABEL_BYTES_MAX)?;
        if let [value] = self.values.as_slice() {
            return check_filled("answer", value, PROMPT_BYTES_MAX);
        }
        if self.values.is_empty() {
            return Err(Invalid::new("answer", "must not be empty"));
        }
        check_values("answer", &self.values)
    }
}

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    /// Who answered.
    pub by: Party,
    /// Which of the people, machines or tokens that was.
    pub resolver: Option<String>,
    /// What.
    pub values: Vec<String>,
    /// When.
    pub at: Timestamp,
}

/// A question the store keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Its id.
    pub id: QuestionId,
    /// Its place in the order of asking.
    pub number: u64,
    /// Who asked.
    pub from: Party,
    /// Who was asked.
    pub to: Party,
    /// What.
    pub text: String,
    /// The answers to choose from; any text when empty.
    pub options: Vec<String>,
    /// Whether several may be chosen.
    pub multi: bool,
    /// Whether an answer may also be something that is not among the options.
    pub free_text: bool,
    /// Where it stands.
    pub status: QuestionStatus,
    /// What came of it.
    pub outcome: Outcome,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// An answer at this time is late.
    pub deadline_at: Option<Timestamp>,
    /// When it was answered, expired or was withdrawn.
    pub resolved_at: Option<Timestamp>,
    /// The answer in time.
    pub answer: Option<Answered>,
    /// The answer that came too late.
    pub late_answer: Option<Answered>,
}

impl Question {
    /// What `new` asks.
    pub fn asked(new: &NewQuestion, id: QuestionId, number: u64, now: Timestamp) -> Self {
        Self {
            id,
            number,
            from: new.from.clone(),
            to: new.to.clone(),
            text: new.text.clone(),
            options: new.options.clone(),
            multi: new.multi,
            free_text: new.free_text,
            status: QuestionStatus::Open,
            outcome: Outcome::Open,
            asked_at: now,
            deadline_at: new.ttl_ms.map(|ms| now.plus_ms(ms)),
            resolved_at: None,
            answer: None,
            late_answer: None,
        }
    }

    /// Whether its deadline has come at `now`.
    pub fn is_due(&self, now: Timestamp) -> bool {
        self.status == QuestionStatus::Open && self.deadline_at.is_some_and(|then| then <= now)
    }

    /// Nobody answered in time. Only what [`Self::is_due`].
    pub fn expire(&mut self) {
        self.resolve(QuestionStatus::Expired, Outcome::Expired, self.deadline_at);
    }

    fn resolve(&mut self, status: QuestionStatus, outcome: Outcome, at: Option<Timestamp>) {
        (self.status, self.outcome, self.resolved_at) = (status, outcome, at);
    }

    /// Whether `answer` is one that was asked for.
    pub fn check_answer(&self, answer: &Answer) -> Result<(), Invalid> {
        answer.check()?;
        if answer.values.len() > 1 && !self.multi {
            let reason = format!("{} values, the question takes one", answer.values.len());
            return Err(Invalid::new("answer", reason));
        }
        let strange = |value: &&String| !self.options.contains(value);
        let free = self.options.is_empty() || self.free_text;
        match answer.values.iter().find(strange).filter(|_| !free) {
            Some(value) => {
                let known = self.options.join(", ");
                Err(Invalid::new("answer", format!("{value:?} is none of {known}")))
            }
            None => Ok(()),
        }
    }

    /// Answers at `now`: in time, or late. The same answer again changes nothing: then the answer is
    /// false. Only an answer that passed [`Self::check_answer`].
    pub fn answer(&mut self, answer: &Answer, now: Timestamp) -> Result<bool, String> {
        if answer.by != Party::Operator && answer.by != self.to {
            return Err(format!("was asked of {}, not of {}", self.to, answer.by));
        }
        if self.is_due(now) {
            self.expire();
        }
        let known = match self.status {
            QuestionStatus::Withdrawn => return Err("was withdrawn".to_owned()),
            QuestionStatus::Open => None,
            QuestionStatus::Answered => self.answer.as_ref(),
            QuestionStatus::Expired => self.late_answer.as_ref(),
        };
        if let Some(known) = known {
            return if known.values == answer.values { Ok(false) } else { Err(known.refusal()) };
        }
        let given = Answered {
            by: answer.by.clone(),
            resolver: answer.resolver.clone(),
            values: answer.values.clone(),
            at: now,
        };
        if self.status == QuestionStatus::Open {
            self.answer = Some(given);
            self.resolve(QuestionStatus::Answered, Outcome::Answered, Some(now));
        } else {
            self.late_answer = Some(given);
            self.outcome = Outcome::Late;
        }
        Ok(true)
    }

    /// `by` takes it back at `now`: who asked, or the operator. Doing it again changes nothing: then
    /// the answer is false.
    pub fn withdraw(&mut self, by: &Party, now: Timestamp) -> Result<bool, String> {
        if *by != Party::Operator && *by != self.from {
            return Err(format!("was asked by {}, not by {by}", self.from));
        }
        match self.status {
            QuestionStatus::Withdrawn => Ok(false),
            QuestionStatus::Open if !self.is_due(now) => {
                self.resolve(QuestionStatus::Withdrawn, Outcome::Withdrawn, Some(now));
                Ok(true)
            }
            QuestionStatus::Open => Err("has expired".to_owned()),
            QuestionStatus::Answered | QuestionStatus::Expired => {
                Err(format!("is already {}", self.outcome))
            }
        }
    }

    /// What an agent that is asked is told.
    pub fn asked_notice(&self) -> Option<Notice> {
        let options: String = self.options.iter().map(|option| format!("\n- {option}")).collect();
        let body = format!("{}{options}", self.text);
        self.notice(MessageKind::Question, &self.from, &self.to, body)
    }

    /// What an agent that asked is told once it is answered or has expired.
    pub fn outcome_notice(&self) -> Option<Notice> {
        let body = match (&self.outcome, &self.answer, &self.late_answer) {
            (Outcome::Answered, Some(given), _) | (Outcome::Late, _, Some(given)) => {
                given.values.join("\n")
            }
            (Outcome::Expired, ..) => format!("nobody answered in time: {}", self.text),
            _ => return None,
        };
        let given = self.answer.as_ref().or(self.late_answer.as_ref());
        let by = given.map_or(&self.to, |given| &given.by);
        self.notice(MessageKind::Answer, by, &self.from, body)
    }

    fn notice(&self, kind: MessageKind, from: &Party, to: &Party, body: String) -> Option<Notice> {
        let about = Some(self.id.to_string());
        let notice = Notice { kind, from: from.clone(), to: to.clone(), body, about };
        Some(notice).filter(|notice| notice.to != Party::Operator)
    }
}

impl Answered {
    fn refusal(&self) -> String {
        let resolver = self.resolver.as_ref().map_or(String::new(), |who| format!(" ({who})"));
        format!("was already answered {:?} by {}{resolver}", self.values.join(", "), self.by)
    }
}

/// Which questions of a list; every part that is given must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// In one of these; in any when empty.
    pub statuses: Vec<QuestionStatus>,
    /// Asked by.
    pub from: Option<Party>,
    /// Asked of.
    pub to: Option<Party>,
    /// Asked by or of.
    pub party: Option<Party>,
}

impl QuestionFilter {
    /// Whether `question` passes. Stores filter in their own way; this is what they must agree with.
    pub fn matches(&self, question: &Question) -> bool {
        let concerns =
            |party: &Party| party.is(question.from.as_str()) || party.is(question.to.as_str());
        (self.statuses.is_empty() || self.statuses.contains(&question.status))
            && self.from.as_ref().is_none_or(|party| party.is(question.from.as_str()))
            && self.to.as_ref().is_none_or(|party| party.is(question.to.as_str()))
            && self.party.as_ref().is_none_or(concerns)
    }
}
