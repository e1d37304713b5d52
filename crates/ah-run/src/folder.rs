//! The folder of one run: what its worker leaves for whoever comes after it.
//!
//! | file | is |
//! |---|---|
//! | `worker` | locked as long as the worker lives, whatever ends it; says which process it is |
//! | `order.json` | what was started, under which lease |
//! | `log` | what the program wrote, both streams, as it came |
//! | `errors` | the numbers of those lines of `log` that came from stderr |
//! | `program` | the program's process, as it is known again |
//! | `exit.json` | how the program ended; there before the store is told |
//! | `environment.json` | the variables of a worker in a pane, until it begins |
//! | `worker.log` | what a detached worker itself had to say |
//!
//! `active/ID` beside the folders is there from before the claim until the store knows the end, so
//! that a look for lost runs costs as much as there are live ones.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use ah_import::stream::StreamFormat;
use ah_model::{Exit, Lease, RunId, RunOutcome, SessionId, Timestamp};
use ah_process::{Born, Process};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::RunError;

const ACTIVE: &str = "active";
const MACHINE: &str = "machine";
const WORKER: &str = "worker";
const ORDER: &str = "order.json";
const LOG: &str = "log";
const ERRORS: &str = "errors";
const PROGRAM: &str = "program";
const EXIT: &str = "exit.json";
const ENVIRONMENT: &str = "environment.json";
const WORKER_LOG: &str = "worker.log";
/// Longest file that is read whole: an order with its prompt.
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The variable that tells the processes of a run from all others.
pub(crate) const RUN_ID: &str = "AH_RUN_ID";

/// The folders of all runs of this machine.
#[derive(Debug, Clone)]
pub struct Folders {
    root: PathBuf,
}

/// The folder of one run.
#[derive(Debug, Clone)]
pub struct Folder {
    path: PathBuf,
    active: PathBuf,
    run: RunId,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Order {
    pub(crate) lease: Lease,
    pub(crate) session_id: SessionId,
    pub(crate) kind: String,
    pub(crate) stream: String,
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) started_at: Timestamp,
}

/// How the program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ended {
    pub(crate) outcome: RunOutcome,
    pub(crate) error: Option<String>,
    pub(crate) exit: Exit,
}

impl Folders {
    /// Below `state`, the directory in which the program keeps its state.
    pub fn below(state: &Path) -> Self {
        Self { root: state.join("runs") }
    }

    /// Where they are.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The folder of a run, which need not be there.
    pub fn of(&self, run: &RunId) -> Folder {
        let name = run.as_str().replace('/', "_");
        let (path, active) = (self.root.join(&name), self.root.join(ACTIVE).join(&name));
        Folder { path, active, run: run.clone() }
    }

    /// What tells this state directory from others: what its file says, `new` if there is none.
    pub(crate) fn machine(&self, new: &str) -> Result<String, RunError> {
        private_dir(&self.root).map_err(RunError::file("make", &self.root))?;
        let path = self.root.join(MACHINE);
        let mut file = ah_process::open_private(&path).map_err(RunError::file("open", &path))?;
        // Two that begin at once agree.
        file.lock().map_err(RunError::file("lock", &path))?;
        let mut known = String::new();
        file.read_to_string(&mut known).map_err(RunError::file("read", &path))?;
        if !known.trim().is_empty() {
            return Ok(known.trim().to_owned());
        }
        writeln!(file, "{new}").map_err(RunError::file("write", &path))?;
        Ok(new.to_owned())
    }

    /// The runs whose end is not known to be in the store.
    pub fn active(&self) -> Vec<RunId> {
        let Ok(entries) = fs::read_dir(self.root.join(ACTIVE)) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.filter_map(|name| name.parse().ok()).collect()
    }

    /// Removes the folders of runs that are over, that nobody works on and that were last written to
    /// before `before`; how many. What the programs said is in the store.
    pub fn sweep(&self, before: Timestamp) -> usize {
        let Ok(entries) = fs::read_dir(&self.root) else { return 0 };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let runs = names.filter(|name| name != ACTIVE).filter_map(|name| name.parse().ok());
        runs.filter(|run| self.of(run).remove(before)).count()
    }
}

impl Folder {
    /// Makes the folder, private to its owner.
    pub(crate) fn make(&self) -> Result<(), RunError> {
        private_dir(&self.path).map_err(RunError::file("make", &self.path))
    }

    /// Its worker is about to take the run. Said by who has the worker's place, so that nobody finds
    /// it without one that lives.
    pub(crate) fn begins(&self) -> Result<(), RunError> {
        let all = self.active.parent().unwrap_or(&self.path);
        private_dir(all).map_err(RunError::file("make", all))?;
        let made = ah_process::open_private(&self.active);
        made.map(drop).map_err(RunError::file("make", &self.active))
    }

    /// The store knows the end.
    pub(crate) fn is_over(&self) {
        // One that stays is looked at again, and found to be over.
        let _ = fs::remove_file(&self.active);
    }

    /// Removes it, if its run is over and nothing in it is newer.
    fn remove(&self, before: Timestamp) -> bool {
        if self.active.exists() || newest(&self.path).is_none_or(|newest| newest >= before) {
            return false;
        }
        // Held until it is gone: who begins the run again at this moment waits for it.
        let Ok(Some(_worker)) = self.worker_if_gone() else { return false };
        !self.active.exists() && fs::remove_dir_all(&self.path).is_ok()
    }

    /// Takes the place of its worker, who is this process; nothing if there is one. Who only looks
    /// whether there is one has it for a moment, which is waited for.
    pub(crate) fn worker(&self) -> Result<Option<File>, RunError> {
        self.take_place(ah_process::lock_soon)
    }

    /// As [`Self::worker`], at once or not at all.
    pub(crate) fn worker_if_gone(&self) -> Result<Option<File>, RunError> {
        self.take_place(File::try_lock)
    }

    fn take_place(
        &self,
        lock: impl FnOnce(&File) -> Result<(), TryLockError>,
    ) -> Result<Option<File>, RunError> {
        let path = self.path.join(WORKER);
        let mut file = ah_process::open_private(&path).map_err(RunError::file("open", &path))?;
        match lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(RunError::file("lock", &path)(error)),
        }
        let own = std::process::id();
        let written = file.set_len(0).and_then(|()| writeln!(file, "{own}"));
        written.map_err(RunError::file("write", &path))?;
        Ok(Some(file))
    }

    /// Whether its worker lives.
    pub fn is_worked_on(&self) -> bool {
        let Ok(file) = File::open(self.path.join(WORKER)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// The worker's process, if it lives.
    pub fn worker_process(&self) -> Option<u32> {
        let text = fs::read_to_string(self.path.join(WORKER)).ok()?;
        text.trim().parse().ok().filter(|_| self.is_worked_on())
    }

    /// The program's process, if it lives.
    pub fn program_process(&self) -> Option<u32> {
        let born = self.born()?;
        born.process().filter(|process| process.lives).map(|process| process.id)
    }

    pub(crate) fn note_order(&self, order: &Order) -> Result<(), RunError> {
        self.write(ORDER, order)
    }

    pub(crate) fn order(&self) -> Option<Order> {
        self.read(ORDER)
    }

    pub(crate) fn note_program(&self, process: u32) -> Result<(), RunError> {
        match ah_process::born(process) {
            Some(born) => self.write(PROGRAM, &born),
            // Nobody can say so here; it is known by its environment.
            None => Ok(()),
        }
    }

    fn born(&self) -> Option<Born> {
        self.read(PROGRAM)
    }

    pub(crate) fn note_exit(&self, ended: &Ended) -> Result<(), RunError> {
        self.write(EXIT, ended)
    }

    pub(crate) fn exit(&self) -> Option<Ended> {
        self.read(EXIT)
    }

    /// Whether what the program writes are records of a tool.
    pub fn is_structured(&self) -> bool {
        self.order().is_some_and(|order| order.stream != StreamFormat::Text.as_str())
    }

    /// What the program wrote.
    pub fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Keeps the environment of a worker that somebody else starts, private to its owner.
    pub fn note_environment(&self, variables: &[(String, String)]) -> Result<(), RunError> {
        private_dir(&self.path).map_err(RunError::file("make", &self.path))?;
        self.write(ENVIRONMENT, &variables)
    }

    /// Takes that environment, which is nowhere then.
    pub fn take_environment(&self) -> Option<Vec<(String, String)>> {
        let variables = self.read(ENVIRONMENT);
        // Whoever finds it again takes the same.
        let _ = fs::remove_file(self.path.join(ENVIRONMENT));
        variables
    }

    /// Where a detached worker itself says what goes wrong; made with the folder.
    pub fn open_worker_log(&self) -> Result<File, RunError> {
        private_dir(&self.path).map_err(RunError::file("make", &self.path))?;
        let path = self.path.join(WORKER_LOG);
        append_to(&path).map_err(RunError::file("open", &path))
    }

    /// The numbers of the lines that came from stderr, from 0.
    pub(crate) fn error_lines(&self) -> Vec<u64> {
        let text = fs::read_to_string(self.path.join(ERRORS)).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    pub(crate) fn open_log(&self) -> Result<(File, File), RunError> {
        let open = |path: PathBuf| append_to(&path).map_err(RunError::file("open", &path));
        Ok((open(self.log())?, open(self.path.join(ERRORS))?))
    }

    /// Ends whatever is left of the program; the processes that were there.
    pub(crate) fn end_program(&self) -> Result<Vec<u32>, u32> {
        let born = self.born();
        let found = ah_process::end_all(|| self.processes(born.as_ref()));
        found.map(|all| all.iter().map(|one| one.id).collect()).map_err(|one| one.id)
    }

    /// The groups of the program: those whose head it is, or whose members say so themselves.
    fn processes(&self, born: Option<&Born>) -> Vec<Process> {
        let all = ah_process::all();
        let own = std::process::id();
        let is_of = |one: &&Process| {
            let is_head = born.is_some_and(|born| {
                born.id == one.id && born.start == one.start && born.is_of_this_boot()
            });
            is_head || (one.group != own && one.has(&[(RUN_ID, self.run.as_str())]))
        };
        // Our own group is never among them: whoever looks may run inside of the agent.
        let us = all.iter().find(|one| one.id == own).map(|one| one.group);
        let mut groups: Vec<u32> = all.iter().filter(is_of).map(|one| one.group).collect();
        groups.retain(|group| Some(*group) != us);
        all.into_iter().filter(|one| one.lives && groups.contains(&one.group)).collect()
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        let path = self.path.join(name);
        let new = self.path.join(format!(".{name}"));
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        let written = ah_process::open_private(&new).and_then(|mut file| {
            file.set_len(0)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&new, &path)
        });
        written.map_err(RunError::file("write", &path))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        let mut bytes = Vec::new();
        let file = File::open(self.path.join(name)).ok()?;
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}

/// When something in a folder was last written to; nothing if there is no folder with files.
fn newest(folder: &Path) -> Option<Timestamp> {
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.metadata().ok());
    let times = files.filter_map(|file| file.modified().ok()?.duration_since(UNIX_EPOCH).ok());
    let newest = times.max()?.as_millis();
    Some(Timestamp::from_unix_ms(i64::try_from(newest).ok()?))
}

#[cfg(unix)]
fn private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(not(unix))]
fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(path)
}

pub(crate) fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_old_folders_of_runs_that_are_over_are_swept() {
        let state = tempfile::tempdir().unwrap();
        let folders = Folders::below(state.path());
        folders.machine("m1").unwrap();
        let [old, young, live, active] =
            ["old", "young", "live", "active"].map(|name| folders.of(&name.parse().unwrap()));
        let worker = |folder: &Folder, at: u64| {
            folder.make().unwrap();
            let place = folder.worker().unwrap().unwrap();
            place.set_modified(UNIX_EPOCH + Duration::from_millis(at)).unwrap();
            place
        };
        worker(&old, 1);
        worker(&young, 2_000);
        worker(&active, 1);
        active.begins().unwrap();
        let _lives = worker(&live, 1);
        assert_eq!(folders.sweep(Timestamp::from_unix_ms(2_000)), 1);
        let left = [old, young, live, active].map(|folder| folder.path.exists());
        assert_eq!(left, [false, true, true, true]);
        assert_eq!(folders.machine("m2").unwrap(), "m1", "what is no folder of a run stays");
    }
}
