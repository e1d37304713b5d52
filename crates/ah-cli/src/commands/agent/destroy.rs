use ah_store::block_on;

use super::Named;
use crate::app::App;
use crate::commands::party;
use crate::error::CommandError;
use crate::input::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// Do not ask; only people at a terminal are asked
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    party::require_operator(app, "destroy agents")?;
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let name = agent.name.clone();
    if !args.yes && agent.destroyed_at.is_none() {
        confirm(app.asking(), &format!("Destroy agent {name}? What it left is kept."))?;
    }
    let agent = block_on(store.destroy_agent(agent.id)).map_err(|error| unprotect(error, &name))?;
    app.output.result(&agent, |_| "destroyed".to_owned())?;
    if !app.output.is_json() {
        app.output.talk(&format!(
            "`ah agent revive {name}` asks to bring it back, `ah agent purge {name} --yes` wipes it"
        ));
    }
    Ok(())
}

/// What helps when the agent is protected.
pub(super) fn unprotect(error: impl Into<CommandError>, name: &str) -> CommandError {
    let error = error.into();
    match error.problem.reason.as_deref() {
        Some("is protected") => error
            .hint(format!("`ah agent update {name} --protected false` takes the protection away")),
        _ => error,
    }
}
