//! A row of `operator_questions` as a question.

use ah_model::{
    Answer, Answered, NewQuestion, Outcome, Party, Question, QuestionId, QuestionStatus, Timestamp,
};

use super::people::People;
use super::time::read_time;
use crate::foreign_db::{Cell, Columns};

/// The table's name, and the one it may have got when agents could be asked too.
pub(super) const TABLES: [&str; 2] = ["operator_questions", "questions"];
pub(super) const NEEDED: [&str; 2] = ["asker", "question"];
pub(super) const COLUMNS: [&str; 10] = [
    "id",
    "asker",
    "question",
    "options_json",
    "multi",
    "asked_at",
    "deadline_at",
    "answered_at",
    "answer",
    "target",
];
/// What never changes of a row.
pub(super) const LASTING: [&str; 4] = ["asker", "question", "options_json", "asked_at"];

/// Answers that Hyperhive itself wrote.
const CANCELLED: &str = "[cancelled]";
const EXPIRED: &str = "[expired]";

/// The question of a row as it stands at `now`, or why it cannot be taken. One without a time gets
/// `before`.
pub(super) fn question(
    columns: &mut Columns<'_>,
    people: &People,
    id: QuestionId,
    before: Timestamp,
    now: Timestamp,
) -> Result<Question, String> {
    let from = people.party("asker", columns.cell("asker"))?;
    let to = match columns.cell("target") {
        Cell::Null => Party::Operator,
        target => people.party("target", target)?,
    };
    let text = columns.cell("question").text().ok_or("question: is no text")?;
    let mut new = NewQuestion::new(from, to, text);
    new.options = options(columns);
    // The page that asked had a field for any other answer too.
    new.free_text = !new.options.is_empty();
    new.multi = is_multi(columns) && !new.options.is_empty();
    new.check().map_err(|invalid| invalid.to_string())?;
    let asked_at = columns.time("asked_at", read_time).unwrap_or(before);
    let mut question = Question::asked(&new, id, 0, asked_at);
    question.deadline_at = columns.time("deadline_at", read_time);
    let answered_at = columns.time("answered_at", read_time);
    let was_answered = !columns.cell("answered_at").is_null() || !columns.cell("answer").is_null();
    if was_answered {
        resolve(&mut question, columns, answered_at.unwrap_or(asked_at));
    } else if question.is_due(now) {
        question.expire();
    }
    Ok(question)
}

/// Ends the question as its answer says.
fn resolve(question: &mut Question, columns: &mut Columns<'_>, at: Timestamp) {
    let text = columns.cell("answer").text();
    match text {
        Some(CANCELLED) => return end(question, QuestionStatus::Withdrawn, Outcome::Withdrawn, at),
        Some(EXPIRED) => {
            let at = question.deadline_at.unwrap_or(at);
            return end(question, QuestionStatus::Expired, Outcome::Expired, at);
        }
        _ => {}
    }
    let values = values(question, text.unwrap_or_default());
    let answer = Answer { by: question.to.clone(), resolver: None, values };
    if let Err(invalid) = question.check_answer(&answer) {
        columns.leave("answer", &format!("{invalid}: withdrawn here"));
        return end(question, QuestionStatus::Withdrawn, Outcome::Withdrawn, at);
    }
    let Answer { by, resolver, values } = answer;
    let given = Some(Answered { by, resolver, values, at });
    if question.is_due(at) {
        question.expire();
        (question.late_answer, question.outcome) = (given, Outcome::Late);
    } else {
        question.answer = given;
        end(question, QuestionStatus::Answered, Outcome::Answered, at);
    }
}

fn end(question: &mut Question, status: QuestionStatus, outcome: Outcome, at: Timestamp) {
    (question.status, question.outcome, question.resolved_at) = (status, outcome, Some(at));
}

/// What was answered. Several choices were joined with a comma.
fn values(question: &Question, text: &str) -> Vec<String> {
    let chosen: Vec<String> = text.split(", ").map(str::to_owned).collect();
    let all_known = chosen.iter().all(|value| question.options.contains(value));
    match question.multi && all_known {
        true => chosen,
        false => vec![text.to_owned()],
    }
}

fn is_multi(columns: &Columns<'_>) -> bool {
    match columns.cell("multi") {
        Cell::Null => false,
        Cell::Integer(number) => *number != 0,
        Cell::Real(number) => *number != 0.0,
        other => !["", "0", "false"].contains(&other.text().unwrap_or_default()),
    }
}

/// The options; none where the column holds no list of texts.
fn options(columns: &mut Columns<'_>) -> Vec<String> {
    match columns.json("options_json").map(|json| json.read::<Option<Vec<String>>>()) {
        Some(Ok(options)) => options.unwrap_or_default(),
        Some(Err(_)) => {
            columns.leave("options_json", "is no list of texts");
            Vec::new()
        }
        None => Vec::new(),
    }
}
