use ah_model::{MessageFilter, MessageStatus};

use super::print;
use crate::app::App;
use crate::commands::paging::Paging;
use crate::commands::party;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose: an agent's name or `operator`
    #[arg(value_name = "AGENT")]
    agent: String,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let to = party::receiving(app, &args.agent)?;
    app.known_party(&to)?;
    let filter = MessageFilter {
        statuses: vec![MessageStatus::Queued, MessageStatus::Leased],
        to: Some(to),
        ..MessageFilter::default()
    };
    let empty = format!("nothing waits for {}", args.agent);
    print(app, &args.paging, &filter, &empty)
}
