use ah_hive::resident::marked;
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
    /// Refuse to be destroyed: for the manager
    #[arg(long)]
    protected: bool,
    /// Keep a loop running for it wherever `ah up` runs: it handles its mail
    #[arg(long)]
    resident: bool,
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
    let mut wanted = wanted(app, args)?;
    wanted.check().map_err(correct_flag)?;
    let host = app.host()?;
    wanted.session.repo = app.settled(&**host.store(), wanted.session.repo)?;
    let agent = block_on(host.store().create_agent(wanted))?;
    if let Err(error) = host.create_home(&agent) {
        // The agent is there; whatever needs its home makes it, or says why not.
        let reason = CommandError::from(error).problem.detail;
        app.output.talk(&format!("warning: {} has no home yet: {reason}", agent.name));
    }
    app.output.result(&agent, |agent| agent.id.to_string())
}

fn wanted(app: &App, args: &Args) -> Result<NewAgent, CommandError> {
    let object = |field, text: &Option<String>| {
        let given = json_flag(field, text.as_deref())?;
        Ok::<_, CommandError>(given.unwrap_or_else(RawJson::empty_object))
    };
    let session = args.session.wanted(app, args.kind.as_deref())?;
    let mut metadata = object("metadata", &args.metadata)?;
    if args.resident {
        metadata = marked(&metadata, true).map_err(correct_flag)?;
    }
    Ok(NewAgent {
        id: args.id.as_deref().map(str::parse).transpose()?,
        agent_type: args.agent_type.parse()?,
        descriptor: json_flag("descriptor", args.descriptor.as_deref())?,
        permissions: object("permissions", &args.permissions)?,
        metadata,
        model: args.model.clone(),
        protected: args.protected,
        ..NewAgent::new(&args.name, session)
    })
}
