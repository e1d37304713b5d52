use ah_model::{AgentFilter, AgentType, Invalid};
use ah_store::block_on;

use super::view;
use crate::app::App;
use crate::commands::paging::{Look, Paging};
use crate::error::CommandError;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// In this lifecycle: active, sleeping or dead; may be given several times
    #[arg(long, value_name = "L")]
    lifecycle: Vec<String>,
    /// Of this type
    #[arg(long = "type", value_name = "T")]
    agent_type: Option<String>,
    /// Of this kind, any version
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// With this text in the name
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// Only destroyed ones, of which what they left is kept
    #[arg(long)]
    kept: bool,
    #[command(flatten)]
    paging: Paging,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let filter = filter(args)?;
    let store = app.store()?;
    let now = app.now();
    let empty = match filter == AgentFilter::default() {
        true => "no agents; `ah agent create NAME` makes one",
        false => "no such agents; `ah agent list` without flags shows all",
    };
    let look = Look { header: view::HEADER, empty, row: &|agent| view::row(agent, now) };
    args.paging.print(app, &look, |page| Ok(block_on(store.list_agents(filter.clone(), page))?))
}

fn filter(args: &Args) -> Result<AgentFilter, Invalid> {
    if let Some(kind) = args.kind.as_deref().filter(|kind| kind.contains('@')) {
        let reason = format!("{kind:?} has a version, here a kind stands for all of them");
        return Err(Invalid::new("kind", reason));
    }
    Ok(AgentFilter {
        lifecycles: args.lifecycle.iter().map(|word| word.parse()).collect::<Result<_, _>>()?,
        agent_type: args.agent_type.as_deref().map(str::parse::<AgentType>).transpose()?,
        kind: args.kind.clone(),
        name: args.name.clone(),
        destroyed: args.kept.then_some(true),
    })
}
