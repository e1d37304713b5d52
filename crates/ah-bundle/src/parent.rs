//! The snapshot that a save is linked to.

use crate::disk::Dir;
use crate::peek::peek;
use crate::resolve::{Pointers, Resolved, resolve};
use crate::snapshot::LARGE_BYTES;
use crate::time::CreatedAt;
use crate::{BundleError, Damage};

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
    name: String,
    bytes: u64,
}

impl Assumed {
    /// Where both pointers name a snapshot of the scope.
    pub(crate) fn read(dir: &Dir, scope: &str, bytes_max: u64) -> Option<Self> {
        let pointers = Pointers::read(dir, scope);
        let (head, latest) = (pointers.head?.said.ok()?, pointers.latest?.said.ok()?);
        let peek = peek(dir, &head.path, bytes_max).ok()?;
        let agree = (&head.path, &head.sha) == (&latest.path, &latest.sha);
        if !agree || peek.scope != scope {
            return None;
        }
        let time = Some(CreatedAt::parse(&peek.created_at)?);
        let parent = Parent { sha: head.sha, time, cut: head.cut, damage: Vec::new() };
        Some(Self { parent, name: head.path, bytes: peek.bytes })
    }

    /// Whether it is worth a thread to check it.
    pub(crate) fn is_large(&self) -> bool {
        self.bytes >= LARGE_BYTES as u64
    }

    /// The parent as it is. Bytes of the hash that the head gives are not parsed: that was done when
    /// the head was written.
    pub(crate) fn checked(
        self,
        dir: &Dir,
        scope: &str,
        bytes_max: u64,
    ) -> Result<Parent, BundleError> {
        match dir.sha256(&self.name, bytes_max) {
            Ok(sha) if sha == self.parent.sha => Ok(self.parent),
            _ => resolve(dir, scope, bytes_max).map(|resolved| Parent::from(&resolved)),
        }
    }
}
