//! `ah logout`: forgets the token for a server.

use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::secret::forget;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The server's address, or the name it has in the configuration
    server: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let server = app.server_url(&args.server)?;
    if !forget(&app.environment, &server)? {
        return Err(CommandError::new(Exit::NotFound, format!("no token is kept for {server}")));
    }
    app.output.result(&json!({ "server": server }), |_| {
        format!("signed out of {server}; `ah token revoke ID` ends the token itself")
    })
}
