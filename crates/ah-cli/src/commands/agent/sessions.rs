use ah_model::Order;
use ah_store::block_on;

use super::{Named, view};
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agent = args.named.find(app, &*store)?;
    let now = app.now();
    let look = Look {
        header: view::SESSION_HEADER,
        empty: "no sessions",
        row: &|session| view::session_row(session, &agent, now),
    };
    args.paging.print(app, &look, |page| {
        Ok(block_on(store.agent_sessions(agent.id.clone(), Order::Newest, page))?)
    })
}
