//! State bundles and the pointers to them, from files that anybody may have written.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ah_bundle::json::Value;
use ah_bundle::{Bundle, StateDir};
use tempfile::TempDir;

pub(crate) const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "\\udc00",
    "null",
    "true",
    "1e400",
    "-0",
    "0.1",
    "\"version\":\"1\"",
    "\"path\":\"state-.json\"",
    "\"..\"",
    "\"sha256\":",
    "\"cut\":[\"\"]",
    "\"scope_key\":",
    "\"created_at\":\"2026-03-01T08:00:00Z\"",
    "\"prompts\":{}",
    "\"prev_sha\":",
    "\u{feff}",
];

const FIXTURES: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/ah-bundle/tests/it/fixtures");

fn files(wanted: fn(&str) -> bool) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(FIXTURES)];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<PathBuf> = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&name) {
                found.extend(fs::read(&path));
            }
        }
    }
    assert!(!found.is_empty(), "{FIXTURES}: no seeds");
    found
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    files(|name| name != "latest.json")
}

pub(crate) fn pointers() -> Vec<Vec<u8>> {
    let head = r#"{"version":"1","scope_key":"s","path":"state-a.json","sha256":"00","cut":["a"]}"#;
    files(|name| name == "latest.json").into_iter().chain([head.as_bytes().to_vec()]).collect()
}

pub(crate) fn parse(input: &[u8]) {
    if let Ok(value) = Value::parse(input) {
        assert_eq!(Value::parse(value.encode().as_bytes()).as_ref(), Ok(&value), "value");
    }
    if let Ok(bundle) = Bundle::parse(input) {
        assert_eq!(
            Bundle::parse(bundle.encode().as_bytes()).as_ref().ok(),
            Some(&bundle),
            "bundle"
        );
    }
    if let Ok(draft) = Bundle::draft(input) {
        assert_eq!(Bundle::draft(draft.encode().as_bytes()).as_ref().ok(), Some(&draft), "draft");
    }
}

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Pointers are read only from directories, so each input is written as one.
pub(crate) fn pointer(input: &[u8]) {
    FOLDER.with(|cell| {
        let folder = cell.get_or_init(private_folder).path();
        write(&folder.join("latest.json"), input);
        let state = StateDir::new(folder);
        // A refusal names the problem; only a panic is wrong.
        let _ = state.load("s");
        let _ = state.list();
    });
}

fn private_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("its mode");
    folder
}

fn write(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    // A new file: some file systems sync one that is written over.
    let _ = fs::remove_file(path);
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(bytes)).expect("a file of the temporary folder");
}
