use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Exit};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key, like store.durability
    key: String,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let Some(setting) = app.config()?.get(&args.key)? else {
        let message = format!("{} is not set and has no default", args.key);
        return Err(CommandError::new(Exit::NotFound, message)
            .hint(format!("`ah config set {} VALUE` sets it", args.key)));
    };
    let answer = json!({
        "key": args.key,
        "value": setting.value,
        "layer": setting.layer.as_str(),
        "place": setting.place.map(ToString::to_string),
    });
    if app.output.is_json() {
        return app.output.json(&answer);
    }
    app.output.stored(&setting.value.to_string())
}
