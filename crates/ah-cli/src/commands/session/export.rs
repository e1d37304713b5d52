use std::path::PathBuf;

use ah_store::{StoreError, block_on, export_session};

use crate::app::App;
use crate::commands::whole_file::{beside, finish};
use crate::error::CommandError;
use crate::output::broken_pipe;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The session's id, or the beginning of it
    id: String,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let id = app.session_id(&*store, &args.id)?;
    let Some(path) = &args.output else {
        let mut stdout = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout());
        return block_on(export_session(&*store, &id, &mut stdout)).map(drop).map_err(or_unread);
    };
    let mut file = beside(path)?;
    let events = {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, file.as_file_mut());
        block_on(export_session(&*store, &id, &mut out))?
    };
    finish(file, path)?;
    let done = serde_json::json!({ "id": id, "events": events, "path": path });
    app.output.result(&done, |_| format!("{events} events written to {}", path.display()))
}

/// A reader that went away, as `head` does, is no error.
fn or_unread(error: StoreError) -> CommandError {
    match &error {
        StoreError::Backend { source, .. }
            if source
                .downcast_ref::<std::io::Error>()
                .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe) =>
        {
            broken_pipe()
        }
        _ => error.into(),
    }
}
