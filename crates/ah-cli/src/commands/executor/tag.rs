use ah_model::ExecutorChange;

use super::change::change;
use crate::app::App;
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
    /// Tags to add, besides those that it offers itself
    #[arg(value_name = "TAG", required_unless_present = "remove")]
    tags: Vec<String>,
    /// A tag to take away; may be given several times
    #[arg(long, value_name = "TAG")]
    remove: Vec<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let wanted = ExecutorChange {
        add_tags: args.tags.clone(),
        remove_tags: args.remove.clone(),
        ..ExecutorChange::default()
    };
    change(app, &args.id, wanted, |executor| {
        format!("executor {}: {}", executor.id, printable(&executor.tags.join(" ")))
    })
}
