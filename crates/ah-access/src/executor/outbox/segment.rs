//! One file of an outbox: records one after the other, each with its length and a checksum.
//!
//! A file begins with [`MAGIC`]. A record is the length of its body (4 bytes, big endian), a checksum
//! of length and body (8 bytes of SHA-256) and the body, an item as JSON. Its name is the number of
//! its first item, so that an empty file still says which number comes next.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Cut, OutboxError};
use crate::file::{self, FileError};
use crate::frame::ReportItem;

const MAGIC: &[u8; 8] = b"ahoutbx1";
const EXTENSION: &str = "items";
const SUM_BYTES: usize = 8;
/// Length and checksum.
const HEAD_BYTES: usize = 4 + SUM_BYTES;

/// Whether the end of a file may be broken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// The newest file: what was being written when the process ended.
    MayBeTorn,
    /// The next file was begun after this one was durable.
    Whole,
}

/// One file of an outbox.
#[derive(Debug)]
pub(super) struct Segment {
    path: PathBuf,
    file: Arc<File>,
    first: u64,
    /// Where each record begins.
    starts: Vec<u64>,
    bytes: u64,
}

impl Segment {
    /// Begins a file whose first item will have the number `first`.
    pub(super) fn create(directory: &Path, first: u64) -> Result<Self, OutboxError> {
        let path = directory.join(format!("{first:020}.{EXTENSION}"));
        file::create(&path, MAGIC, file::Access::Private)?;
        let file = Arc::new(open(&path)?);
        Ok(Self { path, file, first, starts: Vec::new(), bytes: MAGIC.len() as u64 })
    }

    /// The number of the first item of the file at `path`, if it is one of ours.
    pub(super) fn first_of(path: &Path) -> Option<u64> {
        let is_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        path.file_stem().filter(|_| is_ours)?.to_str()?.parse().ok()
    }

    /// Opens a file, and cuts what is broken off at its end; the bytes that were cut are kept beside.
    pub(super) fn open(
        path: PathBuf,
        first: u64,
        tail: Tail,
    ) -> Result<(Self, Option<Cut>), OutboxError> {
        let file = open(&path)?;
        let content = content(&file).map_err(|error| FileError::io("read", &path, error))?;
        let (starts, end) = scan(&content);
        let mut opened =
            Self { path, file: Arc::new(file), first, starts, bytes: content.len() as u64 };
        if end == Some(content.len()) {
            return Ok((opened, None));
        }
        let end = end.unwrap_or_default();
        let torn = content.get(end..).unwrap_or_default();
        // Other magic is another version's or somebody else's; its beginning was cut off.
        let is_begun = end > 0 || MAGIC.starts_with(torn);
        if tail == Tail::Whole || !is_begun {
            return Err(OutboxError::Damaged { path: opened.path, offset: end as u64 });
        }
        let cut = opened.cut(end as u64, torn)?;
        Ok((opened, Some(cut)))
    }

    fn cut(&mut self, end: u64, torn: &[u8]) -> Result<Cut, OutboxError> {
        let kept = self.path.with_extension(format!("{end}.torn"));
        file::replace(&kept, torn, file::Access::Private)?;
        let failed = |error| FileError::io("cut", &self.path, error);
        self.file.set_len(end).map_err(failed)?;
        if end == 0 {
            (&*self.file).write_all(MAGIC).map_err(failed)?;
        }
        self.file.sync_all().map_err(failed)?;
        self.bytes = end.max(MAGIC.len() as u64);
        Ok(Cut { next_seq: self.next(), bytes: torn.len() as u64, kept })
    }

    /// The number of its first item, which need not be there yet.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number of the item after its last.
    pub(super) fn next(&self) -> u64 {
        self.first + self.starts.len() as u64
    }

    /// Its length.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of the records from the number `from` up to and with `to`.
    pub(super) fn bytes_between(&self, from: u64, to: u64) -> u64 {
        self.start(to.saturating_add(1)).saturating_sub(self.start(from))
    }

    /// Where the record of that number begins, or would.
    fn start(&self, seq: u64) -> u64 {
        let index = usize::try_from(seq.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.starts.get(index).copied().unwrap_or(self.bytes)
    }

    /// Its file, to be synced without holding anything else.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Writes records; they are durable once the file is synced. On an error nothing of them is left,
    /// unless that fails as well.
    pub(super) fn append(&mut self, records: &Records) -> Result<(), OutboxError> {
        if let Err(error) = (&*self.file).write_all(&records.bytes) {
            let cleared = self.file.set_len(self.bytes);
            let failed = FileError::io("write", &self.path, error);
            return Err(match cleared {
                Ok(()) => failed.into(),
                Err(_) => OutboxError::Broken { reason: failed.to_string() },
            });
        }
        self.starts.extend(records.starts.iter().map(|start| self.bytes + start));
        self.bytes += records.bytes.len() as u64;
        Ok(())
    }

    /// Which bytes hold the items from `from` to `to`, to be read without holding anything else.
    pub(super) fn stretch(&self, from: u64, to: u64) -> Stretch {
        let (start, end) = (self.start(from), self.start(to.saturating_add(1)));
        Stretch { path: self.path.clone(), file: self.file(), start, end }
    }

    /// Removes the file.
    pub(super) fn remove(self) -> Result<(), OutboxError> {
        let removed = std::fs::remove_file(&self.path);
        Ok(removed.map_err(|error| FileError::io("remove", &self.path, error))?)
    }
}

/// Some items of one file.
#[derive(Debug)]
pub(super) struct Stretch {
    path: PathBuf,
    file: Arc<File>,
    start: u64,
    end: u64,
}

impl Stretch {
    /// Reads the items.
    pub(super) fn items(&self) -> Result<Vec<ReportItem>, OutboxError> {
        let damaged = |offset: usize| OutboxError::Damaged {
            path: self.path.clone(),
            offset: self.start + offset as u64,
        };
        let mut bytes = vec![0; usize::try_from(self.end - self.start).unwrap_or_default()];
        let read = self.file.read_exact_at(&mut bytes, self.start);
        read.map_err(|error| FileError::io("read", &self.path, error))?;
        let (mut items, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let body = body(&bytes, at).ok_or_else(|| damaged(at))?;
            items.push(serde_json::from_slice(body).map_err(|_| damaged(at))?);
            at += HEAD_BYTES + body.len();
        }
        Ok(items)
    }
}

/// Records to be written at once.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    starts: Vec<u64>,
}

impl Records {
    /// Adds the record of one item, encoded.
    pub(super) fn push(&mut self, body: &[u8]) {
        self.starts.push(self.bytes.len() as u64);
        // An item is far below 4 GiB: a report is bounded.
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.bytes.extend_from_slice(&length);
        self.bytes.extend_from_slice(&sum(length, body));
        self.bytes.extend_from_slice(body);
    }

    /// How many bytes they have.
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn open(path: &Path) -> Result<File, OutboxError> {
    let mut options = OpenOptions::new();
    options.read(true).append(true);
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    Ok(options.open(path).map_err(|error| FileError::io("open", path, error))?)
}

fn content(file: &File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut content = vec![0; length];
    file.read_exact_at(&mut content, 0)?;
    Ok(content)
}

/// Where whole records begin, and where they end; no end if not even the magic is there.
fn scan(content: &[u8]) -> (Vec<u64>, Option<usize>) {
    let mut starts = Vec::new();
    if !content.starts_with(MAGIC) {
        return (starts, None);
    }
    let mut at = MAGIC.len();
    while let Some(body) = body(content, at) {
        starts.push(at as u64);
        at += HEAD_BYTES + body.len();
    }
    (starts, Some(at))
}

/// The body of the record that begins at `at`, if it is whole and as it was written.
fn body(content: &[u8], at: usize) -> Option<&[u8]> {
    let (length, rest) = content.get(at..)?.split_first_chunk::<4>()?;
    let (wanted, rest) = rest.split_first_chunk::<SUM_BYTES>()?;
    let body = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    (sum(*length, body) == *wanted).then_some(body)
}

fn sum(length: [u8; 4], body: &[u8]) -> [u8; SUM_BYTES] {
    let digest = Sha256::new().chain_update(length).chain_update(body).finalize();
    let mut sum = [0; SUM_BYTES];
    sum.iter_mut().zip(digest).for_each(|(place, byte)| *place = byte);
    sum
}
