//! Context: what a model is shown again, as a pure function of a session's events.
//!
//! No clock, no locale, no sentence with a meaning: the same events give the same bytes anywhere.
//! A tool's answer follows its call or is not shown; one that never came is reported as pending.

use std::collections::HashMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::record::{Rewrite, Rlm, Spoken, ToolAnswer, ToolUse};
use crate::{Cause, Event, JsonText, RawJson, Record, SessionId, Timestamp, ToolCall};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The harbor itself: why a session began.
    System,
    /// Who the agent works for.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextPart {
    /// Words.
    Text(JsonText),
    /// A call of a tool.
    ToolCall(ToolCall),
    /// A file, by reference.
    File(RawJson),
    /// Anything else, as it was written.
    Other(RawJson),
}

impl Serialize for ContextPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => {
                let mut part = serializer.serialize_struct("Text", 2)?;
                part.serialize_field("type", "text")?;
                part.serialize_field("text", text)?;
                part.end()
            }
            Self::ToolCall(call) => {
                let mut part = serializer.serialize_struct("ToolCall", 4)?;
                part.serialize_field("type", "toolCall")?;
                part.serialize_field("id", &call.id)?;
                part.serialize_field("name", &call.name)?;
                part.serialize_field("arguments", &call.arguments)?;
                part.end()
            }
            Self::File(file) => {
                let mut part = serializer.serialize_struct("File", 2)?;
                part.serialize_field("type", "file")?;
                part.serialize_field("file", file)?;
                part.end()
            }
            Self::Other(json) => json.serialize(serializer),
        }
    }
}

/// One message of a context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessage {
    /// Who speaks.
    pub role: Role,
    /// The session of its event, where that is not the context's own: the stem of a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The seq of its event; absent for the reason, which is no event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was said.
    pub ts: Timestamp,
    /// Why the session began, on the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The call that a tool answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The tool that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// Whether the tool failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What it says.
    pub content: Vec<ContextPart>,
    /// What the tool's program keeps beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<RawJson>,
}

/// A call that no answer came for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingCall {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The session of the event it stands in.
    pub session_id: SessionId,
    /// The seq of that event.
    pub seq: u64,
}

/// A step-by-step program that has not completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenRlm {
    /// The tool call it runs for.
    pub tool_call_id: String,
    /// The session of its start.
    pub session_id: SessionId,
    /// The seq of its start.
    pub seq: u64,
    /// The seq of the newest step it can go on from.
    pub resume_seq: Option<u64>,
}

/// What a model is shown again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context {
    /// The session.
    pub session_id: SessionId,
    /// The seq up to which it was read.
    pub last_seq: u64,
    /// How many records it was made of.
    pub records: u64,
    /// How many older records were left out because the window was full.
    pub omitted: u64,
    /// How many of the records say nothing that can be shown in their place: a known type with a
    /// payload that cannot be read, or an answer to no call.
    pub unread: u64,
    /// The messages, in order; the reason of the session's beginning first.
    pub messages: Vec<ContextMessage>,
    /// Calls that no answer came for, in order.
    pub pending_calls: Vec<PendingCall>,
    /// Step-by-step programs that have not completed, in order. The last may be resumed.
    pub open_rlms: Vec<OpenRlm>,
}

/// Why a session began, as its row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextReason {
    /// Why.
    pub cause: Cause,
    /// What the new conversation was told.
    pub text: String,
    /// When.
    pub at: Timestamp,
}

/// The records a context is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window<'a> {
    /// The session; events of another are the log it was forked from.
    pub session_id: &'a SessionId,
    /// Its newest seq.
    pub last_seq: u64,
    /// Why it, or the session it was forked from, began.
    pub reason: Option<&'a ContextReason>,
    /// How many older records are not among the events.
    pub omitted: u64,
    /// The newest events in order.
    pub events: &'a [Event],
}

/// The context that `window` gives.
pub fn context(window: &Window<'_>) -> Context {
    let mut builder = Builder::new(window);
    builder.reason();
    for event in window.events {
        builder.event(event);
    }
    builder.finish()
}

/// Whether an answer to a call is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Missing,
    /// A repair stands in, at this place of the messages.
    Repaired(usize),
    Real,
}

struct Call {
    pending: PendingCall,
    /// Named by us: its event had no id.
    unnamed: bool,
    answer: Answer,
}

struct Builder<'a> {
    window: &'a Window<'a>,
    /// Messages that were taken back are empty.
    messages: Vec<Option<ContextMessage>>,
    calls: Vec<Call>,
    /// The calls of an id, which some programs give more than once.
    by_id: HashMap<String, Vec<usize>>,
    rlms: Vec<OpenRlm>,
    unread: u64,
}

impl<'a> Builder<'a> {
    fn new(window: &'a Window<'a>) -> Self {
        Self {
            window,
            messages: Vec::new(),
            calls: Vec::new(),
            by_id: HashMap::new(),
            rlms: Vec::new(),
            unread: 0,
        }
    }

    fn reason(&mut self) {
        let Some(reason) = self.window.reason.filter(|reason| !reason.text.trim().is_empty())
        else {
            return;
        };
        let Ok(text) = JsonText::of(&reason.text) else { return };
        self.messages.push(Some(ContextMessage {
            role: Role::System,
            session_id: None,
            seq: None,
            ts: reason.at,
            cause: Some(reason.cause),
            tool_call_id: None,
            tool_name: None,
            is_error: None,
            content: vec![ContextPart::Text(text)],
            details: None,
        }));
    }

    fn event(&mut self, event: &Event) {
        match Record::read(event) {
            Some(Record::UserMessage(said)) => self.say(event, Role::User, &said),
            Some(Record::AssistantMessage(said)) => self.say(event, Role::Assistant, &said),
            Some(Record::Message(said)) => match role_of(&said) {
                Some(role) => self.say(event, role, &said),
                None => self.unread += 1,
            },
            Some(Record::ToolResult(answer)) => self.answer(event, &answer),
            Some(Record::Rlm(id, step)) => self.rlm(event, id, &step),
            Some(Record::AssistantRewrite(rewrite)) => self.rewrite(event, &rewrite),
            Some(Record::PreTool(tool)) => {
                self.call_of(event, &tool);
            }
            Some(Record::PostTool(tool)) => self.post_tool(event, &tool),
            Some(Record::ContextCopy(copy)) => self.copy(event, &copy),
            Some(Record::NotShown) => {}
            None => self.unread += 1,
        }
    }

    fn message(&self, event: &Event, role: Role, content: Vec<ContextPart>) -> ContextMessage {
        let foreign = event.session_id != *self.window.session_id;
        ContextMessage {
            role,
            session_id: foreign.then(|| event.session_id.clone()),
            seq: Some(event.seq),
            ts: event.ts,
            cause: None,
            tool_call_id: None,
            tool_name: None,
            is_error: None,
            content,
            details: None,
        }
    }

    fn say(&mut self, event: &Event, role: Role, said: &Spoken) {
        let content = parts_of(said);
        if content.is_empty() {
            return;
        }
        if role == Role::Assistant {
            self.note_calls(event, &content);
        }
        let message = self.message(event, role, content);
        self.messages.push(Some(message));
    }

    fn note_calls(&mut self, event: &Event, content: &[ContextPart]) {
        for part in content {
            if let ContextPart::ToolCall(call) = part {
                self.note_call(event, call.id.clone(), call.name.clone(), false);
            }
        }
    }

    fn note_call(&mut self, event: &Event, id: String, name: String, unnamed: bool) {
        self.by_id.entry(id.clone()).or_default().push(self.calls.len());
        let session_id = event.session_id.clone();
        let pending = PendingCall { id, name, session_id, seq: event.seq };
        self.calls.push(Call { pending, unnamed, answer: Answer::Missing });
    }

    /// Places an answer behind its call: the oldest of its id that has none, else one that a
    /// repair stands in for.
    fn answer(&mut self, event: &Event, answer: &ToolAnswer) {
        let Some(calls) = self.by_id.get(&answer.id) else {
            // The call may stand before the window.
            self.unread += u64::from(self.window.omitted == 0);
            return;
        };
        let open = |wanted: fn(Answer) -> bool| {
            calls.iter().copied().find(|at| wanted(self.calls[*at].answer))
        };
        let repaired = || open(|answer| matches!(answer, Answer::Repaired(_)));
        let found = match answer.repaired {
            true => open(|answer| answer == Answer::Missing),
            false => open(|answer| answer == Answer::Missing).or_else(repaired),
        };
        let Some(call) = found.map(|at| &mut self.calls[at]) else { return };
        if let Answer::Repaired(at) = call.answer {
            self.messages[at] = None;
        }
        call.answer = match answer.repaired {
            true => Answer::Repaired(self.messages.len()),
            false => Answer::Real,
        };
        let name = answer.name.clone().unwrap_or_else(|| call.pending.name.clone());
        let message = ContextMessage {
            tool_call_id: Some(answer.id.clone()),
            tool_name: Some(name),
            is_error: Some(answer.is_error),
            details: answer.details.clone(),
            ..self.message(event, Role::Tool, parts_of_content(&answer.content))
        };
        self.messages.push(Some(message));
    }

    /// Shows a call that a hook told of, and returns its id.
    fn call_of(&mut self, event: &Event, tool: &ToolUse) -> String {
        let unnamed = tool.id.is_none();
        let id = tool.id.clone().unwrap_or_else(|| format!("seq-{}", event.seq));
        let call =
            ToolCall { id: id.clone(), name: tool.name.clone(), arguments: tool.input.clone() };
        self.note_call(event, id.clone(), tool.name.clone(), unnamed);
        let message = self.message(event, Role::Assistant, vec![ContextPart::ToolCall(call)]);
        self.messages.push(Some(message));
        id
    }

    /// An answer that a hook told of belongs to the call of its id, else to the oldest call of its
    /// tool that waits, else to one that nobody told of.
    fn post_tool(&mut self, event: &Event, tool: &ToolUse) {
        let waits = |call: &&Call| {
            call.unnamed && call.answer == Answer::Missing && call.pending.name == tool.name
        };
        let known = match &tool.id {
            Some(id) => self.by_id.contains_key(id).then(|| id.clone()),
            None => self.calls.iter().find(waits).map(|call| call.pending.id.clone()),
        };
        let id = known.unwrap_or_else(|| self.call_of(event, tool));
        let content = match (&tool.output, &tool.error) {
            (Some(output), _) => output.clone(),
            (None, Some(error)) => error.clone(),
            (None, None) => RawJson::null(),
        };
        let answer = ToolAnswer {
            id,
            name: Some(tool.name.clone()),
            content,
            details: tool.output.is_some().then(|| tool.error.clone()).flatten(),
            is_error: tool.error.is_some(),
            repaired: false,
        };
        self.answer(event, &answer);
    }

    fn rlm(&mut self, event: &Event, id: String, step: &Rlm) {
        let of_call = |rlm: &OpenRlm| rlm.tool_call_id == id;
        match step {
            Rlm::Start => {
                // Starting over gives up what was begun for the same call.
                self.rlms.retain(|rlm| !of_call(rlm));
                self.rlms.push(OpenRlm {
                    tool_call_id: id,
                    session_id: event.session_id.clone(),
                    seq: event.seq,
                    resume_seq: None,
                });
            }
            Rlm::ToolCall { resumable: true } => {
                if let Some(rlm) = self.rlms.iter_mut().rfind(|rlm| of_call(rlm)) {
                    rlm.resume_seq = Some(event.seq);
                }
            }
            Rlm::ToolCall { resumable: false } | Rlm::ToolResult => {}
            Rlm::Complete => self.rlms.retain(|rlm| !of_call(rlm)),
        }
    }

    /// Gives the words of an earlier message another text; calls and files in it stay.
    fn rewrite(&mut self, event: &Event, rewrite: &Rewrite) {
        let Some(target) = self.target(event, rewrite) else {
            self.unread += u64::from(self.window.omitted == 0);
            return;
        };
        let is_text = |part: &ContextPart| matches!(part, ContextPart::Text(_));
        let Some(first) = target.content.iter().position(is_text) else { return };
        let mut place = 0;
        target.content.retain(|part| {
            place += 1;
            !is_text(part) || place == first + 1
        });
        match rewrite.text.is_blank() {
            true => drop(target.content.remove(first)),
            false => target.content[first] = ContextPart::Text(rewrite.text.clone()),
        }
    }

    /// The message that a rewrite means. Who has only a time means the newest when none fits; a seq
    /// leaves no doubt.
    fn target(&mut self, event: &Event, rewrite: &Rewrite) -> Option<&mut ContextMessage> {
        let foreign = event.session_id != *self.window.session_id;
        let meant = |message: &ContextMessage| match (rewrite.seq, rewrite.at_ms) {
            (Some(seq), _) => message.seq == Some(seq) && message.session_id.is_some() == foreign,
            (None, Some(at)) => message.ts.unix_ms() == at,
            (None, None) => true,
        };
        let said = self.messages.iter().enumerate().rev().filter_map(|(at, message)| {
            let message = message.as_ref().filter(|message| message.role == Role::Assistant)?;
            Some((at, message))
        });
        let exact = said.clone().find(|(_, message)| meant(message));
        let doubtful = rewrite.seq.is_none() && self.window.omitted == 0;
        let newest = if doubtful { said.clone().next() } else { None };
        let at = exact.or(newest).map(|(at, _)| at)?;
        self.messages[at].as_mut()
    }

    /// Messages that another program kept instead of a history.
    fn copy(&mut self, event: &Event, copy: &RawJson) {
        #[derive(serde::Deserialize)]
        struct Copied {
            messages: Vec<RawJson>,
        }
        let Ok(Copied { messages }) = copy.read() else {
            self.unread += 1;
            return;
        };
        for json in messages {
            match copied(&json) {
                Some((role, said)) => self.say(event, role, &said),
                None => match ToolAnswer::read(&json) {
                    Some(answer) => self.answer(event, &answer),
                    None => self.unread += 1,
                },
            }
        }
    }

    fn finish(self) -> Context {
        let pending = self.calls.into_iter().filter(|call| call.answer == Answer::Missing);
        let shown =
            |message: &ContextMessage| message.role == Role::Tool || !message.content.is_empty();
        Context {
            session_id: self.window.session_id.clone(),
            last_seq: self.window.last_seq,
            records: self.window.events.len() as u64,
            omitted: self.window.omitted,
            unread: self.unread,
            messages: self.messages.into_iter().flatten().filter(shown).collect(),
            pending_calls: pending.map(|call| call.pending).collect(),
            open_rlms: self.rlms,
        }
    }
}

fn copied(json: &RawJson) -> Option<(Role, Spoken)> {
    let said: Spoken = json.read().ok()?;
    role_of(&said).map(|role| (role, said))
}

fn role_of(said: &Spoken) -> Option<Role> {
    match said.role.as_ref()?.as_str() {
        "\"user\"" => Some(Role::User),
        "\"assistant\"" => Some(Role::Assistant),
        "\"system\"" => Some(Role::System),
        _ => None,
    }
}

/// What was said: the content, or in older shapes the text, then files and calls.
fn parts_of(said: &Spoken) -> Vec<ContextPart> {
    let mut parts = Vec::new();
    for json in [&said.text, &said.content].into_iter().flatten() {
        parts.extend(parts_of_content(json));
    }
    parts.extend(said.files.iter().flat_map(elements).map(ContextPart::File));
    parts.extend(said.tool_calls.iter().flat_map(elements).map(call_or_other));
    parts
}

/// A text, or a list of parts.
fn parts_of_content(json: &RawJson) -> Vec<ContextPart> {
    let text = |text: JsonText| match text.is_blank() {
        true => None,
        false => Some(ContextPart::Text(text)),
    };
    elements(json)
        .into_iter()
        .filter_map(|element| match JsonText::of_json(element.clone()) {
            Some(found) => text(found),
            None => part_of(element, text),
        })
        .collect()
}

fn part_of(
    element: RawJson,
    text: impl Fn(JsonText) -> Option<ContextPart>,
) -> Option<ContextPart> {
    #[derive(serde::Deserialize)]
    struct Typed {
        #[serde(rename = "type")]
        kind: Option<RawJson>,
        text: Option<RawJson>,
    }
    let Ok(Typed { kind: Some(kind), text: words }) = element.read() else {
        return Some(ContextPart::Other(element));
    };
    match kind.as_str() {
        "\"text\"" => match words.and_then(JsonText::of_json) {
            Some(words) => text(words),
            None => Some(ContextPart::Other(element)),
        },
        "\"toolCall\"" | "\"tool_use\"" | "\"tool_call\"" => Some(call_or_other(element)),
        _ => Some(ContextPart::Other(element)),
    }
}

fn call_or_other(json: RawJson) -> ContextPart {
    ToolCall::read(&json).map_or_else(|| ContextPart::Other(json), ContextPart::ToolCall)
}

/// The elements of a list; anything else is one by itself, `null` none.
fn elements(json: &RawJson) -> Vec<RawJson> {
    match json.as_str() {
        "null" => Vec::new(),
        text if text.starts_with('[') => json.read().unwrap_or_default(),
        _ => vec![json.clone()],
    }
}

#[cfg(test)]
mod tests;
