//! What the manager does with others.

use ah_model::{
    AgentKindRef, Approval, Lifecycle, NewAgent, NewApproval, NewRepo, NewSession, RawJson, SPAWN,
    Session, Vcs,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::agents::Listed;
use super::approval::requested;
use super::shape::WaitSeconds;
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::caller::MANAGER;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about =
        |name, title, text, effect| About { name, title, text, needs: Powers::Manager, effect };
    vec![
        Tool::new(about("spawn", "Spawn an agent", SPAWN_TEXT, Effect::Adds), spawn),
        Tool::new(about("start", "Start an agent", START, Effect::Settles), start),
        Tool::new(about("stop", "Stop an agent", STOP, Effect::Settles), stop),
        Tool::new(about("destroy", "Destroy an agent", DESTROY, Effect::Ends), destroy),
    ]
}

const SPAWN_TEXT: &str = "Ask the operator for an agent: a new one (give kind), or one that was \
    destroyed, with all that it had. It exists once the approval is approved and carried out; look \
    with `approval_status`.";
const START: &str = "Wake a sleeping agent, so that it handles its mail.";
const STOP: &str = "Put an agent to sleep and ask its session to stop. Its mail waits.";
const DESTROY: &str = "Destroy an agent: it stops, its pending approvals fail, its state is kept. \
    It can be spawned again. Protected agents refuse.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SpawnInput {
    /// 1 to 64 letters, digits and `._-`, beginning with a letter or digit.
    name: String,
    /// The program, as `claude-code` or `codex@1.2`; not needed for one that was destroyed.
    #[serde(default)]
    kind: Option<String>,
    /// The absolute path it works in; where you work when absent.
    #[serde(default)]
    directory: Option<String>,
    /// The model it runs on.
    #[serde(default)]
    model: Option<String>,
    /// Why, for the operator.
    #[serde(default)]
    reason: Option<String>,
    /// How long to wait for the decision; 0 to 240, 0 when absent.
    #[serde(default = "WaitSeconds::none")]
    wait_seconds: WaitSeconds,
}

async fn spawn(act: Act, input: SpawnInput) -> Result<Approval, Failure> {
    let SpawnInput { name, kind, directory, model, reason, wait_seconds } = input;
    let wait = wait_seconds.duration()?;
    let mut new = NewApproval { reason, ..NewApproval::new(name.clone(), SPAWN) };
    if let Some(kind) = kind {
        let kind: AgentKindRef = kind.parse()?;
        let session = NewSession::new(repo(&act, directory).await?, kind);
        let agent = NewAgent { model, ..NewAgent::new(name, session) };
        agent.check()?;
        new.details = RawJson::of(&json!({ "agent": agent }))?;
    } else if !is_destroyed(&act, &name).await? {
        return Err(Failure::invalid("kind", "name the program of a new agent"));
    }
    requested(&act, new, wait).await
}

async fn is_destroyed(act: &Act, name: &str) -> Result<bool, Failure> {
    let name = name.to_owned();
    let found = act.call(|store| async move { store.agent_of_name(name).await }).await?;
    Ok(found.is_some_and(|agent| agent.destroyed_at.is_some()))
}

/// Where a new agent works: in that directory, else where the manager does.
async fn repo(act: &Act, directory: Option<String>) -> Result<NewRepo, Failure> {
    if let Some(directory) = directory {
        let root_path = Some(directory);
        return Ok(NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None });
    }
    let manager = act.agent(act.caller.name().unwrap_or(MANAGER)).await?;
    let Some(id) = manager.active_session_id else {
        return Err(Failure::invalid("directory", "say where the agent works"));
    };
    let session: Session = act.call(|store| async move { store.session(id).await }).await?;
    Ok(session.repo)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NameInput {
    /// The agent's name.
    name: String,
}

async fn start(act: Act, input: NameInput) -> Result<Listed, Failure> {
    set_lifecycle(&act, &input.name, Lifecycle::Active).await
}

async fn stop(act: Act, input: NameInput) -> Result<Listed, Failure> {
    let agent = set_lifecycle(&act, &input.name, Lifecycle::Sleeping).await?;
    if let Some(id) = act.agent(&input.name).await?.active_session_id {
        let session = id.clone();
        let session = act.call(|store| async move { store.session(session).await }).await?;
        if !session.status.is_finished() {
            act.call(|store| async move { store.stop_session(id).await }).await?;
        }
    }
    Ok(agent)
}

async fn set_lifecycle(act: &Act, name: &str, lifecycle: Lifecycle) -> Result<Listed, Failure> {
    let id = act.agent(name).await?.id;
    let agent =
        act.call(move |store| async move { store.set_agent_lifecycle(id, lifecycle).await });
    Ok(agent.await?.into())
}

async fn destroy(act: Act, input: NameInput) -> Result<Listed, Failure> {
    let id = act.agent(&input.name).await?.id;
    Ok(act.call(|store| async move { store.destroy_agent(id).await }).await?.into())
}
