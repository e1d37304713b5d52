//! Search: events by the words in them.
//!
//! A store keeps an index that tells which events may be meant; what decides is [`Said::finds`], a
//! pure function of the event and the text that is looked for. So every store finds the same.

mod said;
mod terms;
mod words;

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::terms::{SearchTerm, SearchText};

use crate::limits::FILTER_TYPES_MAX;
use crate::{Event, Invalid, Role, SessionId, Timestamp};

/// Counts the changes of what events say and of how it is split: an index that was made by other
/// rules is made anew.
pub const SEARCH_RULES: u64 = 1;

/// How many times as long as a step took upkeep rests while others write.
const REST_FOR_WRITERS: u32 = 19;

/// Letters that are shown before the first thing found.
const SHOWN_BEFORE: usize = 40;
/// Letters that are shown in all.
const SHOWN: usize = 200;

/// What is looked for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// The words.
    pub text: SearchText,
    /// In this session.
    pub session_id: Option<SessionId>,
    /// In sessions of this repository.
    pub repo_id: Option<i64>,
    /// In sessions of this agent kind, whatever its version.
    pub agent: Option<String>,
    /// In events of this time or later.
    pub since: Option<Timestamp>,
    /// In events of these types; all when empty.
    pub types: Vec<String>,
}

impl SearchQuery {
    /// Looks for `text` everywhere.
    pub fn new(text: SearchText) -> Self {
        let (session_id, repo_id, agent, since) = (None, None, None, None);
        Self { text, session_id, repo_id, agent, since, types: Vec::new() }
    }

    /// Refuses too many types.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.types.len() > FILTER_TYPES_MAX {
            let reason = format!("{}, at most {FILTER_TYPES_MAX} are allowed", self.types.len());
            return Err(Invalid::new("number of types", reason));
        }
        Ok(())
    }
}

/// What an event says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub who: Role,
    text: String,
}

impl Said {
    /// What an event says, if it says anything that can be looked for.
    pub fn of(event: &Event) -> Option<Self> {
        said::said(event)
    }

    /// Its words, each once, for an index.
    pub fn words(&self) -> BTreeSet<String> {
        words::words(&self.text).map(|word| word.text).collect()
    }

    /// The part that shows what is looked for, if it is there.
    pub fn finds(&self, text: &SearchText) -> Option<Vec<SnippetPart>> {
        self.places(text).map(|places| snippet(&self.text, &places))
    }

    fn places(&self, text: &SearchText) -> Option<Vec<Range<usize>>> {
        text.places(&self.text)
    }
}

/// A stretch of a snippet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SnippetPart {
    /// The text; the parts behind each other are a piece of what the event says.
    pub text: String,
    /// Whether it is what was looked for.
    pub found: bool,
}

/// An event that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session it belongs to.
    pub session_id: SessionId,
    /// The title of that session.
    pub title: Option<String>,
    /// Its number in the session.
    pub seq: u64,
    /// When it happened, as its writer said.
    pub ts: Timestamp,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// Who says it.
    pub who: Role,
    /// Some of what it says.
    pub snippet: Vec<SnippetPart>,
}

impl SearchHit {
    /// `event` if it is meant by the words of `query`; `title` is that of its session.
    pub fn of(event: Event, title: Option<String>, query: &SearchQuery) -> Option<Self> {
        let said = Said::of(&event)?;
        let snippet = said.finds(&query.text)?;
        let Event { session_id, seq, ts, kind, .. } = event;
        Some(Self { session_id, title, seq, ts, kind, who: said.who, snippet })
    }
}

/// What a step of the upkeep of the index did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct IndexStep {
    /// How many events were read into the index, with those that say nothing.
    pub indexed: u64,
    /// How many events that are gone were taken out of it.
    pub removed: u64,
    /// How many events it may lack now.
    pub left: u64,
    /// Whether there is more to do.
    pub state: IndexState,
}

/// Whether the index is up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub enum IndexState {
    /// It is.
    Done,
    /// It is not: do another step.
    More,
    /// It is not, and cannot be before somebody who writes has ended.
    Waits,
}

/// How upkeep makes way for who writes. Nobody but it knows of the time: it is told.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexPace {
    left: Option<u64>,
}

impl IndexPace {
    /// How long to rest after a step that took so long. While others append, upkeep works a small
    /// part of the time; else it only lets them come in between.
    pub fn rest(&mut self, step: &IndexStep, took: Duration) -> Duration {
        let others_write =
            self.left.is_some_and(|before| step.left.saturating_add(step.indexed) > before);
        self.left = Some(step.left);
        took * if others_write { REST_FOR_WRITERS } else { 1 }
    }
}

/// The stretch of `text` around the first of `places`, with those in it marked.
fn snippet(text: &str, places: &[Range<usize>]) -> Vec<SnippetPart> {
    let first = places.first().map_or(0, |place| place.start);
    let before = text[..first].char_indices().rev().take(SHOWN_BEFORE);
    let begin = before.last().map_or(first, |(at, _)| at);
    let end = text[begin..].char_indices().nth(SHOWN).map_or(text.len(), |(at, _)| begin + at);
    let mut parts = Vec::new();
    let mut push = |range: Range<usize>, found: bool| {
        let text = text.get(range).unwrap_or_default();
        if !text.is_empty() {
            parts.push(SnippetPart { text: text.to_owned(), found });
        }
    };
    let mut at = begin;
    for place in places.iter().filter(|place| place.start >= begin && place.start < end) {
        push(at..place.start.max(at), false);
        push(place.start.max(at)..place.end.min(end), true);
        at = place.end.min(end).max(at);
    }
    push(at..end, false);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, typed: &str) -> Option<String> {
        let said = Said { who: Role::User, text: text.to_owned() };
        let parts = said.finds(&typed.parse().unwrap())?;
        Some(
            parts
                .iter()
                .map(|part| match part.found {
                    true => format!("[{}]", part.text),
                    false => part.text.clone(),
                })
                .collect(),
        )
    }

    #[test]
    fn a_snippet_shows_what_was_found_and_what_stands_around_it() {
        assert_eq!(shown("one two three", "two").unwrap(), "one [two] three");
        assert_eq!(shown("Ärger über Ärger", "ärger*").unwrap(), "[Ärger] über [Ärger]");
        assert_eq!(shown("one two", "three"), None);
        let far = format!("{}needle{}", "é ".repeat(500), " 日".repeat(500));
        let found = shown(&far, "needle").unwrap();
        assert_eq!(found.chars().count(), SHOWN + "[]".len());
        assert!(found.contains("é [needle] 日"), "{found}");
    }

    #[test]
    fn upkeep_rests_long_while_others_append() {
        let (mut pace, ms) = (IndexPace::default(), Duration::from_millis);
        let step = |left| IndexStep { indexed: 10, removed: 0, left, state: IndexState::More };
        assert_eq!(pace.rest(&step(100), ms(2)), ms(2));
        assert_eq!(pace.rest(&step(90), ms(2)), ms(2));
        assert_eq!(pace.rest(&step(81), ms(2)), ms(2) * REST_FOR_WRITERS);
        assert_eq!(pace.rest(&step(71), ms(2)), ms(2));
    }

    #[test]
    fn a_word_that_is_longer_than_a_snippet_is_shown_in_part() {
        let word = format!("xy {}", "Ж".repeat(500));
        assert!(shown(&word, "Ж*").is_some_and(|found| found.contains("[ЖЖ")));
    }
}
