use serde_json::json;

use super::open;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The serial of one certificate, or a node: then everything that was issued for it
    #[arg(value_name = "SERIAL|NODE")]
    which: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let revoked = open(app)?.revoke(&args.which, app.now())?;
    app.output.result(&json!({ "items": revoked, "nextCursor": null }), |_| {
        let lines =
            revoked.iter().map(|issued| format!("revoked {} of {}\n", issued.serial, issued.id));
        lines.collect()
    })
}
