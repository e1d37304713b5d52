//! The program itself: started with its input, heard line by line, ended with all of its group.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;

use ah_process::Group;

use crate::RunError;

/// Longest line that is taken whole; a longer one is taken as several.
const LINE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Exit code of a program that could not be started.
const NOT_STARTED: u8 = 127;

/// Where a line was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Errors,
}

/// What happens while a program runs.
pub(crate) enum News {
    Line(Stream, Vec<u8>),
    Closed,
    Exited(io::Result<ExitStatus>),
    /// Somebody wants it to end.
    Stop,
}

/// What to start.
pub(crate) struct Start<'a> {
    /// Our own program as the one that becomes another; empty if none is known.
    pub(crate) own: &'a [String],
    pub(crate) argv: &'a [String],
    pub(crate) directory: &'a Path,
    pub(crate) environment: Vec<(&'a str, String)>,
    pub(crate) input: Option<String>,
}

/// Starts the program and what listens to it. The thread that calls it must live as long as the
/// worker: the kernel ends the program with it.
pub(crate) fn begin(start: Start<'_>, news: &SyncSender<News>) -> Result<Group, RunError> {
    let failed = |source| RunError::Start { what: start.argv.join(" "), source };
    let parent = std::process::id().to_string();
    let words = match start.own {
        [] => start.argv.to_vec(),
        own => [own, &["exec".to_owned(), parent], start.argv].concat(),
    };
    let (name, rest) = words.split_first().ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
    let mut command = Command::new(name);
    command
        .args(rest)
        .current_dir(start.directory)
        .envs(start.environment)
        .stdin(if start.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ah_process::begin(&mut command);
    let mut child = command.spawn().map_err(failed)?;
    let group = Group::of(child.id());
    listen(&mut child, start.input, news)
        .and_then(|()| await_end(child, group, news.clone()))
        .inspect_err(|_| group.kill())
        .map_err(failed)?;
    Ok(group)
}

fn listen(child: &mut Child, input: Option<String>, news: &SyncSender<News>) -> io::Result<()> {
    if let Some((mut stdin, input)) = child.stdin.take().zip(input) {
        // A program that reads none of it closes the pipe, which is its own affair.
        thread("ah-run-in", move || drop(stdin.write_all(input.as_bytes())))?;
    }
    if let Some(output) = child.stdout.take() {
        let news = news.clone();
        thread("ah-run-out", move || lines(Stream::Output, output, &news))?;
    }
    if let Some(errors) = child.stderr.take() {
        let news = news.clone();
        thread("ah-run-err", move || lines(Stream::Errors, errors, &news))?;
    }
    Ok(())
}

/// Tells all of `input`, a line at a time; who hears it sets the pace.
fn lines(stream: Stream, input: impl Read, news: &SyncSender<News>) {
    let mut input = BufReader::new(input);
    loop {
        let mut line = Vec::new();
        let told = match input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return drop(news.send(News::Closed)),
            Ok(_) => news.send(News::Line(stream, line)),
        };
        if told.is_err() {
            return;
        }
    }
}

/// Hears its end, and ends what it leaves behind.
fn await_end(mut child: Child, group: Group, news: SyncSender<News>) -> io::Result<()> {
    thread("ah-run-end", move || {
        group.await_head();
        group.kill();
        let status = child.wait();
        let _ = news.send(News::Exited(status));
    })
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Becomes the program that `words` name behind the number of the worker, and ends with that one:
/// no program goes on unwatched. Returns the exit code if that does not work.
#[cfg(unix)]
pub fn become_program(words: &[OsString]) -> u8 {
    use std::os::unix::process::CommandExt;
    let [worker, name, rest @ ..] = words else { return NOT_STARTED };
    if !die_with(worker) {
        return NOT_STARTED;
    }
    let error = Command::new(name).args(rest).exec();
    // Heard by the worker, and kept in the log of the run.
    let _ = writeln!(io::stderr(), "cannot run {}: {error}", name.display());
    NOT_STARTED
}

#[cfg(not(unix))]
pub fn become_program(_words: &[OsString]) -> u8 {
    NOT_STARTED
}

/// Has the kernel end this process when its worker ends; `false` if that has ended.
#[cfg(target_os = "linux")]
fn die_with(worker: &std::ffi::OsStr) -> bool {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    let follows = set_parent_process_death_signal(Some(Signal::KILL)).is_ok();
    let parent = getppid().map(|parent| parent.as_raw_nonzero().to_string());
    follows && parent.is_some_and(|parent| *worker == *parent)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn die_with(_worker: &std::ffi::OsStr) -> bool {
    true
}
