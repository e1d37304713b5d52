//! Schemas of both directions under one roof.
//!
//! What may be left out of a request is always in an answer, so one type can have two schemas. Where
//! they are the same there is one of that name; else the one for requests has `Given` behind it.

use std::collections::BTreeSet;

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};

use crate::routing::SchemaOf;

const OURS: &str = "#/components/schemas/";
const GIVEN: &str = "#/components/given/";

/// What requests and answers are made of.
pub(super) struct Schemas {
    given: SchemaGenerator,
    answered: SchemaGenerator,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let settings = |path: &'static str| {
            SchemaSettings::draft2020_12().with(|settings| {
                settings.definitions_path = path.into();
                settings.meta_schema = None;
            })
        };
        Self {
            given: settings("/components/given").for_deserialize().into_generator(),
            answered: settings("/components/schemas").for_serialize().into_generator(),
        }
    }

    /// The schema of what a request carries.
    pub(super) fn given(&mut self, schema: SchemaOf) -> Value {
        Schema::to_value(schema(&mut self.given))
    }

    /// The schema of what an answer carries.
    pub(super) fn answered(&mut self, schema: SchemaOf) -> Value {
        Schema::to_value(schema(&mut self.answered))
    }

    /// The document with the schemas it refers to.
    pub(super) fn settle(mut self, mut document: Value) -> Value {
        let given = self.given.take_definitions(true);
        let mut schemas = self.answered.take_definitions(true);
        let different = different(&given, &schemas);
        for (name, mut schema) in given {
            refer(&mut schema, &different);
            schemas.insert(name_of(&name, &different), schema);
        }
        schemas.insert("Problem".to_owned(), super::problems::schema());
        refer(&mut document, &different);
        if let Some(components) = document.get_mut("components").and_then(Value::as_object_mut) {
            components.insert("schemas".to_owned(), Value::Object(schemas));
        }
        document
    }
}

/// The names whose schemas differ, or refer to one that does.
fn different(given: &Map<String, Value>, answered: &Map<String, Value>) -> BTreeSet<String> {
    let mut different = BTreeSet::new();
    loop {
        let more = given.iter().find(|(name, schema)| {
            let mut settled = (*schema).clone();
            refer(&mut settled, &different);
            let same = answered.get(*name).is_none_or(|other| *other == settled);
            !same && !different.contains(*name)
        });
        match more {
            Some((name, _)) => different.insert(name.clone()),
            None => return different,
        };
    }
}

/// Points references to what is given at where it will stand.
fn refer(value: &mut Value, different: &BTreeSet<String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix(GIVEN) {
                *text = format!("{OURS}{}", name_of(name, different));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| refer(item, different)),
        Value::Object(fields) => fields.values_mut().for_each(|field| refer(field, different)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn name_of(name: &str, different: &BTreeSet<String>) -> String {
    let suffix = if different.contains(name) { "Given" } else { "" };
    format!("{name}{suffix}")
}
