//! `/agents`: blueprints, written and read.

use ah_model::RawJson;
use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::blueprint::{self, Blueprint, Members, text_member};
use super::demands::AskedDemands;
use super::detail::{Answer, Detail};
use super::given::{Asked, Given, PathName, object, read_as};
use super::parameters::capability_not_found;
use super::words;
use crate::answer::{created, no_content, ok};
use crate::state::ServerState;

/// Longest name of a blueprint.
const NAME_BYTES_MAX: usize = 60;

/// Parts that a change of a blueprint does not reach.
const FIXED: [&str; 5] = ["name", "status", "created_at", "modified_at", "runner_id"];

fn not_found(name: &str) -> Detail {
    Detail::text(404, format!("Agent not found: {name}"))
}

fn check_name(name: &str) -> Result<(), Detail> {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let text = if name.is_empty() {
        "Agent name is required"
    } else if name.len() > NAME_BYTES_MAX {
        "Agent name must be 60 characters or less"
    } else if !name.starts_with(plain) || !name.chars().all(|c| plain(c) || "_-".contains(c)) {
        "Agent name must start with letter/number and contain only alphanumeric characters, \
         hyphens, and underscores"
    } else if name == words::UNNAMED {
        "Agent name stands for sessions without an agent"
    } else {
        return Ok(());
    };
    Err(Detail::text(400, text))
}

pub(super) async fn list(State(state): State<ServerState>, asked: Asked) -> Answer {
    let tags = asked.0.get("tags").unwrap_or_default().split(',').map(str::trim);
    let wanted: Vec<&str> = tags.filter(|tag| !tag.is_empty()).collect();
    let agents = state.call(|store| async move { blueprint::all(&*store).await }).await?;
    let has_all = |agent: &&Blueprint| {
        let tags = agent.tags();
        wanted.iter().all(|wanted| tags.iter().any(|tag| tag == wanted))
    };
    let shapes: Vec<Members> = agents.iter().filter(has_all).map(Blueprint::shape).collect();
    Ok(ok(&shapes)?)
}

/// The parts of a blueprint that are of a type; the others may be anything.
#[derive(Deserialize)]
#[expect(dead_code, reason = "parts of another type are refused")]
struct Typed {
    description: Option<String>,
    r#type: Option<AgentType>,
    system_prompt: Option<String>,
    script: Option<String>,
    tags: Option<Vec<String>>,
    skills: Option<Vec<String>>,
    capabilities: Option<Vec<String>>,
    #[serde(default, deserialize_with = "object")]
    demands: Option<AskedDemands>,
    #[serde(default, deserialize_with = "object")]
    mcp_servers: Option<Members>,
    #[serde(default, deserialize_with = "object")]
    parameters_schema: Option<Members>,
    #[serde(default, deserialize_with = "object")]
    output_schema: Option<Members>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AgentType {
    Autonomous,
    Procedural,
}

/// Reads a blueprint, or a part of one.
fn read_parts(body: &RawJson) -> Result<Members, Detail> {
    let Typed { .. } = read_as(body)?;
    read_as(body)
}

/// What a blueprint needs.
#[derive(Deserialize)]
struct NewAgent {
    name: String,
    #[expect(dead_code, reason = "an agent without a description is refused")]
    description: String,
}

pub(super) async fn create(
    State(state): State<ServerState>,
    Given(body, _share): Given<RawJson>,
) -> Answer {
    let NewAgent { name, .. } = read_as(&body)?;
    check_name(&name)?;
    let mut members = read_parts(&body)?;
    members.remove("runner_id");
    let now = words::time(state.options.clock.now());
    for (part, text) in [("status", "active"), ("created_at", &now), ("modified_at", &now)] {
        members.extend(text_member(part, text));
    }
    let kept = state.call(|store| async move {
        if blueprint::find(&*store, &name).await?.is_some() {
            return Ok(Err(name));
        }
        blueprint::keep(&*store, &name, &members).await?;
        Ok(Ok(members))
    });
    match kept.await? {
        Ok(members) => Ok(created(&Blueprint { members, owner: None }.shape())?),
        Err(name) => Err(Detail::text(409, format!("Agent already exists: {name}"))),
    }
}

pub(super) async fn show(
    State(state): State<ServerState>,
    PathName(name): PathName,
    asked: Asked,
) -> Answer {
    let raw = asked.flag("raw", false)?;
    let wanted = name.clone();
    let found = state.call(|store| async move { blueprint::find(&*store, &wanted).await }).await?;
    let agent = found.ok_or_else(|| not_found(&name))?;
    match agent.missing_capability().filter(|_| !raw) {
        Some(capability) => Err(capability_not_found(422, &capability)),
        None => Ok(ok(&agent.shape())?),
    }
}

pub(super) async fn update(
    State(state): State<ServerState>,
    PathName(name): PathName,
    Given(body, _share): Given<RawJson>,
) -> Answer {
    let mut changes = read_parts(&body)?;
    changes.retain(|part, value| !FIXED.contains(&part.as_str()) && value.as_str() != "null");
    change(&state, name, changes).await
}

/// Whether an agent is offered to others.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AgentStatus {
    Active,
    Inactive,
}

#[derive(Deserialize)]
pub(super) struct NewStatus {
    status: AgentStatus,
}

pub(super) async fn set_status(
    State(state): State<ServerState>,
    PathName(name): PathName,
    Given(NewStatus { status }, _share): Given<NewStatus>,
) -> Answer {
    let changes = Members::from([("status".to_owned(), RawJson::of(&status)?)]);
    change(&state, name, changes).await
}

/// Puts `changes` over the blueprint of that name.
async fn change(state: &ServerState, name: String, mut changes: Members) -> Answer {
    changes.extend(text_member("modified_at", &words::time(state.options.clock.now())));
    let wanted = name.clone();
    let changed = state.call(|store| async move {
        let Some(mut agent) = blueprint::find_kept(&*store, &wanted).await? else {
            return Ok(None);
        };
        agent.members.extend(changes);
        blueprint::keep(&*store, &wanted, &agent.members).await?;
        Ok(Some(agent))
    });
    let agent = changed.await?.ok_or_else(|| not_found(&name))?;
    Ok(ok(&agent.shape())?)
}

pub(super) async fn remove(State(state): State<ServerState>, PathName(name): PathName) -> Answer {
    let wanted = name.clone();
    let gone = state.call(|store| async move { blueprint::forget(&*store, &wanted).await });
    match gone.await? {
        true => Ok(no_content()?),
        false => Err(not_found(&name)),
    }
}
