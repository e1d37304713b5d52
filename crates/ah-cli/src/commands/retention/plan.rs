use super::amounts;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(app: &App, _args: &Args) -> Result<(), CommandError> {
    let rules = app.config()?.retention();
    let plan = app.host()?.plan_retention(&rules)?;
    app.output.result(&plan, |plan| match plan.remove.is_empty() {
        true => "nothing is too old".to_owned(),
        false => amounts(&plan.remove),
    })?;
    if !app.output.is_json() {
        plan.warnings.iter().for_each(|warning| app.output.talk(&format!("warning: {warning}")));
        app.output.talk("`ah config explain retention.messages` says how long things are kept");
    }
    Ok(())
}
