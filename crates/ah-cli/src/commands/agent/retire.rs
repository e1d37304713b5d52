use ah_model::Lifecycle;

use super::{Named, lifecycle};
use crate::app::App;
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
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let name = agent.name.clone();
    if !args.yes && agent.lifecycle != Lifecycle::Dead {
        confirm(app.asking(), &format!("Retire agent {name}? It cannot be woken again."))?;
    }
    lifecycle::set(app, &*store, agent, Lifecycle::Dead)?;
    if !app.output.is_json() {
        app.output.talk(&format!(
            "{name} stays listed with its history; `ah agent list --lifecycle dead` shows it"
        ));
    }
    Ok(())
}
