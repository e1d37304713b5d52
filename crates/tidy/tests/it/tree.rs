//! The files of the workspace, without what is built or private to a machine.

use std::fs;
use std::path::{Path, PathBuf};

/// Hidden folders that belong to the tree.
const HIDDEN: [&str; 4] = [".cargo", ".ci", ".config", ".github"];

/// The workspace root.
pub(crate) fn root() -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    path.canonicalize().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a file below the root; bytes that are no text become replacement characters.
pub(crate) fn read(path: &str) -> String {
    let bytes = fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn exists(path: &str) -> bool {
    root().join(path).exists()
}

/// Every file below `folder`, as paths from the root with `/` between the names, sorted.
pub(crate) fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    visit(&root(), Path::new(folder), &mut found);
    found.sort();
    found
}

/// The Rust files below `folder`.
pub(crate) fn rust_files(folder: &str) -> Vec<String> {
    let mut found = files(folder);
    found.retain(|path| path.ends_with(".rs"));
    found
}

/// The names of a folder's entries, sorted; none if it does not exist.
pub(crate) fn entries(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The folders of every workspace member.
pub(crate) fn members() -> Vec<String> {
    let crates = entries("crates").into_iter().map(|name| format!("crates/{name}"));
    crates.chain(["xtask".to_owned()]).collect()
}

/// Fails with the rule and one offender per line.
#[track_caller]
pub(crate) fn assert_none(rule: &str, offenders: &[String]) {
    assert!(offenders.is_empty(), "{rule}:\n  {}", offenders.join("\n  "));
}

fn visit(root: &Path, folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && is_ours(&name, &entry.path()) {
            visit(root, &path, found);
        } else if !is_folder {
            found.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
}

fn is_ours(name: &str, path: &Path) -> bool {
    let hidden = name.starts_with('.') && !HIDDEN.contains(&name);
    !hidden && !path.join("CACHEDIR.TAG").exists()
}
