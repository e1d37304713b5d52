use ah_model::ApprovalFilter;
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this status: pending, approved, denied, failed or withdrawn; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// About this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Of this kind
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let filter = ApprovalFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        agent: args.agent.clone(),
        kind: args.kind.clone(),
        to_carry_out: false,
    };
    let store = app.store()?;
    let now = app.now();
    let empty = "no such approvals";
    let look = Look { header: view::HEADER, empty, row: &|approval| view::row(approval, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_approvals(filter.clone(), page))?))
}
