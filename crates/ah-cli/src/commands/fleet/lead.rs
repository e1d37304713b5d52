use ah_model::FleetDeed;

use super::change;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// The member that shall lead; an open fence is given up
    name: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let what = FleetDeed::Lead(args.name.parse()?);
    change(app, &*app.store()?, &args.session, what, |fleet| {
        format!(
            "{} leads the fleet of session {} in epoch {}",
            fleet.leader, fleet.session_id, fleet.epoch
        )
    })
}
