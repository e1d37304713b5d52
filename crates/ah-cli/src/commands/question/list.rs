use ah_model::{Party, QuestionFilter};
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this status: open, answered, expired or withdrawn; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Asked by this agent, or `operator`
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Asked of this agent, or `operator`
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Asked by or of this agent, or `operator`
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let party = |name: &Option<String>| name.as_deref().map(str::parse::<Party>).transpose();
    let filter = QuestionFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        from: party(&args.from)?,
        to: party(&args.to)?,
        party: party(&args.of)?,
    };
    let store = app.store()?;
    let now = app.now();
    let empty = "no such questions";
    let look = Look { header: view::HEADER, empty, row: &|question| view::row(question, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_questions(filter.clone(), page))?))
}
