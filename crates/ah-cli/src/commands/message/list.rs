use ah_model::{MessageFilter, Party};

use super::print;
use crate::app::App;
use crate::commands::paging::Paging;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this status: queued, leased, acked or dead; may be given several times
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Written by this agent, or `operator`: what it sent
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
    /// Written to this agent, or `operator`
    #[arg(long, value_name = "AGENT")]
    to: Option<String>,
    /// Written by or to this agent, or `operator`
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
    /// Answers to this message
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let party = |name: &Option<String>| name.as_deref().map(str::parse::<Party>).transpose();
    let in_reply_to = match &args.reply_to {
        Some(id) => Some(app.message_id(&*app.store()?, id)?),
        None => None,
    };
    let filter = MessageFilter {
        statuses: args.status.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        from: party(&args.from)?,
        to: party(&args.to)?,
        party: party(&args.of)?,
        in_reply_to,
    };
    print(app, &args.paging, &filter, "no such messages; `ah message send TO TEXT` sends one")
}
