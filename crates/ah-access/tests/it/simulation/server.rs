//! An access point in the world: its core, its clock, and its crashes.

use ah_access::frame::ConnectionConfig;
use ah_access::point::{Done, Input, Output, Point, PointOptions, Work, perform};
use ah_conformance::Random;
use ah_store::{StoreError, block_on};

use super::world::{Happening, Side, World};

pub(super) const LEASE_MS: u64 = 12_000;
const TICK_MS: u64 = 250;

pub(super) struct Server {
    pub(super) boot: u64,
    since_ms: u64,
    permille: u64,
    ahead_ms: i64,
    point: Option<Point>,
}

impl Server {
    pub(super) fn new(random: &mut Random) -> Self {
        let ahead_ms = i64::try_from(random.below(7_200_000)).unwrap() - 3_600_000;
        let permille = 970 + random.below(61);
        Self { boot: 0, since_ms: 0, permille, ahead_ms, point: None }
    }

    pub(super) fn is_up(&self) -> bool {
        self.point.is_some()
    }
}

fn options(server: usize, boot: u64) -> PointOptions {
    PointOptions {
        server_id: format!("server-{server}"),
        boot: [u8::try_from(server).unwrap(), 0, 0, 0, 0, u8::try_from(boot % 256).unwrap()],
        connection: ConnectionConfig {
            heartbeat_ms: 1_000,
            heartbeats_missed_max: 4,
            lease_ms: LEASE_MS,
            requests_max: 64,
            reports_max: 4,
        },
        hello_ms: 5_000,
        request_ms: 5_000,
        grace_ms: 2_000,
        look_ms: 2_000,
        audit_ms: 10_000,
    }
}

impl World {
    pub(super) fn server_up(&mut self, server: usize) {
        let now_ms = self.now_ms;
        let one = &mut self.servers[server];
        if one.is_up() {
            return;
        }
        one.boot += 1;
        one.since_ms = now_ms;
        one.point = Some(Point::new(options(server, one.boot)));
        let boot = one.boot;
        self.note(|| format!("server {server} is up"));
        self.after(TICK_MS, Happening::PointTick { server, boot });
    }

    pub(super) fn crash_server(&mut self, server: usize) {
        if self.servers[server].point.take().is_none() {
            return;
        }
        self.note(|| format!("server {server} crashes"));
        for id in self.connections_of(|_, its| its == server) {
            self.hang_up(id, Side::Point);
        }
        self.within(30_000, Happening::ServerUp { server });
    }

    pub(super) fn tick_point(&mut self, server: usize, boot: u64) {
        if self.servers[server].boot != boot || !self.servers[server].is_up() {
            return;
        }
        self.tell_point(server, boot, Input::Tick);
        if self.random.one_in(4) {
            self.tell_point(server, boot, Input::Stirred);
        }
        self.after(TICK_MS, Happening::PointTick { server, boot });
    }

    pub(super) fn tell_point(&mut self, server: usize, boot: u64, input: Input) {
        let one = &self.servers[server];
        if one.boot != boot {
            return;
        }
        let now = self.moment(one.since_ms, one.permille, one.ahead_ms);
        let Some(point) = &mut self.servers[server].point else { return };
        let outputs = point.on(now, input);
        for output in outputs {
            self.do_for_point(server, boot, output);
        }
    }

    fn do_for_point(&mut self, server: usize, boot: u64, output: Output) {
        match output {
            Output::Send { connection, stream, frame } => {
                self.transmit(connection, Side::Executor, stream, frame);
            }
            Output::Close { connection, .. } => self.hang_up(connection, Side::Point),
            Output::Work(work) => self.within(30, Happening::Work { server, boot, work }),
            Output::DropRequest { .. } | Output::Answer { .. } => {}
        }
    }

    /// The store does it whether or not the access point lives to hear so; now and then it is busy.
    pub(super) fn work(&mut self, server: usize, boot: u64, work: Work) {
        let is_lost = self.servers[server].boot != boot || !self.servers[server].is_up();
        if is_lost && self.random.one_in(2) {
            return;
        }
        let done = if self.is_trouble() && self.random.one_in(25) {
            busy(work)
        } else {
            block_on(perform(&*self.store, work))
        };
        let input = Input::Done(Box::new(done));
        self.within(30, Happening::Point { server, boot, input });
    }
}

/// What comes of work when the store is busy.
fn busy(work: Work) -> Done {
    let error = || StoreError::Busy { retry_after: std::time::Duration::from_millis(10) };
    match work {
        Work::Admit { connection, .. } => Done::Admitted { connection, result: Err(error()) },
        Work::Renew { connection, leases, asked_ms, .. } => {
            Done::Renewed { connection, asked_ms, leases, result: Err(error()) }
        }
        Work::Take { connection, .. } => Done::Took { connection, result: Err(error()) },
        Work::Claim { connection, asked_ms, claim } => {
            Done::Claimed { connection, run_id: claim.run_id, asked_ms, result: Err(error()) }
        }
        Work::Look => Done::Looked { result: Err(error()) },
        Work::Audit { connection, .. } => Done::Audited { connection, result: Err(error()) },
        Work::Lose { .. } | Work::Note { .. } => Done::Nothing,
    }
}
