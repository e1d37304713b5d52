//! Prices of tokens: what models cost per million, and from which day on.

mod table;

use crate::spending::scaled;
use crate::{Cost, Day, Usage};

/// What a million tokens of each kind cost, in millionths of a US dollar. A token then costs as many
/// millionths of a millionth, so no price that anybody asks is a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Input that was not read from a cache.
    pub input: u64,
    /// Output, reasoning included.
    pub output: u64,
    /// Input read from a cache.
    pub cache_read: u64,
    /// Input written to a cache.
    pub cache_write: u64,
}

impl Rates {
    /// The dollars of a million tokens as a rate; nothing for what is no amount.
    pub fn parse_usd(text: &str) -> Option<u64> {
        scaled(text, 6)
    }

    fn cost(&self, usage: Usage) -> Cost {
        let kinds = [
            (usage.input_tokens, self.input),
            (usage.output_tokens, self.output),
            (usage.reasoning_tokens, self.output),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
        ];
        let each = kinds.iter().map(|(tokens, rate)| u128::from(*tokens) * u128::from(*rate));
        let nanos = each.fold(0_u128, u128::saturating_add).saturating_add(500) / 1_000;
        Cost::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// What a model costs from a day on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// The model's name without the date of its release.
    pub model: String,
    /// The first day it holds.
    pub from: Option<Day>,
    /// What its tokens cost.
    pub rates: Rates,
}

/// Everything known about prices: the user's own, then the list that ships.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    own: Vec<Price>,
    listed: Vec<Price>,
}

impl Prices {
    /// The list that ships: list prices as they were known when it was written.
    pub fn listed() -> Self {
        Self { own: Vec::new(), listed: table::listed() }
    }

    /// As it is, but where `own` has a price for the model and day, that holds.
    #[must_use]
    pub fn with(self, own: Vec<Price>) -> Self {
        Self { own, ..self }
    }

    /// What the model cost on that day.
    pub fn rates(&self, model: &str, day: &Day) -> Option<Rates> {
        let lists = [&self.own, &self.listed];
        lists.iter().find_map(|list| newest(list, model, day)).map(|price| price.rates)
    }

    /// What these tokens cost on that day, if anybody knows.
    pub fn cost(&self, model: &str, day: &Day, usage: Usage) -> Option<Cost> {
        self.rates(model, day).map(|rates| rates.cost(usage))
    }
}

/// The newest price of the model that is not after the day; a name that is the model's in full goes
/// before one without the date.
fn newest<'a>(prices: &'a [Price], model: &str, day: &Day) -> Option<&'a Price> {
    let from = |price: &Price| price.from.clone().unwrap_or_else(Day::first);
    let known = prices.iter().filter(|price| names(&price.model, model) && from(price) <= *day);
    known.max_by_key(|price| (price.model.len(), from(price)))
}

/// Whether `name` is the model, perhaps with who serves it before and the date of its release
/// behind: `anthropic/claude-opus-4-1-20250805`.
fn names(name: &str, model: &str) -> bool {
    let served = model.rsplit_once('/').map_or(model, |(_, served)| served);
    [model, served].iter().any(|model| model.strip_prefix(name).is_some_and(is_release))
}

fn is_release(rest: &str) -> bool {
    let date = rest.strip_prefix(['-', '@']).unwrap_or("none");
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    rest.is_empty() || date.len() == 8 && digits(date) || date.parse::<Day>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> Day {
        text.parse().unwrap()
    }

    fn own(model: &str, from: &str, input: u64) -> Price {
        let rates = Rates { input, output: 0, cache_read: 0, cache_write: 0 };
        Price { model: model.to_owned(), from: Some(day(from)), rates }
    }

    #[test]
    fn a_model_is_known_with_and_without_the_date_of_its_release() {
        let prices = Prices::listed();
        let input = |model: &str| prices.rates(model, &day("2026-01-01")).map(|r| r.input);
        for (model, rate) in [
            ("claude-opus-4-1", Some(15_000_000)),
            ("claude-opus-4-1-20250805", Some(15_000_000)),
            ("anthropic/claude-opus-4-5@20251101", Some(5_000_000)),
            ("claude-opus-4-20250514", Some(15_000_000)),
            ("gpt-4o-2024-08-06", Some(2_500_000)),
            ("gpt-5-mini", Some(250_000)),
            ("gpt-5-mini-high", None),
            ("claude-opus-4-2025", None),
            ("claude-opus-5-5", None),
            ("", None),
        ] {
            assert_eq!(input(model), rate, "{model}");
        }
    }

    #[test]
    fn the_newest_price_that_is_not_after_the_day_holds() {
        let prices = Prices::listed();
        let input = |on: &str| prices.rates("o3", &day(on)).unwrap().input;
        assert_eq!(input("2025-06-09"), 10_000_000);
        assert_eq!(input("2025-06-10"), 2_000_000);
    }

    #[test]
    fn ones_own_price_goes_before_the_list_from_its_day_on() {
        let mine = vec![own("o3", "2026-01-01", 7), own("mine", "2026-01-01", 8)];
        let prices = Prices::listed().with(mine);
        let input = |model: &str, on: &str| prices.rates(model, &day(on)).map(|r| r.input);
        assert_eq!(input("o3", "2025-12-31"), Some(2_000_000));
        assert_eq!(input("o3", "2026-01-01"), Some(7));
        assert_eq!(input("mine", "2025-12-31"), None);
        assert_eq!(input("mine", "2027-01-01"), Some(8));
    }

    #[test]
    fn every_kind_of_token_costs_its_own_and_reasoning_what_output_does() {
        let usage = Usage {
            input_tokens: 1_000_000,
            output_tokens: 1_000_000,
            cache_read_tokens: 1_000_000,
            cache_write_tokens: 1_000_000,
            reasoning_tokens: 1_000_000,
        };
        let cost = Prices::listed().cost("claude-opus-4-5", &day("2026-01-01"), usage).unwrap();
        assert_eq!(cost, Cost::parse_usd("61.75").unwrap());
        let much = Usage { input_tokens: u64::MAX / 4, ..Usage::default() };
        let cost = Prices::listed().cost("o3", &day("2025-01-01"), much).unwrap();
        assert_eq!(cost, Cost::from_nanos(u64::MAX));
    }

    #[test]
    fn no_model_has_two_prices_of_one_day() {
        let listed = Prices::listed().listed;
        for (at, price) in listed.iter().enumerate() {
            let same = |other: &&Price| other.model == price.model && other.from == price.from;
            assert_eq!(listed[at + 1..].iter().find(same), None);
        }
    }
}
