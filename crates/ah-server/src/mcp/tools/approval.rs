//! Approvals: ask for one, see how it stands, take it back, look.

use std::time::Duration;

use ah_model::{
    Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Awaited, Decision, NewApproval, Party,
    RawJson, SPAWN, Verdict,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::shape::{Items, PageInput, WaitSeconds};
use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::caller::forbidden;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about =
        |name, title, text, effect| About { name, title, text, needs: Powers::Agent, effect };
    vec![
        Tool::new(about("request_approval", "Request an approval", REQUEST, Effect::Adds), request),
        Tool::new(
            about("approval_status", "Status of an approval", STATUS, Effect::Settles),
            status,
        ),
        Tool::new(
            about("withdraw_approval", "Withdraw an approval", WITHDRAW, Effect::Ends),
            withdraw,
        ),
        Tool::new(about("list_approvals", "List approvals", LIST, Effect::Reads), list),
    ]
}

const REQUEST: &str = "Ask the operator to allow something before you do it. Kind apply_commit \
    makes a commit of your configuration repository the one in force: give commitRef (a branch, tag \
    or hash); exactly that commit is pinned now. Any other word names what you want to do; say why \
    in reason. While status is `pending`, do not do it: go on with other work and look again with \
    `approval_status`; the decision also comes by mail.";
const STATUS: &str = "How an approval that you asked for stands: pending, approved, denied (note \
    says why), failed, withdrawn. Give waitSeconds to wait for the decision.";
const WITHDRAW: &str = "Take back an approval that you asked for and that is still pending.";
const LIST: &str = "List approvals that are about you, newest first.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RequestInput {
    /// `apply_commit`, or any other word of a-z, 0-9, `_`, `-`.
    kind: String,
    /// Why, for the operator.
    #[serde(default)]
    reason: Option<String>,
    /// Of an apply_commit: the branch, tag or hash.
    #[serde(default)]
    commit_ref: Option<String>,
    /// What else there is to know.
    #[serde(default)]
    details: Map<String, Value>,
    /// How long to wait for the decision; 0 to 240, 0 when absent.
    #[serde(default = "WaitSeconds::none")]
    wait_seconds: WaitSeconds,
    /// Whom it is about. Leave it out: you are known. Only the operator may name another.
    #[serde(default)]
    agent: Option<String>,
}

async fn request(act: Act, input: RequestInput) -> Result<Approval, Failure> {
    let RequestInput { kind, reason, commit_ref, details, wait_seconds, agent } = input;
    let wait = wait_seconds.duration()?;
    let Party::Agent(agent) = act.party(agent.as_deref())? else {
        return Err(Failure::invalid("agent", "name the agent that it is about"));
    };
    if kind == SPAWN {
        return Err(Failure::invalid("kind", "an agent is asked for with the tool `spawn`"));
    }
    let details = RawJson::of(&details)?;
    let new = NewApproval { reason, commit_ref, details, ..NewApproval::new(agent, kind) };
    requested(&act, new, wait).await
}

/// Asks for it, and waits for the decision.
pub(super) async fn requested(
    act: &Act,
    new: NewApproval,
    wait: Duration,
) -> Result<Approval, Failure> {
    let approval = act.host(|host| host.request_approval(new)).await?;
    // It is asked for, whatever happens to the wait: its id must come back.
    Ok(decided(act, &approval.id, wait).await.unwrap_or(approval))
}

/// The approval once it is decided, else as it is after the wait. Who learns here how it was decided
/// needs no notice of it.
async fn decided(act: &Act, id: &ApprovalId, wait: Duration) -> Result<Approval, Failure> {
    let look = || read(act, id);
    let over = |approval: &Approval| approval.status != ApprovalStatus::Pending;
    let approval = act.look_until(Awaited::Approval(id.clone()), wait, look, over).await?;
    if over(&approval) && act.caller.party(Some(&approval.agent)).is_ok() {
        let (to, about) = (Party::Agent(approval.agent.clone()), approval.id.to_string());
        // A notice that stays is read twice, which does no harm.
        let _ = act.call(|store| async move { store.dismiss_notices(to, about).await }).await;
    }
    Ok(approval)
}

async fn read(act: &Act, id: &ApprovalId) -> Result<Approval, Failure> {
    let id = id.clone();
    act.call(|store| async move { store.approval(id).await }).await
}

/// The approval, unless it is about somebody else.
async fn own(act: &Act, id: &ApprovalId) -> Result<Approval, Failure> {
    let approval = read(act, id).await?;
    if act.caller.sees(&[&approval.agent]) {
        return Ok(approval);
    }
    Err(forbidden(format!("approval {id} is not about you")))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StatusInput {
    approval_id: ApprovalId,
    /// How long to wait while it is pending; 0 to 240, 0 when absent.
    #[serde(default = "WaitSeconds::none")]
    wait_seconds: WaitSeconds,
}

async fn status(act: Act, input: StatusInput) -> Result<Approval, Failure> {
    let wait = input.wait_seconds.duration()?;
    let approval = own(&act, &input.approval_id).await?;
    decided(&act, &approval.id, wait).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WithdrawInput {
    approval_id: ApprovalId,
    /// Why.
    #[serde(default)]
    note: Option<String>,
}

async fn withdraw(act: Act, input: WithdrawInput) -> Result<Approval, Failure> {
    let WithdrawInput { approval_id: id, note } = input;
    let by = act.party(None)?;
    own(&act, &id).await?;
    let decision = Decision { verdict: Verdict::Withdrawn, by, resolver: Some(act.holder()), note };
    act.host(|host| host.decide(id, decision)).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListInput {
    /// Only in one of these: pending, approved, denied, failed, withdrawn.
    #[serde(default)]
    statuses: Vec<ApprovalStatus>,
    #[serde(default)]
    page: PageInput,
    /// Whose. Leave it out: you are known. The manager and the operator may name others.
    #[serde(default)]
    agent: Option<String>,
}

async fn list(act: Act, input: ListInput) -> Result<Items<Approval>, Failure> {
    let ListInput { statuses, page, agent } = input;
    let agent = match act.caller.powers() {
        Powers::Agent => Some(act.party(agent.as_deref())?.to_string()),
        Powers::Manager | Powers::Admin => agent,
    };
    let filter = ApprovalFilter { statuses, agent, ..ApprovalFilter::default() };
    let page = page.request()?;
    let found = act.call(|store| async move { store.list_approvals(filter, page).await }).await?;
    Ok(Items::of(found, |approval| approval))
}
