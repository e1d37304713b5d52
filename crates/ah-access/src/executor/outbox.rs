//! What an executor has to report, on its own disk until the access point has kept it.
//!
//! Items are numbered from 1 without gaps and are durable before an append is answered; only durable
//! items are given out. Many callers share a sync. An item that was written when the process was
//! killed, and not answered, is either there whole or not at all.
//!
//! A directory of our own: `id.json` (which outbox this is, and after which item it begins), `*.items` (see `segment`),
//! `forgotten` (how far the access point has kept it), `refused.jsonl` (what it never will keep),
//! `*.torn` (what was cut off a file when it was opened). One process at a time, by a lock that dies
//! with it.

mod segment;

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use ah_model::{Invalid, Lease, OutboxId, RunId, SessionId, Timestamp};
use ah_process::{Lock, LockError};
use serde::{Deserialize, Serialize};

use self::segment::{Records, Segment, Tail};
use super::program::ProgramId;
use crate::file::{self, FileError};
use crate::frame::{Body, FrameKind, Happened, Report, ReportItem, ReportRefusal};

const ID: &str = "id.json";
const LOCK: &str = "lock";
const FORGOTTEN: &str = "forgotten";
const REFUSED: &str = "refused.jsonl";
const REFUSED_BEFORE: &str = "refused.1.jsonl";
/// What a report has besides its items.
const REPORT_BYTES: usize = 1_024;
/// A file whose items are all forgotten is left for a new one from here on.
const WORN_BYTES: u64 = 256 * 1024;

/// How much an outbox holds.
#[derive(Debug, Clone)]
pub struct OutboxOptions {
    /// Most bytes of items that wait. That a run began or ended may still be said in an eighth more:
    /// its output must not keep its end out.
    pub bytes_max: u64,
    /// A file that is longer is followed by a new one.
    pub segment_bytes_max: u64,
    /// `refused.jsonl` is moved aside when it is longer; the one moved aside before goes.
    pub refused_bytes_max: u64,
    /// Called after each step of a write: where tests end the process.
    pub steps: fn(Step),
}

impl Default for OutboxOptions {
    fn default() -> Self {
        Self {
            bytes_max: 256 * 1024 * 1024,
            segment_bytes_max: 8 * 1024 * 1024,
            refused_bytes_max: 64 * 1024 * 1024,
            steps: |_| {},
        }
    }
}

/// A step of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The first file is there, the outbox has no id yet.
    FirstSegment,
    /// The outbox has its id.
    Identity,
    /// Items are written and not yet synced.
    Written,
    /// Items are synced, and nobody has been told.
    Synced,
    /// A new file was begun.
    Rotated,
    /// Refused items are kept.
    Refused,
    /// It is noted what is forgotten, and nothing is removed yet.
    Noted,
    /// Files that are not needed are gone.
    Removed,
}

impl Step {
    /// Every one.
    pub const ALL: [Self; 8] = [
        Self::FirstSegment,
        Self::Identity,
        Self::Written,
        Self::Synced,
        Self::Rotated,
        Self::Refused,
        Self::Noted,
        Self::Removed,
    ];
}

/// Something to report, before it has a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The run.
    pub run_id: RunId,
    /// The epoch of its claim.
    pub epoch: u64,
    /// The session.
    pub session_id: SessionId,
    /// Unique in the session.
    pub dedup_key: String,
    /// When it happened.
    pub at: Timestamp,
    /// What happened.
    pub what: Happened,
}

impl Draft {
    /// What happened to a program. Its key is the same whenever the same is said again.
    pub(super) fn of(
        program: &ProgramId,
        session_id: SessionId,
        at: Timestamp,
        what: Happened,
    ) -> Self {
        let word = match &what {
            Happened::Started {} => "started",
            Happened::Event { kind, .. } => kind,
            Happened::Ended(_) => "ended",
        };
        let dedup_key = format!("{}/{word}", program.prefix());
        let Lease { run_id, epoch } = program.lease.clone();
        Self { run_id, epoch, session_id, dedup_key, at, what }
    }

    /// With its number.
    pub fn numbered(self, seq: u64) -> ReportItem {
        let Self { run_id, epoch, session_id, dedup_key, at, what } = self;
        ReportItem { seq, run_id, epoch, session_id, dedup_key, at, what }
    }
}

/// What was cut off a file when it was opened: it was being written when the process ended, and
/// nobody was told that it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The number of the first item that is not whole; the next item gets it.
    pub next_seq: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Where they are now.
    pub kept: PathBuf,
}

/// Why an outbox does not do something.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another process uses it.
    #[error("the outbox {} is used by {holder}; one executor at a time", directory.display())]
    Held {
        /// The outbox.
        directory: PathBuf,
        /// Who.
        holder: String,
    },
    /// An item that no access point would take.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// It holds all that it may.
    #[error("the outbox holds {bytes} bytes of {bytes_max}, and {more} more do not fit")]
    Full {
        /// What waits.
        bytes: u64,
        /// What may wait.
        bytes_max: u64,
        /// What was to be added.
        more: u64,
    },
    /// What was written is not there any more as it was.
    #[error(
        "{} is damaged at byte {offset}; move its directory away to begin a new outbox, \
         what it holds is not reported then",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: u64,
    },
    /// The disk failed in a way that leaves unknown what is durable. Open it again.
    #[error("the outbox must be opened again: {reason}")]
    Broken {
        /// What happened.
        reason: String,
    },
    /// Somebody says to have kept what was never given out.
    #[error("item {through} cannot be forgotten: the newest is {last}")]
    Ahead {
        /// Up to where.
        through: u64,
        /// What there is.
        last: u64,
    },
}

/// The outbox of an executor.
#[derive(Debug)]
pub struct Outbox {
    directory: PathBuf,
    options: OutboxOptions,
    state: Mutex<State>,
    synced: Condvar,
    _lock: Lock,
}

#[derive(Debug)]
struct State {
    /// Never empty; the last one is written to.
    segments: VecDeque<Segment>,
    /// Bytes of the items that wait.
    pending_bytes: u64,
    /// Up to here items are kept elsewhere.
    forgotten: u64,
    /// Up to here items are durable.
    durable: u64,
    is_syncing: bool,
    broken: Option<String>,
    forgotten_file: File,
    identity: Identity,
}

/// `id.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Identity {
    id: OutboxId,
    /// The items behind this one are the outbox's: the next has the number 1 for others.
    #[serde(default)]
    base: u64,
}

/// A line of `refused.jsonl`.
#[derive(Debug, Serialize)]
struct Refused<'a> {
    #[serde(flatten)]
    refusal: &'a ReportRefusal,
    /// Absent if it was forgotten before.
    item: Option<ReportItem>,
}

impl Outbox {
    /// Opens the outbox in `directory` for `holder`, or begins one with a new id where there is none.
    pub fn open(
        directory: &Path,
        options: OutboxOptions,
        holder: &str,
        new_id: impl FnOnce() -> OutboxId,
    ) -> Result<(Self, Option<Cut>), OutboxError> {
        file::make_private_dir(directory)?;
        let lock = Lock::take(&directory.join(LOCK), holder).map_err(|error| match error {
            LockError::Held { holder } => {
                OutboxError::Held { directory: directory.to_owned(), holder }
            }
            LockError::File { operation, source } => {
                FileError::io(operation, &directory.join(LOCK), source).into()
            }
        })?;
        let identity = identity(directory, options.steps, new_id)?;
        let (state, cut) = State::read(directory, identity)?;
        let directory = directory.to_owned();
        let (state, synced) = (Mutex::new(state), Condvar::new());
        Ok((Self { directory, options, state, synced, _lock: lock }, cut))
    }

    /// Names this outbox: another one numbers its items anew.
    pub fn id(&self) -> OutboxId {
        self.state().identity.id.clone()
    }

    /// The item before the first of this outbox, 0 if there never was another here: numbers that
    /// others are told count from it.
    pub fn base(&self) -> u64 {
        self.state().identity.base
    }

    /// Begins another outbox with what is not forgotten; its base. For one whose files are older than
    /// what an access point has of it: new items would have numbers that are taken.
    pub fn begin_another(&self, id: OutboxId) -> Result<u64, OutboxError> {
        let mut state = self.state();
        state.check()?;
        let identity = Identity { id, base: state.forgotten };
        identity.write(&self.directory)?;
        state.identity = identity;
        Ok(state.identity.base)
    }

    /// The number of the newest durable item, 0 for none.
    pub fn last_seq(&self) -> u64 {
        self.state().durable
    }

    /// Up to here items are forgotten.
    pub fn forgotten(&self) -> u64 {
        self.state().forgotten
    }

    /// Bytes of the items that wait.
    pub fn pending_bytes(&self) -> u64 {
        self.state().pending_bytes
    }

    /// Numbers items and returns their numbers once all of them are durable.
    pub fn append(&self, drafts: Vec<Draft>) -> Result<RangeInclusive<u64>, OutboxError> {
        let mut state = self.state();
        let written = self.write(&mut state, drafts)?;
        (self.options.steps)(Step::Written);
        self.sync(state, *written.end())?;
        (self.options.steps)(Step::Synced);
        Ok(written)
    }

    fn write(
        &self,
        state: &mut State,
        drafts: Vec<Draft>,
    ) -> Result<RangeInclusive<u64>, OutboxError> {
        state.check()?;
        let may_use_reserve =
            drafts.iter().all(|draft| !matches!(draft.what, Happened::Event { .. }));
        let first = state.next();
        let records = records(&state.identity.id, first, drafts)?;
        let bytes_max = self.options.bytes_max;
        let room = bytes_max + if may_use_reserve { bytes_max / 8 } else { 0 };
        let (bytes, more) = (state.pending_bytes, records.len());
        if bytes.saturating_add(more) > room {
            return Err(OutboxError::Full { bytes, bytes_max, more });
        }
        state.rotate_if(self, |segment| segment.bytes() >= self.options.segment_bytes_max)?;
        state.append(&records)?;
        state.pending_bytes += more;
        Ok(first..=state.next() - 1)
    }

    /// Waits until `seq` is durable. One of those who wait syncs for all.
    fn sync<'a>(&'a self, mut state: MutexGuard<'a, State>, seq: u64) -> Result<(), OutboxError> {
        while state.durable < seq {
            state.check()?;
            if state.is_syncing {
                state = self.synced.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let (through, file) = (state.next() - 1, state.file());
            state.is_syncing = true;
            drop(state);
            let done = file.map(|file| file.sync_data()).transpose();
            state = self.state();
            state.is_syncing = false;
            match done {
                Ok(_) => state.durable = state.durable.max(through),
                // What a failed sync left durable, nobody knows; the next sync would not say.
                Err(error) => state.broken = Some(format!("cannot sync: {error}")),
            }
            self.synced.notify_all();
        }
        Ok(())
    }

    /// Items after the number `after` that are not forgotten: at most `items_max`, and no more than
    /// `bytes_max` unless the first alone has more.
    pub fn pending(
        &self,
        after: u64,
        items_max: usize,
        bytes_max: u64,
    ) -> Result<Vec<ReportItem>, OutboxError> {
        let state = self.state();
        let first = after.max(state.forgotten) + 1;
        let last = first.saturating_add(items_max as u64).min(state.durable + 1);
        let (mut stretches, mut room) = (Vec::new(), bytes_max);
        for segment in state.segments.iter().filter(|segment| segment.next() > first) {
            let from = first.max(segment.first());
            let fits = |to: &u64| segment.bytes_between(from, *to) <= room;
            let whole = (from..last.min(segment.next())).take_while(fits).last();
            // One item is given in any case: there is no smaller report.
            let alone = Some(from).filter(|from| stretches.is_empty() && *from < last);
            let Some(to) = whole.or(alone) else { break };
            room = room.saturating_sub(segment.bytes_between(from, to));
            stretches.push(segment.stretch(from, to));
            if to + 1 < segment.next() {
                break;
            }
        }
        drop(state);
        let read = stretches.iter().map(|stretch| stretch.items());
        Ok(read.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Forgets items up to `through`, which are kept elsewhere or refused for ever. A crash may bring
    /// some of them back: they are sent again, and change nothing.
    pub fn forget(&self, through: u64) -> Result<(), OutboxError> {
        let mut state = self.state();
        if through > state.durable {
            return Err(OutboxError::Ahead { through, last: state.durable });
        }
        if through <= state.forgotten {
            return Ok(());
        }
        let from = state.forgotten + 1;
        let bytes = state.segments.iter().filter(|segment| segment.next() > from);
        let bytes = bytes.map(|segment| segment.bytes_between(from, through)).sum::<u64>();
        state.pending_bytes = state.pending_bytes.saturating_sub(bytes);
        state.forgotten = through;
        state.note_forgotten(&self.directory)?;
        (self.options.steps)(Step::Noted);
        if state.next() == through + 1 {
            state.rotate_if(self, |segment| segment.bytes() >= WORN_BYTES)?;
        }
        state.remove_forgotten()?;
        (self.options.steps)(Step::Removed);
        Ok(())
    }

    /// Keeps items that are refused for ever in a file of their own, durably. To be called before they
    /// are forgotten; a crash between the two may write them twice.
    pub fn refuse(&self, refusals: &[ReportRefusal]) -> Result<(), OutboxError> {
        let mut lines = Vec::new();
        for refusal in refusals {
            let found = self.pending(refusal.seq.saturating_sub(1), 1, 0)?;
            let item = found.into_iter().next().filter(|item| item.seq == refusal.seq);
            let line = serde_json::to_vec(&Refused { refusal, item });
            lines.extend(line.map_err(|error| Invalid::new("refused", error.to_string()))?);
            lines.push(b'\n');
        }
        // One at a time: a line is never inside another.
        let _alone = self.state();
        let path = self.directory.join(REFUSED);
        let failed = |error| FileError::io("write", &path, error);
        let mut file = ah_process::open_private(&path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() >= self.options.refused_bytes_max {
            std::fs::rename(&path, self.directory.join(REFUSED_BEFORE)).map_err(failed)?;
            file = ah_process::open_private(&path).map_err(failed)?;
        }
        std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).map_err(failed)?;
        file.write_all(&lines).and_then(|()| file.sync_all()).map_err(failed)?;
        file::sync_dir(&self.directory)?;
        (self.options.steps)(Step::Refused);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn read(directory: &Path, identity: Identity) -> Result<(Self, Option<Cut>), OutboxError> {
        let found = segments(directory)?;
        let newest = found.last().map(|(first, _)| *first);
        let (mut opened, mut cut) = (VecDeque::new(), None);
        for (first, path) in found {
            let tail = if Some(first) == newest { Tail::MayBeTorn } else { Tail::Whole };
            let gap = opened.back().is_some_and(|before: &Segment| before.next() != first);
            if gap {
                return Err(OutboxError::Damaged { path, offset: 0 });
            }
            let (segment, torn) = Segment::open(path, first, tail)?;
            opened.push_back(segment);
            cut = torn;
        }
        let path = directory.join(FORGOTTEN);
        let forgotten_file = ah_process::open_private(&path);
        let forgotten_file = forgotten_file.map_err(|error| FileError::io("open", &path, error))?;
        let mut state = Self {
            segments: opened,
            pending_bytes: 0,
            forgotten: 0,
            durable: 0,
            is_syncing: false,
            broken: None,
            forgotten_file,
            identity,
        };
        state.settle(directory)?;
        Ok((state, cut))
    }

    /// What the files say together. All that was found is durable from here on.
    fn settle(&mut self, directory: &Path) -> Result<(), OutboxError> {
        let Some(first) = self.segments.front().map(Segment::first) else {
            return Err(OutboxError::Damaged { path: directory.join(ID), offset: 0 });
        };
        if let Some(file) = self.file() {
            let synced = file.sync_all();
            synced.map_err(|error| FileError::io("sync", directory, error))?;
        }
        self.durable = self.next() - 1;
        let noted = read_forgotten(&self.forgotten_file).unwrap_or_default();
        let begun = first.saturating_sub(1).max(self.identity.base);
        self.forgotten = noted.max(begun).min(self.durable);
        let from = self.forgotten + 1;
        let waiting = self.segments.iter().filter(|segment| segment.next() > from);
        self.pending_bytes =
            waiting.map(|segment| segment.bytes_between(from, segment.next())).sum();
        self.remove_forgotten()
    }

    fn check(&self) -> Result<(), OutboxError> {
        match &self.broken {
            Some(reason) => Err(OutboxError::Broken { reason: reason.clone() }),
            None => Ok(()),
        }
    }

    /// The number of the next item.
    fn next(&self) -> u64 {
        self.segments.back().map_or(1, Segment::next)
    }

    fn file(&self) -> Option<std::sync::Arc<File>> {
        self.segments.back().map(Segment::file)
    }

    fn append(&mut self, records: &Records) -> Result<(), OutboxError> {
        let Some(newest) = self.segments.back_mut() else {
            return Err(OutboxError::Broken { reason: "it has no file".to_owned() });
        };
        newest.append(records).inspect_err(|error| {
            if let OutboxError::Broken { reason } = error {
                self.broken = Some(reason.clone());
            }
        })
    }

    /// Begins a new file after the newest, which is made durable first, if that is `worn`.
    fn rotate_if(
        &mut self,
        outbox: &Outbox,
        worn: impl FnOnce(&Segment) -> bool,
    ) -> Result<(), OutboxError> {
        let Some(newest) = self.segments.back().filter(|newest| worn(newest)) else {
            return Ok(());
        };
        if let Err(error) = newest.file().sync_data() {
            let reason = format!("cannot sync: {error}");
            self.broken = Some(reason.clone());
            return Err(OutboxError::Broken { reason });
        }
        self.durable = self.next() - 1;
        let segment = Segment::create(&outbox.directory, self.next())?;
        self.segments.push_back(segment);
        outbox.synced.notify_all();
        (outbox.options.steps)(Step::Rotated);
        Ok(())
    }

    fn note_forgotten(&self, directory: &Path) -> Result<(), OutboxError> {
        use std::os::unix::fs::FileExt;
        let number = self.forgotten.to_be_bytes();
        let bytes = [number, number.map(|byte| !byte)].concat();
        let written = self.forgotten_file.write_all_at(&bytes, 0);
        let path = directory.join(FORGOTTEN);
        Ok(written.map_err(|error| FileError::io("write", &path, error))?)
    }

    /// Removes files of which nothing waits; the newest stays and says which number is next.
    fn remove_forgotten(&mut self) -> Result<(), OutboxError> {
        let is_done = |segment: &Segment| segment.next() <= self.forgotten + 1;
        while self.segments.len() > 1 && self.segments.front().is_some_and(is_done) {
            if let Some(segment) = self.segments.pop_front() {
                segment.remove()?;
            }
        }
        Ok(())
    }
}

fn records(id: &OutboxId, first: u64, drafts: Vec<Draft>) -> Result<Records, OutboxError> {
    if drafts.is_empty() {
        return Err(Invalid::new("items", "must not be empty").into());
    }
    let mut records = Records::default();
    for (draft, seq) in drafts.into_iter().zip(first..) {
        // One that an access point refuses would keep all others behind it for ever.
        let report = Report { outbox_id: id.clone(), items: vec![draft.numbered(seq)] };
        report.check()?;
        for item in &report.items {
            records.push(&encoded(item)?);
        }
    }
    Ok(records)
}

fn encoded(item: &ReportItem) -> Result<Vec<u8>, Invalid> {
    let body = serde_json::to_vec(item);
    let body = body.map_err(|error| Invalid::new("items", error.to_string()))?;
    let most = FrameKind::Report.body_bytes_max() - REPORT_BYTES;
    match body.len() > most {
        true => {
            let reason = format!("{} bytes, at most {most} are allowed", body.len());
            Err(Invalid::new("items", reason))
        }
        false => Ok(body),
    }
}

/// The number and its complement: a torn one is none.
fn read_forgotten(file: &File) -> Option<u64> {
    use std::os::unix::fs::FileExt;
    let (mut number, mut inverse) = ([0; 8], [0; 8]);
    file.read_exact_at(&mut number, 0).ok()?;
    file.read_exact_at(&mut inverse, 8).ok()?;
    (number == inverse.map(|byte: u8| !byte)).then(|| u64::from_be_bytes(number))
}

/// The files of items, oldest first.
fn segments(directory: &Path) -> Result<Vec<(u64, PathBuf)>, OutboxError> {
    let failed = |error| FileError::io("list", directory, error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        found.extend(Segment::first_of(&path).map(|first| (first, path)));
    }
    found.sort_unstable();
    Ok(found)
}

impl Identity {
    fn write(&self, directory: &Path) -> Result<(), OutboxError> {
        let bytes = serde_json::to_vec(self);
        let bytes = bytes.map_err(|error| Invalid::new("id", error.to_string()))?;
        Ok(file::replace(&directory.join(ID), &bytes, file::Access::Private)?)
    }
}

/// Which outbox this is. The first file is there before the id: an id without files is one whose
/// files were taken away, and its numbers must not begin again.
fn identity(
    directory: &Path,
    steps: fn(Step),
    new_id: impl FnOnce() -> OutboxId,
) -> Result<Identity, OutboxError> {
    let path = directory.join(ID);
    match file::read_private(&path) {
        Ok(bytes) => {
            let read: Result<Identity, _> = serde_json::from_slice(&bytes);
            read.map_err(|_| OutboxError::Damaged { path, offset: 0 })
        }
        Err(error) if error.is_missing() => {
            match segments(directory)?.as_slice() {
                [] => drop(Segment::create(directory, 1)?),
                [(1, _)] => {}
                _ => return Err(OutboxError::Damaged { path, offset: 0 }),
            }
            steps(Step::FirstSegment);
            let identity = Identity { id: new_id(), base: 0 };
            identity.write(directory)?;
            steps(Step::Identity);
            Ok(identity)
        }
        Err(error) => Err(error.into()),
    }
}
