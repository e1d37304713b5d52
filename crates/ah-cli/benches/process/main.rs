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
mod watch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
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
    let benches: [(&str, Bench); 5] = [
        ("process", append::measure),
        ("hook", hook::measure),
        ("import", import::measure),
        ("watch", watch::measure),
        ("sweep", sweep::measure),
    ];
    let _installed = install();
    for (_, bench) in benches.iter().filter(|(name, _)| wanted(name)) {
        bench().iter().for_each(|figure| figure.print(json));
    }
}

#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn open(path: &Path) -> Connection {
    Connection::open(path).unwrap()
}

/// The program, and this one, which is what it is compared with.
static PROGRAMS: OnceLock<[PathBuf; 2]> = OnceLock::new();

/// Copies both as whoever installs them does. As a linker leaves it a file lies in memory page by page,
/// and the larger it is the longer it takes to start; of a copied one many pages come at once.
fn install() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let copy = |name: &str, from: &Path| {
        let to = directory.path().join(name);
        fs::copy(from, &to).unwrap();
        to
    };
    let programs = [copy("ah", Path::new(env!("CARGO_BIN_EXE_ah"))), copy("raw", &this)];
    PROGRAMS.set(programs).unwrap();
    directory
}

/// What ours is compared with.
fn raw() -> Command {
    Command::new(&PROGRAMS.get().unwrap()[1])
}

fn ah(home: &Path) -> Command {
    let mut command = Command::new(&PROGRAMS.get().unwrap()[0]);
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
