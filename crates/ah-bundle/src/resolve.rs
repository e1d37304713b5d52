//! Which snapshot a scope stands at.
//!
//! The scope's own head decides. In a directory of the original there is none: then `latest.json`
//! if it is of the scope, else the newest end of the scope's chains. What is damaged is passed over,
//! along the chain first, and named.

use crate::disk::Dir;
use crate::peek::peek;
use crate::pointer::{LATEST, Pointer, head_name};
use crate::snapshot::Snapshot;
use crate::survey::{Entry, PointerFile, RACES_MAX, Survey, read_pointer};
use crate::{BundleError, Damage, Problem};

/// Where a scope stands.
#[derive(Debug, Default)]
pub(crate) struct Resolved {
    /// The newest valid snapshot.
    pub(crate) snapshot: Option<Snapshot>,
    /// What was passed over or is wrong with the pointers.
    pub(crate) damage: Vec<Damage>,
    /// Parents that were pruned.
    pub(crate) cut: Vec<String>,
    /// The scopes there are, when there is nothing for this one.
    pub(crate) scopes: Vec<String>,
}

/// What the two pointers of a scope say.
pub(crate) struct Pointers {
    pub(crate) head: Option<PointerFile>,
    pub(crate) latest: Option<PointerFile>,
}

/// Finds where `scope` stands; writes nothing.
pub(crate) fn resolve(dir: &Dir, scope: &str, bytes_max: u64) -> Result<Resolved, BundleError> {
    resolve_watched(dir, scope, bytes_max, || ())
}

/// As [`resolve`]; `read` is called when the pointers are read and nothing else is.
fn resolve_watched(
    dir: &Dir,
    scope: &str,
    bytes_max: u64,
    mut read: impl FnMut(),
) -> Result<Resolved, BundleError> {
    let search = Search { dir, scope, bytes_max };
    for _ in 0..RACES_MAX {
        let pointers = Pointers::read(dir, scope);
        read();
        if let Some(resolved) = search.by(&pointers)? {
            return Ok(resolved);
        }
    }
    Ok(search.by_survey(&Survey::take(dir, bytes_max)?))
}

impl Pointers {
    pub(crate) fn read(dir: &Dir, scope: &str) -> Self {
        Self { head: read_pointer(dir, &head_name(scope)), latest: read_pointer(dir, LATEST) }
    }

    fn same(&self, other: &Self) -> bool {
        let said = |file: &Option<PointerFile>| file.as_ref().map(|file| file.said.clone());
        said(&self.head) == said(&other.head) && said(&self.latest) == said(&other.latest)
    }
}

struct Search<'a> {
    dir: &'a Dir,
    scope: &'a str,
    bytes_max: u64,
}

impl Search<'_> {
    /// What the pointers lead to, or else everything that is there. Nothing when they changed.
    fn by(&self, pointers: &Pointers) -> Result<Option<Resolved>, BundleError> {
        let named = self.by_pointers(pointers)?;
        if self.is_outdated(named.as_ref(), pointers) {
            return Ok(None);
        }
        let found = match named {
            Some(named) => return Ok(Some(named)),
            None => self.by_survey(&Survey::take(self.dir, self.bytes_max)?),
        };
        Ok((!self.is_outdated(Some(&found), pointers)).then_some(found))
    }

    /// Whether something is wrong because a writer was faster: what the pointers named was pruned, or
    /// they were written over while they were read.
    fn is_outdated(&self, found: Option<&Resolved>, pointers: &Pointers) -> bool {
        let is_whole = |found: &Resolved| found.snapshot.is_some() && found.damage.is_empty();
        !found.is_some_and(is_whole) && !Pointers::read(self.dir, self.scope).same(pointers)
    }

    /// The usual way: what is named is there and whole. Nothing when it is not.
    fn by_pointers(&self, pointers: &Pointers) -> Result<Option<Resolved>, BundleError> {
        let latest = pointers.latest.as_ref().map(|file| &file.said);
        let Some(head) = &pointers.head else {
            return Ok(latest.and_then(|said| self.by_latest(said.as_ref().ok()?)));
        };
        let Ok(head) = &head.said else { return Ok(None) };
        let Some(mut resolved) = self.by_head(head) else { return Ok(None) };
        match latest {
            None => {}
            Some(Err(problem)) => resolved.damage.push(Damage::new(LATEST, problem.clone())),
            Some(Ok(latest)) if latest.path == head.path => {
                // A head of ours names it, so this pointer is ours as well.
                resolved.damage.extend(sha_problem(latest, &head.sha));
            }
            Some(Ok(latest)) => {
                let problem = self.overtake(&mut resolved, latest)?;
                // What it names is gone, or a writer was faster.
                if problem == Some(Problem::Missing) {
                    return Ok(None);
                }
            }
        }
        Ok(Some(resolved))
    }

    fn by_head(&self, head: &Pointer) -> Option<Resolved> {
        let snapshot =
            Snapshot::read(self.dir, &head.path, Some(&head.sha), self.bytes_max).ok()?;
        let fits = snapshot.bundle.scope_key == self.scope;
        let cut = head.cut.clone();
        fits.then(|| Resolved { snapshot: Some(snapshot), cut, ..Resolved::default() })
    }

    /// `latest.json` in a directory where the scope has no head. It is the original's, which takes a
    /// blank hash; that is said.
    fn by_latest(&self, latest: &Pointer) -> Option<Resolved> {
        let blank = latest.sha.is_empty();
        let expected = (!blank).then_some(latest.sha.as_str());
        let snapshot = Snapshot::read(self.dir, &latest.path, expected, self.bytes_max).ok()?;
        let damage: Vec<Damage> =
            blank.then(|| Damage::new(LATEST, Problem::BlankSha)).into_iter().collect();
        (snapshot.bundle.scope_key == self.scope).then(|| Resolved {
            snapshot: Some(snapshot),
            damage,
            ..Resolved::default()
        })
    }

    /// Where `latest.json` names a newer bundle of the scope that does not come before the head, the
    /// original saved after us. Says what is wrong with the bundle it names.
    fn overtake(
        &self,
        resolved: &mut Resolved,
        latest: &Pointer,
    ) -> Result<Option<Problem>, BundleError> {
        let scope = peek(self.dir, &latest.path, self.bytes_max).map(|peek| peek.scope);
        if scope.is_ok_and(|scope| scope != self.scope) {
            return Ok(None);
        }
        let expected = (!latest.sha.is_empty()).then_some(latest.sha.as_str());
        let saved = match Snapshot::read(self.dir, &latest.path, expected, self.bytes_max) {
            Ok(saved) => saved,
            Err(problem) => {
                resolved.damage.push(Damage::new(&latest.path, problem.clone()));
                return Ok(Some(problem));
            }
        };
        let Some(head) = &resolved.snapshot else { return Ok(None) };
        if saved.bundle.scope_key == self.scope && self.overtakes(&saved, head)? {
            if latest.sha.is_empty() {
                resolved.damage.push(Damage::new(LATEST, Problem::BlankSha));
            }
            resolved.snapshot = Some(saved);
        }
        Ok(None)
    }

    /// Whether the original saved `latest` after `head`; everything is read only for a newer one that
    /// is no child.
    fn overtakes(&self, latest: &Snapshot, head: &Snapshot) -> Result<bool, BundleError> {
        if latest.bundle.prev_sha == head.sha || latest.bundle.time() <= head.bundle.time() {
            return Ok(latest.bundle.prev_sha == head.sha);
        }
        let survey = Survey::take(self.dir, self.bytes_max)?;
        let entry = |snapshot: &Snapshot| survey.entries.get(&snapshot.name);
        let both = entry(latest).zip(entry(head));
        Ok(both.is_some_and(|(latest, head)| survey.overtakes(latest, head)))
    }

    /// The way of a damaged directory, or one of the original: everything is read.
    fn by_survey(&self, survey: &Survey) -> Resolved {
        let standing = survey.head_of(self.scope);
        let read = |entry: &Entry| {
            Snapshot::read(self.dir, &entry.name, Some(&entry.sha), self.bytes_max).ok()
        };
        let mut resolved = Resolved {
            snapshot: standing.head.and_then(read),
            damage: standing.passed,
            cut: survey.head(self.scope).map(|head| head.cut.clone()).unwrap_or_default(),
            scopes: Vec::new(),
        };
        // `latest.json` of a directory with other scopes says nothing about this one.
        let concerns = resolved.snapshot.is_some() || survey.valid().next().is_none();
        let latest = survey.latest.iter().filter(|_| concerns);
        let name = head_name(self.scope);
        for file in survey.heads.iter().filter(|file| file.name == name).chain(latest) {
            let problem = survey.pointer_problem(file);
            resolved.damage.extend(problem.map(|problem| Damage::new(&file.name, problem)));
        }
        if resolved.snapshot.is_none() {
            self.nothing(survey, &mut resolved);
        }
        resolved
    }

    /// Everything that may have been of the scope, or else the scopes there are.
    fn nothing(&self, survey: &Survey, resolved: &mut Resolved) {
        let unknown = |name: &str| {
            let entry = survey.entries.get(name);
            entry.is_none_or(|entry| !survey.is_anothers(entry, self.scope))
        };
        let more: Vec<Damage> = survey.damage().filter(|damage| unknown(&damage.file)).collect();
        for damage in more {
            if !resolved.damage.contains(&damage) {
                resolved.damage.push(damage);
            }
        }
        resolved.scopes = survey.scopes().into_iter().map(str::to_owned).collect();
    }
}

/// What is wrong with the hash of a `latest.json` that is ours.
fn sha_problem(latest: &Pointer, expected: &str) -> Option<Damage> {
    let problem = match latest.sha.as_str() {
        "" => Problem::BlankSha,
        sha if sha == expected => return None,
        sha => Problem::WrongSha { expected: sha.to_owned(), found: expected.to_owned() },
    };
    Some(Damage::new(LATEST, problem))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::num::NonZeroUsize;

    use ah_model::Timestamp;

    use super::*;
    use crate::{Bundle, DryRun, StateDir};

    const SCOPE: &str = "one";

    fn given() -> (tempfile::TempDir, StateDir) {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path().join("state"));
        save(&state);
        (directory, state)
    }

    fn save(state: &StateDir) -> Snapshot {
        let bundle = Bundle { scope_key: SCOPE.to_owned(), ..Bundle::new("m", "u", "") };
        state.save(bundle, Timestamp::EPOCH).unwrap().snapshot
    }

    /// What is found when `meanwhile` happens once the pointers are read for the first time.
    fn resolved(state: &StateDir, mut meanwhile: impl FnMut()) -> Resolved {
        let mut looks = 0;
        let dir = Dir::open(state.path()).unwrap().unwrap();
        let resolved = resolve_watched(&dir, SCOPE, state.bytes_max, || {
            looks += 1;
            if looks == 1 {
                meanwhile();
            }
        });
        assert_eq!(looks, 2);
        resolved.unwrap()
    }

    #[test]
    fn what_is_pruned_while_it_is_looked_for_is_no_damage() {
        let (_directory, state) = given();
        let mut newest = None;
        let found = resolved(&state, || {
            save(&state);
            newest = Some(save(&state));
            state.prune(NonZeroUsize::MIN, DryRun::No).unwrap();
        });
        assert_eq!((found.snapshot, found.damage), (newest, vec![]));
    }

    #[test]
    fn a_damaged_pointer_that_is_mended_while_it_is_looked_at_is_no_damage() {
        for name in [LATEST.to_owned(), head_name(SCOPE)] {
            let (_directory, state) = given();
            // Both names are of one file.
            fs::write(state.path().join(&name), "-").unwrap();
            let mut newest = None;
            let found = resolved(&state, || newest = Some(save(&state)));
            assert_eq!((found.snapshot, found.damage), (newest, vec![]), "{name}");
        }
    }
}
