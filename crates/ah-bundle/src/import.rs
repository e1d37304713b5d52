//! Importing what was exported: everything is checked before anything is written.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use ah_model::Invalid;
use serde::Serialize;

use crate::disk::{Dir, Lock, TEMPORARIES, Temporary};
use crate::export::{Document, ExportedHead, ExportedSnapshot, FORMAT, FORMAT_VERSION};
use crate::pointer::{LATEST, Pointer, head_name};
use crate::snapshot::{Snapshot, check_sha, is_snapshot_name};
use crate::survey::{Entry, Survey};
use crate::{BundleError, Damage, Problem, StateDir};

/// Largest document that is read: all of it is checked before anything is written.
pub const EXPORT_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Imported {
    /// Snapshots that were not there.
    pub added: Vec<String>,
    /// How many were there already.
    pub present: usize,
    /// Scopes that stand at an imported snapshot now.
    pub heads: Vec<ImportedHead>,
    /// Scopes that went another way here: their heads stay.
    pub conflicts: Vec<HeadConflict>,
}

/// A scope that stands somewhere else now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportedHead {
    /// The scope.
    pub scope: String,
    /// The snapshot it stands at.
    pub name: String,
}

/// A scope whose head here does not come before the imported one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadConflict {
    /// The scope.
    pub scope: String,
    /// Where it stands here.
    pub ours: String,
    /// Where it stood there; that snapshot is imported.
    pub theirs: String,
}

impl StateDir {
    /// Adds the snapshots of a document that are not here, and moves heads forward along their
    /// chains. Doing it again changes nothing. A document with any damage is refused whole.
    pub fn import(&self, from: &mut dyn Read) -> Result<Imported, BundleError> {
        let document = read(from)?;
        check(&document)?;
        let dir = Dir::make(self.path())?;
        let lock = dir.lock()?;
        dir.remove_temporaries(&lock)?;
        let mut imported = Imported::default();
        let absent = self.absent(&dir, &document.snapshots)?;
        imported.present = document.snapshots.len() - absent.len();
        let before = Survey::take(&dir, self.bytes_max)?;
        write_all(&dir, &lock, &absent)?;
        imported.added = absent.iter().map(|snapshot| snapshot.name.clone()).collect();
        let after = Survey::take(&dir, self.bytes_max)?;
        for head in &document.heads {
            move_head(&dir, &lock, head, (&before, &after), &mut imported)?;
        }
        move_latest(&dir, &lock, &imported, &after)?;
        dir.sync()?;
        Ok(imported)
    }

    /// The snapshots that are not here. The same name with other bytes is refused.
    fn absent<'a>(
        &self,
        dir: &Dir,
        snapshots: &'a [ExportedSnapshot],
    ) -> Result<Vec<&'a ExportedSnapshot>, BundleError> {
        let (mut absent, mut damage) = (Vec::new(), Vec::new());
        for snapshot in snapshots {
            match Snapshot::read(dir, &snapshot.name, Some(&snapshot.sha), self.bytes_max) {
                Ok(_) => {}
                Err(Problem::Missing) => absent.push(snapshot),
                Err(problem) => damage.push(Damage::new(&snapshot.name, problem)),
            }
        }
        if damage.is_empty() { Ok(absent) } else { Err(BundleError::BadExport { damage }) }
    }
}

fn read(from: &mut dyn Read) -> Result<Document, BundleError> {
    let mut bytes = Vec::new();
    let read = from.take(EXPORT_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(BundleError::file("read", "the export"))?;
    let invalid = |reason: String| BundleError::from(Invalid::new("export", reason));
    if bytes.len() as u64 > EXPORT_BYTES_MAX {
        return Err(invalid(format!("it has more than {EXPORT_BYTES_MAX} bytes")));
    }
    let document: Document =
        serde_json::from_slice(&bytes).map_err(|error| invalid(error.to_string()))?;
    let Document { format, version, .. } = &document;
    if format != FORMAT || *version != FORMAT_VERSION {
        let reason = format!(
            "it is {format:?} version {version}; `ah bundle export` writes \
             {FORMAT:?} version {FORMAT_VERSION}"
        );
        return Err(invalid(reason));
    }
    Ok(document)
}

/// Every snapshot is whole and every head is of one of them.
fn check(document: &Document) -> Result<(), BundleError> {
    let mut damage = Vec::new();
    let mut scopes: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for snapshot in &document.snapshots {
        let ExportedSnapshot { name, sha, text } = snapshot;
        let read = if is_file_name(name) {
            // The name must fit as well.
            let fits = Snapshot::of(name, None, text.as_bytes().to_vec());
            fits.and_then(|fits| check_sha(name, Some(sha), &fits.sha).map(|()| fits))
        } else {
            Err(Problem::PathTraversal { path: name.clone() })
        };
        match read {
            Ok(read) => drop(scopes.insert((name, sha), read.bundle.scope_key)),
            Err(problem) => damage.push(Damage::new(name, problem)),
        }
    }
    for head in &document.heads {
        match scopes.get(&(head.name.as_str(), head.sha.as_str())) {
            Some(scope) if *scope == head.scope => {}
            Some(scope) => {
                let problem = Problem::WrongScope { found: scope.clone() };
                damage.push(Damage::new(&head_name(&head.scope), problem));
            }
            None if damage.iter().any(|damage| damage.file == head.name) => {}
            None => damage.push(Damage::new(&head.name, Problem::Missing)),
        }
    }
    if damage.is_empty() { Ok(()) } else { Err(BundleError::BadExport { damage }) }
}

/// A name that a snapshot may have here.
fn is_file_name(name: &str) -> bool {
    is_snapshot_name(name) && !name.contains(['/', '\0']) && !name.contains("..")
}

/// Writes some at a time: all synced together, then named.
fn write_all(dir: &Dir, lock: &Lock, snapshots: &[&ExportedSnapshot]) -> Result<(), BundleError> {
    for some in snapshots.chunks(TEMPORARIES) {
        let files: Vec<Temporary> = some
            .iter()
            .enumerate()
            .map(|(slot, snapshot)| dir.write(lock, slot, snapshot.text.as_bytes()))
            .collect::<Result<_, _>>()?;
        dir.sync_files(&files)?;
        for (file, snapshot) in files.iter().zip(some) {
            dir.publish(file, &snapshot.name)?;
        }
    }
    Ok(())
}

fn move_head(
    dir: &Dir,
    lock: &Lock,
    theirs: &ExportedHead,
    (before, after): (&Survey, &Survey),
    imported: &mut Imported,
) -> Result<(), BundleError> {
    let Some(entry) = after.entries.get(&theirs.name) else { return Ok(()) };
    let chain: BTreeSet<&str> =
        after.chain(entry, &after.by_sha()).iter().map(|entry| entry.name.as_str()).collect();
    let ours = before.head_of(&theirs.scope).head;
    match ours {
        Some(ours) if ours.name == theirs.name => return Ok(()),
        Some(ours) if !chain.contains(ours.name.as_str()) => {
            // Where theirs comes before ours there is nothing to do.
            let ours_chain =
                after.entries.get(&ours.name).map(|ours| after.chain(ours, &after.by_sha()));
            let is_older =
                ours_chain.is_some_and(|chain| chain.iter().any(|one| one.name == entry.name));
            if !is_older {
                imported.conflicts.push(HeadConflict {
                    scope: theirs.scope.clone(),
                    ours: ours.name.clone(),
                    theirs: theirs.name.clone(),
                });
            }
            return Ok(());
        }
        _ => {}
    }
    let mut pointer = theirs.pointer();
    pointer.cut.extend(before.head(&theirs.scope).into_iter().flat_map(|head| head.cut.clone()));
    pointer.cut.sort_unstable();
    pointer.cut.dedup();
    dir.replace(lock, &head_name(&theirs.scope), pointer.encode_head().as_bytes())?;
    imported.heads.push(ImportedHead { scope: theirs.scope.clone(), name: theirs.name.clone() });
    Ok(())
}

/// `latest.json` names the newest of the heads that moved, if that is newer than what it names.
fn move_latest(
    dir: &Dir,
    lock: &Lock,
    imported: &Imported,
    after: &Survey,
) -> Result<(), BundleError> {
    let moved = imported.heads.iter().filter_map(|head| after.entries.get(&head.name));
    let Some(newest) = moved.max_by(|one, other| one.age().cmp(&other.age())) else {
        return Ok(());
    };
    let present = after.said_latest().and_then(|said| after.entries.get(&said.path));
    if present.is_some_and(|present: &Entry| present.age() >= newest.age()) {
        return Ok(());
    }
    let (path, sha) = (newest.name.clone(), newest.sha.clone());
    let pointer = Pointer { path, sha, ..Pointer::default() };
    dir.replace(lock, LATEST, pointer.encode_latest().as_bytes())
}
