//! The parameters of a run, checked before anything is written.

use ah_model::{RawJson, RunKind};
use serde::Serialize;
use serde_json::{Value, json};

use super::blueprint::Blueprint;
use super::detail::Detail;
use super::schema::{Mistake, mistakes};
use super::shape::EXTRAS_KEY;

/// Why parameters are refused.
#[derive(Serialize)]
struct Refusal {
    error: &'static str,
    message: &'static str,
    agent_name: Option<String>,
    validation_errors: Vec<Mistake>,
    parameters_schema: Value,
}

/// Without a schema of its own an agent is given a prompt and nothing else.
fn prompt_only() -> Value {
    json!({
        "type": "object",
        "required": ["prompt"],
        "properties": { "prompt": { "type": "string", "minLength": 1 } },
        "additionalProperties": false,
    })
}

/// Refuses `parameters` that the agent does not take. A resume is always a prompt.
pub(super) fn check(
    parameters: &RawJson,
    kind: RunKind,
    agent_name: Option<&str>,
    blueprint: Option<&Blueprint>,
) -> Result<(), Detail> {
    let own = blueprint.filter(|_| kind == RunKind::Start);
    let any = || json!({ "type": "object" });
    let schema = match own {
        Some(own) if own.is_procedural() => own.parameters_schema().unwrap_or_else(any),
        Some(own) => own.parameters_schema().unwrap_or_else(prompt_only),
        None => prompt_only(),
    };
    let misread = |error: serde_json::Error| Detail::misfit(&error.to_string());
    let value: Value = parameters.read().map_err(misread)?;
    if value.get(EXTRAS_KEY).is_some() {
        let place = ["body", "parameters", EXTRAS_KEY];
        return Err(Detail::invalid(&place, "value_error", "this key is the server's own"));
    }
    let validation_errors = mistakes(&schema, &value);
    if validation_errors.is_empty() {
        return Ok(());
    }
    let refusal = Refusal {
        error: "parameter_validation_failed",
        message: "Parameters do not match agent's parameters_schema",
        agent_name: agent_name.map(str::to_owned),
        validation_errors,
        parameters_schema: schema,
    };
    Err(Detail::new(400, json!(refusal)))
}

/// Refuses what an agent cannot do, or cannot do here.
pub(super) fn check_agent(blueprint: &Blueprint, kind: RunKind) -> Result<(), Detail> {
    let agent_name = blueprint.name();
    let refusal = |error: &str, message: String| {
        Detail::new(400, json!({ "error": error, "message": message, "agent_name": agent_name }))
    };
    if kind == RunKind::Resume && blueprint.is_procedural() {
        let message = "Procedural agents are stateless and cannot be resumed".to_owned();
        return Err(refusal("procedural_agent_no_resume", message));
    }
    if let Some(script) = blueprint.get::<String>("script") {
        let message = format!("Script not found: {script}; this server keeps no scripts");
        return Err(refusal("script_not_found", message));
    }
    if let Some(server) = blueprint.server_reference() {
        let message = format!("MCP server not found: {server}; this server keeps no registry");
        return Err(refusal("mcp_ref_resolution_failed", message));
    }
    match blueprint.missing_capability() {
        Some(name) => Err(capability_not_found(400, &name)),
        None => Ok(()),
    }
}

/// The refusal of an agent that refers to a capability.
pub(super) fn capability_not_found(status: u16, name: &str) -> Detail {
    Detail::text(status, format!("Capability resolution failed: {name} not found"))
}
