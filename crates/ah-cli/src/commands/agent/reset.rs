use std::path::PathBuf;

use ah_model::{Beginning, Renewal, limits};

use super::{Expected, Named, renew};
use crate::app::App;
use crate::error::CommandError;
use crate::input::text_or_file;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// Why: the first thing in the new context
    #[arg(long, value_name = "M", conflicts_with = "message_file")]
    message: Option<String>,
    /// Read the message from a file, or stdin for `-`
    #[arg(long, value_name = "FILE")]
    message_file: Option<PathBuf>,
    #[command(flatten)]
    expected: Expected,
    /// Id of the new session, instead of a fresh one
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let (text, file) = (args.message.as_deref(), args.message_file.as_deref());
    let message = text_or_file("message", text, file, limits::PROMPT_BYTES_MAX)?;
    let session_id = args.session_id.as_deref().map(str::parse).transpose()?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    let renewal = Renewal {
        session_id,
        expected_session: args.expected.session(app, &*store)?,
        ..Renewal::new(Beginning::Reset { message })
    };
    renew(app, &*store, agent, renewal)
}
