//! What whole processes cost beside the raw engine in the same run.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

mod append;
mod figure;
mod hook;
mod import;
mod sweep;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use rusqlite::Connection;

use figure::Figure;

type Bench = fn() -> Vec<Figure>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, path] = arguments.as_slice()
        && first == append::MINIMAL
    {
        return append::minimal(Path::new(path));
    }
    if arguments.first().is_some_and(|first| first == hook::NOTHING) {
        return;
    }
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    let wanted = |name: &str| names.is_empty() || names.iter().any(|n| name.contains(n.as_str()));
    let benches: [(&str, Bench); 4] = [
        ("process", append::measure),
        ("hook", hook::measure),
        ("import", import::measure),
        ("sweep", sweep::measure),
    ];
    for (_, bench) in benches.iter().filter(|(name, _)| wanted(name)) {
        bench().iter().for_each(|figure| figure.print(json));
    }
}

#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

fn ah(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ah"));
    command.env_clear().env("AH_HOME", home).env("HOME", home);
    command.current_dir(home.parent().unwrap());
    command
}

/// Milliseconds from start to end of a process.
fn run(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    start.elapsed().as_secs_f64() * 1_000.0
}
