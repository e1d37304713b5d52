//! The folders of agents, and the files in them. Symbolic links are never followed.

use std::ffi::OsString;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::{history, state};
use crate::ImportError;
use crate::agent::{Body, Extras, Found, Leftover};
use crate::report::Tally;
use crate::writer::{Bounds, Stop};

/// The name of the file that says who an agent is.
pub(super) const DESCRIPTOR: &str = "descriptor.json";

const FILES: [&str; 3] = [DESCRIPTOR, state::FILE, history::FILE];

/// A folder that may hold an agent.
#[derive(Debug)]
pub(super) struct Folder {
    pub(super) name: OsString,
    pub(super) path: PathBuf,
    /// Why it is not looked into, if it is not.
    refused: Option<String>,
    /// A symbolic link, which is not followed: it may lead anywhere.
    is_link: bool,
    /// The length of each of [`FILES`] that is there.
    files: [Option<u64>; 3],
    /// What else is in it.
    others: Vec<(String, &'static str)>,
}

/// The directory of agents that `dir` holds or is.
pub(super) fn agents_dir(dir: &Path) -> Result<PathBuf, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: dir.to_owned(), source };
    if !fs::metadata(dir).map_err(unreadable)?.is_dir() {
        return Err(ImportError::NotADirectory { path: dir.to_owned() });
    }
    let below = dir.join("agents");
    let is_link_or_file = |kind: fs::Metadata| !kind.is_dir();
    match fs::symlink_metadata(&below) {
        Ok(kind) if is_link_or_file(kind.clone()) => {
            Err(ImportError::NotADirectory { path: below })
        }
        // An agent may have that name.
        Ok(_) if !holds_agent(&below) => Ok(below),
        _ => Ok(dir.to_owned()),
    }
}

/// Whether `folder` has one of the files of an agent in it.
fn holds_agent(folder: &Path) -> bool {
    FILES.iter().any(|file| folder.join(file).is_file())
}

/// Every folder of `dir` in the byte order of their names; what is no folder is remarked.
pub(super) fn folders(dir: &Path, tally: &mut Tally) -> Result<Vec<Folder>, ImportError> {
    let unreadable = |source| ImportError::Unreadable { path: dir.to_owned(), source };
    let mut found = Vec::new();
    for entry in entries(dir).map_err(unreadable)? {
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_dir() {
            found.push(Folder::look_into(&entry));
        } else if kind.is_symlink() && entry.path().is_dir() {
            let mut folder = Folder::empty(&entry);
            folder.is_link = true;
            found.push(folder);
        } else {
            tally.remark(&entry.file_name().to_string_lossy(), None, "not a folder, left alone");
        }
    }
    Ok(found)
}

/// The entries of a directory in the byte order of their names.
fn entries(dir: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = fs::read_dir(dir)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by(|a, b| {
        let (a, b) = (a.file_name(), b.file_name());
        a.as_encoded_bytes().cmp(b.as_encoded_bytes())
    });
    Ok(entries)
}

impl Folder {
    fn empty(entry: &DirEntry) -> Self {
        let (name, path) = (entry.file_name(), entry.path());
        Self { name, path, refused: None, is_link: false, files: [None; 3], others: Vec::new() }
    }

    fn look_into(entry: &DirEntry) -> Self {
        let mut folder = Self::empty(entry);
        if let Err(error) = folder.list() {
            folder.refused = Some(format!("cannot be read: {error}"));
        }
        folder
    }

    fn list(&mut self) -> io::Result<()> {
        for entry in entries(&self.path)? {
            let name = entry.file_name().to_string_lossy().into_owned();
            let meta = entry.metadata()?;
            let place = FILES.iter().position(|file| *file == name);
            match place {
                Some(place) if meta.is_file() => self.files[place] = Some(meta.len()),
                Some(_) => self.others.push((name, "not a regular file, not followed")),
                None => self.others.push((name, "left alone")),
            }
        }
        Ok(())
    }

    /// Bytes to read.
    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().flatten().sum()
    }

    /// Whether there is nothing of an agent in it.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Whether it has any of the files of an agent.
    pub(super) fn has_files(&self) -> bool {
        self.files.iter().any(Option::is_some)
    }

    /// Its name as an id, or why it cannot be taken.
    pub(super) fn id(&self) -> Result<&str, Stop> {
        if let Some(reason) = &self.refused {
            return Err(Stop::Failed(reason.clone()));
        }
        if self.is_link {
            return Err(Stop::Agent("is a symbolic link and not followed".to_owned()));
        }
        let name = self.name.to_str();
        let name = name.ok_or_else(|| Stop::Failed("its name is not UTF-8".to_owned()))?;
        match name.trim().is_empty() {
            true => Err(Stop::Failed("its name is blank".to_owned())),
            false => Ok(name),
        }
    }

    /// Says what else is in it.
    pub(super) fn name_others(&self, tally: &mut Tally) {
        for (name, what) in &self.others {
            tally.remark(name, None, *what);
        }
    }

    /// What is in one of the two files that hold one JSON value.
    pub(super) fn json_file(
        &self,
        file: &str,
        bounds: Bounds,
        extras: &mut Extras,
    ) -> Result<Found, Stop> {
        let Some(bytes) = self.length(file) else {
            return Ok(Found::Nothing("is missing".to_owned()));
        };
        let path = self.path.join(file);
        let max = bounds.json_file_bytes;
        if bytes > max {
            let reason = format!("has {bytes} bytes, at most {max} are allowed");
            let body = Body::File(path, bytes);
            extras.leftovers.push(Leftover { file: file.to_owned(), reason: reason.clone(), body });
            return Ok(Found::Nothing(reason));
        }
        let mut found = Vec::new();
        let read = File::open(path).and_then(|open| open.take(bytes).read_to_end(&mut found));
        read.map_err(|error| Stop::io(file, &error))?;
        Ok(Found::Bytes(found))
    }

    /// The history and its length, if there is one.
    pub(super) fn history(&self) -> Result<Option<(File, u64)>, Stop> {
        let Some(bytes) = self.length(history::FILE) else {
            return Ok(None);
        };
        let file = File::open(self.path.join(history::FILE));
        file.map(|file| Some((file, bytes))).map_err(|error| Stop::io(history::FILE, &error))
    }

    fn length(&self, file: &str) -> Option<u64> {
        FILES.iter().zip(self.files).find(|(name, _)| **name == file).and_then(|(_, bytes)| bytes)
    }
}
