//! What an event says, as text: what a context would show of it, and nothing else.
//!
//! Prompts, answers, names and arguments of tools and what tools answered. Not what a model
//! thought, and no bytes of files. One event is looked at by itself, so what a hook and a transcript
//! both tell is found at both.

use super::Said;
use crate::context::{call_or_other, part_of, role_of};
use crate::limits::{CONTEXT_RECORDS_MAX, MESSAGE_PARTS_MAX, SEARCHED_BYTES_MAX};
use crate::record::{Retold, Spoken, ToolAnswer, ToolUse, decoded};
use crate::{ContextPart, Event, JsonSlice, Record, Role};

/// What an event says; nothing when that is nothing.
pub(super) fn said(event: &Event) -> Option<Said> {
    let mut text = Text::default();
    let who = text.record(Record::read(event)?, event.data.slice())?;
    (!text.0.is_empty()).then_some(Said { who, text: text.0 })
}

/// A text that grows up to its limit, a line for each part.
#[derive(Default)]
struct Text(String);

impl Text {
    fn record(&mut self, record: Record<'_>, data: JsonSlice<'_>) -> Option<Role> {
        match record {
            Record::UserMessage(said) => Some(self.spoken(&said, Role::User)),
            Record::AssistantMessage(said) => Some(self.spoken(&said, Role::Assistant)),
            Record::Message(said) => self.message(&said, data),
            Record::ToolResult(answer) => Some(self.answer(&answer)),
            Record::ToolResults(answers, rest) => {
                for answer in &answers {
                    self.answer(answer);
                }
                rest.into_iter().for_each(|json| self.part(part_of(json)));
                Some(Role::Tool)
            }
            Record::AssistantRewrite(rewrite) => {
                self.line(&rewrite.text.to_string());
                Some(Role::Assistant)
            }
            Record::PreTool(tool) => Some(self.call(&tool)),
            Record::PostTool(tool) => Some(self.outcome(&tool)),
            Record::ContextCopy(copy) => self.copy(copy),
            Record::Retold(retold) => Some(self.retold(&retold)),
            Record::ToolFailed(_) | Record::Rewound(_) | Record::Rlm(..) | Record::NotShown => None,
        }
    }

    fn is_full(&self) -> bool {
        self.0.len() >= SEARCHED_BYTES_MAX
    }

    /// Adds a line, or as much of it as there is room for.
    fn line(&mut self, line: &str) {
        let room = SEARCHED_BYTES_MAX.saturating_sub(self.0.len());
        if room == 0 || line.trim().is_empty() {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&line[..line.floor_char_boundary(room)]);
    }

    /// The values in a JSON, without their keys.
    fn values(&mut self, json: JsonSlice<'_>) {
        for value in json.plain_values() {
            if self.is_full() {
                break;
            }
            match value.starts_with('"') {
                true => self.line(&decoded(value)),
                false => self.line(value),
            }
        }
    }

    fn spoken(&mut self, said: &Spoken<'_>, who: Role) -> Role {
        [said.text, said.content].into_iter().flatten().for_each(|json| self.parts(json));
        let call = |json: JsonSlice<'_>| Some(call_or_other(json));
        said.tool_calls.into_iter().for_each(|calls| self.each(calls, call));
        who
    }

    /// Each telling by itself, as all events.
    fn retold(&mut self, retold: &Retold<'_>) -> Role {
        let who = if retold.by_model { Role::Assistant } else { Role::User };
        self.spoken(&retold.said, who);
        for answer in &retold.answers {
            self.answer(answer);
        }
        who
    }

    fn message(&mut self, said: &Spoken<'_>, json: JsonSlice<'_>) -> Option<Role> {
        match role_of(said)? {
            Role::Tool => Some(self.answer(&ToolAnswer::read(json)?)),
            role => Some(self.spoken(said, role)),
        }
    }

    fn answer(&mut self, answer: &ToolAnswer<'_>) -> Role {
        self.line(answer.name.as_deref().unwrap_or_default());
        answer.content.into_iter().for_each(|content| self.parts(content));
        Role::Tool
    }

    fn call(&mut self, tool: &ToolUse<'_>) -> Role {
        self.line(&tool.name);
        tool.input.into_iter().for_each(|input| self.values(input));
        Role::Assistant
    }

    fn outcome(&mut self, tool: &ToolUse<'_>) -> Role {
        self.line(&tool.name);
        [tool.output, tool.error].into_iter().flatten().for_each(|json| self.parts(json));
        Role::Tool
    }

    /// Messages that another program kept instead of a history.
    fn copy(&mut self, copy: JsonSlice<'_>) -> Option<Role> {
        let messages = copy.object().get(&["messages"])?.elements(CONTEXT_RECORDS_MAX)?;
        for json in messages {
            if self.is_full() {
                break;
            }
            Spoken::read(json).and_then(|said| self.message(&said, json));
        }
        Some(Role::System)
    }

    /// A text, or a list of parts.
    fn parts(&mut self, json: JsonSlice<'_>) {
        self.each(json, part_of);
    }

    fn each(&mut self, json: JsonSlice<'_>, part: impl Fn(JsonSlice<'_>) -> Option<ContextPart>) {
        match json.elements(MESSAGE_PARTS_MAX) {
            Some(parts) => parts.into_iter().for_each(|json| self.part(part(json))),
            None => self.part(part(json)),
        }
    }

    fn part(&mut self, part: Option<ContextPart>) {
        match part {
            Some(ContextPart::Text(text)) => self.line(&text.to_string()),
            Some(ContextPart::ToolCall(call)) => {
                self.line(&call.name);
                self.values(call.arguments.slice());
            }
            Some(ContextPart::Other(other)) => self.values(other.slice()),
            Some(ContextPart::File(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::limits::SEARCHED_BYTES_MAX;
    use crate::{Event, RawJson, Role, SearchText, Timestamp};

    use super::said;

    fn event(kind: &str, data: &str) -> Event {
        Event {
            session_id: "s".parse().unwrap(),
            seq: 1,
            ts: Timestamp::from_unix_ms(0),
            kind: kind.to_owned(),
            data: RawJson::parse("data", data, usize::MAX).unwrap(),
            dedup_key: None,
        }
    }

    #[test]
    fn an_event_says_what_a_context_shows_of_it() {
        for (kind, data, expected) in [
            ("user_message", r#""plain""#, Some((Role::User, "plain"))),
            (
                "user_message",
                r#"{"text":"a","content":[{"type":"text","text":"b"}]}"#,
                Some((Role::User, "a\nb")),
            ),
            (
                "assistant_message",
                r#"{"message":{"role":"assistant","content":[{"type":"thinking","thinking":"secret"},{"type":"text","text":"said"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls -l","n":7,"deep":[{"x":"y"}]}}]}}"#,
                Some((Role::Assistant, "said\nBash\nls -l\n7\ny")),
            ),
            (
                "tool_result",
                r#"{"message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"out"},{"type":"image","source":{"media_type":"image/png","data":"AAAA"}}]}]}}"#,
                Some((Role::Tool, "out")),
            ),
            (
                "assistant_message",
                r#"{"payload":{"type":"function_call","call_id":"c","name":"shell","arguments":"{\"command\":[\"rg\",\"needle\"]}"}}"#,
                Some((Role::Assistant, "shell\nrg\nneedle")),
            ),
            (
                "tool_result",
                r#"{"payload":{"type":"function_call_output","call_id":"c","output":"done"}}"#,
                Some((Role::Tool, "done")),
            ),
            (
                "pre_tool",
                r#"{"tool_name":"Read","tool_input":{"file_path":"/a/b"}}"#,
                Some((Role::Assistant, "Read\n/a/b")),
            ),
            (
                "post_tool",
                r#"{"tool_name":"Read","tool_input":{"file_path":"/a"},"tool_response":{"ok":true,"text":"body"}}"#,
                Some((Role::Tool, "Read\nbody")),
            ),
            ("message", r#"{"role":"assistant","content":"hi"}"#, Some((Role::Assistant, "hi"))),
            ("message", r#"{"prompt":"of a hook"}"#, Some((Role::User, "of a hook"))),
            ("session_stop", r#"{"last_assistant_message":"bye"}"#, Some((Role::Assistant, "bye"))),
            (
                "context_copy",
                r#"{"messages":[{"role":"user","content":"old"},7]}"#,
                Some((Role::System, "old")),
            ),
            ("note", r#"{"text":"unseen"}"#, None),
            ("usage", r#"{"usage":{"inputTokens":1}}"#, None),
            ("user_message", "7", None),
            ("user_message", r#"{"text":"  "}"#, None),
        ] {
            let found = said(&event(kind, data));
            let found = found.as_ref().map(|said| (said.who, said.text.as_str()));
            assert_eq!(found, expected, "{kind} {data}");
        }
    }

    #[test]
    fn of_a_long_event_the_beginning_is_looked_at_whatever_its_characters() {
        let long = format!("\"first {} last\"", "é".repeat(SEARCHED_BYTES_MAX));
        let said = said(&event("user_message", &long)).unwrap();
        assert!(said.text.len() <= SEARCHED_BYTES_MAX);
        let found = |typed: &str| said.places(&typed.parse::<SearchText>().unwrap()).is_some();
        assert!(found("first") && !found("last"));
    }
}
