//! Git as a program, with repositories in mind that an agent wrote.
//!
//! Every call has a fixed environment and settings that win over those of the repository: no hooks,
//! monitors, filters, transports, prompts or pagers, nothing fetched when an object is missing, no
//! indexes of the repository's own making believed. Time and output are bounded. No shell.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::HostError;

/// Longest that one call may take.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(60);
/// Most that a call may answer.
const OUTPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How much is kept of what a call says of errors.
const ERROR_BYTES_MAX: u64 = 2_048;
/// Most bytes of a pack that is taken over.
const PACK_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Where the program is looked for.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin";
const NOTHING: &str = "/dev/null";

const ENVIRONMENT: [(&str, &str); 17] = [
    ("GIT_ALLOW_PROTOCOL", "none"),
    ("GIT_ASKPASS", "false"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", NOTHING),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_DEFAULT_HASH", "sha1"),
    ("GIT_DEFAULT_REF_FORMAT", "files"),
    ("GIT_EDITOR", "false"),
    ("GIT_GRAFT_FILE", NOTHING),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_SSH_COMMAND", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("LC_ALL", "C"),
    ("PATH", SEARCH),
];

const SETTINGS: [&str; 22] = [
    "core.alternateRefsCommand=false",
    "core.attributesFile=/dev/null",
    "core.autocrlf=false",
    "core.bigFileThreshold=1m",
    "core.commitGraph=false",
    "core.excludesFile=/dev/null",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.multiPackIndex=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.splitIndex=false",
    // A link that was committed must not lead the reader of a checked out tree out of it.
    "core.symlinks=false",
    "core.untrackedCache=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
    "pack.threads=1",
    "pack.windowMemory=64m",
    "protocol.allow=never",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
];

/// The program.
#[derive(Debug, Clone)]
pub(crate) struct Git {
    program: PathBuf,
}

impl Default for Git {
    fn default() -> Self {
        Self::new("git")
    }
}

/// Which repository a call is about. It is named and never searched for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repository<'a> {
    /// Its working tree; the repository itself is `.git` in it.
    pub(crate) tree: &'a Path,
}

/// What a call answered.
#[derive(Debug)]
pub(crate) struct Output {
    status: ExitStatus,
    /// What it printed.
    pub(crate) text: Vec<u8>,
    said: String,
}

impl Output {
    /// Whether it said yes.
    pub(crate) fn is_success(&self) -> bool {
        self.status.success()
    }

    /// The first line of what it printed.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(&self.text).lines().next().unwrap_or_default().to_owned()
    }

    fn reason(&self) -> String {
        let said = self.said.trim();
        if said.is_empty() { self.status.to_string() } else { said.replace('\n', "; ") }
    }
}

impl Git {
    /// The program at `program`, or of that name.
    pub(crate) fn new(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// Makes a repository of the directory. Who commits there is `user`, unless it says otherwise.
    pub(crate) fn init(&self, tree: &Path, user: &str) -> Result<(), HostError> {
        let mut command = self.command("init");
        command.args(["--quiet", "--template=", "--initial-branch=main"]).arg(tree);
        self.succeed("init", self.finish("init", spawn(&mut command, "init")?)?)?;
        let email = format!("{user}@agents.invalid");
        for (key, value) in [("user.name", user), ("user.email", &email)] {
            self.run(Repository { tree }, &["config", key, value])?;
        }
        Ok(())
    }

    /// Runs a command and gives what it printed; not to succeed is an error.
    pub(crate) fn run(&self, at: Repository<'_>, args: &[&str]) -> Result<Output, HostError> {
        let output = self.try_run(at, args)?;
        self.succeed(args.first().unwrap_or(&""), output)
    }

    /// Runs a command whose failure is an answer.
    pub(crate) fn try_run(&self, at: Repository<'_>, args: &[&str]) -> Result<Output, HostError> {
        let name = args.first().copied().unwrap_or_default();
        let mut command = self.at(at, args);
        self.finish(name, spawn(&mut command, name)?)
    }

    /// Copies a commit with everything it needs from one repository to another; not what is behind
    /// `known`, which both have.
    pub(crate) fn copy(
        &self,
        (from, to): (Repository<'_>, Repository<'_>),
        commit: &str,
        known: Option<&str>,
    ) -> Result<(), HostError> {
        let args = ["pack-objects", "--revs", "--stdout", "--quiet", "--window=0"];
        let mut pack = spawn(self.at(from, &args).stdin(Stdio::piped()), "pack-objects")?;
        let wanted = known.map_or(format!("{commit}\n"), |known| format!("{commit}\n^{known}\n"));
        let asked =
            pack.stdin.take().map_or(Ok(()), |mut input| input.write_all(wanted.as_bytes()));
        let packed = pack.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let size = format!("--max-input-size={PACK_BYTES_MAX}");
        let mut take = self.at(to, &["index-pack", "--stdin", "--strict", &size]);
        let taken = spawn(take.stdin(packed), "index-pack");
        // The command holds the pipe too; the packer sees the end of its reader only without it.
        drop(take);
        let taken = taken.and_then(|taken| self.finish("index-pack", taken));
        let packed = self.finish("pack-objects", pack);
        asked.map_err(|error| failed("pack-objects", error.to_string()))?;
        // The packer's own trouble comes first: the other's follows from it.
        self.succeed("pack-objects", packed?)
            .and_then(|_| self.succeed("index-pack", taken?))
            .map(drop)
    }

    fn at(&self, at: Repository<'_>, args: &[&str]) -> Command {
        let (name, rest) = args.split_first().map_or(("", args), |(name, rest)| (*name, rest));
        let mut command = self.command(name);
        command.current_dir(at.tree).env("GIT_DIR", at.tree.join(".git"));
        command.env("GIT_WORK_TREE", at.tree).args(rest);
        command
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(ENVIRONMENT).process_group(0);
        command.arg("--no-pager").arg("--literal-pathspecs");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg(name).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn succeed(&self, name: &str, output: Output) -> Result<Output, HostError> {
        match output.is_success() {
            true => Ok(output),
            false => Err(failed(name, output.reason())),
        }
    }

    /// Waits for the end of a call, and makes one if it takes too long or says too much.
    fn finish(&self, name: &str, mut child: Child) -> Result<Output, HostError> {
        let text = child.stdout.take().map(|pipe| reader(pipe, OUTPUT_BYTES_MAX + 1));
        let said = child.stderr.take().map(|pipe| reader(pipe, ERROR_BYTES_MAX));
        let status = wait(&mut child, Instant::now() + TIME_MAX);
        // Whatever it started and left behind would keep the pipes open.
        stop(&child);
        let (text, said) = (collect(text), collect(said));
        let broken = |error: io::Error| failed(name, error.to_string());
        let status = status.map_err(broken)?;
        let (text, said) = (text.map_err(broken)?, said.map_err(broken)?);
        let Some(status) = status else {
            return Err(failed(name, format!("not done after {} seconds", TIME_MAX.as_secs())));
        };
        if text.len() as u64 > OUTPUT_BYTES_MAX {
            return Err(failed(name, format!("printed more than {OUTPUT_BYTES_MAX} bytes")));
        }
        Ok(Output { status, text, said: String::from_utf8_lossy(&said).into_owned() })
    }
}

fn spawn(command: &mut Command, name: &str) -> Result<Child, HostError> {
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            let program = Path::new(command.get_program()).display();
            failed(name, format!("there is no program {program}; install git"))
        }
        _ => failed(name, error.to_string()),
    })
}

/// Reads what is said up to `max` bytes, and the rest away: who says it must not wait.
fn reader(mut pipe: impl Read + Send + 'static, max: u64) -> JoinHandle<io::Result<Vec<u8>>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.by_ref().take(max).read_to_end(&mut bytes)?;
        io::copy(&mut pipe, &mut io::sink())?;
        Ok(bytes)
    })
}

fn collect(reader: Option<JoinHandle<io::Result<Vec<u8>>>>) -> io::Result<Vec<u8>> {
    let joined = reader.map_or(Ok(Ok(Vec::new())), JoinHandle::join);
    joined.unwrap_or_else(|_| Err(io::Error::other("a reader of its output broke off")))
}

/// The status once it has ended; none if it had to be ended.
fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_micros(500);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            stop(child);
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Ends what is left of the call's process group.
fn stop(child: &Child) {
    // Nothing is left as a rule, and then nothing is to be done.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

pub(crate) fn failed(command: &str, reason: impl Into<String>) -> HostError {
    HostError::Git { command: command.to_owned(), reason: reason.into() }
}

/// Whether `text` may stand where git takes a name of a commit.
pub(crate) fn is_reference(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}
