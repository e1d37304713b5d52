//! What only the operator does.

use std::collections::BTreeMap;

use ah_model::{
    AgentFilter, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Decision, Lifecycle,
    MessageFilter, MessageStatus, PageLimit, PageRequest, Party, QuestionFilter, QuestionStatus,
    Receipt, Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::Powers;
use crate::mcp::act::Act;
use crate::mcp::tool::{About, Effect, Tool};
use crate::problem::Failure;

pub(super) fn tools() -> Vec<Tool> {
    let about =
        |name, title, text, effect| About { name, title, text, needs: Powers::Admin, effect };
    vec![
        Tool::new(about("decide_approval", "Decide an approval", DECIDE, Effect::Settles), decide),
        Tool::new(about("revive", "Revive an agent", REVIVE, Effect::Settles), revive),
        Tool::new(about("purge", "Purge an agent", PURGE, Effect::Ends), purge),
        Tool::new(about("status", "Status of the harbor", STATUS, Effect::Reads), status),
    ]
}

const DECIDE: &str = "Decide an approval, as the operator: approved or denied. What was approved is \
    carried out. The same decision again changes nothing; another one is refused.";
const REVIVE: &str = "Ask for an agent that was destroyed, with all that it had: queues a spawn \
    approval to be decided.";
const PURGE: &str = "Remove an agent for good: its mail, questions, approvals, sessions, tokens and \
    files. There is no way back. The name is free afterwards.";
const STATUS: &str = "What waits in the harbor: agents, pending approvals, open questions to the \
    operator, mail for the operator, messages that were given up.";

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DecideInput {
    approval_id: ApprovalId,
    /// `approved`, `denied` or `failed`.
    verdict: Verdict,
    /// Why; the agent reads it.
    #[serde(default)]
    note: Option<String>,
}

async fn decide(act: Act, input: DecideInput) -> Result<Approval, Failure> {
    let DecideInput { approval_id: id, verdict, note } = input;
    let resolver = Some(act.holder());
    let decision = Decision { verdict, by: Party::Operator, resolver, note };
    act.host(|host| host.decide(id, decision)).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReviveInput {
    /// The agent's name.
    name: String,
}

async fn revive(act: Act, input: ReviveInput) -> Result<Approval, Failure> {
    let id = act.agent(&input.name).await?.id;
    act.call(|store| async move { store.revive_agent(id).await }).await
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PurgeInput {
    /// The agent's name.
    name: String,
    /// The name again: there is no way back.
    confirm: String,
}

async fn purge(act: Act, input: PurgeInput) -> Result<Receipt, Failure> {
    if input.confirm != input.name {
        return Err(Failure::invalid("confirm", "must be the agent's name again"));
    }
    let id = act.agent(&input.name).await?.id;
    let agent = id.clone();
    act.call(|store| async move { store.destroy_agent(agent).await }).await?;
    loop {
        let agent = id.clone();
        let step = act.host(|host| host.purge_step(agent)).await?;
        if !step.more {
            return Ok(step.receipt);
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatusInput {}

/// Counts; those that end with a full page are at least that many.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Status {
    active_agents: Count,
    sleeping_agents: Count,
    pending_approvals: Count,
    /// Asked of the operator.
    open_questions: Count,
    /// To the operator, not yet received.
    mail: Count,
    /// Given up.
    dead_messages: Count,
    /// Agents that have no socket, and why.
    without_socket: BTreeMap<String, String>,
}

/// How many there are.
#[derive(Serialize, JsonSchema)]
struct Count {
    count: usize,
    /// Whether there are more.
    more: bool,
}

macro_rules! counted {
    ($act:expr, $list:ident, $filter:expr) => {{
        let (filter, page) = ($filter, PageRequest { limit: PageLimit::MAX, cursor: None });
        let page = $act.call(|store| async move { store.$list(filter, page).await }).await?;
        Count { count: page.items.len(), more: page.next_cursor.is_some() }
    }};
}

async fn status(act: Act, _: StatusInput) -> Result<Status, Failure> {
    let agents = |lifecycle| AgentFilter { lifecycles: vec![lifecycle], ..AgentFilter::default() };
    let mail = |status| MessageFilter { statuses: vec![status], ..MessageFilter::default() };
    let operator = Some(Party::Operator);
    Ok(Status {
        active_agents: counted!(act, list_agents, agents(Lifecycle::Active)),
        sleeping_agents: counted!(act, list_agents, agents(Lifecycle::Sleeping)),
        pending_approvals: counted!(
            act,
            list_approvals,
            ApprovalFilter { statuses: vec![ApprovalStatus::Pending], ..ApprovalFilter::default() }
        ),
        open_questions: counted!(
            act,
            list_questions,
            QuestionFilter {
                statuses: vec![QuestionStatus::Open],
                to: operator.clone(),
                ..QuestionFilter::default()
            }
        ),
        mail: counted!(
            act,
            list_messages,
            MessageFilter { to: operator, ..mail(MessageStatus::Queued) }
        ),
        dead_messages: counted!(act, list_messages, mail(MessageStatus::Dead)),
        without_socket: act.state.mcp.without_socket(),
    })
}
