//! Events from stdin, one a line, acknowledged batch by batch.
//!
//! A thread reads lines ahead while the batch before is being made durable: a slow writer of lines
//! gets each one acknowledged at once, a fast one shares transactions.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use ah_model::{Appended, Invalid, NewEvent, limits};

use crate::app::App;
use crate::error::{CommandError, Exit};

const LINES_AHEAD: usize = 4_096;
const BYTES_AHEAD: usize = 32 * 1024 * 1024;
const BATCH_EVENTS: usize = 1_024;
const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// An event's payload may be escaped in its line: at most six bytes for one.
const LINE_BYTES_MAX: usize = 6 * limits::EVENT_DATA_BYTES_MAX;

/// What makes a batch durable.
type Append<'a> = &'a dyn Fn(Vec<NewEvent>) -> Result<Appended, CommandError>;

/// A line and its number, read as an event or refused.
struct Line {
    number: u64,
    bytes: usize,
    event: Result<NewEvent, Invalid>,
}

pub(super) fn run(app: &App, strict: bool, append: Append<'_>) -> Result<(), CommandError> {
    let (sender, lines) = sync_channel(LINES_AHEAD);
    let ahead = Arc::new(Ahead::default());
    let of_reader = Arc::clone(&ahead);
    // The thread ends with stdin or with the channel; the process does not wait for it.
    std::thread::spawn(move || read_lines(&mut io::stdin().lock(), &sender, &of_reader));
    let mut refused = 0_u64;
    while let Some(batch) = next_batch(&lines) {
        ahead.taken(batch.iter().map(|line| line.bytes).sum());
        let mut events = Vec::with_capacity(batch.len());
        for line in batch {
            match line.event {
                Ok(event) => events.push(event),
                Err(error) => {
                    let error = refusal(line.number, error);
                    if strict {
                        acknowledge(app, append, events)?;
                        return Err(error);
                    }
                    app.output.error(&error);
                    refused += 1;
                }
            }
        }
        acknowledge(app, append, events)?;
    }
    match refused {
        0 => Ok(()),
        1 => Err(CommandError::new(Exit::Failed, "1 line was refused, the others were appended")),
        _ => {
            let message = format!("{refused} lines were refused, the others were appended");
            Err(CommandError::new(Exit::Failed, message))
        }
    }
}

fn acknowledge(app: &App, append: Append<'_>, events: Vec<NewEvent>) -> Result<(), CommandError> {
    if events.is_empty() {
        return Ok(());
    }
    app.output.json(&append(events)?)
}

fn refusal(number: u64, invalid: Invalid) -> CommandError {
    let mut error = CommandError::from(invalid);
    error.problem.detail = format!("line {number}: {}", error.problem.detail);
    error
}

/// How many bytes were read and not yet taken, so that long lines do not fill the memory.
#[derive(Default)]
struct Ahead {
    bytes: Mutex<usize>,
    fell: Condvar,
}

impl Ahead {
    /// Counts a line that was read, once there is room for more.
    fn read(&self, bytes: usize) {
        let held = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let full = |held: &mut usize| *held >= BYTES_AHEAD;
        let mut held = self.fell.wait_while(held, full).unwrap_or_else(PoisonError::into_inner);
        *held += bytes;
    }

    fn taken(&self, bytes: usize) {
        *self.bytes.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
        self.fell.notify_one();
    }
}

/// Waits for a line and takes those that are there already; nothing at the end of stdin.
fn next_batch(lines: &Receiver<Line>) -> Option<Vec<Line>> {
    let first = lines.recv().ok()?;
    let mut bytes = first.bytes;
    let mut batch = vec![first];
    while batch.len() < BATCH_EVENTS && bytes < BATCH_BYTES {
        let Ok(line) = lines.try_recv() else { break };
        bytes += line.bytes;
        batch.push(line);
    }
    Some(batch)
}

fn read_lines(input: &mut dyn BufRead, sender: &SyncSender<Line>, ahead: &Ahead) {
    let mut number = 0;
    let mut text = Vec::new();
    loop {
        text.clear();
        let limit = LINE_BYTES_MAX as u64 + 1;
        match Read::take(&mut *input, limit).read_until(b'\n', &mut text) {
            Ok(0) => return,
            Ok(_) => number += 1,
            Err(error) => {
                let event = Err(Invalid::new("stdin", error.to_string()));
                let _ = sender.send(Line { number: number + 1, bytes: 0, event });
                return;
            }
        }
        if text.len() > LINE_BYTES_MAX && !text.ends_with(b"\n") && skip_line(input).is_err() {
            return;
        }
        let line = text.strip_suffix(b"\n").unwrap_or(&text);
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let line = Line { number, bytes: line.len(), event: parse(line) };
        ahead.read(line.bytes);
        if sender.send(line).is_err() {
            return;
        }
    }
}

fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (used, ended) = match buffer.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(used);
        if ended {
            return Ok(());
        }
    }
}

fn parse(line: &[u8]) -> Result<NewEvent, Invalid> {
    if line.len() > LINE_BYTES_MAX {
        return Err(Invalid::new("event", format!("more than {LINE_BYTES_MAX} bytes")));
    }
    let event: NewEvent =
        serde_json::from_slice(line).map_err(|error| Invalid::new("event", error.to_string()))?;
    event.check().map(|()| event)
}
