//! Who may come in at present: places for handshakes and connections, and who lives.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Inner, Limits, Link};

/// The places of one listener.
#[derive(Debug)]
pub(super) struct Gate {
    handshakes_max: usize,
    per_address_max: usize,
    connections: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    handshakes: usize,
    by_address: HashMap<IpAddr, usize>,
    members: HashMap<u64, Weak<Inner>>,
    next_member: u64,
}

/// A place for a handshake, and one for the connection that comes of it.
#[derive(Debug)]
pub(super) struct Pass {
    gate: Arc<Gate>,
    address: IpAddr,
    connection: Option<OwnedSemaphorePermit>,
}

/// A connection's place for as long as it lives.
#[derive(Debug)]
pub(super) struct Member {
    gate: Arc<Gate>,
    number: u64,
    _connection: Option<OwnedSemaphorePermit>,
}

impl Gate {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let connections = limits.connections_max.min(Semaphore::MAX_PERMITS);
        Arc::new(Self {
            handshakes_max: limits.handshakes_max,
            per_address_max: limits.handshakes_per_address_max,
            connections: Arc::new(Semaphore::new(connections)),
            state: Mutex::default(),
        })
    }

    /// A place for a handshake with this address, unless all are taken.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Pass> {
        let address = network(address);
        let connection = Arc::clone(&self.connections).try_acquire_owned().ok()?;
        let mut state = self.lock();
        if state.handshakes >= self.handshakes_max || state.of(address) >= self.per_address_max {
            return None;
        }
        state.handshakes += 1;
        *state.by_address.entry(address).or_default() += 1;
        Some(Pass { gate: Arc::clone(self), address, connection: Some(connection) })
    }

    /// Whether so many shake hands that a peer must first show that its address is its own.
    pub(super) fn is_crowded(&self, address: IpAddr) -> bool {
        let state = self.lock();
        let of_address = state.of(network(address));
        2 * state.handshakes >= self.handshakes_max || 2 * of_address >= self.per_address_max
    }

    /// Every link that lives.
    pub(super) fn links(&self) -> Vec<Link> {
        self.lock().members.values().filter_map(Weak::upgrade).map(Link).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn of(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).copied().unwrap_or(0)
    }
}

impl Pass {
    /// The connection's place; it is listed when its link is made.
    pub(super) fn member(&mut self) -> Member {
        let number = {
            let mut state = self.gate.lock();
            state.next_member += 1;
            state.next_member
        };
        Member { gate: Arc::clone(&self.gate), number, _connection: self.connection.take() }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.handshakes = state.handshakes.saturating_sub(1);
        let left = state.of(self.address).saturating_sub(1);
        match left {
            0 => state.by_address.remove(&self.address),
            left => state.by_address.insert(self.address, left),
        };
    }
}

impl Member {
    pub(super) fn list(&self, link: Weak<Inner>) {
        self.gate.lock().members.insert(self.number, link);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.gate.lock().members.remove(&self.number);
    }
}

/// Whoever has one address of IPv6 has 2^64 of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        address => address,
    }
}
