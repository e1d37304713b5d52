use serde_json::json;

use super::Target;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, like store.durability
    key: String,
    /// Its value
    value: String,
    #[command(flatten)]
    target: Target,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let path = app.config()?.set(args.target.layer(), &args.key, &args.value)?;
    let done = json!({ "key": args.key, "value": args.value, "path": path });
    app.output.result(&done, |_| String::new())
}
