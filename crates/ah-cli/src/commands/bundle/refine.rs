use std::path::PathBuf;

use ah_bundle::{Refinement, Setting};
use ah_model::limits::PROMPT_BYTES_MAX;

use super::place::{Place, ScopeArgs};
use super::view;
use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::input::text_or_file;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Add this to the developer's prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    text: Option<String>,
    /// Add what this file holds to the developer's prompt; stdin for `-`
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Set a value, as JSON or else as a text; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    settings: Vec<Setting>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let dir = args.place.open(app)?;
    let (text, file) = (args.text.as_deref(), args.file.as_deref());
    let text = text_or_file("refinement", text, file, PROMPT_BYTES_MAX)?.unwrap_or_default();
    let settings = args.settings.clone();
    if text.trim().is_empty() && settings.is_empty() {
        return Err(CommandError::new(Exit::Usage, "nothing is to be changed")
            .hint("give `--text TEXT`, `--file FILE` or `--set prep_settings.temperature=0.2`"));
    }
    let scope = args.scope.required(&dir)?;
    let saved = dir.refine(&scope, &Refinement { text, settings }, app.now())?;
    view::tell_damage(app.output, &dir, &saved.damage, &saved.snapshot.name);
    view::tell_redacted(app.output, &saved.redacted);
    app.output.result(&saved, |saved| format!("{} {}", saved.snapshot.name, saved.snapshot.sha))
}
