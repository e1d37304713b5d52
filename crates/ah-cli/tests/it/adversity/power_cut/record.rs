//! What processes did to a directory, as the shim wrote it down.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One step of one thread.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) step: Step,
}

/// Paths are relative to the watched directory.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Create { inode: u64, path: PathBuf },
    Write { inode: u64, offset: usize, bytes: Arc<[u8]> },
    Truncate { inode: u64, length: usize },
    SyncBegin,
    SyncEnd { inode: u64 },
    DirectorySyncEnd { path: PathBuf },
    Unlink { path: PathBuf },
    Rename { from: PathBuf, to: PathBuf },
    MakeDirectory { path: PathBuf },
    Output { text: String },
}

/// Reads the shim's whole log.
pub(super) fn parse(mut log: &[u8], root: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    while !log.is_empty() {
        let length = u32_at(log, 0) as usize;
        let (record, rest) = log.split_at(length);
        records.push(parse_one(record, root));
        log = rest;
    }
    records
}

/// Bytes before the payload: length, kind, process, thread, inode, number.
const HEAD: usize = 32;

fn parse_one(record: &[u8], root: &Path) -> Record {
    let (inode, number) = (u64_at(record, 16), u64_at(record, 24) as usize);
    let bytes = &record[HEAD..];
    let text = || std::str::from_utf8(bytes).unwrap();
    let relative = |path: &str| Path::new(path).strip_prefix(root).unwrap().to_owned();
    let path = || relative(text());
    let step = match u32_at(record, 4) {
        1 => Step::Create { inode, path: path() },
        2 => Step::Write { inode, offset: number, bytes: bytes.into() },
        3 => Step::Truncate { inode, length: number },
        4 | 6 => Step::SyncBegin,
        5 => Step::SyncEnd { inode },
        7 => Step::DirectorySyncEnd { path: path() },
        8 => Step::Unlink { path: path() },
        9 => {
            let (from, to) = text().split_once('\n').unwrap();
            Step::Rename { from: relative(from), to: relative(to) }
        }
        10 => Step::MakeDirectory { path: path() },
        11 => Step::Output { text: text().to_owned() },
        kind => panic!("the shim wrote a record of kind {kind}"),
    };
    Record { process: u32_at(record, 8), thread: u32_at(record, 12), step }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}
