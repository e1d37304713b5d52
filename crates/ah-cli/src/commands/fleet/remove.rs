use ah_model::FleetDeed;

use super::change;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// The member that goes: any but the leader
    name: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let what = FleetDeed::Remove(args.name.parse()?);
    change(app, &*app.store()?, &args.session, what, |fleet| {
        format!("{} left the fleet of session {}", args.name, fleet.session_id)
    })
}
