//! Questions as people read them.

use ah_model::{Answered, Question, Timestamp};

use crate::output::{fields, line, printable, printable_lines};
use crate::when::{ago, ahead};

const TEXT_CHARS: usize = 60;

pub(super) const HEADER: &[&str] = &["ID", "OUTCOME", "FROM", "TO", "ASKED", "LEFT", "QUESTION"];

pub(super) fn row(question: &Question, now: Timestamp) -> Vec<String> {
    let open = question.resolved_at.is_none();
    let left = question.deadline_at.filter(|_| open).map(|then| ahead(then, now));
    vec![
        question.id.to_string(),
        question.outcome.to_string(),
        question.from.to_string(),
        question.to.to_string(),
        ago(question.asked_at, now),
        left.unwrap_or_default(),
        line(&question.text, TEXT_CHARS),
    ]
}

pub(super) fn question(question: &Question) -> String {
    let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
    let options: Vec<_> = question.options.iter().map(|option| printable(option)).collect();
    let choice = match (question.options.is_empty(), question.multi, question.free_text) {
        (true, ..) => "any text",
        (false, false, false) => "one of the options",
        (false, true, false) => "some of the options",
        (false, false, true) => "one of the options, or any text",
        (false, true, true) => "some of the options, or any text",
    };
    let head = fields(&[
        ("id", question.id.to_string()),
        ("outcome", question.outcome.to_string()),
        ("from", question.from.to_string()),
        ("to", question.to.to_string()),
        ("options", options.join(" | ")),
        ("answer with", choice.to_owned()),
        ("asked", question.asked_at.to_string()),
        ("deadline", time(question.deadline_at)),
        ("resolved", time(question.resolved_at)),
        ("answer", answered(question.answer.as_ref())),
        ("late answer", answered(question.late_answer.as_ref())),
    ]);
    format!("{head}\n{}", printable_lines(&question.text))
}

fn answered(given: Option<&Answered>) -> String {
    given.map_or(String::new(), |given| {
        let who = given.resolver.as_ref().map_or(String::new(), |who| format!(" ({who})"));
        printable(&format!("{} by {}{who}", given.values.join(", "), given.by))
    })
}
