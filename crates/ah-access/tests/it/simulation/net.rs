//! The network: frames of a stream keep their order, everything else may happen.

use std::collections::BTreeMap;

use ah_access::executor::core as executor;
use ah_access::frame::Frame;
use ah_access::point::{self, ConnectionId, Stream};

use super::world::{Happening, Side, World};

#[derive(Default)]
pub(super) struct Net {
    connections: BTreeMap<ConnectionId, Connection>,
    made: u64,
    /// Until when a machine and an access point do not hear of each other.
    partitions: Vec<(usize, usize, u64)>,
    slow_until_ms: u64,
    slow_ms: u64,
}

struct Connection {
    machine: usize,
    machine_boot: u64,
    dial: u64,
    server: usize,
    server_boot: u64,
    /// When the last frame of a stream arrives, by direction and name of the stream.
    arrives_ms: BTreeMap<(Side, String), u64>,
}

impl Net {
    pub(super) fn partition(&mut self, machine: usize, server: usize, until_ms: u64) {
        self.partitions.push((machine, server, until_ms));
    }

    pub(super) fn slow(&mut self, until_ms: u64, ms: u64) {
        (self.slow_until_ms, self.slow_ms) = (until_ms, ms);
    }

    /// When something that is sent now gets through.
    fn open_ms(&self, machine: usize, server: usize, now_ms: u64) -> u64 {
        let these = self.partitions.iter().filter(|(m, s, _)| (*m, *s) == (machine, server));
        these.map(|(_, _, until)| *until).max().unwrap_or(0).max(now_ms)
    }
}

impl World {
    pub(super) fn dial(&mut self, machine: usize, boot: u64, dial: u64) {
        let server = self.pick(self.servers.len());
        let is_open = self.net.open_ms(machine, server, self.now_ms) <= self.now_ms;
        let ms = self.latency();
        if !is_open || !self.servers[server].is_up() {
            let input = executor::Input::Closed { dial, retry_after_ms: None };
            return self.after(ms, Happening::Agent { machine, boot, input });
        }
        self.net.made += 1;
        let id = ConnectionId(self.net.made);
        let server_boot = self.servers[server].boot;
        let connection = Connection {
            machine,
            machine_boot: boot,
            dial,
            server,
            server_boot,
            arrives_ms: BTreeMap::new(),
        };
        self.net.connections.insert(id, connection);
        self.machines[machine].connection = Some((dial, id));
        let peer = self.machines[machine].id.clone();
        let identity = ah_model::RawJson::null();
        let input = point::Input::Connected { connection: id, peer, identity };
        self.after(ms, Happening::Point { server, boot: server_boot, input });
        let input = executor::Input::Dialled { dial };
        self.after(ms, Happening::Agent { machine, boot, input });
    }

    fn latency(&mut self) -> u64 {
        let slow = if self.now_ms < self.net.slow_until_ms { self.net.slow_ms } else { 0 };
        1 + self.random.below(20 + slow)
    }

    pub(super) fn transmit(&mut self, id: ConnectionId, to: Side, stream: Stream, frame: Frame) {
        let latency = self.latency();
        let now_ms = self.now_ms;
        let Some(connection) = self.net.connections.get(&id) else { return };
        let open = self.net.open_ms(connection.machine, connection.server, now_ms);
        let arrives = open + latency;
        let Some(connection) = self.net.connections.get_mut(&id) else { return };
        let last = connection.arrives_ms.entry((to, format!("{stream:?}"))).or_insert(0);
        *last = arrives.max(*last);
        let at = *last;
        // What may be sent again on another connection may as well come twice on this one.
        let may_repeat = matches!(
            frame,
            Frame::Report(_) | Frame::ReportAck(_) | Frame::Launch(_) | Frame::Dispatch(_)
        );
        let twice = self.is_trouble() && may_repeat && self.random.one_in(10);
        if twice {
            let again = Happening::Deliver {
                connection: id,
                to,
                stream: stream.clone(),
                frame: frame.clone(),
            };
            self.after(at - now_ms, again);
        }
        self.after(at - now_ms, Happening::Deliver { connection: id, to, stream, frame });
    }

    pub(super) fn deliver(&mut self, id: ConnectionId, to: Side, stream: Stream, frame: Frame) {
        let Some(connection) = self.net.connections.get(&id) else { return };
        let Connection { machine, machine_boot, dial, server, server_boot, .. } = *connection;
        match to {
            Side::Point => {
                let input = point::Input::Frame { connection: id, stream, frame };
                self.tell_point(server, server_boot, input);
            }
            Side::Executor => {
                self.count_again(machine, &frame);
                let input = executor::Input::Frame { dial, stream, frame };
                self.tell_agent(machine, machine_boot, input);
            }
        }
    }

    /// One side closed it, or is no more: the other learns of it later, unless it is partitioned and
    /// finds out for itself.
    pub(super) fn hang_up(&mut self, id: ConnectionId, by: Side) {
        let latency = self.latency();
        let now_ms = self.now_ms;
        let Some(connection) = self.net.connections.get(&id) else { return };
        let open = self.net.open_ms(connection.machine, connection.server, now_ms);
        let side = if by == Side::Point { Side::Executor } else { Side::Point };
        self.after(open + latency - now_ms, Happening::Gone { connection: id, side });
    }

    pub(super) fn gone(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.net.connections.get(&id) else { return };
        let Connection { machine, machine_boot, dial, server, server_boot, .. } = *connection;
        match side {
            Side::Point => {
                let input = point::Input::Closed { connection: id };
                self.tell_point(server, server_boot, input);
            }
            Side::Executor => {
                let input = executor::Input::Closed { dial, retry_after_ms: None };
                self.tell_agent(machine, machine_boot, input);
            }
        }
    }

    /// A connection breaks, for both sides at different times.
    pub(super) fn cut_one(&mut self) {
        let ids: Vec<ConnectionId> = self.net.connections.keys().copied().collect();
        if ids.is_empty() {
            return;
        }
        let id = self.random.pick(&ids);
        self.within(5_000, Happening::Gone { connection: id, side: Side::Point });
        self.within(5_000, Happening::Gone { connection: id, side: Side::Executor });
    }

    pub(super) fn connections_of(&self, is_it: impl Fn(usize, usize) -> bool) -> Vec<ConnectionId> {
        let these = self.net.connections.iter();
        these.filter(|(_, one)| is_it(one.machine, one.server)).map(|(id, _)| *id).collect()
    }
}
