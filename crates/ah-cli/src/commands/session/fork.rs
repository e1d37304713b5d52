use ah_store::{SessionFork, block_on};

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// The event of the old session it goes on from; the newest when absent
    #[arg(long, alias = "at-seq", value_name = "SEQ")]
    at: Option<u64>,
    /// Title of the new session; the old one's when absent
    #[arg(long)]
    title: Option<String>,
    /// Id of the new session, instead of a fresh one
    #[arg(long, value_name = "ID")]
    new_id: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let id = args.new_id.as_deref().map(str::parse).transpose()?;
    let fork = SessionFork { at_seq: args.at, id, title: args.title.clone() };
    let store = app.store()?;
    let source = app.session_id(&*store, &args.id)?;
    let session = block_on(store.fork_session(source, fork))?;
    app.output.result(&session, |session| session.id.to_string())
}
