//! Parameters against a JSON Schema of draft 7.
//!
//! Checked are `type`, `enum`, `const`, `properties`, `required`, `additionalProperties`, `items`,
//! every `min…` and `max…`, `allOf`, `anyOf`, `oneOf`, `not` and references within the schema.
//! Other keywords are passed over, as draft 7 has it for those that are not known.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Map, Value};

use super::limits::{MISTAKES_MAX, SCHEMA_DEPTH_MAX};

/// Something that the schema does not allow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Mistake {
    /// Where in the parameters, from `$`.
    path: String,
    message: String,
    /// Where in the schema.
    schema_path: String,
}

/// What `schema` does not allow in `value`.
pub(super) fn mistakes(schema: &Value, value: &Value) -> Vec<Mistake> {
    let mut check = Check { root: schema, found: Vec::new() };
    check.value(schema, value, &Place { path: "$".to_owned(), ..Place::default() });
    check.found
}

#[derive(Debug, Clone, Default)]
struct Place {
    path: String,
    schema: Vec<String>,
    depth: usize,
}

impl Place {
    fn below(&self, keyword: &str) -> Self {
        let mut place = self.clone();
        place.schema.push(keyword.to_owned());
        place.depth += 1;
        place
    }

    fn property(&self, keyword: &str, name: &str) -> Self {
        let mut place = self.below(keyword);
        if keyword == "properties" {
            place.schema.push(name.to_owned());
        }
        // Writing to a text does not fail.
        let _ = write!(place.path, ".{name}");
        place
    }

    fn item(&self, index: usize) -> Self {
        let mut place = self.below("items");
        let _ = write!(place.path, "[{index}]");
        place
    }
}

struct Check<'a> {
    root: &'a Value,
    found: Vec<Mistake>,
}

impl Check<'_> {
    fn mistake(&mut self, place: &Place, keyword: &str, message: String) {
        if self.found.len() < MISTAKES_MAX {
            let schema_path = place.below(keyword).schema.join("/");
            self.found.push(Mistake { path: place.path.clone(), message, schema_path });
        }
    }

    fn value(&mut self, schema: &Value, value: &Value, place: &Place) {
        if place.depth > SCHEMA_DEPTH_MAX {
            return self.mistake(place, "", "the schema is nested too deep".to_owned());
        }
        match schema {
            Value::Bool(false) => {
                let message = format!("False schema does not allow {}", shown(value));
                self.mistake(place, "", message);
            }
            Value::Object(schema) => self.keywords(schema, value, place),
            _ => {}
        }
    }

    fn keywords(&mut self, schema: &Map<String, Value>, value: &Value, place: &Place) {
        if let Some(reference) = schema.get("$ref") {
            return self.reference(reference, value, place);
        }
        self.alone(schema, value, place);
        self.bounds(schema, value, place);
        match value {
            Value::Object(object) => self.object(schema, object, place),
            Value::Array(items) => self.items(schema, items, place),
            _ => {}
        }
        self.combined(schema, value, place);
    }

    /// A reference to another part of the schema; draft 7 passes over what stands beside it.
    fn reference(&mut self, reference: &Value, value: &Value, place: &Place) {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        match pointer.and_then(|pointer| self.root.pointer(pointer)).cloned() {
            Some(schema) => self.value(&schema, value, &place.below("$ref")),
            None => self.mistake(place, "$ref", format!("{reference} is not in the schema")),
        }
    }

    /// What the value alone decides.
    fn alone(&mut self, schema: &Map<String, Value>, value: &Value, place: &Place) {
        if let Some(types) = schema.get("type") {
            let names: Vec<&str> = match types {
                Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
                name => name.as_str().into_iter().collect(),
            };
            if !names.iter().any(|name| is_type(value, name)) {
                let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
                let message = format!("{} is not of type {}", shown(value), names.join(", "));
                self.mistake(place, "type", message);
            }
        }
        if let Some(Value::Array(allowed)) = schema.get("enum")
            && !allowed.iter().any(|one| same(one, value))
        {
            let allowed: Vec<String> = allowed.iter().map(shown).collect();
            let message = format!("{} is not one of [{}]", shown(value), allowed.join(", "));
            self.mistake(place, "enum", message);
        }
        if let Some(wanted) = schema.get("const").filter(|wanted| !same(wanted, value)) {
            self.mistake(place, "const", format!("{} was expected", shown(wanted)));
        }
    }

    /// Least and most.
    fn bounds(&mut self, schema: &Map<String, Value>, value: &Value, place: &Place) {
        for (keyword, message) in BOUNDS {
            let bound = schema.get(*keyword).and_then(Value::as_f64);
            let measured = measured(keyword, value);
            let (Some(bound), Some(measured)) = (bound, measured) else { continue };
            let fits = match *keyword {
                "exclusiveMinimum" => measured > bound,
                "exclusiveMaximum" => measured < bound,
                keyword if keyword.starts_with("min") => measured >= bound,
                _ => measured <= bound,
            };
            if fits {
                continue;
            }
            let message = match message.ends_with(" of") {
                true => format!("{} {message} {bound}", shown(value)),
                false => format!("{} {message}", shown(value)),
            };
            self.mistake(place, keyword, message);
        }
    }

    fn object(&mut self, schema: &Map<String, Value>, object: &Map<String, Value>, place: &Place) {
        let empty = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
        for (name, schema) in properties {
            if let Some(value) = object.get(name) {
                self.value(schema, value, &place.property("properties", name));
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                self.mistake(place, "required", format!("'{name}' is a required property"));
            }
        }
        let keyword = "additionalProperties";
        let Some(additional) = schema.get(keyword) else { return };
        let others = object.iter().filter(|(name, _)| !properties.contains_key(*name));
        for (name, value) in others {
            if *additional == Value::Bool(false) {
                let message =
                    format!("Additional properties are not allowed ('{name}' was unexpected)");
                self.mistake(place, keyword, message);
            } else {
                self.value(additional, value, &place.property(keyword, name));
            }
        }
    }

    fn items(&mut self, schema: &Map<String, Value>, items: &[Value], place: &Place) {
        for (index, item) in items.iter().enumerate() {
            let schema = match schema.get("items") {
                Some(Value::Array(each)) => each.get(index),
                one => one,
            };
            if let Some(schema) = schema {
                self.value(schema, item, &place.item(index));
            }
        }
    }

    /// Schemas that are made of others.
    fn combined(&mut self, schema: &Map<String, Value>, value: &Value, place: &Place) {
        let list = |name: &str| schema.get(name).and_then(Value::as_array);
        for one in list("allOf").into_iter().flatten() {
            self.value(one, value, &place.below("allOf"));
        }
        for (keyword, wanted) in [("anyOf", 1..=usize::MAX), ("oneOf", 1..=1)] {
            let Some(schemas) = list(keyword) else { continue };
            let fitting = schemas.iter().filter(|one| self.fits(one, value, place)).count();
            if !wanted.contains(&fitting) {
                let how = if fitting == 0 { "not valid under any" } else { "valid under several" };
                let message = format!("{} is {how} of the given schemas", shown(value));
                self.mistake(place, keyword, message);
            }
        }
        if let Some(unwanted) = schema.get("not")
            && self.fits(unwanted, value, place)
        {
            let message = format!("{} should not be valid under {unwanted}", shown(value));
            self.mistake(place, "not", message);
        }
    }

    fn fits(&self, schema: &Value, value: &Value, place: &Place) -> bool {
        let mut check = Check { root: self.root, found: Vec::new() };
        check.value(schema, value, &place.below(""));
        check.found.is_empty()
    }
}

/// Keywords that bound something, with what is said of a value that is out of them.
const BOUNDS: &[(&str, &str)] = &[
    ("minimum", "is less than the minimum of"),
    ("maximum", "is greater than the maximum of"),
    ("exclusiveMinimum", "is less than or equal to the minimum of"),
    ("exclusiveMaximum", "is greater than or equal to the maximum of"),
    ("minLength", "is too short"),
    ("maxLength", "is too long"),
    ("minItems", "is too short"),
    ("maxItems", "is too long"),
    ("minProperties", "does not have enough properties"),
    ("maxProperties", "has too many properties"),
];

/// What `keyword` bounds of `value`, if it is of the type that it is about.
fn measured(keyword: &str, value: &Value) -> Option<f64> {
    // Counts of parts of a body are far below what a float holds exactly.
    let count = match value {
        Value::Number(number) if keyword.ends_with("imum") => return number.as_f64(),
        Value::String(text) if keyword.ends_with("Length") => text.chars().count(),
        Value::Array(items) if keyword.ends_with("Items") => items.len(),
        Value::Object(object) if keyword.ends_with("Properties") => object.len(),
        _ => return None,
    };
    Some(count as f64)
}

fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => match value.as_f64() {
            Some(number) => number.fract() == 0.0,
            None => false,
        },
        _ => false,
    }
}

/// Whether two values are equal: `1` and `1.0` are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// A value as the original prints it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => format!("'{text}'"),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(schema: Value, value: Value) -> Vec<String> {
        let found = mistakes(&schema, &value).into_iter();
        found
            .map(|Mistake { path, message, schema_path }| {
                format!("{path}: {message} ({schema_path})")
            })
            .collect()
    }

    #[test]
    fn what_fits_has_no_mistakes() {
        for (schema, value) in [
            (json!(true), json!({})),
            (json!({ "type": ["string", "null"] }), json!(null)),
            (json!({ "type": "integer" }), json!(3.0)),
            (json!({ "enum": [1, "a", {}] }), json!(1.0)),
            (json!({ "minimum": 1, "exclusiveMaximum": 2.5 }), json!(2)),
            (json!({ "minLength": 1, "maxItems": 0 }), json!("é")),
            (json!({ "pattern": "^b$" }), json!("a")),
            (json!({ "items": [{ "type": "string" }, false] }), json!(["a"])),
            (json!({ "oneOf": [{ "type": "string" }, { "const": 1 }] }), json!(1)),
            (json!({ "additionalProperties": { "type": "number" } }), json!({ "a": 1 })),
        ] {
            assert_eq!(said(schema.clone(), value), Vec::<String>::new(), "{schema}");
        }
    }

    #[test]
    fn every_mistake_says_where_and_what() {
        let schema = json!({
            "type": "object",
            "required": ["prompt", "n"],
            "properties": {
                "prompt": { "type": "string", "minLength": 1 },
                "n": { "type": "integer", "maximum": 3 },
                "mode": { "enum": ["a", "b"] },
                "list": { "items": { "$ref": "#/definitions/short" }, "minItems": 3 },
            },
            "additionalProperties": false,
            "definitions": { "short": { "maxLength": 1 } },
        });
        let value = json!({ "prompt": "", "mode": "c", "list": ["x", "yy"], "other": 1 });
        assert_eq!(
            said(schema, value),
            [
                "$.list: [\"x\",\"yy\"] is too short (properties/list/minItems)",
                "$.list[1]: 'yy' is too long (properties/list/items/$ref/maxLength)",
                "$.mode: 'c' is not one of ['a', 'b'] (properties/mode/enum)",
                "$.prompt: '' is too short (properties/prompt/minLength)",
                "$: 'n' is a required property (required)",
                "$: Additional properties are not allowed ('other' was unexpected) \
                 (additionalProperties)",
            ]
        );
    }

    #[test]
    fn schemas_of_schemas_are_followed() {
        let schema = json!({
            "allOf": [{ "type": "string" }],
            "anyOf": [{ "minLength": 3 }, { "const": "x" }],
            "oneOf": [{ "type": "string" }, { "maxLength": 9 }],
            "not": { "const": "no" },
        });
        assert_eq!(
            said(schema, json!("no")),
            [
                "$: 'no' is not valid under any of the given schemas (anyOf)",
                "$: 'no' is valid under several of the given schemas (oneOf)",
                "$: 'no' should not be valid under {\"const\":\"no\"} (not)",
            ]
        );
        let wrong = said(json!({ "allOf": [{ "type": "number" }] }), json!([]));
        assert_eq!(wrong, ["$: [] is not of type 'number' (allOf/type)"]);
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "$ref": "#" });
        assert_eq!(mistakes(&schema, &json!({})).len(), 1);
        let missing = said(json!({ "$ref": "#/definitions/a" }), json!({}));
        assert_eq!(missing, ["$: \"#/definitions/a\" is not in the schema ($ref)"]);
    }
}
