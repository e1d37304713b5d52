//! The typed payloads of events that a context is made of. Reading is lenient: every historical
//! shape and spelling of a type is taken, what nobody knows is passed over, and one odd value costs
//! its own reading, not the record's.

mod retold;
mod transcript;

use std::fmt;

use serde::Serialize;

use crate::{Event, Invalid, JsonObject, JsonSlice, RawJson};

pub(crate) use retold::Retold;

/// A JSON string as it was written. It may hold what no text can: half a surrogate pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct JsonText(RawJson);

impl JsonText {
    /// `json` if it is a string.
    pub fn of_json(json: RawJson) -> Option<Self> {
        is_text(json.slice()).then_some(Self(json))
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
        f.write_str(&decoded(self.0.as_str()))
    }
}

fn is_text(json: JsonSlice<'_>) -> bool {
    json.as_str().starts_with('"')
}

/// The text of a JSON string.
pub(crate) fn decoded(json: &str) -> String {
    serde_json::from_str(json)
        .or_else(|_| serde_json::from_str(&whole_characters(json)))
        .unwrap_or_default()
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

const CALL_ID: &[&str] = &["toolCallId", "tool_call_id", "tool_use_id"];
const TOOL_NAME: &[&str] = &["toolName", "tool_name"];

fn text(json: &JsonObject<'_>, names: &[&str]) -> Option<String> {
    json.get(names).filter(|value| is_text(*value)).map(|value| decoded(value.as_str()))
}

fn is_true(json: &JsonObject<'_>, names: &[&str]) -> bool {
    json.get(names).is_some_and(|value| value.as_str() == "true")
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

impl ToolCall {
    /// Reads a call in any of its spellings.
    pub fn read(json: JsonSlice<'_>) -> Option<Self> {
        let json = json.object();
        if let Some(call) = transcript::call(&json) {
            return Some(call);
        }
        let arguments = json.get(&["arguments", "input", "args"]);
        Some(Self {
            id: text(&json, &["id"]).or_else(|| text(&json, CALL_ID))?,
            name: text(&json, &["name"]).or_else(|| text(&json, TOOL_NAME))?,
            arguments: arguments.map_or_else(RawJson::null, JsonSlice::to_raw),
        })
    }
}

/// What somebody said: the parts of `user_message`, `assistant_message` and `message`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spoken<'a> {
    pub(crate) role: Option<JsonSlice<'a>>,
    pub(crate) text: Option<JsonSlice<'a>>,
    pub(crate) content: Option<JsonSlice<'a>>,
    pub(crate) files: Option<JsonSlice<'a>>,
    pub(crate) tool_calls: Option<JsonSlice<'a>>,
}

impl<'a> Spoken<'a> {
    /// Reads an object, or a plain text.
    pub(crate) fn read(json: JsonSlice<'a>) -> Option<Self> {
        if is_text(json) {
            return Some(Self { text: Some(json), ..Self::default() });
        }
        if !json.as_str().starts_with('{') {
            return None;
        }
        let json = json.object();
        let said = Self::of(&json);
        match said == Self::default() {
            true => transcript::spoken(&json).or(Some(said)),
            false => Some(said),
        }
    }

    fn of(json: &JsonObject<'a>) -> Self {
        Self {
            role: json.get(&["role"]),
            text: json.get(&["text"]),
            content: json.get(&["content"]),
            files: json.get(&["files"]),
            tool_calls: json.get(&["toolCalls", "tool_calls"]),
        }
    }
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolAnswer<'a> {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    pub(crate) content: Option<JsonSlice<'a>>,
    pub(crate) details: Option<JsonSlice<'a>>,
    pub(crate) is_error: bool,
    /// Written by a repair, in place of an answer that never came.
    pub(crate) repaired: bool,
}

impl<'a> ToolAnswer<'a> {
    /// Reads an answer: the whole record, or the message inside of its output.
    pub(crate) fn read(json: JsonSlice<'a>) -> Option<Self> {
        let json = json.object();
        if let Some(answer) = transcript::output(&json) {
            return Some(answer);
        }
        let inner = json.get(&["output"]).and_then(|output| output.object().get(&["toolMessage"]));
        let inner = inner.map(JsonSlice::object);
        let said = inner.as_ref().unwrap_or(&json);
        Some(Self {
            id: text(&json, CALL_ID).or_else(|| text(said, CALL_ID))?,
            name: text(said, TOOL_NAME),
            content: said.get(&["content", "output", "text"]),
            details: said.get(&["details"]),
            is_error: is_true(said, &["isError", "is_error"]),
            repaired: is_true(&json, &["repaired"]),
        })
    }
}

/// A tool seen from outside: hooks tell of it before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse<'a> {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) input: Option<JsonSlice<'a>>,
    pub(crate) output: Option<JsonSlice<'a>>,
    pub(crate) error: Option<JsonSlice<'a>>,
}

impl<'a> ToolUse<'a> {
    fn read(json: JsonSlice<'a>) -> Option<Self> {
        let json = json.object();
        if let Some(tool) = transcript::item_use(&json) {
            return Some(tool);
        }
        let error = json.get(&["error"]);
        Some(Self {
            id: text(&json, CALL_ID),
            name: text(&json, TOOL_NAME)?,
            input: json.get(&["toolInput", "tool_input"]),
            output: json.get(&["toolOutput", "tool_output", "tool_response"]),
            error: error.filter(|error| !matches!(error.as_str(), "\"\"" | "false")),
        })
    }
}

/// Which message a rewrite means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meant {
    /// That of the event with this seq, in the same session.
    Seq(u64),
    /// That of this time in milliseconds, as programs say that have no seq.
    At(i64),
    /// The newest.
    Newest,
}

/// A later text for something an assistant said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    pub(crate) meant: Meant,
    pub(crate) text: JsonText,
}

impl Rewrite {
    /// A target that is given and cannot be read is no other's: nothing is rewritten.
    fn read(json: JsonSlice<'_>) -> Option<Self> {
        let json = json.object();
        let number = |names| json.get(names).map(JsonSlice::as_str);
        let seq = number(&["assistantSeq", "assistant_seq"]);
        let meant = match (seq, number(&["assistantAt", "assistant_at"])) {
            (Some(seq), _) => Meant::Seq(seq.parse().ok()?),
            (None, Some(at)) => Meant::At(at.parse().ok()?),
            (None, None) => Meant::Newest,
        };
        let text = json.get(&["text"]).filter(|text| is_text(*text))?;
        Some(Self { meant, text: JsonText(text.to_raw()) })
    }
}

/// A program run for a model, step by step, that can go on from its last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rlm {
    /// `rlm_start`.
    Start,
    /// `rlm_tool_call`.
    ToolCall {
        /// Whether it holds a state to go on from.
        resumable: bool,
    },
    /// `rlm_tool_result`.
    ToolResult,
    /// `rlm_complete`.
    Complete,
}

/// An event by what it means to a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record<'a> {
    /// `user_message`.
    UserMessage(Spoken<'a>),
    /// `assistant_message`.
    AssistantMessage(Spoken<'a>),
    /// `message`: the role is in the payload.
    Message(Spoken<'a>),
    /// `tool_result`.
    ToolResult(ToolAnswer<'a>),
    /// `tool_result` of a transcript that has several answers in one line, and other parts.
    ToolResults(Vec<ToolAnswer<'a>>, Vec<JsonSlice<'a>>),
    /// `user_message`, `assistant_message` or `tool_result` of a program that tells it again.
    Retold(Retold<'a>),
    /// `rewind`: the message of this id and all after it were taken back.
    Rewound(String),
    /// `tool_status`: the call of this id did not succeed.
    ToolFailed(String),
    /// `rlm_start`, `rlm_tool_call`, `rlm_tool_result`, `rlm_complete`, of a tool call.
    Rlm(String, Rlm),
    /// `assistant_rewrite`.
    AssistantRewrite(Rewrite),
    /// `pre_tool`.
    PreTool(ToolUse<'a>),
    /// `post_tool`.
    PostTool(ToolUse<'a>),
    /// `context_copy`: messages that another program kept where it had no history.
    ContextCopy(JsonSlice<'a>),
    /// `note`, `session_start`, `unreadable` and every type nobody here knows.
    NotShown,
}

impl<'a> Record<'a> {
    /// Reads an event; nothing when a type that is known has a payload that is not.
    pub fn read(event: &'a Event) -> Option<Self> {
        let data = event.data.slice();
        let rlm = |step: Rlm| text(&data.object(), CALL_ID).map(|id| Self::Rlm(id, step));
        if let kind @ ("user_message" | "assistant_message" | "tool_result") = event.kind.as_str()
            && let Some(retold) = retold::read(kind, &data.object())
        {
            return Some(Self::Retold(retold));
        }
        match event.kind.as_str() {
            "user_message" => Spoken::read(data).map(Self::UserMessage),
            "assistant_message" => Spoken::read(data).map(Self::AssistantMessage),
            "message" => Self::message(data),
            "tool_result" => Self::tool_result(data),
            "tool_status" => Some(
                transcript::failed_call(&data.object()).map_or(Self::NotShown, Self::ToolFailed),
            ),
            "session_stop" => Some(
                transcript::last_answer(&data.object())
                    .map_or(Self::NotShown, Self::AssistantMessage),
            ),
            "rewind" => retold::rewound(&data.object()).map(Self::Rewound),
            "rlm_start" => rlm(Rlm::Start),
            "rlm_tool_call" => rlm(Rlm::ToolCall { resumable: has_snapshot(data) }),
            "rlm_tool_result" => rlm(Rlm::ToolResult),
            "rlm_complete" => rlm(Rlm::Complete),
            "assistant_rewrite" => Rewrite::read(data).map(Self::AssistantRewrite),
            "pre_tool" => ToolUse::read(data).map(Self::PreTool),
            "post_tool" => ToolUse::read(data).map(Self::PostTool),
            "context_copy" => Some(Self::ContextCopy(data)),
            _ => Some(Self::NotShown),
        }
    }

    /// A message; a hook's has no role, because only who the agent works for is told of so.
    fn message(data: JsonSlice<'a>) -> Option<Self> {
        let said = Spoken::read(data)?;
        let object = data.object();
        let of_hook = said.role.is_none() && transcript::prompt(&object) == said.text;
        Some(if of_hook { Self::UserMessage(said) } else { Self::Message(said) })
    }

    fn tool_result(data: JsonSlice<'a>) -> Option<Self> {
        match transcript::answers(&data.object()) {
            Some((answers, rest)) => Some(Self::ToolResults(answers, rest)),
            None => ToolAnswer::read(data).map(Self::ToolResult),
        }
    }
}

fn has_snapshot(data: JsonSlice<'_>) -> bool {
    let snapshot = data.object().get(&["snapshot", "snapshotId", "snapshot_id"]);
    snapshot.is_some_and(|snapshot| snapshot.as_str() != "\"\"")
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
    fn a_tool_answer_is_read_in_every_historical_shape_and_ours() {
        let shapes = [
            r#"{"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[1],"isError":true},"files":[]}}"#,
            r#"{"toolCallId":"c1","output":{"toolMessage":{"toolCallId":"c1","toolName":"read","content":[1],"isError":true},"typedResult":{"x":1}}}"#,
            r#"{"toolCallId":"c1","toolName":"read","content":[1],"isError":true}"#,
            r#"{"tool_use_id":"c1","tool_name":"read","output":[1],"is_error":true}"#,
            // Two spellings, a repeated key, a key that is no text: the answer is still one.
            r#"{"toolCallId":"c1","tool_call_id":"x","toolName":"read","content":[1],"text":"t","isError":false,"isError":true,"\ud800":1}"#,
        ];
        for shape in shapes {
            let (data, content) = (json(shape), json("[1]"));
            let expected = ToolAnswer {
                id: "c1".to_owned(),
                name: Some("read".to_owned()),
                content: Some(content.slice()),
                details: None,
                is_error: true,
                repaired: false,
            };
            assert_eq!(ToolAnswer::read(data.slice()), Some(expected), "{shape}");
        }
        assert_eq!(ToolAnswer::read(json(r#"{"content":[1]}"#).slice()), None);
    }
}
