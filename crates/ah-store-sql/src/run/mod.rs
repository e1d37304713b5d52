//! Runs in SQL: `row` reads and writes the row, `claim` gives runs away, `report` hears their
//! holders, `outbox` what they say later, `stop` and `sweep` end what others or time decided,
//! `callback` tells parents, `member` has what the fleet of a session needs.
//!
//! Rows are locked in one order everywhere: the session, then its run, then the parent's session.

mod callback;
mod claim;
mod member;
mod outbox;
mod report;
mod row;
mod stop;
mod sweep;

use ah_model::{
    Appended, Callback, ChangeKind, Cursor, ExecutorId, Invalid, Lease, NewEvent, NewRun, OutboxId,
    Page, PageRequest, Renewed, Reports, ReportsTaken, Run, RunClaim, RunEnd, RunFilter, RunId,
    RunStatus, Session, SessionId, SessionUpdate, Swept, check_lease_ms, check_renewal,
};
use ah_store::{Kind, Runs, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::page::{number_cursor, sized_page};
use crate::resources::Resources;
use crate::session::{self, Access, Place};
use crate::statement::Statement;
use crate::tx::{Tx, query_all, query_first};
use crate::{change, fleet, request_key};

pub(crate) use self::member::{held, live_members, lock_held, queue_of_member, stop_members};
pub(crate) use self::sweep::lose;

/// A run and its session, which nobody else changes until the transaction ends.
pub(crate) struct Locked {
    run: Run,
    session: Session,
}

const SESSION_OF: &str = "SELECT session_id FROM runs WHERE id = $1";

fn with_session(tx: &mut dyn Tx, id: &RunId) -> Result<Locked, StoreError> {
    let missing = || StoreError::not_found(Kind::Run, id);
    let session = query_first(tx, SESSION_OF, &[id.as_str().into()], |row| row.parse(0))?;
    let session = session::get(tx, &session.ok_or_else(missing)?, Access::Change);
    // A session that has just gone took its runs along.
    let session = session.map_err(|error| match error {
        StoreError::NotFound { .. } => missing(),
        other => other,
    })?;
    Ok(Locked { run: row::lock(tx, id)?, session })
}

const LIVE: &str = "SELECT id FROM runs \
    WHERE session_id = $1 AND member IS NULL \
    AND status IN ('pending', 'claimed', 'running', 'stopping')";

/// The id of the live run of a session that is locked, which keeps others from adding one; those of
/// its fleet aside. The run itself is not locked: a claim would pass it by.
fn live_id(tx: &mut dyn Tx, session: &SessionId) -> Result<Option<RunId>, StoreError> {
    query_first(tx, LIVE, &[session.as_str().into()], |row| row.parse(0))
}

/// The live run of a session that is locked, locked too.
fn live(tx: &mut dyn Tx, session: &SessionId) -> Result<Option<Run>, StoreError> {
    live_id(tx, session)?.map(|id| row::lock(tx, &id)).transpose()
}

/// A session that was ended, and is locked, has nothing left to do: its live run is asked to stop,
/// and so is its fleet.
pub(crate) fn end_work(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &mut Session,
) -> Result<(), StoreError> {
    fleet::end_with(tx, ctx, session)?;
    match live_id(tx, &session.id)? {
        Some(_) => stop::session(tx, ctx, &session.id).map(drop),
        None => Ok(()),
    }
}

/// Queues a run of a session that has no live one, creating the session if it is given.
pub(crate) fn create(tx: &mut dyn Tx, ctx: &Resources, new: &NewRun) -> Result<Run, StoreError> {
    if let Some(session) = &new.session {
        session::create(tx, ctx, (**session).clone(), Place::default())?;
    }
    let session = session::get(tx, &new.session_id, Access::Change)?;
    if let Some(live) = live_id(tx, &session.id)? {
        let reason = format!("has the live run {live}");
        return Err(StoreError::conflict(Kind::Session, &session.id, reason));
    }
    session
        .check_run(new.kind)
        .map_err(|reason| StoreError::conflict(Kind::Session, &session.id, reason))?;
    if let Some(parent) = &new.parent_session_id {
        session::last_seq(tx, parent)?;
    }
    let now = ctx.now();
    let id = match &new.id {
        Some(id) => refuse_taken(tx, id)?,
        None => ctx.ids.run(now)?,
    };
    let run = Run::queued(new.clone(), id, &session, now);
    row::insert(tx, &run)?;
    change::run(tx, ctx, ChangeKind::RunQueued, &run)?;
    Ok(run)
}

fn refuse_taken(tx: &mut dyn Tx, id: &RunId) -> Result<RunId, StoreError> {
    match query_first(tx, SESSION_OF, &[id.as_str().into()], |row| row.text(0))? {
        Some(_) => Err(StoreError::conflict(Kind::Run, id, "exists already")),
        None => Ok(id.clone()),
    }
}

/// What follows when a run has ended: its session moves, the parent is told, and those who wait
/// for this session are heard. A session that has ended ends its fleet; a run of the fleet moves
/// nothing. Returns how many runs were queued to tell somebody.
fn end(
    tx: &mut dyn Tx,
    ctx: &Resources,
    locked: &mut Locked,
    how: &RunEnd,
) -> Result<u64, StoreError> {
    let Locked { run, session } = locked;
    row::save(tx, run)?;
    change::run(tx, ctx, ChangeKind::RunUpdated, run)?;
    if run.member.is_some() {
        return Ok(0);
    }
    let before = session.clone();
    session.run_ended(how, ctx.now());
    session::save_if_changed(tx, ctx, &before, session)?;
    if session.status.is_finished() {
        fleet::end_with(tx, ctx, session)?;
    }
    if run.started_at.is_none() {
        callback::release(tx, &run.id)?;
    }
    let told = callback::record(tx, ctx, run)?;
    Ok(told + u64::from(callback::deliver(tx, ctx, session)?))
}

fn list(tx: &mut dyn Tx, filter: &RunFilter, page: &PageRequest) -> Result<Page<Run>, StoreError> {
    let first = number_cursor(page.cursor.as_ref())?.unwrap_or(i64::MAX);
    let some = |last: Option<&(Run, i64)>, rows: usize| {
        let before = last.map_or(first, |(_, number)| *number);
        let mut query = Statement::new(row::SELECT, tx.dialect());
        query.push(" WHERE number < ").param(before);
        // In their own order they are the words of an index, if they are those of a holder.
        let mut statuses = filter.statuses.clone();
        statuses.sort();
        query.one_of_ours("status", statuses.into_iter().map(RunStatus::as_str).collect());
        if let Some(session) = &filter.session_id {
            query.condition("session_id = ", session.as_str());
        }
        if let Some(executor) = &filter.executor_id {
            query.condition("executor_id = ", executor.as_str());
        }
        query.push(" ORDER BY number DESC LIMIT ").param(rows as u64);
        query_all(tx, &query.sql, &query.params, |row| Ok((row::read(row)?, row.int(row::NUMBER)?)))
    };
    let size = |(run, _): &(Run, i64)| run_size(run);
    let page = sized_page(page.limit, some, size, |(_, number)| Cursor::Number(*number))?;
    let items = page.items.into_iter().map(|(run, _)| run).collect();
    Ok(Page { items, next_cursor: page.next_cursor })
}

fn run_size(run: &Run) -> usize {
    let result = run.result.as_ref().map_or(0, |json| json.as_str().len());
    run.parameters.as_str().len() + result + run.error.as_ref().map_or(0, String::len)
}

/// The newest runs of a session, oldest first, as many as fit a page.
fn of_session(tx: &mut dyn Tx, session: &SessionId) -> Result<Vec<Run>, StoreError> {
    session::last_seq(tx, session)?;
    let filter = RunFilter { session_id: Some(session.clone()), ..RunFilter::default() };
    let page = PageRequest { limit: ah_model::PageLimit::MAX, cursor: None };
    let mut runs = list(tx, &filter, &page)?.items;
    runs.reverse();
    Ok(runs)
}

fn restore(tx: &mut dyn Tx, run: &Run) -> Result<bool, StoreError> {
    session::lock(tx, &run.session_id)?;
    if query_first(tx, SESSION_OF, &[run.id.as_str().into()], |row| row.text(0))?.is_some() {
        return Ok(false);
    }
    let mut run = run.clone();
    if let Some(parent) = &run.parent_session_id
        && !session::exists(tx, parent)?
    {
        run.parent_session_id = None;
    }
    row::insert(tx, &run)?;
    Ok(true)
}

#[async_trait]
impl Runs for SqlStore {
    async fn create_run(&self, run: NewRun) -> Result<Run, StoreError> {
        run.check()?;
        let run = self.clean(run);
        self.once(move |tx, ctx| create(tx, ctx, &run)).await
    }

    async fn run(&self, id: RunId) -> Result<Run, StoreError> {
        self.read(move |tx, _| row::get(tx, &id)).await
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        page: PageRequest,
    ) -> Result<Page<Run>, StoreError> {
        self.read(move |tx, _| list(tx, &filter, &page)).await
    }

    async fn session_runs(&self, session: SessionId) -> Result<Vec<Run>, StoreError> {
        self.read(move |tx, _| of_session(tx, &session)).await
    }

    async fn claim_run(&self, claim: RunClaim) -> Result<Option<Run>, StoreError> {
        claim.check()?;
        // Who found nothing asks again with the same key.
        // Looking costs no write, and a queue of what nobody here can take may be long. A key that
        // was used before is asked about in any case.
        let wanted = claim.clone();
        let first = self.read(move |tx, _| claim::first(tx, &wanted)).await?;
        let Some(from) = first.or(self.key.as_ref().map(|_| 0)) else {
            return Ok(None);
        };
        let take = move |tx: &mut dyn Tx, ctx: &Resources| claim::claim(tx, ctx, &claim, from);
        self.once_if(Option::is_some, take).await
    }

    async fn renew_run(&self, lease: Lease, lease_ms: u64) -> Result<Run, StoreError> {
        check_lease_ms(lease_ms)?;
        self.once(move |tx, ctx| report::renew(tx, ctx, &lease, lease_ms)).await
    }

    async fn renew_runs(
        &self,
        executor: ExecutorId,
        leases: Vec<Lease>,
        lease_ms: u64,
    ) -> Result<Renewed, StoreError> {
        check_renewal(&leases, lease_ms)?;
        self.write(move |tx, ctx| outbox::renew(tx, ctx, &executor, &leases, lease_ms)).await
    }

    async fn take_reports(&self, reports: Reports) -> Result<ReportsTaken, StoreError> {
        reports.check()?;
        let reports = self.clean(reports);
        self.once(move |tx, ctx| outbox::take(tx, ctx, &reports)).await
    }

    async fn reported_through(
        &self,
        executor: ExecutorId,
        outbox: OutboxId,
    ) -> Result<u64, StoreError> {
        self.read(move |tx, _| outbox::through(tx, &executor, &outbox)).await
    }

    async fn lose_run(&self, lease: Lease) -> Result<Run, StoreError> {
        self.once(move |tx, ctx| sweep::lose_one(tx, ctx, &lease)).await
    }

    async fn start_run(&self, lease: Lease) -> Result<Run, StoreError> {
        self.once(move |tx, ctx| report::start(tx, ctx, &lease).map(|locked| locked.run)).await
    }

    async fn bind_run(&self, lease: Lease, update: SessionUpdate) -> Result<Session, StoreError> {
        update.check()?;
        self.once(move |tx, ctx| report::bind(tx, ctx, &lease, &update)).await
    }

    async fn append_to_run(
        &self,
        lease: Lease,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.once(move |tx, ctx| {
            let done = report::append(tx, ctx, &lease, &events)?;
            Ok(Appended { redacted: redacted.clone(), ..done })
        })
        .await
    }

    async fn finish_run(&self, lease: Lease, end: RunEnd) -> Result<Run, StoreError> {
        end.check()?;
        let end = self.clean(end);
        self.once(move |tx, ctx| report::finish(tx, ctx, &lease, &end)).await
    }

    async fn stop_session(&self, id: SessionId) -> Result<Session, StoreError> {
        self.once(move |tx, ctx| stop::session(tx, ctx, &id)).await
    }

    async fn stop_run(&self, id: RunId) -> Result<Run, StoreError> {
        self.once(move |tx, ctx| stop::run(tx, ctx, &id)).await
    }

    async fn stop_orders(&self, executor: ExecutorId) -> Result<Vec<Run>, StoreError> {
        let asked = executor.clone();
        // Most of the time there are none, and looking costs no write.
        let none = self.read(move |tx, ctx| stop::due_orders(tx, ctx, &asked)).await?.is_empty();
        if none && self.key.is_none() {
            return Ok(Vec::new());
        }
        self.once(move |tx, ctx| stop::take_orders(tx, ctx, &executor)).await
    }

    async fn sweep_runs(&self) -> Result<Swept, StoreError> {
        if !self.read(|tx, ctx| sweep::is_due(tx, ctx)).await? {
            return Ok(Swept::default());
        }
        self.write(|tx, ctx| {
            request_key::forget(tx, ctx)?;
            sweep::sweep(tx, ctx)
        })
        .await
    }

    async fn callbacks(&self, parent: SessionId) -> Result<Vec<Callback>, StoreError> {
        self.read(move |tx, _| callback::of_parent(tx, &parent)).await
    }

    async fn restore_run(&self, run: Run) -> Result<bool, StoreError> {
        if run.status.is_live() || run.ended_at.is_none() {
            return Err(Invalid::new("status", format!("{} is no end", run.status)).into());
        }
        run.demands.check()?;
        let run = self.clean(run);
        self.write(move |tx, _| restore(tx, &run)).await
    }
}
