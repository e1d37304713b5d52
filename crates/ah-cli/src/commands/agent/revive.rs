use ah_store::block_on;

use super::Named;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let approval = block_on(store.revive_agent(agent.id)).map_err(|error| {
        CommandError::from(error).hint("`ah agent list --kept` shows those that were destroyed")
    })?;
    app.output.result(&approval, |approval| approval.id.to_string())?;
    if !app.output.is_json() {
        let id = &approval.id;
        app.output.talk(&format!("waits for the operator: `ah approval approve {id}`"));
    }
    Ok(())
}
