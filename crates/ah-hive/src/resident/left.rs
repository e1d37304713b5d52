//! The program of a turn, on record as long as it runs. A loop that is killed leaves it running: the
//! next loop ends it, with all of its group, before anybody else gets its message.
//!
//! A number alone says nothing, since numbers are given again. A process is known by its number, its
//! start and the machine's start, or by its environment, which names the hand-out that it is for. The
//! hand-out is on record before the program begins and its number after, so that there is no moment
//! in which a program runs that cannot be found. The record is out of reach of the agent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use ah_model::{Message, MessageId};
use ah_process::{Born, Process};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ResidentError;
use crate::Home;

/// Most that a record holds.
const RECORD_BYTES_MAX: u64 = 4 * 1024;

/// The environment's names for the hand-out of a message.
pub(super) const MESSAGE_ID: &str = "AH_MESSAGE_ID";
pub(super) const MESSAGE_DELIVERY: &str = "AH_MESSAGE_DELIVERY";

/// The record of one agent's program.
#[derive(Debug)]
pub(super) struct Record {
    path: PathBuf,
}

/// What a program is for: there is no other one with the same.
#[derive(Debug, Serialize, Deserialize)]
struct Handout {
    message: MessageId,
    delivery: u64,
}

/// A program on record.
#[derive(Debug)]
struct Program {
    handout: Handout,
    /// Absent if the loop ended before it could say.
    born: Option<Born>,
}

impl Record {
    /// The record of who has that home.
    pub(super) fn of(home: &Home) -> Result<Self, ResidentError> {
        Ok(Self { path: home.make_running()?.path().join(home.name()) })
    }

    /// A program for `message` is about to begin.
    pub(super) fn begin(&self, message: &Message) -> io::Result<()> {
        let handout = Handout { message: message.id.clone(), delivery: message.deliveries };
        let mut file = ah_process::open_private(&self.path)?;
        file.set_len(0)?;
        append(&mut file, &handout)
    }

    /// It began, as the process of that number.
    pub(super) fn begun(&self, process: u32) -> io::Result<()> {
        match ah_process::born(process) {
            Some(born) => append(&mut File::options().append(true).open(&self.path)?, &born),
            // Nobody can say so here; it is known by its environment.
            None => Ok(()),
        }
    }

    /// It ended.
    pub(super) fn ended(&self) {
        // What is on record and does not run is no harm.
        let _ = std::fs::remove_file(&self.path);
    }

    /// Ends what a loop before this one left, if it still runs; its processes.
    pub(super) fn end_left(&self) -> Result<Vec<u32>, ResidentError> {
        let failed = |operation| {
            let path = self.path.clone();
            move |source| ResidentError::File { operation, path, source }
        };
        let Some(left) = self.read().map_err(failed("read"))? else {
            return Ok(Vec::new());
        };
        let found = ah_process::end_all(|| left.processes());
        let found = found.map_err(|process| ResidentError::Left { process: process.id })?;
        self.ended();
        Ok(found.iter().map(|process| process.id).collect())
    }

    fn read(&self) -> io::Result<Option<Program>> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(RECORD_BYTES_MAX).read_to_string(&mut text)?;
        let mut lines = text.lines();
        let handout = lines.next().and_then(read);
        Ok(handout.map(|handout| Program { handout, born: lines.next().and_then(read) }))
    }
}

/// One line, in one write: it is there or not.
fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    file.write_all(format!("{}\n", serde_json::to_string(line)?).as_bytes())
}

fn read<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

impl Program {
    /// All of its group that live.
    fn processes(&self) -> Vec<Process> {
        let all = ah_process::all();
        let groups: Vec<u32> =
            all.iter().filter(|one| self.is_of(one)).map(|one| one.group).collect();
        all.into_iter().filter(|one| one.lives && groups.contains(&one.group)).collect()
    }

    /// Whether a process says by itself that it is of this program. Others of its group need not:
    /// a program may clean the environment of what it starts.
    fn is_of(&self, one: &Process) -> bool {
        match &self.born {
            Some(born) if one.id == born.id => one.start == born.start && born.is_of_this_boot(),
            // The head of the group may be gone, so that only others are left.
            Some(born) => one.group == born.id && self.is_named_by(one),
            None => one.group == one.id && self.is_named_by(one),
        }
    }

    fn is_named_by(&self, one: &Process) -> bool {
        one.has(&[
            (MESSAGE_ID, self.handout.message.as_str()),
            (MESSAGE_DELIVERY, &self.handout.delivery.to_string()),
        ])
    }
}
