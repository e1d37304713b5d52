//! The folder of one run under one lease: what the executor and the run's keeper tell each other,
//! and what outlives both.
//!
//! | file | written by | is |
//! |---|---|---|
//! | `order.json`, `stdin` | executor, before anything begins | what to run |
//! | `control` | executor | a pipe with a name: words for the keeper |
//! | `keeper.lock` | keeper | held as long as it lives, whatever ends it |
//! | `keeper.json`, `program.json` | keeper | the processes, as they are known again |
//! | `stdout.log`, `stderr.log` | keeper | what the program wrote, up to a limit |
//! | `stopping`, `paused` | keeper | what it was told last |
//! | `keeper.log` | keeper | what went wrong with it |
//! | `not-started` | who becomes the program | why it could not |
//! | `exit.json` | keeper, or executor if it was lost | how it ended; durable before it is told |
//! | `void` | executor | a keeper that comes late begins nothing |
//! | `progress` | executor | how far the output is reported |
//! | `told` | executor | all that is to be said of a program beside a run is reported |
//! | `beside/` | executor | a folder like this for each program that was started beside the run |

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use ah_model::{Exit, Lease, MemberName, RequestId, RunOutcome, SessionId, Timestamp};
use ah_process::{Born, Process};
use rustix::fs::{CWD, Mode, OFlags};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::parameters::{Hold, Program};
use super::program::ProgramId;
use crate::file::{self, Access, FileError};
use crate::frame::Ended;

/// What the names of folders begin with that are being made or removed.
const NEW: &str = ".new.";
const OLD: &str = ".old.";
const ORDER: &str = "order.json";
const STDIN: &str = "stdin";
const CONTROL: &str = "control";
const KEEPER_LOCK: &str = "keeper.lock";
const KEEPER: &str = "keeper.json";
const PROGRAM: &str = "program.json";
const STOPPING: &str = "stopping";
const PAUSED: &str = "paused";
const NOT_STARTED: &str = "not-started";
const EXIT: &str = "exit.json";
const VOID: &str = "void";
const TOLD: &str = "told";
const BESIDE: &str = "beside";
/// What the names of folders of programs beside a run begin with: an id may begin with anything.
const OF_REQUEST: &str = "of-";
/// Where it is noted how far the output is reported.
pub(super) const PROGRESS: &str = "progress";
/// The variable that tells the processes of a run from all others of the machine.
pub(super) const MARK: &str = "AH_RUN_FOLDER";
/// Why a keeper ended its program by itself.
const AWAY: &str = "its executor was away until its lease was over";
const TOO_LONG: &str = "its time was over before it ended";
/// Longest file that is read here: an order with its arguments escaped.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Its standard output.
    Stdout,
    /// Its standard error.
    Stderr,
}

impl Stream {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What a keeper is to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Order {
    pub(super) lease: Lease,
    /// The request that started it beside the run, if it is not the run's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) dispatch: Option<RequestId>,
    pub(super) session_id: SessionId,
    /// The member of a fleet that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) member: Option<MemberName>,
    pub(super) program: Program,
    /// How its directory gets files, of one that only holds its executor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) hold: Option<Hold>,
    /// The executor's own variables for its programs.
    pub(super) environment: Vec<(String, String)>,
    /// Most bytes that are kept of each stream.
    pub(super) output_bytes_max: u64,
    /// How a keeper is begun.
    pub(super) keeper: Vec<String>,
    /// Until when it may run without another word, in milliseconds since the machine began.
    #[serde(default)]
    pub(super) until_ms: Option<u64>,
    /// How long it may run at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) timeout_ms: Option<u64>,
}

impl Order {
    pub(super) fn program_id(&self) -> ProgramId {
        ProgramId { lease: self.lease.clone(), dispatch: self.dispatch.clone() }
    }
}

/// A process as it is known again; without its birth where the system shows none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Known {
    pub(super) id: u32,
    born: Option<Born>,
}

impl Known {
    pub(super) fn of(id: u32) -> Self {
        Self { id, born: ah_process::born(id) }
    }

    /// Whether the machine has begun again since.
    fn is_of_another_boot(&self) -> bool {
        self.born.as_ref().is_some_and(|born| !born.is_of_this_boot())
    }
}

/// Who wanted a program to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Asked {
    /// It was asked, and killed if it did not.
    Stop,
    /// It was killed.
    Kill,
    /// Its executor was away until the lease was over.
    Lease,
    /// Its own time was over.
    Timeout,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// Its exit code.
    pub code: Option<i64>,
    /// The signal that ended it.
    pub signal: Option<i64>,
    /// Why it could not begin.
    pub not_started: Option<String>,
    /// Why nobody knows how it ended. Nothing of it runs any more.
    pub lost: Option<String>,
    /// Who wanted it to end.
    pub asked: Option<Asked>,
    /// Bytes of its output that were not kept.
    pub stdout_dropped_bytes: u64,
    /// Bytes of its errors that were not kept.
    pub stderr_dropped_bytes: u64,
    /// When it ended, or when it was found ended.
    pub at: Timestamp,
}

impl End {
    /// An end of which nothing more is known.
    pub(super) fn at(at: Timestamp) -> Self {
        Self {
            code: None,
            signal: None,
            not_started: None,
            lost: None,
            asked: None,
            stdout_dropped_bytes: 0,
            stderr_dropped_bytes: 0,
            at,
        }
    }

    /// How the run ended, for a report.
    pub fn ended(&self) -> Ended {
        let dropped = (self.stdout_dropped_bytes, self.stderr_dropped_bytes);
        let reason = match (&self.lost, dropped) {
            (Some(lost), _) => Some(lost.clone()),
            (None, (0, 0)) => None,
            (None, (out, err)) => Some(format!(
                "its output went over the limit: {out} bytes of stdout and {err} of stderr \
                 were not kept"
            )),
        };
        let exit = Exit { code: self.code, signal: self.signal, reason };
        let (outcome, error) = match (self.code, self.asked) {
            (Some(0), _) => (RunOutcome::Completed, None),
            (_, Some(Asked::Stop | Asked::Kill)) if self.not_started.is_none() => {
                (RunOutcome::Stopped, None)
            }
            _ => (RunOutcome::Failed, Some(self.why())),
        };
        Ended { outcome, error, result: None, idle: false, exit }
    }

    fn why(&self) -> String {
        match (&self.not_started, &self.lost, self.code, self.signal) {
            (Some(reason), ..) => reason.clone(),
            (_, Some(reason), ..) => format!("lost: {reason}"),
            _ if self.asked == Some(Asked::Lease) => AWAY.to_owned(),
            _ if self.asked == Some(Asked::Timeout) => TOO_LONG.to_owned(),
            (_, _, Some(code), _) => format!("exit code {code}"),
            (_, _, _, Some(signal)) => format!("signal {signal}"),
            (None, None, None, None) => "no end that is known".to_owned(),
        }
    }
}

/// The folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder of a lease below `root`.
    pub(super) fn of(root: &Path, lease: &Lease) -> Self {
        Self(root.join(format!("{}-{}", lease.epoch, lease.run_id)))
    }

    /// The folder of a program that was started beside the run of this one, in a place that is made.
    pub(super) fn beside(&self, dispatch: &RequestId) -> Result<Self, FileError> {
        let root = self.0.join(BESIDE);
        if !root.is_dir() {
            file::make_private_dir(&root)?;
            file::sync_dir(&self.0)?;
        }
        Ok(Self(root.join(format!("{OF_REQUEST}{dispatch}"))))
    }

    /// The folders of all programs beside the run of this one.
    pub(super) fn besides(&self) -> Result<Vec<PathBuf>, FileError> {
        let root = self.0.join(BESIDE);
        let failed = |error| FileError::io("list", &root, error);
        match std::fs::read_dir(&root) {
            Ok(entries) => entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(failed(error)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn log(&self, stream: Stream) -> PathBuf {
        self.0.join(stream.as_str()).with_extension("log")
    }

    /// Makes the folder with all that a keeper needs; it is there whole or not at all.
    pub(super) fn make(&self, order: &Order, stdin: Option<&str>) -> Result<(), FileError> {
        let root = self.0.parent().unwrap_or(Path::new("."));
        let failed = |error| FileError::io("create", &self.0, error);
        let new = tempfile::Builder::new().prefix(NEW).tempdir_in(root).map_err(failed)?;
        let folder = Self::at(new.path());
        folder.write(ORDER, order)?;
        if let Some(stdin) = stdin {
            file::create(&folder.0.join(STDIN), stdin.as_bytes(), Access::Private)?;
        }
        make_pipe(&folder.0.join(CONTROL)).map_err(failed)?;
        file::sync_dir(&folder.0)?;
        std::fs::rename(new.path(), &self.0).map_err(failed)?;
        // What it was called is no more.
        let _ = new.keep();
        file::sync_dir(root)
    }

    /// Removes the folder: at once by its name, then what is in it.
    pub(super) fn remove(&self) -> Result<(), FileError> {
        let failed = |error| FileError::io("remove", &self.0, error);
        let name = self.0.file_name().unwrap_or_default().to_string_lossy();
        let old = self.0.with_file_name(format!("{OLD}{name}"));
        std::fs::rename(&self.0, &old).map_err(failed)?;
        std::fs::remove_dir_all(&old).map_err(failed)
    }

    /// Whether it is one that was being made or removed when the executor ended.
    pub(super) fn is_remains(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(NEW) || name.starts_with(OLD)
    }

    pub(super) fn order(&self) -> Result<Order, FileError> {
        let missing = || FileError::io("open", &self.0.join(ORDER), io::ErrorKind::NotFound.into());
        self.read(ORDER)?.ok_or_else(missing)
    }

    /// What the program reads.
    pub(super) fn stdin(&self) -> io::Result<Option<File>> {
        match File::open(self.0.join(STDIN)) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The lock that a keeper holds as long as it lives.
    pub(super) fn keeper_lock(&self) -> Result<File, FileError> {
        let path = self.0.join(KEEPER_LOCK);
        ah_process::open_private(&path).map_err(|error| FileError::io("open", &path, error))
    }

    /// The words for the keeper, for it to read. Open for both, so that it never ends.
    pub(super) fn control(&self) -> io::Result<File> {
        OpenOptions::new().read(true).write(true).open(self.0.join(CONTROL))
    }

    /// Tells the keeper a word; `false` if there is none that listens.
    pub(super) fn tell(&self, word: &str) -> Result<bool, FileError> {
        let path = self.0.join(CONTROL);
        let failed = |error| FileError::io("write to", &path, error);
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        match OpenOptions::new().write(true).custom_flags(flags).open(&path) {
            Ok(mut pipe) => {
                // Short, so that it is written in one piece.
                pipe.write_all(format!("{word}\n").as_bytes()).map_err(failed)?;
                Ok(true)
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
                Ok(false)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Where a keeper complains.
    pub(super) fn complaints(&self) -> PathBuf {
        self.0.join("keeper.log")
    }

    pub(super) fn is_void(&self) -> bool {
        self.0.join(VOID).exists()
    }

    pub(super) fn make_void(&self) -> Result<(), FileError> {
        file::replace(&self.0.join(VOID), b"", Access::Private)
    }

    pub(super) fn keeper(&self) -> Result<Option<Known>, FileError> {
        self.read(KEEPER)
    }

    pub(super) fn note_keeper(&self, keeper: &Known) -> Result<(), FileError> {
        self.write(KEEPER, keeper)
    }

    pub(super) fn program(&self) -> Result<Option<Known>, FileError> {
        self.read(PROGRAM)
    }

    pub(super) fn note_program(&self, program: &Known) -> Result<(), FileError> {
        self.write(PROGRAM, program)
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.0.join(STOPPING).exists()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.0.join(PAUSED).exists()
    }

    /// Notes what the program was told. It is for those who ask how it stands, and need not last.
    pub(super) fn note_stopping(&self) -> io::Result<()> {
        File::create(self.0.join(STOPPING)).map(drop)
    }

    pub(super) fn note_paused(&self) -> io::Result<()> {
        File::create(self.0.join(PAUSED)).map(drop)
    }

    pub(super) fn note_resumed(&self) -> io::Result<()> {
        match std::fs::remove_file(self.0.join(PAUSED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(super) fn not_started(&self) -> Option<String> {
        std::fs::read_to_string(self.0.join(NOT_STARTED)).ok()
    }

    pub(super) fn note_not_started(&self, why: &str) -> Result<(), FileError> {
        file::replace(&self.0.join(NOT_STARTED), why.as_bytes(), Access::Private)
    }

    /// Whether its program began: somebody noted it, and it became what it should.
    pub(super) fn has_begun(&self) -> Result<bool, FileError> {
        Ok(self.program()?.is_some() && self.not_started().is_none())
    }

    pub(super) fn is_told(&self) -> bool {
        self.0.join(TOLD).exists()
    }

    /// Notes that all of it is reported; what it wrote is not needed any more.
    pub(super) fn note_told(&self) -> Result<(), FileError> {
        file::replace(&self.0.join(TOLD), b"", Access::Private)?;
        for stream in Stream::ALL {
            // What stays goes with the folder.
            let _ = std::fs::remove_file(self.log(stream));
        }
        Ok(())
    }

    pub(super) fn end(&self) -> Result<Option<End>, FileError> {
        self.read(EXIT)
    }

    pub(super) fn note_end(&self, end: &End) -> Result<(), FileError> {
        self.write(EXIT, end)
    }

    /// Why a run without a keeper and without an end is lost.
    pub(super) fn why_lost(&self) -> Result<String, FileError> {
        Ok(match self.keeper()? {
            None => "its keeper never began".to_owned(),
            Some(keeper) if keeper.is_of_another_boot() => "the machine began again".to_owned(),
            Some(keeper) => format!("its keeper, process {}, was killed", keeper.id),
        })
    }

    /// The processes of the run that live: the program's group, and every group with somebody in it
    /// whose environment names this folder.
    pub(super) fn processes(&self, program: Option<&Known>) -> Vec<Process> {
        let program = program.and_then(|known| known.born.as_ref());
        let folder = self.0.to_string_lossy();
        let all = ah_process::all();
        let is_of = |one: &&Process| {
            let is_head = program.is_some_and(|born| {
                one.id == born.id && one.start == born.start && born.is_of_this_boot()
            });
            is_head || one.has(&[(MARK, &folder)])
        };
        let groups: Vec<u32> = all.iter().filter(is_of).map(|one| one.group).collect();
        all.into_iter().filter(|one| one.lives && groups.contains(&one.group)).collect()
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, FileError> {
        let path = self.0.join(name);
        let failed = |error| FileError::io("read", &path, error);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
        serde_json::from_slice(&bytes).map(Some).map_err(|error| failed(error.into()))
    }

    fn write(&self, name: &str, value: &impl Serialize) -> Result<(), FileError> {
        let path = self.0.join(name);
        let bytes = serde_json::to_vec(value);
        let bytes = bytes.map_err(|error| FileError::io("write", &path, error.into()))?;
        file::replace(&path, &bytes, Access::Private)
    }
}

#[cfg(not(target_vendor = "apple"))]
fn make_pipe(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR)?)
}

/// The system has the call, and nothing that we link offers it.
#[cfg(target_vendor = "apple")]
fn make_pipe(path: &Path) -> io::Result<()> {
    let status = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(path).status()?;
    status.success().then_some(()).ok_or_else(|| io::Error::other("mkfifo failed"))
}
