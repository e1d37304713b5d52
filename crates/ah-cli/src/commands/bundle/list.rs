use ah_bundle::Listed;
use serde_json::json;

use super::place::{Place, ScopeArgs};
use crate::app::App;
use crate::error::CommandError;
use crate::output::{bytes, line, printable, table};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
}

const HEADER: &[&str] = &["NAME", "SCOPE", "MODEL", "SIZE", "IS", "PROBLEM"];

/// Enough of a scope to tell it from others.
const SCOPE_CHARS: usize = 16;
const MODEL_CHARS: usize = 24;

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let scope = args.scope.chosen()?;
    let mut listed = dir.list()?;
    if let Some(scope) = &scope {
        listed.retain(|one| one.scope.as_ref() == Some(scope));
    }
    if app.output.is_json() {
        return app.output.json(&json!({ "items": listed, "nextCursor": null }));
    }
    if listed.is_empty() {
        app.output.talk("no snapshots");
        return Ok(());
    }
    app.output.text(&table(HEADER, &listed.iter().map(row).collect::<Vec<_>>()))
}

fn row(listed: &Listed) -> Vec<String> {
    let short = |text: &Option<String>, chars| line(text.as_deref().unwrap_or("?"), chars);
    let is = match (listed.head, listed.latest) {
        (true, true) => "head, latest",
        (true, false) => "head",
        (false, true) => "latest",
        (false, false) => "",
    };
    vec![
        printable(&listed.name),
        short(&listed.scope, SCOPE_CHARS),
        short(&listed.model_id, MODEL_CHARS),
        bytes(listed.bytes),
        is.to_owned(),
        printable(&listed.problem.as_ref().map(ToString::to_string).unwrap_or_default()),
    ]
}
