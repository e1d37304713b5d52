//! Approvals in SQL. Rows are locked after agents and before messages.

use ah_model::{
    AGENT_DESTROYED, Agent, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Cursor, Decision,
    NewApproval, Page, PageRequest, Party, SPAWN, Timestamp, Verdict,
};
use ah_store::{Approvals, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::hive::Imported;
use crate::page::{ids_with_prefix, number_cursor, sized_page};
use crate::party::{self, Standing};
use crate::reader::Reader;
use crate::resources::Resources;
use crate::statement::Statement;
use crate::tx::{Dialect, Row, Tx, query_all, query_first};
use crate::{agent, change, message};

/// Every column [`read`] takes.
const SELECT: &str = "SELECT number, id, agent, kind, commit_ref, commit_hash, reason, details, \
    status, requested_at, resolved_at, resolved_by, resolver, note, carried_out_at, problem \
    FROM approvals";

/// Reads leniently what another program may have left: of a status that nobody knows an approval
/// failed, rather than the end of a whole list. `check` names such rows.
fn read(row: &dyn Row) -> Result<Approval, StoreError> {
    let row = Reader::new(row);
    Ok(Approval {
        number: row.uint()?,
        id: row.parse()?,
        agent: row.text()?,
        kind: row.text()?,
        commit_ref: row.opt_text()?,
        commit: row.opt_text()?,
        reason: row.opt_text()?,
        details: row.json()?,
        status: row.text()?.parse().unwrap_or(ApprovalStatus::Failed),
        requested_at: row.time().unwrap_or(Timestamp::EPOCH),
        resolved_at: row.opt_time()?,
        resolved_by: row.opt_parse()?,
        resolver: row.opt_text()?,
        note: row.opt_text()?,
        carried_out_at: row.opt_time()?,
        problem: row.opt_text()?,
    })
}

fn find(tx: &mut dyn Tx, id: &ApprovalId) -> Result<Option<Approval>, StoreError> {
    query_first(tx, &format!("{SELECT} WHERE id = $1"), &[id.as_str().into()], read)
}

fn get(tx: &mut dyn Tx, id: &ApprovalId) -> Result<Approval, StoreError> {
    find(tx, id)?.ok_or_else(|| StoreError::not_found(Kind::Approval, id))
}

/// The approval of that id, which nobody else changes until the transaction ends.
fn lock(tx: &mut dyn Tx, id: &ApprovalId) -> Result<Approval, StoreError> {
    let sql = format!("{SELECT} WHERE id = $1{}", tx.dialect().for_update());
    query_first(tx, &sql, &[id.as_str().into()], read)?
        .ok_or_else(|| StoreError::not_found(Kind::Approval, id))
}

const INSERT: &str = "INSERT INTO approvals (id, agent, kind, commit_ref, commit_hash, reason, \
    details, status, requested_at, resolved_at, resolved_by, resolver, note, carried_out_at, \
    problem) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";

/// Writes a new row, notes it, and gives the approval its number.
fn insert(tx: &mut dyn Tx, ctx: &Resources, approval: &mut Approval) -> Result<(), StoreError> {
    let params = [
        approval.id.as_str().into(),
        (&approval.agent).into(),
        (&approval.kind).into(),
        approval.commit_ref.as_ref().into(),
        approval.commit.as_ref().into(),
        approval.reason.as_ref().into(),
        approval.details.as_str().into(),
        approval.status.as_str().into(),
        approval.requested_at.into(),
        approval.resolved_at.into(),
        approval.resolved_by.as_ref().map(Party::as_str).into(),
        approval.resolver.as_ref().into(),
        approval.note.as_ref().into(),
        approval.carried_out_at.into(),
        approval.problem.as_ref().into(),
    ];
    approval.number = tx.insert_numbered(INSERT, &params)?;
    change::approval(tx, ctx, approval)
}

const SAVE: &str = "UPDATE approvals SET status = $1, resolved_at = $2, resolved_by = $3, \
    resolver = $4, note = $5, carried_out_at = $6, problem = $7 WHERE number = $8";

/// Writes what an approval's life changes, and notes it.
fn save(tx: &mut dyn Tx, ctx: &Resources, approval: &Approval) -> Result<(), StoreError> {
    let params = [
        approval.status.as_str().into(),
        approval.resolved_at.into(),
        approval.resolved_by.as_ref().map(Party::as_str).into(),
        approval.resolver.as_ref().into(),
        approval.note.as_ref().into(),
        approval.carried_out_at.into(),
        approval.problem.as_ref().into(),
        approval.number.into(),
    ];
    tx.execute(SAVE, &params)?;
    change::approval(tx, ctx, approval)
}

fn refused(approval: &Approval, reason: String) -> StoreError {
    StoreError::conflict(Kind::Approval, &approval.id, reason)
}

const ONE_AT_A_TIME: &str = "SELECT CAST(pg_advisory_xact_lock(6, hashtext($1)) AS text)";
const PENDING_SPAWN: &str =
    " WHERE status = 'pending' AND kind = 'spawn' AND lower(agent) = $1 ORDER BY number LIMIT 1";

/// The spawn that waits for that name. There may be no agent to lock, so PostgreSQL is told to let
/// one ask at a time.
fn pending_spawn(tx: &mut dyn Tx, name: &str) -> Result<Option<Approval>, StoreError> {
    let name = name.to_ascii_lowercase();
    if tx.dialect() == Dialect::Postgres {
        query_first(tx, ONE_AT_A_TIME, &[(&name).into()], |_| Ok(()))?;
    }
    query_first(tx, &format!("{SELECT}{PENDING_SPAWN}"), &[(&name).into()], read)
}

/// Asks for an approval.
pub(crate) fn request(
    tx: &mut dyn Tx,
    ctx: &Resources,
    new: &NewApproval,
) -> Result<Approval, StoreError> {
    let known = agent::standing_of_name(tx, &new.agent)?;
    if new.kind == SPAWN {
        known.as_ref().map_or(Ok(()), agent::refuse_alive)?;
        if let Some(pending) = pending_spawn(tx, &new.agent)? {
            return Ok(pending);
        }
    } else {
        let agent = known.as_ref();
        let agent = agent.ok_or_else(|| StoreError::not_found(Kind::Agent, &new.agent))?;
        agent::refuse_dead(agent)?;
    }
    let now = ctx.now();
    let id = match &new.id {
        Some(id) if find(tx, id)?.is_some() => {
            return Err(StoreError::conflict(Kind::Approval, id, "exists already"));
        }
        Some(id) => id.clone(),
        None => ctx.ids.approval(now)?,
    };
    let mut approval = Approval::requested(new, id, 0, now);
    if let Some(agent) = known {
        approval.agent = agent.name;
    }
    insert(tx, ctx, &mut approval)?;
    Ok(approval)
}

fn decide(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &ApprovalId,
    decision: &Decision,
) -> Result<Approval, StoreError> {
    let by = party::resolve_one(tx, &decision.by, Standing::Known)?;
    let decision = Decision { by, ..decision.clone() };
    let name = get(tx, id)?.agent;
    let agent = agent::lock_of_name(tx, &name)?;
    let mut approval = lock(tx, id)?;
    let changed = approval.decide(&decision, ctx.now());
    if !changed.map_err(|reason| refused(&approval, reason))? {
        return Ok(approval);
    }
    let spawned = approval.kind == SPAWN && approval.status == ApprovalStatus::Approved;
    let revived = agent.clone().filter(|agent| spawned && agent.destroyed_at.is_some());
    if revived.is_some() {
        let done = approval.carried_out(None, ctx.now());
        done.map_err(|reason| refused(&approval, reason))?;
    }
    save(tx, ctx, &approval)?;
    if let Some(agent) = revived {
        agent::revive(tx, ctx, agent)?;
    }
    message::post(tx, ctx, approval.decision_notice())?;
    Ok(approval)
}

fn carry_out(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &ApprovalId,
    problem: Option<String>,
) -> Result<Approval, StoreError> {
    let mut approval = lock(tx, id)?;
    let before = approval.clone();
    let noted = approval.carried_out(problem, ctx.now());
    noted.map_err(|reason| refused(&approval, reason))?;
    if approval != before {
        save(tx, ctx, &approval)?;
    }
    Ok(approval)
}

const PENDING_OF: &str =
    "SELECT id FROM approvals WHERE status = 'pending' AND lower(agent) = $1 ORDER BY number";

/// Nothing comes of what an agent that is being destroyed waits for. It is locked.
pub(crate) fn fail_pending(
    tx: &mut dyn Tx,
    ctx: &Resources,
    agent: &Agent,
) -> Result<(), StoreError> {
    let decision =
        Decision { note: Some(AGENT_DESTROYED.to_owned()), ..Decision::operator(Verdict::Failed) };
    let name = agent.name.to_ascii_lowercase();
    let pending: Vec<ApprovalId> =
        query_all(tx, PENDING_OF, &[(&name).into()], |row| row.parse(0))?;
    for id in pending {
        let mut approval = lock(tx, &id)?;
        // Decided meanwhile: then that holds.
        if approval.decide(&decision, ctx.now()) == Ok(true) {
            save(tx, ctx, &approval)?;
        }
    }
    Ok(())
}

/// Whether the approval was decided.
pub(crate) fn is_over(tx: &mut dyn Tx, id: &ApprovalId) -> Result<bool, StoreError> {
    const STATUS: &str = "SELECT status FROM approvals WHERE id = $1";
    let status = query_first(tx, STATUS, &[id.as_str().into()], |row| row.text(0))?;
    let status = status.ok_or_else(|| StoreError::not_found(Kind::Approval, id))?;
    Ok(status != ApprovalStatus::Pending.as_str())
}

/// Brings in an approval of another store, whose agent is spelt as here.
pub(crate) fn import(
    tx: &mut dyn Tx,
    ctx: &Resources,
    mut approval: Approval,
) -> Result<Imported, StoreError> {
    if find(tx, &approval.id)?.is_none() {
        insert(tx, ctx, &mut approval)?;
        return Ok(Imported::Created);
    }
    let known = lock(tx, &approval.id)?;
    let gone_on = |approval: &Approval| approval.status != ApprovalStatus::Pending;
    if gone_on(&known) || !gone_on(&approval) {
        return Ok(Imported::Present);
    }
    approval.number = known.number;
    save(tx, ctx, &approval)?;
    Ok(Imported::Updated)
}

fn list(
    tx: &mut dyn Tx,
    filter: &ApprovalFilter,
    page: &PageRequest,
) -> Result<Page<Approval>, StoreError> {
    let number = |approval: &Approval| i64::try_from(approval.number).unwrap_or(i64::MAX);
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let some = |last: Option<&Approval>, rows| some(tx, filter, last.map_or(first, number), rows);
    sized_page(page.limit, some, size, |approval| Cursor::Number(number(approval)))
}

fn size(approval: &Approval) -> usize {
    let texts = [&approval.reason, &approval.note, &approval.problem];
    let texts = texts.iter().map(|text| text.as_ref().map_or(0, String::len)).sum::<usize>();
    approval.details.as_str().len() + texts
}

/// As [`Approval::is_to_be_carried_out`], in the words of the index.
const TO_CARRY_OUT: &str =
    " AND status = 'approved' AND carried_out_at IS NULL AND kind IN ('apply_commit', 'spawn')";

fn some(
    tx: &mut dyn Tx,
    filter: &ApprovalFilter,
    before: i64,
    rows: usize,
) -> Result<Vec<Approval>, StoreError> {
    let agent = filter.agent.as_ref().map(|name| name.to_ascii_lowercase());
    let mut query = Statement::new(SELECT, tx.dialect());
    query.push(" WHERE number < ").param(before);
    query.one_of_ours("status", filter.statuses.iter().map(|status| status.as_str()).collect());
    if let Some(agent) = &agent {
        query.condition("lower(agent) = ", agent);
    }
    if let Some(kind) = &filter.kind {
        query.condition("kind = ", kind);
    }
    if filter.to_carry_out {
        query.push(TO_CARRY_OUT);
    }
    query.push(" ORDER BY number DESC LIMIT ").param(rows as u64);
    query_all(tx, &query.sql, &query.params, read)
}

#[async_trait]
impl Approvals for SqlStore {
    async fn request_approval(&self, approval: NewApproval) -> Result<Approval, StoreError> {
        approval.check()?;
        let approval = self.clean(approval);
        self.once(move |tx, ctx| request(tx, ctx, &approval)).await
    }

    async fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        self.read(move |tx, _| get(tx, &id)).await
    }

    async fn approval_ids_with_prefix(
        &self,
        prefix: String,
    ) -> Result<Vec<ApprovalId>, StoreError> {
        self.read(move |tx, _| ids_with_prefix(tx, "approvals", &prefix)).await
    }

    async fn list_approvals(
        &self,
        filter: ApprovalFilter,
        page: PageRequest,
    ) -> Result<Page<Approval>, StoreError> {
        self.read(move |tx, _| list(tx, &filter, &page)).await
    }

    async fn decide_approval(
        &self,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, StoreError> {
        decision.check()?;
        let decision = self.clean(decision);
        self.write(move |tx, ctx| decide(tx, ctx, &id, &decision)).await
    }

    async fn carried_out(
        &self,
        id: ApprovalId,
        problem: Option<String>,
    ) -> Result<Approval, StoreError> {
        Approval::check_problem(problem.as_deref())?;
        let problem = self.clean(problem);
        self.write(move |tx, ctx| carry_out(tx, ctx, &id, problem.clone())).await
    }
}
