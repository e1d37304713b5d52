//! The program that brings the leader's files to a follower.
//!
//! It is not kept like the program of a run: it ends with its fence, and what an executor before this
//! one left of it is ended before another begins.

use std::io::Read;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ah_process::{Group, Process};

use super::Stop;
use crate::executor::host::Holding;
use crate::frame::Fence;

/// Names the run in the environment of whatever a pull starts.
const MARK: &str = "AH_PULL_FOLDER";
/// How often it is looked whether a pull has ended.
const LOOK: Duration = Duration::from_millis(10);
/// How much of the end of what it wrote is told.
const SAID_BYTES: usize = 2 * 1024;
/// How long the end of what it wrote is awaited. Somebody outside of it may hold the stream.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came of a pull.
pub(super) enum Pulled {
    /// It ended well, or there is none.
    Done,
    /// It did not, for that reason.
    Failed(String),
    /// It was ended: the time was over, or nobody wants it any more.
    TooLong,
}

/// Runs the pull, if there is one, and ends all that it started.
pub(super) fn run(holding: &Holding, fence: &Fence, stop: &Stop, until: Instant) -> Pulled {
    let Some((name, arguments)) = holding.hold.pull.split_first() else { return Pulled::Done };
    let shown = |why: &str| Pulled::Failed(format!("the pull {name:?} {why}"));
    if let Err(process) = end_rest(holding) {
        return shown(&format!("has left process {} behind, which cannot be ended", process.id));
    }
    let mut child = match command(name, arguments, holding, fence).spawn() {
        Ok(child) => child,
        Err(error) => {
            let directory = holding.directory.display();
            return shown(&format!("cannot be run in {directory}: {error}"));
        }
    };
    let said = child.stderr.take().map(end_of);
    let status = wait(&mut child, stop, until);
    // Whatever it started ends with it, so that nobody changes the files while they are compared.
    let rest = end_rest(holding);
    match (status, rest) {
        (Ok(None), _) => Pulled::TooLong,
        (Ok(Some(status)), Ok(())) if status.success() => Pulled::Done,
        (Ok(Some(status)), Ok(())) => {
            let said = said.and_then(|said| said.recv_timeout(PATIENCE).ok()).unwrap_or_default();
            match said.trim() {
                "" => shown(&format!("ended with {status}")),
                said => shown(&format!("ended with {status}: {said}")),
            }
        }
        (Ok(Some(_)), Err(process)) => {
            shown(&format!("has left process {} behind, which cannot be ended", process.id))
        }
        (Err(error), _) => shown(&format!("cannot be waited for: {error}")),
    }
}

fn command(name: &str, arguments: &[String], holding: &Holding, fence: &Fence) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(&holding.directory);
    for name in &holding.withheld {
        command.env_remove(name);
    }
    command
        .envs(holding.environment.iter().map(|(name, value)| (name, value)))
        .env("AH_SESSION", holding.session_id.as_str())
        .env("AH_FENCE", fence.fence_id.as_str())
        .env("AH_RUN_ID", fence.run_id.as_str())
        .env("AH_SNAPSHOT", fence.snapshot.as_deref().unwrap_or_default())
        .env(MARK, &holding.mark)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let members = [("AH_LEADER", &fence.leader), ("AH_MEMBER", &holding.member)];
    for (name, member) in members {
        if let Some(member) = member {
            command.env(name, member.as_str());
        }
    }
    ah_process::begin(&mut command);
    command
}

/// How it ended; nothing if it had to be ended.
fn wait(child: &mut Child, stop: &Stop, until: Instant) -> std::io::Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until || stop.is_stopped_within(LOOK) {
            // It is not waited for yet: its number cannot be another's.
            Group::of(child.id()).kill();
            child.wait()?;
            return Ok(None);
        }
    }
}

/// Ends what the pulls of a run have left running.
fn end_rest(holding: &Holding) -> Result<(), Process> {
    let mark = holding.mark.to_string_lossy();
    let is_of = |one: &Process| one.lives && one.has(&[(MARK, &mark)]);
    ah_process::end_all(|| ah_process::all().into_iter().filter(is_of).collect()).map(drop)
}

/// The last of what it writes, once that has ended.
fn end_of(mut from: ChildStderr) -> Receiver<String> {
    let (give, given) = channel();
    std::thread::spawn(move || {
        let (mut kept, mut piece) = (Vec::new(), vec![0; SAID_BYTES]);
        while let Ok(read) = from.read(&mut piece) {
            if read == 0 {
                break;
            }
            kept.extend_from_slice(piece.get(..read).unwrap_or_default());
            kept.drain(..kept.len().saturating_sub(SAID_BYTES));
        }
        // Nobody listens to one that ended well.
        let _ = give.send(String::from_utf8_lossy(&kept).into_owned());
    });
    given
}
