use ah_model::FleetDeed;

use super::change;
use super::members::MemberDemands;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    /// The member, and which executor shall be it: its id, its name or the last part of its id
    #[arg(value_name = "NAME[=EXECUTOR]")]
    member: String,
    #[command(flatten)]
    demands: MemberDemands,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let member = args.demands.member(app, &*store, &args.member)?;
    change(app, &*store, &args.session, FleetDeed::Add(Box::new(member)), |fleet| {
        let name = fleet.members.last().map(|member| member.name.to_string()).unwrap_or_default();
        format!("{name} joined the fleet of session {}", fleet.session_id)
    })
}
