//! `ah mcp`: the Model Context Protocol on standard input and output, for one agent or the operator.

use ah_model::TokenRole;
use ah_server::{Caller, serve_stdio};
use ah_store::{Kind, StoreError, block_on};

use crate::app::App;
use crate::environment::Environment;
use crate::error::{CommandError, Exit};

/// Where programs name the session they are in: Claude Code, goose.
const SESSION_VARIABLES: [&str; 2] = ["CLAUDE_CODE_SESSION_ID", "AGENT_SESSION_ID"];

#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(group = clap::ArgGroup::new("caller").required(true))]
pub(crate) struct Args {
    /// Serve this agent: it can act as nobody else
    #[arg(long, value_name = "NAME", group = "caller")]
    agent: Option<String>,
    /// Serve you, with all that you may do
    #[arg(long, group = "caller")]
    operator: bool,
    /// The session of the program that starts this; from its environment when not given
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub(crate) fn run(app: &App, args: &Args) -> Result<(), CommandError> {
    let host = app.host()?;
    let caller = match &args.agent {
        None => {
            check_operator(app)?;
            Caller::operator()
        }
        Some(name) => {
            // By its name alone: an agent's own token may look for nothing else.
            let found = block_on(host.store().agent_of_name(name.clone()))?;
            let agent = found.ok_or_else(|| StoreError::not_found(Kind::Agent, name))?;
            if let Err(reason) = agent.refuse_dead() {
                return Err(StoreError::conflict(Kind::Agent, &agent.name, reason).into());
            }
            Caller::agent(&agent)
        }
    };
    let session = args.session.clone().or_else(|| session(&app.environment));
    let caller = caller.in_session(session)?;
    serve_stdio(&host, caller).map_err(|error| {
        CommandError::new(Exit::Failed, format!("the connection broke off: {error}"))
    })
}

/// Refuses to serve the operator with a token that is somebody else's.
fn check_operator(app: &App) -> Result<(), CommandError> {
    let Some(remote) = app.remote()? else { return Ok(()) };
    match remote.whoami()?.role {
        None | Some(TokenRole::Admin | TokenRole::Operator) => Ok(()),
        Some(role) => {
            let message = format!("a token of the role {role} does not speak for the operator");
            Err(CommandError::new(Exit::NotAllowed, message)
                .hint("`ah mcp --agent NAME` serves an agent with its own token"))
        }
    }
}

/// The session that the environment names.
fn session(environment: &Environment) -> Option<String> {
    let set = |name: &&str| environment.var(name).filter(|text| !text.is_empty());
    SESSION_VARIABLES.iter().find_map(set).map(str::to_owned)
}
