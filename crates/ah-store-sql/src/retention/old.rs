//! What is older than the rules allow: messages, then sessions, then changes.

use std::collections::{BTreeSet, VecDeque};

use ah_model::{
    AgentId, Amount, ChangeKind, ReceiptKind, RemovalStep, RetentionRules, SessionId, Tally,
    Timestamp, limits,
};
use ah_store::StoreError;

use super::budget::{Budget, Part};
use super::{receipt, session as removal};
use crate::resources::Resources;
use crate::statement::{marks, padded};
use crate::tx::{Dialect, More, Tx, query_all, query_first};
use crate::{agent, session, usage};

const MESSAGES: Part = Part {
    class: "messages",
    table: "messages",
    key: "number",
    bytes: "CAST(octet_length(body) AS bigint)",
    which: "acked_at IS NOT NULL AND acked_at < $1",
    order: "acked_at, number",
};

/// Sessions that nothing goes on in, but for those that others were forked from.
const AT_REST: &str = "s.last_activity_at < $1 AND NOT s.pinned \
    AND s.status IN ('succeeded', 'failed', 'cancelled') \
    AND NOT EXISTS (SELECT 1 FROM agent_instances i WHERE i.active_session_id = s.id) \
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = s.id \
    AND r.status IN ('pending', 'claimed', 'running', 'stopping'))";
const NOT_FORKED: &str = "NOT EXISTS (SELECT 1 FROM sessions f WHERE f.forked_from = s.id)";

/// What the rules would remove. A session that others were forked from goes when those all go.
pub(super) fn plan(
    tx: &mut dyn Tx,
    ctx: &Resources,
    rules: &RetentionRules,
) -> Result<Tally, StoreError> {
    let now = ctx.now();
    let mut tally = Tally::default();
    if let Some(before) = RetentionRules::before(rules.messages_ms, now) {
        let Part { table, bytes, which, .. } = MESSAGES;
        let sql = format!("SELECT count(*), {} FROM {table} WHERE {which}", sum(bytes));
        tally.add("messages", amount(tx, &sql, before)?);
    }
    if let Some(before) = RetentionRules::before(rules.sessions_ms, now) {
        plan_sessions(tx, before, &mut tally)?;
    }
    if let Some(before) = RetentionRules::before(rules.changes_ms, now) {
        let (none, trimmed) = (sum("0"), ChangeKind::ChangesTrimmed);
        let sql =
            format!("SELECT count(*), {none} FROM changes WHERE at < $1 AND kind <> '{trimmed}'");
        tally.add("changes", amount(tx, &sql, before)?);
    }
    Ok(tally)
}

fn sum(bytes: &str) -> String {
    format!("CAST(coalesce(sum({bytes}), 0) AS bigint)")
}

fn amount(tx: &mut dyn Tx, sql: &str, before: Timestamp) -> Result<Amount, StoreError> {
    let read = |row: &dyn crate::tx::Row| Ok(Amount { rows: row.uint(0)?, bytes: row.uint(1)? });
    Ok(query_first(tx, sql, &[before.into()], read)?.unwrap_or_default())
}

fn plan_sessions(tx: &mut dyn Tx, before: Timestamp, tally: &mut Tally) -> Result<(), StoreError> {
    let gone = format!(
        "WITH RECURSIVE rest(id) AS (SELECT s.id FROM sessions s WHERE {AT_REST}), \
         stay(id) AS (SELECT s.forked_from FROM sessions s WHERE s.forked_from IS NOT NULL \
         AND NOT EXISTS (SELECT 1 FROM rest WHERE rest.id = s.id) \
         UNION SELECT s.forked_from FROM sessions s JOIN stay ON s.id = stay.id \
         WHERE s.forked_from IS NOT NULL), \
         gone(id) AS (SELECT id FROM rest WHERE NOT EXISTS \
         (SELECT 1 FROM stay WHERE stay.id = rest.id))"
    );
    let none = sum("0");
    let bytes = sum("coalesce(octet_length(e.data), 0)");
    for (class, counted) in [
        ("sessions", format!("SELECT count(*), {none} FROM gone")),
        ("runs", format!("SELECT count(*), {none} FROM runs r JOIN gone g ON g.id = r.session_id")),
        (
            "events",
            format!("SELECT count(*), {bytes} FROM events e JOIN gone g ON g.id = e.session_id"),
        ),
    ] {
        tally.add(class, amount(tx, &format!("{gone} {counted}"), before)?);
    }
    Ok(())
}

/// Sessions that the rules remove first, and the agents of those and of what they were forked from.
#[derive(Clone, Default)]
pub(super) struct Old {
    sessions: Vec<SessionId>,
    owners: Vec<String>,
}

/// Of sessions one more than a step takes, so that it can tell whether there is more.
pub(super) fn sessions(
    tx: &mut dyn Tx,
    ctx: &Resources,
    rules: &RetentionRules,
) -> Result<Old, StoreError> {
    let Some(before) = RetentionRules::before(rules.sessions_ms, ctx.now()) else {
        return Ok(Old::default());
    };
    let old = format!(
        "SELECT s.id, s.forked_from, s.instance_id FROM sessions s WHERE {AT_REST} \
         AND {NOT_FORKED} ORDER BY s.last_activity_at, s.id LIMIT $2"
    );
    let owners = format!(
        "WITH RECURSIVE old AS ({old}), line AS (SELECT id, forked_from, instance_id FROM old \
         UNION SELECT f.id, f.forked_from, f.instance_id FROM sessions f \
         JOIN line ON line.forked_from = f.id) \
         SELECT DISTINCT instance_id FROM line WHERE instance_id IS NOT NULL"
    );
    let most = limits::REMOVAL_ROWS_MAX as u64 + 1;
    let params = [before.into(), most.into()];
    let sessions = query_all(tx, &old, &params, |row| row.parse(0))?;
    let owners = match tx.dialect() {
        Dialect::Sqlite => Vec::new(),
        Dialect::Postgres => query_all(tx, &owners, &params, |row| row.text(0))?,
    };
    Ok(Old { sessions, owners })
}

/// Locks the agents whose sessions may go. A purge locks its agent and then removes messages, so
/// agents come before messages here as well.
fn lock_owners(tx: &mut dyn Tx, owners: &[String]) -> Result<(), StoreError> {
    if owners.is_empty() {
        return Ok(());
    }
    let (marks, for_update) = (marks(1, owners.len()), tx.dialect().for_update());
    let sql =
        format!("SELECT id FROM agent_instances WHERE id IN ({marks}) ORDER BY id{for_update}");
    tx.query(&sql, &padded([], owners.iter().map(Into::into)), &mut |_| Ok(More::Yes))
}

/// Removes what fits one step, of sessions only those that were looked up before.
pub(super) fn step(
    tx: &mut dyn Tx,
    ctx: &Resources,
    rules: &RetentionRules,
    old: &Old,
) -> Result<RemovalStep, StoreError> {
    let now = ctx.now();
    let receipt = receipt::open(tx, ctx, ReceiptKind::Retention, None)?;
    lock_owners(tx, &old.owners)?;
    let mut budget = Budget::of_a_step();
    if let Some(before) = RetentionRules::before(rules.messages_ms, now) {
        budget.remove(tx, &MESSAGES, before.into())?;
    }
    if let Some(before) = RetentionRules::before(rules.sessions_ms, now) {
        remove_sessions(tx, ctx, before, &old.sessions, &mut budget)?;
    }
    if let Some(before) = RetentionRules::before(rules.changes_ms, now) {
        remove_changes(tx, before, &mut budget)?;
    }
    receipt::close_step(tx, ctx, receipt, budget)
}

fn remove_sessions(
    tx: &mut dyn Tx,
    ctx: &Resources,
    before: Timestamp,
    sessions: &[SessionId],
    budget: &mut Budget,
) -> Result<(), StoreError> {
    let mut waiting: VecDeque<SessionId> = sessions.iter().cloned().collect();
    let mut owners = BTreeSet::new();
    while let Some(id) = waiting.pop_front() {
        let Some(found) = lock_at_rest(tx, &id, before)? else { continue };
        if !removal::remove(tx, ctx, &id, budget)? {
            break;
        }
        owners.extend(found.owner);
        // Nothing else may have been forked from it: then it goes as well.
        found.stem.into_iter().for_each(|stem| waiting.push_front(stem));
    }
    owners.iter().try_for_each(|agent| usage::recount(tx, agent.as_str()))
}

/// Whom a session belonged to, and what it was forked from.
struct Found {
    owner: Option<AgentId>,
    stem: Option<SessionId>,
}

/// The session, locked with its agent, if it may still go.
fn lock_at_rest(
    tx: &mut dyn Tx,
    id: &SessionId,
    before: Timestamp,
) -> Result<Option<Found>, StoreError> {
    let owner = agent::lock_of_session(tx, id)?;
    if !session::exists_locked(tx, id)? {
        return Ok(None);
    }
    let sql = format!(
        "SELECT s.forked_from FROM sessions s WHERE {AT_REST} AND {NOT_FORKED} AND s.id = $2"
    );
    let params = [before.into(), id.as_str().into()];
    let stem = query_first(tx, &sql, &params, |row| row.opt_parse(0))?;
    Ok(stem.map(|stem| Found { owner, stem }))
}

const OLDEST_CHANGES: &str = "SELECT id, at FROM changes WHERE kind <> $1 ORDER BY id LIMIT $2";
const FORGET_CHANGES: &str = "DELETE FROM changes WHERE id < $1";
const SAY_TRIMMED: &str = "UPDATE changes SET kind = $1, session_id = NULL, run_id = NULL, \
    executor_id = NULL, party = NULL, subject = NULL WHERE id = $2";

/// Changes are in the order of their times, so only the oldest are looked at. If the clock once went
/// back, what was noted then waits for what stands before it.
///
/// The last that goes stays as a note that they went: a reader comes past it exactly if it has missed
/// one of them. It also keeps the end of the feed where it was when all went.
fn remove_changes(
    tx: &mut dyn Tx,
    before: Timestamp,
    budget: &mut Budget,
) -> Result<(), StoreError> {
    let most = budget.rows_left() as u64 + 1;
    let trimmed = ChangeKind::ChangesTrimmed.as_str();
    let params = [trimmed.into(), most.into()];
    let oldest = query_all(tx, OLDEST_CHANGES, &params, |row| Ok((row.int(0)?, row.time(1)?)))?;
    let mut last = None;
    for (id, at) in oldest {
        if at >= before || !budget.take("changes") {
            break;
        }
        last = Some(id);
    }
    let Some(last) = last else { return Ok(()) };
    tx.execute(FORGET_CHANGES, &[last.into()])?;
    tx.execute(SAY_TRIMMED, &[trimmed.into(), last.into()]).map(drop)
}
