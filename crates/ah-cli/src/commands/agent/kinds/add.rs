use ah_model::AgentKindRef;
use ah_store::block_on;

use crate::app::App;
use crate::commands::agent::json_flag;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The program's name, and its version unless it is `latest`
    #[arg(value_name = "KIND[@VERSION]")]
    kind: String,
    /// What else is known of it, any JSON; what was known stays when absent
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let kind: AgentKindRef = args.kind.parse()?;
    let metadata = json_flag("metadata", args.metadata.as_deref())?;
    let made = block_on(app.store()?.put_agent_kind(kind, metadata))?;
    app.output.result(&made, |kind| kind.id.to_string())
}
