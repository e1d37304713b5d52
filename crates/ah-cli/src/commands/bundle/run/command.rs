//! A pre-stage that is a command: JSON in, JSON out, with an end.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::error::{CommandError, Exit};

/// Most that is taken from a pre-stage.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How long a pre-stage that was asked to end may take to.
const GRACE: Duration = Duration::from_secs(2);

/// What happens while it runs.
enum Event {
    /// It has ended; what it started may not have.
    Ended,
    /// It prints more than is taken.
    TooMuch,
    /// This process is asked to end.
    Interrupted,
}

/// Runs the command with `input`; what it printed. Whatever happens, nothing it started is left.
pub(super) fn run(
    command: &[OsString],
    input: &str,
    timeout: Duration,
) -> Result<Vec<u8>, CommandError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CommandError::new(Exit::Usage, "the pre-stage has no name"));
    };
    let name = Path::new(program).display().to_string();
    let (tell, events) = channel();
    // Before it runs: a signal in between would leave it alone.
    let told = tell.clone();
    ah_server::when_asked_to_end(move || drop(told.send(Event::Interrupted)))
        .map_err(|error| failed(&name, &error))?;
    let mut child = Command::new(program)
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&name, &error))?;
    feed(&mut child, input);
    let answer = read(&mut child, tell.clone());
    await_end(&child, tell);
    let outcome = wait(&events, &name, timeout);
    if outcome.is_err() {
        end(&child, &events);
    }
    // What it left behind would keep the pipe open.
    kill(&child, Signal::KILL);
    let status = child.wait().map_err(|error| failed(&name, &error))?;
    outcome?;
    let answer = answer.join().unwrap_or_else(|_| Err(io::Error::other("its reader broke off")));
    let answer = answer.map_err(|error| failed(&name, &error))?;
    // First of all: what says too much is ended by that.
    if answer.len() as u64 > ANSWER_BYTES_MAX {
        return Err(too_much(&name));
    }
    succeeded(&name, status)?;
    Ok(answer)
}

/// Gives it the input; one that does not read it all is not held up, nor are we.
fn feed(child: &mut Child, input: &str) {
    let Some(mut pipe) = child.stdin.take() else { return };
    let input = input.to_owned();
    thread::spawn(move || pipe.write_all(input.as_bytes()));
}

fn read(child: &mut Child, tell: Sender<Event>) -> thread::JoinHandle<io::Result<Vec<u8>>> {
    let pipe = child.stdout.take();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(pipe) = pipe {
            pipe.take(ANSWER_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        }
        if bytes.len() as u64 > ANSWER_BYTES_MAX {
            // Nobody to tell when it is over.
            let _ = tell.send(Event::TooMuch);
        }
        Ok(bytes)
    })
}

/// Tells of its end and leaves it to be asked how: so long nobody else gets its number.
fn await_end(child: &Child, tell: Sender<Event>) {
    let pid = Pid::from_child(child);
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options));
        tell.send(Event::Ended)
    });
}

/// Waits for its end, and says why it must be ended if it must.
fn wait(events: &Receiver<Event>, name: &str, timeout: Duration) -> Result<(), CommandError> {
    let reason = match events.recv_timeout(timeout) {
        Ok(Event::Ended) => return Ok(()),
        Ok(Event::TooMuch) => return Err(too_much(name)),
        Ok(Event::Interrupted) => "was interrupted",
        Err(RecvTimeoutError::Disconnected) => "cannot be waited for",
        Err(RecvTimeoutError::Timeout) => {
            let reason = format!("took longer than {timeout:?}");
            return Err(unsaved(name, &reason).hint("`--timeout SPAN` gives it more time"));
        }
    };
    Err(unsaved(name, reason))
}

/// Asks it to end, and waits a little for it.
fn end(child: &Child, events: &Receiver<Event>) {
    kill(child, Signal::TERM);
    let until = Instant::now() + GRACE;
    while let Ok(event) = events.recv_timeout(until.saturating_duration_since(Instant::now())) {
        if matches!(event, Event::Ended) {
            return;
        }
    }
}

fn kill(child: &Child, signal: Signal) {
    // Who has ended already needs no signal.
    let _ = kill_process_group(Pid::from_child(child), signal);
}

fn succeeded(name: &str, status: ExitStatus) -> Result<(), CommandError> {
    let how = match (status.success(), status.code()) {
        (true, _) => return Ok(()),
        (false, Some(code)) => format!("ended with exit code {code}"),
        (false, None) => format!("was ended ({status})"),
    };
    Err(unsaved(name, &how).hint("what it says of it is above"))
}

fn not_started(name: &str, error: &io::Error) -> CommandError {
    let error = unsaved(name, &format!("cannot be run: {error}"));
    CommandError::new(Exit::Usage, error.to_string())
        .hint("what stands after `--` is a program and its arguments, not a line for a shell")
}

fn too_much(name: &str) -> CommandError {
    unsaved(name, &format!("printed more than {ANSWER_BYTES_MAX} bytes"))
}

fn failed(name: &str, error: &io::Error) -> CommandError {
    unsaved(name, &format!("failed: {error}"))
}

fn unsaved(name: &str, what: &str) -> CommandError {
    CommandError::new(Exit::Failed, format!("the pre-stage {name} {what}; nothing was saved"))
}
