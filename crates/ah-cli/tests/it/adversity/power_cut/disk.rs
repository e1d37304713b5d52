//! A model of the disk below one directory, driven by records.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::file::{Change, File};
use super::names::{Names, Node};
use super::record::{Record, Step};
use super::survival::{Kept, Survival};
use crate::adversity::random::Random;

/// Contents of files by relative path; nothing for a directory.
pub(super) type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

#[derive(Clone)]
pub(super) struct Disk {
    files: Vec<File>,
    by_inode: HashMap<u64, usize>,
    names: Names,
    /// The record at which the sync of a thread began.
    syncs: HashMap<u32, usize>,
}

impl Disk {
    /// What is below `root` now, all of it durable.
    pub(super) fn of(root: &Path) -> Self {
        let (mut files, mut by_inode, mut names) = (Vec::new(), HashMap::new(), BTreeMap::new());
        for path in walk(root) {
            let metadata = fs::metadata(&path).unwrap();
            let node = if metadata.is_dir() {
                Node::Directory
            } else {
                by_inode.insert(metadata.ino(), files.len());
                files.push(File::durable(fs::read(&path).unwrap()));
                Node::File(files.len() - 1)
            };
            names.insert(path.strip_prefix(root).unwrap().to_owned(), node);
        }
        Self { files, by_inode, names: Names::durable(names), syncs: HashMap::new() }
    }

    /// Does what a record says, which is number `at`.
    pub(super) fn apply(&mut self, at: usize, record: &Record) {
        match &record.step {
            Step::Create { inode, path } => {
                // The number of a file that is gone may be given to a new one.
                self.by_inode.insert(*inode, self.files.len());
                self.names.set(at, path, Some(Node::File(self.files.len())));
                self.files.push(File::default());
            }
            Step::Write { inode, offset, bytes } => {
                let change = Change::Write { offset: *offset, bytes: bytes.clone() };
                self.file(*inode).change(at, change);
            }
            Step::Truncate { inode, length } => {
                self.file(*inode).change(at, Change::Truncate { length: *length });
            }
            Step::SyncBegin => drop(self.syncs.insert(record.thread, at)),
            Step::SyncEnd { inode } => {
                let begin = self.syncs[&record.thread];
                self.file(*inode).settle(begin);
            }
            Step::DirectorySyncEnd { path } => {
                self.names.settle(path, self.syncs[&record.thread]);
            }
            Step::Unlink { path } => self.names.set(at, path, None),
            Step::Rename { from, to } => self.names.rename(at, from, to),
            Step::MakeDirectory { path } => self.names.set(at, path, Some(Node::Directory)),
            Step::Output { .. } => {}
        }
    }

    fn file(&mut self, inode: u64) -> &mut File {
        &mut self.files[self.by_inode[&inode]]
    }

    /// One of the states that a power cut may leave now.
    pub(super) fn after_crash(&self, kept: Kept, unit_bytes: usize, random: &mut Random) -> Tree {
        let mut units = 0;
        if matches!(kept, Kept::AllButOne | Kept::OnlyOne) {
            let mut counting = Survival::new(Kept::Everything, unit_bytes, 0, random);
            self.tree(&mut counting);
            units = counting.units;
        }
        self.tree(&mut Survival::new(kept, unit_bytes, units, random))
    }

    fn tree(&self, survival: &mut Survival<'_>) -> Tree {
        let names = self.names.after_crash(survival).into_iter();
        let contents = names.map(|(path, node)| match node {
            Node::Directory => (path, None),
            Node::File(number) => (path, Some(self.files[number].after_crash(survival))),
        });
        contents.collect()
    }
}

/// What is below `root` now, without shared memory.
pub(super) fn read_tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    for path in walk(root).into_iter().filter(|path| !is_shared_memory(path)) {
        let contents = path.is_file().then(|| fs::read(&path).unwrap());
        tree.insert(path.strip_prefix(root).unwrap().to_owned(), contents);
    }
    tree
}

/// Makes the files of `tree` below `root`.
pub(super) fn write_tree(tree: &Tree, root: &Path) {
    for (path, contents) in tree {
        let path = root.join(path);
        match contents {
            Some(contents) => fs::write(path, contents).unwrap(),
            None => fs::create_dir(path).unwrap(),
        }
    }
}

fn is_shared_memory(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with("-shm"))
}

/// Everything below `root`, directories before what is in them.
fn walk(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        let below = if path.is_dir() { walk(&path) } else { Vec::new() };
        found.push(path);
        found.extend(below);
    }
    found
}
