//! Spendings: what sessions cost, summed per session, UTC day and model.
//!
//! Sums are kept when events are appended, so that they outlive no session and need no log to be
//! read. Costs that the agent's program told are kept apart from tokens that a price is looked up
//! for later: a price list changes, what was told does not. Money is whole nano-dollars.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits::LABEL_BYTES_MAX;
use crate::{Cursor, Invalid, JsonSlice, Prices, RawJson, SessionId, Timestamp, Usage, check_text};

/// The label of a session that names its model, for events that name none.
pub const MODEL_LABEL: &str = "model";

/// The most that is counted: the sum of two fits any store.
const COST_MAX: u64 = i64::MAX as u64 / 2;

/// A day in UTC, `2026-01-31`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Day(String);

impl Day {
    /// The day of a time.
    pub fn of(at: Timestamp) -> Self {
        let mut text = at.to_string();
        text.truncate("0000-00-00".len());
        Self(text)
    }

    /// Before every day that a price has.
    pub(crate) fn first() -> Self {
        Self("0000-01-01".to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Day {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let midnight = format!("{text}T00:00:00.000Z").parse::<Timestamp>();
        match midnight.map(Self::of) {
            Ok(day) if day.0 == text => Ok(day),
            Ok(_) | Err(_) => {
                Err(Invalid::new("day", format!("{text:?} is not a day like 2026-01-31")))
            }
        }
    }
}

impl TryFrom<String> for Day {
    type Error = Invalid;
    fn try_from(text: String) -> Result<Self, Invalid> {
        text.parse()
    }
}

impl From<Day> for String {
    fn from(day: Day) -> Self {
        day.0
    }
}

/// An amount of money in nano-dollars: a billionth of a US dollar.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Cost(u64);

impl Cost {
    /// So many nano-dollars, stopping at the largest number a store can hold.
    pub fn from_nanos(nanos: u64) -> Self {
        Self(nanos.min(COST_MAX))
    }

    /// The nano-dollars.
    pub fn nanos(self) -> u64 {
        self.0
    }

    /// Dollars, for who prints or draws them; sums are made of nano-dollars.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The dollars that a JSON or TOML number says; nothing for what is no amount.
    pub fn parse_usd(text: &str) -> Option<Self> {
        scaled(text, 9).map(Self::from_nanos)
    }

    /// The sum of both, stopping at the largest number a store can hold.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::from_nanos(self.0.saturating_add(other.0))
    }
}

/// The decimal number `text` times 10 to the power of `digits`, rounded, without the detour over a
/// binary fraction. Nothing for what is below zero or no number.
pub(crate) fn scaled(text: &str, digits: i32) -> Option<u64> {
    /// Far more than any amount has; keeps the powers of ten below what fits.
    const DIGITS_MAX: usize = 30;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let figures = format!("{whole}{fraction}");
    let is_number = !whole.is_empty() && figures.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number || figures.len() > DIGITS_MAX {
        return None;
    }
    let number: u128 = figures.parse().ok()?;
    let power = exponent.checked_add(digits)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let ten = |power: u32| 10_u128.checked_pow(power);
    let scaled = match u32::try_from(power) {
        Ok(power) => ten(power).and_then(|ten| number.checked_mul(ten)).unwrap_or(u128::MAX),
        Err(_) => ten(power.unsigned_abs()).map_or(0, |ten| (number + ten / 2) / ten),
    };
    let scaled = if number == 0 { 0 } else { scaled };
    Some(u64::try_from(scaled).unwrap_or(u64::MAX))
}

/// What sums of a session are kept by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpendingKey {
    /// The day of the events.
    pub day: Day,
    /// Whether their cost was told.
    pub told: bool,
    /// The model that was paid; empty when nobody said.
    pub model: String,
}

/// The sums of one key: tokens, and what was told that they cost.
pub type SpendingSum = (Usage, Cost);

/// The sums of some events of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingSums(pub BTreeMap<SpendingKey, SpendingSum>);

impl SpendingSums {
    /// Adds an event that spent `usage`. One that names no model goes under the empty name until
    /// [`Self::with_model`] says better.
    pub fn add_event(&mut self, data: &RawJson, usage: Usage, at: Timestamp) {
        let data = data.slice().object();
        let told = data.get(&["costUsd", "cost_usd"]).and_then(|c| Cost::parse_usd(c.as_str()));
        let sized = || data.get(&["tokens"]).and_then(|tokens| tokens.object().get(&["model"]));
        let model = data.get(&["model"]).or_else(sized).and_then(name).unwrap_or_default();
        let key = SpendingKey { day: Day::of(at), told: told.is_some(), model };
        self.add(key, (usage, told.unwrap_or_default()));
    }

    /// Whether some of it is under no model.
    pub fn lacks_model(&self) -> bool {
        self.0.keys().any(|key| key.model.is_empty())
    }

    /// What is under no model, under that of the session.
    #[must_use]
    pub fn with_model(self, model: &str) -> Self {
        let mut named = Self::default();
        for (mut key, sum) in self.0 {
            if key.model.is_empty() {
                model.clone_into(&mut key.model);
            }
            named.add(key, sum);
        }
        named
    }

    /// Adds a sum.
    pub fn add(&mut self, key: SpendingKey, (usage, cost): SpendingSum) {
        let sum = self.0.entry(key).or_default();
        *sum = (sum.0.plus(usage), sum.1.plus(cost));
    }

    /// The tokens of all.
    pub fn usage(&self) -> Usage {
        self.0.values().fold(Usage::default(), |sum, (usage, _)| sum.plus(*usage))
    }

    /// All of a session's tokens on the day of its last activity: what is known where only totals
    /// are.
    pub fn of_total(usage: Usage, at: Timestamp, model: String) -> Self {
        let mut sums = Self::default();
        if usage != Usage::default() {
            let key = SpendingKey { day: Day::of(at), told: false, model };
            sums.add(key, (usage, Cost::default()));
        }
        sums
    }
}

/// The name of a model that a store can keep.
fn name(json: JsonSlice<'_>) -> Option<String> {
    let name: String = serde_json::from_str(json.as_str()).ok()?;
    let fits = check_text("model", &name, LABEL_BYTES_MAX).is_ok();
    (fits && !name.is_empty()).then_some(name)
}

/// What a session spent on a model in a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Spending {
    /// Whose.
    pub session_id: SessionId,
    /// The repository of the session.
    pub repo_id: i64,
    /// The kind of the session's agent, any version.
    pub agent: String,
    /// The day of the events, in UTC.
    pub day: Day,
    /// The model that was paid; empty when nobody said.
    pub model: String,
    /// The tokens.
    pub usage: Usage,
    /// What the agent's program told that they cost, in billionths of a US dollar; absent where it
    /// told nothing and a price list must say.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "costNanoUsd")]
    pub told: Option<Cost>,
}

impl Spending {
    /// Where a list goes on after this one.
    pub fn cursor(&self) -> Cursor {
        let told = u8::from(self.told.is_some());
        Cursor::Text(format!("{} {} {told} {}", self.session_id, self.day, self.model))
    }

    /// The place that [`Self::cursor`] named.
    pub fn after(cursor: &Cursor) -> Result<(SessionId, SpendingKey), Invalid> {
        let place = match cursor {
            Cursor::Text(text) => place(text),
            Cursor::Activity { .. } | Cursor::Number(_) => None,
        };
        place.ok_or_else(|| {
            Invalid::new("cursor", format!("\"{cursor}\" is not a cursor this list returned"))
        })
    }
}

fn place(text: &str) -> Option<(SessionId, SpendingKey)> {
    let mut parts = text.splitn(4, ' ');
    let session = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    let told = match parts.next()? {
        "0" => false,
        "1" => true,
        _ => return None,
    };
    let model = parts.next()?.to_owned();
    check_text("cursor", &model, LABEL_BYTES_MAX).ok()?;
    Some((session, SpendingKey { day, told, model }))
}

/// What all sessions spent together on a model in a day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct DaySpending {
    /// The day of the events, in UTC.
    pub day: Day,
    /// The model that was paid; empty when nobody said.
    pub model: String,
    /// How many sessions these are the sums of.
    pub sessions: u64,
    /// The tokens.
    pub usage: Usage,
    /// What was told that they cost, in billionths of a US dollar; absent where nothing was told and a
    /// price list must say.
    #[serde(default, skip_serializing_if = "Option::is_none", rename = "costNanoUsd")]
    pub told: Option<Cost>,
}

impl DaySpending {
    /// What it cost: as it was told, else as the list says.
    pub fn cost(&self, prices: &Prices) -> Option<Cost> {
        self.told.or_else(|| prices.cost(&self.model, &self.day, self.usage))
    }
}

/// Which spendings of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpendingFilter {
    /// Not before this day.
    pub since: Option<Day>,
    /// Not after this day.
    pub until: Option<Day>,
    /// Of this session.
    pub session: Option<SessionId>,
    /// Of sessions of this repository.
    pub repo_id: Option<i64>,
    /// Of sessions of this kind of agent, any version.
    pub agent: Option<String>,
}

impl SpendingFilter {
    /// Whether it lets a spending pass.
    pub fn matches(&self, spending: &Spending) -> bool {
        self.since.as_ref().is_none_or(|since| spending.day >= *since)
            && self.until.as_ref().is_none_or(|until| spending.day <= *until)
            && self.session.as_ref().is_none_or(|session| spending.session_id == *session)
            && self.repo_id.is_none_or(|repo| spending.repo_id == repo)
            && self.agent.as_ref().is_none_or(|agent| spending.agent == *agent)
    }
}

/// What spendings are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendingBy {
    /// The day, in UTC.
    Day,
    /// The model.
    Model,
    /// The repository, by its number.
    Repo,
    /// The kind of agent.
    Agent,
    /// The session.
    Session,
}

impl SpendingBy {
    fn of(self, spending: &Spending) -> String {
        match self {
            Self::Day => spending.day.to_string(),
            Self::Model => spending.model.clone(),
            Self::Repo => spending.repo_id.to_string(),
            Self::Agent => spending.agent.clone(),
            Self::Session => spending.session_id.to_string(),
        }
    }
}

/// Several spendings together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// What they cost, as far as that is known.
    pub cost: Cost,
    /// The tokens whose cost is not known.
    pub unpriced: u64,
}

impl Spent {
    fn add(&mut self, spending: &Spending, prices: &Prices) {
        let usage = spending.usage;
        let listed = || prices.cost(&spending.model, &spending.day, usage);
        self.usage = self.usage.plus(usage);
        match spending.told.or_else(listed) {
            Some(cost) => self.cost = self.cost.plus(cost),
            None => self.unpriced = self.unpriced.saturating_add(usage.total()),
        }
    }
}

/// Spendings added up, one after the other.
#[derive(Debug)]
pub struct SpendingFold<'a> {
    by: SpendingBy,
    prices: &'a Prices,
    groups: BTreeMap<String, Spent>,
    total: Spent,
}

impl<'a> SpendingFold<'a> {
    /// Nothing yet.
    pub fn new(by: SpendingBy, prices: &'a Prices) -> Self {
        Self { by, prices, groups: BTreeMap::new(), total: Spent::default() }
    }

    /// One more.
    pub fn add(&mut self, spending: &Spending) {
        self.groups.entry(self.by.of(spending)).or_default().add(spending, self.prices);
        self.total.add(spending, self.prices);
    }

    /// All together.
    pub fn total(&self) -> Spent {
        self.total
    }

    /// The groups: days in their order, others the dearest first.
    pub fn groups(self) -> Vec<(String, Spent)> {
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        match self.by {
            SpendingBy::Day => {}
            SpendingBy::Model | SpendingBy::Repo | SpendingBy::Agent | SpendingBy::Session => {
                groups
                    .sort_by_key(|(_, spent)| std::cmp::Reverse((spent.cost, spent.usage.total())));
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests;
