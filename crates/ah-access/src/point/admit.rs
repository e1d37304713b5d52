//! Letting an executor in: its Hello, the store's word, and who holds what from here on.

use std::collections::{BTreeMap, VecDeque};

use ah_model::{Enrolment, Executor, RawJson, Run, RunStatus};
use ah_store::StoreError;

use super::connection::{Greeted, Stage};
use super::input::{ConnectionId, Output, Stream};
use super::presence::{Assignment, Taking};
use super::work::{Admission, Work};
use super::{Point, Presence};
use crate::frame::{Ack, GoodbyeReason, Held, Hello, Load, RefusedReason, VERSION};
use crate::moment::Moment;

/// When a store that could not answer is worth another try.
const RETRY_AFTER_MS: u64 = 1_000;

impl Point {
    pub(super) fn hello(&mut self, id: ConnectionId, hello: Hello) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        if hello.executor_id != connection.peer {
            let detail =
                format!("Hello names {}, its certificate {}", hello.executor_id, connection.peer);
            return self.refuse(id, RefusedReason::IdentityMismatch, detail, None);
        }
        if hello.protocol == 0 {
            let detail = format!("version 0 is none, {VERSION} is spoken here");
            return self.refuse(id, RefusedReason::Version, detail, None);
        }
        connection.stage = Stage::Admitting(Greeted {
            protocol: hello.protocol.min(VERSION),
            outbox: hello.outbox.id.clone(),
            held: hello.held,
        });
        let enrolment = Enrolment {
            id: hello.executor_id,
            identity_provider: hello.identity_provider,
            identity: connection.identity.clone(),
            offer: hello.offer,
            details: hello.details,
            machine: hello.machine,
            capacity: Some(hello.capacity),
        };
        let (enrolment, outbox) = (Box::new(enrolment), hello.outbox.id);
        self.out.push(Output::Work(Work::Admit { connection: id, enrolment, outbox }));
    }

    pub(super) fn admitted(
        &mut self,
        now: Moment,
        id: ConnectionId,
        result: Result<Admission, StoreError>,
    ) {
        let Some(connection) = self.connections.get(&id) else { return };
        if !matches!(connection.stage, Stage::Admitting(_)) {
            return;
        }
        match result {
            Ok(admission) => self.let_in(now, id, admission),
            Err(StoreError::Conflict { reason, .. }) => {
                let word = if reason.contains("revoked") {
                    RefusedReason::Revoked
                } else {
                    RefusedReason::Disabled
                };
                self.refuse(id, word, reason, None);
            }
            Err(StoreError::Invalid(invalid)) => {
                self.refuse(id, RefusedReason::Protocol, invalid.to_string(), None);
            }
            Err(error) => {
                let detail = error.to_string();
                self.refuse(id, RefusedReason::Busy, detail, Some(RETRY_AFTER_MS));
            }
        }
    }

    fn let_in(&mut self, now: Moment, id: ConnectionId, admission: Admission) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let executor = admission.executor.id.clone();
        let dummy = Stage::Greeting { until_ms: now.ms };
        let Stage::Admitting(greeted) = std::mem::replace(&mut connection.stage, dummy) else {
            return;
        };
        let sorted = Sorted::of(&greeted.held, admission.runs);
        let epoch = admission.executor.generation;
        let mut presence = present(now, admission.executor, &greeted);
        presence.renew_ms = Some(now.ms);
        presence.audit_ms = Some(now.ms + self.options.audit_ms);
        presence.assignments = adopted(&sorted.held);
        connection.stage = Stage::Up(Box::new(presence));
        self.counts.admitted += 1;
        if let Some(older) = self.present.insert(executor, id) {
            self.say_goodbye(older, GoodbyeReason::Replaced, "a newer connection took its place");
            self.put_back(id);
        }
        let ack = Ack {
            protocol: greeted.protocol,
            server_id: self.options.server_id.clone(),
            epoch,
            now: now.wall,
            config: self.options.connection.clone(),
            reported_seq: admission.through,
            lost: sorted.lost,
        };
        self.send(id, Stream::Control, ack);
        for run in sorted.unknown {
            self.relaunch_or_lose(now, id, run);
        }
        self.want_look();
    }

    /// Closing the older connection must not take the newer one's place away.
    fn put_back(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        self.present.insert(connection.peer.clone(), id);
    }
}

fn present(now: Moment, executor: Executor, greeted: &Greeted) -> Presence {
    Presence {
        // Details may be long, and placement does not look at them.
        executor: Executor { details: RawJson::null(), ..executor },
        protocol: greeted.protocol,
        connected_ms: now.ms,
        heard_ms: now.ms,
        beats: 0,
        rtt_ms: None,
        load: Load::default(),
        assignments: BTreeMap::new(),
        outbox: greeted.outbox.clone(),
        requests: BTreeMap::new(),
        lost: Vec::new(),
        claiming: BTreeMap::new(),
        renew_ms: None,
        audit_ms: None,
        suspects: Vec::new(),
        reports: VecDeque::new(),
        taking: Taking::No,
        avoid: BTreeMap::new(),
    }
}

/// What an executor believes to hold beside what the store knows.
struct Sorted {
    /// Both agree.
    held: Vec<Run>,
    /// The store does not.
    lost: Vec<Held>,
    /// The executor does not know of it.
    unknown: Vec<Run>,
}

impl Sorted {
    fn of(held: &[Held], runs: Vec<Run>) -> Self {
        let names = |run: &Run| Held { run_id: run.id.clone(), epoch: run.lease_epoch };
        let lost = held.iter().filter(|one| !runs.iter().any(|run| names(run) == **one));
        let lost = lost.cloned().collect();
        let (held, unknown) = runs.into_iter().partition(|run| held.contains(&names(run)));
        Self { held, lost, unknown }
    }
}

fn adopted(runs: &[Run]) -> BTreeMap<ah_model::RunId, Assignment> {
    let assignment = |run: &Run| Assignment::new(run, None, 0);
    runs.iter().map(|run| (run.id.clone(), assignment(run))).collect()
}

/// Whether a run was taken and never begun.
pub(super) fn is_only_claimed(run: &Run) -> bool {
    run.status == RunStatus::Claimed
}
