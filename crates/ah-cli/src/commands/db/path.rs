use serde_json::json;

use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let path = app.environment.database_path()?;
    let answer = json!({ "path": path, "exists": path.exists() });
    app.output.result(&answer, |_| path.display().to_string())
}
