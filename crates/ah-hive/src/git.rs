//! Git as a program, with repositories in mind that an agent wrote.
//!
//! Every call has a fixed environment and settings that win over those of the repository: no hooks,
//! monitors, filters, transports, prompts or pagers, nothing fetched when an object is missing, no
//! indexes of the repository's own making believed. Time and output are bounded. No shell.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ah_process::Bounds;
pub(crate) use ah_process::Output;

use crate::HostError;

/// Longest that one call may take.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(60);
const BOUNDS: Bounds =
    Bounds { time: TIME_MAX, output_bytes: 16 * 1024 * 1024, error_bytes: 2_048 };
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

    /// Runs a command of whose answer only so many bytes are wanted; whether there were more.
    pub(crate) fn run_up_to(
        &self,
        at: Repository<'_>,
        args: &[&str],
        bytes_max: usize,
    ) -> Result<(Vec<u8>, bool), HostError> {
        let name = args.first().copied().unwrap_or_default();
        let mut child = spawn(&mut self.at(at, args), name)?;
        let bounds = Bounds { output_bytes: bytes_max as u64, ..BOUNDS };
        let done = ah_process::finish_cut(&mut child, None, bounds);
        let (output, is_cut) = done.map_err(|error| failed(name, error.to_string()))?;
        Ok((self.succeed(name, output)?.text, is_cut))
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
        match output.status.success() {
            true => Ok(output),
            false => Err(failed(name, output.reason())),
        }
    }

    fn finish(&self, name: &str, mut child: Child) -> Result<Output, HostError> {
        let done = ah_process::finish(&mut child, None, BOUNDS);
        done.map_err(|error| failed(name, error.to_string()))
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

pub(crate) fn failed(command: &str, reason: impl Into<String>) -> HostError {
    HostError::Git { command: command.to_owned(), reason: reason.into() }
}

/// Whether `text` may stand where git takes a name of a commit.
pub(crate) fn is_reference(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('-')
        && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}
