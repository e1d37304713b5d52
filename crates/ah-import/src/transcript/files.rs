//! The files of a program's transcripts, below a directory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ah_model::Timestamp;

use crate::ImportError;
use crate::report::Tally;

/// Deeper than any program puts a transcript.
const DEPTH_MAX: usize = 16;
/// The end of the name of a transcript, and of one that was packed.
const TRANSCRIPT: &str = ".jsonl";
const PACKED: &str = ".jsonl.zst";
/// How the sessions of old versions of Gemini CLI are called, which are one document each.
const OLD: (&str, &str) = ("session-", ".json");
/// The ends of the names of databases and of what is beside them.
const LOG: &str = "-wal";
const WATCHED: [&str; 3] = [TRANSCRIPT, ".db", ".db-wal"];

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    /// Absolute, so that it is known again from anywhere.
    pub(crate) path: PathBuf,
    /// What it is called in reports: its path below what was given.
    pub(crate) name: String,
    /// Its size when it was found.
    pub(crate) bytes: u64,
    /// When it was made and last written to, where the system says it.
    pub(crate) born: Option<Timestamp>,
    pub(crate) changed: Option<Timestamp>,
}

impl SourceFile {
    fn of(path: PathBuf, root: &Path) -> io::Result<Self> {
        let found = fs::metadata(&path)?;
        let below = path.strip_prefix(root).ok().filter(|below| !below.as_os_str().is_empty());
        let name = below.unwrap_or(&path).to_string_lossy().into_owned();
        let (born, changed) = (time(found.created()), time(found.modified()));
        Ok(Self { path, name, bytes: found.len(), born, changed })
    }

    /// The name without its directory and its ending.
    pub(crate) fn stem(&self) -> &str {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.strip_suffix(TRANSCRIPT).unwrap_or(name)
    }

    /// The name of the directory so many above it.
    pub(crate) fn above(&self, levels: usize) -> Option<&str> {
        self.path.ancestors().nth(levels)?.file_name()?.to_str()
    }
}

fn time(said: io::Result<SystemTime>) -> Option<Timestamp> {
    let since = said.ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok().map(Timestamp::from_unix_ms)
}

/// The transcripts below `root`, or `root` itself, by their paths. Links are not followed.
pub(crate) fn find(root: &Path, tally: &mut Tally) -> Result<Vec<SourceFile>, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: root.to_owned(), source };
    let root = root.canonicalize().map_err(unreadable)?;
    if root.is_file() {
        return Ok(vec![SourceFile::of(root.clone(), &root).map_err(unreadable)?]);
    }
    let (mut files, mut open) = (Vec::new(), vec![(root.clone(), 0)]);
    fs::read_dir(&root).map_err(unreadable)?;
    while let Some((directory, depth)) = open.pop() {
        match entries(&directory) {
            Err(error) => {
                tally.remark(
                    &directory.to_string_lossy(),
                    None,
                    format!("cannot read it: {error}"),
                );
            }
            Ok((inner, below)) => {
                files.extend(below);
                if depth < DEPTH_MAX {
                    open.extend(inner.into_iter().map(|path| (path, depth + 1)));
                }
            }
        }
    }
    files.sort();
    let mut found = Vec::with_capacity(files.len());
    for path in files {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(PACKED) {
            tally.remark(&name, None, "is packed and left out: unpack it with `zstd -d` first");
            continue;
        }
        if !name.ends_with(TRANSCRIPT) {
            let reason = "is of an old Gemini CLI and left out: resume it there, which makes JSON lines of it";
            tally.remark(&name, None, reason);
            continue;
        }
        match SourceFile::of(path, &root) {
            Ok(file) => found.push(file),
            Err(error) => tally.remark(&name, None, format!("cannot read it: {error}")),
        }
    }
    Ok(found)
}

/// What shows that a file was written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    bytes: u64,
    changed: Option<SystemTime>,
}

/// The files below `root` that transcripts may be in, and what shows that one was written to. What
/// cannot be looked at is not among them; it may be there the next time.
pub fn transcript_files(root: &Path) -> BTreeMap<PathBuf, Stamp> {
    let mut found = BTreeMap::new();
    let Ok(root) = root.canonicalize() else { return found };
    let mut look = |path: PathBuf| {
        if let Ok(meta) = fs::symlink_metadata(&path) {
            let stamp = Stamp { bytes: meta.len(), changed: meta.modified().ok() };
            found.insert(path, stamp);
        }
    };
    if root.is_file() {
        // A database is written to in the log beside it.
        look(with_log(&root));
        look(root);
        return found;
    }
    let mut open = vec![(root, 0)];
    while let Some((directory, depth)) = open.pop() {
        let wanted = |name: &str| WATCHED.iter().any(|end| name.ends_with(end));
        let Ok((inner, files)) = entries_of(&directory, wanted) else { continue };
        files.into_iter().for_each(&mut look);
        if depth < DEPTH_MAX {
            open.extend(inner.into_iter().map(|path| (path, depth + 1)));
        }
    }
    found
}

/// The file beside a database that it is written to first.
pub(crate) fn with_log(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(LOG);
    name.into()
}

/// The directories in a directory, and its transcripts.
fn entries(directory: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let is_old = |name: &str| name.starts_with(OLD.0) && name.ends_with(OLD.1);
    entries_of(directory, |name| {
        name.ends_with(TRANSCRIPT) || name.ends_with(PACKED) || is_old(name)
    })
}

/// The directories in a directory, and its files whose names are `wanted`.
fn entries_of(
    directory: &Path,
    wanted: impl Fn(&str) -> bool,
) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut inner, mut files) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if kind.is_dir() {
            inner.push(entry.path());
        } else if kind.is_file() && wanted(&name) {
            files.push(entry.path());
        }
    }
    Ok((inner, files))
}
