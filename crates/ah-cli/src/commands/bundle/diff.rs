use ah_bundle::json::Value;
use ah_bundle::{Change, diff};
use serde::Serialize;

use super::place::Place;
use crate::app::App;
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The snapshot before: the name of its file, or the beginning of its sha256
    #[arg(value_name = "A")]
    before: String,
    /// The snapshot after
    #[arg(value_name = "B")]
    after: String,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Serialize)]
struct Answer {
    before: String,
    after: String,
    changes: Vec<Change>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let (before, after) = (dir.read(&args.before)?, dir.read(&args.after)?);
    let changes = diff(&before.bundle, &after.bundle);
    let answer = Answer { before: before.name, after: after.name, changes };
    if answer.changes.is_empty() && !app.output.is_json() {
        app.output.talk("no difference");
    }
    app.output.result(&answer, |answer| answer.changes.iter().map(lines).collect())
}

fn lines(change: &Change) -> String {
    let line = |sign: char, value: &Option<Value>| {
        let value = value.as_ref().map(|value| serde_json::to_string(value).unwrap_or_default());
        value.map_or_else(String::new, |value| {
            format!("{sign} {}: {}\n", printable(&change.path.to_string()), printable(&value))
        })
    };
    format!("{}{}", line('-', &change.before), line('+', &change.after))
}
