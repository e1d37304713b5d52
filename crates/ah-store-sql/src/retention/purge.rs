//! What belonged to a destroyed agent, and in the last step the agent itself.

use ah_model::{Agent, AgentId, ChangeKind, ReceiptKind, RemovalStep, SessionId};
use ah_store::StoreError;

use super::budget::{Budget, NO_BYTES, Part};
use super::{receipt, session as removal};
use crate::resources::Resources;
use crate::tx::{Dialect, Tx, query_all};
use crate::{agent, change, message, names, session};

/// What the agent got.
fn messages(dialect: Dialect) -> Part {
    Part {
        class: "messages",
        table: "messages",
        key: "number",
        bytes: "CAST(octet_length(body) AS bigint)",
        which: message::to_party(dialect),
        order: "number",
    }
}

/// What else is found by the agent's name, in any case of its letters.
const BY_NAME: &[Part] = &[
    Part {
        class: "approvals",
        table: "approvals",
        key: "number",
        bytes: NO_BYTES,
        which: "lower(agent) = $1",
        order: "number",
    },
    Part {
        class: "questions",
        table: "questions",
        key: "number",
        bytes: NO_BYTES,
        which: "(lower(asker) = $1 OR lower(target) = $1)",
        order: "number",
    },
    Part {
        class: "tokens",
        table: "tokens",
        key: "id",
        bytes: NO_BYTES,
        which: "lower(agent) = $1",
        order: "id",
    },
];

/// Removes what fits one step. Nobody addresses anything to the agent meanwhile.
pub(super) fn step(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &AgentId,
) -> Result<RemovalStep, StoreError> {
    let name = agent::get(tx, id, session::Access::Read)?.name;
    let receipt = receipt::open(tx, ctx, ReceiptKind::Purge, Some(&name))?;
    let agent = agent::lock_to_remove(tx, id)?;
    agent::refuse_alive(&agent)?;
    let mut budget = Budget::of_a_step();
    let name = agent.name.to_ascii_lowercase();
    let messages = messages(tx.dialect());
    budget.remove(tx, &messages, (&name).into())?;
    for part in BY_NAME {
        budget.remove(tx, part, (&name).into())?;
    }
    remove_sessions(tx, ctx, &agent, &mut budget)?;
    if budget.is_enough() && budget.take("agents") {
        remove_agent(tx, ctx, &agent)?;
    }
    receipt::close_step(tx, ctx, receipt, budget)
}

/// Newest first: a session is forked from an earlier one, which goes once nothing stands on it.
const SESSIONS: &str = "SELECT s.id FROM sessions s WHERE s.instance_id = $1 \
    AND NOT EXISTS (SELECT 1 FROM sessions f WHERE f.forked_from = s.id) \
    ORDER BY s.instance_number DESC LIMIT $2";

fn remove_sessions(
    tx: &mut dyn Tx,
    ctx: &Resources,
    agent: &Agent,
    budget: &mut Budget,
) -> Result<(), StoreError> {
    loop {
        let params = [agent.id.as_str().into(), (budget.rows_left() as u64 + 1).into()];
        let some: Vec<SessionId> = query_all(tx, SESSIONS, &params, |row| row.parse(0))?;
        if some.is_empty() {
            return Ok(());
        }
        for id in some {
            session::lock(tx, &id)?;
            if !removal::remove(tx, ctx, &id, budget)? {
                return Ok(());
            }
        }
    }
}

const LEFT: &str = "SELECT id FROM sessions WHERE instance_id = $1 ORDER BY instance_number";
const LEAVE: &str = "UPDATE sessions SET instance_id = NULL, instance_number = NULL, \
    begun_by = NULL WHERE id = $1";
const DELETE: &str = "DELETE FROM agent_instances WHERE id = $1";

/// Sessions that others were forked from belong to nobody from now on.
fn remove_agent(tx: &mut dyn Tx, ctx: &Resources, agent: &Agent) -> Result<(), StoreError> {
    let id = agent.id.as_str().into();
    let left: Vec<SessionId> = query_all(tx, LEFT, &[id], |row| row.parse(0))?;
    for session in left {
        tx.execute(LEAVE, &[session.as_str().into()])?;
        change::session(tx, ctx, ChangeKind::SessionUpdated, &session)?;
    }
    names::forget(tx);
    tx.execute(DELETE, &[id])?;
    change::agent(tx, ctx, &agent.name)
}
