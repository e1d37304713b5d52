//! Everything a state directory holds, each file read and hashed once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::disk::{Dir, read_all};
use crate::pointer::{LATEST, POINTER_BYTES_MAX, Pointer, head_name, is_head_name};
use crate::sha::sha256;
use crate::snapshot::{check_sha, is_snapshot_name, short_sha};
use crate::time::CreatedAt;
use crate::{Bundle, BundleError, Damage, Problem};

/// How often a reader begins again because a writer was faster.
pub(crate) const RACES_MAX: usize = 16;

/// A snapshot without what it holds. Of a damaged one, what can still be read.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The hash of its bytes; empty when they cannot be read.
    pub(crate) sha: String,
    pub(crate) bytes: u64,
    /// Empty when it cannot be read.
    pub(crate) scope: String,
    pub(crate) created_at: Option<CreatedAt>,
    pub(crate) created_text: String,
    /// Empty when there is none.
    pub(crate) prev_sha: String,
    pub(crate) problem: Option<Problem>,
}

impl Entry {
    pub(crate) fn is_valid(&self) -> bool {
        self.problem.is_none()
    }

    /// Later is greater. The name decides between equal times.
    pub(crate) fn age(&self) -> (Option<CreatedAt>, &str) {
        (self.created_at, &self.name)
    }

    fn read(dir: &Dir, name: &str, bytes_max: u64) -> Self {
        let mut entry = Self {
            name: name.to_owned(),
            sha: String::new(),
            bytes: 0,
            scope: String::new(),
            created_at: None,
            created_text: String::new(),
            prev_sha: String::new(),
            problem: None,
        };
        match dir.read(name, bytes_max) {
            Ok(bytes) => entry.take(&Arc::new(bytes)),
            Err(problem) => entry.problem = Some(problem),
        }
        entry
    }

    fn take(&mut self, bytes: &Arc<Vec<u8>>) {
        self.sha = sha256(bytes);
        self.bytes = bytes.len() as u64;
        self.problem = check_sha(&self.name, None, &self.sha).err();
        match Bundle::parse_shared(bytes) {
            Ok(bundle) => {
                self.created_at = bundle.time();
                self.created_text = bundle.created_at;
                self.scope = bundle.scope_key;
                self.prev_sha = bundle.prev_sha;
            }
            Err(problem) => self.problem = Some(problem),
        }
    }
}

/// A pointer file and what it says.
#[derive(Debug, Clone)]
pub(crate) struct PointerFile {
    pub(crate) name: String,
    pub(crate) said: Result<Pointer, Problem>,
}

/// All files of a directory.
#[derive(Debug)]
pub(crate) struct Survey {
    /// By name.
    pub(crate) entries: BTreeMap<String, Entry>,
    pub(crate) heads: Vec<PointerFile>,
    pub(crate) latest: Option<PointerFile>,
    /// Names that are nobody's business here.
    pub(crate) foreign: Vec<String>,
}

impl Survey {
    /// Reads everything, again when a writer changed a pointer meanwhile: what the old one named may
    /// have been pruned.
    pub(crate) fn take(dir: &Dir, bytes_max: u64) -> Result<Self, BundleError> {
        let mut survey = Self::once(dir, bytes_max)?;
        for _ in 0..RACES_MAX {
            let same = |file: &PointerFile| {
                read_pointer(dir, &file.name).is_some_and(|again| again.said == file.said)
            };
            if survey.pointers().all(same) {
                break;
            }
            survey = Self::once(dir, bytes_max)?;
        }
        Ok(survey)
    }

    fn once(dir: &Dir, bytes_max: u64) -> Result<Self, BundleError> {
        let mut survey =
            Self { entries: BTreeMap::new(), heads: Vec::new(), latest: None, foreign: Vec::new() };
        for name in dir.names()? {
            if name == LATEST {
                survey.latest = read_pointer(dir, &name);
            } else if is_head_name(&name) {
                survey.heads.extend(read_pointer(dir, &name));
            } else if is_snapshot_name(&name) {
                survey.add(dir, &name, bytes_max);
            } else {
                survey.foreign.push(name);
            }
        }
        survey.add_named(dir, bytes_max);
        Ok(survey)
    }

    /// Snapshots under other names, which only pointers tell from foreign files.
    fn add_named(&mut self, dir: &Dir, bytes_max: u64) {
        let said: Vec<Pointer> =
            self.pointers().filter_map(|pointer| pointer.said.clone().ok()).collect();
        for pointer in said {
            if !self.entries.contains_key(&pointer.path) && is_own_name(&pointer.path) {
                self.add(dir, &pointer.path, bytes_max);
                self.foreign.retain(|name| *name != pointer.path);
            }
            let Some(entry) = self.entries.get_mut(&pointer.path) else { continue };
            // Nothing else vouches for the bytes of a file whose name gives no hash.
            let unvouched = short_sha(&entry.name).is_none() && !pointer.sha.is_empty();
            if unvouched && entry.is_valid() {
                entry.problem = check_sha(&entry.name, Some(&pointer.sha), &entry.sha).err();
            }
        }
    }

    fn add(&mut self, dir: &Dir, name: &str, bytes_max: u64) {
        let entry = Entry::read(dir, name, bytes_max);
        // One that went away since it was listed was pruned.
        if entry.problem != Some(Problem::Missing) {
            self.entries.insert(name.to_owned(), entry);
        }
    }

    /// `latest.json` and all heads.
    pub(crate) fn pointers(&self) -> impl Iterator<Item = &PointerFile> {
        self.latest.iter().chain(&self.heads)
    }

    /// What is wrong with a pointer, seen with what it names.
    pub(crate) fn pointer_problem(&self, pointer: &PointerFile) -> Option<Problem> {
        let said = match &pointer.said {
            Ok(said) => said,
            Err(problem) => return Some(problem.clone()),
        };
        let Some(entry) = self.entries.get(&said.path) else { return Some(Problem::Missing) };
        if said.sha.is_empty() {
            return Some(Problem::BlankSha);
        }
        if !entry.is_valid() {
            return None;
        }
        let is_own = pointer.name == LATEST || pointer.name == head_name(&entry.scope);
        let wrong_scope = || Problem::WrongScope { found: entry.scope.clone() };
        let wrong_sha = check_sha(&entry.name, Some(&said.sha), &entry.sha).err();
        wrong_sha.or_else(|| (!is_own).then(wrong_scope))
    }

    pub(crate) fn damage(&self) -> impl Iterator<Item = Damage> {
        self.entries.values().filter_map(|entry| {
            entry.problem.clone().map(|problem| Damage::new(&entry.name, problem))
        })
    }

    /// The scopes of all that is valid.
    pub(crate) fn scopes(&self) -> BTreeSet<&str> {
        self.valid().map(|entry| entry.scope.as_str()).collect()
    }

    pub(crate) fn valid(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.is_valid())
    }

    /// The valid snapshots of a scope.
    pub(crate) fn of_scope<'a>(&'a self, scope: &str) -> impl Iterator<Item = &'a Entry> {
        self.valid().filter(move |entry| entry.scope == scope)
    }

    /// Those that no other one of the scope has as its parent, the newest first.
    pub(crate) fn tips<'a>(&'a self, scope: &str) -> Vec<&'a Entry> {
        let parents: BTreeSet<&str> =
            self.of_scope(scope).map(|entry| entry.prev_sha.as_str()).collect();
        let mut tips: Vec<&Entry> =
            self.of_scope(scope).filter(|entry| !parents.contains(entry.sha.as_str())).collect();
        tips.sort_by(|one, other| other.age().cmp(&one.age()));
        tips
    }

    /// Where a scope stands, and the damaged snapshots before it.
    pub(crate) fn head_of<'a>(&'a self, scope: &str) -> Standing<'a> {
        let (head, latest) = (self.head(scope), self.said_latest());
        let start = head.or(latest).and_then(|said| self.entries.get(&said.path));
        let start = start.filter(|entry| match entry.is_valid() {
            true => entry.scope == scope,
            false => head.is_some() || !self.is_anothers(entry, scope),
        });
        let mut standing = start.map(|start| self.first_valid(start, scope)).unwrap_or_default();
        let Some(found) = standing.head else {
            standing.head = self.tips(scope).first().copied();
            return standing;
        };
        let latest = latest.and_then(|said| self.entries.get(&said.path));
        let latest = latest.filter(|entry| entry.is_valid() && entry.scope == scope);
        standing.head = latest.filter(|latest| self.overtakes(latest, found)).or(Some(found));
        standing
    }

    /// Whether a damaged snapshot is known to be of another scope: by what can be read of it, or by
    /// the head that names it.
    pub(crate) fn is_anothers(&self, entry: &Entry, scope: &str) -> bool {
        let own = head_name(scope);
        let names_it =
            |file: &PointerFile| matches!(&file.said, Ok(said) if said.path == entry.name);
        let named = self.heads.iter().any(|file| file.name != own && names_it(file));
        named || !entry.scope.is_empty() && entry.scope != scope
    }

    /// What the head of a scope says.
    pub(crate) fn head(&self, scope: &str) -> Option<&Pointer> {
        let name = head_name(scope);
        let file = self.heads.iter().find(|file| file.name == name);
        file.and_then(|file| file.said.as_ref().ok())
    }

    /// What `latest.json` says.
    pub(crate) fn said_latest(&self) -> Option<&Pointer> {
        self.latest.as_ref().and_then(|file| file.said.as_ref().ok())
    }

    /// Whether the original saved `latest` after we saved `head`: it is a child, or newer and no
    /// ancestor.
    pub(crate) fn overtakes(&self, latest: &Entry, head: &Entry) -> bool {
        let is_ancestor =
            || self.chain(head, &self.by_sha()).iter().any(|entry| entry.name == latest.name);
        latest.prev_sha == head.sha || (latest.created_at > head.created_at && !is_ancestor())
    }

    fn first_valid<'a>(&'a self, start: &'a Entry, scope: &str) -> Standing<'a> {
        let mut standing = Standing::default();
        for entry in self.chain(start, &self.by_sha()) {
            match &entry.problem {
                None if entry.scope == scope => {
                    standing.head = Some(entry);
                    return standing;
                }
                None => {}
                Some(problem) => standing.passed.push(Damage::new(&entry.name, problem.clone())),
            }
        }
        standing
    }

    /// Snapshots by what a child calls them: the hash of their bytes, else the one in their name.
    pub(crate) fn by_sha(&self) -> BySha<'_> {
        let mut found = HashMap::new();
        for entry in self.entries.values().filter(|entry| !entry.sha.is_empty()) {
            found.entry(entry.sha.as_str()).or_insert(entry);
        }
        let damaged = self.entries.values().filter(|entry| !entry.is_valid());
        let short = damaged.filter_map(|entry| Some((short_sha(&entry.name)?, entry))).collect();
        BySha { found, short }
    }

    /// From `start` along the links to parents, damaged ones included where they can be read.
    pub(crate) fn chain<'a>(&self, start: &'a Entry, by_sha: &BySha<'a>) -> Vec<&'a Entry> {
        let mut seen = BTreeSet::new();
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(entry) = next.filter(|entry| seen.insert(entry.name.as_str())) {
            chain.push(entry);
            next = by_sha.get(&entry.prev_sha);
        }
        chain
    }
}

/// Where a scope stands.
#[derive(Debug, Default)]
pub(crate) struct Standing<'a> {
    pub(crate) head: Option<&'a Entry>,
    pub(crate) passed: Vec<Damage>,
}

/// An index of snapshots by hash.
pub(crate) struct BySha<'a> {
    found: HashMap<&'a str, &'a Entry>,
    short: HashMap<String, &'a Entry>,
}

impl<'a> BySha<'a> {
    pub(crate) fn get(&self, sha: &str) -> Option<&'a Entry> {
        let by_name = || self.short.get(sha.get(..8)?);
        self.found.get(sha).or_else(by_name).copied()
    }
}

/// A pointer, if the file is there.
pub(crate) fn read_pointer(dir: &Dir, name: &str) -> Option<PointerFile> {
    let said = read_named(dir, name, || ()).and_then(|bytes| Pointer::parse(&bytes));
    (said != Err(Problem::Missing)).then(|| PointerFile { name: name.to_owned(), said })
}

/// The bytes of a file that has the name also when they are read: one that was put aside meanwhile
/// may be written over. `opened` is called before it is read.
fn read_named(dir: &Dir, name: &str, mut opened: impl FnMut()) -> Result<Vec<u8>, Problem> {
    for _ in 0..RACES_MAX {
        let (file, size) = dir.open_file(name)?;
        opened();
        let bytes = read_all(&file, size, POINTER_BYTES_MAX)?;
        if dir.is_named(&file, name) {
            return Ok(bytes);
        }
    }
    dir.read(name, POINTER_BYTES_MAX)
}

/// Whether a pointer may name it: not another pointer, not the lock.
fn is_own_name(name: &str) -> bool {
    name != LATEST && !is_head_name(name) && !name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use std::{fs, io};

    use ah_model::Timestamp;

    use super::*;
    use crate::{StateDir, Step};

    /// A reader opens the head, a save puts that file aside, and another one writes it over.
    #[test]
    fn a_pointer_that_is_written_over_while_it_is_read_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        let state = StateDir::new(directory.path().join("state"));
        let bundle = Bundle::new("m", "u", "");
        let name = head_name(&bundle.scope_key);
        state.save(bundle.clone(), Timestamp::EPOCH).unwrap();
        let stop = |step| match step {
            Step::Synced => Err(io::ErrorKind::Other.into()),
            _ => Ok(()),
        };
        let stopped = state.clone().with_steps(stop);
        let mut head = String::new();
        let mut opened = 0;
        let read = read_named(&Dir::open(state.path()).unwrap().unwrap(), &name, || {
            opened += 1;
            if opened == 1 {
                head = state.save(bundle.clone(), Timestamp::EPOCH).unwrap().snapshot.name;
                stopped.save(bundle.clone(), Timestamp::EPOCH).unwrap_err();
            }
        });
        assert_eq!(opened, 2);
        assert_eq!(Pointer::parse(&read.unwrap()).unwrap().path, head);
        // It was the file that was opened first.
        let spare = fs::read(state.path().join(".spare-ah-head")).unwrap();
        assert_ne!(Pointer::parse(&spare).unwrap().path, head);
    }
}
