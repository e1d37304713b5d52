//! An identity from a program that prints PEM: a key, a chain and authorities.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use ah_model::Timestamp;

use super::{Identity, IdentityError, Mark, Provider, ProviderKind, pem};

/// The most that a program may print.
pub const OUTPUT_BYTES_MAX: u64 = 1024 * 1024;
/// How often it is looked whether a program that printed everything has ended.
const END_EVERY: Duration = Duration::from_millis(10);

/// A program that prints an identity.
#[derive(Debug, Clone)]
pub struct ExecProvider {
    /// The program.
    pub program: String,
    /// Its arguments, as they are: there is no shell.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
}

impl Provider for ExecProvider {
    fn kind(&self) -> ProviderKind {
        ProviderKind::Exec
    }

    fn load(&self, now: Timestamp) -> Result<Identity, IdentityError> {
        let output = self.output()?;
        let parts = pem::mixed(&output, &self.program)?;
        Identity::new(parts, &self.program, now)
    }

    fn mark(&self) -> Result<Option<Mark>, IdentityError> {
        Ok(None)
    }
}

impl ExecProvider {
    fn output(&self) -> Result<Vec<u8>, IdentityError> {
        let until = Instant::now() + self.timeout;
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        // A group of its own, so that what it started ends with it.
        let child = command.process_group(0).spawn();
        let child = child.map_err(|error| self.failed(format!("it cannot be run: {error}")))?;
        let mut running = Running(child);
        let output = self.read(&mut running, until)?;
        if output.len() as u64 > OUTPUT_BYTES_MAX {
            return Err(self.failed(format!("it printed more than {OUTPUT_BYTES_MAX} bytes")));
        }
        let status = self.wait(&mut running, until)?;
        match status.success() {
            true => Ok(output),
            false => Err(self.failed(format!("it ended with {status}"))),
        }
    }

    fn read(&self, running: &mut Running, until: Instant) -> Result<Vec<u8>, IdentityError> {
        let pipe = running.0.stdout.take();
        let pipe = pipe.ok_or_else(|| self.failed("it has no output".to_owned()))?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes);
            // Nobody listens any more when the time was over.
            let _ = sender.send(read.map(|_| bytes));
        });
        match receiver.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Ok(bytes)) => Ok(bytes),
            Ok(Err(error)) => Err(self.failed(format!("its output cannot be read: {error}"))),
            Err(_) => Err(self.too_slow()),
        }
    }

    fn wait(&self, running: &mut Running, until: Instant) -> Result<ExitStatus, IdentityError> {
        loop {
            let ended = running.0.try_wait();
            match ended.map_err(|error| self.failed(error.to_string()))? {
                Some(status) => return Ok(status),
                None if until <= Instant::now() => return Err(self.too_slow()),
                None => thread::sleep(END_EVERY),
            }
        }
    }

    fn too_slow(&self) -> IdentityError {
        self.failed(format!("it took longer than {} ms", self.timeout.as_millis()))
    }

    fn failed(&self, reason: String) -> IdentityError {
        IdentityError::Source { origin: self.program.clone(), reason }
    }
}

/// A program that does not outlive its use.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // One that has ended was waited for: its number may be another's by now.
        if let Ok(None) = self.0.try_wait() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
