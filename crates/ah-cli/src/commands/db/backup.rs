use std::path::PathBuf;

use serde_json::json;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The new file; one named by the time, beside the database, when absent
    file: Option<PathBuf>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let target = match &args.file {
        Some(file) => app.environment.absolute(file)?,
        None => {
            let stamp = app.now().file_stamp();
            app.environment.state_dir()?.join(format!("state-{stamp}.db"))
        }
    };
    app.sql_store()?.back_up(&target).map_err(|error| {
        let error = CommandError::from(error);
        match target.exists() {
            true => error.hint("a backup is never written over: name another file"),
            false => error,
        }
    })?;
    let bytes = std::fs::metadata(&target).map_or(0, |metadata| metadata.len());
    let done = json!({ "path": target, "bytes": bytes, "verified": true });
    app.output.result(&done, |_| target.display().to_string())
}
