//! The thread that moves what programs write into the outbox.
//!
//! That a run has ended is said after all of its output: in the outbox, too, it comes last.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ah_model::Lease;
use ah_store::Clock;
use tokio::sync::mpsc::UnboundedSender;

use super::core::{Input, Process};
use super::host::{Asked, End, Host, Standing};
use super::outbox::Outbox;
use super::serve::Message;

/// How often files are looked at for more.
const PAUSE: Duration = Duration::from_millis(100);
/// Pieces of one run before others have their turn.
const PIECES_MAX: usize = 32;

/// Tells the thread which runs there are.
#[derive(Clone)]
pub(super) struct Pump(Sender<Lease>);

impl Pump {
    pub(super) fn start(
        host: Arc<Host>,
        outbox: Arc<Outbox>,
        messages: UnboundedSender<Message>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (sender, leases) = channel();
        let pumping = Pumping { clock, host, outbox, messages };
        std::thread::spawn(move || pumping.work(&leases));
        Self(sender)
    }

    /// A run writes, or has ended.
    pub(super) fn watch(&self, lease: Lease) {
        // The thread goes on as long as somebody can tell it something.
        let _ = self.0.send(lease);
    }
}

struct Pumping {
    clock: Arc<dyn Clock>,
    host: Arc<Host>,
    outbox: Arc<Outbox>,
    messages: UnboundedSender<Message>,
}

impl Pumping {
    fn work(&self, leases: &Receiver<Lease>) {
        let mut watched: BTreeSet<(ah_model::RunId, u64)> = BTreeSet::new();
        loop {
            let next = if watched.is_empty() {
                leases.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                leases.recv_timeout(PAUSE)
            };
            match next {
                Ok(Lease { run_id, epoch }) => drop(watched.insert((run_id, epoch))),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let standings = self.host.runs();
            watched.retain(|(run_id, epoch)| {
                let is_it =
                    |one: &&Standing| one.lease.run_id == *run_id && one.lease.epoch == *epoch;
                standings.iter().find(is_it).is_some_and(|standing| self.is_to_go_on(standing))
            });
        }
    }

    /// Moves what there is; whether there may be more.
    fn is_to_go_on(&self, standing: &Standing) -> bool {
        // Looked at first: what was written before the end is found below.
        let end = self.host.end(&standing.lease);
        for _ in 0..PIECES_MAX {
            match self.host.output(&standing.lease) {
                Ok(Some(piece)) => {
                    let Ok(draft) = standing.wrote(&piece, self.clock.now()) else { return true };
                    // A full outbox lets the program's output wait in its file.
                    let Ok(numbers) = self.outbox.append(vec![draft]) else { return true };
                    let _ = self.host.taken(&standing.lease, &piece);
                    let kept = Input::Kept { last_seq: *numbers.end(), ends: Vec::new() };
                    let _ = self.messages.send(Message::Input(kept));
                }
                Ok(None) => match end {
                    Some(end) => {
                        self.ended(&standing.lease, end);
                        return false;
                    }
                    None => return true,
                },
                Err(_) => return true,
            }
        }
        true
    }

    fn ended(&self, lease: &Lease, end: End) {
        let process = match end {
            End { not_started: Some(reason), .. } => Process::Failed { reason },
            end if end.asked == Some(Asked::Lease) => {
                Process::Lapsed { ended: Box::new(end.ended()) }
            }
            end => Process::Exited { ended: Box::new(end.ended()) },
        };
        let Lease { run_id, epoch } = lease.clone();
        let _ = self.messages.send(Message::Input(Input::Process { run_id, epoch, process }));
    }
}
