//! Fleets in SQL: `row` reads and writes fleets and fences, `fence` and `sweep` move them, this file
//! holds the use cases.
//!
//! Whoever changes a fleet or a fence has locked the session first, so their rows need no lock of
//! their own.

mod fence;
mod row;
mod sweep;

use ah_model::{
    Fence, FenceId, FenceReport, Fleet, FleetChange, FleetDeed, FleetFilter, FleetStatus,
    FleetsSwept, MemberChange, MemberName, NewEvent, NewFence, NewFleet, NewRun, Page, PageRequest,
    RawJson, Session, SessionId, fleet_events, fleet_reasons, limits,
};
use ah_store::{Fleets, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::event::{self, Append};
use crate::resources::Resources;
use crate::run;
use crate::session::{self, Access};
use crate::tx::Tx;

/// The refusal of what a session's fleet does not let happen.
fn refused(session: &SessionId) -> impl Fn(String) -> StoreError {
    move |reason| StoreError::conflict(Kind::Session, session, reason)
}

/// Appends to the log of a session, which is locked, what happened to its fleet.
fn tell(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &SessionId,
    kind: &str,
    data: &serde_json::Value,
) -> Result<(), StoreError> {
    let data = RawJson::of(data)?;
    let event = NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: None };
    let events = std::slice::from_ref(&event);
    let wanted = Append { session, after: None, events, agent: None, active_at: Some(ctx.now()) };
    event::append(tx, ctx, &wanted).map(drop)
}

fn create(tx: &mut dyn Tx, ctx: &Resources, new: &NewFleet) -> Result<Fleet, StoreError> {
    let session = session::get(tx, &new.session_id, Access::Change)?;
    session.check_fleet().map_err(refused(&session.id))?;
    let before = row::find_fleet(tx, &session.id)?;
    if before.as_ref().is_some_and(|fleet| fleet.status == FleetStatus::Live) {
        return Err(refused(&session.id)("has a live fleet".to_owned()));
    }
    let (now, epoch) = (ctx.now(), before.map_or(0, |fleet| fleet.epoch));
    let ids: Result<Vec<_>, _> = new.members.iter().map(|_| ctx.ids.run(now)).collect();
    let fleet = Fleet::formed(new.clone(), &ids?, epoch, now);
    let fleet = fleet.ok_or_else(|| StoreError::backend("form a fleet", "it has no members"))?;
    for member in &fleet.members {
        let hold = NewRun { id: Some(member.run_id.clone()), ..fleet.hold(&member.demands)? };
        run::queue_of_member(tx, ctx, hold, &member.name, &session)?;
    }
    row::save_fleet(tx, ctx, &fleet)?;
    tell(tx, ctx, &session.id, fleet_events::FORMED, &fleet.formed_data())?;
    Ok(fleet)
}

fn change(
    tx: &mut dyn Tx,
    ctx: &Resources,
    id: &SessionId,
    change: &FleetChange,
) -> Result<Fleet, StoreError> {
    let session = session::find(tx, id, Access::Change)?;
    let session = session.ok_or_else(|| StoreError::not_found(Kind::Fleet, id))?;
    let mut fleet = row::fleet(tx, id)?;
    fleet.check_live(change.epoch).map_err(refused(id))?;
    match &change.what {
        FleetDeed::Lead(name) => {
            lead(tx, ctx, &mut fleet, name, fleet_reasons::ASKED)?;
        }
        FleetDeed::Add(member) => {
            let hold = fleet.hold(&member.demands)?;
            let run = run::queue_of_member(tx, ctx, hold, &member.name, &session)?;
            fleet.add((**member).clone(), run.id).map_err(refused(id))?;
            changed(tx, ctx, &fleet, MemberChange::Joined(&member.name))?;
        }
        FleetDeed::Remove(name) => remove(tx, ctx, &mut fleet, name)?,
    }
    Ok(fleet)
}

fn changed(
    tx: &mut dyn Tx,
    ctx: &Resources,
    fleet: &Fleet,
    change: MemberChange<'_>,
) -> Result<(), StoreError> {
    row::save_fleet(tx, ctx, fleet)?;
    tell(tx, ctx, &fleet.session_id, fleet_events::CHANGED, &fleet.changed_data(change))
}

/// Lets a member go. A fence that waits for it would wait in vain.
fn remove(
    tx: &mut dyn Tx,
    ctx: &Resources,
    fleet: &mut Fleet,
    name: &MemberName,
) -> Result<(), StoreError> {
    let session = fleet.session_id.clone();
    fleet.remove(name).map_err(refused(&session))?;
    changed(tx, ctx, fleet, MemberChange::Left(name))?;
    let open = row::open_fence(tx, &session)?;
    if open.is_some_and(|fence| fence.members.iter().any(|member| member.name == *name)) {
        fence::give_up(tx, ctx, &session, fleet_reasons::MEMBER_LEFT)?;
    }
    run::stop_members(tx, ctx, &session, Some(name))
}

/// Gives a fleet, whose session is locked, to another leader; whether it is another.
fn lead(
    tx: &mut dyn Tx,
    ctx: &Resources,
    fleet: &mut Fleet,
    name: &MemberName,
    reason: &str,
) -> Result<bool, StoreError> {
    let (session, before) = (fleet.session_id.clone(), fleet.leader.clone());
    if !fleet.lead(name, ctx.now()).map_err(refused(&session))? {
        return Ok(false);
    }
    row::save_fleet(tx, ctx, fleet)?;
    tell(tx, ctx, &session, fleet_events::LEADER, &fleet.leader_data(&before, reason))?;
    fence::give_up(tx, ctx, &session, fleet_reasons::LEADER_CHANGED)?;
    Ok(true)
}

fn end(tx: &mut dyn Tx, ctx: &Resources, id: &SessionId) -> Result<Fleet, StoreError> {
    session::exists_locked(tx, id)?;
    let mut fleet = row::fleet(tx, id)?;
    end_live(tx, ctx, &mut fleet)?;
    Ok(fleet)
}

/// Ends a fleet, whose session is locked, if it lives; whether it did.
fn end_live(tx: &mut dyn Tx, ctx: &Resources, fleet: &mut Fleet) -> Result<bool, StoreError> {
    if !fleet.end(ctx.now()) {
        return Ok(false);
    }
    let session = &fleet.session_id;
    row::save_fleet(tx, ctx, fleet)?;
    fence::give_up(tx, ctx, session, fleet_reasons::ENDED)?;
    tell(tx, ctx, session, fleet_events::ENDED, &fleet.ended_data())?;
    run::stop_members(tx, ctx, session, None)?;
    Ok(true)
}

/// A session that ends, or is asked to stop, and is locked, ends its fleet. What that adds to its
/// log shows in it.
pub(crate) fn end_with(
    tx: &mut dyn Tx,
    ctx: &Resources,
    session: &mut Session,
) -> Result<(), StoreError> {
    let Some(mut fleet) = row::find_fleet(tx, &session.id)? else { return Ok(()) };
    if end_live(tx, ctx, &mut fleet)? {
        session.last_seq = session::last_seq(tx, &session.id)?;
        session.touch(ctx.now());
    }
    Ok(())
}

#[async_trait]
impl Fleets for SqlStore {
    async fn create_fleet(&self, fleet: NewFleet) -> Result<Fleet, StoreError> {
        fleet.check()?;
        self.once(move |tx, ctx| create(tx, ctx, &fleet)).await
    }

    async fn fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.read(move |tx, _| row::fleet(tx, &session)).await
    }

    async fn list_fleets(
        &self,
        filter: FleetFilter,
        page: PageRequest,
    ) -> Result<Page<Fleet>, StoreError> {
        self.read(move |tx, _| row::list_fleets(tx, filter, &page)).await
    }

    async fn change_fleet(
        &self,
        session: SessionId,
        wanted: FleetChange,
    ) -> Result<Fleet, StoreError> {
        wanted.check()?;
        self.once(move |tx, ctx| change(tx, ctx, &session, &wanted)).await
    }

    async fn end_fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.once(move |tx, ctx| end(tx, ctx, &session)).await
    }

    async fn start_fence(&self, fence: NewFence) -> Result<Fence, StoreError> {
        fence.check()?;
        self.once(move |tx, ctx| fence::start(tx, ctx, &fence)).await
    }

    async fn fence(&self, id: FenceId) -> Result<Fence, StoreError> {
        self.read(move |tx, _| row::fence(tx, &id)).await
    }

    async fn list_fences(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<Fence>, StoreError> {
        self.read(move |tx, _| {
            session::last_seq(tx, &session)?;
            row::list_fences(tx, &session, &page)
        })
        .await
    }

    async fn open_fences(&self) -> Result<Vec<Fence>, StoreError> {
        self.read(|tx, _| row::open_fences(tx, limits::FENCES_OPEN_MAX)).await
    }

    async fn report_fence(&self, report: FenceReport) -> Result<Fence, StoreError> {
        report.check()?;
        self.write(move |tx, ctx| fence::report(tx, ctx, &report)).await?
    }

    async fn sweep_fleets(&self) -> Result<FleetsSwept, StoreError> {
        if !self.read(|tx, ctx| sweep::is_due(tx, ctx)).await? {
            return Ok(FleetsSwept::default());
        }
        self.write(|tx, ctx| sweep::sweep(tx, ctx)).await
    }
}
