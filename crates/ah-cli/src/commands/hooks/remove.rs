use serde_json::{Value, json};

use super::WhoseArgs;
use super::edit::HOOKS;
use super::settings::Settings;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    whose: WhoseArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (tool, scope) = (args.whose.kind, args.whose.scope());
    let settings = Settings::of(app, tool, scope)?;
    let text = settings.read()?.filter(|text| !text.trim().is_empty());
    let removed = match &text {
        Some(text) => take_out(&settings, text)?,
        None => 0,
    };
    let answer = json!({
        "kind": tool.as_str(), "scope": scope, "file": settings.path, "removed": removed,
    });
    app.output.result(&answer, |_| {
        let path = settings.path.display();
        match removed {
            0 => format!("{path} has no hooks of ours"),
            _ => format!("{removed} hooks of ours are gone from {path}"),
        }
    })
}

/// Takes our hooks out; how many there were. If nothing else was changed since they came, the file is
/// what it was before, to the byte.
fn take_out(settings: &Settings, text: &str) -> Result<usize, CommandError> {
    let count = settings.ours(text)?.len();
    if count == 0 {
        return Ok(0);
    }
    let without = settings.without(text)?;
    let kept = settings.kept();
    match kept.as_ref().filter(|kept| said(kept) == said(&without)) {
        Some(kept) => settings.write(kept)?,
        // There was no file before.
        None if kept.is_none() && said(&without) == Some(json!({})) => settings.delete()?,
        None => settings.write(&without)?,
    }
    settings.forget();
    Ok(count)
}

/// What settings say, without what they look like and without events that have no hooks.
fn said(text: &str) -> Option<Value> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut value: Value = serde_json::from_str(text).ok()?;
    let all = value.as_object_mut()?;
    if let Some(hooks) = all.get_mut(HOOKS).and_then(Value::as_object_mut) {
        hooks.retain(|_, groups| groups.as_array().is_none_or(|groups| !groups.is_empty()));
        if hooks.is_empty() {
            all.remove(HOOKS);
        }
    }
    Some(value)
}
