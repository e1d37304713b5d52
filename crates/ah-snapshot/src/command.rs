//! Programs that are run to their end: no terminal, bounded time and output.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ah_process::Group;

use crate::SnapshotError;

/// Longest that one call may take: a first snapshot of a large tree reads all of it.
const TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// Most that a call may answer.
const OUTPUT_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// How much is kept of what a call says of errors.
const ERROR_BYTES_MAX: u64 = 2_048;

/// What a call answered.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    /// What it printed.
    pub(crate) text: Vec<u8>,
    said: String,
}

impl Output {
    /// The first line of what it printed.
    pub(crate) fn line(&self) -> String {
        String::from_utf8_lossy(&self.text).lines().next().unwrap_or_default().to_owned()
    }

    /// What it said of its failure, on one line.
    pub(crate) fn reason(&self) -> String {
        let said = self.said.trim();
        if said.is_empty() { self.status.to_string() } else { said.replace('\n', "; ") }
    }
}

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
    finish(&mut child, input).map_err(broken)
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

fn finish(child: &mut Child, input: Option<Vec<u8>>) -> io::Result<Output> {
    let writer = child.stdin.take().zip(input).map(|(mut pipe, input)| {
        // One that ends early says why itself.
        thread::spawn(move || drop(pipe.write_all(&input)))
    });
    let text = child.stdout.take().map(|pipe| reader(pipe, OUTPUT_BYTES_MAX + 1));
    let said = child.stderr.take().map(|pipe| reader(pipe, ERROR_BYTES_MAX));
    let status = wait(child, Instant::now() + TIME_MAX);
    // Whatever it started and left behind would keep the pipes open.
    Group::of(child.id()).kill();
    writer.map(JoinHandle::join);
    let (text, said) = (collect(text)?, collect(said)?);
    let Some(status) = status? else {
        return Err(io::Error::other(format!(
            "not done after {} minutes",
            TIME_MAX.as_secs() / 60
        )));
    };
    if text.len() as u64 > OUTPUT_BYTES_MAX {
        return Err(io::Error::other(format!("printed more than {OUTPUT_BYTES_MAX} bytes")));
    }
    Ok(Output { status, text, said: String::from_utf8_lossy(&said).into_owned() })
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
    let mut pause = Duration::from_micros(200);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            Group::of(child.id()).kill();
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
