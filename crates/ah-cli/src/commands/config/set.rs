use serde_json::json;

use super::Target;
use crate::app::App;
use crate::config::Setting;
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
    let layer = args.target.layer();
    let config = app.config()?;
    let path = config.set(layer, &args.key, &args.value)?;
    app.output.talk(&format!("{} is set in {}", args.key, path.display()));
    // What was read before the change tells who is stronger than the file.
    if let Some(Setting { layer: stronger, place: Some(place), .. }) = config.get(&args.key)?
        && stronger < layer
    {
        app.output.talk(&format!("but {place} sets it too and wins"));
    }
    let done = json!({ "key": args.key, "value": args.value, "path": path });
    app.output.result(&done, |_| String::new())
}
