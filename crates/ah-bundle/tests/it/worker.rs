//! The test binary as a process of its own: it runs again with one test and a task.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use ah_bundle::{Refinement, StateDir, Step};
use serde::{Deserialize, Serialize};

use crate::given::{at, bundle};

const TASK: &str = "AH_BUNDLE_TEST_TASK";
const STOP_AT: &str = "AH_BUNDLE_TEST_STOP_AT";

/// What a worker does.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Saves to a scope, `count` times.
    Save { scope: String, count: usize },
    /// Adds `count` lines to the prompt of a scope.
    Refine { scope: String, writer: usize, count: usize },
    /// Saves a prompt of so many bytes once, and says in its exit code whether that worked.
    SaveLarge { scope: String, bytes: usize },
}

/// A worker on `directory`.
pub(crate) fn command(directory: &Path, task: &Task) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let given = serde_json::to_string(&(directory, task)).unwrap();
    command.args(["--exact", "worker::entry", "--nocapture"]).env(TASK, given);
    command
}

/// A worker that kills itself after that step of its first save.
pub(crate) fn killed_at(directory: &Path, task: &Task, step: usize) -> Command {
    let mut command = command(directory, task);
    command.env(STOP_AT, step.to_string());
    command
}

#[test]
fn entry() {
    let Some(given) = variable(TASK) else { return };
    let (directory, task): (PathBuf, Task) = serde_json::from_str(&given).unwrap();
    let state = StateDir::new(directory).with_steps(kill_here);
    match task {
        Task::Save { scope, count } => {
            for number in 0..count {
                state.save(bundle(&scope, &format!("number {number}")), at(0)).unwrap();
            }
        }
        Task::Refine { scope, writer, count } => {
            for number in 0..count {
                let text = format!("writer {writer} line {number}");
                let refinement = Refinement { text, ..Refinement::default() };
                state.refine(&scope, &refinement, at(0)).unwrap();
            }
        }
        Task::SaveLarge { scope, bytes } => {
            let saved = state.save(bundle(&scope, &"x".repeat(bytes)), at(0));
            saved.map(drop).unwrap();
        }
    }
}

/// Ends the process as a crash would, at the step it was told.
fn kill_here(step: Step) -> io::Result<()> {
    let wanted = variable(STOP_AT).map(|number| Step::ALL[number.parse::<usize>().unwrap()]);
    if wanted == Some(step) {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "how a worker is told its task")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
