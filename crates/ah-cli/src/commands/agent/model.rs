use serde_json::json;

use super::Named;
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// The model to run on from the next turn on; shown when absent
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// Back to the kind's own default
    #[arg(long, conflicts_with = "model")]
    unset: bool,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let host = app.host()?;
    let agent = args.named.find(app, &**host.store())?;
    let (id, name) = (agent.id.clone(), agent.name.clone());
    let model = match (&args.model, args.unset) {
        (Some(model), _) => host.set_model(id.clone(), Some(model))?.model,
        (None, true) => host.set_model(id.clone(), None)?.model,
        (None, false) => host.model(&agent)?,
    };
    let shown = json!({ "id": id, "name": name, "model": model });
    app.output.result(&shown, |_| model.unwrap_or_else(|| "the kind's default".to_owned()))
}
