use ah_hive::resident::marked;
use ah_model::AgentUpdate;
use ah_store::block_on;
use clap::ArgGroup;

use super::{Named, correct_flag, json_flag};
use crate::app::App;
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
#[command(group(
    ArgGroup::new("change")
        .required(true)
        .multiple(true)
        .args(["descriptor", "permissions", "tokens", "stats", "metadata", "model", "protected", "resident"])
))]
pub(crate) struct Args {
    #[command(flatten)]
    named: Named,
    /// Who it is, by its type: a JSON object
    #[arg(long, value_name = "JSON")]
    descriptor: Option<String>,
    /// What it may do: a JSON object
    #[arg(long, value_name = "JSON")]
    permissions: Option<String>,
    /// What its last answer cost: any JSON, null forgets it
    #[arg(long, value_name = "JSON")]
    tokens: Option<String>,
    /// What it cost so far, as its program counts: a JSON object
    #[arg(long, value_name = "JSON")]
    stats: Option<String>,
    /// What else is known of it: a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,
    /// The model it runs on; an empty one forgets it
    #[arg(long, value_name = "M")]
    model: Option<String>,
    /// Whether it refuses to be destroyed
    #[arg(long, value_name = "BOOL")]
    protected: Option<bool>,
    /// Whether a loop is kept running for it wherever `ah up` runs
    #[arg(long, value_name = "BOOL")]
    resident: Option<bool>,
    /// Only if the agent is at this revision
    #[arg(long, value_name = "N")]
    if_revision: Option<u64>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let mut update = update(args)?;
    let store = app.store()?;
    let agent = args.named.living(app, &*store)?;
    if let Some(resident) = args.resident {
        let metadata = update.metadata.as_ref().unwrap_or(&agent.metadata);
        update.metadata = Some(marked(metadata, resident).map_err(correct_flag)?);
        // What was read is what is changed.
        update.expected_revision.get_or_insert(agent.revision);
    }
    update.check(&agent.agent_type).map_err(correct_flag)?;
    let agent = block_on(store.update_agent(agent.id, update))?;
    app.output.result(&agent, |agent| format!("revision {}", agent.revision))
}

fn update(args: &Args) -> Result<AgentUpdate, CommandError> {
    Ok(AgentUpdate {
        descriptor: json_flag("descriptor", args.descriptor.as_deref())?,
        permissions: json_flag("permissions", args.permissions.as_deref())?,
        tokens: json_flag("tokens", args.tokens.as_deref())?,
        stats: json_flag("stats", args.stats.as_deref())?,
        metadata: json_flag("metadata", args.metadata.as_deref())?,
        model: args.model.clone(),
        protected: args.protected,
        expected_revision: args.if_revision,
    })
}
