//! Running other programs, and the failure that ends a command.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Why a command ended, and the exit code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    /// Wraps the error of an operation on a file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |error| Self::new(format!("{}: {error}", path.display()))
    }
}

/// The value of an environment variable, if it is set and not empty.
#[expect(clippy::disallowed_methods, reason = "the tool has no composition root to be handed it")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The directory of the workspace's `Cargo.toml`.
pub(crate) fn workspace_root() -> PathBuf {
    let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest_dir.parent().unwrap_or(manifest_dir).to_path_buf()
}

/// The cargo that started us, at the workspace root.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(variable("CARGO").unwrap_or_else(|| "cargo".to_owned()));
    command.current_dir(workspace_root());
    if variable("CI").as_deref() == Some("true") {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Runs a command in the foreground; any exit but success is a failure with the same code.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    check_status(command, status)
}

/// Runs a command and returns what it printed on stdout; its stderr is part of the failure.
pub(crate) fn read(command: &mut Command) -> Result<String, Failure> {
    let output =
        command.stdin(Stdio::null()).output().map_err(|error| cannot_start(command, &error))?;
    check_status(command, output.status).map_err(|failure| Failure {
        message: format!("{}\n{}", failure.message, String::from_utf8_lossy(&output.stderr)),
        ..failure
    })?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the command can be started and ends well; prints nothing.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    read(command).is_ok()
}

/// Announces a step, does it, and prints how long it took.
pub(crate) fn step<T>(
    name: &str,
    action: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    eprintln!("==> {name}");
    let started = Instant::now();
    let result = action();
    let seconds = started.elapsed().as_secs_f64();
    match result {
        Ok(value) => {
            eprintln!("    {name}: {seconds:.1} s");
            Ok(value)
        }
        Err(failure) => Err(Failure {
            message: format!("{name} failed after {seconds:.1} s: {}", failure.message),
            ..failure
        }),
    }
}

/// The command as a person would type it.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str()).to_string_lossy()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy()));
    words.join(" ")
}

/// A failure unless `status` is success.
pub(crate) fn check_status(command: &Command, status: ExitStatus) -> Result<(), Failure> {
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Err(Failure { message: format!("`{}` ended with {status}", describe(command)), code })
}

pub(crate) fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot start `{}`: {error}", describe(command)))
}
