//! Fleets in the oracle.

use ah_model::{
    Cursor, Fence, FenceId, FenceReport, Fleet, FleetChange, FleetDeed, FleetFilter, FleetStatus,
    FleetsSwept, MemberChange, MemberName, NewEvent, NewFence, NewFleet, NewRun, Page, PageRequest,
    RawJson, Run, SessionId, Timestamp, fleet_events, fleet_reasons, limits,
};
use ah_store::{Fleets, Kind, StoreError};
use async_trait::async_trait;

use super::{Door, ModelStore, Rows, foreign, overfull};

#[async_trait]
impl Fleets for ModelStore {
    async fn create_fleet(&self, fleet: NewFleet) -> Result<Fleet, StoreError> {
        fleet.check()?;
        self.write_once(|rows, door| rows.create_fleet(fleet, door))
    }

    async fn fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.read(|rows| rows.fleet(&session).cloned())
    }

    async fn list_fleets(
        &self,
        filter: FleetFilter,
        page: PageRequest,
    ) -> Result<Page<Fleet>, StoreError> {
        let before = match page.cursor.clone() {
            None => None,
            Some(Cursor::Activity { at, id }) => Some((at, id)),
            Some(other) => return Err(foreign(&other)),
        };
        self.read(|rows| {
            let passes = |fleet: &&Fleet| {
                filter.status.is_none_or(|status| fleet.status == status)
                    && before.as_ref().is_none_or(|before| place(fleet) < *before)
            };
            let mut fleets: Vec<_> = rows.fleets.values().filter(passes).collect();
            fleets.sort_by_key(|fleet| std::cmp::Reverse(place(fleet)));
            let items = overfull(fleets.into_iter().cloned(), &page);
            let cursor = |fleet: &Fleet| {
                let (at, id) = place(fleet);
                Cursor::Activity { at, id }
            };
            Ok(Page::from_overfull(items, page.limit, cursor))
        })
    }

    async fn change_fleet(
        &self,
        session: SessionId,
        change: FleetChange,
    ) -> Result<Fleet, StoreError> {
        change.check()?;
        self.write_once(|rows, door| rows.change_fleet(&session, change, door))
    }

    async fn end_fleet(&self, session: SessionId) -> Result<Fleet, StoreError> {
        self.write_once(|rows, door| {
            rows.fleet(&session)?;
            rows.end_fleet(&session, door)?;
            rows.fleet(&session).cloned()
        })
    }

    async fn start_fence(&self, fence: NewFence) -> Result<Fence, StoreError> {
        fence.check()?;
        self.write_once(|rows, door| rows.start_fence(fence, door))
    }

    async fn fence(&self, id: FenceId) -> Result<Fence, StoreError> {
        self.read(|rows| rows.known_fence(&id).cloned())
    }

    async fn list_fences(
        &self,
        session: SessionId,
        page: PageRequest,
    ) -> Result<Page<Fence>, StoreError> {
        self.read(|rows| rows.list_fences(&session, &page))
    }

    async fn open_fences(&self) -> Result<Vec<Fence>, StoreError> {
        self.read(|rows| {
            let open = rows.fences.values().filter(|fence| fence.status.is_open());
            Ok(open.take(limits::FENCES_OPEN_MAX).cloned().collect())
        })
    }

    /// A refusal of what came too late is kept with the end of the fence.
    async fn report_fence(&self, report: FenceReport) -> Result<Fence, StoreError> {
        report.check()?;
        self.write(|rows, door| rows.report_fence(&report, door))?
    }

    async fn sweep_fleets(&self) -> Result<FleetsSwept, StoreError> {
        self.write(|rows, door| rows.sweep_fleets(door))
    }
}

/// Where a fleet stands in a list: the newest, then the greater id, last.
fn place(fleet: &Fleet) -> (Timestamp, String) {
    (fleet.created_at, fleet.session_id.to_string())
}

/// The refusal of what a session's fleet does not let happen.
fn refused(session: &SessionId) -> impl Fn(String) -> StoreError {
    move |reason| StoreError::conflict(Kind::Session, session, reason)
}

impl Rows {
    pub(super) fn fleet(&self, session: &SessionId) -> Result<&Fleet, StoreError> {
        self.fleets.get(session).ok_or_else(|| StoreError::not_found(Kind::Fleet, session))
    }

    pub(super) fn fleet_mut(&mut self, session: &SessionId) -> Result<&mut Fleet, StoreError> {
        self.fleets.get_mut(session).ok_or_else(|| StoreError::not_found(Kind::Fleet, session))
    }

    fn create_fleet(&mut self, new: NewFleet, door: &Door) -> Result<Fleet, StoreError> {
        let session = self.row(&new.session_id)?.id.clone();
        self.row(&session)?.check_fleet().map_err(refused(&session))?;
        let before = self.fleets.get(&session);
        if before.is_some_and(|fleet| fleet.status == FleetStatus::Live) {
            return Err(refused(&session)("has a live fleet".to_owned()));
        }
        let epoch = before.map_or(0, |fleet| fleet.epoch);
        let ids: Result<Vec<_>, _> = new.members.iter().map(|_| door.ids.run(door.now())).collect();
        let fleet = Fleet::formed(new, &ids?, epoch, door.now()).unwrap();
        for member in &fleet.members {
            let hold = fleet.hold(&member.demands)?;
            let id = Some(member.run_id.clone());
            self.queue_of_member(NewRun { id, ..hold }, &member.name, door)?;
        }
        self.fleets.insert(session.clone(), fleet.clone());
        self.tell_session(&session, fleet_events::FORMED, &fleet.formed_data(), door)?;
        Ok(fleet)
    }

    pub(super) fn queue_of_member(
        &mut self,
        new: NewRun,
        member: &MemberName,
        door: &Door,
    ) -> Result<Run, StoreError> {
        let now = door.now();
        let id = match new.id.clone() {
            Some(id) => id,
            None => door.ids.run(now)?,
        };
        let session = self.row(&new.session_id)?;
        let run = Run::of_member(new, member.clone(), id, session, now);
        self.insert_run(run.clone());
        Ok(run)
    }

    fn change_fleet(
        &mut self,
        session: &SessionId,
        change: FleetChange,
        door: &Door,
    ) -> Result<Fleet, StoreError> {
        let fleet = self.fleet(session)?;
        fleet.check_live(change.epoch).map_err(refused(session))?;
        match change.what {
            FleetDeed::Lead(name) => self.lead(session, &name, fleet_reasons::ASKED, door)?,
            FleetDeed::Add(member) => {
                let (name, hold) = (member.name.clone(), fleet.hold(&member.demands)?);
                let run = self.queue_of_member(hold, &name, door)?;
                let fleet = self.fleet_mut(session)?;
                fleet.add(*member, run.id).map_err(refused(session))?;
                let data = fleet.changed_data(MemberChange::Joined(&name));
                self.tell_session(session, fleet_events::CHANGED, &data, door)?;
            }
            FleetDeed::Remove(name) => {
                let fleet = self.fleet_mut(session)?;
                fleet.remove(&name).map_err(refused(session))?;
                let data = fleet.changed_data(MemberChange::Left(&name));
                self.tell_session(session, fleet_events::CHANGED, &data, door)?;
                let open = self.open_fence(session);
                if open.is_some_and(|fence| fence.members.iter().any(|one| one.name == name)) {
                    self.give_up_fence(session, fleet_reasons::MEMBER_LEFT, door)?;
                }
                self.stop_members(session, Some(&name), door.now());
            }
        }
        self.fleet(session).cloned()
    }

    /// Gives a fleet to another leader, if it is another.
    pub(super) fn lead(
        &mut self,
        session: &SessionId,
        name: &MemberName,
        reason: &str,
        door: &Door,
    ) -> Result<(), StoreError> {
        let fleet = self.fleet_mut(session)?;
        let before = fleet.leader.clone();
        if !fleet.lead(name, door.now()).map_err(refused(session))? {
            return Ok(());
        }
        let data = fleet.leader_data(&before, reason);
        self.tell_session(session, fleet_events::LEADER, &data, door)?;
        self.give_up_fence(session, fleet_reasons::LEADER_CHANGED, door)
    }

    /// Ends the live fleet of a session, if it has one.
    pub(super) fn end_fleet(&mut self, session: &SessionId, door: &Door) -> Result<(), StoreError> {
        let Some(fleet) = self.fleets.get_mut(session) else { return Ok(()) };
        if !fleet.end(door.now()) {
            return Ok(());
        }
        let data = fleet.ended_data();
        self.give_up_fence(session, fleet_reasons::ENDED, door)?;
        self.tell_session(session, fleet_events::ENDED, &data, door)?;
        self.stop_members(session, None, door.now());
        Ok(())
    }

    /// Asks the live runs of members to stop: of all, or of one.
    fn stop_members(&mut self, session: &SessionId, member: Option<&MemberName>, now: Timestamp) {
        let concerned = |run: &Run| {
            run.session_id == *session
                && run.status.is_live()
                && run.member.as_ref().is_some_and(|name| member.is_none_or(|it| it == name))
        };
        for place in self.places(concerned) {
            self.run_at(place).stop(now).unwrap();
        }
    }

    /// Appends to the log of a session what happened to its fleet.
    pub(super) fn tell_session(
        &mut self,
        session: &SessionId,
        kind: &str,
        data: &serde_json::Value,
        door: &Door,
    ) -> Result<(), StoreError> {
        let data = RawJson::of(data)?;
        let event = NewEvent { kind: kind.to_owned(), data, dedup_key: None, ts: None };
        self.append_events(session, vec![event], door.now()).map(drop)
    }
}
