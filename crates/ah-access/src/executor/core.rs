//! The executor without its sockets, its processes and its outbox: what happens goes in, what is to
//! be done comes out.
//!
//! Invariants: a program is started only while the store surely keeps its run for this executor, and
//! is ended when that is no longer sure; what is told of a run is in the outbox first; reports are
//! sent in the order of the outbox.

mod beat;
mod beside;
mod fences;
mod input;
mod link;
mod reports;
mod requests;
mod runs;

pub use input::{
    AgentOptions, Input, Output, Process, Restored, RestoredBeside, RestoredRun, Said, Signal,
    Stream, Verdict,
};

use std::collections::{BTreeMap, VecDeque};

use ah_model::{RequestId, RunId};

pub use runs::RunStanding;

use self::link::Line;
use self::runs::Held;
use crate::frame::{Load, Reply};
use crate::moment::Moment;

/// An executor without its machine.
#[derive(Debug)]
pub struct Agent {
    options: AgentOptions,
    line: Line,
    /// Dials so far: each has a number.
    dials: u64,
    /// Dials that came to nothing, in a row.
    failures: u32,
    random: u64,
    runs: BTreeMap<RunId, Held>,
    reports: reports::Progress,
    /// How requests were answered, so that one that comes again is answered alike.
    answered: VecDeque<(RequestId, Reply)>,
    /// What was started beside runs.
    beside: beside::Besides,
    /// Fences that are being reached.
    fences: BTreeMap<RequestId, fences::Fencing>,
    load: Load,
    began_ms: u64,
    leaving: bool,
    out: Vec<Output>,
}

impl Agent {
    /// One that begins, or begins again, with what its machine has kept.
    pub fn new(options: AgentOptions, restored: Restored, now: Moment) -> Self {
        let mut agent = Self {
            line: Line::Down { dial_at_ms: now.ms },
            dials: 0,
            failures: 0,
            random: options.seed | 1,
            runs: BTreeMap::new(),
            reports: reports::Progress::new(&restored),
            answered: VecDeque::new(),
            beside: beside::Besides::default(),
            fences: BTreeMap::new(),
            load: Load::default(),
            began_ms: now.ms,
            leaving: false,
            out: Vec::new(),
            options,
        };
        for run in restored.runs {
            agent.restore(now, run);
        }
        agent
    }

    /// Something happened: what is to be done now.
    pub fn on(&mut self, now: Moment, input: Input) -> Vec<Output> {
        match input {
            Input::Dialled { dial } => self.dialled(now, dial),
            Input::Closed { dial, retry_after_ms } => self.closed(now, dial, retry_after_ms),
            Input::Frame { dial, stream, frame } => self.frame(now, dial, stream, frame),
            // All others are answered as soon as they come: there is nothing to take back.
            Input::RequestDropped { dial, request } => self.take_back(dial, Some(&request)),
            Input::Fenced { request, verdict } => self.fenced(&request, *verdict),
            Input::Tick => {}
            Input::Kept { last_seq, ends } => self.kept(last_seq, &ends),
            Input::OutboxBegun { outbox, base } => self.outbox_begun(now, outbox, base),
            Input::Read { items } => self.read(items),
            Input::Process { program, process } => self.program(now, program, process),
            Input::Measured { load } => self.load = load,
            Input::Rotated => self.rotate(now),
            Input::Heard { said } => self.out.push(Output::Say(said)),
            Input::Leave => self.leave(),
        }
        self.dial_if_due(now);
        self.fence_if_due(now);
        self.end_fences_of_lost_runs();
        self.beat_if_due(now);
        self.read_if_due();
        std::mem::take(&mut self.out)
    }

    /// When something is due although nothing happens.
    pub fn due_ms(&self) -> u64 {
        let leases = self.runs.values().filter_map(Held::due_ms);
        leases.chain([self.line.due_ms()]).min().unwrap_or(u64::MAX)
    }

    /// Whether the access point counts it among those that are there.
    pub fn is_connected(&self) -> bool {
        matches!(self.line, Line::Up(_))
    }

    /// How many runs it holds.
    pub fn held(&self) -> usize {
        self.runs.len()
    }

    fn random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }
}
