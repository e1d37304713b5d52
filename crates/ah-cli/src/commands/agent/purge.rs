use super::Named;
use super::destroy::unprotect;
use crate::app::App;
use crate::commands::party;
use crate::commands::progress;
use crate::commands::retention::amounts;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// It is meant: there is no undo
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    party::require_operator(app, "purge agents")?;
    let host = app.host()?;
    let agent = args.named.find(app, &**host.store())?;
    if !args.yes {
        let name = &agent.name;
        let message = format!("a purge of {name} cannot be undone: sessions, mail and home go");
        return Err(CommandError::new(Exit::InputNeeded, message)
            .hint(format!("`ah agent purge {name} --yes` does it"))
            .hint(format!("`ah agent destroy {name}` stops it and keeps what it left")));
    }
    let bar = progress::bar(app, 0, "{spinner} {pos} rows removed");
    let receipt = host
        .purge(agent.id.clone(), &mut |receipt| {
            bar.set_position(receipt.removed.0.values().map(|amount| amount.rows).sum());
        })
        .map_err(|error| unprotect(error, &agent.name))?;
    bar.finish_and_clear();
    app.output
        .result(&receipt, |receipt| format!("{}receipt {}", amounts(&receipt.removed), receipt.id))
}
