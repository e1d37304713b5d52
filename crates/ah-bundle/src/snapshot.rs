//! One stored bundle: the file, its hash and what it holds.

use std::sync::Arc;
use std::thread;

use serde::Serialize;

use crate::disk::{Dir, joined};
use crate::sha::sha256;
use crate::{Bundle, Problem};

const PREFIX: &str = "state-";
const SUFFIX: &str = ".json";
/// From this size on a thread is worth what it costs.
pub(crate) const LARGE_BYTES: usize = 64 * 1024;
/// How much of the hash stands in a name.
const SHORT_SHA: usize = 8;

/// A bundle that was read and found whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The name of the file.
    pub name: String,
    /// The hash of its bytes.
    pub sha: String,
    /// How many bytes it has.
    pub bytes: u64,
    /// What it holds.
    pub bundle: Bundle,
}

impl Snapshot {
    /// Reads a file, and checks its hash against `expected` and against its own name.
    pub(crate) fn read(
        dir: &Dir,
        name: &str,
        expected: Option<&str>,
        bytes_max: u64,
    ) -> Result<Self, Problem> {
        Self::of(name, expected, dir.read(name, bytes_max)?)
    }

    /// The snapshot of that name with those bytes. Large ones are hashed while they are parsed.
    pub(crate) fn of(name: &str, expected: Option<&str>, bytes: Vec<u8>) -> Result<Self, Problem> {
        let bytes = Arc::new(bytes);
        let (sha, bundle) = if bytes.len() < LARGE_BYTES {
            (sha256(&bytes), Bundle::parse_shared(&bytes))
        } else {
            thread::scope(|threads| {
                let sha = threads.spawn(|| sha256(&bytes));
                let bundle = Bundle::parse_shared(&bytes);
                (joined(sha), bundle)
            })
        };
        check_sha(name, expected, &sha)?;
        let bundle = bundle?;
        Ok(Self { name: name.to_owned(), sha, bytes: bytes.len() as u64, bundle })
    }
}

/// Whether the hash of a file's bytes is the one that is expected, else the one its name gives.
pub(crate) fn check_sha(name: &str, expected: Option<&str>, found: &str) -> Result<(), Problem> {
    let (expected, same) = match (expected, short_sha(name)) {
        (Some(expected), _) => (expected.to_owned(), expected == found),
        (None, Some(short)) => (short.clone(), found.starts_with(&short)),
        (None, None) => return Ok(()),
    };
    if same { Ok(()) } else { Err(Problem::WrongSha { expected, found: found.to_owned() }) }
}

/// The name of a snapshot.
pub(crate) fn snapshot_name(created_at: &str, sha: &str) -> String {
    let short = sha.get(..SHORT_SHA).unwrap_or(sha);
    format!("{PREFIX}{}-{short}{SUFFIX}", created_at.replace(':', ""))
}

/// Whether a file of that name is a snapshot.
pub(crate) fn is_snapshot_name(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// The beginning of the hash that a name gives; foreign writers may give none.
pub(crate) fn short_sha(name: &str) -> Option<String> {
    let (_, short) = name.strip_suffix(SUFFIX)?.rsplit_once('-')?;
    let is_sha = short.len() == SHORT_SHA && short.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_sha.then(|| short.to_ascii_lowercase())
}
