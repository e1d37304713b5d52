//! A store and a session to append to.

use std::path::Path;
use std::sync::Arc;

use ah_model::{NewEvent, NewRepo, NewSession, RawJson, SessionId, Vcs};
use ah_store::{Capabilities, Ids, Sessions, SystemClock, SystemIds, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};

pub(crate) fn open(path: &Path) -> SqlStore {
    let ids = Ids::new(Box::new(SystemIds));
    let capabilities = Capabilities { workspaces: false };
    let options = SqliteOptions::new(path);
    SqlStore::open_sqlite(options, capabilities, Arc::new(SystemClock), ids).unwrap().0
}

pub(crate) fn new_session(id: &str) -> NewSession {
    let repo = NewRepo {
        vcs: Vcs::None,
        root_path: Some("/r".to_owned()),
        remote_url: None,
        default_branch: None,
    };
    let mut session = NewSession::new(repo, "codex".parse().unwrap());
    session.id = Some(id.parse().unwrap());
    session
}

/// Makes a session in the database at `path`.
pub(crate) fn session(path: &Path, id: &str) -> SessionId {
    block_on(open(path).create_session(new_session(id))).unwrap().id
}

/// The id of a session as we would mint it: its length is part of what a row costs.
pub(crate) fn long_id(number: usize) -> String {
    format!("019b7ca9-8f2e-7001-a2ee-{number:012}")
}

/// About 300 bytes, as a tool call's record.
pub(crate) fn payload() -> String {
    let text = "x".repeat(240);
    format!(r#"{{"tool":"bash","input":{{"command":"{text}"}},"ok":true}}"#)
}

pub(crate) fn event() -> NewEvent {
    let data = RawJson::parse("data", &payload(), 1_000).unwrap();
    NewEvent { kind: "pre_tool".to_owned(), data, dedup_key: None, ts: None }
}
