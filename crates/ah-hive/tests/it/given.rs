//! What tests start from.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ah_conformance::{ModelStore, SeededIds, TestClock};
use ah_hive::{Home, Homes, Host, HostError};
use ah_model::RawJson;
use ah_store::{Capabilities, Ids};
use rusqlite::Connection;

/// A state directory of its own.
pub(crate) struct State {
    folder: tempfile::TempDir,
}

impl State {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn homes(&self) -> Homes {
        Homes::new(self.path())
    }

    pub(crate) fn home(&self, name: &str) -> Home {
        self.homes().create(name).unwrap()
    }

    /// Something that no test may touch, and a file in it.
    pub(crate) fn elsewhere(&self) -> PathBuf {
        let elsewhere = self.path().join("elsewhere");
        fs::create_dir_all(&elsewhere).unwrap();
        fs::write(elsewhere.join("treasure"), "gold").unwrap();
        elsewhere
    }
}

/// A host of the oracle, with homes.
pub(crate) fn host(state: &State, clock: &TestClock) -> Host {
    Host::new(oracle(clock), Some(state.homes())).with_clock(Arc::new(clock.clone()))
}

/// A fresh oracle.
pub(crate) fn oracle(clock: &TestClock) -> Arc<ModelStore> {
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    let capabilities = Capabilities { workspaces: false };
    Arc::new(ModelStore::new(Arc::new(clock.clone()), ids, capabilities))
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

pub(crate) fn json(text: &str) -> RawJson {
    RawJson::parse("payload", text, usize::MAX).unwrap()
}

/// A file of live events, as `other`, in another hand than the host's.
pub(crate) fn database(path: &Path) -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute("ATTACH ?1 AS other", [path.to_str().unwrap()]).unwrap();
    connection
}

/// The reason why a place was refused.
pub(crate) fn unsafe_reason<T: std::fmt::Debug>(result: Result<T, HostError>) -> String {
    match result {
        Err(HostError::Unsafe { path, reason }) => format!("{}: {reason}", path.display()),
        other => panic!("{other:?} is no refusal of a place"),
    }
}
