//! Reads the lines of a file on a thread of its own, ahead of who gives them to the store: reading
//! and checking JSON costs about as much as writing it.
//!
//! A bounded number of lines waits. The thread ends with the file, or when nobody takes its lines.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use ah_model::limits::EVENT_DATA_BYTES_MAX;
use ah_model::{NewEvent, RawJson};

use super::position::Position;
use crate::agent::json;
use crate::lines::{Line, Lines};
use crate::transcript::SourceFile;

/// Lines that go over at once, and their bytes; and how many such lots wait.
const LOT_LINES: usize = 512;
const LOT_BYTES: u64 = 1024 * 1024;
const LOTS: usize = 2;

/// A line, and where the next one begins.
pub(super) struct ReadLine {
    pub(super) line: Line,
    pub(super) end: (u64, u64),
    pub(super) content: Content,
}

/// What a line holds.
pub(crate) enum Content {
    Blank,
    Json(RawJson),
    /// Bytes that can be no event, and why.
    Bad(Vec<u8>, String),
    /// More bytes than an event holds.
    Long,
}

type Lot = io::Result<Vec<ReadLine>>;

/// The lines of a file from a position on, without one that has no end yet.
pub(super) struct Ahead {
    lots: Receiver<Lot>,
    lot: std::vec::IntoIter<ReadLine>,
}

impl Ahead {
    pub(super) fn start(file: &SourceFile, position: &Position) -> io::Result<Self> {
        let input = File::open(&file.path)?;
        let place = (position.offset, position.line);
        let mut lines = Lines::resume_at(input, place, file.bytes, EVENT_DATA_BYTES_MAX)?;
        let (sender, lots) = sync_channel(LOTS);
        let name = "transcript".to_owned();
        thread::Builder::new().name(name).spawn(move || send(&mut lines, &sender))?;
        Ok(Self { lots, lot: Vec::new().into_iter() })
    }

    /// The next line.
    pub(super) fn next(&mut self) -> io::Result<Option<ReadLine>> {
        loop {
            if let Some(line) = self.lot.next() {
                return Ok(Some(line));
            }
            match self.lots.recv() {
                Ok(lot) => self.lot = lot?.into_iter(),
                Err(_) => return Ok(None),
            }
        }
    }
}

fn send(lines: &mut Lines<File>, lots: &SyncSender<Lot>) {
    loop {
        let lot = read(lines);
        let is_last = lot.as_ref().map_or(true, Vec::is_empty);
        if lots.send(lot).is_err() || is_last {
            return;
        }
    }
}

fn read(lines: &mut Lines<File>) -> Lot {
    let (mut lot, mut bytes) = (Vec::new(), 0);
    while lot.len() < LOT_LINES && bytes < LOT_BYTES {
        let Some(line) = lines.next()?.filter(|line| line.ended) else { break };
        bytes += line.bytes;
        let content = match lines.held(&line).map_or(Content::Long, content) {
            // Here it costs the store no time.
            Content::Json(json) => Content::Json(json.looked_through()),
            other => other,
        };
        lot.push(ReadLine { line, end: lines.place(), content });
    }
    Ok(lot)
}

/// What the bytes of a line hold.
pub(crate) fn content(bytes: &[u8]) -> Content {
    if bytes.trim_ascii().is_empty() {
        return Content::Blank;
    }
    match json(bytes).and_then(fitting) {
        Ok(json) => Content::Json(json),
        Err(reason) => Content::Bad(bytes.to_vec(), reason),
    }
}

/// `json`, or why it cannot be an event.
pub(super) fn fitting(json: RawJson) -> Result<RawJson, String> {
    let event = NewEvent { kind: "line".to_owned(), data: json, dedup_key: None, ts: None };
    match event.check() {
        Ok(()) => Ok(event.data),
        Err(invalid) => Err(invalid.to_string()),
    }
}
