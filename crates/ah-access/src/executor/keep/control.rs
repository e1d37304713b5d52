//! What a keeper is told while its program runs, one word a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ah_process::Group;

use crate::executor::folder::{Asked, Folder, Order};
use crate::moment::since_boot_ms;

/// How often the time is looked at: a sleep does not count the time that the machine sleeps.
const LOOK: Duration = Duration::from_secs(5);
/// Longest time that a program has to end well when its lease, or its own time, is over.
const GRACE_MS_MAX: u64 = 2_000;

/// What a keeper can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::executor) enum Word {
    /// End the program: ask, and kill it after so many milliseconds.
    Stop(u64),
    /// Kill it.
    Kill,
    /// Hold it still.
    Pause,
    /// Let it go on.
    Resume,
    /// It may run until then, in milliseconds since the machine began.
    Until(u64),
}

impl Word {
    pub(in crate::executor) fn line(self) -> String {
        match self {
            Self::Stop(grace_ms) => format!("stop {grace_ms}"),
            Self::Kill => "kill".to_owned(),
            Self::Pause => "pause".to_owned(),
            Self::Resume => "resume".to_owned(),
            Self::Until(at_ms) => format!("until {at_ms}"),
        }
    }

    fn read(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("stop", grace_ms)) => grace_ms.parse().ok().map(Self::Stop),
            Some(("until", at_ms)) => at_ms.parse().ok().map(Self::Until),
            Some(_) => None,
            None => {
                [Self::Kill, Self::Pause, Self::Resume].into_iter().find(|it| it.line() == line)
            }
        }
    }
}

/// The program, as long as it may be signalled.
#[derive(Debug, Clone)]
pub(super) struct Control(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    folder: Folder,
    /// Absent when the program has ended: its number may be another's then.
    group: Option<Group>,
    asked: Option<Asked>,
    /// When it is ended unless somebody says more; never, if nobody has said anything.
    until: Option<Until>,
    /// When it is ended whatever anybody says.
    ends_ms: Option<u64>,
}

/// How long a program may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Until {
    at_ms: u64,
    /// How long it may then take to end. The executor leaves a tenth of a lease out: half of that.
    grace_ms: u64,
}

impl Until {
    fn new(at_ms: u64) -> Self {
        let left_ms = at_ms.saturating_sub(since_boot_ms());
        Self { at_ms, grace_ms: (left_ms / 20).min(GRACE_MS_MAX) }
    }
}

impl Control {
    /// Listens to `words` for the program at the head of `group`.
    pub(super) fn begin(
        folder: Folder,
        group: Group,
        words: File,
        order: &Order,
    ) -> io::Result<Self> {
        let until = order.until_ms.map(Until::new);
        let ends_ms = order.timeout_ms.map(|timeout_ms| since_boot_ms().saturating_add(timeout_ms));
        let state = State { folder, group: Some(group), asked: None, until, ends_ms };
        let control = Self(Arc::new(Mutex::new(state)));
        let (listener, watch) = (control.clone(), control.clone());
        thread(move || watch.end_when_due())?;
        thread(move || {
            let lines = BufReader::new(words).lines().map_while(Result::ok);
            // A word that is none was not written by us.
            lines.filter_map(|line| Word::read(&line)).for_each(|word| listener.hear(word));
        })?;
        Ok(control)
    }

    fn hear(&self, word: Word) {
        let mut state = self.state();
        let Some(group) = state.group else { return };
        match word {
            Word::Stop(grace_ms) => {
                state.asked.get_or_insert(Asked::Stop);
                self.end(&state, group, grace_ms);
            }
            Word::Kill => {
                state.asked = Some(Asked::Kill);
                group.kill();
            }
            Word::Pause if state.asked.is_none() => {
                group.hold();
                let _ = state.folder.note_paused();
            }
            // It is being ended, and must be able to hear that.
            Word::Pause => {}
            Word::Resume => {
                group.go_on();
                let _ = state.folder.note_resumed();
            }
            // Words may come in another order than they were said: the latest time counts.
            Word::Until(at_ms) => state.until = state.until.max(Some(Until::new(at_ms))),
        }
    }

    /// Asks the program to end, and kills it after that long.
    fn end(&self, state: &State, group: Group, grace_ms: u64) {
        group.ask();
        // One that is held still would hear nothing.
        group.go_on();
        let later = self.clone();
        let grace = Duration::from_millis(grace_ms);
        let timed = thread(move || {
            std::thread::sleep(grace);
            later.kill();
        });
        if timed.is_err() {
            group.kill();
        }
        // How it stands is only shown.
        let _ = state.folder.note_resumed().and_then(|()| state.folder.note_stopping());
    }

    /// Ends the program when nobody has said for too long that its run is still the executor's.
    fn end_when_due(&self) {
        loop {
            let mut state = self.state();
            let Some(group) = state.group else { return };
            let left_ms = |at_ms: u64| at_ms.saturating_sub(since_boot_ms());
            let lease_ms = state.until.map_or(u64::MAX, |until| left_ms(until.at_ms));
            let own_ms = state.ends_ms.map_or(u64::MAX, left_ms);
            if lease_ms == 0 {
                let grace_ms = state.until.map_or(0, |until| until.grace_ms);
                state.asked.get_or_insert(Asked::Lease);
                return self.end(&state, group, grace_ms);
            }
            if own_ms == 0 {
                state.asked.get_or_insert(Asked::Timeout);
                state.ends_ms = None;
                self.end(&state, group, GRACE_MS_MAX);
                continue;
            }
            let left_ms = lease_ms.min(own_ms);
            drop(state);
            // A machine that slept in between is noticed at the next look.
            std::thread::sleep(Duration::from_millis(left_ms).min(LOOK));
        }
    }

    fn kill(&self) {
        if let Some(group) = self.state().group {
            group.kill();
        }
    }

    /// Nobody is signalled from here on; who wanted the program to end.
    pub(super) fn close(&self) -> Option<Asked> {
        let mut state = self.state();
        state.group = None;
        state.asked
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name("ah-keep-word".to_owned()).spawn(work).map(drop)
}
