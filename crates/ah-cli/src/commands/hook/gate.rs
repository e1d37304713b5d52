//! Permission requests as approvals: the operator decides instead of a dialog nobody sees.

use std::sync::Arc;
use std::time::Duration;

use ah_import::{HookCall, HookTool};
use ah_model::limits::AGENT_JSON_BYTES_MAX;
use ah_model::{
    Approval, ApprovalId, ApprovalStatus, Awaited, Decision, NewApproval, Party, RawJson, Verdict,
};
use ah_store::{Store, block_on};
use serde_json::{Value, json};

use super::{Args, print};
use crate::app::App;
use crate::cli::GlobalArgs;
use crate::commands::waiting;
use crate::environment::Environment;
use crate::error::CommandError;

/// What such an approval asks for.
const KIND: &str = "permission";
/// The hook that asks.
const REQUEST: &str = "PermissionRequest";
/// How long the program waits for the hook, in seconds, as it is installed.
pub(crate) const TIMEOUT_SECONDS: u64 = 600;
/// The answer must be there before the program gives up on it.
const WAIT: Duration = Duration::from_secs(TIMEOUT_SECONDS - 10);
/// Longest reason that is shown in lists.
const REASON_CHARS: usize = 300;

/// Whether the operator is to decide what the call asks.
pub(super) fn is_asked(args: &Args, call: &HookCall) -> bool {
    args.approvals
        && matches!(args.kind, HookTool::ClaudeCode | HookTool::Codex)
        && call.event().is_ok_and(|event| event.name == REQUEST)
}

/// Asks the operator and prints the decision. Without one, or with any trouble, nothing is printed:
/// the program then asks in its own way.
pub(super) fn wait(args: &Args, global: &GlobalArgs, environment: &Environment, call: &HookCall) {
    let app = App::new(global.clone(), environment.clone());
    if let Ok(Some(answer)) = decide(&app, args, call) {
        print(&answer);
    }
}

fn decide(app: &App, args: &Args, call: &HookCall) -> Result<Option<Value>, CommandError> {
    let store: Arc<dyn Store> = Arc::from(app.store()?);
    let agent = args.agent.as_deref().unwrap_or(args.kind.as_str());
    let asked = block_on(store.request_approval(request(agent, call)))?;
    let id = asked.id;
    let look = || {
        let approval = block_on(store.approval(id.clone()))?;
        Ok(Some(approval).filter(|approval| approval.status != ApprovalStatus::Pending))
    };
    let decided = waiting::until(&store, Awaited::Approval(id.clone()), Some(WAIT), look)?;
    let Some(approval) = decided else {
        withdraw(&*store, &id, agent);
        return Ok(None);
    };
    Ok(answer(&approval))
}

fn request(agent: &str, call: &HookCall) -> NewApproval {
    let said: Value = call.payload.read().unwrap_or_default();
    let tool = said["tool_name"].as_str().unwrap_or("a tool");
    let input = said["tool_input"].to_string();
    let reason: String = format!("{tool} {input}").chars().take(REASON_CHARS).collect();
    let details = json!({
        "tool": call.tool.as_str(),
        "sessionId": said["session_id"],
        "cwd": said["cwd"],
        "toolName": said["tool_name"],
        "toolInput": said["tool_input"],
    });
    let details = RawJson::of(&details).ok();
    let details = details.filter(|details| details.as_str().len() <= AGENT_JSON_BYTES_MAX);
    NewApproval {
        reason: Some(reason),
        details: details.unwrap_or_else(RawJson::empty_object),
        ..NewApproval::new(agent, KIND)
    }
}

/// Nobody waits for it any more.
fn withdraw(store: &dyn Store, id: &ApprovalId, agent: &str) {
    let decision = Decision {
        verdict: Verdict::Withdrawn,
        by: Party::Agent(agent.to_owned()),
        resolver: None,
        note: Some("nobody decided in time".to_owned()),
    };
    // One that was decided just now stays decided.
    let _ = block_on(store.decide_approval(id.clone(), decision));
}

/// What the program is told; nothing when the operator has not said yes or no.
fn answer(approval: &Approval) -> Option<Value> {
    let decision = match approval.status {
        ApprovalStatus::Approved => json!({ "behavior": "allow" }),
        ApprovalStatus::Denied => {
            let note = approval.note.as_deref().unwrap_or("the operator refused it");
            json!({ "behavior": "deny", "message": note })
        }
        ApprovalStatus::Pending | ApprovalStatus::Failed | ApprovalStatus::Withdrawn => {
            return None;
        }
    };
    let output = json!({ "hookEventName": REQUEST, "decision": decision });
    Some(json!({ "hookSpecificOutput": output }))
}
