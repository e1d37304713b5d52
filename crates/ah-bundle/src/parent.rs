//! The snapshot that a save is linked to.

use std::fs::File;
use std::io::Seek;

use crate::Damage;
use crate::disk::{Dir, Lock};
use crate::peek::peek_open;
use crate::pointer::{LATEST, POINTER_BYTES_MAX, Pointer, head_name};
use crate::resolve::Resolved;
use crate::sha::sha256_of;
use crate::survey::read_pointer;
use crate::time::CreatedAt;

/// What a new snapshot has to know of the one before it. Empty where it is the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) sha: String,
    pub(crate) time: Option<CreatedAt>,
    /// Parents that were pruned.
    pub(crate) cut: Vec<String>,
    /// What was passed over to find it.
    pub(crate) damage: Vec<Damage>,
}

impl From<&Resolved> for Parent {
    fn from(resolved: &Resolved) -> Self {
        let snapshot = resolved.snapshot.as_ref();
        Self {
            sha: snapshot.map(|parent| parent.sha.clone()).unwrap_or_default(),
            time: snapshot.and_then(|parent| parent.bundle.time()),
            cut: resolved.cut.clone(),
            damage: resolved.damage.clone(),
        }
    }
}

/// A parent by what the pointers say.
#[derive(Debug)]
pub(crate) struct Assumed {
    pub(crate) parent: Parent,
    pub(crate) bytes: usize,
    file: File,
}

impl Assumed {
    /// Where both pointers name a snapshot of the scope. Only with the lock.
    pub(crate) fn read(dir: &Dir, lock: &Lock, scope: &str, bytes_max: u64) -> Option<Self> {
        let head = head(dir, lock, scope)?;
        let (peek, file) = peek_open(dir, &head.path, bytes_max).ok()?;
        if peek.bytes > bytes_max || peek.scope != scope {
            return None;
        }
        let time = Some(CreatedAt::parse(&peek.created_at)?);
        let parent = Parent { sha: head.sha, time, cut: head.cut, damage: Vec::new() };
        Some(Self { parent, bytes: usize::try_from(peek.bytes).ok()?, file })
    }

    /// Whether the snapshot is what the pointers say. Bytes of the hash that the head gives are not
    /// parsed: that was done when the head was written.
    pub(crate) fn is_whole(&self) -> bool {
        let mut file = &self.file;
        let sha = file.rewind().and_then(|()| sha256_of(file));
        sha.is_ok_and(|sha| sha == self.parent.sha)
    }
}

/// The head of a scope, where `latest.json` says the same. Mostly they are one file, which is read
/// once.
fn head(dir: &Dir, lock: &Lock, scope: &str) -> Option<Pointer> {
    let read = dir.read_locked(lock, &head_name(scope), LATEST, POINTER_BYTES_MAX);
    let (bytes, is_latest) = read.ok()?;
    let head = Pointer::parse(&bytes).ok()?;
    if is_latest {
        return Some(head);
    }
    let latest = read_pointer(dir, LATEST)?.said.ok()?;
    ((&head.path, &head.sha) == (&latest.path, &latest.sha)).then_some(head)
}
