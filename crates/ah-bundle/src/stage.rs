//! The files of a save, written and synced under names that no reader looks at.
//!
//! What needs nothing of each other is done at once. A large bundle is encoded piece by piece: one is
//! hashed while the next is encoded and written, and the parent is hashed meanwhile. A small one is
//! hashed before a thread would begin; then only the syncs wait for each other's end.

use std::mem;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use ah_model::to_hex;
use sha2::{Digest, Sha256};

use crate::beside::beside;
use crate::disk::{Dir, Lock, Temporary, joined};
use crate::parent::Assumed;
use crate::pointer::Pointer;
use crate::sha::sha256;
use crate::snapshot::{LARGE_BYTES, snapshot_name};
use crate::state_dir::Step;
use crate::{Bundle, BundleError, Problem, StateDir};

/// How many pieces may wait to be hashed.
const WAITING_MAX: usize = 16;

/// What the files are made from.
pub(crate) struct Staging<'a> {
    pub(crate) state: &'a StateDir,
    pub(crate) dir: &'a Dir,
    pub(crate) lock: &'a Lock,
    pub(crate) bundle: &'a Bundle,
    /// Parents that were pruned.
    pub(crate) cut: &'a [String],
}

/// What is written and synced, but has no name yet.
pub(crate) struct Staged {
    pub(crate) snapshot: Written,
    pub(crate) pointed: Pointed,
    /// Whether the parent is what it was assumed to be.
    pub(crate) is_parent_whole: bool,
}

/// The file of a snapshot.
pub(crate) struct Written {
    pub(crate) file: Temporary,
    pub(crate) bytes: u64,
}

/// The pointers to it.
pub(crate) struct Pointed {
    /// The name that the snapshot is to have.
    pub(crate) name: String,
    pub(crate) sha: String,
    pub(crate) files: [Temporary; 2],
}

/// Refuses what readers would.
pub(crate) fn check_size(bytes: u64, max: u64) -> Result<(), BundleError> {
    match bytes > max {
        true => Err(BundleError::Refused(Problem::TooLarge { bytes, max })),
        false => Ok(()),
    }
}

impl Staging<'_> {
    /// Writes and syncs everything, and checks the parent where that was not done.
    pub(crate) fn stage(&self, assumed: Option<Assumed>) -> Result<Staged, BundleError> {
        self.dir.remove_temporaries(self.lock)?;
        let before = assumed.as_ref().map_or(0, |assumed| assumed.bytes);
        let is_large = self.bundle.prompts_bytes().max(before) >= LARGE_BYTES;
        if is_large { self.stage_large(assumed) } else { self.stage_small(assumed) }
    }

    fn stage_small(&self, assumed: Option<Assumed>) -> Result<Staged, BundleError> {
        let text = self.bundle.encode();
        check_size(text.len() as u64, self.state.bytes_max)?;
        let pointed = self.point(sha256(text.as_bytes()))?;
        let others = beside(move || {
            let synced = pointed.files.each_ref().map(Temporary::sync);
            (pointed, synced, assumed.is_none_or(|assumed| assumed.is_whole()))
        });
        let snapshot = self.dir.write(self.lock, 0, text.as_bytes());
        let snapshot = snapshot.and_then(|file| self.synced(file, text.len() as u64));
        let (pointed, synced, is_parent_whole) = others.joined();
        for (file, synced) in pointed.files.iter().zip(synced) {
            synced.map_err(self.dir.failed("sync", &file.name))?;
        }
        Ok(Staged { snapshot: snapshot?, pointed, is_parent_whole })
    }

    fn stage_large(&self, assumed: Option<Assumed>) -> Result<Staged, BundleError> {
        thread::scope(|threads| {
            let (pieces, to_hash) = mpsc::sync_channel::<Vec<u8>>(WAITING_MAX);
            let (hashed, empty) = mpsc::channel();
            let pointed = threads.spawn(move || {
                let mut hash = Sha256::new();
                for mut piece in to_hash {
                    hash.update(&piece);
                    piece.clear();
                    // The writer may be at its end.
                    let _ = hashed.send(piece);
                }
                let pointed = self.point(to_hex(&hash.finalize()))?;
                self.dir.sync_files(&pointed.files).map(|()| pointed)
            });
            let parent = assumed.map(|assumed| threads.spawn(move || assumed.is_whole()));
            let snapshot = self.write_pieces(pieces, &empty);
            let (pointed, is_parent_whole) = (joined(pointed), parent.is_none_or(joined));
            Ok(Staged { snapshot: snapshot?, pointed: pointed?, is_parent_whole })
        })
    }

    /// Writes the snapshot as it is encoded, and sends what is written to be hashed.
    fn write_pieces(
        &self,
        pieces: SyncSender<Vec<u8>>,
        empty: &Receiver<Vec<u8>>,
    ) -> Result<Written, BundleError> {
        let file = self.dir.write(self.lock, 0, &[])?;
        let (mut written, mut bytes) = (Ok(()), 0);
        self.bundle.encode_pieces(&mut |piece| {
            let next = empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(piece.capacity()));
            let piece = mem::replace(piece, next);
            bytes += piece.len() as u64;
            if written.is_ok() && bytes <= self.state.bytes_max {
                written = file.append(&piece);
                // Whoever hashes ends when this does.
                let _ = pieces.send(piece);
            }
        });
        drop(pieces);
        check_size(bytes, self.state.bytes_max).or_else(|error| {
            self.dir.remove(&file.name)?;
            Err(error)
        })?;
        written.map_err(self.dir.failed("write", &file.name))?;
        self.synced(file, bytes)
    }

    fn synced(&self, file: Temporary, bytes: u64) -> Result<Written, BundleError> {
        self.state.at_step(Step::SnapshotWritten)?;
        self.dir.sync_file(&file)?;
        Ok(Written { file, bytes })
    }

    /// Writes the pointers to a snapshot of that hash.
    fn point(&self, sha: String) -> Result<Pointed, BundleError> {
        let name = snapshot_name(&self.bundle.created_at, &sha);
        let (scope, cut) = (Some(self.bundle.scope_key.clone()), self.cut.to_vec());
        let pointer = Pointer { path: name.clone(), sha: sha.clone(), scope, cut };
        let (head, latest) = (pointer.encode_head(), pointer.encode_latest());
        let files = self.dir.write_pointers(self.lock, &head, &latest)?;
        self.state.at_step(Step::PointersWritten)?;
        Ok(Pointed { name, sha, files })
    }
}
