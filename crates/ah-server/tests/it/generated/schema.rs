//! Whether a value is what the description says. A rule that is not known here fails the test that
//! meets it, so that nothing passes because it was not looked at.

use serde_json::{Map, Value};

use super::pattern::Pattern;

/// What a value was found to be: the name of its schema or of its field, and the value.
pub(super) type Named = (String, Value);

/// Words that say nothing about a value.
const SILENT: [&str; 3] = ["description", "default", "title"];

pub(super) struct Schemas<'a>(pub(super) &'a Value);

impl Schemas<'_> {
    /// What `reference` leads to.
    pub(super) fn resolve(&self, reference: &str) -> &Value {
        let target = self.0.pointer(reference.strip_prefix('#').unwrap());
        target.unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    /// Why `value` is not what `schema` says; else what in it has a name.
    pub(super) fn check(&self, schema: &Value, value: &Value) -> Result<Vec<Named>, String> {
        let mut named = Vec::new();
        self.check_at("", schema, value, &mut named)?;
        Ok(named)
    }

    fn check_at(
        &self,
        place: &str,
        schema: &Value,
        value: &Value,
        named: &mut Vec<Named>,
    ) -> Result<(), String> {
        let rules = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(rules) => rules,
            _ => return Err(format!("{place}: nothing is allowed here")),
        };
        for (rule, said) in rules {
            let kept = match rule.as_str() {
                "$ref" => {
                    let name = said.as_str().unwrap();
                    named.push((name.rsplit('/').next().unwrap().to_owned(), value.clone()));
                    self.check_at(place, self.resolve(name), value, named)?;
                    true
                }
                "anyOf" | "oneOf" => {
                    self.check_some(place, rule, said, value, named)?;
                    true
                }
                "not" => self.check(said, value).is_err(),
                "properties" | "additionalProperties" | "items" => {
                    self.check_inside(place, rule, rules, value, named)?;
                    true
                }
                word if SILENT.contains(&word) => true,
                _ => keeps(rule, said, value),
            };
            if !kept {
                return Err(format!("{place}: {value} breaks {rule} {said}"));
            }
        }
        Ok(())
    }

    fn check_some(
        &self,
        place: &str,
        rule: &str,
        said: &Value,
        value: &Value,
        named: &mut Vec<Named>,
    ) -> Result<(), String> {
        let results: Vec<_> =
            said.as_array().unwrap().iter().map(|one| self.check(one, value)).collect();
        let fits = results.iter().filter(|result| result.is_ok()).count();
        if fits == 0 || (rule == "oneOf" && fits > 1) {
            let reasons: Vec<_> = results.into_iter().filter_map(Result::err).collect();
            return Err(format!("{place}: {fits} of {rule} fit {value}: {reasons:?}"));
        }
        named.extend(results.into_iter().flatten().flatten());
        Ok(())
    }

    fn check_inside(
        &self,
        place: &str,
        rule: &str,
        rules: &Map<String, Value>,
        value: &Value,
        named: &mut Vec<Named>,
    ) -> Result<(), String> {
        let said = &rules[rule];
        let check = |name: &str, schema: &Value, value: &Value, named: &mut Vec<Named>| {
            self.check_at(&format!("{place}/{name}"), schema, value, named)
        };
        match (rule, value) {
            ("items", Value::Array(items)) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| check(&index.to_string(), said, item, named)),
            ("properties", Value::Object(fields)) => fields.iter().try_for_each(|(name, field)| {
                said.get(name).map_or(Ok(()), |schema| check(name, schema, field, named))?;
                named.push((name.clone(), field.clone()));
                Ok(())
            }),
            ("additionalProperties", Value::Object(fields)) => {
                let known = |name: &&String| {
                    rules.get("properties").is_some_and(|known| known.get(name.as_str()).is_some())
                };
                let others = fields.iter().filter(|(name, _)| !known(name));
                others.into_iter().try_for_each(|(name, field)| check(name, said, field, named))
            }
            // These rules say nothing about other kinds of values.
            _ => Ok(()),
        }
    }
}

/// Whether a value keeps a rule about itself alone.
fn keeps(rule: &str, said: &Value, value: &Value) -> bool {
    let size = |count: usize| count as u64;
    let bound = || said.as_u64().unwrap();
    match (rule, value) {
        ("type", _) => match said {
            Value::String(one) => is_type(one, value),
            Value::Array(some) => some.iter().any(|one| is_type(one.as_str().unwrap(), value)),
            _ => panic!("type {said}"),
        },
        ("enum", _) => said.as_array().unwrap().contains(value),
        ("const", _) => said == value,
        ("minimum", Value::Number(number)) => number.as_f64() >= said.as_f64(),
        ("maximum", Value::Number(number)) => number.as_f64() <= said.as_f64(),
        ("minLength", Value::String(text)) => size(text.chars().count()) >= bound(),
        ("maxLength", Value::String(text)) => size(text.chars().count()) <= bound(),
        ("pattern", Value::String(text)) => Pattern::parse(said.as_str().unwrap()).matches(text),
        ("minItems", Value::Array(items)) => size(items.len()) >= bound(),
        ("maxItems", Value::Array(items)) => size(items.len()) <= bound(),
        ("maxProperties", Value::Object(fields)) => size(fields.len()) <= bound(),
        ("required", Value::Object(fields)) => {
            let names = said.as_array().unwrap().iter();
            names.into_iter().all(|name| fields.contains_key(name.as_str().unwrap()))
        }
        ("format", value) => has_format(said.as_str().unwrap(), value),
        (
            "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" | "minItems" | "maxItems"
            | "maxProperties" | "required",
            _,
        ) => true,
        _ => panic!("the rule {rule} is not known"),
    }
}

fn is_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("the type {name} is not known"),
    }
}

fn has_format(format: &str, value: &Value) -> bool {
    match (format, value) {
        ("date", Value::String(text)) => text.parse::<ah_model::Day>().is_ok(),
        ("date-time", Value::String(text)) => text.parse::<ah_model::Timestamp>().is_ok(),
        ("int64", Value::Number(number)) => number.is_i64(),
        ("uint64" | "uint", Value::Number(number)) => number.is_u64(),
        ("uint32", Value::Number(number)) => {
            number.as_u64().is_some_and(|number| u32::try_from(number).is_ok())
        }
        ("date" | "date-time" | "int64" | "uint64" | "uint" | "uint32", _) => true,
        _ => panic!("the format {format} is not known"),
    }
}
