//! Approvals. Agents ask for themselves and take back what they asked; only the operator decides.

use ah_model::{
    Approval, ApprovalDiff, ApprovalFilter, ApprovalId, Decision, NewApproval, Page, Party, Verdict,
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::auth::{Caller, forbidden};
use crate::extract::{JsonBody, Pairs, PathId, Spoken};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let (look, act) = (Access::OVERSEE.of_party(), Access::OPERATE.of_party());
    Routes::new()
        .post("/approvals", act, about_new(), request)
        .get("/approvals", look, about_list(), list)
        .get("/approvals/{id}", look, about("Shows an approval").fails([404]), show)
        .get("/approvals/{id}/diff", look, about_diff(), diff)
        .get("/approval-ids", Access::OVERSEE, about_ids(), ids)
        .post("/approvals/{id}/decision", act, about_decision(), decide)
        .post("/approvals/{id}/carried-out", Access::OPERATE, about_carrying_out(), carried_out)
}

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Approval>(200)
}

fn about_new() -> Doc {
    doc("Asks for an approval").answers::<Approval>(201).fails([404, 409])
}

fn about_list() -> Doc {
    let doc = doc("Approvals, newest first; an agent's own").query(params::approvals());
    doc.query(params::page()).answers::<Page<Approval>>(200)
}

fn about_diff() -> Doc {
    let doc = doc("What the pinned commit of an approval changes");
    doc.answers::<ApprovalDiff>(200).fails([404, 409])
}

fn about_ids() -> Doc {
    let doc = doc("The ids of approvals that begin so, at most two");
    doc.query([params::prefix()]).answers::<Items<ApprovalId>>(200)
}

fn about_decision() -> Doc {
    about("Decides an approval; an agent may only withdraw it").fails([404, 409])
}

fn about_carrying_out() -> Doc {
    about("Notes that what was approved was done, or why not yet").fails([404, 409])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "CarryingOut")]
struct CarriedOut {
    /// Why it has not worked yet; it was done when absent.
    #[serde(default)]
    problem: Option<String>,
}

async fn request(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(new, _share): JsonBody<NewApproval, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    caller.must_be_agent(&new.agent, "ask for approvals about")?;
    created(&state.host_call(|host| host.request_approval(new)).await?)
}

async fn list(State(state): State<ServerState>, caller: Caller, pairs: Pairs) -> Answer {
    pairs.only(params::approvals().into_iter().chain(params::page()))?;
    let (mut filter, page) = (pairs.read::<ApprovalFilter>()?, pairs.read()?);
    if let Some(party) = caller.party() {
        filter.agent.iter().try_for_each(|name| caller.must_be_agent(name, LOOK))?;
        filter.agent = Some(party.into());
    }
    ok(&state.call(|store| async move { store.list_approvals(filter, page).await }).await?)
}

async fn show(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<ApprovalId>,
) -> Answer {
    ok(&own(&state, &caller, id).await?)
}

async fn diff(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<ApprovalId>,
) -> Answer {
    own(&state, &caller, id.clone()).await?;
    ok(&state.host_call(|host| host.approval_diff(id)).await?)
}

async fn ids(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let prefix = pairs.text("prefix")?;
    let ids = state.call(|store| async move { store.approval_ids_with_prefix(prefix).await });
    ok(&Items { items: ids.await? })
}

async fn decide(
    State(state): State<ServerState>,
    caller: Caller,
    PathId(id): PathId<ApprovalId>,
    JsonBody(decision, _share): JsonBody<Spoken<Decision>>,
) -> Answer {
    let mut decision = decision.by(&caller);
    if caller.agent().is_some() {
        check_withdrawal(&caller, &decision)?;
        own(&state, &caller, id.clone()).await?;
    }
    caller.sign(&decision.by, &mut decision.resolver)?;
    ok(&state.host_call(|host| host.decide(id, decision)).await?)
}

async fn carried_out(
    State(state): State<ServerState>,
    PathId(id): PathId<ApprovalId>,
    JsonBody(CarriedOut { problem }, _share): JsonBody<CarriedOut>,
) -> Answer {
    ok(&state.call(|store| async move { store.carried_out(id, problem).await }).await?)
}

/// What an agent does only with its own approvals.
const LOOK: &str = "see the approvals of";

/// The approval, unless the caller is another agent than it is about.
pub(super) async fn own(
    state: &ServerState,
    caller: &Caller,
    id: ApprovalId,
) -> Result<Approval, Failure> {
    let approval = state.call(|store| async move { store.approval(id).await }).await?;
    caller.must_be_agent(&approval.agent, LOOK)?;
    Ok(approval)
}

/// Refuses what an agent may not decide.
fn check_withdrawal(caller: &Caller, decision: &Decision) -> Result<(), Failure> {
    if decision.verdict != Verdict::Withdrawn || decision.by == Party::Operator {
        let detail = "only the operator decides; an agent may withdraw what is about itself";
        return Err(forbidden(detail.to_owned()));
    }
    caller.must_be(&decision.by, "withdraw as")
}
