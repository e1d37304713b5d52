//! The lines of other programs' transcripts and the payloads of their hooks, as events keep them.
//!
//! Claude Code puts what was said into `message`, with a list of blocks as its content; Codex into
//! `payload`, one thing a line; opencode and goose have calls of shapes of their own. A hook says a
//! prompt in `prompt` and an answer in `last_assistant_message`; Gemini CLI and goose have words of
//! their own for them.

use super::{Spoken, ToolAnswer, ToolCall, ToolUse, decoded, is_text, is_true, text};
use crate::limits::MESSAGE_PARTS_MAX;
use crate::{JsonObject, JsonSlice, RawJson};

/// The types of Codex's lines that are calls.
const CALLS: [&str; 3] = ["\"function_call\"", "\"custom_tool_call\"", "\"local_shell_call\""];
/// What a shell call without a name is called.
const LOCAL_SHELL: &str = "local_shell";
/// What hooks of Codex call its shell.
const SHELL: &str = "Bash";
/// Tools of a server are told apart by its name, as hooks write them.
const SERVER_TOOLS: &str = "mcp__";
/// The state of a call that did not do what it should.
const FAILED: [&str; 2] = ["\"failed\"", "\"declined\""];

fn type_of<'a>(json: &JsonObject<'a>) -> Option<&'a str> {
    json.get(&["type"]).map(JsonSlice::as_str)
}

pub(super) fn object<'a>(json: &JsonObject<'a>, name: &str) -> Option<JsonSlice<'a>> {
    json.get(&[name]).filter(|value| value.as_str().starts_with('{'))
}

/// What a transcript's line or a hook says, if `line` is one.
pub(super) fn spoken<'a>(line: &JsonObject<'a>) -> Option<Spoken<'a>> {
    if let Some(message) = object(line, "message") {
        return Some(Spoken::of(&message.object()));
    }
    if let Some(payload) = object(line, "payload") {
        return of_payload(payload);
    }
    if let Some(item) = object(line, "item") {
        return Some(Spoken::of(&item.object()));
    }
    Some(Spoken { text: Some(prompt(line)?), ..Spoken::default() })
}

/// The prompt that a hook tells; goose has another word for it, beside one for the hook.
pub(super) fn prompt<'a>(hook: &JsonObject<'a>) -> Option<JsonSlice<'a>> {
    let of_goose = || hook.get(&["message"]).filter(|_| hook.get(&["event"]).is_some());
    hook.get(&["prompt"]).or_else(of_goose).filter(|prompt| is_text(*prompt))
}

fn of_payload(payload: JsonSlice<'_>) -> Option<Spoken<'_>> {
    let said = payload.object();
    match type_of(&said)? {
        kind if CALLS.contains(&kind) => {
            Some(Spoken { tool_calls: Some(payload), ..Spoken::default() })
        }
        "\"item_completed\"" => Some(Spoken::of(&object(&said, "item")?.object())),
        "\"message\"" => Some(Spoken::of(&said)),
        _ => Some(Spoken { text: said.get(&["message"]), ..Spoken::default() }),
    }
}

/// The answer that a hook says was the last of a turn.
pub(super) fn last_answer<'a>(hook: &JsonObject<'a>) -> Option<Spoken<'a>> {
    let said = hook.get(&["last_assistant_message", "prompt_response"]);
    let said = said.filter(|said| is_text(*said))?;
    Some(Spoken { text: Some(said), ..Spoken::default() })
}

/// A call as a transcript has it.
pub(super) fn call(json: &JsonObject<'_>) -> Option<ToolCall> {
    match type_of(json)? {
        kind if CALLS.contains(&kind) => codex_call(kind, json),
        "\"tool\"" => {
            let state = object(json, "state").map(JsonSlice::object).unwrap_or_default();
            made_call(text(json, &["callID"])?, text(json, &["tool"])?, state.get(&["input"]))
        }
        "\"toolRequest\"" => {
            let called = object(json, "toolCall")?.object();
            let called = object(&called, "value")?.object();
            made_call(text(json, &["id"])?, text(&called, &["name"])?, called.get(&["arguments"]))
        }
        _ => None,
    }
}

fn made_call(id: String, name: String, arguments: Option<JsonSlice<'_>>) -> Option<ToolCall> {
    let arguments = arguments.map_or_else(RawJson::null, JsonSlice::to_raw);
    Some(ToolCall { id, name, arguments })
}

/// A call as Codex writes it: the arguments are JSON in a text, and the server's name stands apart.
fn codex_call(kind: &str, json: &JsonObject<'_>) -> Option<ToolCall> {
    let name = match text(json, &["name"]) {
        None => LOCAL_SHELL.to_owned(),
        Some(name) => match text(json, &["namespace"]) {
            Some(server) if server.starts_with(SERVER_TOOLS) => format!("{server}__{name}"),
            _ => name,
        },
    };
    let given = json.get(&["arguments", "input", "action"]);
    let written = given.filter(|given| kind == CALLS[0] && is_text(*given));
    let inner = written.and_then(|text| {
        let text = decoded(text.as_str());
        RawJson::parse("arguments", &text, text.len()).ok()
    });
    let arguments = inner.or_else(|| given.map(JsonSlice::to_raw));
    let id = text(json, &["call_id"]).or_else(|| text(json, &["id"]))?;
    Some(ToolCall { id, name, arguments: arguments.unwrap_or_else(RawJson::null) })
}

/// An answer as Codex writes it.
pub(super) fn output<'a>(line: &JsonObject<'a>) -> Option<ToolAnswer<'a>> {
    let payload = object(line, "payload")?.object();
    let output = payload.get(&["output"]);
    let whole = output.map(JsonSlice::object).unwrap_or_default();
    let succeeded = whole.get(&["success"]).is_none_or(|success| success.as_str() != "false");
    Some(ToolAnswer {
        id: text(&payload, &["call_id"])?,
        name: None,
        content: whole.get(&["content", "body"]).or(output),
        details: None,
        is_error: !succeeded,
        repaired: false,
    })
}

/// A tool in a line of the stream of Codex.
pub(super) fn item_use<'a>(line: &JsonObject<'a>) -> Option<ToolUse<'a>> {
    let item = object(line, "item")?.object();
    let is_given = |value: &JsonSlice<'_>| value.as_str() != "null";
    let get = |names: &[&str]| item.get(names).filter(is_given);
    let failed = item.get(&["status"]).is_some_and(|status| FAILED.contains(&status.as_str()));
    let name = match type_of(&item)? {
        "\"command_execution\"" => SHELL.to_owned(),
        "\"mcp_tool_call\"" => {
            let (server, tool) = (text(&item, &["server"])?, text(&item, &["tool"])?);
            format!("{SERVER_TOOLS}{server}__{tool}")
        }
        kind => text(&item, &["tool"]).unwrap_or_else(|| decoded(kind)),
    };
    Some(ToolUse {
        id: text(&item, &["id"]),
        name,
        input: get(&["command", "arguments", "changes", "prompt"]),
        output: get(&["aggregated_output", "result", "agents_states"]),
        error: get(&["error"]).or(get(&["exit_code", "status"]).filter(|_| failed)),
    })
}

/// The call that a line of Codex says did not succeed.
pub(super) fn failed_call(line: &JsonObject<'_>) -> Option<String> {
    let item = object(&object(line, "payload")?.object(), "item")?.object();
    let status = item.get(&["status"])?;
    text(&item, &["id"]).filter(|_| FAILED.contains(&status.as_str()))
}

/// The answers in a line of Claude Code, and what else it says.
pub(super) fn answers<'a>(
    line: &JsonObject<'a>,
) -> Option<(Vec<ToolAnswer<'a>>, Vec<JsonSlice<'a>>)> {
    let blocks = object(line, "message")?.object().get(&["content"])?;
    let refused = object(line, "permissionDecision").filter(|decision| {
        decision.object().get(&["decision"]).is_some_and(|word| word.as_str() == "\"reject\"")
    });
    let (mut answers, mut rest) = (Vec::new(), Vec::new());
    for block in blocks.elements(MESSAGE_PARTS_MAX)? {
        match answer_of(block, refused) {
            Some(answer) => answers.push(answer),
            None => rest.push(block),
        }
    }
    (!answers.is_empty()).then_some((answers, rest))
}

fn answer_of<'a>(block: JsonSlice<'a>, refused: Option<JsonSlice<'a>>) -> Option<ToolAnswer<'a>> {
    let block = block.object();
    type_of(&block).filter(|kind| *kind == "\"tool_result\"")?;
    Some(ToolAnswer {
        id: text(&block, &["tool_use_id"])?,
        name: None,
        content: block.get(&["content"]),
        // Who refused it, and why.
        details: refused,
        is_error: is_true(&block, &["is_error"]) || refused.is_some(),
        repaired: false,
    })
}
