use ah_model::{FleetFilter, FleetStatus};
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also those that were ended
    #[arg(long)]
    ended: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let now = app.now();
    let filter = FleetFilter { status: (!args.ended).then_some(FleetStatus::Live) };
    let empty = match args.ended {
        true => "no fleets; `ah fleet create SESSION --member NAME` forms one",
        false => "no live fleets; `--ended` shows those that were ended",
    };
    let look = Look { header: view::HEADER, empty, row: &|fleet| view::row(fleet, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_fleets(filter, page))?))
}
