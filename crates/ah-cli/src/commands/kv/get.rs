use ah_store::block_on;

use super::Scope;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key
    key: String,
    #[command(flatten)]
    scope: Scope,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let entry = block_on(app.store()?.kv_get(args.scope.scope.clone(), args.key.clone()))?;
    if app.output.is_json() {
        return app.output.json(&entry);
    }
    app.output.stored(&entry.value)
}
