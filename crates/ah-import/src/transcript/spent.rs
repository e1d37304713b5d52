//! Tokens, once per answer. Programs write the numbers of an answer on several lines, the same or
//! growing: the largest count. An event is written as soon as a line says more than was counted, so
//! that the events of a file do not depend on where an import ended.

use std::collections::HashMap;

use ah_model::{EventQuery, PageLimit, RawJson, Session, Usage, to_hex};
use ah_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The type of such an event.
pub(crate) const USAGE: &str = "usage";

/// Longest id of an answer that is a part of a key.
const ID_BYTES_MAX: usize = 400;

/// What a line says that an answer cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spent {
    /// The id of the answer.
    pub(crate) answer: String,
    pub(crate) usage: Usage,
    pub(crate) model: Option<String>,
    /// What the program says it cost, as it wrote it.
    pub(crate) cost_usd: Option<RawJson>,
}

/// The payload of an event.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Counted {
    usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    answer_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_usd: Option<RawJson>,
    /// Whether it is what a stream says of answers that it did not tell one by one.
    #[serde(default, skip_serializing_if = "is_false")]
    total: bool,
    /// The tokens of the answer that such totals have already.
    #[serde(default, skip_serializing_if = "is_none")]
    covered: Usage,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_none(usage: &Usage) -> bool {
    *usage == Usage::default()
}

/// What a stream says of all its answers, as an event of its session.
pub(crate) struct Totals;

impl Totals {
    /// The payload of such an event; nothing when there is nothing to say.
    pub(crate) fn of(spent: Spent) -> Option<RawJson> {
        let Spent { answer, usage, model, cost_usd } = spent;
        if usage == Usage::default() {
            return None;
        }
        let covered = Usage::default();
        let counted = Counted { usage, model, answer_id: answer, cost_usd, total: true, covered };
        RawJson::of(&counted).ok()
    }
}

fn key(answer: &str, number: u32) -> String {
    let id = match answer.len() > ID_BYTES_MAX {
        true => to_hex(&Sha256::digest(answer)),
        false => answer.to_owned(),
    };
    match number {
        1 => format!("{USAGE}/{id}"),
        number => format!("{USAGE}/{id}/{number}"),
    }
}

/// What was counted of a session.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    /// The tokens of an answer, and the number of events that hold them.
    counted: HashMap<String, (Usage, u32)>,
    pub(crate) total: Usage,
    /// What the totals of streams have that no answer was found for yet.
    open: Usage,
}

impl Answers {
    /// What the events of `session` hold.
    pub(crate) async fn load(store: &dyn Store, session: &Session) -> Result<Self, StoreError> {
        let (mut answers, mut after) = (Self::default(), 0);
        loop {
            let query = EventQuery {
                after,
                types: vec![USAGE.to_owned()],
                limit: PageLimit::MAX,
                ..EventQuery::default()
            };
            let events = store.events(session.id.clone(), query).await?;
            let Some(last) = events.last() else {
                return Ok(answers);
            };
            after = last.seq;
            for event in events {
                if let Ok(counted) = event.data.read::<Counted>() {
                    answers.load_one(&counted);
                }
            }
        }
    }

    fn load_one(&mut self, counted: &Counted) {
        self.total = self.total.plus(counted.usage);
        if counted.total {
            self.open = self.open.plus(counted.usage);
        } else {
            self.open = over(self.open, counted.covered);
            self.add(&counted.answer_id, counted.usage.plus(counted.covered));
        }
    }

    /// The key and payload of an event, if `spent` says more than was counted. What the total of a
    /// stream has of it is not counted again, and noted, so that the next import knows.
    pub(crate) fn count(&mut self, spent: &Spent) -> Option<(String, RawJson)> {
        let counted = self.counted.get(&spent.answer).map(|(usage, _)| *usage);
        let more = over(spent.usage, counted.unwrap_or_default());
        if more == Usage::default() {
            return None;
        }
        let usage = over(more, self.open);
        let covered = over(more, usage);
        self.open = over(self.open, covered);
        self.total = self.total.plus(usage);
        let number = self.add(&spent.answer, more);
        let (model, answer_id) = (spent.model.clone(), spent.answer.clone());
        // The cost is told once, with the first numbers.
        let cost_usd = spent.cost_usd.clone().filter(|_| number == 1);
        let counted = Counted { usage, model, answer_id, cost_usd, total: false, covered };
        Some((key(&spent.answer, number), RawJson::of(&counted).ok()?))
    }

    fn add(&mut self, answer: &str, usage: Usage) -> u32 {
        let (counted, number) = self.counted.entry(answer.to_owned()).or_default();
        *counted = counted.plus(usage);
        *number += 1;
        *number
    }
}

/// How much more `more` is than `less`, number by number.
pub(crate) fn over(more: Usage, less: Usage) -> Usage {
    Usage {
        input_tokens: more.input_tokens.saturating_sub(less.input_tokens),
        output_tokens: more.output_tokens.saturating_sub(less.output_tokens),
        cache_read_tokens: more.cache_read_tokens.saturating_sub(less.cache_read_tokens),
        cache_write_tokens: more.cache_write_tokens.saturating_sub(less.cache_write_tokens),
        reasoning_tokens: more.reasoning_tokens.saturating_sub(less.reasoning_tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(output_tokens: u64) -> Spent {
        let usage = Usage { input_tokens: 7, output_tokens, ..Usage::default() };
        Spent { answer: "m1".to_owned(), usage, model: None, cost_usd: None }
    }

    #[test]
    fn an_answer_counts_as_much_as_its_largest_line() {
        let mut answers = Answers::default();
        let keys: Vec<_> =
            [0, 3, 3, 9, 1].map(|output| answers.count(&spent(output)).map(|(key, _)| key)).into();
        let expected = ["usage/m1", "usage/m1/2", "", "usage/m1/3", ""];
        assert_eq!(keys.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(), expected);
        assert_eq!((answers.total.input_tokens, answers.total.output_tokens), (7, 9));
    }

    #[test]
    fn nothing_is_written_of_an_answer_that_cost_nothing() {
        let spent = Spent { usage: Usage::default(), ..spent(0) };
        assert_eq!(Answers::default().count(&spent), None);
    }
}
