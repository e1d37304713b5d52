use super::amounts;
use crate::app::App;
use crate::commands::progress;
use crate::error::CommandError;
use crate::output::bytes;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let rules = app.config()?.retention();
    let host = app.host()?;
    let bar = progress::bar(app, 0, "{spinner} {pos} rows removed");
    let done = host.run_retention(&rules, &mut |receipt| {
        bar.set_position(receipt.removed.0.values().map(|amount| amount.rows).sum());
    })?;
    bar.finish_and_clear();
    app.output.result(&done, |done| {
        let removed = match done.receipt.removed.is_empty() {
            true => "nothing was too old\n".to_owned(),
            false => amounts(&done.receipt.removed),
        };
        format!("{removed}{} given back; receipt {}", bytes(done.bytes_reclaimed), done.receipt.id)
    })?;
    if !app.output.is_json() {
        done.warnings.iter().for_each(|warning| app.output.talk(&format!("warning: {warning}")));
    }
    Ok(())
}
