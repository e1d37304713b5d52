//! A history into sessions: every `start` and `reset` begins one, and ends the one before.

use std::collections::HashMap;
use std::io::{Read, Seek};

use ah_model::{Cause, SessionImport, Timestamp};

use super::history::{self, Entry, FILE, Marker, Rest};
use crate::lines::{Line, Lines};
use crate::raw_object::Moment;
use crate::unreadable::{Place, fingerprint, fingerprint_of};
use crate::writer::{AgentWriter, Raw, Stop};

/// How many sessions a history begins.
pub(super) fn count_sessions<R: Read + Seek>(lines: &mut Lines<R>) -> std::io::Result<u64> {
    let mut count = 0;
    while let Some(line) = lines.next()? {
        let held = lines.held(&line);
        let blank = held.is_some_and(history::is_blank);
        if !blank && (count == 0 || held.is_some_and(history::is_marker)) {
            count += 1;
        }
    }
    lines.rewind()?;
    Ok(count)
}

/// Gives the records of a history to a writer.
pub(super) struct Split<'w, 'a, 's> {
    pub(super) writer: &'w mut AgentWriter<'a, 's>,
    /// The agent's id, of which the sessions' are made.
    id: &'w str,
    /// The number of the session that the provider's id belongs to, and that id.
    inference: (u64, Option<String>),
    /// The number of the session.
    number: u64,
    /// How often a line was seen in the session.
    seen: HashMap<u64, u64>,
}

impl<'w, 'a, 's> Split<'w, 'a, 's> {
    pub(super) fn new(
        writer: &'w mut AgentWriter<'a, 's>,
        id: &'w str,
        inference: (u64, Option<String>),
    ) -> Self {
        Self { writer, id, inference, number: 0, seen: HashMap::new() }
    }

    /// Reads `lines` to their end.
    pub(super) async fn read<R: Read + Seek + Send>(
        &mut self,
        lines: &mut Lines<R>,
    ) -> Result<(), Stop> {
        let failed = |error| Stop::io(FILE, &error);
        while let Some(line) = lines.next().map_err(failed)? {
            match lines.held(&line) {
                Some(bytes) if history::is_blank(bytes) => self.writer.tally.records.blank += 1,
                Some(bytes) => self.line(line.number, bytes).await?,
                None => {
                    self.long_line(&line, lines).await?;
                    lines.resume().map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a session if there is none yet.
    pub(super) async fn ensure_session(&mut self, time: Option<Timestamp>) -> Result<(), Stop> {
        match self.number {
            0 => self.begin(time.unwrap_or(self.writer.time()), None).await,
            _ => Ok(()),
        }
    }

    async fn line(&mut self, number: u64, bytes: &[u8]) -> Result<(), Stop> {
        match history::read(bytes) {
            Entry::Marker(marker) => self.marker(number, bytes, marker).await,
            Entry::Record { kind, at, data } => {
                let time = self.time_of(number, at);
                self.ensure_session(time).await?;
                self.writer.note_record();
                let key = self.key(fingerprint(bytes));
                self.writer.push(&kind, data, key, time).await
            }
            Entry::Unreadable(reason) => self.unreadable(number, bytes, &reason).await,
        }
    }

    async fn unreadable(&mut self, number: u64, bytes: &[u8], reason: &str) -> Result<(), Stop> {
        self.ensure_session(None).await?;
        let key = self.key(fingerprint(bytes));
        let place = Place::new(FILE, Some(number), reason);
        self.writer.keep_raw(&place, Raw::<&[u8]>::Held(bytes), &key).await
    }

    /// Keeps a line that no event could hold in parts.
    async fn long_line<R: Read + Seek + Send>(
        &mut self,
        line: &Line,
        lines: &mut Lines<R>,
    ) -> Result<(), Stop> {
        let failed = |error| Stop::io(FILE, &error);
        self.ensure_session(None).await?;
        let input = lines.revisit(line).map_err(failed)?;
        let key = self.key(fingerprint_of(input, line.bytes).map_err(failed)?);
        let max = history::LINE_BYTES_MAX;
        let reason = format!("has {} bytes, at most {max} are allowed", line.bytes);
        let place = Place::new(FILE, Some(line.number), &reason);
        let input = lines.revisit(line).map_err(failed)?;
        self.writer.keep_raw(&place, Raw::Long(input, line.bytes), &key).await
    }

    async fn marker(&mut self, number: u64, bytes: &[u8], marker: Marker) -> Result<(), Stop> {
        self.writer.tally.records.markers += 1;
        let time = self.time_of(number, marker.at).unwrap_or(self.writer.time());
        self.begin(time, marker.message).await?;
        let Some(Rest { why, event }) = marker.rest else {
            return Ok(());
        };
        match event {
            Ok((kind, data)) => {
                let what = format!("kept as an event as well: {why}");
                self.writer.tally.remark(FILE, Some(number), what);
                let key = self.key(fingerprint(bytes));
                self.writer.push(&kind, data, key, Some(time)).await
            }
            Err(reason) => self.unreadable(number, bytes, &reason).await,
        }
    }

    async fn begin(&mut self, time: Timestamp, message: Option<String>) -> Result<(), Stop> {
        self.number += 1;
        self.seen.clear();
        let inference_session_id = match &self.inference {
            (number, id) if *number == self.number => id.clone(),
            _ => None,
        };
        let session = SessionImport {
            external_id: format!("{}/{}", self.id, self.number),
            cause: if self.number == 1 { Cause::Created } else { Cause::Reset },
            reset_message: message,
            inference_session_id,
            created_at: time,
            ended_at: None,
            events: Vec::new(),
        };
        self.writer.begin(session, Some(time)).await
    }

    /// The time that a line says; what is wrong with it is remarked.
    fn time_of(&mut self, number: u64, at: Moment) -> Option<Timestamp> {
        match at {
            Moment::Exact(time) => self.writer.note_time(time),
            Moment::Rounded(time) => {
                self.writer.note_time(time);
                let what = "at: no whole number of milliseconds, rounded down and kept";
                self.writer.tally.remark(FILE, Some(number), what);
            }
            Moment::Absent => {
                self.writer.tally.records.untimed += 1;
                let what = "at: no time, that of the record before is taken";
                self.writer.tally.remark(FILE, Some(number), what);
            }
        }
        at.time()
    }

    /// The key of a line: the same line again in a session is another event.
    fn key(&mut self, fingerprint: u64) -> String {
        let times = self.seen.entry(fingerprint).or_default();
        *times += 1;
        match *times {
            1 => format!("{fingerprint:016x}"),
            times => format!("{fingerprint:016x}#{times}"),
        }
    }
}
