//! Saving: a new snapshot, the head of its scope and `latest.json`, all or nothing.
//!
//! Order: lock, find the parent, write all three under names nobody reads, sync them, then give them
//! their names: snapshot, head, `latest.json`. Whenever it stops, every name in the directory is a
//! whole file, and the head names a snapshot that is there.
//!
//! The parent is checked while its child is written.

use ah_model::Timestamp;
use serde::Serialize;

use crate::disk::{Dir, Lock};
use crate::parent::{Assumed, Parent};
use crate::pointer::{LATEST, head_name};
use crate::redact::{Redacted, redact};
use crate::resolve::resolve;
use crate::snapshot::Snapshot;
use crate::stage::{Pointed, Staged, Staging, Written, check_size};
use crate::state_dir::Step;
use crate::time::CreatedAt;
use crate::{Bundle, BundleError, Damage, StateDir};

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
            draft.seal(&Parent::default())?;
            check_size(draft.bundle.encode().len() as u64, self.bytes_max)?;
            let dir = Dir::make(self.path())?;
            let lock = dir.lock()?;
            let parent = Parent::from(&resolve(&dir, &draft.bundle.scope_key, self.bytes_max)?);
            return self.store(&dir, &lock, draft, parent, None);
        };
        let lock = dir.lock()?;
        let assumed = Assumed::read(&dir, &lock, &bundle.scope_key, self.bytes_max);
        let parent = match &assumed {
            Some(assumed) => assumed.parent.clone(),
            None => Parent::from(&resolve(&dir, &bundle.scope_key, self.bytes_max)?),
        };
        self.store(&dir, &lock, Draft::new(bundle, now), parent, assumed)
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
        self.store(dir, &lock, draft, parent, None)
    }

    /// Stores a draft as the child of `parent`. One that is only assumed is checked before anything
    /// gets its name.
    fn store(
        &self,
        dir: &Dir,
        lock: &Lock,
        mut draft: Draft,
        mut parent: Parent,
        mut assumed: Option<Assumed>,
    ) -> Result<Saved, BundleError> {
        self.at_step(Step::Locked)?;
        loop {
            draft.seal(&parent)?;
            let (bundle, cut) = (&draft.bundle, parent.cut.as_slice());
            let staging = Staging { state: self, dir, lock, bundle, cut };
            let staged = staging.stage(assumed.take())?;
            if !staged.is_parent_whole {
                let found = resolve(dir, &draft.bundle.scope_key, self.bytes_max)?;
                parent = Parent::from(&found);
                continue;
            }
            // Names hold only the beginning of a hash: another scope's snapshot may have this one.
            if dir.holds(&staged.pointed.name) {
                draft.after = draft.bundle.time();
                continue;
            }
            self.publish(dir, lock, &staged, &draft.bundle.scope_key)?;
            let Staged { snapshot: Written { bytes, .. }, pointed, .. } = staged;
            let Pointed { name, sha, .. } = pointed;
            let snapshot = Snapshot { name, sha, bytes, bundle: draft.bundle };
            return Ok(Saved { snapshot, redacted: draft.redacted, damage: parent.damage });
        }
    }

    fn publish(
        &self,
        dir: &Dir,
        lock: &Lock,
        staged: &Staged,
        scope: &str,
    ) -> Result<(), BundleError> {
        self.at_step(Step::Synced)?;
        dir.publish(&staged.snapshot.file, &staged.pointed.name)?;
        self.at_step(Step::SnapshotNamed)?;
        let [head, latest] = &staged.pointed.files;
        dir.publish_pointer(head, &head_name(scope))?;
        self.at_step(Step::HeadNamed)?;
        dir.publish_pointer(latest, LATEST)?;
        self.at_step(Step::LatestNamed)?;
        dir.sync()?;
        self.at_step(Step::NamesSynced)?;
        dir.release_spare(lock);
        self.at_step(Step::Done)
    }

    pub(crate) fn at_step(&self, step: Step) -> Result<(), BundleError> {
        (self.at)(step).map_err(BundleError::file("save to", self.path()))
    }
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

    /// Makes it a child of `parent`.
    fn seal(&mut self, parent: &Parent) -> Result<(), BundleError> {
        let created_at = CreatedAt::next(self.now, self.after.max(parent.time));
        self.bundle.seal(created_at, parent.sha.clone());
        self.bundle.check_storable().map_err(BundleError::Refused)
    }
}
