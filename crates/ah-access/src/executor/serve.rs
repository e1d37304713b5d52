//! An executor on real sockets, with its outbox and its programs.
//!
//! One task owns the [`Agent`]; one thread writes down and forgets, in the order in which it is told;
//! one thread moves what programs write into the outbox. None of them waits for the network.

use std::sync::Arc;
use std::time::Duration;

use ah_model::Lease;
use ah_store::Clock;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, channel, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use super::converse::{Dialling, Order, converse};
use super::core::{
    Agent, AgentOptions, Input, Output, Process, Restored, RestoredBeside, RestoredRun, Said,
};
use super::desk::{Desk, Job};
use super::host::{Host, Standing};
use super::outbox::Outbox;
use super::pump::Pump;
use crate::link::{Dialer, Limits, Way};
use crate::moment::{Began, Moment};
use crate::tls::Terms;

const TICK: Duration = Duration::from_millis(100);
/// How often the load of the machine is looked at.
const LOAD_EVERY: Duration = Duration::from_secs(5);
/// Frames on their way to the access point.
const ORDERS_MAX: usize = 256;

/// Where an executor dials, and how.
pub struct Servers {
    /// Hosts with ports, tried in turn.
    pub hosts: Vec<String>,
    /// Over which transport.
    pub way: Way,
    /// What this side brings to a connection now; asked at every dial.
    pub terms: Box<dyn Fn() -> Arc<Terms> + Send + Sync>,
}

/// Hears what an operator wants to know.
pub type Tell = Box<dyn Fn(Said) + Send + Sync>;

/// An executor that is about to serve.
pub struct Executor {
    options: AgentOptions,
    servers: Arc<Servers>,
    host: Arc<Host>,
    outbox: Arc<Outbox>,
    clock: Arc<dyn Clock>,
    load: Box<dyn Fn() -> crate::frame::Load + Send + Sync>,
    tell: Tell,
    messages: (UnboundedSender<Message>, UnboundedReceiver<Message>),
}

/// Something for the task that owns the agent.
pub(super) enum Message {
    Input(Input),
    /// A program has ended: its output is moved first.
    Over,
}

/// Speaks with an executor that serves.
#[derive(Clone)]
pub struct ExecutorHandle(UnboundedSender<Message>);

impl ExecutorHandle {
    /// The host says that a program of a run has ended.
    pub fn ended(&self, _: &Lease) {
        // Nobody is left to be told when the executor has stopped.
        let _ = self.0.send(Message::Over);
    }

    /// The identity is a new one: the connection is made again with it.
    pub fn rotate(&self) {
        let _ = self.0.send(Message::Input(Input::Rotated));
    }
}

/// What an executor is made of.
pub struct Parts {
    /// Who it is, and how it behaves.
    pub options: AgentOptions,
    /// Where it dials.
    pub servers: Servers,
    /// Its programs. Whoever opens the host passes what it is told to [`ExecutorHandle::ended`].
    pub host: Host,
    /// What it has to report.
    pub outbox: Outbox,
    /// Its clock.
    pub clock: Arc<dyn Clock>,
    /// How busy its machine is.
    pub load: Box<dyn Fn() -> crate::frame::Load + Send + Sync>,
    /// Who hears what happens.
    pub tell: Tell,
}

/// Where an executor that is not made yet will be spoken with.
pub struct Mailbox(UnboundedSender<Message>, UnboundedReceiver<Message>);

impl Mailbox {
    /// An empty one.
    pub fn new() -> Self {
        let (sender, receiver) = unbounded_channel();
        Self(sender, receiver)
    }

    /// Speaks with the executor that will read it.
    pub fn handle(&self) -> ExecutorHandle {
        ExecutorHandle(self.0.clone())
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Executor {
    /// One that is told through `mailbox`.
    pub fn new(parts: Parts, mailbox: Mailbox) -> Self {
        let Parts { options, servers, host, outbox, clock, load, tell } = parts;
        let (servers, host, outbox) = (Arc::new(servers), Arc::new(host), Arc::new(outbox));
        let messages = (mailbox.0, mailbox.1);
        Self { options, servers, host, outbox, clock, load, tell, messages }
    }

    /// Serves until `stop`. Programs go on, and are found again by the next one.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let (sender, mut messages) = self.messages;
        let pump = Pump::start(
            Arc::clone(&self.host),
            Arc::clone(&self.outbox),
            sender.clone(),
            Arc::clone(&self.clock),
        );
        let desk = Desk::start(
            Arc::clone(&self.host),
            Arc::clone(&self.outbox),
            pump.clone(),
            sender.clone(),
        );
        let began = Began::now();
        let now = Moment { ms: 0, wall: self.clock.now() };
        let restored = restored(&self.host, &self.outbox);
        let mut serving = Serving {
            agent: Agent::new(self.options, restored, now),
            began,
            clock: self.clock,
            servers: self.servers,
            dialer: Arc::new(Dialer::new(Limits::dialer())),
            desk,
            pump,
            tell: self.tell,
            sender,
            line: None,
        };
        let (mut ticks, mut loads) = (interval(TICK), interval(LOAD_EVERY));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loads.set_missed_tick_behavior(MissedTickBehavior::Delay);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = ticks.tick() => serving.on(Input::Tick),
                _ = loads.tick() => serving.on(Input::Measured { load: (self.load)() }),
                Some(message) = messages.recv() => serving.handle(message),
            }
        }
        serving.on(Input::Leave);
        if let Some((_, orders)) = serving.line.take() {
            // The farewell is on its way when the task of the connection is over.
            orders.closed().await;
        }
        serving.dialer.close().await;
    }
}

/// What the machine has kept.
fn restored(host: &Host, outbox: &Outbox) -> Restored {
    let runs = host.runs().into_iter().map(|standing| RestoredRun {
        beside: restored_beside(host, &standing.program.lease),
        run_id: standing.program.lease.run_id,
        epoch: standing.program.lease.epoch,
        session_id: standing.session_id,
        member: standing.member,
        is_hold: standing.is_hold,
        has_begun: standing.has_begun,
        // Of one that has ended, the pump says how once its output is moved.
        process: Process::Started,
        end_seq: None,
    });
    Restored {
        outbox: outbox.id(),
        base: outbox.base(),
        through: outbox.forgotten(),
        last_seq: outbox.last_seq(),
        runs: runs.collect(),
    }
}

fn restored_beside(host: &Host, lease: &Lease) -> Vec<RestoredBeside> {
    let found = host.besides(lease).into_iter().filter_map(|standing| {
        let Standing { program, has_begun, is_told, .. } = standing;
        Some(RestoredBeside { dispatch: program.dispatch?, has_begun, is_told })
    });
    found.collect()
}

/// The task that owns the agent.
struct Serving {
    agent: Agent,
    began: Began,
    clock: Arc<dyn Clock>,
    servers: Arc<Servers>,
    dialer: Arc<Dialer>,
    desk: Desk,
    pump: Pump,
    tell: Tell,
    sender: UnboundedSender<Message>,
    line: Option<(u64, tokio::sync::mpsc::Sender<Order>)>,
}

impl Serving {
    fn handle(&mut self, message: Message) {
        match message {
            Message::Input(input) => self.on(input),
            Message::Over => self.pump.stir(),
        }
    }

    fn on(&mut self, input: Input) {
        let now = Moment { ms: self.began.elapsed_ms(), wall: self.clock.now() };
        for output in self.agent.on(now, input) {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Dial { dial } => self.dial(dial),
            Output::Send { dial, stream, frame } => self.order(dial, Order::Send { stream, frame }),
            Output::Close { dial, word } => {
                self.order(dial, Order::Close { word });
                self.line.take_if(|(its, _)| *its == dial);
            }
            Output::Spawn { launch, until_ms } => {
                self.desk.start_run(*launch, self.began.since_boot_ms(until_ms));
            }
            Output::Prolong { leases, until_ms } => {
                self.desk.prolong(leases, self.began.since_boot_ms(until_ms));
            }
            Output::Dispatch { dispatch, until_ms } => {
                self.desk.start_beside(*dispatch, self.began.since_boot_ms(until_ms));
            }
            Output::Signal { program, signal } => self.desk.signal(program, signal),
            Output::Watch { program } => self.desk.give(Job::Watch(program)),
            Output::Told { program } => self.desk.give(Job::Told(program)),
            Output::Fence(fence) => self.desk.fence(*fence),
            Output::Unfence { request } => self.desk.unfence(&request),
            Output::Keep(report) => self.desk.give(Job::Keep(report)),
            Output::Read { after } => self.desk.read(after),
            Output::BeginOutbox { outbox } => self.desk.give(Job::Begin(outbox)),
            Output::Forget { through, refused } => self.desk.give(Job::Forget { through, refused }),
            Output::Drop { program } => self.desk.give(Job::Drop(program)),
            Output::Say(said) => (self.tell)(said),
        }
    }

    fn dial(&mut self, dial: u64) {
        let (orders, ordered) = channel(ORDERS_MAX);
        self.line = Some((dial, orders));
        let dialling = Dialling {
            dial,
            dialer: Arc::clone(&self.dialer),
            servers: Arc::clone(&self.servers),
            messages: self.sender.clone(),
        };
        tokio::spawn(converse(dialling, ordered));
    }

    fn order(&mut self, dial: u64, order: Order) {
        let Some((_, orders)) = self.line.as_ref().filter(|(its, _)| *its == dial) else { return };
        if orders.try_send(order).is_err() {
            // The access point takes nothing any more: it is dialled again.
            self.line = None;
            let _ = self.sender.send(Message::Input(Input::Closed { dial, retry_after_ms: None }));
        }
    }
}
