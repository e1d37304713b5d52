//! A tool: its description, and what it does. Schemas come from the types of its input and output.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{CallToolResponse, CallToolResult, Tool as Spec, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::Powers;
use super::act::Act;
use super::refusal::Refusal;
use super::round::Round;
use crate::problem::Failure;

type Arguments = Map<String, Value>;
type Running = Pin<Box<dyn Future<Output = Result<Round<Value>, Failure>> + Send>>;
type Run = Box<dyn Fn(Act, Arguments) -> Running + Send + Sync>;

/// What calling a tool does to things, which clients show to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// It adds something each time.
    Adds,
    /// It brings something into a state; again is no change.
    Settles,
    /// It ends something, perhaps for good.
    Ends,
}

/// What is said of a tool.
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// For a model: what it does, and when to use it.
    pub(super) text: &'static str,
    pub(super) needs: Powers,
    pub(super) effect: Effect,
}

/// A tool.
pub(super) struct Tool {
    pub(super) spec: Spec,
    pub(super) needs: Powers,
    run: Run,
}

impl Tool {
    pub(super) fn new<I, O, F>(about: About, run: fn(Act, I) -> F) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        Self::in_rounds(about, move |act, input| {
            let running = run(act, input);
            async { running.await.map(Round::Done) }
        })
    }

    /// One that may take several rounds.
    pub(super) fn in_rounds<I, O, F>(
        about: About,
        run: impl Fn(Act, I) -> F + Copy + Send + Sync + 'static,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Future<Output = Result<Round<O>, Failure>> + Send + 'static,
    {
        let spec = Spec::new(about.name, about.text, Arc::new(input_schema::<I>()))
            .with_title(about.title)
            .with_raw_output_schema(Arc::new(output_schema::<O>()))
            .with_annotations(annotations(about.effect));
        let run: Run = Box::new(move |act, arguments| {
            Box::pin(async move {
                let input = serde_json::from_value(Value::Object(arguments))
                    .map_err(|error| Failure::invalid("arguments", error.to_string()))?;
                let output = match run(act, input).await? {
                    Round::Done(output) => output,
                    Round::More(asked) => return Ok(Round::More(asked)),
                };
                let output = serde_json::to_value(output);
                output.map(Round::Done).map_err(|error| Failure::internal(error.to_string()))
            })
        });
        Self { spec, needs: about.needs, run }
    }

    /// Does it. A refusal is a result that says so, for the model to read.
    pub(super) async fn run(&self, act: Act, arguments: Arguments) -> CallToolResponse {
        match (self.run)(act, arguments).await {
            Ok(Round::Done(output)) => CallToolResult::structured(output).into(),
            Ok(Round::More(asked)) => (*asked).into(),
            Err(failure) => refused(&failure).into(),
        }
    }
}

/// The result of a call that was refused.
pub(super) fn refused(failure: &Failure) -> CallToolResult {
    // A refusal is texts and numbers: it serialises.
    CallToolResult::structured_error(
        serde_json::to_value(Refusal::from(failure)).unwrap_or_default(),
    )
}

fn annotations(effect: Effect) -> ToolAnnotations {
    ToolAnnotations::new()
        .read_only(effect == Effect::Reads)
        .destructive(effect == Effect::Ends)
        .idempotent(matches!(effect, Effect::Reads | Effect::Settles))
        .open_world(false)
}

/// Written out whole: some clients do not follow references.
fn input_schema<T: JsonSchema>() -> Map<String, Value> {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    object(settings.into_generator().into_root_schema_for::<T>().to_value())
}

/// What a call answers: a `T`, or why not. Clients check both against it.
fn output_schema<T: JsonSchema>() -> Map<String, Value> {
    let schema = |settings: SchemaSettings| {
        let settings = settings.with(|settings| settings.inline_subschemas = true);
        settings.for_serialize().into_generator()
    };
    let done = schema(SchemaSettings::draft2020_12()).into_root_schema_for::<T>().to_value();
    let not = schema(SchemaSettings::draft2020_12()).into_root_schema_for::<Refusal>().to_value();
    object(json!({ "type": "object", "anyOf": [done, not] }))
}

/// The schemas of tools are all of objects; one that is none takes anything.
fn object(schema: Value) -> Map<String, Value> {
    match schema {
        Value::Object(mut map) => {
            map.values_mut().for_each(without_number_formats);
            map.entry("type").or_insert_with(|| json!("object"));
            map
        }
        _ => Map::from_iter([("type".to_owned(), json!("object"))]),
    }
}

/// The widths of numbers are no formats of JSON Schema: checkers complain of each.
fn without_number_formats(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let is_width = |format: &str| format.trim_start_matches('u').starts_with("int");
            if map.get("format").and_then(Value::as_str).is_some_and(is_width) {
                map.remove("format");
            }
            map.values_mut().for_each(without_number_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_number_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
