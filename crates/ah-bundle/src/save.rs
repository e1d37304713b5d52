//! Saving: a new snapshot, the head of its scope and `latest.json`, all or nothing.
//!
//! Order: lock, find the parent, write all three under names nobody reads, sync them, then give them
//! their names: snapshot, head, `latest.json`. Whenever it stops, every name in the directory is a
//! whole file, and the head names a snapshot that is there.
//!
//! A large parent is checked while its child is redacted, encoded and written.

use std::thread;

use ah_model::Timestamp;
use serde::Serialize;

use crate::disk::{Dir, Lock, Temporary, joined};
use crate::parent::{Assumed, Parent};
use crate::pointer::{LATEST, Pointer, head_name};
use crate::redact::{Redacted, redact};
use crate::resolve::resolve;
use crate::sha::sha256;
use crate::snapshot::{LARGE_BYTES, Snapshot, snapshot_name};
use crate::state_dir::Step;
use crate::time::CreatedAt;
use crate::{Bundle, BundleError, Damage, Problem, StateDir};

/// A bundle that is on disk now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// The bundle as it was stored, and its file.
    #[serde(flatten)]
    pub snapshot: Snapshot,
    /// What was taken out before it was stored.
    pub redacted: Vec<Redacted>,
    /// Damaged files that were passed over to find its parent.
    pub damage: Vec<Damage>,
}

impl StateDir {
    /// Saves a bundle as the head of its scope, linked to the head before it. Time, hashes and link
    /// are set here; secrets are taken out first. The directory is made if there is none.
    pub fn save(&self, bundle: Bundle, now: Timestamp) -> Result<Saved, BundleError> {
        let Some(dir) = Dir::open(self.path())? else {
            let mut draft = Draft::new(bundle, now);
            // No directory is made for a bundle that cannot be saved.
            draft.text(&Parent::default(), self.bytes_max)?;
            let dir = Dir::make(self.path())?;
            let lock = dir.lock()?;
            let parent = Parent::from(&resolve(&dir, &draft.bundle.scope_key, self.bytes_max)?);
            return self.store(&dir, &lock, draft, parent, Ok);
        };
        let lock = dir.lock()?;
        let scope = bundle.scope_key.clone();
        let parent = match Assumed::read(&dir, &scope, self.bytes_max) {
            Some(assumed) if assumed.is_large() => {
                let parent = assumed.parent.clone();
                return thread::scope(|threads| {
                    let check = threads.spawn(|| assumed.checked(&dir, &scope, self.bytes_max));
                    self.store(&dir, &lock, Draft::new(bundle, now), parent, |_| joined(check))
                });
            }
            Some(assumed) => assumed.checked(&dir, &scope, self.bytes_max)?,
            None => Parent::from(&resolve(&dir, &scope, self.bytes_max)?),
        };
        self.store(&dir, &lock, Draft::new(bundle, now), parent, Ok)
    }

    /// Saves what `build` makes of the scope's head, while nobody else changes it.
    pub(crate) fn commit(
        &self,
        dir: &Dir,
        scope: &str,
        now: Timestamp,
        build: impl FnOnce(Option<Snapshot>) -> Result<Bundle, BundleError>,
    ) -> Result<Saved, BundleError> {
        let lock = dir.lock()?;
        let resolved = resolve(dir, scope, self.bytes_max)?;
        let parent = Parent::from(&resolved);
        let draft = Draft::new(build(resolved.snapshot)?, now);
        self.store(dir, &lock, draft, parent, Ok)
    }

    /// Stores a draft as the child of `parent`, or of what `check` says is the parent, which is asked
    /// before anything gets its name.
    fn store(
        &self,
        dir: &Dir,
        lock: &Lock,
        mut draft: Draft,
        mut parent: Parent,
        check: impl FnOnce(Parent) -> Result<Parent, BundleError>,
    ) -> Result<Saved, BundleError> {
        self.at_step(Step::Locked)?;
        let mut check = Some(check);
        loop {
            let text = draft.text(&parent, self.bytes_max)?;
            let staged = self.stage(dir, lock, &draft.bundle, &parent, &text)?;
            if let Some(check) = check.take() {
                let found = check(parent.clone())?;
                if found != parent {
                    parent = found;
                    continue;
                }
            }
            // Names hold only the beginning of a hash: another scope's snapshot may have this one.
            if dir.holds(&staged.name) {
                draft.after = draft.bundle.time();
                continue;
            }
            self.publish(dir, lock, &staged, &draft.bundle.scope_key)?;
            let Staged { name, sha, .. } = staged;
            let snapshot = Snapshot { name, sha, bytes: text.len() as u64, bundle: draft.bundle };
            return Ok(Saved { snapshot, redacted: draft.redacted, damage: parent.damage });
        }
    }

    /// Writes and syncs everything under names that no reader looks at. The snapshot is written while
    /// it is hashed.
    fn stage(
        &self,
        dir: &Dir,
        lock: &Lock,
        bundle: &Bundle,
        parent: &Parent,
        text: &str,
    ) -> Result<Staged, BundleError> {
        dir.remove_temporaries(lock)?;
        let write_pointers = || {
            let sha = sha256(text.as_bytes());
            let name = snapshot_name(&bundle.created_at, &sha);
            let (scope, cut) = (Some(bundle.scope_key.clone()), parent.cut.clone());
            let pointer = Pointer { path: name.clone(), sha: sha.clone(), scope, cut };
            let (head, latest) = (pointer.encode_head(), pointer.encode_latest());
            let pointers = dir.write_pointers(lock, &head, &latest)?;
            self.at_step(Step::PointersWritten)?;
            Ok::<_, BundleError>((name, sha, pointers))
        };
        // A thread takes longer to begin than a small text to be hashed.
        let is_small = text.len() < LARGE_BYTES;
        let written = if is_small { Some(write_pointers()?) } else { None };
        thread::scope(|threads| {
            let pointers = threads.spawn(|| {
                let written = written.map_or_else(write_pointers, Ok)?;
                dir.sync_files(&written.2)?;
                Ok::<_, BundleError>(written)
            });
            let snapshot = dir.write(lock, 0, text.as_bytes());
            let snapshot = snapshot.and_then(|snapshot| {
                self.at_step(Step::SnapshotWritten)?;
                dir.sync_file(&snapshot)?;
                Ok(snapshot)
            });
            let (name, sha, pointers) = joined(pointers)?;
            Ok(Staged { name, sha, snapshot: snapshot?, pointers })
        })
    }

    fn publish(
        &self,
        dir: &Dir,
        lock: &Lock,
        staged: &Staged,
        scope: &str,
    ) -> Result<(), BundleError> {
        self.at_step(Step::Synced)?;
        dir.publish(&staged.snapshot, &staged.name)?;
        self.at_step(Step::SnapshotNamed)?;
        let [head, latest] = &staged.pointers;
        dir.publish_pointer(head, &head_name(scope))?;
        self.at_step(Step::HeadNamed)?;
        dir.publish_pointer(latest, LATEST)?;
        self.at_step(Step::LatestNamed)?;
        dir.sync()?;
        self.at_step(Step::NamesSynced)?;
        dir.release_spare(lock);
        self.at_step(Step::Done)
    }

    fn at_step(&self, step: Step) -> Result<(), BundleError> {
        (self.at)(step).map_err(BundleError::file("save to", self.path()))
    }
}

/// What is written and synced, but has no name yet.
struct Staged {
    /// The name that the snapshot is to have.
    name: String,
    sha: String,
    snapshot: Temporary,
    pointers: [Temporary; 2],
}

/// A bundle without its secrets, on its way to the disk.
struct Draft {
    bundle: Bundle,
    redacted: Vec<Redacted>,
    now: Timestamp,
    /// A time that is taken.
    after: Option<CreatedAt>,
}

impl Draft {
    fn new(mut bundle: Bundle, now: Timestamp) -> Self {
        let redacted = redact(&mut bundle);
        Self { bundle, redacted, now, after: None }
    }

    /// The text that is stored as a child of `parent`.
    fn text(&mut self, parent: &Parent, bytes_max: u64) -> Result<String, BundleError> {
        let created_at = CreatedAt::next(self.now, self.after.max(parent.time));
        self.bundle.seal(created_at, parent.sha.clone());
        self.bundle.check_storable().map_err(BundleError::Refused)?;
        let text = self.bundle.encode();
        let bytes = text.len() as u64;
        if bytes > bytes_max {
            return Err(BundleError::Refused(Problem::TooLarge { bytes, max: bytes_max }));
        }
        Ok(text)
    }
}
