//! The world: time, what is going to happen, and the dice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use ah_access::executor::ProgramId;
use ah_access::executor::core as executor;
use ah_access::executor::outbox::Draft;
use ah_access::moment::Moment;
use ah_access::point::{self, ConnectionId};
use ah_conformance::{Harness, ModelHarness, Random};
use ah_model::{NewRepo, NewRun, NewSession, RawJson, RunId, RunKind, SessionId, Timestamp, Vcs};
use ah_store::{Capabilities, Store, block_on};

use super::beside::{Begun, Wanted};
use super::machine::Machine;
use super::net::Net;
use super::server::Server;

/// How long bad things happen.
pub(super) const TROUBLE_MS: u64 = 180_000;
/// When everything must be over.
const END_MS: u64 = 3_600_000;
/// How much of what happened is told of a failure.
const TRACE_MAX: usize = 60;
const SERVERS: usize = 2;
const MACHINES: usize = 3;

/// Something that happens at a time.
#[derive(Debug)]
pub(super) enum Happening {
    /// An access point is told.
    Point {
        server: usize,
        boot: u64,
        input: point::Input,
    },
    /// An access point's work reaches the store.
    Work {
        server: usize,
        boot: u64,
        work: point::Work,
    },
    /// An access point looks at its clock.
    PointTick {
        server: usize,
        boot: u64,
    },
    /// The store looks at its clock.
    Sweep,
    /// An executor is told.
    Agent {
        machine: usize,
        boot: u64,
        input: executor::Input,
    },
    /// An executor looks at its clock.
    AgentTick {
        machine: usize,
        boot: u64,
    },
    /// A report is on disk.
    Kept {
        machine: usize,
        boot: u64,
        report: Draft,
    },
    /// All of a program beside a run is on disk.
    Told {
        machine: usize,
        boot: u64,
        program: ProgramId,
    },
    /// A program does something.
    Program {
        machine: usize,
        power: u64,
        program: ProgramId,
        step: Step,
    },
    /// A frame arrives, unless its connection is gone.
    Deliver {
        connection: ConnectionId,
        to: Side,
        stream: point::Stream,
        frame: ah_access::frame::Frame,
    },
    /// One side learns that a connection is gone.
    Gone {
        connection: ConnectionId,
        side: Side,
    },
    /// Somebody queues a run.
    Queue {
        number: u64,
    },
    /// Somebody stops a run.
    Stop {
        run_id: RunId,
    },
    /// Somebody wants a program beside a run.
    Dispatch {
        wanted: Wanted,
    },
    /// Something bad.
    Trouble,
    /// Something that was down comes back.
    ServerUp {
        server: usize,
    },
    MachineUp {
        machine: usize,
    },
}

/// What a program does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Started,
    Event,
    Exit {
        code: i64,
    },
    Killed,
    /// Its keeper looks whether the lease is over.
    Due,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Point,
    Executor,
}

pub(super) struct World {
    pub(super) seed: u64,
    pub(super) now_ms: u64,
    pub(super) random: Random,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    scheduled: u64,
    harness: ModelHarness,
    pub(super) store: Arc<dyn Store>,
    pub(super) servers: Vec<Server>,
    pub(super) machines: Vec<Machine>,
    pub(super) net: Net,
    pub(super) runs: Vec<RunId>,
    /// Every program that began, and where.
    pub(super) begun: Vec<Begun>,
    pub(super) tally: Tally,
    pub(super) trace: VecDeque<String>,
}

/// What happened, so that it can be seen that all of it did.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub(super) fenced: u64,
    pub(super) lost: u64,
    pub(super) away: u64,
    pub(super) refused: u64,
    pub(super) unsure: u64,
    pub(super) again: u64,
    pub(super) completed: u64,
    /// Programs beside runs whose end is in the store.
    pub(super) beside: u64,
    /// Requests that came again for a program that was there.
    pub(super) asked_again: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.fenced += other.fenced;
        self.lost += other.lost;
        self.away += other.away;
        self.refused += other.refused;
        self.unsure += other.unsure;
        self.again += other.again;
        self.completed += other.completed;
        self.beside += other.beside;
        self.asked_again += other.asked_again;
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let harness = ModelHarness::new(Capabilities { workspaces: false }, seed);
        let mut random = Random::new(seed ^ 0x5eed);
        let servers = (0..SERVERS).map(|_| Server::new(&mut random)).collect();
        let machines = (0..MACHINES).map(|number| Machine::new(number, &mut random)).collect();
        let mut world = Self {
            seed,
            now_ms: 0,
            random,
            queue: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            scheduled: 0,
            store: harness.store(),
            harness,
            servers,
            machines,
            net: Net::default(),
            runs: Vec::new(),
            begun: Vec::new(),
            tally: Tally::default(),
            trace: VecDeque::new(),
        };
        world.begin();
        world
    }

    fn begin(&mut self) {
        for server in 0..SERVERS {
            self.after(0, Happening::ServerUp { server });
        }
        for machine in 0..MACHINES {
            self.within(2_000, Happening::MachineUp { machine });
        }
        for number in 0..6 + self.random.below(8) {
            self.within(TROUBLE_MS / 2, Happening::Queue { number });
        }
        self.after(1_000, Happening::Sweep);
        self.within(20_000, Happening::Trouble);
    }

    /// Plays it through, and looks at what is left.
    pub(super) fn run(mut self) -> Tally {
        while let Some(Reverse((at_ms, number))) = self.queue.pop() {
            assert!(at_ms < END_MS, "seed {}: not over in time\n{}", self.seed, self.state());
            self.move_clock(at_ms);
            if let Some(happening) = self.happenings.remove(&number) {
                self.happen(happening);
                self.check_leases();
            }
            if self.now_ms > TROUBLE_MS && self.is_over() {
                break;
            }
        }
        self.check_end();
        self.tallied()
    }

    fn move_clock(&mut self, at_ms: u64) {
        let passed = i64::try_from(at_ms - self.now_ms).unwrap();
        self.harness.clock().advance_ms(passed);
        self.now_ms = at_ms;
    }

    pub(super) fn after(&mut self, ms: u64, happening: Happening) {
        self.scheduled += 1;
        self.queue.push(Reverse((self.now_ms + ms, self.scheduled)));
        self.happenings.insert(self.scheduled, happening);
    }

    pub(super) fn within(&mut self, ms: u64, happening: Happening) {
        let ms = self.random.below(ms.max(1));
        self.after(ms, happening);
    }

    pub(super) fn is_trouble(&self) -> bool {
        self.now_ms < TROUBLE_MS
    }

    /// Remembers what happened, for who looks for the cause of a failure.
    pub(super) fn note(&mut self, text: impl FnOnce() -> String) {
        if self.trace.len() == TRACE_MAX {
            self.trace.pop_front();
        }
        self.trace.push_back(format!("{:>8} {}", self.now_ms, text()));
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Point { server, boot, input } => self.tell_point(server, boot, input),
            Happening::Work { server, boot, work } => self.work(server, boot, work),
            Happening::PointTick { server, boot } => self.tick_point(server, boot),
            Happening::Sweep => {
                let _ = block_on(self.store.sweep_runs());
                self.after(1_000, Happening::Sweep);
            }
            Happening::Agent { machine, boot, input } => self.tell_agent(machine, boot, input),
            Happening::AgentTick { machine, boot } => self.tick_agent(machine, boot),
            Happening::Kept { machine, boot, report } => self.keep(machine, boot, report),
            Happening::Told { machine, boot, program } => self.told(machine, boot, &program),
            Happening::Program { machine, power, program, step } => {
                self.program(machine, power, &program, step);
            }
            Happening::Dispatch { wanted } => self.dispatch(wanted),
            Happening::Deliver { connection, to, stream, frame } => {
                self.deliver(connection, to, stream, frame);
            }
            Happening::Gone { connection, side } => self.gone(connection, side),
            Happening::Queue { number } => self.queue_run(number),
            Happening::Stop { run_id } => drop(block_on(self.store.stop_run(run_id))),
            Happening::Trouble => self.trouble(),
            Happening::ServerUp { server } => self.server_up(server),
            Happening::MachineUp { machine } => self.machine_up(machine),
        }
    }

    fn queue_run(&mut self, number: u64) {
        let session: SessionId = format!("ses-{number}").parse().unwrap();
        let repo = NewRepo {
            vcs: Vcs::None,
            root_path: Some("/srv/harbor".to_owned()),
            remote_url: None,
            default_branch: None,
        };
        let new = NewSession {
            id: Some(session.clone()),
            ..NewSession::new(repo, "codex".parse().unwrap())
        };
        let run = NewRun {
            id: Some(format!("run-{number}").parse().unwrap()),
            session: Some(Box::new(new)),
            requeue: self.random.one_in(2),
            ..NewRun::new(session, RunKind::Start, RawJson::null())
        };
        let run = block_on(self.store.create_run(run)).unwrap();
        self.note(|| format!("queued {}", run.id));
        self.runs.push(run.id.clone());
        self.want_beside(&run.id);
        if self.random.one_in(4) {
            self.within(TROUBLE_MS / 2, Happening::Stop { run_id: run.id });
        }
    }

    fn trouble(&mut self) {
        if !self.is_trouble() {
            return;
        }
        let (server, machine) = (self.pick(SERVERS), self.pick(MACHINES));
        match self.random.below(8) {
            0 => self.crash_server(server),
            1 => self.crash_machine(machine, false),
            2 => self.crash_machine(machine, true),
            3 | 4 => {
                self.net.partition(machine, server, self.now_ms + 500 + self.random.below(40_000))
            }
            5 => self.cut_one(),
            _ => self.net.slow(self.now_ms + 10_000, 20 + self.random.below(3_000)),
        }
        self.within(12_000, Happening::Trouble);
    }

    pub(super) fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(count as u64)).unwrap()
    }

    pub(super) fn wall(&self, ahead_ms: i64) -> Timestamp {
        let ms = 1_767_323_045_678 + i64::try_from(self.now_ms).unwrap() + ahead_ms;
        Timestamp::from_unix_ms(ms)
    }

    /// The moment by a clock that was started at `since_ms` and runs `permille` as fast.
    pub(super) fn moment(&self, since_ms: u64, permille: u64, ahead_ms: i64) -> Moment {
        let ms = (self.now_ms - since_ms) * permille / 1_000;
        Moment { ms, wall: self.wall(ahead_ms) }
    }
}
