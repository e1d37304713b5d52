//! The parts that a message is made of.

use super::ContextPart;
use crate::{JsonObject, JsonSlice, JsonText, RawJson, ToolCall};

/// An element of a content: a text, a call, a picture by reference, or what it is. What a model
/// thought is not shown.
pub(crate) fn part_of(json: JsonSlice<'_>) -> Option<ContextPart> {
    let text = |json: JsonSlice<'_>| JsonText::of_json(json.to_raw());
    if let Some(words) = text(json) {
        return (!words.is_blank()).then_some(ContextPart::Text(words));
    }
    let object = json.object();
    let is = |name: &str| object.get(&[name]).is_some_and(|value| value.as_str() == "true");
    let words = || match object.get(&["text"]).and_then(text) {
        Some(words) => (!words.is_blank()).then_some(ContextPart::Text(words)),
        None => Some(ContextPart::Other(json.to_raw())),
    };
    let file = || within(&object).map(ContextPart::File);
    let other = || ContextPart::Other(json.to_raw());
    match object.get(&["type"]).map(JsonSlice::as_str) {
        Some("\"text\"" | "\"input_text\"" | "\"output_text\"" | "\"Text\"") => words(),
        Some(
            "\"toolCall\"" | "\"tool_use\"" | "\"tool_call\"" | "\"tool\"" | "\"toolRequest\"",
        ) => Some(call_or_other(json)),
        Some(
            "\"thinking\"" | "\"redacted_thinking\"" | "\"redactedThinking\"" | "\"reasoning\"",
        ) => None,
        Some("\"image\"" | "\"document\"" | "\"input_image\"") => {
            Some(file().unwrap_or_else(other))
        }
        // One that has no bytes says where they are.
        Some("\"file\"") if object.get(&["url"]).is_some() => {
            Some(file().unwrap_or_else(|| ContextPart::File(json.to_raw())))
        }
        // The parts of Gemini have no type.
        None if is("thought") => None,
        None if object.get(&["inlineData"]).is_some() => Some(file().unwrap_or_else(other)),
        None if object.get(&["text"]).is_some() => words(),
        _ => Some(other()),
    }
}

pub(crate) fn call_or_other(json: JsonSlice<'_>) -> ContextPart {
    ToolCall::read(json).map_or_else(|| ContextPart::Other(json.to_raw()), ContextPart::ToolCall)
}

/// A reference to the file whose bytes stand in a part: its type and its size. The event that the
/// message names holds them.
fn within(part: &JsonObject<'_>) -> Option<RawJson> {
    let plain = |json: JsonSlice<'_>| json.as_str().trim_matches('"').to_owned();
    let inner = part.get(&["source", "inlineData"]).map(JsonSlice::object);
    let holder = inner.as_ref().unwrap_or(part);
    let (media_type, data) = match holder.get(&["data"]) {
        Some(data) => (holder.get(&["media_type", "mimeType"]).map(plain)?, plain(data)),
        None => {
            let url = plain(part.get(&["image_url", "url"])?);
            let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
            (media_type.to_owned(), data.to_owned())
        }
    };
    let digits = data.trim_end_matches('=').len();
    let file = serde_json::json!({ "mediaType": media_type, "bytes": digits / 4 * 3 + digits % 4 * 3 / 4 });
    RawJson::of(&file).ok()
}
