use ah_model::{NewAgent, RawJson};
use ah_store::block_on;

use super::{correct_flag, json_flag};
use crate::app::App;
use crate::commands::session::SessionArgs;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What people call it: letters, digits and `._-`, unique in any letter case
    name: String,
    /// Its agent kind; repo.default-agent of the configuration when absent
    #[arg(long, value_name = "KIND[@VERSION]")]
    kind: Option<String>,
    /// What sort of identity: user, cron, system, subagent, app, permanent or another word
    #[arg(long = "type", value_name = "T", default_value = "permanent")]
    agent_type: String,
    /// Who it is, by its type: a JSON object; a plain one when absent
    #[arg(long, value_name = "JSON")]
    descriptor: Option<String>,
    /// What it may do: a JSON object
    #[arg(long, value_name = "JSON")]
    permissions: Option<String>,
    /// The model it runs on
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// What else is known of it: a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// Its id, instead of a fresh one
    #[arg(long)]
    id: Option<String>,
    #[command(flatten)]
    session: SessionArgs,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let wanted = wanted(app, args)?;
    wanted.check().map_err(correct_flag)?;
    let agent = block_on(app.store()?.create_agent(wanted))?;
    app.output.result(&agent, |agent| agent.id.to_string())
}

fn wanted(app: &App, args: &Args) -> Result<NewAgent, CommandError> {
    let object = |field, text: &Option<String>| {
        let given = json_flag(field, text.as_deref())?;
        Ok::<_, CommandError>(given.unwrap_or_else(RawJson::empty_object))
    };
    let session = args.session.wanted(app, args.kind.as_deref())?;
    Ok(NewAgent {
        id: args.id.as_deref().map(str::parse).transpose()?,
        agent_type: args.agent_type.parse()?,
        descriptor: json_flag("descriptor", args.descriptor.as_deref())?,
        permissions: object("permissions", &args.permissions)?,
        metadata: object("metadata", &args.metadata)?,
        model: args.model.clone(),
        ..NewAgent::new(&args.name, session)
    })
}
