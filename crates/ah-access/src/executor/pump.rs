//! The thread that moves what programs write into the outbox.
//!
//! That a program has ended is said after all of its output: in the outbox, too, it comes last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use ah_store::Clock;
use tokio::sync::mpsc::UnboundedSender;

use super::core::{Input, Process};
use super::host::{Asked, End, Host, Standing};
use super::outbox::Outbox;
use super::program::{Key, ProgramId};
use super::serve::Message;

/// How often files are looked at for more.
const PAUSE: Duration = Duration::from_millis(100);
/// Pieces of one program before others have their turn.
const PIECES_MAX: usize = 32;

/// Tells the thread which programs there are.
#[derive(Clone)]
pub(super) struct Pump(Sender<Told>);

enum Told {
    /// A program writes, or has ended: that it began is in the outbox.
    Watch(ProgramId),
    /// There may be something new.
    Stir,
}

impl Pump {
    pub(super) fn start(
        host: Arc<Host>,
        outbox: Arc<Outbox>,
        messages: UnboundedSender<Message>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (sender, told) = channel();
        let pumping = Pumping { clock, host, outbox, messages };
        std::thread::spawn(move || pumping.work(&told));
        Self(sender)
    }

    /// A program writes, or has ended.
    pub(super) fn watch(&self, program: ProgramId) {
        // The thread goes on as long as somebody can tell it something.
        let _ = self.0.send(Told::Watch(program));
    }

    /// A program has ended: if it is watched, that is said soon.
    pub(super) fn stir(&self) {
        let _ = self.0.send(Told::Stir);
    }
}

struct Pumping {
    clock: Arc<dyn Clock>,
    host: Arc<Host>,
    outbox: Arc<Outbox>,
    messages: UnboundedSender<Message>,
}

impl Pumping {
    fn work(&self, told: &Receiver<Told>) {
        let mut watched: BTreeMap<Key, ProgramId> = BTreeMap::new();
        loop {
            let next = if watched.is_empty() {
                told.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                told.recv_timeout(PAUSE)
            };
            match next {
                Ok(Told::Watch(program)) => drop(watched.insert(program.key(), program)),
                Ok(Told::Stir) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            watched.retain(|_, program| {
                self.host.standing(&*program).is_some_and(|standing| self.is_to_go_on(&standing))
            });
        }
    }

    /// Moves what there is; whether there may be more.
    fn is_to_go_on(&self, standing: &Standing) -> bool {
        // Looked at first: what was written before the end is found below.
        let end = self.host.end(&standing.program);
        for _ in 0..PIECES_MAX {
            match self.host.output(&standing.program) {
                Ok(Some(piece)) => {
                    let Ok(draft) = standing.wrote(&piece, self.clock.now()) else { return true };
                    // A full outbox lets the program's output wait in its file.
                    let Ok(numbers) = self.outbox.append(vec![draft]) else { return true };
                    let _ = self.host.taken(&standing.program, &piece);
                    let kept = Input::Kept { last_seq: *numbers.end(), ends: Vec::new() };
                    let _ = self.messages.send(Message::Input(kept));
                }
                Ok(None) => match end {
                    Some(end) => {
                        self.ended(&standing.program, end);
                        return false;
                    }
                    None => return true,
                },
                Err(_) => return true,
            }
        }
        true
    }

    fn ended(&self, program: &ProgramId, end: End) {
        let process = match end {
            End { not_started: Some(reason), .. } => Process::Failed { reason },
            end if end.asked == Some(Asked::Lease) => {
                Process::Lapsed { ended: Box::new(end.ended()) }
            }
            end => Process::Exited { ended: Box::new(end.ended()) },
        };
        let program = program.clone();
        let _ = self.messages.send(Message::Input(Input::Process { program, process }));
    }
}
