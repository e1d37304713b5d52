//! What hooks told and a transcript tells too is shown once, as the transcript tells it.
//!
//! Both write into one session, in any order and either only in part. Up to the last thing that both
//! told the transcript is whole: what only hooks told before it, such as the calls of a sub-agent,
//! is no part of the conversation. What they told after it stands behind it: hooks are in order
//! among themselves, and no clock is asked.

use std::collections::{HashMap, HashSet, VecDeque};

use super::streamed::{Read, settled};
use crate::limits::MESSAGE_PARTS_MAX;
use crate::record::Spoken;
use crate::{Event, JsonSlice, JsonText, Record, ToolCall};

/// What the keys of events begin with that hooks wrote.
const HOOK: &str = "hook/";

/// The events to show in order, each with what it means.
pub(super) fn told(events: &[Event]) -> Vec<Read<'_>> {
    let read = |event| (event, Record::read(event));
    let records = settled(events.iter().map(read).collect());
    if !events.iter().any(is_hook) {
        return records;
    }
    let mut transcript = Transcript::default();
    for (place, (event, record)) in records.iter().enumerate() {
        if let Some(record) = record.as_ref().filter(|_| !is_hook(event)) {
            transcript.note(place, event, record);
        }
    }
    let asked = !transcript.prompts.is_empty() || !transcript.asked.is_empty();
    let mut told = Vec::with_capacity(records.len());
    for (event, record) in &records {
        let hooked = record.as_ref().filter(|_| is_hook(event));
        told.push(hooked.map(|record| transcript.told(event, record)));
    }
    let is_both = |told: &Option<Told>| matches!(told, Some(Told::Both { .. }));
    let last = told.iter().rposition(is_both);
    let behind = told.iter().flatten().filter_map(|told| told.place()).max().unwrap_or(0);
    let shown = records.into_iter().zip(told).enumerate().filter_map(|(place, (shown, told))| {
        let order = match told {
            None => (place, false),
            Some(Told::Both { .. } | Told::Text { .. }) => return None,
            Some(Told::Call { place: call }) => (place.max(call), true),
            // The stream of a program has no prompts: there only a hook tells them.
            Some(Told::HookOnly) if !asked && is_prompt(&shown) => (place, false),
            Some(Told::HookOnly) if last.is_some_and(|last| place < last) => return None,
            Some(Told::HookOnly) => (place.max(behind), true),
        };
        Some((order, shown))
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by_key(|(order, _)| *order);
    shown.into_iter().map(|(_, shown)| shown).collect()
}

fn is_prompt((_, record): &Read<'_>) -> bool {
    matches!(record, Some(Record::UserMessage(_)))
}

fn is_hook(event: &Event) -> bool {
    event.dedup_key.as_ref().is_some_and(|key| key.starts_with(HOOK))
}

/// Who told what a hook told, and where the transcript did.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// The transcript too.
    Both {
        place: usize,
    },
    /// The transcript has the same words, which may have been said twice.
    Text {
        place: usize,
    },
    /// The transcript has the call, and not yet its answer.
    Call {
        place: usize,
    },
    HookOnly,
}

impl Told {
    fn place(self) -> Option<usize> {
        match self {
            Self::Both { place } | Self::Text { place } | Self::Call { place } => Some(place),
            Self::HookOnly => None,
        }
    }
}

/// What a transcript tells, and where.
#[derive(Debug, Default)]
struct Transcript {
    calls: HashMap<String, usize>,
    answers: HashMap<String, usize>,
    prompts: HashMap<String, usize>,
    /// Prompts by their text, oldest first: each is the same as one that a hook told.
    asked: HashMap<String, VecDeque<usize>>,
    /// The newest place of each text of an assistant.
    said: HashMap<String, usize>,
}

impl Transcript {
    fn note(&mut self, place: usize, event: &Event, record: &Record<'_>) {
        match record {
            Record::UserMessage(said) => self.ask(place, event, said),
            Record::AssistantMessage(said) => {
                self.calls.extend(calls(said).into_iter().map(|id| (id, place)));
                self.said.extend(texts(said).into_iter().map(|text| (text, place)));
            }
            Record::Retold(retold) => {
                match retold.by_model {
                    true => self.said.extend(texts(&retold.said).into_iter().map(|t| (t, place))),
                    false => self.ask(place, event, &retold.said),
                }
                self.calls.extend(calls(&retold.said).into_iter().map(|id| (id, place)));
                let answers = retold.answers.iter();
                self.answers.extend(answers.map(|answer| (answer.id.clone(), place)));
            }
            Record::ToolResult(answer) => drop(self.answers.insert(answer.id.clone(), place)),
            Record::ToolResults(answers, _) => {
                self.answers.extend(answers.iter().map(|answer| (answer.id.clone(), place)));
            }
            _ => {}
        }
    }

    fn ask(&mut self, place: usize, event: &Event, said: &Spoken<'_>) {
        if let Some(id) = text_of(event, "promptId") {
            self.prompts.entry(id).or_insert(place);
        }
        for text in texts(said) {
            self.asked.entry(text).or_default().push_back(place);
        }
    }

    /// Who told what a hook's `record` says.
    fn told(&mut self, event: &Event, record: &Record<'_>) -> Told {
        let both = |place: &usize| Told::Both { place: *place };
        let found = match record {
            Record::PreTool(tool) => tool.id.as_ref().and_then(|id| self.calls.get(id)).map(both),
            Record::PostTool(tool) => tool.id.as_ref().and_then(|id| {
                let call = || self.calls.get(id).map(|place| Told::Call { place: *place });
                self.answers.get(id).map(both).or_else(call)
            }),
            Record::UserMessage(said) => self.prompt(event, said).map(|place| both(&place)),
            Record::AssistantMessage(said) => {
                let place = texts(said).pop().and_then(|text| self.said.get(&text));
                place.map(|place| Told::Text { place: *place })
            }
            _ => None,
        };
        found.unwrap_or(Told::HookOnly)
    }

    fn prompt(&mut self, event: &Event, said: &Spoken<'_>) -> Option<usize> {
        let id = text_of(event, "prompt_id").filter(|_| !self.prompts.is_empty());
        if let Some(id) = id {
            return self.prompts.get(&id).copied();
        }
        // Older programs give prompts no ids.
        texts(said).pop().and_then(|text| self.asked.get_mut(&text))?.pop_front()
    }
}

fn text_of(event: &Event, name: &str) -> Option<String> {
    // Most lines have none: the search costs far less than taking them apart.
    if !event.data.as_str().contains(name) {
        return None;
    }
    event.data.slice().object().get(&[name]).and_then(words)
}

pub(super) fn words(json: JsonSlice<'_>) -> Option<String> {
    JsonText::of_json(json.to_raw()).map(|text| text.to_string())
}

/// The texts of what was said.
pub(super) fn texts(said: &Spoken<'_>) -> Vec<String> {
    let parts = said.text.into_iter().chain(said.content.into_iter().flat_map(elements));
    let text =
        |part: JsonSlice<'_>| words(part).or_else(|| part.object().get(&["text"]).and_then(words));
    let texts: HashSet<String> = parts.filter_map(text).collect();
    texts.into_iter().collect()
}

/// The ids of the calls in what was said.
fn calls(said: &Spoken<'_>) -> Vec<String> {
    let parts = said.content.into_iter().chain(said.tool_calls).flat_map(elements);
    parts.filter_map(|part| ToolCall::read(part).map(|call| call.id)).collect()
}

pub(super) fn elements(json: JsonSlice<'_>) -> Vec<JsonSlice<'_>> {
    json.elements(MESSAGE_PARTS_MAX).unwrap_or_else(|| vec![json])
}
