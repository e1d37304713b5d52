//! The tree of a work tree as it is on disk, through an index that is not the user's.
//!
//! What belongs to it is what Git says: files that are tracked, and those that are neither tracked
//! nor ignored. Files outside of a sparse checkout are taken from the user's index, because a branch
//! without them would remove them. The index is kept for the next time, so that only files that
//! changed are read again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::repository::{Repository, Scratch};
use crate::SnapshotError;
use crate::error::file;
use crate::provider::Ignored;

const GITLINK: &str = "160000";
/// What the index of an earlier snapshot is called; the id of its commit follows.
const KEPT_INDEX: &str = "index-";

/// The tree of a work tree.
#[derive(Debug)]
pub(super) struct Tree {
    /// Its id.
    pub(super) id: String,
    /// What of the work tree it does not hold, a line each.
    pub(super) not_kept: Vec<String>,
    scratch: Scratch,
}

/// What goes into a tree.
#[derive(Debug, Default)]
struct Wanted {
    /// Files and links on disk.
    files: BTreeSet<Vec<u8>>,
    /// Mode and id of what is not read from disk: commits of other repositories, files outside of a
    /// sparse checkout.
    known: BTreeMap<Vec<u8>, (String, String)>,
    not_kept: Vec<String>,
}

impl Tree {
    /// Writes the tree of the work tree. `commits` are those that are surely kept: the index of one
    /// of them tells what needs no reading.
    pub(super) fn of(
        at: &Repository<'_>,
        ignored: Ignored,
        commits: &BTreeSet<String>,
    ) -> Result<Self, SnapshotError> {
        let wanted = Wanted::find(at, ignored)?;
        match kept_index(at, commits)? {
            // One that was damaged costs a full reading, not the snapshot.
            Some(index) => Self::write(at, &wanted, Some(&index)).or_else(|_| {
                let _ = fs::remove_file(&index);
                Self::write(at, &wanted, None)
            }),
            None => Self::write(at, &wanted, None),
        }
    }

    fn write(
        at: &Repository<'_>,
        wanted: &Wanted,
        from: Option<&Path>,
    ) -> Result<Self, SnapshotError> {
        let scratch = at.scratch()?;
        if let Some(from) = from {
            // A link keeps the time of the file, by which Git tells what may have changed since. Git
            // replaces indexes, so the other name stays what it is.
            fs::hard_link(from, &scratch.index).map_err(file("link", from))?;
        }
        let call = |args: &[&str]| {
            Ok::<_, SnapshotError>(at.plain(&at.top, args)?.env("GIT_INDEX_FILE", &scratch.index))
        };
        let there = call(&["ls-files", "-z"])?.run()?.text;
        let is_wanted =
            |path: &&[u8]| wanted.files.contains(*path) || wanted.known.contains_key(*path);
        let gone: Vec<&[u8]> = entries(&there).filter(|path| !is_wanted(path)).collect();
        if !gone.is_empty() {
            call(&["update-index", "--force-remove", "-z", "--stdin"])?.input(ended(gone)).run()?;
        }
        let update = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        call(&update)?.input(ended(wanted.files.iter().map(Vec::as_slice))).run()?;
        if !wanted.known.is_empty() {
            call(&["update-index", "-z", "--index-info"])?.input(wanted.index_info()).run()?;
        }
        // A partial clone need not have the files outside of its checkout.
        let write: &[&str] = match wanted.known.is_empty() {
            true => &["write-tree"],
            false => &["write-tree", "--missing-ok"],
        };
        let id = call(write)?.run()?.line();
        Ok(Self { id, not_kept: wanted.not_kept.clone(), scratch })
    }

    /// Keeps the index for the next time, as that of `commit`.
    pub(super) fn keep_index(self, at: &Repository<'_>, commit: &str) -> Result<(), SnapshotError> {
        let ours = at.ours()?;
        let kept = ours.join(format!("{KEPT_INDEX}{commit}"));
        fs::rename(&self.scratch.index, &kept).map_err(file("keep", &kept))?;
        for (path, _) in kept_indexes(&ours) {
            if path != kept {
                // Another call may have removed it.
                let _ = fs::remove_file(path);
            }
        }
        Ok(())
    }
}

/// The index of a commit that is still kept: of any other, files may be gone from the repository.
fn kept_index(
    at: &Repository<'_>,
    commits: &BTreeSet<String>,
) -> Result<Option<PathBuf>, SnapshotError> {
    let mut kept = kept_indexes(&at.ours()?).into_iter();
    Ok(kept.find(|(_, commit)| commits.contains(commit)).map(|(path, _)| path))
}

fn kept_indexes(ours: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(ours).into_iter().flatten().flatten();
    let commit = |name: &OsStr| name.to_str()?.strip_prefix(KEPT_INDEX).map(str::to_owned);
    entries.filter_map(|entry| Some((entry.path(), commit(&entry.file_name())?))).collect()
}

impl Wanted {
    fn find(at: &Repository<'_>, ignored: Ignored) -> Result<Self, SnapshotError> {
        let mut wanted = Self::default();
        let mut disk = Disk::new(&at.top);
        let tracked = at.call(&["ls-files", "-z", "-s", "-t"]).run()?.text;
        for entry in entries(&tracked).filter_map(Entry::read) {
            wanted.tracked(at, &mut disk, &entry)?;
        }
        let mut others = vec!["ls-files", "-z", "--others"];
        if ignored == Ignored::LeftOut {
            others.push("--exclude-standard");
        }
        let others = at.call(&others).run()?.text;
        for path in entries(&others) {
            match path.strip_suffix(b"/") {
                Some(path) => wanted.repository(at, path, None)?,
                None => drop(wanted.files.insert(path.to_vec())),
            }
        }
        wanted.refuse_attributes(at)?;
        wanted.name_empty_directories(at)?;
        Ok(wanted)
    }

    fn tracked(
        &mut self,
        at: &Repository<'_>,
        disk: &mut Disk<'_>,
        entry: &Entry<'_>,
    ) -> Result<(), SnapshotError> {
        match disk.look(entry.path) {
            Some(found) if found.is_dir() && entry.mode == GITLINK => {
                self.repository(at, entry.path, Some(entry.id))
            }
            Some(found) if !found.is_dir() => {
                self.files.insert(entry.path.to_vec());
                Ok(())
            }
            None if entry.is_skipped => {
                let known = (entry.mode.to_owned(), entry.id.to_owned());
                self.known.insert(entry.path.to_vec(), known);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A repository inside of this one: its commit is kept, not its files.
    fn repository(
        &mut self,
        at: &Repository<'_>,
        path: &[u8],
        recorded: Option<&str>,
    ) -> Result<(), SnapshotError> {
        let directory = at.top.join(OsStr::from_bytes(path));
        let name = String::from_utf8_lossy(path).into_owned();
        let is_one = directory.join(".git").exists();
        let ask = ["rev-parse", "--quiet", "--verify", "HEAD^{commit}"];
        let head = match is_one {
            true => Some(at.call_in(&directory, &ask).try_run()?),
            false => None,
        };
        let head = head.filter(|head| head.status.success()).map(|head| head.line());
        match head.or(recorded.map(str::to_owned)) {
            Some(commit) => {
                if is_one {
                    self.not_kept.push(format!(
                        "{name} is a repository of its own: its commit is kept, not its files"
                    ));
                }
                self.known.insert(path.to_vec(), (GITLINK.to_owned(), commit));
            }
            None => self.not_kept.push(format!("{name} is a repository without a commit")),
        }
        Ok(())
    }

    fn index_info(&self) -> Vec<u8> {
        let mut input = Vec::new();
        for (path, (mode, id)) in &self.known {
            input.extend_from_slice(format!("{mode} {id} 0\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        }
        input
    }

    /// Refuses a Git that would change bytes as attributes say and cannot be told not to.
    fn refuse_attributes(&self, at: &Repository<'_>) -> Result<(), SnapshotError> {
        const NAME: &[u8] = b".gitattributes";
        let is_one = |path: &[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(NAME);
        if !self.files.iter().any(|path| is_one(path)) {
            return Ok(());
        }
        let version = at.call(&["version"]).run()?.line();
        match is_at_least(&version, (2, 41)) {
            true => Ok(()),
            false => Err(SnapshotError::NotKept {
                reason: format!(
                    "{version} would change files as .gitattributes says; from 2.41 on it keeps them"
                ),
            }),
        }
    }

    fn name_empty_directories(&mut self, at: &Repository<'_>) -> Result<(), SnapshotError> {
        let list = ["ls-files", "-z", "--others", "--directory", "--exclude-standard"];
        let list = at.call(&list).run()?.text;
        let directories = entries(&list).filter_map(|path| path.strip_suffix(b"/"));
        let empty: Vec<_> = directories
            .filter(|path| is_empty(&at.top.join(OsStr::from_bytes(path))))
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect();
        if let [first, rest @ ..] = empty.as_slice() {
            self.not_kept.push(match rest.len() {
                0 => format!("{first} is an empty directory"),
                more => format!("{first} and {more} more are empty directories"),
            });
        }
        Ok(())
    }
}

/// Whether there is no file anywhere below.
fn is_empty(directory: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(directory) else { return false };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            entry.file_type().is_ok_and(|kind| kind.is_dir()) && is_empty(&entry.path())
        })
    })
}

/// Whether `git version X.Y.Z` is at least `wanted`.
fn is_at_least(version: &str, wanted: (u32, u32)) -> bool {
    let numbers = version.split(' ').find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let mut numbers = numbers.unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= wanted
}

/// An entry of the user's index.
struct Entry<'a> {
    is_skipped: bool,
    mode: &'a str,
    id: &'a str,
    path: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Reads `TAG MODE ID STAGE<tab>PATH`.
    fn read(line: &'a [u8]) -> Option<Self> {
        let tab = line.iter().position(|byte| *byte == b'\t')?;
        let (head, path) = (std::str::from_utf8(&line[..tab]).ok()?, &line[tab + 1..]);
        let mut words = head.split(' ');
        let (tag, mode, id) = (words.next()?, words.next()?, words.next()?);
        Some(Self { is_skipped: tag.eq_ignore_ascii_case("S"), mode, id, path })
    }
}

/// Looks at files below a directory without following links on the way.
pub(super) struct Disk<'a> {
    top: &'a Path,
    directories: HashMap<PathBuf, bool>,
}

impl<'a> Disk<'a> {
    pub(super) fn new(top: &'a Path) -> Self {
        Self { top, directories: HashMap::new() }
    }

    /// What is at `path`, if only directories lead there.
    pub(super) fn look(&mut self, path: &[u8]) -> Option<Metadata> {
        let path = Path::new(OsStr::from_bytes(path));
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        if parent.is_some_and(|parent| !self.is_directory(parent)) {
            return None;
        }
        fs::symlink_metadata(self.top.join(path)).ok()
    }

    fn is_directory(&mut self, path: &Path) -> bool {
        if let Some(known) = self.directories.get(path) {
            return *known;
        }
        let above = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let is_one = above.is_none_or(|above| self.is_directory(above))
            && fs::symlink_metadata(self.top.join(path)).is_ok_and(|found| found.is_dir());
        self.directories.insert(path.to_owned(), is_one);
        is_one
    }
}

/// The entries of a list whose entries end with a zero byte.
pub(super) fn entries(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == 0).filter(|entry| !entry.is_empty())
}

/// A list as [`entries`] reads it.
pub(super) fn ended<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, expected) in [
            ("git version 2.47.3", true),
            ("git version 2.41.0.windows.1", true),
            ("git version 2.39.5 (Apple Git-154)", false),
            ("git version 2.9.0", false),
            ("git version 3.0.0", true),
            ("nothing", false),
        ] {
            assert_eq!(is_at_least(version, (2, 41)), expected, "{version}");
        }
    }
}
