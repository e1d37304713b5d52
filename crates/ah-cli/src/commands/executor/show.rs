use ah_store::block_on;

use super::state;
use crate::app::App;
use crate::error::CommandError;
use crate::output::{fields, printable, printable_lines};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let executor = block_on(app.store()?.executor(args.id.parse()?))?;
    let now = app.now();
    app.output.result(&executor, |executor| {
        let text = |text: &Option<String>| printable(text.as_deref().unwrap_or(""));
        let offer = &executor.offer;
        let head = fields(&[
            ("id", executor.id.to_string()),
            ("state", state(executor, now).to_owned()),
            ("host", text(&offer.hostname)),
            ("directory", text(&offer.project_dir)),
            ("profile", text(&offer.executor_profile)),
            ("type", text(&offer.executor_type)),
            ("tags", printable(&offer.tags.join(" "))),
            ("registered", format!("{} (time {})", executor.registered_at, executor.generation)),
            ("seen", executor.seen_at.to_string()),
        ]);
        match executor.details.as_str() {
            "null" => head,
            details => format!("{head}\n{}", printable_lines(details)),
        }
    })
}
