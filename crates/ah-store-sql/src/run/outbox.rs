//! What executors report from their outboxes: many items of many runs in one transaction.
//!
//! The outbox is locked first, so that two reports of it are applied one after the other; then
//! agents and sessions by the order of the sessions, then runs as everywhere.

use std::collections::{BTreeMap, BTreeSet};

use ah_model::{
    AgentId, ExecutorEvent, ExecutorId, Happened, Lease, NewEvent, OutboxId, RawJson,
    RefusedCounts, Renewed, ReportItem, Reports, ReportsTaken, RunEnd, RunId, RunStatus, SessionId,
};
use ah_store::StoreError;

use super::{SESSION_OF, report, row};
use crate::event::{self, Append};
use crate::resources::Resources;
use crate::tx::{Tx, query_first};
use crate::{agent, executor, session};

const RENEW: &str = "UPDATE runs SET lease_expires_at = $1 WHERE id = $2 AND executor_id = $3 \
    AND lease_epoch = $4 AND status IN ('claimed', 'running', 'stopping') RETURNING status";

/// Keeps leases, each by one statement: what a run is told may be megabytes and is not read. Runs
/// are locked in the order of their ids.
pub(super) fn renew(
    tx: &mut dyn Tx,
    ctx: &Resources,
    executor: &ExecutorId,
    leases: &[Lease],
    lease_ms: u64,
) -> Result<Renewed, StoreError> {
    let until = ctx.now().plus_ms(lease_ms);
    let mut order: Vec<_> = leases.iter().collect();
    order.sort_by_key(|lease| &lease.run_id);
    let mut kept = BTreeMap::new();
    for lease in order {
        let params = [
            until.into(),
            lease.run_id.as_str().into(),
            executor.as_str().into(),
            lease.epoch.into(),
        ];
        let status: Option<RunStatus> = query_first(tx, RENEW, &params, |row| row.parse(0))?;
        kept.insert((&lease.run_id, lease.epoch), status);
    }
    let status = |lease: &Lease| kept.get(&(&lease.run_id, lease.epoch)).copied().flatten();
    let those = |passes: fn(Option<RunStatus>) -> bool| {
        leases.iter().filter(|lease| passes(status(lease))).cloned().collect()
    };
    Ok(Renewed {
        lost: those(|status| status.is_none()),
        stop: those(|status| status == Some(RunStatus::Stopping)),
    })
}

const THROUGH: &str = "SELECT through FROM outboxes WHERE executor_id = $1 AND outbox_id = $2";

/// How far the reports of an outbox are kept.
pub(super) fn through(
    tx: &mut dyn Tx,
    executor: &ExecutorId,
    outbox: &OutboxId,
) -> Result<u64, StoreError> {
    let params = [executor.as_str().into(), outbox.as_str().into()];
    Ok(query_first(tx, THROUGH, &params, |row| row.uint(0))?.unwrap_or(0))
}

const OPEN: &str = "INSERT INTO outboxes (executor_id, outbox_id, through, updated_at) \
    VALUES ($1, $2, 0, $3) ON CONFLICT (executor_id, outbox_id) DO NOTHING";

/// As [`through`], and nobody else takes reports of that outbox until the transaction ends.
fn lock(tx: &mut dyn Tx, ctx: &Resources, reports: &Reports) -> Result<u64, StoreError> {
    let sql = format!("{THROUGH}{}", tx.dialect().for_update());
    let names = [reports.executor_id.as_str().into(), reports.outbox_id.as_str().into()];
    if let Some(through) = query_first(tx, &sql, &names, |row| row.uint(0))? {
        return Ok(through);
    }
    // Refused before anything is written.
    reports.news(0)?;
    tx.execute(OPEN, &[names[0], names[1], ctx.now().into()])?;
    Ok(query_first(tx, &sql, &names, |row| row.uint(0))?.unwrap_or(0))
}

const KEEP: &str = "UPDATE outboxes SET through = $1, updated_at = $2 \
    WHERE executor_id = $3 AND outbox_id = $4";

/// Applies what an outbox holds that is not kept yet.
pub(super) fn take(
    tx: &mut dyn Tx,
    ctx: &Resources,
    reports: &Reports,
) -> Result<ReportsTaken, StoreError> {
    let Reports { executor_id, outbox_id, .. } = reports;
    let through = lock(tx, ctx, reports)?;
    let news = reports.news(through)?;
    let Some(last) = news.last() else {
        return Ok(ReportsTaken { through, refused: Vec::new() });
    };
    let places = Places::lock(tx, news)?;
    let mut refused = Vec::new();
    for together in news.chunk_by(is_same_append) {
        let Some(first) = together.first() else { continue };
        let run = match row::lock(tx, &first.run_id) {
            Err(StoreError::NotFound { .. }) => None,
            run => Some(run?),
        };
        let why = |item: &ReportItem| item.refusal(executor_id, run.as_ref());
        let before = refused.len();
        refused.extend(together.iter().filter_map(why));
        if refused.len() == before {
            places.apply(tx, ctx, first, together)?;
        }
    }
    let params =
        [last.seq.into(), ctx.now().into(), executor_id.as_str().into(), outbox_id.as_str().into()];
    tx.execute(KEEP, &params)?;
    if !refused.is_empty() {
        let counts = RawJson::of(&RefusedCounts::of(outbox_id, &refused))?;
        executor::note(tx, ctx, executor_id, ExecutorEvent::STALE_REPORT, &counts)?;
    }
    Ok(ReportsTaken { through: last.seq, refused })
}

/// Whether two items are events for the same holder of the same run: one append takes both, and both
/// are refused for the same reason or not at all.
fn is_same_append(one: &ReportItem, other: &ReportItem) -> bool {
    let is_event = |item: &ReportItem| matches!(item.what, Happened::Event { .. });
    is_event(one)
        && is_event(other)
        && (&one.run_id, one.epoch, &one.session_id)
            == (&other.run_id, other.epoch, &other.session_id)
}

/// The sessions of the runs that are reported of, all of them locked, with their agents.
struct Places(BTreeMap<SessionId, Option<AgentId>>);

impl Places {
    fn lock(tx: &mut dyn Tx, items: &[ReportItem]) -> Result<Self, StoreError> {
        let runs: BTreeSet<&RunId> = items.iter().map(|item| &item.run_id).collect();
        let mut places = BTreeMap::new();
        for run in runs {
            let session = query_first(tx, SESSION_OF, &[run.as_str().into()], |row| row.parse(0))?;
            places.extend(session.map(|session| (session, None)));
        }
        for (session, place) in &mut places {
            *place = agent::lock_of_session(tx, session)?;
        }
        for session in places.keys() {
            match session::lock(tx, session) {
                // Gone meanwhile, with its runs.
                Ok(_) | Err(StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self(places))
    }

    /// Applies items that go together, of which `first` is the first.
    fn apply(
        &self,
        tx: &mut dyn Tx,
        ctx: &Resources,
        first: &ReportItem,
        together: &[ReportItem],
    ) -> Result<(), StoreError> {
        match &first.what {
            Happened::Started {} => report::start(tx, ctx, &first.lease()).map(drop),
            Happened::Ended(ended) => {
                let end = RunEnd::from(ended.clone());
                report::finish(tx, ctx, &first.lease(), &end).map(drop)
            }
            Happened::Event { .. } => {
                let events: Vec<NewEvent> = together.iter().filter_map(ReportItem::event).collect();
                let session = &first.session_id;
                let agent = self.0.get(session).and_then(Option::as_ref);
                let active_at = Some(ctx.now());
                let wanted = Append { session, after: None, events: &events, agent, active_at };
                event::append(tx, ctx, &wanted).map(drop)
            }
        }
    }
}
