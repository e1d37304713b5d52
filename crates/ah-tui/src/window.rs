//! The window at work: waits for what comes, takes it in, draws what changed.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use ratatui::crossterm::event;

use crate::effect::Effect;
use crate::feed;
use crate::harbor::Harbor;
use crate::input::Input;
use crate::model::{Model, Opening};
use crate::perform::perform;
use crate::terminal::Opened;
use crate::update::{begin, update, wake_in};
use crate::view::draw;

/// What may wait to be taken in.
const WAITING_MAX: usize = 256;
/// How long a draft may take to be saved when the window closes.
const CLOSING: Duration = Duration::from_secs(2);
/// How often who reads keys looks whether the window is closed.
const LOOK: Duration = Duration::from_millis(200);

/// How the window ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Somebody closed it.
    Closed,
    /// The terminal is gone.
    Lost,
}

/// Asks a window to close, from anywhere.
#[derive(Debug, Clone)]
pub struct Ender(SyncSender<Input>);

impl Ender {
    /// Asks.
    pub fn end(&self) {
        // A window that is closed already needs no asking.
        let _ = self.0.send(Input::Quit);
    }
}

/// Shows the harbor until somebody closes the window. `ready` is given what asks it to.
pub fn run(
    harbor: Arc<dyn Harbor>,
    mut opened: Opened,
    opening: Opening,
    ready: impl FnOnce(Ender) -> io::Result<()>,
) -> io::Result<End> {
    let (tell, told) = sync_channel(WAITING_MAX);
    ready(Ender(tell.clone()))?;
    let lanes = Lanes::start(&harbor, &tell)?;
    let (follower, teller) = (Arc::clone(&harbor), tell.clone());
    spawn("ah-tui-feed", move || feed::follow(&follower, &teller))?;
    spawn("ah-tui-keys", move || read_keys(&tell))?;
    let size = opened.terminal.size()?;
    let mut model = Model::new(Opening { size: (size.width, size.height), ..opening });
    begin(&mut model).into_iter().for_each(|effect| lanes.send(effect));
    let mut closing: Option<Instant> = None;
    while !model.is_closed() {
        if opened.is_lost() {
            return Err(io::Error::other("a part of the window has panicked"));
        }
        opened.terminal.draw(|frame| draw(&model, frame))?;
        if !take_in(&mut model, &*harbor, &told, &lanes) {
            return Ok(End::Lost);
        }
        if model.is_closing() && closing.get_or_insert_with(Instant::now).elapsed() > CLOSING {
            break;
        }
    }
    if let Some(typed) = model.unsaved() {
        harbor.keep(Some(&typed));
    }
    Ok(End::Closed)
}

/// Takes in what came, all of it before it is drawn; whether anybody is left who tells.
fn take_in(model: &mut Model, harbor: &dyn Harbor, told: &Receiver<Input>, lanes: &Lanes) -> bool {
    let wait = Duration::from_millis(wake_in(model));
    let mut next = match told.recv_timeout(wait) {
        Ok(input) => Some(input),
        Err(RecvTimeoutError::Timeout) => Some(Input::Tick),
        Err(RecvTimeoutError::Disconnected) => return false,
    };
    let mut room = WAITING_MAX;
    while let Some(input) = next.take() {
        let effects = update(model, harbor.now(), input);
        effects.into_iter().for_each(|effect| lanes.send(effect));
        room -= 1;
        next = if room > 0 { told.try_recv().ok() } else { None };
    }
    true
}

/// Threads that do what the window wants: nobody who decides waits behind somebody who searches.
struct Lanes {
    reads: Sender<Effect>,
    turns: Sender<Effect>,
    events: Sender<Effect>,
    searches: Sender<Effect>,
    deeds: Sender<Effect>,
}

impl Lanes {
    fn start(harbor: &Arc<dyn Harbor>, tell: &SyncSender<Input>) -> io::Result<Self> {
        let lane = |name: &str| -> io::Result<Sender<Effect>> {
            let (send, wanted) = channel::<Effect>();
            let (harbor, tell) = (Arc::clone(harbor), tell.clone());
            spawn(name, move || {
                for effect in wanted {
                    if tell.send(Input::Answer(perform(&*harbor, effect))).is_err() {
                        return;
                    }
                }
            })?;
            Ok(send)
        };
        Ok(Self {
            reads: lane("ah-tui-reads")?,
            turns: lane("ah-tui-turns")?,
            events: lane("ah-tui-events")?,
            searches: lane("ah-tui-search")?,
            deeds: lane("ah-tui-deeds")?,
        })
    }

    fn send(&self, effect: Effect) {
        let lane = match &effect {
            Effect::ReadNeeds | Effect::ReadAgents(_) | Effect::ReadDrafts => &self.reads,
            Effect::ReadSessions { .. } | Effect::ReadSession(_) | Effect::ReadEvents { .. } => {
                &self.events
            }
            Effect::ReadTurns(_) => &self.turns,
            Effect::Search { .. } => &self.searches,
            Effect::Decide { .. }
            | Effect::AnswerQuestion { .. }
            | Effect::Requeue(_)
            | Effect::SetModel(..)
            | Effect::Destroy(_)
            | Effect::Revive(_)
            | Effect::SaveDraft(..)
            | Effect::DeleteDraft(_)
            | Effect::Launch(..) => &self.deeds,
        };
        // A lane ends with the window only.
        let _ = lane.send(effect);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Tells keys and sizes until nobody listens, or the terminal is gone.
fn read_keys(tell: &SyncSender<Input>) {
    loop {
        let event = match event::poll(LOOK) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let input = match event {
            Ok(event) => Input::of(event),
            Err(_) => Some(Input::Quit),
        };
        let is_over = matches!(input, Some(Input::Quit));
        if input.is_some_and(|input| tell.send(input).is_err()) || is_over {
            return;
        }
    }
}
