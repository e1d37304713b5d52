use std::path::Path;

use ah_model::{KvEntry, limits};
use ah_store::block_on;

use super::Scope;
use crate::app::App;
use crate::error::CommandError;
use crate::input::read_text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The key
    key: String,
    /// The value; `-` reads it from stdin
    value: String,
    #[command(flatten)]
    scope: Scope,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let value = match args.value.as_str() {
        "-" => read_text("value", Path::new("-"), limits::KV_VALUE_BYTES_MAX)?,
        value => value.to_owned(),
    };
    let entry = KvEntry { scope: args.scope.scope.clone(), key: args.key.clone(), value };
    block_on(app.store()?.kv_set(entry.clone()))?;
    app.output.result(&entry, |_| String::new())
}
