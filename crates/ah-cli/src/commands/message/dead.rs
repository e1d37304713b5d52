use ah_model::{MessageFilter, MessageStatus};

use super::print;
use crate::app::App;
use crate::commands::paging::Paging;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let filter = MessageFilter { statuses: vec![MessageStatus::Dead], ..MessageFilter::default() };
    print(app, &args.paging, &filter, "no message was given up")
}
