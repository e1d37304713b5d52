//! Chooses operations on fleets and fences: mostly what brings one on, so that steps are queued and
//! leaders are lost often.

use ah_model::{
    Demands, Fence, FenceId, FenceReport, FenceSaid, FenceStatus, Fleet, FleetChange, FleetDeed,
    FleetFiles, FleetFilter, FleetStatus, Lease, MemberName, NewFence, NewFleet, NewMember,
    NewStep, Offer, Run, RunClaim, RunStatus, SessionId, Snapshot,
};
use ah_store::Fleets;

use super::super::operation::{FleetOperation, Operation, RunOperation};
use super::Chooser;
use crate::ModelStore;
use crate::given::all;

const MEMBERS: [&str; 4] = ["a", "b", "c", "M~1"];
/// Nobody registers these, so nothing keeps them from holding members.
const HOLDERS: [&str; 3] = ["f1", "f2", "f3"];

/// The fleets and fences that the oracle holds.
pub(in super::super) struct KeptFleets {
    fleets: Vec<Fleet>,
    fences: Vec<Fence>,
}

impl KeptFleets {
    pub(super) async fn read(model: &ModelStore) -> Self {
        let fleets = model.list_fleets(FleetFilter::default(), all()).await.unwrap().items;
        let mut fences = Vec::new();
        for fleet in &fleets {
            fences.extend(model.list_fences(fleet.session_id.clone(), all()).await.unwrap().items);
        }
        Self { fleets, fences }
    }
}

impl Chooser<'_> {
    pub(super) fn fleet_operation(&mut self) -> Operation {
        use FleetOperation as Op;
        let free = self.sessions.iter().filter(|session| session.check_fleet().is_ok());
        let free: Vec<SessionId> = free.map(|session| session.id.clone()).collect();
        let chosen = match self.random.below(60) {
            0..=4 if free.len() < 3 => {
                return Operation::CreateSession(Box::new(self.new_session()));
            }
            0..=4 => Op::Create(self.new_fleet(&free)),
            5 => Op::Fleet(self.fleet_session()),
            6 => Op::List(self.fleet_filter(), self.start()),
            7..=9 => Op::Change(self.fleet_session(), self.fleet_change()),
            10 if self.random.one_in(2) => Op::End(self.fleet_session()),
            11..=15 => Op::Begin(self.new_fence()),
            16 => Op::Fence(self.fence_id()),
            17 => Op::Fences(self.fleet_session(), self.start()),
            18 => Op::Open,
            19..=28 => Op::Report(self.fence_report()),
            29..=31 => Op::Sweep,
            _ => return self.member_operation(),
        };
        match &chosen {
            Op::Create(_) | Op::Begin(_) if self.random.one_in(8) => {
                self.under_key("fleet", Operation::Fleets(chosen.clone()))
            }
            _ => Operation::Fleets(chosen),
        }
    }

    /// Takes, begins or loses the run of a member.
    fn member_operation(&mut self) -> Operation {
        let of_members = self.runs.iter().filter(|run| run.member.is_some());
        let of_members: Vec<Run> = of_members.cloned().collect();
        let with = |status: RunStatus| -> Vec<Run> {
            of_members.iter().filter(|run| run.status == status).cloned().collect()
        };
        let (pending, claimed, running) =
            (with(RunStatus::Pending), with(RunStatus::Claimed), with(RunStatus::Running));
        Operation::Runs(match self.random.below(10) {
            0..=4 if !pending.is_empty() => {
                let run = self.random.pick(&pending);
                let holder = self.random.pick(&HOLDERS).parse().unwrap();
                RunOperation::Claim(RunClaim {
                    executor_id: run.demands.executor_id.unwrap_or(holder),
                    offer: Offer::default(),
                    lease_ms: self.lease_ms(),
                    run_id: Some(run.id),
                })
            }
            2..=7 if !claimed.is_empty() => RunOperation::Start(self.random.pick(&claimed).lease()),
            8 if !running.is_empty() => RunOperation::Stop(self.random.pick(&running).id),
            9 if !running.is_empty() => RunOperation::Lose(self.random.pick(&running).lease()),
            _ => RunOperation::Renew(self.lease(), self.lease_ms()),
        })
    }

    /// Mostly a session that has a fleet.
    fn fleet_session(&mut self) -> SessionId {
        match self.kept.fleets.is_empty() || self.random.one_in(6) {
            true => self.session_id(),
            false => self.random.pick(&self.kept.fleets).session_id,
        }
    }

    fn member_name(&mut self) -> MemberName {
        self.random.pick(&MEMBERS).parse().unwrap()
    }

    fn new_member(&mut self) -> NewMember {
        let tags = if self.random.one_in(20) { vec!["t".to_owned()] } else { Vec::new() };
        NewMember { name: self.member_name(), demands: Demands { tags, ..Demands::default() } }
    }

    /// Seldom with nobody in it, or with two of one name.
    fn new_fleet(&mut self, free: &[SessionId]) -> NewFleet {
        let mut members: Vec<NewMember> = Vec::new();
        for _ in 0..self.random.below(6) {
            let member = self.new_member();
            if self.random.one_in(20) || members.iter().all(|known| known.name != member.name) {
                members.push(member);
            }
        }
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        NewFleet {
            session_id: match self.random.one_in(6) {
                true => self.session_id(),
                false => self.random.pick(free),
            },
            members,
            leader: self.random.one_in(4).then(|| self.member_name()),
            files: FleetFiles {
                directory: self.maybe_text(),
                pull: words(self.random.pick(&[&[], &["pull"][..]])),
                ignore: words(self.random.pick(&[&[], &[".git"][..]])),
            },
            requested_by: self.maybe_user(),
        }
    }

    fn fleet_filter(&mut self) -> FleetFilter {
        let statuses = [None, Some(FleetStatus::Live), Some(FleetStatus::Ended)];
        FleetFilter { status: self.random.pick(&statuses) }
    }

    fn fleet_change(&mut self) -> FleetChange {
        let what = match self.random.below(3) {
            0 => FleetDeed::Lead(self.member_name()),
            1 => FleetDeed::Add(Box::new(self.new_member())),
            _ => FleetDeed::Remove(self.member_name()),
        };
        FleetChange { epoch: self.random.pick(&[None, None, Some(1), Some(2)]), what }
    }

    fn new_fence(&mut self) -> NewFence {
        let step = NewStep {
            argv: vec!["make".to_owned()],
            env: <_>::default(),
            on: self.random.one_in(4).then(|| self.member_name()).into_iter().collect(),
            timeout_ms: self.random.pick(&[None, Some(20_000)]),
        };
        NewFence {
            session_id: self.fleet_session(),
            timeout_ms: self.random.pick(&[0, 1, 20_000, 60_000, 60_000, 60_000]),
            step: self.random.one_in(2).then_some(step),
            requested_by: self.maybe_user(),
        }
    }

    fn fence_id(&mut self) -> FenceId {
        match self.kept.fences.is_empty() || self.random.one_in(12) {
            true => "none".parse().unwrap(),
            false => self.random.pick(&self.kept.fences).id,
        }
    }

    /// Mostly what comes next at an open fence.
    fn fence_report(&mut self) -> FenceReport {
        let open = self.kept.fences.iter().filter(|fence| fence.status.is_open());
        let open: Vec<Fence> = open.cloned().collect();
        if open.is_empty() || self.random.one_in(6) {
            let (fence_id, lease) = (self.fence_id(), self.lease());
            return FenceReport { fence_id, lease, what: self.said() };
        }
        let fence = self.random.pick(&open);
        let awaited: Vec<_> = fence.awaited().cloned().collect();
        let member = match awaited.is_empty() || self.random.one_in(6) {
            true => self.random.pick(&fence.members),
            false => self.random.pick(&awaited),
        };
        let run = self.runs.iter().find(|run| run.id == member.run_id);
        let epoch = run.map_or(1, |run| run.lease_epoch);
        let what = match fence.status {
            _ if self.random.one_in(12) => self.said(),
            FenceStatus::Snapshot => FenceSaid::Snapshot(self.snapshot()),
            _ => FenceSaid::Consistent {},
        };
        FenceReport { fence_id: fence.id, lease: Lease { run_id: member.run_id, epoch }, what }
    }

    fn snapshot(&mut self) -> Snapshot {
        let name = self.random.pick(&["x", "x", "y", ""]).to_owned();
        Snapshot { provider: "digest".to_owned(), name, files: 1, bytes: 2 }
    }

    fn said(&mut self) -> FenceSaid {
        match self.random.below(4) {
            0 => FenceSaid::Snapshot(self.snapshot()),
            1 => FenceSaid::Consistent {},
            2 => FenceSaid::Timeout { detail: self.maybe_text() },
            _ => FenceSaid::Error { detail: self.text() },
        }
    }
}
