use ah_store::block_on;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name, unique on the server
    name: String,
    /// The id another server gave it
    #[arg(long, value_name = "ID")]
    external_id: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let made = block_on(store.create_workspace(args.name.clone(), args.external_id.clone()))?;
    app.output.result(&made, |workspace| workspace.id.to_string())
}
