//! How a run is followed to its end, also one that was begun by an executor before this one.

use std::fs::{File, TryLockError};
use std::io;
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ah_store::Clock;

use super::{HostError, Inner, PATIENCE, PAUSE, Run, Stage};
use crate::executor::folder::{End, Folder};
use crate::executor::program::ProgramId;
use crate::file::FileError;

/// How often it is tried to settle a run that cannot be settled.
const AGAIN: Duration = Duration::from_secs(1);

/// A keeper, as somebody who waits for its end sees it.
pub(super) enum Keeper {
    /// We began it.
    Ours(Child),
    /// An executor before us did: this is the lock that it holds as long as it lives.
    Anothers(File),
    /// It has ended.
    Gone,
}

impl Keeper {
    fn await_end(self) {
        match self {
            Self::Ours(mut child) => drop(child.wait()),
            Self::Anothers(lock) => drop(lock.lock()),
            Self::Gone => {}
        }
    }
}

/// Folders that cannot be read, and why.
type Damaged = Vec<(PathBuf, String)>;

/// Waits for the end of a run on a thread of its own, and tells of it. The thread is there before the
/// keeper that it is given: no run is without somebody who waits for it.
pub(super) fn begin(
    inner: &Arc<Inner>,
    program: &ProgramId,
    folder: &Folder,
) -> io::Result<SyncSender<Keeper>> {
    let (give, given) = sync_channel::<Keeper>(1);
    let (clock, inner) = (Arc::clone(&inner.clock), Arc::downgrade(inner));
    let (program, folder) = (program.clone(), folder.clone());
    let wait = move || {
        let Ok(keeper) = given.recv() else { return };
        keeper.await_end();
        let end = loop {
            match settle(&folder, &*clock) {
                Ok(end) => break end,
                // Nobody may hear that it is over while something of it runs.
                Err(_) if inner.strong_count() > 0 => std::thread::sleep(AGAIN),
                Err(_) => return,
            }
        };
        if let Some(inner) = Weak::upgrade(&inner) {
            inner.set(&program, Stage::Ended(end));
            (inner.tell)(&program.lease);
        }
    };
    std::thread::Builder::new().name("ah-run-end".to_owned()).spawn(wait)?;
    Ok(give)
}

/// How a run ended whose keeper is gone. One that left no word is lost: whatever is left of it is
/// ended first, and a keeper that comes late begins nothing.
fn settle(folder: &Folder, clock: &dyn Clock) -> Result<End, HostError> {
    if let Some(end) = folder.end()? {
        return Ok(end);
    }
    folder.make_void()?;
    let program = folder.program()?;
    let ended = ah_process::end_all(|| folder.processes(program.as_ref()));
    ended.map_err(|process| HostError::Left { process: process.id })?;
    let end = End { lost: Some(folder.why_lost()?), ..End::at(clock.now()) };
    folder.note_end(&end)?;
    Ok(end)
}

/// Waits until a keeper that was found alive has begun its program, or said that it cannot: it may
/// have begun itself just before its executor was killed.
fn await_beginning(folder: &Folder) -> Result<(), HostError> {
    let until = Instant::now() + PATIENCE;
    while folder.program()?.is_none() && folder.end()?.is_none() && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

impl Inner {
    /// Takes over what an executor before this one left; the folders that cannot be read.
    pub(super) fn adopt(self: &Arc<Self>) -> Result<Damaged, HostError> {
        let directory = &self.runs_directory;
        let failed = |error| FileError::io("list", directory, error);
        let mut damaged = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if Folder::is_remains(&path) {
                let removed = std::fs::remove_dir_all(&path);
                removed.map_err(|error| FileError::io("remove", &path, error))?;
                continue;
            }
            let folder = Folder::at(&path);
            let adopted = self.adopt_one(&folder).and_then(|()| self.adopt_besides(&folder));
            match adopted {
                Ok(mut besides) => damaged.append(&mut besides),
                Err(error) => damaged.push((path, error.to_string())),
            }
        }
        Ok(damaged)
    }

    /// Takes over what was started beside a run.
    fn adopt_besides(self: &Arc<Self>, of_run: &Folder) -> Result<Damaged, HostError> {
        let mut damaged = Vec::new();
        for path in of_run.besides()? {
            if Folder::is_remains(&path) {
                let removed = std::fs::remove_dir_all(&path);
                removed.map_err(|error| FileError::io("remove", &path, error))?;
            } else if let Err(error) = self.adopt_one(&Folder::at(&path)) {
                damaged.push((path, error.to_string()));
            }
        }
        Ok(damaged)
    }

    fn adopt_one(self: &Arc<Self>, folder: &Folder) -> Result<(), HostError> {
        let order = folder.order()?;
        let (stage, keeper) = match folder.end()? {
            Some(end) => (Stage::Ended(end), None),
            None => self.look(folder)?,
        };
        if let Some(Keeper::Anothers(_)) = keeper {
            await_beginning(folder)?;
        }
        let run = Run { has_begun: folder.has_begun()?, ..Run::new(&order, folder, stage)? };
        self.runs().insert(order.program_id().key(), run);
        if let Some(keeper) = keeper {
            let waits = begin(self, &order.program_id(), folder);
            let waits = waits.map_err(|error| FileError::io("watch", folder.path(), error))?;
            // It listens: it was begun just now.
            let _ = waits.send(keeper);
        }
        Ok(())
    }

    /// Whether the keeper of a run lives; one without is settled at once, if that can be.
    fn look(&self, folder: &Folder) -> Result<(Stage, Option<Keeper>), HostError> {
        let lock = folder.keeper_lock()?;
        match lock.try_lock() {
            // Held until it is settled: nobody begins it meanwhile.
            Ok(()) => Ok(match settle(folder, &*self.clock) {
                Ok(end) => (Stage::Ended(end), None),
                Err(_) => (Stage::Running, Some(Keeper::Gone)),
            }),
            Err(TryLockError::WouldBlock) => Ok((Stage::Running, Some(Keeper::Anothers(lock)))),
            Err(TryLockError::Error(error)) => {
                Err(FileError::io("lock", folder.path(), error).into())
            }
        }
    }
}
