//! Programs that are run to their end: no terminal, bounded time and output.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ah_process::Bounds;
pub(crate) use ah_process::Output;

use crate::SnapshotError;

/// What one call may take: a first snapshot of a large tree reads all of it.
const BOUNDS: Bounds = Bounds {
    time: Duration::from_secs(15 * 60),
    output_bytes: 512 * 1024 * 1024,
    error_bytes: 2_048,
};

/// Runs `command`, whose failure is an answer.
pub(crate) fn try_run(
    command: &mut Command,
    name: &str,
    input: Option<Vec<u8>>,
) -> Result<Output, SnapshotError> {
    ah_process::begin(command);
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().to_owned();
    let broken = |error: io::Error| failed(program.as_ref(), name, error.to_string());
    let mut child = command.spawn().map_err(broken)?;
    ah_process::finish(&mut child, input, BOUNDS).map_err(broken)
}

/// Runs `command`; not to succeed is an error.
pub(crate) fn run(
    command: &mut Command,
    name: &str,
    input: Option<Vec<u8>>,
) -> Result<Output, SnapshotError> {
    let output = try_run(command, name, input)?;
    match output.status.success() {
        true => Ok(output),
        false => Err(failed(command.get_program().as_ref(), name, output.reason())),
    }
}

/// The error of a call that did not do what it was asked.
pub(crate) fn failed(program: &Path, command: &str, reason: impl Into<String>) -> SnapshotError {
    let program = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    SnapshotError::Program {
        program: program.into_owned(),
        command: command.to_owned(),
        reason: reason.into(),
    }
}
