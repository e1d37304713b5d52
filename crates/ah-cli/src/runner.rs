//! This program as the worker of a run, as what becomes its program, and as the scripted agent: not
//! commands for people.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::app::App;
use crate::cli::GlobalArgs;
use crate::commands::{local, pane};
use crate::environment::Environment;

/// The word that makes it one of them.
pub(crate) const RUNNER: &str = "runner";
/// The word of a worker.
pub(crate) const WORK: &str = "work";
/// The word of a worker in a pane.
pub(crate) const SHOW: &str = "show";
/// The word of what becomes a worker in a pane.
pub(crate) const PANE: &str = "pane";
/// The word of the scripted agent.
pub(crate) const SCRIPTED: &str = "scripted";
/// The word of what becomes a program.
const EXEC: &str = "exec";
/// Longest prompt that is a script.
const SCRIPT_BYTES_MAX: u64 = 1024 * 1024;

/// Does what this process was started for, if it is one of these things.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = arguments.split_first()?;
    if word != RUNNER {
        return None;
    }
    match rest {
        [word, run, config @ ..] if word == WORK => Some(local::worker(&app(config), run)),
        [word, run, config @ ..] if word == SHOW => Some(pane::worker(&app(config), run)),
        [word, state, run, config @ ..] if word == PANE => {
            Some(pane::begin(&app(config), state, run))
        }
        [word, words @ ..] if word == EXEC => Some(ExitCode::from(ah_run::become_program(words))),
        [word] if word == SCRIPTED => Some(scripted()),
        _ => Some(ExitCode::from(2)),
    }
}

fn app(config: &[OsString]) -> App {
    let config = config.first().map(PathBuf::from);
    App::new(GlobalArgs { config, ..GlobalArgs::default() }, Environment::capture())
}

/// The agent that needs no model: a line `sleep MS` of its prompt waits, `fail CODE` ends it so, and
/// all others are said again.
fn scripted() -> ExitCode {
    let mut script = String::new();
    let read = std::io::stdin().take(SCRIPT_BYTES_MAX).read_to_string(&mut script);
    if read.is_err() {
        return ExitCode::FAILURE;
    }
    for line in script.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest.trim().parse::<u64>()) {
            ("sleep", Ok(ms)) => std::thread::sleep(Duration::from_millis(ms)),
            ("fail", Ok(code)) => return ExitCode::from(u8::try_from(code).unwrap_or(1)),
            _ => {
                let mut out = std::io::stdout().lock();
                if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    ExitCode::SUCCESS
}
