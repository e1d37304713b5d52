//! Who there is, and who one is oneself.

use ah_model::{Agent, AgentFilter, Lifecycle, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::shape::{Items, PageInput};
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about = |name, title, text| About {
        name,
        title,
        text,
        needs: Powers::Agent,
        effect: Effect::Reads,
    };
    vec![
        Tool::new(about("whoami", "Who am I", WHOAMI), whoami),
        Tool::new(about("list_agents", "List agents", LIST), list),
    ]
}

const WHOAMI: &str = "Who you are here: your name, your session as far as it is known, and what you \
    may do.";
const LIST: &str = "List the agents that you can write to or ask, with what they are. The operator \
    is always there and is called `operator`.";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WhoamiInput {}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Whoami {
    /// The agent's name, or `operator`.
    name: String,
    /// What you may do.
    powers: Powers,
    /// The session of your program, from its start, its environment or this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// This call, as your program names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<String>,
    /// The session of yours that is kept here and goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    active_session_id: Option<SessionId>,
}

async fn whoami(act: Act, _: WhoamiInput) -> Result<Whoami, Failure> {
    let active_session_id = match act.caller.name() {
        Some(name) => act.agent(name).await?.active_session_id,
        None => None,
    };
    Ok(Whoami {
        name: act.party(None)?.to_string(),
        powers: act.caller.powers(),
        session: act.caller.session().map(str::to_owned),
        tool_call: act.tool_call,
        active_session_id,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListInput {
    /// Also those that are dead; they get no mail.
    #[serde(default)]
    dead: bool,
    #[serde(default)]
    page: PageInput,
}

/// An agent as others see it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Listed {
    name: String,
    /// The program it is an instance of.
    kind: String,
    #[serde(rename = "type")]
    agent_type: String,
    /// active, sleeping or dead.
    lifecycle: Lifecycle,
    /// Whether it refuses to be destroyed.
    protected: bool,
    /// Whether it was destroyed; it can be spawned again.
    destroyed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
}

impl From<Agent> for Listed {
    fn from(agent: Agent) -> Self {
        Self {
            name: agent.name,
            kind: agent.kind.to_string(),
            agent_type: agent.agent_type.as_str().to_owned(),
            lifecycle: agent.lifecycle,
            protected: agent.protected,
            destroyed: agent.destroyed_at.is_some(),
            model: agent.model,
        }
    }
}

async fn list(act: Act, input: ListInput) -> Result<Items<Listed>, Failure> {
    let lifecycles = match input.dead {
        true => Vec::new(),
        false => vec![Lifecycle::Active, Lifecycle::Sleeping],
    };
    let filter = AgentFilter { lifecycles, ..AgentFilter::default() };
    let page = input.page.request()?;
    let found = act.call(|store| async move { store.list_agents(filter, page).await }).await?;
    Ok(Items::of(found, Listed::from))
}
