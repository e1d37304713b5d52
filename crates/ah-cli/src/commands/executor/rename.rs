use ah_model::ExecutorChange;

use super::change::change;
use crate::app::App;
use crate::error::CommandError;
use crate::output::printable;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The executor's id
    id: String,
    /// What people call it; an empty text takes the name away
    name: String,
    /// Whose it is; an empty text says that nobody owns it
    #[arg(long, value_name = "USER")]
    owner: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let wanted = ExecutorChange {
        friendly_name: Some(args.name.clone()),
        owner: args.owner.clone(),
        ..ExecutorChange::default()
    };
    change(app, &args.id, wanted, |executor| match &executor.friendly_name {
        Some(name) => format!("executor {} is called {}", executor.id, printable(name)),
        None => format!("executor {} has no name", executor.id),
    })
}
