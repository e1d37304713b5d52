//! What a keeper is told while its program runs, one word a line.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ah_process::Group;

use crate::executor::folder::{Asked, Folder};

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
}

impl Word {
    pub(in crate::executor) fn line(self) -> String {
        match self {
            Self::Stop(grace_ms) => format!("stop {grace_ms}"),
            Self::Kill => "kill".to_owned(),
            Self::Pause => "pause".to_owned(),
            Self::Resume => "resume".to_owned(),
        }
    }

    fn read(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            Some(("stop", grace_ms)) => grace_ms.parse().ok().map(Self::Stop),
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
}

impl Control {
    /// Listens to `words` for the program at the head of `group`.
    pub(super) fn begin(folder: Folder, group: Group, words: File) -> io::Result<Self> {
        let state = State { folder, group: Some(group), asked: None };
        let control = Self(Arc::new(Mutex::new(state)));
        let listener = control.clone();
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
