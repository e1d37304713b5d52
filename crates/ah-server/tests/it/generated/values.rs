//! Values that a schema decides and a seed chooses.

use std::collections::BTreeMap;

use ah_conformance::Random;
use serde_json::{Map, Number, Value, json};

use super::pattern::Pattern;
use super::schema::{Named, Schemas};

/// How often a value is made again that breaks a rule between its parts.
const TRIES: usize = 30;
/// Fields that name a thing together, and are no ids.
const PAIRS: [&str; 2] = ["scope", "key"];
/// The schema of who takes part: the operator, and agents by their names.
const PARTY: &str = "Party";
/// Most values that are remembered of one name.
const KNOWN_MAX: usize = 24;

pub(super) struct Values<'a> {
    pub(super) schemas: Schemas<'a>,
    pub(super) random: Random,
    /// Ids and cursors that answers named, by the name of their schema.
    known: BTreeMap<String, Vec<Value>>,
    /// A run that somebody holds, and the epoch that proves it.
    pub(super) held: Option<(String, Value)>,
    /// What is in the one state that a request fits, by the path of the request.
    ready: BTreeMap<&'static str, Ready>,
}

/// A thing that is ready for a request.
pub(super) struct Ready {
    pub(super) id: String,
    is_fleet: bool,
    /// What the body must say.
    pub(super) fields: Map<String, Value>,
    /// How often it was tried already.
    attempts: u64,
}

impl<'a> Values<'a> {
    pub(super) fn new(document: &'a Value, seed: u64) -> Self {
        let known = BTreeMap::from([(PARTY.to_owned(), vec![json!("operator")])]);
        let (schemas, random) = (Schemas(document), Random::new(seed));
        Self { schemas, random, known, held: None, ready: BTreeMap::new() }
    }

    /// Remembers what an answer named, so that requests are about things that are there.
    pub(super) fn learn(&mut self, named: Vec<Named>) {
        for (name, value) in named {
            let telling =
                name.ends_with("Id") || name.ends_with("Cursor") || PAIRS.contains(&&*name);
            if telling && value.is_string() {
                // Two of these must meet, so there are few to choose from.
                let most = if PAIRS.contains(&&*name) { 2 } else { KNOWN_MAX };
                let known = self.known.entry(name).or_default();
                if known.len() < most {
                    known.push(value);
                } else {
                    let place = usize::try_from(self.random.below(most as u64)).unwrap();
                    known[place] = value;
                }
            }
        }
    }

    /// Remembers the run of an answer, if somebody holds it; or the newest agent, which still lives.
    pub(super) fn hold(&mut self, answer: &Value) {
        if let (Some(name), Some("active")) = (answer.get("name"), answer["lifecycle"].as_str()) {
            self.known.insert(PARTY.to_owned(), vec![json!("operator"), name.clone()]);
        }
        let run = answer.get("run").unwrap_or(answer);
        let held = ["claimed", "running"].contains(&run["status"].as_str().unwrap_or_default());
        if let (Some(id), Some(epoch), true) = (run["id"].as_str(), run.get("leaseEpoch"), held) {
            self.held = Some((id.to_owned(), epoch.clone()));
        }
        let things = ["items", "messages"].iter().find_map(|name| answer[name].as_array());
        for thing in things.map_or(std::slice::from_ref(answer), Vec::as_slice) {
            self.remember(thing);
        }
    }

    /// What is ready for a request to `path`, mostly. It may be in another state afterwards.
    pub(super) fn take_ready(&mut self, path: &str) -> Option<Ready> {
        if self.random.one_in(3) { None } else { self.ready.remove(path) }
    }

    /// Remembers what the thing is ready for. What it was ready for before, it no longer is. What was
    /// tried most is kept, so that something comes to its end.
    fn remember(&mut self, thing: &Value) {
        // A fleet goes by its session, and is another thing.
        let fleet = thing.get("ledSince").map(|_| &thing["sessionId"]);
        let Some(id) = fleet.unwrap_or(&thing["id"]).as_str() else { return };
        let is_fleet = fleet.is_some();
        self.ready.retain(|_, ready| ready.id != id || ready.is_fleet != is_fleet);
        for (path, fields) in fitting(thing) {
            let fields = fields.as_object().unwrap().clone();
            let attempts = thing["attempts"].as_u64().unwrap_or_default();
            if self.ready.get(path).is_none_or(|known| known.attempts <= attempts) {
                self.ready.insert(path, Ready { id: id.to_owned(), is_fleet, fields, attempts });
            }
        }
    }

    /// A value of a part of that name: one that is known, or what `schema` allows.
    pub(super) fn part(&mut self, name: &str, schema: &Value) -> Value {
        match self.known.get(name) {
            Some(known) if PAIRS.contains(&name) && !self.random.one_in(4) => {
                self.random.pick(known)
            }
            _ => self.valid(schema),
        }
    }

    /// A value that `schema` allows; one that does not, if none is found.
    pub(super) fn valid(&mut self, schema: &Value) -> Value {
        let mut value = self.candidate(schema, 0);
        for _ in 0..TRIES {
            if self.schemas.check(schema, &value).is_ok() {
                break;
            }
            value = self.candidate(schema, 0);
        }
        value
    }

    /// A value that has something wrong in it, mostly.
    pub(super) fn spoilt(&mut self, schema: &Value) -> Value {
        let mut value = self.valid(schema);
        self.spoil(&mut value);
        value
    }

    fn spoil(&mut self, value: &mut Value) {
        let inside = !self.random.one_in(3);
        match value {
            Value::Object(fields) if inside && !fields.is_empty() => {
                let names: Vec<String> = fields.keys().cloned().collect();
                let name = self.random.pick(&names);
                match self.random.below(4) {
                    0 => drop(fields.remove(&name)),
                    1 => drop(fields.insert("unknown".to_owned(), json!(1))),
                    _ => self.spoil(&mut fields[&name]),
                }
            }
            Value::Array(items) if inside && !items.is_empty() => {
                let place = usize::try_from(self.random.below(items.len() as u64)).unwrap();
                self.spoil(&mut items[place]);
            }
            _ => *value = self.oddity(),
        }
    }

    /// Any JSON, the unlikely kinds first.
    fn oddity(&mut self) -> Value {
        let oddities = [
            Value::Null,
            json!(true),
            json!(-1),
            json!(0),
            json!(1.5),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(""),
            json!(" "),
            json!("\u{0}"),
            json!("../.."),
            json!("x".repeat(5_000)),
            json!("☃ é"),
            json!([]),
            json!([[], {}]),
            json!({}),
            json!({ "a": { "b": [null] } }),
        ];
        self.random.pick(&oddities)
    }

    fn candidate(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(rules) = schema.as_object() else { return self.oddity() };
        if let Some(reference) = rules.get("$ref").and_then(Value::as_str) {
            return self.referred(reference, depth);
        }
        if let Some(only) = rules.get("const") {
            return only.clone();
        }
        if let Some(some) = rules.get("enum").and_then(Value::as_array) {
            return self.random.pick(some);
        }
        let branches = rules.get("anyOf").or_else(|| rules.get("oneOf")).and_then(Value::as_array);
        match branches.map(|branches| self.random.pick(branches)) {
            Some(branch) if rules.contains_key("properties") => self.object(rules, &branch, depth),
            Some(branch) => self.candidate(&branch, depth),
            None => self.typed(rules, depth),
        }
    }

    fn referred(&mut self, reference: &str, depth: usize) -> Value {
        let name = reference.rsplit('/').next().unwrap();
        if let Some(known) = self.known.get(name)
            && !self.random.one_in(3)
        {
            return self.random.pick(known);
        }
        let schema = self.schemas.resolve(reference).clone();
        self.candidate(&schema, depth)
    }

    fn typed(&mut self, rules: &Map<String, Value>, depth: usize) -> Value {
        let name = match rules.get("type") {
            Some(Value::String(name)) => name.clone(),
            Some(Value::Array(names)) => {
                let name = self.random.pick(names);
                // `null` says little, so the other one is chosen more often.
                let name = if self.random.one_in(2) { names[0].clone() } else { name };
                name.as_str().unwrap().to_owned()
            }
            _ => return self.oddity(),
        };
        match name.as_str() {
            "null" => Value::Null,
            "boolean" => Value::Bool(self.random.one_in(2)),
            "integer" => Value::Number(self.integer(rules)),
            "string" => Value::String(self.text(rules)),
            "array" => self.array(rules, depth),
            "object" => self.object(rules, &json!({}), depth),
            other => panic!("the type {other} is not known"),
        }
    }

    fn integer(&mut self, rules: &Map<String, Value>) -> Number {
        let signed = rules.get("format").and_then(Value::as_str) == Some("int64");
        let least = rules.get("minimum").and_then(Value::as_i64);
        let least = least.unwrap_or(if signed { i64::MIN } else { 0 });
        let most = rules.get("maximum").and_then(Value::as_u64);
        let most = most.unwrap_or(if signed { i64::MAX as u64 } else { u64::MAX });
        match self.random.below(6) {
            0 if least < 0 || self.random.one_in(2) => Number::from(least),
            1 => Number::from(most),
            // Most numbers count something small.
            _ => {
                let from = u64::try_from(least.max(0)).unwrap();
                let span = most.saturating_sub(from).min(4);
                Number::from(from + self.random.below(span + 1))
            }
        }
    }

    fn text(&mut self, rules: &Map<String, Value>) -> String {
        if let Some(format @ ("date" | "date-time")) = rules.get("format").and_then(Value::as_str) {
            let ms = i64::try_from(self.random.below(4_102_444_800_000)).unwrap();
            let time = ah_model::Timestamp::from_unix_ms(ms);
            return match format {
                "date" => ah_model::Day::of(time).to_string(),
                _ => time.to_string(),
            };
        }
        let pattern = rules.get("pattern").and_then(Value::as_str).filter(|text| *text != r"\S");
        if let Some(pattern) = pattern {
            return Pattern::parse(pattern).text(&mut self.random);
        }
        let letters: Vec<char> = "abcXYZ019 _-/\\\"'%&=?\n☃é".chars().collect();
        let most = rules.get("maxLength").and_then(Value::as_u64).unwrap_or(24).min(24);
        let count = self.random.below(most + 1);
        (0..count).map(|_| self.random.pick(&letters)).collect()
    }

    fn array(&mut self, rules: &Map<String, Value>, depth: usize) -> Value {
        let least = rules.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let count = least + self.random.below(3);
        let items = rules.get("items").cloned().unwrap_or(Value::Bool(true));
        (0..count).map(|_| self.candidate(&items, depth + 1)).collect()
    }

    /// An object of `rules`, with what `branch` asks for as well.
    fn object(&mut self, rules: &Map<String, Value>, branch: &Value, depth: usize) -> Value {
        let required = |rules: &Value, name: &str| {
            rules["required"].as_array().is_some_and(|names| names.contains(&json!(name)))
        };
        let own = Value::Object(rules.clone());
        let mut fields = Map::new();
        for (name, schema) in
            rules.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            let needed = required(&own, name) || required(branch, name);
            if needed || self.random.one_in(2 + depth as u64) {
                let schema = branch["properties"].get(name).unwrap_or(schema);
                fields.insert(name.clone(), self.candidate(schema, depth + 1));
            }
        }
        if let Some(others @ Value::Object(_)) = rules.get("additionalProperties") {
            for number in 0..self.random.below(3) {
                fields.insert(format!("key{number}"), self.candidate(others, depth + 1));
            }
        }
        Value::Object(fields)
    }
}

/// The requests that fit the state of `thing`, by their paths, with what they must say. A message is
/// received and released until it is given up, so that there is one to queue again.
fn fitting(thing: &Value) -> Vec<(&'static str, Value)> {
    let has = |name: &str| thing.get(name).is_some();
    let (is_message, is_question) = (has("deliveries"), has("options"));
    let is_approval = has("carriedOutAt");
    match thing["status"].as_str().unwrap_or_default() {
        "queued" if is_message => {
            let fields = json!({ "id": thing["id"], "to": thing["to"], "ack": [] });
            vec![("/api/v1/mail/receive", fields)]
        }
        "leased" if is_message => {
            let delivery = &thing["deliveries"];
            let release = json!({ "delivery": delivery, "delayMs": 0, "counts": true });
            vec![
                ("/api/v1/messages/{id}/release", release),
                ("/api/v1/messages/{id}/renew", json!({ "delivery": delivery })),
            ]
        }
        "dead" if is_message => vec![("/api/v1/messages/{id}/requeue", json!({}))],
        "open" if is_question => {
            let first = thing["options"].get(0).cloned().unwrap_or(json!("any"));
            let answer = json!({ "by": "operator", "values": [first] });
            let withdrawal = json!({ "by": thing["from"] });
            vec![
                ("/api/v1/questions/{id}/answer", answer),
                ("/api/v1/questions/{id}/withdrawal", withdrawal),
            ]
        }
        "answered" if is_question => {
            let same = json!({ "by": "operator", "values": thing["answer"]["values"] });
            vec![("/api/v1/questions/{id}/answer", same)]
        }
        "pending" if is_approval => {
            let decision = json!({ "by": "operator", "verdict": "approved" });
            vec![("/api/v1/approvals/{id}/decision", decision)]
        }
        "live" if has("ledSince") => {
            // Whoever leads already may lead.
            let change = json!({ "epoch": null, "what": { "lead": thing["leader"] } });
            let fence = json!({ "sessionId": thing["sessionId"], "step": null });
            let mut fitting = vec![
                ("/api/v1/sessions/{id}/fleet/changes", change),
                ("/api/v1/sessions/{id}/fences", fence),
            ];
            // Not all at once: it is asked to end before it is asked for a fence.
            let id = thing["sessionId"].as_str().unwrap_or_default();
            if id.ends_with(|last: char| last.is_ascii_digit()) {
                fitting.push(("/api/v1/sessions/{id}/fleet/end", json!({})));
            }
            fitting
        }
        "created" if has("lastSeq") => {
            let fleet = json!({ "sessionId": thing["id"], "leader": null });
            vec![("/api/v1/sessions/{id}/fleet", fleet)]
        }
        "snapshot" if has("deadlineAt") => vec![("/api/v1/fences/{id}", json!({}))],
        "approved" if is_approval => vec![("/api/v1/approvals/{id}/carried-out", json!({}))],
        _ => Vec::new(),
    }
}
