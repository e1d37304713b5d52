//! Saving: a new snapshot, the head of its scope and `latest.json`, all or nothing.
//!
//! Order: lock, find the parent, write all three under names nobody reads, sync them, then give them
//! their names: snapshot, head, `latest.json`. Whenever it stops, every name in the directory is a
//! whole file, and the head names a snapshot that is there.

use ah_model::Timestamp;
use serde::Serialize;

use crate::disk::{Dir, Lock};
use crate::pointer::{LATEST, Pointer, head_name};
use crate::redact::{Redacted, redact};
use crate::resolve::resolve;
use crate::sha::sha256;
use crate::snapshot::{Snapshot, snapshot_name};
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
        let scope = bundle.scope_key.clone();
        let dir = match Dir::open(self.path())? {
            Some(dir) => dir,
            None => {
                // No directory is made for a bundle that cannot be saved.
                let (mut first, _) = redacted(bundle.clone());
                prepared(&mut first, CreatedAt::next(now, None), "", self.bytes_max)?;
                Dir::make(self.path())?
            }
        };
        self.commit(&dir, &scope, now, |_| Ok(bundle))
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
        dir.remove_temporaries(&lock)?;
        let resolved = resolve(dir, scope, self.bytes_max)?;
        let parent = resolved.snapshot;
        let time = parent.as_ref().and_then(|parent| parent.bundle.time());
        let prev_sha = parent.as_ref().map(|parent| parent.sha.clone()).unwrap_or_default();
        let (mut bundle, redacted) = redacted(build(parent)?);
        let mut created_at = CreatedAt::next(now, time);
        let (name, sha, text) = loop {
            let text = prepared(&mut bundle, created_at, &prev_sha, self.bytes_max)?;
            let sha = sha256(text.as_bytes());
            let name = snapshot_name(&bundle.created_at, &sha);
            // Names hold only the beginning of a hash: another scope's snapshot may have this one.
            if !dir.holds(&name) {
                break (name, sha, text);
            }
            created_at = CreatedAt::next(now, Some(created_at));
        };
        let scope = Some(scope.to_owned());
        let pointer = Pointer { path: name.clone(), sha: sha.clone(), scope, cut: resolved.cut };
        self.at_step(Step::Locked)?;
        self.write(dir, &lock, &pointer, &text)?;
        let snapshot = Snapshot { name, sha, bytes: text.len() as u64, bundle };
        Ok(Saved { snapshot, redacted, damage: resolved.damage })
    }

    fn write(
        &self,
        dir: &Dir,
        lock: &Lock,
        pointer: &Pointer,
        text: &str,
    ) -> Result<(), BundleError> {
        let snapshot = dir.write(lock, 0, text.as_bytes())?;
        self.at_step(Step::SnapshotWritten)?;
        let text = pointer.encode_head();
        let head = dir.write(lock, 1, text.as_bytes())?;
        self.at_step(Step::HeadWritten)?;
        let latest = match pointer.encode_latest() {
            same if same == text => dir.write_again(lock, &head, 2, same.as_bytes())?,
            other => dir.write(lock, 2, other.as_bytes())?,
        };
        self.at_step(Step::LatestWritten)?;
        let files = [snapshot, head, latest];
        dir.sync_files(&files)?;
        self.at_step(Step::Synced)?;
        let scope = pointer.scope.as_deref().unwrap_or_default();
        let names = [pointer.path.clone(), head_name(scope), LATEST.to_owned()];
        let steps = [Step::SnapshotNamed, Step::HeadNamed, Step::LatestNamed];
        for ((file, name), step) in files.iter().zip(&names).zip(steps) {
            dir.publish(file, name)?;
            self.at_step(step)?;
        }
        dir.sync()?;
        self.at_step(Step::Done)
    }

    fn at_step(&self, step: Step) -> Result<(), BundleError> {
        (self.at)(step).map_err(BundleError::file("save to", self.path()))
    }
}

fn redacted(mut bundle: Bundle) -> (Bundle, Vec<Redacted>) {
    let redacted = redact(&mut bundle);
    (bundle, redacted)
}

/// The text of a bundle that is stored now.
fn prepared(
    bundle: &mut Bundle,
    created_at: CreatedAt,
    prev_sha: &str,
    bytes_max: u64,
) -> Result<String, BundleError> {
    bundle.seal(created_at, prev_sha.to_owned());
    bundle.check_storable().map_err(BundleError::Refused)?;
    let text = bundle.encode();
    let bytes = text.len() as u64;
    if bytes > bytes_max {
        return Err(BundleError::Refused(Problem::TooLarge { bytes, max: bytes_max }));
    }
    Ok(text)
}
