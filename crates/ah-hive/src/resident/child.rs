//! Runs a program for one turn: its input, its lines, its end, and whatever it leaves behind.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use ah_process::Group;
use ah_store::block_on;
use serde_json::{Value, json};

use super::input::Told;
use super::left::{MESSAGE_DELIVERY, MESSAGE_ID};
use super::output::Said;
use super::program::CommandProgram;
use super::turn::{End, Ended, Heard, Turn};
use super::wait::{News, PIECE_BYTES_MAX, ProgramNews, Stream};

/// Longest line that is taken whole; a longer one is taken as several.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How long the next line is awaited of a program that has ended, and the end of one that was
/// killed; what it started may hold its pipes.
const DRAIN: Duration = Duration::from_secs(1);
/// How long lines are awaited in all of a program that has ended.
const DRAIN_MAX: Duration = Duration::from_secs(5);
/// Most that is kept of what a program says on stderr, to say why it failed.
const COMPLAINT_BYTES_MAX: usize = 2 * 1024;

pub(super) fn run(turn: &mut Turn<'_>, program: &CommandProgram) -> Ended {
    // There is one on record if the turn before could not end it.
    let begun = turn.resident.end_left().map_err(|error| error.to_string());
    match begun.and_then(|()| begin(turn, program).map_err(|error| error.to_string())) {
        Ok(group) => Work::new(turn, program, group).run(),
        Err(error) => Ended::of(End::Failed(format!("cannot run its program: {error}"))),
    }
}

/// Starts the program and what listens to it.
fn begin(turn: &Turn<'_>, program: &CommandProgram) -> io::Result<Group> {
    let home = turn.resident.home.dir.to_string_lossy();
    let arguments = program.arguments(&[
        ("agent", Some(&turn.agent.name)),
        ("session", Some(turn.session.as_str())),
        ("message", Some(turn.message.id.as_str())),
        ("home", Some(&home)),
        ("model", turn.model),
    ]);
    let (name, rest) = arguments.split_first().ok_or(io::ErrorKind::NotFound)?;
    let mut command = Command::new(name);
    command
        .args(rest)
        .current_dir(place(turn))
        .envs(turn.resident.options.environment.iter().map(|(name, value)| (name, value)))
        .env("AH_AGENT", &turn.agent.name)
        .env("AH_AGENT_ID", turn.agent.id.as_str())
        .env("AH_AGENT_HOME", &turn.resident.home.dir)
        .env("AH_SESSION", turn.session.as_str())
        .env(MESSAGE_ID, turn.message.id.as_str())
        .env("AH_MESSAGE_FROM", turn.message.from.as_str())
        .env(MESSAGE_DELIVERY, turn.message.deliveries.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    ah_process::begin(&mut command);
    let running = &turn.resident.running;
    running.begin(turn.message)?;
    let mut child = command.spawn()?;
    let group = Group::of(child.id());
    running
        .begun(child.id())
        .and_then(|()| listen(turn, program, &mut child))
        .and_then(|()| end_of(turn, child, group))
        .inspect_err(|_| group.kill())?;
    Ok(group)
}

/// Where it runs: where its session works, else in what the agent keeps.
fn place(turn: &Turn<'_>) -> PathBuf {
    let session = block_on(turn.store().session(turn.session.clone())).ok();
    let project = session.and_then(|session| session.details.project_dir).map(PathBuf::from);
    let state = turn.resident.home.state();
    project.filter(|dir| dir.is_dir()).unwrap_or(state)
}

/// Gives it its input and hears its lines, a thread each.
fn listen(turn: &Turn<'_>, program: &CommandProgram, child: &mut Child) -> io::Result<()> {
    let told = Told {
        agent: turn.agent,
        session_id: turn.session,
        message: turn.message,
        redelivered: turn.message.deliveries > 1,
        context: turn.context,
    };
    let input = told.input(program.input);
    if let Some(mut stdin) = child.stdin.take() {
        // A program that reads none of it closes the pipe, which is its own affair.
        thread("ah-turn-in", move || drop(stdin.write_all(&input)))?;
    }
    if let Some(output) = child.stdout.take() {
        let ear = Ear::of(turn, Stream::Output);
        thread("ah-turn-out", move || ear.pieces(output))?;
    }
    if let Some(errors) = child.stderr.take() {
        let ear = Ear::of(turn, Stream::Errors);
        thread("ah-turn-err", move || ear.pieces(errors))?;
    }
    Ok(())
}

/// Hears its end, and ends what it leaves behind.
fn end_of(turn: &Turn<'_>, mut child: Child, group: Group) -> io::Result<()> {
    let (number, news) = (turn.number, turn.resident.news.clone());
    thread("ah-turn-end", move || {
        group.await_head();
        group.kill();
        let status = child.wait();
        let _ = news.send(News::Program(number, ProgramNews::Exited(status)));
    })
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Where what a program writes is told.
struct Ear {
    stream: Stream,
    number: u64,
    news: SyncSender<News>,
    turn: Weak<()>,
}

impl Ear {
    fn of(turn: &Turn<'_>, stream: Stream) -> Self {
        let (number, news) = (turn.number, turn.resident.news.clone());
        Self { stream, number, news, turn: Arc::downgrade(&turn.goes_on) }
    }

    /// Tells all of `input`, as long as the turn goes on.
    fn pieces(&self, input: impl Read) {
        let mut input = BufReader::new(input);
        while self.turn.strong_count() > 0 {
            let mut piece = Vec::new();
            match input.by_ref().take(PIECE_BYTES_MAX).read_until(b'\n', &mut piece) {
                Ok(0) | Err(_) => return self.tell(ProgramNews::Closed(self.stream)),
                Ok(_) => self.tell(ProgramNews::Piece(self.stream, piece)),
            }
        }
    }

    fn tell(&self, news: ProgramNews) {
        // Nobody hears it when the loop is over, and with it the turn.
        let _ = self.news.send(News::Program(self.number, news));
    }
}

/// Makes lines of pieces.
#[derive(Debug, Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// The line that `piece` ends.
    fn with(&mut self, mut piece: Vec<u8>) -> Option<Vec<u8>> {
        self.0.append(&mut piece);
        let is_whole = self.0.ends_with(b"\n") || self.0.len() >= LINE_BYTES_MAX;
        is_whole.then(|| std::mem::take(&mut self.0))
    }

    /// What is left at the end.
    fn rest(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.0)).filter(|rest| !rest.is_empty())
    }
}

/// Why a program is being ended.
enum Ending {
    Stop,
    Timeout,
    Lost(String),
}

/// A program at work.
struct Work<'a, 't> {
    turn: &'a mut Turn<'t>,
    group: Group,
    said: Said,
    output: Lines,
    errors: Lines,
    complaint: String,
    open: u8,
    exited: Option<io::Result<ExitStatus>>,
    killed: bool,
    ending: Option<Ending>,
    /// When its time is over, it is killed, or its last lines are no longer awaited.
    until: Instant,
    /// After its end: when its last lines are no longer awaited, however many come.
    drained_by: Instant,
}

impl<'a, 't> Work<'a, 't> {
    fn new(turn: &'a mut Turn<'t>, program: &CommandProgram, group: Group) -> Self {
        let until = Instant::now() + Duration::from_millis(turn.resident.options.pace.turn_ms);
        Self {
            turn,
            group,
            said: Said::new(program.output),
            output: Lines::default(),
            errors: Lines::default(),
            complaint: String::new(),
            open: 2,
            exited: None,
            killed: false,
            ending: None,
            until,
            drained_by: until,
        }
    }

    fn run(mut self) -> Ended {
        while self.exited.is_none() || self.open > 0 {
            match self.turn.hear(self.until) {
                Heard::Program(ProgramNews::Piece(stream, piece)) => self.piece(stream, piece),
                Heard::Program(ProgramNews::Closed(stream)) => {
                    self.open -= 1;
                    self.rest(stream);
                }
                Heard::Program(ProgramNews::Exited(status)) => {
                    self.exited = Some(status);
                    self.drained_by = Instant::now() + DRAIN_MAX;
                    self.until = Instant::now() + DRAIN;
                }
                // Somebody else holds its pipes, or it cannot even be killed: nobody waits for that.
                Heard::Time if self.exited.is_some() || self.killed => break,
                Heard::Time if self.ending.is_some() => self.kill(),
                Heard::Time => self.end(Ending::Timeout),
                Heard::Stop => self.end(Ending::Stop),
                Heard::Lost(reason) => self.lose(reason),
            }
        }
        self.rest(Stream::Output);
        self.rest(Stream::Errors);
        if self.exited.is_some() {
            self.turn.resident.running.ended();
        }
        self.ended()
    }

    /// Asks it to end; after a while it is killed.
    fn end(&mut self, why: Ending) {
        if self.exited.is_some() || self.killed {
            return;
        }
        self.group.ask();
        self.ending.get_or_insert(why);
        self.until =
            Instant::now() + Duration::from_millis(self.turn.resident.options.pace.grace_ms);
    }

    /// Whoever has the message now must not meet this program.
    fn lose(&mut self, reason: String) {
        self.ending = Some(Ending::Lost(reason));
        if self.exited.is_none() {
            self.kill();
        }
    }

    fn kill(&mut self) {
        self.group.kill();
        self.killed = true;
        self.until = Instant::now() + DRAIN;
    }

    fn piece(&mut self, stream: Stream, piece: Vec<u8>) {
        if let Some(line) = self.lines(stream).with(piece) {
            self.line(stream, &line);
        }
        if self.exited.is_some() {
            self.until = (Instant::now() + DRAIN).min(self.drained_by);
        }
    }

    /// What was no whole line at the end.
    fn rest(&mut self, stream: Stream) {
        if let Some(line) = self.lines(stream).rest() {
            self.line(stream, &line);
        }
    }

    fn lines(&mut self, stream: Stream) -> &mut Lines {
        match stream {
            Stream::Output => &mut self.output,
            Stream::Errors => &mut self.errors,
        }
    }

    fn line(&mut self, stream: Stream, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        match stream {
            Stream::Output => {
                self.said.line(text);
                let payload = serde_json::from_str::<Value>(text).ok();
                let payload = payload.filter(Value::is_object);
                self.turn.live("stream", &payload.unwrap_or_else(|| json!({ "text": text })));
            }
            Stream::Errors => {
                self.turn.live("stream", &json!({ "stderr": text }));
                self.complaint.push_str(text);
                self.complaint.push('\n');
                let over = self.complaint.len().saturating_sub(COMPLAINT_BYTES_MAX);
                self.complaint.drain(..self.complaint.ceil_char_boundary(over));
            }
        }
    }

    fn ended(self) -> Ended {
        let (code, signal) = match &self.exited {
            Some(Ok(status)) => (status.code(), signal(status)),
            Some(Err(_)) | None => (None, None),
        };
        let end = match (self.ending, code) {
            (Some(Ending::Lost(reason)), _) => End::Lost(reason),
            // It finished what it was at.
            (Some(Ending::Stop) | None, Some(0)) => match self.said.end() {
                Ok(text) => End::Succeeded(text),
                Err(error) => End::Failed(error),
            },
            (Some(Ending::Stop), _) => End::Stopped,
            (Some(Ending::Timeout), _) => End::Failed("its time was over".to_owned()),
            (None, code) => {
                let how = match (code, signal) {
                    (Some(code), _) => format!("exit code {code}"),
                    (None, Some(signal)) => format!("signal {signal}"),
                    (None, None) => "no end that is known".to_owned(),
                };
                let complaint = self.complaint.trim();
                let complaint = self.said.end().err().unwrap_or_else(|| complaint.to_owned());
                End::Failed(match complaint.is_empty() {
                    true => how,
                    false => format!("{how}: {complaint}"),
                })
            }
        };
        Ended { end, code, signal }
    }
}

#[cfg(unix)]
fn signal(status: &ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(status)
}

#[cfg(not(unix))]
fn signal(_status: &ExitStatus) -> Option<i32> {
    None
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::resident::wait::NEWS_MAX;

    #[test]
    fn lines_come_in_bounded_pieces_and_are_whole_again() {
        let long = format!("{}\nshort\nrest", "x".repeat(200 * 1024));
        let (news, heard) = sync_channel(NEWS_MAX);
        let turn = Arc::default();
        let ear = Ear { stream: Stream::Output, number: 1, news, turn: Arc::downgrade(&turn) };
        ear.pieces(long.as_bytes());
        drop(ear);
        let (mut lines, mut whole, mut longest) = (Lines::default(), Vec::new(), 0);
        for news in heard {
            if let News::Program(1, ProgramNews::Piece(Stream::Output, piece)) = news {
                longest = longest.max(piece.len());
                whole.extend(lines.with(piece));
            }
        }
        whole.extend(lines.rest());
        assert_eq!(longest as u64, PIECE_BYTES_MAX);
        assert_eq!(whole.concat(), long.as_bytes());
        assert_eq!(whole.len(), 3);
    }

    #[test]
    fn nothing_more_is_told_when_the_turn_is_over() {
        let (news, heard) = sync_channel(NEWS_MAX);
        Ear { stream: Stream::Output, number: 1, news, turn: Weak::new() }.pieces(io::repeat(b'x'));
        assert!(heard.recv().is_err());
    }

    #[test]
    fn a_line_without_end_is_not_kept_whole() {
        let mut lines = Lines::default();
        let endless = std::iter::repeat_with(|| lines.with(vec![b'x'; 64 * 1024])).take(100);
        let longest = endless.flatten().map(|line| line.len()).max();
        assert_eq!(longest, Some(LINE_BYTES_MAX));
    }
}
