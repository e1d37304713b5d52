//! Directories to begin with.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use ah_bundle::json::Value;
use ah_bundle::{Bundle, StateDir};
use ah_model::Timestamp;
use tempfile::TempDir;

pub(crate) const NOW: i64 = 1_800_000_000_000;

/// A private directory that is removed when this is dropped.
pub(crate) struct Given {
    _temporary: TempDir,
    path: PathBuf,
}

impl Given {
    /// Nothing is there yet.
    pub(crate) fn nothing() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("state");
        Self { _temporary: temporary, path }
    }

    /// A copy of a fixture, with the modes that it had.
    pub(crate) fn fixture(name: &str) -> Self {
        let given = Self::nothing();
        given.add_fixture(name);
        given
    }

    pub(crate) fn add_fixture(&self, name: &str) {
        fs::create_dir_all(&self.path).unwrap();
        set_mode(&self.path, 0o700);
        for entry in fs::read_dir(fixtures().join(name)).unwrap() {
            let entry = entry.unwrap();
            self.write(entry.file_name().to_str().unwrap(), &fs::read(entry.path()).unwrap());
        }
    }

    pub(crate) fn dir(&self) -> StateDir {
        StateDir::new(&self.path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a private file.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        // A new file, as every writer makes one: a pointer may have two names.
        let _ = fs::remove_file(self.file(name));
        fs::write(self.file(name), bytes).unwrap();
        set_mode(&self.file(name), 0o600);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    /// Names, modes and bytes of all files, to see that nothing changed.
    pub(crate) fn files(&self) -> BTreeMap<String, (u32, Vec<u8>)> {
        let entries = fs::read_dir(&self.path).unwrap().map(Result::unwrap);
        let mut files: BTreeMap<String, (u32, Vec<u8>)> = entries
            .map(|entry| {
                let mode = entry.path().symlink_metadata().unwrap().permissions().mode();
                let bytes = fs::read(entry.path()).unwrap_or_default();
                (entry.file_name().into_string().unwrap(), (mode, bytes))
            })
            .collect();
        let mode = fs::metadata(&self.path).unwrap().permissions().mode();
        files.insert(".".to_owned(), (mode, Vec::new()));
        files
    }

    /// The names, but for the lock.
    /// The name of the head of a scope.
    pub(crate) fn head(&self, scope: &str) -> String {
        let of_scope = |name: &String| {
            let said: serde_json::Value = serde_json::from_str(&self.read(name)).unwrap();
            let snapshot = self.read(said["path"].as_str().unwrap());
            snapshot.contains(&format!("\"scope_key\": \"{scope}\""))
        };
        let mut heads = self.names().into_iter().filter(|name| name.starts_with("head-"));
        heads.find(of_scope).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.files().into_keys().filter(|name| name != "." && name != ".lock").collect()
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A bundle of `scope` with one prompt.
pub(crate) fn bundle(scope: &str, prompt: &str) -> Bundle {
    let mut bundle = Bundle::new("model", "http://localhost/v1", "");
    bundle.scope_key = scope.to_owned();
    bundle.prompts = Some([("system".to_owned(), Value::from(prompt))].into_iter().collect());
    bundle
}

/// The time `ms` after the one that tests begin with.
pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(NOW + ms)
}
