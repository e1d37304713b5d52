use ah_store::block_on;
use serde_json::json;

use crate::app::App;
use crate::error::CommandError;
use crate::output::bytes;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let report = block_on(app.sql_store()?.compact())?;
    let freed = report.bytes_before.saturating_sub(report.bytes_after);
    let done = json!({
        "bytesBefore": report.bytes_before,
        "bytesAfter": report.bytes_after,
        "bytesFreed": freed,
    });
    app.output.result(&done, |_| format!("{} given back", bytes(freed)))
}
