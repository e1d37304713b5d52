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
    let (scope, key) = (args.scope.scope.clone(), args.key.clone());
    block_on(app.store()?.kv_delete(scope.clone(), key.clone()))?;
    let gone = serde_json::json!({ "scope": scope, "key": key, "deleted": true });
    app.output.result(&gone, |_| String::new())
}
