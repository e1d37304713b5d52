//! Keepers: a small process for each run that starts its program and waits for it, so that the
//! executor may end and come again without losing output or exit code.
//!
//! A keeper is our own program, begun by a command of the configuration with two words more:
//! `keep FOLDER`. It has a session of its own, so that no terminal reaches it. It begins
//! `exec FOLDER KEEPER`, which limits itself and becomes the program; the kernel ends that one if the
//! keeper is killed. Only the keeper signals the program while it lives: it is the program's parent,
//! so that the program's number cannot be another's. It knows until when the store keeps the run for
//! the executor, as the executor said last, and ends the program then: an executor that is gone must
//! not leave a program at work on a run that is another's. What leaves the program's group comes to the
//! keeper when its own parent ends, and is ended with the program.
//!
//! The program of a run that only holds its executor is ours as well, with the word `hold`: it waits
//! until it is ended, so that such a run is kept, found again and ended like every other.

pub(super) mod control;
mod exec;
mod output;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ah_process::{Group, Process};
use ah_store::{Clock, SystemClock};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use serde::{Deserialize, Serialize};

use self::control::Control;
use self::output::Copies;
use super::folder::{End, Folder, Known, MARK, Order, Stream};
use crate::file::FileError;

/// The word that begins a keeper.
pub(super) const KEEP: &str = "keep";
/// The word that becomes a program.
const EXEC: &str = "exec";
/// The word that only waits.
pub(super) const HOLD: &str = "hold";
/// How long what the program left behind may take to end, and how often that is looked for.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// How often it is tried again to note how a program ended.
const AGAIN: Duration = Duration::from_millis(200);

/// What a keeper tells the executor that began it, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Begun {
    /// The program is this process.
    Started(u32),
    /// There is no program, for this reason.
    Failed(String),
}

/// Does what `arguments` say: those of the command that the configuration names as the keeper's,
/// from `keep`, `exec` or `hold` on. Returns when the run has ended.
pub fn main(arguments: &[OsString]) -> ExitCode {
    let done = match arguments {
        [word, folder] if word == KEEP => keep(&Folder::at(folder)),
        [word, folder, keeper] if word == EXEC => {
            Err(exec::become_program(&Folder::at(folder), keeper))
        }
        [word] if word == HOLD => hold(),
        _ => Err(KeepError::Words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody listens but a file; a keeper that cannot write it has nothing else to do.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(127)
        }
    }
}

/// Waits until somebody ends this process.
fn hold() -> ! {
    loop {
        std::thread::park();
    }
}

/// Why a keeper does not work.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error("a keeper is told `keep FOLDER`, and is not begun by hand")]
    Words,
    #[error("another keeper has {0}")]
    Held(String),
    #[error("{0} was given up")]
    Void(String),
    #[error(transparent)]
    File(#[from] FileError),
    #[error("cannot {operation}: {source}")]
    System { operation: &'static str, source: io::Error },
}

fn failed<E: Into<io::Error>>(operation: &'static str) -> impl FnOnce(E) -> KeepError {
    move |error| KeepError::System { operation, source: error.into() }
}

fn keep(folder: &Folder) -> Result<(), KeepError> {
    stand_alone();
    let shown = || folder.path().display().to_string();
    let lock = folder.keeper_lock()?;
    ah_process::lock_soon(&lock).map_err(|_| KeepError::Held(shown()))?;
    if folder.is_void() {
        return Err(KeepError::Void(shown()));
    }
    let order = folder.order()?;
    folder.note_keeper(&Known::of(std::process::id()))?;
    let end = match begin(folder, &order) {
        Ok((child, copies, control)) => {
            tell(&Begun::Started(child.id()));
            wait(folder, child, copies, &control)?
        }
        Err(error) => {
            tell(&Begun::Failed(error.to_string()));
            End { not_started: Some(error.to_string()), ..End::at(SystemClock.now()) }
        }
    };
    note(folder, &end)
}

/// Notes the end durably. Nobody else knows it, so a disk that is full is waited for.
fn note(folder: &Folder, end: &End) -> Result<(), KeepError> {
    loop {
        match folder.note_end(end) {
            Ok(()) => return Ok(()),
            Err(_) if folder.path().is_dir() => std::thread::sleep(AGAIN),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Leaves the executor's session, and takes over whoever loses its parent below.
fn stand_alone() {
    // Who leads a session already needs no other.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

fn tell(begun: &Begun) {
    let mut out = io::stdout().lock();
    // The executor may be gone, which is its own affair.
    let line = serde_json::to_string(begun).unwrap_or_default();
    let _ = out.write_all(format!("\n{line}\n").as_bytes()).and_then(|()| out.flush());
}

fn begin(folder: &Folder, order: &Order) -> Result<(Child, Copies, Control), KeepError> {
    let words = folder.control().map_err(failed("open the pipe for words"))?;
    let logs = Stream::ALL.map(|stream| create_log(&folder.log(stream)));
    let [out, err] = logs;
    let (out, err) = (out?, err?);
    let mut child = spawn(folder, order).map_err(failed("start the program"))?;
    let group = Group::of(child.id());
    let listen = || -> Result<(Copies, Control), KeepError> {
        folder.note_program(&Known::of(child.id()))?;
        let copies = Copies::begin(&mut child, (out, err), order.output_bytes_max);
        let control = Control::begin(folder.clone(), group, words, order);
        Ok((copies.map_err(failed("start a thread"))?, control.map_err(failed("start a thread"))?))
    };
    match listen() {
        Ok((copies, control)) => Ok((child, copies, control)),
        Err(error) => {
            group.kill();
            end_rest(child.id());
            // It has ended, and nothing is made of how.
            let _ = child.wait();
            Err(error)
        }
    }
}

fn create_log(path: &Path) -> Result<File, KeepError> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = std::fs::OpenOptions::new();
    let made = options.append(true).create(true).mode(0o600).open(path);
    made.map_err(|error| FileError::io("create", path, error).into())
}

fn spawn(folder: &Folder, order: &Order) -> io::Result<Child> {
    let (name, rest) = order.keeper.split_first().ok_or(io::ErrorKind::NotFound)?;
    let stdin = folder.stdin()?.map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(name);
    command
        .args(rest)
        .arg(EXEC)
        .arg(folder.path())
        .arg(std::process::id().to_string())
        .env(MARK, folder.path())
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ah_process::begin(&mut command);
    command.spawn()
}

/// Waits for the program, ends what it leaves behind, and says how it ended.
fn wait(
    folder: &Folder,
    mut child: Child,
    copies: Copies,
    control: &Control,
) -> Result<End, KeepError> {
    let head = child.id();
    await_head(head);
    // From here on nobody signals its number any more.
    let asked = control.close();
    end_rest(head);
    let status = child.wait().map_err(failed("wait for the program"))?;
    let dropped = copies.finish();
    let mut end = ended(status);
    end.not_started = folder.not_started();
    if end.not_started.is_some() {
        end.code = None;
    }
    end.asked = asked;
    (end.stdout_dropped_bytes, end.stderr_dropped_bytes) = dropped;
    Ok(end)
}

fn ended(status: ExitStatus) -> End {
    let (code, signal) = (status.code().map(i64::from), status.signal().map(i64::from));
    End { code, signal, ..End::at(SystemClock.now()) }
}

fn pid(id: u32) -> Option<Pid> {
    i32::try_from(id).ok().and_then(Pid::from_raw)
}

/// Waits until the program has ended, and leaves it there to be asked how. Others that came to us
/// and ended are let go.
fn await_head(head: u32) {
    let Some(head_pid) = pid(head) else { return };
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        let any = rustix::io::retry_on_intr(|| rustix::process::waitid(WaitId::All, ended));
        let asked = rustix::process::waitid(WaitId::Pid(head_pid), ended | WaitIdOptions::NOHANG);
        if any.is_err() || !matches!(asked, Ok(None)) {
            return;
        }
        let others = children().into_iter().filter(|one| !one.lives && one.id != head);
        let let_go = others.filter_map(|one| pid(one.id)).map(|one| {
            // Whoever is gone already is gone.
            let _ = rustix::process::waitpid(Some(one), WaitOptions::NOHANG);
        });
        if let_go.count() == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Ends whoever is left of the program: its group, and all that came to us.
fn end_rest(head: u32) {
    Group::of(head).kill();
    let until = Instant::now() + PATIENCE;
    loop {
        let living: Vec<Process> = children().into_iter().filter(|one| one.lives).collect();
        if living.is_empty() || Instant::now() >= until {
            return;
        }
        // Ours and not yet waited for: their numbers cannot be another's. By number, not by group:
        // one may have joined our own.
        for process in living.iter().filter_map(|one| pid(one.id)) {
            let _ = rustix::process::kill_process(process, Signal::KILL);
        }
        std::thread::sleep(PAUSE);
    }
}

fn children() -> Vec<Process> {
    let own = std::process::id();
    ah_process::all().into_iter().filter(|one| one.parent == own).collect()
}
