//! The typed payloads of events that a context is made of. Reading is lenient: every historical
//! shape of a type is taken, keys nobody knows are passed over, and the event keeps its bytes.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Event, Invalid, RawJson};

/// A JSON string as it was written. It may hold what no text can: half a surrogate pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct JsonText(RawJson);

impl JsonText {
    /// `json` if it is a string.
    pub fn of_json(json: RawJson) -> Option<Self> {
        json.as_str().starts_with('"').then_some(Self(json))
    }

    /// The JSON string of `text`.
    pub fn of(text: &str) -> Result<Self, Invalid> {
        RawJson::of(&text).map(Self)
    }

    /// Whether there is nothing but white space in it.
    pub fn is_blank(&self) -> bool {
        // The first character tells of nearly every text, and costs no copy of it.
        match self.0.as_str().as_bytes().get(1) {
            Some(first) if first.is_ascii_alphanumeric() => false,
            _ => self.to_string().trim().is_empty(),
        }
    }
}

impl fmt::Display for JsonText {
    /// The text; half a surrogate pair becomes the replacement character.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Result<String, _> = self.0.read();
        f.write_str(&text.unwrap_or_else(|_| {
            serde_json::from_str(&whole_characters(self.0.as_str())).unwrap_or_default()
        }))
    }
}

/// `json` with the escape of the replacement character for every half of a surrogate pair.
fn whole_characters(json: &str) -> String {
    const REPLACEMENT: &str = "\\ufffd";
    let code = |rest: &str| {
        let digits = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4))?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut kept, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(at) = rest.find('\\') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let low = rest.get(6..).and_then(code);
        let taken = match code(rest) {
            Some(0xd800..=0xdbff) if matches!(low, Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                kept.push_str(REPLACEMENT);
                rest = &rest[6..];
                continue;
            }
            Some(_) => 6,
            // Any other escape is two bytes of ASCII.
            None => 2,
        };
        let taken = taken.min(rest.len());
        kept.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    kept.push_str(rest);
    kept
}

/// A call of a tool by a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// What its result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What it was called with.
    pub arguments: RawJson,
}

#[derive(Deserialize)]
struct ToolCallKeys {
    #[serde(alias = "toolCallId", alias = "tool_call_id", alias = "tool_use_id")]
    id: RawJson,
    #[serde(alias = "toolName", alias = "tool_name")]
    name: RawJson,
    #[serde(alias = "input", alias = "args")]
    arguments: Option<RawJson>,
}

impl ToolCall {
    /// Reads a call in any of its spellings.
    pub fn read(json: &RawJson) -> Option<Self> {
        let keys: ToolCallKeys = json.read().ok()?;
        Some(Self {
            id: JsonText::of_json(keys.id)?.to_string(),
            name: JsonText::of_json(keys.name)?.to_string(),
            arguments: keys.arguments.unwrap_or_else(RawJson::null),
        })
    }
}

/// What somebody said: `user_message`, `assistant_message` and seed shapes of `message`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Spoken {
    pub(crate) role: Option<RawJson>,
    pub(crate) text: Option<RawJson>,
    pub(crate) content: Option<RawJson>,
    pub(crate) files: Option<RawJson>,
    #[serde(rename = "toolCalls", alias = "tool_calls")]
    pub(crate) tool_calls: Option<RawJson>,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) content: RawJson,
    pub(crate) details: Option<RawJson>,
    pub(crate) is_error: bool,
    /// Written by a repair, in place of an answer that never came.
    pub(crate) repaired: bool,
}

#[derive(Deserialize)]
struct AnswerKeys {
    #[serde(rename = "toolCallId", alias = "tool_call_id", alias = "tool_use_id")]
    id: Option<RawJson>,
    #[serde(rename = "toolName", alias = "tool_name")]
    name: Option<RawJson>,
    #[serde(alias = "text")]
    content: Option<RawJson>,
    output: Option<RawJson>,
    details: Option<RawJson>,
    #[serde(rename = "isError", alias = "is_error")]
    is_error: Option<RawJson>,
    repaired: Option<RawJson>,
}

#[derive(Deserialize)]
struct Wrapped {
    #[serde(rename = "toolMessage")]
    message: RawJson,
}

impl ToolAnswer {
    pub(crate) fn read(json: &RawJson) -> Option<Self> {
        let outer: AnswerKeys = json.read().ok()?;
        let wrapped: Option<Wrapped> = outer.output.as_ref().and_then(|output| output.read().ok());
        match wrapped.and_then(|wrapped| wrapped.message.read::<AnswerKeys>().ok()) {
            Some(inner) => Self::of(text_of(outer.id), inner),
            None => Self::of(None, outer),
        }
    }

    /// An answer with these keys; `id` is what the record around them says.
    fn of(id: Option<String>, keys: AnswerKeys) -> Option<Self> {
        Some(Self {
            id: id.or(text_of(keys.id))?,
            name: text_of(keys.name),
            content: keys.content.or(keys.output).unwrap_or_else(RawJson::null),
            details: keys.details,
            is_error: is_true(keys.is_error.as_ref()),
            repaired: is_true(keys.repaired.as_ref()),
        })
    }
}

fn text_of(json: Option<RawJson>) -> Option<String> {
    json.and_then(JsonText::of_json).map(|text| text.to_string())
}

fn is_true(json: Option<&RawJson>) -> bool {
    json.is_some_and(|json| json.as_str() == "true")
}

/// A tool seen from outside: hooks tell of it before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) input: RawJson,
    pub(crate) output: Option<RawJson>,
    pub(crate) error: Option<RawJson>,
}

#[derive(Deserialize)]
struct ToolUseKeys {
    #[serde(rename = "toolCallId", alias = "tool_call_id", alias = "tool_use_id")]
    id: Option<RawJson>,
    #[serde(rename = "toolName", alias = "tool_name")]
    name: RawJson,
    #[serde(rename = "toolInput", alias = "tool_input")]
    input: Option<RawJson>,
    #[serde(rename = "toolOutput", alias = "tool_output", alias = "tool_response")]
    output: Option<RawJson>,
    error: Option<RawJson>,
}

impl ToolUse {
    fn read(json: &RawJson) -> Option<Self> {
        let keys: ToolUseKeys = json.read().ok()?;
        Some(Self {
            id: text_of(keys.id),
            name: text_of(Some(keys.name))?,
            input: keys.input.unwrap_or_else(RawJson::null),
            output: keys.output,
            error: keys.error.filter(|error| !matches!(error.as_str(), "\"\"" | "false")),
        })
    }
}

/// A later text for something an assistant said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// The seq of the event meant, in the same session.
    pub(crate) seq: Option<u64>,
    /// Its time in milliseconds, as programs say that have no seq.
    pub(crate) at_ms: Option<i64>,
    pub(crate) text: JsonText,
}

#[derive(Deserialize)]
struct RewriteKeys {
    #[serde(rename = "assistantSeq", alias = "assistant_seq")]
    seq: Option<RawJson>,
    #[serde(rename = "assistantAt", alias = "assistant_at")]
    at_ms: Option<RawJson>,
    text: RawJson,
}

impl Rewrite {
    fn read(json: &RawJson) -> Option<Self> {
        let keys: RewriteKeys = json.read().ok()?;
        Some(Self {
            seq: keys.seq.and_then(|seq| seq.read().ok()),
            at_ms: keys.at_ms.and_then(|at| at.read().ok()),
            text: JsonText::of_json(keys.text)?,
        })
    }
}

/// A program run for a model, step by step, that can go on from its last step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rlm {
    /// `rlm_start`.
    Start,
    /// `rlm_tool_call`; whether it holds a state to go on from.
    ToolCall {
        /// Whether there is a snapshot.
        resumable: bool,
    },
    /// `rlm_tool_result`.
    ToolResult,
    /// `rlm_complete`.
    Complete,
}

#[derive(Deserialize)]
struct RlmKeys {
    #[serde(rename = "toolCallId", alias = "tool_call_id")]
    id: RawJson,
    snapshot: Option<RawJson>,
    #[serde(rename = "snapshotId", alias = "snapshot_id")]
    snapshot_id: Option<RawJson>,
}

/// An event by what it means to a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// `user_message`.
    UserMessage(Spoken),
    /// `assistant_message`.
    AssistantMessage(Spoken),
    /// `message`: the role is in the payload.
    Message(Spoken),
    /// `tool_result`.
    ToolResult(ToolAnswer),
    /// `rlm_start`, `rlm_tool_call`, `rlm_tool_result`, `rlm_complete`, of a tool call.
    Rlm(String, Rlm),
    /// `assistant_rewrite`.
    AssistantRewrite(Rewrite),
    /// `pre_tool`.
    PreTool(ToolUse),
    /// `post_tool`.
    PostTool(ToolUse),
    /// `context_copy`: messages that another program kept where it had no history.
    ContextCopy(RawJson),
    /// `note`, `session_start`, `session_stop`, `unreadable` and every type nobody here knows.
    NotShown,
}

impl Record {
    /// Reads an event; nothing when a type that is known has a payload that is not.
    pub fn read(event: &Event) -> Option<Self> {
        let data = &event.data;
        let rlm = |step: Rlm| {
            let keys: RlmKeys = data.read().ok()?;
            Some(Self::Rlm(text_of(Some(keys.id))?, step))
        };
        match event.kind.as_str() {
            "user_message" => data.read().ok().map(Self::UserMessage),
            "assistant_message" => data.read().ok().map(Self::AssistantMessage),
            "message" => data.read().ok().map(Self::Message),
            "tool_result" => ToolAnswer::read(data).map(Self::ToolResult),
            "rlm_start" => rlm(Rlm::Start),
            "rlm_tool_call" => rlm(Rlm::ToolCall { resumable: has_snapshot(data) }),
            "rlm_tool_result" => rlm(Rlm::ToolResult),
            "rlm_complete" => rlm(Rlm::Complete),
            "assistant_rewrite" => Rewrite::read(data).map(Self::AssistantRewrite),
            "pre_tool" => ToolUse::read(data).map(Self::PreTool),
            "post_tool" => ToolUse::read(data).map(Self::PostTool),
            "context_copy" => Some(Self::ContextCopy(data.clone())),
            _ => Some(Self::NotShown),
        }
    }
}

fn has_snapshot(data: &RawJson) -> bool {
    let filled = |json: &RawJson| json.as_str() != "\"\"";
    data.read::<RlmKeys>().is_ok_and(|keys| {
        keys.snapshot.as_ref().is_some_and(filled) || keys.snapshot_id.as_ref().is_some_and(filled)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> RawJson {
        RawJson::parse("data", text, 10_000).unwrap()
    }

    #[test]
    fn text_is_shown_whatever_halves_of_characters_it_holds() {
        for (given, shown) in [
            (r#""plain \" text""#, "plain \" text"),
            (r#""\ud83d\ude00 whole""#, "\u{1f600} whole"),
            (r#""a\ud800b""#, "a\u{fffd}b"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\\ud800""#, "\\ud800"),
            (r#""nul \u0000""#, "nul \0"),
            (r#""\ud800 \n\ud83d\ude00é""#, "\u{fffd} \n\u{1f600}é"),
        ] {
            assert_eq!(JsonText::of_json(json(given)).unwrap().to_string(), shown, "{given}");
        }
        assert_eq!(JsonText::of_json(json("7")), None);
    }

    #[test]
    fn a_tool_answer_is_read_in_both_of_its_historical_shapes_and_ours() {
        let shapes = [
            r#"{"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[1],"isError":true},"files":[]}}"#,
            r#"{"toolCallId":"c1","output":{"toolMessage":{"toolCallId":"c1","toolName":"read","content":[1],"isError":true},"typedResult":{"x":1}}}"#,
            r#"{"toolCallId":"c1","toolName":"read","content":[1],"isError":true}"#,
            r#"{"tool_use_id":"c1","tool_name":"read","output":[1],"is_error":true}"#,
        ];
        for shape in shapes {
            let answer = ToolAnswer::read(&json(shape)).unwrap();
            let expected = ToolAnswer {
                id: "c1".to_owned(),
                name: Some("read".to_owned()),
                content: json("[1]"),
                details: None,
                is_error: true,
                repaired: false,
            };
            assert_eq!(answer, expected, "{shape}");
        }
        assert_eq!(ToolAnswer::read(&json(r#"{"content":[1]}"#)), None);
    }
}
