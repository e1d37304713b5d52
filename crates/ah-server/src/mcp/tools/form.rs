//! A question as a form, for the person who sits at the client.

use ah_model::Question;
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema, InputRequest, PrimitiveSchemaDefinition, StringSchema,
};
use serde_json::Value;

use crate::problem::Failure;

/// The field with the answer, and the key of the whole form.
pub(super) const FIELD: &str = "answer";
/// The field for what is not among the options.
const OTHER: &str = "other";

/// The form of `question`; `complaint` is what was wrong with the answer before.
pub(super) fn form(question: &Question, complaint: Option<&str>) -> InputRequest {
    let text = PrimitiveSchemaDefinition::String;
    let free = question.options.is_empty() || question.free_text;
    let mut fields = Vec::new();
    if question.options.is_empty() {
        fields.push((FIELD, text(StringSchema::new().title("Answer").min_length(1))));
    } else {
        let choice = EnumSchema::builder(question.options.clone()).title("Answer");
        let choice = if question.multi { choice.multiselect().build() } else { choice.build() };
        fields.push((FIELD, PrimitiveSchemaDefinition::Enum(choice)));
        if free {
            fields.push((OTHER, text(StringSchema::new().title("Something else"))));
        }
    }
    // Where there are two fields, either will do.
    let required = if fields.len() == 1 { vec![FIELD.to_owned()] } else { Vec::new() };
    let fields = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema));
    let complaint = complaint.map(|complaint| format!("{complaint}\n")).unwrap_or_default();
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("{complaint}{} asks: {}", question.from, question.text),
        requested_schema: ElicitationSchema::new(fields.collect()).with_required(required),
    }))
}

/// What was filled in; nothing if it was declined, cancelled or left empty.
pub(super) fn filled_in(question: &Question, response: &Value) -> Result<Vec<String>, Failure> {
    let response: ElicitResult = serde_json::from_value(response.clone())
        .map_err(|error| Failure::invalid("inputResponses", format!("{FIELD}: {error}")))?;
    let content = match response.action {
        ElicitationAction::Accept => response.content.unwrap_or_default(),
        _ => return Ok(Vec::new()),
    };
    let text = |value: &Value| value.as_str().filter(|it| !it.trim().is_empty()).map(str::to_owned);
    let mut chosen: Vec<String> = match &content[FIELD] {
        Value::Array(values) => values.iter().filter_map(text).collect(),
        value => text(value).into_iter().collect(),
    };
    if let Some(other) = text(&content[OTHER]) {
        // Who wrote something meant it, whatever the form had chosen before.
        if !question.multi {
            chosen.clear();
        }
        chosen.push(other);
    }
    Ok(chosen)
}
