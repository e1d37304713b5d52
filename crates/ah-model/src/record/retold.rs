//! What programs tell again with more in it: the newest telling counts, in the place of the first.
//!
//! Gemini CLI writes a message anew when its calls are done; opencode each part of a message as it
//! grows, as an event or as a row; goose keeps a message as a row that may be written again.

use super::{Spoken, ToolAnswer, is_text, is_true, text, transcript};
use crate::limits::MESSAGE_PARTS_MAX;
use crate::{JsonObject, JsonSlice};

/// Something that may be told again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retold<'a> {
    /// What it is known by.
    pub(crate) id: String,
    /// Whether the model says it.
    pub(crate) by_model: bool,
    pub(crate) said: Spoken<'a>,
    pub(crate) answers: Vec<ToolAnswer<'a>>,
}

/// What `line` tells, if it is told in one of these shapes.
pub(super) fn read<'a>(kind: &str, line: &JsonObject<'a>) -> Option<Retold<'a>> {
    let by_model = kind != "user_message";
    of_gemini(by_model, line).or_else(|| of_opencode(by_model, line)).or_else(|| of_goose(line))
}

/// The message that a program went back to: it and all after it are no more.
pub(super) fn rewound(line: &JsonObject<'_>) -> Option<String> {
    text(line, &["$rewindTo"])
}

fn of_gemini<'a>(by_model: bool, line: &JsonObject<'a>) -> Option<Retold<'a>> {
    let kind = line.get(&["type"])?.as_str();
    if !matches!(kind, "\"gemini\"" | "\"user\"") || line.get(&["message"]).is_some() {
        return None;
    }
    let id = text(line, &["id"])?;
    let mut said = Spoken::of(line);
    let mut answers = Vec::new();
    if let Some(calls) = said.tool_calls {
        for call in calls.elements(MESSAGE_PARTS_MAX)? {
            let call = call.object();
            let failed = call.get(&["status"]).is_some_and(|word| word.as_str() == "\"error\"");
            let results = call.get(&["result"]).and_then(|list| list.elements(MESSAGE_PARTS_MAX));
            let read = results.into_iter().flatten().filter_map(|part| gemini_answer(part, failed));
            // A picture that a tool gave stands behind its answer, and is no answer itself.
            answers.extend(read.take(1));
        }
    }
    if let Some(parts) = said.content.and_then(|content| content.elements(MESSAGE_PARTS_MAX)) {
        let found: Vec<_> = parts.iter().filter_map(|part| gemini_answer(*part, false)).collect();
        if !found.is_empty() {
            answers.extend(found);
            said.content = None;
        }
    }
    Some(Retold { id, by_model, said, answers })
}

fn gemini_answer(part: JsonSlice<'_>, failed: bool) -> Option<ToolAnswer<'_>> {
    let answer = transcript::object(&part.object(), "functionResponse")?.object();
    let response = answer.get(&["response"]);
    let inner = response.map(JsonSlice::object).unwrap_or_default();
    Some(ToolAnswer {
        id: text(&answer, &["id"])?,
        name: text(&answer, &["name"]),
        content: inner.get(&["output", "error"]).or(response),
        details: None,
        is_error: failed || inner.get(&["error"]).is_some(),
        repaired: false,
    })
}

fn of_opencode<'a>(by_model: bool, line: &JsonObject<'a>) -> Option<Retold<'a>> {
    let data = transcript::object(line, "data")?;
    let inner = data.object();
    let (id, part) = match transcript::object(&inner, "part") {
        Some(part) => (text(&part.object(), &["id"])?, part),
        // A row keeps its id beside what it holds.
        None => (line.get(&["message_id"]).and_then(|_| text(line, &["id"]))?, data),
    };
    let object = part.object();
    let mut retold = Retold { id, by_model, said: Spoken::default(), answers: Vec::new() };
    match object.get(&["type"])?.as_str() {
        "\"tool\"" => {
            retold.said.tool_calls = Some(part);
            retold.answers.extend(opencode_answer(&object));
        }
        _ => retold.said.content = Some(part),
    }
    Some(retold)
}

fn opencode_answer<'a>(part: &JsonObject<'a>) -> Option<ToolAnswer<'a>> {
    let state = transcript::object(part, "state")?.object();
    let failed = match state.get(&["status"])?.as_str() {
        "\"completed\"" => false,
        "\"error\"" => true,
        _ => return None,
    };
    Some(ToolAnswer {
        id: text(part, &["callID"])?,
        name: text(part, &["tool"]),
        content: state.get(if failed { &["error"] } else { &["output"] }),
        details: None,
        is_error: failed,
        repaired: false,
    })
}

fn of_goose<'a>(line: &JsonObject<'a>) -> Option<Retold<'a>> {
    let content = line.get(&["content_json"])?;
    let role = line.get(&["role"]).filter(|role| is_text(*role))?;
    let row = || line.get(&["id"]).map(|id| format!("row {}", id.as_str()));
    let id = text(line, &["message_id"]).or_else(row)?;
    let parts = content.elements(MESSAGE_PARTS_MAX).unwrap_or_default();
    let answers: Vec<_> = parts.into_iter().filter_map(goose_answer).collect();
    let said = Spoken { content: answers.is_empty().then_some(content), ..Spoken::default() };
    Some(Retold { id, by_model: role.as_str() == "\"assistant\"", said, answers })
}

fn goose_answer(part: JsonSlice<'_>) -> Option<ToolAnswer<'_>> {
    let part = part.object();
    part.get(&["type"]).filter(|kind| kind.as_str() == "\"toolResponse\"")?;
    let result = part.get(&["toolResult"]).map(JsonSlice::object).unwrap_or_default();
    let value = result.get(&["value"]);
    let inner = value.map(JsonSlice::object).unwrap_or_default();
    Some(ToolAnswer {
        id: text(&part, &["id"])?,
        name: None,
        content: inner.get(&["content"]).or(value).or_else(|| result.get(&["error"])),
        details: None,
        is_error: is_true(&inner, &["isError"]) || result.get(&["error"]).is_some(),
        repaired: false,
    })
}
