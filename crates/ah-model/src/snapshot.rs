//! Snapshots of the files a session works on. Their provider owns them; a session's log refers to
//! them by events of the type [`SNAPSHOT`].

use serde::{Deserialize, Serialize};

use crate::word::words;
use crate::{Event, Invalid, Labels, NewEvent, RawJson, SessionId, Timestamp};

/// The type of events that refer to a snapshot.
pub const SNAPSHOT: &str = "snapshot";

words!(
    /// Who keeps snapshots.
    SnapshotProvider, "provider", {
        /// Commits under `refs/ah/sessions`.
        Git = "git",
        /// Read-only snapshots of a subvolume.
        Btrfs = "btrfs",
        /// Snapshots of a dataset.
        Zfs = "zfs",
        /// The file system of the `agentfs` program.
        AgentFs = "agentfs",
    }
);

/// A state of a directory, as its provider keeps it and as events refer to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSnapshot {
    /// Names these very files, and is never given again: the hash of a commit, a number of ZFS.
    pub id: String,
    /// The session whose work it is.
    pub session_id: SessionId,
    /// Counts the snapshots of the session in this directory, from 1.
    pub number: u64,
    /// Who keeps it.
    pub provider: SnapshotProvider,
    /// Where the provider keeps it: a ref, a path, a name of a dataset.
    pub reference: String,
    /// The directory whose files it holds.
    pub directory: String,
    /// When it was taken.
    pub created_at: Timestamp,
    /// The id of the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The commit that was checked out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// What was said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Labels of its own.
    #[serde(default, skip_serializing_if = "no_labels")]
    pub labels: Labels,
}

fn no_labels(labels: &Labels) -> bool {
    labels.0.is_empty()
}

impl FileSnapshot {
    /// The event that refers to it; its key makes a second one harmless.
    pub fn event(&self) -> Result<NewEvent, Invalid> {
        Ok(NewEvent {
            kind: SNAPSHOT.to_owned(),
            data: RawJson::of(self)?,
            dedup_key: Some(format!("{SNAPSHOT}:{}:{}", self.provider, self.id)),
            ts: Some(self.created_at),
        })
    }

    /// What an event refers to; nothing if it is of another type or cannot be read.
    pub fn of_event(event: &Event) -> Option<Self> {
        (event.kind == SNAPSHOT).then(|| event.data.read().ok()).flatten()
    }

    /// Whether `text` is the beginning of its id.
    pub fn is_called(&self, text: &str) -> bool {
        !text.is_empty() && self.id.starts_with(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_all_of_a_snapshot_and_is_the_same_again() {
        let snapshot = FileSnapshot {
            id: "abc123".to_owned(),
            session_id: "s".parse().unwrap(),
            number: 2,
            provider: SnapshotProvider::Git,
            reference: "refs/ah/sessions/s/2".to_owned(),
            directory: "/w".to_owned(),
            created_at: Timestamp::from_unix_ms(1_234),
            parent: Some("abc122".to_owned()),
            base: None,
            message: Some("before the change".to_owned()),
            labels: Labels::from_pairs(&["step=1".to_owned()]).unwrap(),
        };
        let new = snapshot.event().unwrap();
        assert_eq!(new.dedup_key.as_deref(), Some("snapshot:git:abc123"));
        let mut event = Event {
            session_id: "s".parse().unwrap(),
            seq: 7,
            ts: Timestamp::from_unix_ms(0),
            kind: new.kind,
            data: new.data,
            dedup_key: new.dedup_key,
        };
        assert_eq!(FileSnapshot::of_event(&event), Some(snapshot));
        event.data = RawJson::null();
        assert_eq!(FileSnapshot::of_event(&event), None);
    }
}
