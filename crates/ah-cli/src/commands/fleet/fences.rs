use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    session: String,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&*store, &args.session)?;
    let now = app.now();
    let empty = "no fences; `ah fleet fence SESSION` begins one";
    let row = |fence: &_| view::fence_row(fence, now);
    let look = Look { header: view::FENCE_HEADER, empty, row: &row };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_fences(id.clone(), page))?))
}
