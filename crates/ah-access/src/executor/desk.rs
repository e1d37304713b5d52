//! The thread that writes down and forgets, and the hands that start and signal programs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use ah_model::{Happened, Lease, OutboxId, ReportRefusal, RequestId, RunId};
use tokio::sync::mpsc::UnboundedSender;

use super::core::{Input, Process, Said, Signal};
use super::fence::Fences;
use super::host::{Host, HostError, Start, StartBeside};
use super::outbox::{Draft, Outbox, OutboxError};
use super::program::ProgramId;
use super::pump::Pump;
use super::serve::Message;
use crate::frame::{Dispatch, Fence, Launch};

/// Most items and bytes that are read of the outbox at a time.
const READ_ITEMS: usize = 512;
const READ_BYTES: u64 = 4 * 1024 * 1024;
/// When an outbox that cannot take something is tried again.
const AGAIN: Duration = Duration::from_millis(500);

/// Something to be written down or forgotten, in order.
pub(super) enum Job {
    Keep(Draft),
    /// Begins another outbox.
    Begin(OutboxId),
    Forget {
        through: u64,
        refused: Vec<ReportRefusal>,
    },
    /// What a program writes may be moved from here on.
    Watch(ProgramId),
    /// All of a program beside a run is written down.
    Told(ProgramId),
    Drop(ProgramId),
}

/// Gives work to the thread, and to hands of their own.
#[derive(Clone)]
pub(super) struct Desk {
    jobs: Sender<Job>,
    host: Arc<Host>,
    outbox: Arc<Outbox>,
    messages: UnboundedSender<Message>,
    fences: Arc<Fences>,
}

impl Desk {
    pub(super) fn start(
        host: Arc<Host>,
        outbox: Arc<Outbox>,
        pump: Pump,
        messages: UnboundedSender<Message>,
    ) -> Self {
        let (jobs, queue) = channel();
        let clerk = Clerk {
            host: Arc::clone(&host),
            outbox: Arc::clone(&outbox),
            pump,
            messages: messages.clone(),
        };
        std::thread::spawn(move || clerk.work(&queue));
        Self { jobs, host, outbox, messages, fences: Arc::default() }
    }

    pub(super) fn give(&self, job: Job) {
        // The thread goes on as long as somebody can give it work.
        let _ = self.jobs.send(job);
    }

    /// Begins a run that is surely its own until then, by the time since the machine began.
    pub(super) fn start_run(&self, launch: Launch, until_ms: u64) {
        let desk = self.clone();
        tokio::task::spawn_blocking(move || {
            let Launch { run_id, epoch, session_id, parameters, member, .. } = launch;
            let lease = Lease { run_id, epoch };
            let until_ms = Some(until_ms);
            let start = Start { lease: lease.clone(), session_id, parameters, member, until_ms };
            let process = match desk.host.launch(&start) {
                Ok(_) => Process::Started,
                Err(error) => Process::Failed { reason: described(&error) },
            };
            desk.tell(Input::Process { program: (&lease).into(), process });
        });
    }

    /// Starts a program beside a run that is surely its own until then.
    pub(super) fn start_beside(&self, dispatch: Dispatch, until_ms: u64) {
        let desk = self.clone();
        tokio::task::spawn_blocking(move || {
            let Dispatch { request, run_id, epoch, argv, env, directory, timeout_ms } = dispatch;
            let (lease, dispatch, until_ms) = (Lease { run_id, epoch }, request.id, Some(until_ms));
            let program = ProgramId { lease: lease.clone(), dispatch: Some(dispatch.clone()) };
            let start = StartBeside { lease, dispatch, argv, env, directory, timeout_ms, until_ms };
            let process = match desk.host.start_beside(start) {
                Ok(_) => Process::Started,
                Err(error) => Process::Failed { reason: described(&error) },
            };
            desk.tell(Input::Process { program, process });
        });
    }

    pub(super) fn prolong(&self, leases: Vec<Lease>, until_ms: u64) {
        let desk = self.clone();
        tokio::task::spawn_blocking(move || desk.host.prolong(&leases, until_ms));
    }

    pub(super) fn signal(&self, program: ProgramId, signal: Signal) {
        let desk = self.clone();
        tokio::task::spawn_blocking(move || {
            let done = match signal {
                Signal::Stop { grace_ms } => {
                    desk.host.stop(&program, Duration::from_millis(grace_ms))
                }
                Signal::Kill => desk.host.kill(&program),
                Signal::Pause => desk.host.pause(&program),
                Signal::Resume => desk.host.resume(&program),
            };
            if let Err(error) = done {
                let detail = described(&error);
                let said = Said::Trouble { run_id: program.lease.run_id, detail };
                desk.tell(Input::Heard { said });
            }
        });
    }

    pub(super) fn fence(&self, fence: Fence) {
        let desk = self.clone();
        let place = self.fences.begin(&fence);
        tokio::task::spawn_blocking(move || {
            let verdict = Box::new(place.reach(&desk.host, &fence));
            drop(place);
            desk.tell(Input::Fenced { request: fence.request.id, verdict });
        });
    }

    pub(super) fn unfence(&self, request: &RequestId) {
        self.fences.stop(request);
    }

    pub(super) fn read(&self, after: u64) {
        let desk = self.clone();
        tokio::task::spawn_blocking(move || {
            let items = desk.outbox.pending(after, READ_ITEMS, READ_BYTES).unwrap_or_default();
            desk.tell(Input::Read { items });
        });
    }

    fn tell(&self, input: Input) {
        let _ = self.messages.send(Message::Input(input));
    }
}

pub(super) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

struct Clerk {
    host: Arc<Host>,
    outbox: Arc<Outbox>,
    pump: Pump,
    messages: UnboundedSender<Message>,
}

impl Clerk {
    fn work(&self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            match job {
                Job::Keep(draft) => self.keep(draft),
                Job::Begin(outbox) => self.begin(&outbox),
                Job::Forget { through, refused } => self.forget(through, &refused),
                Job::Watch(program) => self.pump.watch(program),
                Job::Told(program) => self.expect(&program, self.host.told(&program)),
                Job::Drop(program) => self.expect(&program, self.host.forget(&program)),
            }
        }
    }

    fn expect(&self, program: &ProgramId, done: Result<(), HostError>) {
        match done {
            // It was never begun here.
            Ok(()) | Err(HostError::NotHeld { .. }) => {}
            Err(error) => self.trouble(&program.lease.run_id, &error),
        }
    }

    fn keep(&self, draft: Draft) {
        let seq = loop {
            match self.outbox.append(vec![draft.clone()]) {
                Ok(numbers) => break *numbers.end(),
                Err(OutboxError::Full { .. }) => std::thread::sleep(AGAIN),
                Err(error) => {
                    self.trouble(&draft.run_id, &error);
                    std::thread::sleep(AGAIN);
                }
            }
        };
        let is_end = matches!(draft.what, Happened::Ended(_));
        let ends = if is_end { vec![(draft.run_id, draft.epoch, seq)] } else { Vec::new() };
        let _ = self.messages.send(Message::Input(Input::Kept { last_seq: seq, ends }));
    }

    /// Nothing can be reported before it is there.
    fn begin(&self, outbox: &OutboxId) {
        let base = loop {
            match self.outbox.begin_another(outbox.clone()) {
                Ok(base) => break base,
                Err(error) => {
                    self.outbox_trouble(&error);
                    std::thread::sleep(AGAIN);
                }
            }
        };
        let begun = Input::OutboxBegun { outbox: outbox.clone(), base };
        let _ = self.messages.send(Message::Input(begun));
    }

    /// What was refused is kept aside before it is forgotten; what cannot be kept aside is not.
    fn forget(&self, through: u64, refused: &[ReportRefusal]) {
        let done = self.outbox.refuse(refused).and_then(|()| self.outbox.forget(through));
        if let Err(error) = done {
            self.outbox_trouble(&error);
        }
    }

    fn outbox_trouble(&self, error: &dyn std::error::Error) {
        let said = Said::OutboxTrouble { detail: described(error) };
        let _ = self.messages.send(Message::Input(Input::Heard { said }));
    }

    fn trouble(&self, run_id: &RunId, error: &dyn std::error::Error) {
        let said = Said::Trouble { run_id: run_id.clone(), detail: described(error) };
        let _ = self.messages.send(Message::Input(Input::Heard { said }));
    }
}
