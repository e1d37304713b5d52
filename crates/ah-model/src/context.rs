//! Context: what a model is shown again, as a pure function of a session's events.
//!
//! No clock, no locale, no sentence with a meaning: the same events give the same bytes anywhere.
//! A tool's answer stands behind its call, however late it came, or is not shown; a call that no
//! answer came for is reported as pending. Time and memory grow with the bytes of the events only.

mod hooked;
mod part;
mod retold;
mod streamed;

use std::collections::{HashMap, HashSet, VecDeque};

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use sha2::{Digest, Sha256};

pub(crate) use self::part::{call_or_other, part_of};

use crate::limits::{CONTEXT_PARTS_MAX, CONTEXT_RECORDS_MAX, MESSAGE_PARTS_MAX};
use crate::record::{Meant, Rewrite, Rlm, Spoken, ToolAnswer, ToolUse};
use crate::{
    Cause, Event, JsonSlice, JsonText, RawJson, Record, SessionId, Timestamp, ToolCall, to_hex,
};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

impl Role {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
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
    /// Which call of that event it is, from 0.
    pub place: u64,
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
    /// The newest step it can go on from; after a fork that may be in another session.
    pub resume: Option<ResumePoint>,
}

/// A step of a program that holds a state to go on from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumePoint {
    /// The session of its event.
    pub session_id: SessionId,
    /// The seq of its event.
    pub seq: u64,
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
    /// Step-by-step programs that have not completed, in order. The last that has a point to go on
    /// from may be resumed.
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
    for (event, record) in hooked::told(window.events) {
        builder.event(event, record);
    }
    builder.finish()
}

/// Whether an answer to a call is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Missing,
    /// A repair stands in.
    Repaired,
    Real,
}

struct Call {
    pending: PendingCall,
    /// The message it stands in.
    slot: usize,
    answer: Answer,
}

/// A message, and the answers to the calls in it with the numbers of those calls.
struct Slot {
    message: ContextMessage,
    answers: Vec<(usize, ContextMessage)>,
}

struct Builder<'a> {
    window: &'a Window<'a>,
    slots: Vec<Slot>,
    calls: Vec<Call>,
    /// The calls of an id that no answer came for, oldest first. Some programs give an id twice.
    open: HashMap<String, VecDeque<usize>>,
    /// The calls of an id that a repair answers, oldest first.
    stood_in: HashMap<String, VecDeque<usize>>,
    /// The calls of a tool whose events had no id, oldest first; some may be answered.
    unnamed: HashMap<String, VecDeque<usize>>,
    /// Calls that are said to have failed, before their answers.
    failed: HashSet<String>,
    /// What an assistant said, by event and by time; the newest of each.
    by_seq: HashMap<(&'a SessionId, u64), usize>,
    by_at: HashMap<i64, usize>,
    newest: Option<usize>,
    /// Where what may be told again was told first.
    told: HashMap<String, usize>,
    /// Programs; those that completed are empty.
    rlms: Vec<Option<OpenRlm>>,
    rlm_of_call: HashMap<String, usize>,
    /// How many calls of the event at hand were seen.
    place: u64,
    parts_left: usize,
    unread: u64,
}

impl<'a> Builder<'a> {
    fn new(window: &'a Window<'a>) -> Self {
        Self {
            window,
            slots: Vec::new(),
            calls: Vec::new(),
            open: HashMap::new(),
            stood_in: HashMap::new(),
            unnamed: HashMap::new(),
            failed: HashSet::new(),
            by_seq: HashMap::new(),
            by_at: HashMap::new(),
            newest: None,
            told: HashMap::new(),
            rlms: Vec::new(),
            rlm_of_call: HashMap::new(),
            place: 0,
            parts_left: CONTEXT_PARTS_MAX,
            unread: 0,
        }
    }

    fn reason(&mut self) {
        let Some(reason) = self.window.reason.filter(|reason| !reason.text.trim().is_empty())
        else {
            return;
        };
        let Ok(text) = JsonText::of(&reason.text) else { return };
        let message = ContextMessage {
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
        };
        self.slots.push(Slot { message, answers: Vec::new() });
    }

    fn event(&mut self, event: &'a Event, record: Option<Record<'a>>) {
        self.place = 0;
        match record {
            Some(Record::UserMessage(said)) => self.say(event, Role::User, &said),
            Some(Record::AssistantMessage(said)) => self.say(event, Role::Assistant, &said),
            Some(Record::Message(said)) => self.message(event, &said, event.data.slice()),
            Some(Record::ToolResult(answer)) => self.answer(event, &answer),
            Some(Record::ToolResults(answers, rest)) => self.answers(event, &answers, rest),
            Some(Record::Retold(retold)) => self.retold(event, &retold),
            Some(Record::Rewound(id)) => self.rewind(&id),
            Some(Record::ToolFailed(id)) => drop(self.failed.insert(id)),
            Some(Record::Rlm(id, step)) => self.rlm(event, id, step),
            Some(Record::AssistantRewrite(rewrite)) => self.rewrite(event, &rewrite),
            Some(Record::PreTool(tool)) => {
                self.call_of(event, &tool);
            }
            Some(Record::PostTool(tool)) => self.post_tool(event, &tool),
            Some(Record::ContextCopy(copy)) => self.copy(event, copy),
            Some(Record::NotShown) => {}
            None => self.unread += 1,
        }
    }

    fn blank(&self, event: &Event, role: Role, content: Vec<ContextPart>) -> ContextMessage {
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

    /// A message whose role is in the payload; that of a tool is an answer.
    fn message(&mut self, event: &'a Event, said: &Spoken<'a>, json: JsonSlice<'a>) {
        match role_of(said) {
            Some(Role::Tool) => match ToolAnswer::read(json) {
                Some(answer) => self.answer(event, &answer),
                None => self.unread += 1,
            },
            Some(role) => self.say(event, role, said),
            None => self.unread += 1,
        }
    }

    fn say(&mut self, event: &'a Event, role: Role, said: &Spoken<'_>) {
        let content = self.parts_of(said);
        if !content.is_empty() {
            self.put(event, role, content);
        }
    }

    /// Shows a message and notes the calls in it.
    fn put(&mut self, event: &'a Event, role: Role, content: Vec<ContextPart>) {
        let slot = self.slots.len();
        if role == Role::Assistant {
            for part in &content {
                if let ContextPart::ToolCall(call) = part {
                    self.note_call(event, slot, call);
                }
            }
            self.by_seq.insert((&event.session_id, event.seq), slot);
            self.by_at.insert(event.ts.unix_ms(), slot);
            self.newest = Some(slot);
        }
        let message = self.blank(event, role, content);
        self.slots.push(Slot { message, answers: Vec::new() });
    }

    fn note_call(&mut self, event: &Event, slot: usize, call: &ToolCall) {
        self.open.entry(call.id.clone()).or_default().push_back(self.calls.len());
        let pending = PendingCall {
            id: call.id.clone(),
            name: call.name.clone(),
            session_id: event.session_id.clone(),
            seq: event.seq,
            place: self.place,
        };
        self.calls.push(Call { pending, slot, answer: Answer::Missing });
        self.place += 1;
    }

    /// Places an answer behind its call: the oldest of its id that has none, else one that a
    /// repair stands in for.
    fn answer(&mut self, event: &Event, answer: &ToolAnswer<'_>) {
        let Some(open) = self.open.get_mut(&answer.id) else {
            // The call may stand before the window.
            self.unread += u64::from(self.window.omitted == 0);
            return;
        };
        let stood_in = || self.stood_in.get_mut(&answer.id).and_then(VecDeque::pop_front);
        let found = match answer.repaired {
            true => open.pop_front(),
            false => open.pop_front().or_else(stood_in),
        };
        let Some(number) = found else { return };
        let content =
            answer.content.map_or_else(Vec::new, |content| self.parts_of_content(content));
        let call = &mut self.calls[number];
        let slot = call.slot;
        call.answer = match answer.repaired {
            true => Answer::Repaired,
            false => Answer::Real,
        };
        let name = answer.name.clone().unwrap_or_else(|| call.pending.name.clone());
        let message = ContextMessage {
            tool_call_id: Some(answer.id.clone()),
            tool_name: Some(name),
            is_error: Some(answer.is_error || self.failed.contains(&answer.id)),
            details: answer.details.map(JsonSlice::to_raw),
            ..self.blank(event, Role::Tool, content)
        };
        if answer.repaired {
            self.stood_in.entry(answer.id.clone()).or_default().push_back(number);
        }
        let answers = &mut self.slots[slot].answers;
        answers.retain(|(other, _)| *other != number);
        answers.push((number, message));
    }

    /// Places the answers of one line, and shows what else it says.
    fn answers(&mut self, event: &'a Event, answers: &[ToolAnswer<'a>], rest: Vec<JsonSlice<'a>>) {
        for answer in answers {
            self.answer(event, answer);
        }
        let said: Vec<_> = rest.into_iter().filter_map(part_of).collect();
        if !said.is_empty() {
            self.put(event, Role::User, said);
        }
    }

    /// Shows a call that a hook told of, and returns its id. One made up for an event is its own
    /// wherever it is read.
    fn call_of(&mut self, event: &'a Event, tool: &ToolUse<'_>) -> String {
        let id = tool.id.clone().unwrap_or_else(|| {
            let digest = to_hex(&Sha256::digest(event.session_id.as_str().as_bytes()));
            format!("call-{}-{}", event.seq, &digest[..8])
        });
        if tool.id.is_none() {
            self.unnamed.entry(tool.name.clone()).or_default().push_back(self.calls.len());
        }
        let arguments = tool.input.map_or_else(RawJson::null, JsonSlice::to_raw);
        let call = ToolCall { id: id.clone(), name: tool.name.clone(), arguments };
        self.put(event, Role::Assistant, vec![ContextPart::ToolCall(call)]);
        id
    }

    /// An answer that a hook told of belongs to the call of its id, else to the oldest call of its
    /// tool that waits, else to one that nobody told of.
    fn post_tool(&mut self, event: &'a Event, tool: &ToolUse<'_>) {
        let known = match &tool.id {
            Some(id) => self.open.contains_key(id).then(|| id.clone()),
            None => self.waiting(&tool.name),
        };
        let id = known.unwrap_or_else(|| self.call_of(event, tool));
        let answer = ToolAnswer {
            id,
            name: Some(tool.name.clone()),
            content: tool.output.or(tool.error),
            details: tool.output.and(tool.error),
            is_error: tool.error.is_some(),
            repaired: false,
        };
        self.answer(event, &answer);
    }

    /// The id of the oldest call of a tool that had none of its own and no answer yet.
    fn waiting(&mut self, tool: &str) -> Option<String> {
        let calls = self.unnamed.get_mut(tool)?;
        while let Some(number) = calls.pop_front() {
            let call = &self.calls[number];
            if call.answer == Answer::Missing {
                return Some(call.pending.id.clone());
            }
        }
        None
    }

    fn rlm(&mut self, event: &Event, id: String, step: Rlm) {
        let at = self.rlm_of_call.get(&id).copied();
        let session_id = event.session_id.clone();
        match (step, at) {
            (Rlm::Start, at) => {
                // Starting over gives up what was begun for the same call.
                if let Some(at) = at {
                    self.rlms[at] = None;
                }
                self.rlm_of_call.insert(id.clone(), self.rlms.len());
                let (seq, resume) = (event.seq, None);
                self.rlms.push(Some(OpenRlm { tool_call_id: id, session_id, seq, resume }));
            }
            (Rlm::ToolCall { resumable: true }, Some(at)) => {
                if let Some(rlm) = &mut self.rlms[at] {
                    rlm.resume = Some(ResumePoint { session_id, seq: event.seq });
                }
            }
            (Rlm::Complete, Some(at)) => self.rlms[at] = None,
            (Rlm::ToolCall { .. } | Rlm::ToolResult | Rlm::Complete, _) => {}
        }
    }

    /// Gives the words of an earlier message another text; calls and files in it stay.
    fn rewrite(&mut self, event: &Event, rewrite: &Rewrite) {
        let Some(target) = self.target(event, rewrite.meant) else {
            self.unread += u64::from(self.window.omitted == 0);
            return;
        };
        let content = &mut self.slots[target].message.content;
        let is_text = |part: &ContextPart| matches!(part, ContextPart::Text(_));
        let Some(first) = content.iter().position(is_text) else { return };
        let mut place = 0;
        content.retain(|part| {
            place += 1;
            !is_text(part) || place == first + 1
        });
        match rewrite.text.is_blank() {
            true => drop(content.remove(first)),
            false => content[first] = ContextPart::Text(rewrite.text.clone()),
        }
    }

    /// The message that a rewrite means. Who has only a time means the newest when none fits; a seq
    /// leaves no doubt.
    fn target(&self, event: &Event, meant: Meant) -> Option<usize> {
        match meant {
            Meant::Seq(seq) => self.by_seq.get(&(&event.session_id, seq)).copied(),
            Meant::At(at) => {
                let newest = self.newest.filter(|_| self.window.omitted == 0);
                self.by_at.get(&at).copied().or(newest)
            }
            Meant::Newest => self.newest,
        }
    }

    /// Messages that another program kept instead of a history.
    fn copy(&mut self, event: &'a Event, copy: JsonSlice<'a>) {
        let messages = copy.object().get(&["messages"]);
        let Some(messages) = messages.and_then(|list| list.elements(CONTEXT_RECORDS_MAX)) else {
            self.unread += 1;
            return;
        };
        for json in messages {
            match Spoken::read(json) {
                Some(said) => self.message(event, &said, json),
                None => self.unread += 1,
            }
        }
    }

    /// What was said: the text and the content, then files and calls.
    fn parts_of(&mut self, said: &Spoken<'_>) -> Vec<ContextPart> {
        let mut parts = Vec::new();
        for json in [said.text, said.content].into_iter().flatten() {
            parts.extend(self.parts_of_content(json));
        }
        let file = |json: JsonSlice<'_>| Some(ContextPart::File(json.to_raw()));
        parts.extend(said.files.into_iter().flat_map(|files| self.each(files, file)));
        let call = |json: JsonSlice<'_>| Some(call_or_other(json));
        parts.extend(said.tool_calls.into_iter().flat_map(|calls| self.each(calls, call)));
        parts
    }

    /// A text, or a list of parts.
    fn parts_of_content(&mut self, json: JsonSlice<'_>) -> Vec<ContextPart> {
        self.each(json, part_of)
    }

    /// The parts that a list's elements make; anything else is one by itself. A list of more
    /// elements than anybody means is shown as it is: each of millions of tiny parts would cost
    /// many times its bytes.
    fn each(
        &mut self,
        json: JsonSlice<'_>,
        part: impl Fn(JsonSlice<'_>) -> Option<ContextPart>,
    ) -> Vec<ContextPart> {
        if !json.as_str().starts_with('[') {
            return part(json).into_iter().collect();
        }
        match json.elements(MESSAGE_PARTS_MAX.min(self.parts_left)) {
            None => vec![ContextPart::Other(json.to_raw())],
            Some(elements) => {
                self.parts_left -= elements.len();
                elements.into_iter().filter_map(part).collect()
            }
        }
    }

    fn finish(self) -> Context {
        let pending = self.calls.into_iter().filter(|call| call.answer == Answer::Missing);
        let messages = self.slots.into_iter().flat_map(|slot| {
            let said = Some(slot.message).filter(|message| !message.content.is_empty());
            said.into_iter().chain(slot.answers.into_iter().map(|(_, answer)| answer))
        });
        Context {
            session_id: self.window.session_id.clone(),
            last_seq: self.window.last_seq,
            records: self.window.events.len() as u64,
            omitted: self.window.omitted,
            unread: self.unread,
            messages: messages.collect(),
            pending_calls: pending.map(|call| call.pending).collect(),
            open_rlms: self.rlms.into_iter().flatten().collect(),
        }
    }
}

pub(crate) fn role_of(said: &Spoken<'_>) -> Option<Role> {
    match said.role?.as_str() {
        "\"user\"" => Some(Role::User),
        "\"assistant\"" => Some(Role::Assistant),
        "\"system\"" => Some(Role::System),
        "\"tool\"" | "\"toolResult\"" => Some(Role::Tool),
        _ => None,
    }
}

#[cfg(test)]
mod retold_tests;
#[cfg(test)]
mod tests;
