//! One turn: a message that is held while a program handles it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use ah_model::{Agent, Context, Hold, Message, RawJson, SessionId};
use ah_store::{Store, StoreError, block_on};
use serde_json::json;

use super::child;
use super::program::Program;
use super::scripted;
use super::turn_loop::Resident;
use super::wait::{News, ProgramNews};

/// A lease is renewed when so much of it is over.
const RENEW_AFTER: u32 = 3;

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum End {
    /// Well, with this answer.
    Succeeded(String),
    /// Not well.
    Failed(String),
    /// Somebody stopped the loop.
    Stopped,
    /// The message is somebody else's now.
    Lost(String),
}

/// How a turn ended, and its program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
}

impl Ended {
    pub(super) fn of(end: End) -> Self {
        Self { end, code: None, signal: None }
    }
}

/// What is heard while a program works.
#[derive(Debug)]
pub(super) enum Heard {
    /// Of the program.
    Program(ProgramNews),
    /// The time has come.
    Time,
    /// Somebody said stop.
    Stop,
    /// The lease was lost, for this reason.
    Lost(String),
}

/// A message in work.
pub(super) struct Turn<'a> {
    pub(super) resident: &'a Resident,
    pub(super) agent: &'a Agent,
    pub(super) session: &'a SessionId,
    pub(super) context: &'a Context,
    pub(super) message: &'a Message,
    pub(super) model: Option<&'a str>,
    /// Tells its news from those of turns before.
    pub(super) number: u64,
    news: &'a Receiver<News>,
    /// Gone with the turn: whoever listens to its program listens no longer.
    pub(super) goes_on: Arc<()>,
    lease: Lease,
    stop_heard: bool,
    /// The message is no longer ours: said once.
    lost: bool,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        resident: &'a Resident,
        (agent, session, context): (&'a Agent, &'a SessionId, &'a Context),
        message: &'a Message,
        model: Option<&'a str>,
        (number, news): (u64, &'a Receiver<News>),
        held_since: Instant,
    ) -> Self {
        let lease = Lease::new(held_since, resident.options.pace.lease_ms);
        Self {
            resident,
            agent,
            session,
            context,
            message,
            model,
            number,
            news,
            goes_on: Arc::default(),
            lease,
            stop_heard: false,
            lost: false,
        }
    }

    /// Runs the program.
    pub(super) fn run(mut self, program: &Program) -> Ended {
        self.live(
            "turn_start",
            &json!({
                "messageId": self.message.id,
                "from": self.message.from,
                "delivery": self.message.deliveries,
                "redelivered": self.message.deliveries > 1,
                "model": self.model,
            }),
        );
        match program {
            Program::Command(program) => child::run(&mut self, program),
            Program::Scripted(script) => scripted::run(&mut self, script),
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &**self.resident.host.store()
    }

    /// Tells who watches.
    pub(super) fn live(&self, kind: &str, payload: &serde_json::Value) {
        if let Ok(payload) = RawJson::of(payload) {
            self.resident.bus.publish(kind, payload);
        }
    }

    /// Waits for what comes first; the lease is kept meanwhile. Stop
    /// and loss are heard once, and like the time before a program that never stops writing.
    pub(super) fn hear(&mut self, until: Instant) -> Heard {
        loop {
            if self.resident.stop.is_said() && !self.stop_heard {
                self.stop_heard = true;
                return Heard::Stop;
            }
            if let Err(reason) = self.keep() {
                self.lost = true;
                return Heard::Lost(reason);
            }
            let now = Instant::now();
            if now >= until {
                return Heard::Time;
            }
            let next = if self.lost { until } else { self.lease.renew_at.min(until) };
            let wait = next.saturating_duration_since(now);
            match self.news.recv_timeout(wait) {
                Ok(News::Program(number, news)) if number == self.number => {
                    return Heard::Program(news);
                }
                Ok(News::Stop | News::Mail | News::Program(..)) => {}
                Err(RecvTimeoutError::Timeout) => {}
                // The loop itself holds a sender.
                Err(RecvTimeoutError::Disconnected) => return Heard::Stop,
            }
        }
    }

    /// Renews the lease when it is time; why it is lost.
    fn keep(&mut self) -> Result<(), String> {
        let asked = Instant::now();
        if self.lost || asked < self.lease.renew_at {
            return Ok(());
        }
        let lease_ms = self.resident.options.pace.lease_ms;
        match block_on(self.store().renew_message(hold(self.message), lease_ms)) {
            Ok(_) => self.lease = Lease::new(asked, lease_ms),
            Err(error @ (StoreError::Conflict { .. } | StoreError::NotFound { .. })) => {
                return Err(error.to_string());
            }
            Err(error) if self.lease.fails(Instant::now()) => {
                return Err(format!("its lease is over and could not be renewed: {error}"));
            }
            // It may work the next time, before the lease is over.
            Err(_) => {}
        }
        Ok(())
    }
}

const RETRY: Duration = Duration::from_millis(500);

/// How long a message is held, as far as this process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lease {
    /// When to renew it.
    renew_at: Instant,
    /// From then on somebody else may get the message.
    over_at: Instant,
}

impl Lease {
    /// One that was asked for at `asked`: the store cannot have begun it before.
    fn new(asked: Instant, lease_ms: u64) -> Self {
        let lease = Duration::from_millis(lease_ms);
        Self { renew_at: asked + lease / RENEW_AFTER, over_at: asked + lease }
    }

    /// It could not be renewed: whether it is over, else it is tried again before it is.
    fn fails(&mut self, now: Instant) -> bool {
        self.renew_at = (now + RETRY).min(self.over_at);
        now >= self.over_at
    }
}

/// The hand-out of a message.
pub(super) fn hold(message: &Message) -> Hold {
    Hold { id: message.id.clone(), delivery: Some(message.deliveries) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_cannot_be_renewed_is_tried_again_until_it_is_over() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut lease = Lease::new(begin, 3_000);
        assert_eq!(lease, Lease { renew_at: at(1_000), over_at: at(3_000) });
        assert!(!lease.fails(at(1_000)));
        assert_eq!(lease.renew_at, at(1_500));
        assert!(!lease.fails(at(2_999)));
        assert_eq!(lease.renew_at, at(3_000), "not after its end");
        assert!(lease.fails(at(3_000)));
    }
}
