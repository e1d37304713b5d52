//! The access point: who is connected, what they hold, and which run goes where.
//!
//! No sockets, no store and no clock in here: something happens ([`Input`]), and what is to be done
//! about it comes out ([`Output`]). So the same code runs behind real sockets and in a simulation of
//! bad networks. What it knows is in memory only and is built again from what executors say
//! when they come and from what the store has: truth about runs is the store's alone.
//!
//! Invariants: an executor has at most one connection that counts; a run is launched only after it
//! was claimed for that executor; a lease is prolonged only for runs that a heartbeat named.

mod admit;
mod audit;
mod beat;
mod connection;
mod converse;
mod dispatch;
mod fleet;
mod input;
mod place;
mod presence;
mod refusals;
mod reports;
mod request;
mod runs;
mod serve;
mod view;
mod work;

pub use dispatch::DispatchEnd;
pub use fleet::{Deed, Fencer, Key};
pub use input::{Answer, Ask, Asked, ConnectionId, FenceAsk, Input, Output, Stream};
pub use place::{Candidate, place};
pub use presence::{Assignment, Presence};
pub use refusals::record_refusals;
pub use serve::{AccessPoint, PointHandle};
pub use work::{Admission, Done, Look, Work, perform};

use std::collections::BTreeMap;

use ah_model::ExecutorId;

use self::connection::{Connection, Stage};
use crate::frame::ConnectionConfig;
use crate::moment::Moment;

/// How an access point behaves.
#[derive(Debug, Clone)]
pub struct PointOptions {
    /// Its name, told to executors.
    pub server_id: String,
    /// Unlike that of any other start of any access point: request ids are made of it.
    pub boot: [u8; 6],
    /// What executors are told to keep to.
    pub connection: ConnectionConfig,
    /// How long a peer may be silent before its Hello.
    pub hello_ms: u64,
    /// How long an executor may take to accept a request.
    pub request_ms: u64,
    /// How long a process may take to end when it is asked to.
    pub grace_ms: u64,
    /// How often the store is asked for work although nothing stirred.
    pub look_ms: u64,
    /// How often each executor is compared with the store.
    pub audit_ms: u64,
}

/// What an access point has counted since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executors that were let in.
    pub admitted: u64,
    /// Executors that were not.
    pub refused: u64,
    /// Connections that were closed for breaking the protocol.
    pub broken: u64,
    /// Executors that fell silent.
    pub silent: u64,
    /// Heartbeats.
    pub beats: u64,
    /// Runs that were given to an executor.
    pub launched: u64,
    /// Items of reports that the store refused.
    pub stale: u64,
    /// Differences between memory and store that were mended.
    pub drift: u64,
}

/// An access point without its sockets and its store.
#[derive(Debug)]
pub struct Point {
    options: PointOptions,
    connections: BTreeMap<ConnectionId, Connection>,
    /// The one connection of each executor that counts.
    present: BTreeMap<ExecutorId, ConnectionId>,
    looking: Looking,
    requests: u64,
    counts: Counts,
    out: Vec<Output>,
}

/// Whether the store is being asked for work, and whether it must be asked again.
#[derive(Debug, Default)]
struct Looking {
    now: bool,
    again: bool,
    due_ms: u64,
}

impl Point {
    /// One that nobody is connected to.
    pub fn new(options: PointOptions) -> Self {
        Self {
            options,
            connections: BTreeMap::new(),
            present: BTreeMap::new(),
            looking: Looking::default(),
            requests: 0,
            counts: Counts::default(),
            out: Vec::new(),
        }
    }

    /// What it has counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Everybody who is connected, by id.
    pub fn present(&self) -> impl Iterator<Item = &Presence> {
        self.present.values().filter_map(|id| self.presence(*id))
    }

    /// One who is connected.
    pub fn executor(&self, id: &ExecutorId) -> Option<&Presence> {
        self.presence(*self.present.get(id)?)
    }

    /// Something happened: what is to be done now.
    pub fn on(&mut self, now: Moment, input: Input) -> Vec<Output> {
        match input {
            Input::Connected { connection, peer, identity } => {
                let greeting = Connection::greeting(peer, identity, now.ms + self.options.hello_ms);
                self.connections.insert(connection, greeting);
            }
            Input::Frame { connection, stream, frame } => {
                self.frame(now, connection, stream, frame);
            }
            Input::RequestDropped { connection, request } => {
                self.request_dropped(connection, &request);
            }
            Input::Measured { connection, rtt_ms } => {
                if let Some(presence) = self.presence_mut(connection) {
                    presence.rtt_ms = Some(rtt_ms);
                }
            }
            Input::Closed { connection } => self.forget(connection),
            Input::Stirred => self.want_look(),
            Input::Changed { executor } => {
                if let Some(connection) = self.present.get(&executor).copied() {
                    self.audit(connection);
                }
            }
            Input::Ask(ask) => self.ask(now, ask),
            Input::TakeBack { token } => self.take_back(token),
            Input::Done(done) => self.done(now, *done),
            Input::Tick => self.tick(now),
            Input::Leave => self.leave(),
        }
        self.look_if_wanted(now);
        std::mem::take(&mut self.out)
    }

    fn done(&mut self, now: Moment, done: Done) {
        match done {
            Done::Admitted { connection, result } => self.admitted(now, connection, result),
            Done::Renewed { connection, asked_ms, leases, result } => {
                self.renewed(now, connection, asked_ms, &leases, result);
            }
            Done::Took { connection, result } => self.took(now, connection, result),
            Done::Claimed { connection, run_id, asked_ms, result } => {
                self.claimed(now, connection, run_id.as_ref(), asked_ms, result);
            }
            Done::Looked { result } => self.looked(now, result),
            Done::Audited { connection, result } => self.audited(now, connection, result),
            Done::Nothing => {}
        }
    }

    fn tick(&mut self, now: Moment) {
        let connections: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for connection in connections {
            self.tick_connection(now, connection);
        }
        if now.is_past(self.looking.due_ms) {
            self.want_look();
        }
    }

    fn tick_connection(&mut self, now: Moment, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        match &connection.stage {
            Stage::Greeting { until_ms } if now.is_past(*until_ms) => {
                self.break_off(id, "no-hello", "no Hello came in time");
            }
            Stage::Greeting { .. } | Stage::Admitting(_) => {}
            Stage::Up(presence) if now.is_past(presence.silent_at(&self.options.connection)) => {
                self.counts.silent += 1;
                self.say_goodbye(id, crate::frame::GoodbyeReason::Silent, "no heartbeat came");
            }
            Stage::Up(_) => {
                self.expire_requests(now, id);
                self.renew_if_due(now, id);
                self.take_next(now, id);
                self.audit_if_due(now, id);
            }
        }
    }

    /// The access point stops: everybody is told, so that they come again soon.
    fn leave(&mut self) {
        let connections: Vec<ConnectionId> = self.connections.keys().copied().collect();
        for connection in connections {
            let reason = crate::frame::GoodbyeReason::Shutdown;
            self.say_goodbye(connection, reason, "the access point stops");
        }
    }
}
