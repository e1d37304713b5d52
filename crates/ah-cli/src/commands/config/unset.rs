use serde_json::json;

use super::Target;
use crate::app::App;
use crate::config::Removed;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, like store.durability
    key: String,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let layer = args.target.layer();
    match app.config()?.unset(layer, &args.key)? {
        Removed::Yes => {
            app.output.result(&json!({ "key": args.key, "removed": true }), |_| String::new())
        }
        Removed::WasNotSet => {
            let message = format!("{} is not set in the {layer} file", args.key);
            Err(CommandError::new(Exit::NotFound, message)
                .hint(format!("`ah config explain {}` shows where it is", args.key)))
        }
    }
}
