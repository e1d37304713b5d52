//! Events of a session as the items of a timeline.

use std::collections::{BTreeMap, HashMap, HashSet};

use ah_model::{
    ContextMessage, ContextPart, Event, RawJson, Role, SessionId, Timestamp, Window, context,
};

use crate::clean::{clean, clean_lines};

/// Bytes of one text that are kept.
const TEXT_BYTES_MAX: usize = 16 * 1024;

/// Who an item is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// A role of a context.
    Role(Role),
    /// Nobody: an event that no context shows.
    Note,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) failed: bool,
    pub(crate) at: Timestamp,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Absent when only the answer is among what was read.
    pub(crate) input: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

/// One thing of a timeline. Its texts are clean and bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) seq: u64,
    /// Its place among those of the same event.
    pub(crate) place: usize,
    pub(crate) at: Timestamp,
    pub(crate) who: Who,
    pub(crate) text: String,
    pub(crate) call: Option<Call>,
}

/// Items by the numbers of their events.
type Shown = BTreeMap<u64, Vec<Item>>;

/// The items of `events`; those before `first` only help to read the others.
pub(crate) fn items(session: &SessionId, events: &[Event], first: u64) -> Vec<Item> {
    let window = Window {
        session_id: session,
        last_seq: events.last().map_or(0, |event| event.seq),
        reason: None,
        omitted: 1,
        events,
    };
    let mut shown = Shown::new();
    let mut answers = Vec::new();
    for message in context(&window).messages {
        let Some(seq) = message.seq else { continue };
        match &message.tool_call_id {
            Some(id) => answers.push((seq, id.clone(), message)),
            None => shown.entry(seq).or_default().extend(said(seq, &message)),
        }
    }
    // What an answer was read from says nothing else.
    let told: HashSet<u64> = answers.iter().map(|(seq, ..)| *seq).collect();
    place_answers(&mut shown, answers, first);
    for event in events.iter().filter(|event| !told.contains(&event.seq)) {
        shown.entry(event.seq).or_insert_with(|| vec![note(event)]);
    }
    let mut items: Vec<Item> = Vec::new();
    for (_, group) in shown.split_off(&first) {
        items.extend(group.into_iter().enumerate().map(|(place, item)| Item { place, ..item }));
    }
    items
}

/// Puts answers to their calls; one whose call stands before `first` is an item of its own.
fn place_answers(shown: &mut Shown, answers: Vec<(u64, String, ContextMessage)>, first: u64) {
    let mut calls: HashMap<String, (u64, usize)> = HashMap::new();
    for (seq, items) in shown.range(first..) {
        for (place, item) in items.iter().enumerate() {
            if let Some(call) = &item.call {
                calls.insert(call.id.clone(), (*seq, place));
            }
        }
    }
    for (seq, id, message) in answers {
        let outcome = Some(outcome(&message));
        let place = calls.get(&id);
        let item = place.and_then(|(at, place)| shown.get_mut(at)?.get_mut(*place));
        if let Some(call) = item.and_then(|item| item.call.as_mut()) {
            call.outcome = outcome;
            continue;
        }
        let name = clean(message.tool_name.as_deref().unwrap_or("tool"));
        let call = Some(Call { id, name, input: None, outcome });
        let (who, text) = (Who::Role(Role::Tool), String::new());
        let item = Item { seq, place: 0, at: message.ts, who, text, call };
        shown.entry(seq).or_default().push(item);
    }
}

/// What a message says, and the calls in it.
fn said(seq: u64, message: &ContextMessage) -> Vec<Item> {
    let who = Who::Role(message.role);
    let blank = |text, call| Item { seq, place: 0, at: message.ts, who, text, call };
    let mut items = Vec::new();
    let mut text = String::new();
    let flush = |text: &mut String, items: &mut Vec<Item>| {
        if !text.trim().is_empty() {
            items.push(blank(bounded(text), None));
        }
        text.clear();
    };
    for part in &message.content {
        match part {
            ContextPart::ToolCall(call) => {
                flush(&mut text, &mut items);
                let input = Some(json(&call.arguments));
                let (id, name) = (call.id.clone(), clean(&call.name));
                items.push(blank(String::new(), Some(Call { id, name, input, outcome: None })));
            }
            other => push_part(&mut text, other),
        }
    }
    flush(&mut text, &mut items);
    items
}

fn push_part(text: &mut String, part: &ContextPart) {
    if !text.is_empty() {
        text.push('\n');
    }
    match part {
        ContextPart::Text(said) => text.push_str(&said.to_string()),
        ContextPart::ToolCall(call) => text.push_str(&call.name),
        ContextPart::File(file) => text.push_str(&format!("[file] {}", json(file))),
        ContextPart::Other(other) => text.push_str(&json(other)),
    }
}

fn outcome(message: &ContextMessage) -> Outcome {
    let mut text = String::new();
    message.content.iter().for_each(|part| push_part(&mut text, part));
    let failed = message.is_error == Some(true);
    Outcome { text: bounded(text.trim_end()), failed, at: message.ts }
}

/// An event that no context shows.
fn note(event: &Event) -> Item {
    let data = match event.data.as_str() {
        "null" | "{}" => String::new(),
        text => beginning(text, TEXT_BYTES_MAX).to_owned(),
    };
    let text = bounded(format!("{} {data}", event.kind).trim_end());
    Item { seq: event.seq, place: 0, at: event.ts, who: Who::Note, text, call: None }
}

fn json(json: &RawJson) -> String {
    match json.as_str() {
        "null" => String::new(),
        text => bounded(text),
    }
}

fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// A clean text of bounded length that says how much is missing.
fn bounded(text: &str) -> String {
    let kept = beginning(text, TEXT_BYTES_MAX);
    let rest = text.len() - kept.len();
    let more = if rest > 0 { format!("\n… {rest} bytes more") } else { String::new() };
    format!("{}{more}", clean_lines(kept))
}
