//! What the stream of a running program told and its hooks or transcript tell too is shown once, as
//! those tell it.
//!
//! A line of a stream is known again by the key of the transcript's line, where it has one. Else an
//! answer is by its text, a call by what it was called with, each in its order, also by what hooks
//! told. Up to the last thing that is told elsewhere the others are whole; what the stream told
//! after it stands behind it.

use std::collections::{HashMap, HashSet, VecDeque};

use super::hooked::{elements, texts, words};
use crate::record::Spoken;
use crate::{Event, JsonObject, JsonSlice, Record, ToolCall};

/// What the keys of events begin with that a stream told, and that a run keeps of its program.
const STREAMED: [&str; 2] = ["stream/", "run/"];
/// What follows in those of lines that the transcript has, too, and its keys begin with.
const LINE: &str = "line/";

/// An event, and what it means.
pub(super) type Read<'e> = (&'e Event, Option<Record<'e>>);

/// Without what others told too.
pub(super) fn settled(records: Vec<Read<'_>>) -> Vec<Read<'_>> {
    if !records.iter().any(|(event, _)| streamed(event).is_some()) {
        return records;
    }
    let mut others = Others::default();
    for (place, (event, record)) in records.iter().enumerate() {
        if streamed(event).is_none() {
            others.note(place, event, record.as_ref());
        }
    }
    let mut found = Vec::with_capacity(records.len());
    for (event, record) in &records {
        found.push(match streamed(event) {
            Some(line) if line.starts_with(LINE) => others.lines.get(line).copied(),
            Some(_) => record.as_ref().and_then(|record| others.place(record)),
            None => None,
        });
    }
    let last = found.iter().rposition(Option::is_some);
    let behind = found.iter().flatten().copied().max().unwrap_or(0);
    let mut shown = Vec::with_capacity(records.len());
    for (place, read) in records.into_iter().enumerate() {
        match (streamed(read.0).is_some(), last) {
            (true, Some(last)) if place <= last => {}
            (true, Some(_)) => shown.push(((place.max(behind), true), read)),
            (true, None) | (false, _) => shown.push(((place, false), read)),
        }
    }
    shown.sort_by_key(|(order, _)| *order);
    shown.into_iter().map(|(_, read)| read).collect()
}

/// What the key of an event that a stream told goes on with.
fn streamed(event: &Event) -> Option<&str> {
    let key = event.dedup_key.as_ref()?;
    STREAMED.iter().find_map(|prefix| key.strip_prefix(prefix))
}

/// What hooks and transcripts tell, and where: each prompt and call is the same as one of a stream.
#[derive(Debug, Default)]
struct Others<'e> {
    /// The lines of transcripts by their keys.
    lines: HashMap<&'e str, usize>,
    prompts: HashMap<String, VecDeque<usize>>,
    calls: HashMap<String, VecDeque<usize>>,
    said: HashMap<String, usize>,
    /// The calls of the stream that were found, by their ids there.
    found: HashSet<String>,
}

impl<'e> Others<'e> {
    fn note(&mut self, place: usize, event: &'e Event, record: Option<&Record<'_>>) {
        let key = event.dedup_key.as_deref().filter(|key| key.starts_with(LINE));
        self.lines.extend(key.map(|key| (key, place)));
        match record {
            Some(Record::UserMessage(said)) => {
                for text in texts(said) {
                    self.prompts.entry(text).or_default().push_back(place);
                }
            }
            Some(Record::AssistantMessage(said)) => {
                self.said.extend(texts(said).into_iter().map(|text| (text, place)));
                for call in calls(said) {
                    let command = command(call.arguments.slice(), &call.name);
                    self.calls.entry(command).or_default().push_back(place);
                }
            }
            Some(Record::PreTool(tool)) => {
                let command = tool.input.map(|input| command(input, &tool.name));
                let command = command.unwrap_or_else(|| tool.name.clone());
                self.calls.entry(command).or_default().push_back(place);
            }
            _ => {}
        }
    }

    /// Where others tell what a stream's `record` says.
    fn place(&mut self, record: &Record<'_>) -> Option<usize> {
        match record {
            Record::UserMessage(said) => {
                let text = texts(said).pop()?;
                self.prompts.get_mut(&text)?.pop_front()
            }
            Record::AssistantMessage(said) => self.said.get(&texts(said).pop()?).copied(),
            Record::PreTool(tool) => {
                let command = tool.input.map(|input| command(input, &tool.name));
                let place = self.calls.get_mut(&command?)?.pop_front();
                self.found.extend(tool.id.clone().filter(|_| place.is_some()));
                place
            }
            Record::PostTool(tool) => {
                // Its call stands before it, and decides.
                tool.id.as_ref().filter(|id| self.found.contains(*id)).map(|_| 0)
            }
            _ => None,
        }
    }
}

/// The calls in what was said.
fn calls(said: &Spoken<'_>) -> Vec<ToolCall> {
    let parts = said.content.into_iter().chain(said.tool_calls).flat_map(elements);
    parts.filter_map(ToolCall::read).collect()
}

/// What a call is known by: the command of a shell, else the name of the tool.
fn command(input: JsonSlice<'_>, name: &str) -> String {
    let said = |input: &JsonObject<'_>| input.get(&["command", "cmd"]).and_then(words);
    let text = words(input).or_else(|| said(&input.object()));
    text.map_or_else(|| name.to_owned(), |text| unwrapped(&text))
}

/// `command` without the shell that it is given to, as Codex shows it: `/bin/bash -lc 'echo one'`.
fn unwrapped(command: &str) -> String {
    let shell = |(shell, rest): (&str, &str)| {
        (!shell.contains(char::is_whitespace)).then(|| rest.to_owned())
    };
    let inner = command.split_once(" -lc ").and_then(shell);
    inner.map_or_else(|| command.to_owned(), |quoted| unquoted(&quoted))
}

/// A word of a shell without its quotes.
fn unquoted(word: &str) -> String {
    let (mut text, mut quote, mut letters) = (String::new(), None, word.chars());
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if letter == open => quote = None,
            (None | Some('"'), '\\') => text.extend(letters.next()),
            (_, letter) => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_without_its_shell_and_quotes() {
        for (shown, given) in [
            ("/bin/bash -lc 'echo one'", "echo one"),
            ("/bin/bash -lc ls", "ls"),
            (r#"/bin/bash -lc "echo 'a' \"b\"""#, r#"echo 'a' "b""#),
            (r"/bin/zsh -lc 'it'\''s'", "it's"),
            ("echo a -lc b", "echo a -lc b"),
            ("echo one", "echo one"),
        ] {
            assert_eq!(unwrapped(shown), given);
        }
    }
}
