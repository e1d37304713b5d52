//! The loop of one agent.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use ah_model::limits::{MESSAGE_DELAY_MS_MAX, SHORT_TEXT_BYTES_MAX};
use ah_model::{Agent, Hold, Lifecycle, Message, MessageStatus, Party, RawJson, Receive, Release};
use ah_process::{Lock, LockError};
use ah_store::{Kind, StoreError, block_on, session_context};
use serde_json::json;

use super::ResidentError;
use super::input::CONTEXT;
use super::left::Record;
use super::program::{Program, Programs, SCRIPTED};
use super::record::Records;
use super::script::Script;
use super::stop::Stop;
use super::turn::{End, Ended, Turn, hold};
use super::wait::{NEWS_MAX, News, Waiter};
use crate::{Bus, Home, Host};

/// The lock, in the home.
const LOCK: &str = "run.lock";
/// The script of an agent of the scripted kind, in its configuration.
const SCRIPT: &str = "script.json";
/// Longest rest after a failure.
const REST_MS_MAX: u64 = 5 * 60 * 1_000;

/// Who is told what a loop does, a line at a time.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// How fast a loop goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long a message is held without a sign of life.
    pub lease_ms: u64,
    /// How long one turn may take.
    pub turn_ms: u64,
    /// How long a program that is asked to end has for it.
    pub grace_ms: u64,
    /// How long a message rests after its first failure; twice as long after each further one.
    pub rest_ms: u64,
    /// How often mail is looked for that only time makes ready.
    pub look_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease_ms: 60_000,
            turn_ms: 60 * 60 * 1_000,
            grace_ms: 10_000,
            rest_ms: 1_000,
            look_ms: 5_000,
        }
    }
}

/// When a loop ends by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Until {
    /// After so many turns.
    pub turns: Option<u64>,
    /// When there is no mail.
    pub no_mail: bool,
}

/// Why a loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Somebody said stop.
    Stopped,
    /// It made as many turns as it should.
    TurnsMade,
    /// There was no mail.
    NoMail,
    /// The agent sleeps or is dead.
    NotActive(Lifecycle),
}

/// What a loop did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    /// Turns that ended well.
    pub succeeded: u64,
    /// Turns that did not.
    pub failed: u64,
    /// Why it ended.
    pub ending: Ending,
}

/// The loop of one agent.
pub struct Resident {
    pub(super) host: Host,
    agent: String,
    pub(super) home: Home,
    pub(super) running: Record,
    pub(super) bus: Bus,
    pub(super) options: ResidentOptions,
    pub(super) stop: Stop,
    pub(super) news: SyncSender<News>,
    heard: Option<Receiver<News>>,
}

impl fmt::Debug for Resident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resident").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// What a loop is made of, beside its agent.
#[derive(Clone)]
pub struct ResidentOptions {
    /// What is run for the kinds of agents.
    pub programs: Programs,
    /// A script for the scripted kind, instead of `config/script.json` in the home.
    pub script: Option<PathBuf>,
    /// Where programs are looked for.
    pub search: Vec<PathBuf>,
    /// Variables for programs, beside those that there are.
    pub environment: Vec<(String, String)>,
    /// A word for this process: who holds messages and the lock.
    pub holder: String,
    /// How fast it goes.
    pub pace: Pace,
    /// When it ends by itself.
    pub until: Until,
    /// Who is told what it does.
    pub tell: Tell,
    /// Where live events are kept, instead of in the home.
    pub events: Option<PathBuf>,
}

impl fmt::Debug for ResidentOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResidentOptions").field("holder", &self.holder).finish_non_exhaustive()
    }
}

impl Resident {
    /// The loop of `agent`, with its home, which is made if there is none.
    pub fn new(
        host: Host,
        agent: &Agent,
        options: ResidentOptions,
        stop: Stop,
    ) -> Result<Self, ResidentError> {
        let homes = host.homes().ok_or(ResidentError::NoHomes)?;
        let home = homes.create(&agent.name)?;
        let running = Record::of(&home)?;
        let bus = Bus::new(options.events.clone().unwrap_or_else(|| home.events()));
        let (news, heard) = sync_channel(NEWS_MAX);
        let ring = news.clone();
        // Where there is no room for it, the loop is awake.
        stop.wakes(move || drop(ring.try_send(News::Stop)));
        let (agent, heard) = (agent.name.clone(), Some(heard));
        Ok(Self { host, agent, home, running, bus, options, stop, news, heard })
    }

    /// Where its live events are told.
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Runs until something ends it. A message that is held then was handled or is given back.
    pub fn run(mut self) -> Result<Ran, ResidentError> {
        let _alone = self.alone()?;
        self.end_left()?;
        let agent = self.active()?;
        if agent.lifecycle != Lifecycle::Active {
            let lifecycle = agent.lifecycle;
            return Err(ResidentError::NotActive { agent: self.agent, lifecycle });
        }
        let program = self.program(&agent)?;
        // Taken once: a loop is run once.
        let Some(heard) = self.heard.take() else {
            return Ok(Ran { succeeded: 0, failed: 0, ending: Ending::Stopped });
        };
        let party = Party::Agent(agent.name.clone());
        let store = Arc::clone(self.host.store());
        let waiter = Waiter::new(store, party.clone(), self.news.clone());
        let ran = Ran { succeeded: 0, failed: 0, ending: Ending::Stopped };
        let around = Round {
            resident: &self,
            program,
            party,
            heard,
            waiter,
            handled: Vec::new(),
            held_since: Instant::now(),
            rests: Vec::new(),
            trouble: 0,
            live_kept: true,
            ran,
        };
        around.run()
    }

    /// One loop per agent and machine.
    fn alone(&self) -> Result<Lock, ResidentError> {
        let path = self.home.dir.join(LOCK);
        Lock::take(&path, &self.options.holder).map_err(|error| match error {
            LockError::Held { holder } => ResidentError::Held { agent: self.agent.clone(), holder },
            LockError::File { operation, source } => {
                ResidentError::File { operation, path, source }
            }
        })
    }

    /// Ends the program that a loop left which was killed.
    pub(super) fn end_left(&self) -> Result<(), ResidentError> {
        for process in self.running.end_left()? {
            self.tell(&format!("ended process {process} of a turn that broke off"));
        }
        Ok(())
    }

    fn active(&self) -> Result<Agent, StoreError> {
        let found = block_on(self.host.store().agent_of_name(self.agent.clone()))?;
        found.ok_or_else(|| StoreError::not_found(Kind::Agent, &self.agent))
    }

    /// What runs the turns of `agent`.
    fn program(&self, agent: &Agent) -> Result<Program, ResidentError> {
        let kind = agent.kind.name.clone();
        if kind == SCRIPTED {
            let own = || self.home.config().join(SCRIPT);
            let path = self.options.script.clone().unwrap_or_else(own);
            return Ok(Program::Scripted(Script::read(&path)?));
        }
        let Some(program) = self.options.programs.of(&kind) else {
            return Err(ResidentError::NoProgram { kind });
        };
        match program.command.first() {
            Some(name) if ah_process::is_found(name, &self.options.search) => {
                Ok(Program::Command(program.clone()))
            }
            name => {
                let program = name.cloned().unwrap_or_default();
                Err(ResidentError::ProgramMissing { kind, program })
            }
        }
    }

    fn tell(&self, what: &str) {
        (self.options.tell)(&format!("{}: {what}", self.agent));
    }
}

/// A loop at work.
struct Round<'a> {
    resident: &'a Resident,
    program: Program,
    party: Party,
    heard: Receiver<News>,
    waiter: Waiter,
    /// What the turn before was about, to be acknowledged with the next receive.
    handled: Vec<Hold>,
    /// When the message of this turn was asked for: its lease cannot have begun before.
    held_since: Instant,
    /// When messages that were given back can be had again.
    rests: Vec<Instant>,
    /// How often the store could not be used, one after the other.
    trouble: u32,
    /// Whether live events are kept, as was told last.
    live_kept: bool,
    ran: Ran,
}

impl Round<'_> {
    fn run(mut self) -> Result<Ran, ResidentError> {
        let ending = self.turns();
        let acked = self.ack();
        self.ran.ending = ending?;
        acked?;
        Ok(self.ran)
    }

    fn turns(&mut self) -> Result<Ending, ResidentError> {
        let resident = self.resident;
        loop {
            if resident.stop.is_said() {
                return Ok(Ending::Stopped);
            }
            let made = self.ran.succeeded + self.ran.failed;
            if resident.options.until.turns.is_some_and(|most| made >= most) {
                return Ok(Ending::TurnsMade);
            }
            let next = resident.active().and_then(|agent| match agent.lifecycle {
                Lifecycle::Active => self.receive().map(Ok),
                lifecycle => Ok(Err(lifecycle)),
            });
            match next {
                Ok(Ok(Some(message))) => self.turn(&message),
                Ok(Ok(None)) if resident.options.until.no_mail => return Ok(Ending::NoMail),
                Ok(Ok(None)) => self.wait()?,
                Ok(Err(lifecycle)) => return Ok(Ending::NotActive(lifecycle)),
                Err(error) => self.bear(error)?,
            }
        }
    }

    /// Acknowledges the turn before and takes the next message.
    fn receive(&mut self) -> Result<Option<Message>, StoreError> {
        let (party, holder) = (self.party.clone(), &self.resident.options.holder);
        let lease_ms = self.resident.options.pace.lease_ms;
        let receive =
            Receive { ack: self.handled.clone(), ..Receive::next(party, holder, lease_ms) };
        self.held_since = Instant::now();
        let got = block_on(self.resident.host.store().receive_messages(receive))?;
        self.handled.clear();
        self.trouble = 0;
        Ok(got.messages.into_iter().next())
    }

    /// Acknowledges the turn before when there is no next one.
    fn ack(&mut self) -> Result<(), StoreError> {
        if self.handled.is_empty() {
            return Ok(());
        }
        let handled = std::mem::take(&mut self.handled);
        block_on(self.resident.host.store().ack_messages(handled)).map(drop)
    }

    /// Rests after something that may pass; what does not is the end.
    fn bear(&mut self, error: StoreError) -> Result<(), ResidentError> {
        match error {
            StoreError::Conflict { kind: Kind::Message, .. } => {
                // Somebody else got the message of the turn before: it is no longer ours to say.
                self.resident.tell(&format!("{error}; it will be handled again"));
                self.handled.clear();
                return Ok(());
            }
            StoreError::Busy { .. }
            | StoreError::Unreachable { .. }
            | StoreError::Backend { .. } => {}
            StoreError::NotFound { .. }
            | StoreError::Conflict { .. }
            | StoreError::Invalid(_)
            | StoreError::Unsupported { .. }
            | StoreError::Unauthorized
            | StoreError::Forbidden { .. }
            | StoreError::Newer { .. }
            | StoreError::Corrupt { .. } => return Err(error.into()),
        }
        let rest = rest_ms(self.resident.options.pace.rest_ms, self.trouble.into());
        self.trouble = self.trouble.saturating_add(1);
        self.resident.tell(&format!("{error}; tried again in {rest} ms"));
        let until = Instant::now() + Duration::from_millis(rest);
        self.hear_until(until);
        Ok(())
    }

    /// Waits until there may be mail.
    fn wait(&mut self) -> Result<(), ResidentError> {
        self.waiter.wait().map_err(ResidentError::Thread)?;
        let now = Instant::now();
        self.rests.retain(|rest| *rest > now);
        let look = now + Duration::from_millis(self.resident.options.pace.look_ms);
        let until = self.rests.iter().copied().fold(look, Instant::min);
        // Whatever it is, the mail is looked at.
        let _ = self.heard.recv_timeout(until.saturating_duration_since(now));
        Ok(())
    }

    /// Waits, unless somebody says stop.
    fn hear_until(&self, until: Instant) {
        while !self.resident.stop.is_said() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || self.heard.recv_timeout(left).is_err() {
                return;
            }
        }
    }

    /// Handles one message, or gives it back.
    fn turn(&mut self, message: &Message) {
        let ended = self.handle(message).unwrap_or_else(|error| {
            Ended::of(End::Failed(format!("the turn could not be recorded: {error}")))
        });
        let resident = self.resident;
        match &ended.end {
            End::Succeeded(_) => {
                self.ran.succeeded += 1;
                self.handled.push(hold(message));
                resident.tell(&format!("handled message {} from {}", message.id, message.from));
            }
            End::Failed(note) => {
                self.ran.failed += 1;
                let delay = rest_ms(resident.options.pace.rest_ms, message.attempts);
                self.give_back(message, note, (delay, true));
            }
            End::Stopped => {
                self.ran.failed += 1;
                // Who stops the loop says nothing against the message.
                self.give_back(message, "the loop was stopped", (0, false));
            }
            End::Lost(note) => {
                self.ran.failed += 1;
                resident.tell(&format!("message {} was lost: {note}", message.id));
            }
        }
        self.tell_of_live();
    }

    /// Says when live events are no longer kept, and when they are again.
    fn tell_of_live(&mut self) {
        let live = self.resident.bus.status();
        if live.storing == self.live_kept {
            return;
        }
        self.live_kept = live.storing;
        let (lost, problem) = (live.lost, live.problem.unwrap_or_default());
        self.resident.tell(&match live.storing {
            true => format!("live events are kept again; {lost} were lost"),
            false => format!("live events are not kept: {problem}; {lost} were lost"),
        });
    }

    fn handle(&mut self, message: &Message) -> Result<Ended, ResidentError> {
        let resident = self.resident;
        let agent = resident.active()?;
        let store = &**resident.host.store();
        let no_session = || StoreError::conflict(Kind::Agent, &agent.id, "has no session");
        let session = agent.active_session_id.clone().ok_or_else(no_session)?;
        let records = Records { store, agent: &agent, message };
        if records.is_done(&session)? {
            // Only its acknowledgement was lost.
            resident.bus.publish("note", note("the turn had ended before", message)?);
            return Ok(Ended::of(End::Succeeded(String::new())));
        }
        let context = block_on(session_context(store, session.clone(), CONTEXT))?;
        records.begin()?;
        let model = resident.host.model(&agent)?;
        let number = message.number.wrapping_mul(1_000).wrapping_add(message.deliveries);
        let who = (&agent, &session, &context);
        let (news, model) = ((number, &self.heard), model.as_deref());
        let turn = Turn::new(resident, who, message, model, news, self.held_since);
        let ended = turn.run(&self.program);
        let recorded = records.end(&ended);
        let payload = json!({
            "messageId": message.id,
            "delivery": message.deliveries,
            "ok": matches!(ended.end, End::Succeeded(_)) && recorded.is_ok(),
            "exitCode": ended.code,
            "signal": ended.signal,
            "note": match &ended.end {
                End::Succeeded(_) => None,
                End::Stopped => Some("the loop was stopped"),
                End::Failed(note) | End::Lost(note) => Some(note.as_str()),
            },
        });
        resident.bus.publish("turn_end", RawJson::of(&payload).map_err(StoreError::from)?);
        match &ended.end {
            // A turn that is not on record has not ended.
            End::Succeeded(_) => recorded?,
            End::Failed(_) | End::Stopped | End::Lost(_) => {}
        }
        Ok(ended)
    }

    /// Gives a message back, to be handed out again after `delay_ms`, and says whether that was a
    /// try.
    fn give_back(&mut self, message: &Message, why: &str, (delay_ms, counts): (u64, bool)) {
        let mut note = why.replace('\0', "\u{fffd}");
        note.truncate(note.floor_char_boundary(SHORT_TEXT_BYTES_MAX));
        let release = Release { hold: hold(message), delay_ms, note: Some(note), counts };
        let told = match block_on(self.resident.host.store().release_message(release)) {
            Ok(back) if back.status == MessageStatus::Dead => "given up".to_owned(),
            Ok(_) => {
                self.rests.push(Instant::now() + Duration::from_millis(delay_ms + 1));
                format!("handed out again in {delay_ms} ms")
            }
            // Its lease ends by itself.
            Err(error) => format!("not given back: {error}"),
        };
        self.resident.tell(&format!("message {}: {why}; {told}", message.id));
    }
}

fn note(text: &str, message: &Message) -> Result<RawJson, StoreError> {
    Ok(RawJson::of(&json!({ "text": text, "messageId": message.id }))?)
}

/// How long to rest after so many failures before.
fn rest_ms(first: u64, failures: u64) -> u64 {
    let doubled = first.saturating_mul(1_u64 << failures.min(20));
    doubled.min(REST_MS_MAX.max(first)).min(MESSAGE_DELAY_MS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_double_up_to_a_bound() {
        assert_eq!([0, 1, 4].map(|failures| rest_ms(1_000, failures)), [1_000, 2_000, 16_000]);
        assert_eq!(rest_ms(1_000, u64::MAX), REST_MS_MAX);
        assert_eq!(rest_ms(0, 9), 0);
    }
}
