use ah_model::{Agent, Context, Lifecycle};
use ah_store::{
    ContextLimit, Kind, Restored, Store, StoreError, block_on, load_agents, restore_agent,
};
use serde::Serialize;

use crate::app::App;
use crate::error::{CommandError, Exit};
use crate::output::table;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these agents: names, ids, or the beginnings of ids; all that are not dead when absent
    #[arg(value_name = "NAME")]
    agents: Vec<String>,
}

/// An agent as a program that runs agents has it after its start.
#[derive(Serialize)]
struct Ready {
    agent: Agent,
    /// Nothing for one that sleeps.
    context: Option<Context>,
    /// How many events its repair appended.
    repaired: u64,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let store = app.store()?;
    let agents = chosen(app, &*store, args)?;
    let (total, mut failed) = (agents.len(), 0);
    let mut rows = Vec::new();
    // One after another, so that no two contexts are held at once.
    for agent in agents {
        let name = agent.name.clone();
        match ready(&*store, agent) {
            Ok(ready) if app.output.is_json() => app.output.json(&ready)?,
            Ok(ready) => rows.push(row(&ready)),
            Err(error) => {
                failed += 1;
                let mut error = CommandError::from(error);
                error.problem.detail = format!("agent {name}: {}", error.problem.detail);
                app.output.error(&error);
            }
        }
    }
    if !rows.is_empty() {
        let header = ["NAME", "LIFECYCLE", "SESSION", "RECORDS", "MESSAGES", "REPAIRED"];
        app.output.text(&table(&header, &rows))?;
    }
    if total == 0 && !app.output.is_json() {
        app.output.talk("no agents to restore; `ah agent create NAME` makes one");
    }
    match failed {
        0 => Ok(()),
        _ => {
            let message = format!("{failed} of {total} agents could not be restored");
            Err(CommandError::new(Exit::Failed, message)
                .hint("`ah db check` names what is damaged"))
        }
    }
}

/// The agents by name, or all that take part: the active ones first.
fn chosen(app: &App, store: &dyn Store, args: &Args) -> Result<Vec<Agent>, CommandError> {
    if args.agents.is_empty() {
        let roster = block_on(load_agents(store))?;
        return Ok(roster.active.into_iter().chain(roster.sleeping).collect());
    }
    let named = |name: &String| {
        let agent = app.agent(store, name)?;
        match agent.lifecycle {
            Lifecycle::Active | Lifecycle::Sleeping => Ok(agent),
            Lifecycle::Dead => {
                let reason = "is dead and is not restored";
                Err(StoreError::conflict(Kind::Agent, agent.name, reason).into())
            }
        }
    };
    args.agents.iter().map(named).collect()
}

fn ready(store: &dyn Store, agent: Agent) -> Result<Ready, StoreError> {
    if agent.lifecycle != Lifecycle::Active {
        return Ok(Ready { agent, context: None, repaired: 0 });
    }
    let done = block_on(restore_agent(store, &agent, ContextLimit::default()))?;
    let Restored { context, repaired } = done;
    Ok(Ready { agent, context: Some(context), repaired })
}

fn row(ready: &Ready) -> Vec<String> {
    let Ready { agent, context, repaired } = ready;
    let of_context = |count: fn(&Context) -> u64| {
        context.as_ref().map(|context| count(context).to_string()).unwrap_or_default()
    };
    vec![
        agent.name.clone(),
        agent.lifecycle.to_string(),
        agent.active_session_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        of_context(|context| context.records),
        of_context(|context| context.messages.len() as u64),
        context.as_ref().map(|_| repaired.to_string()).unwrap_or_default(),
    ]
}
