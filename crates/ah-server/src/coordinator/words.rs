//! Its words for ours: statuses, kinds, times and ids. The one place where they are mapped.

use ah_model::limits::INDEXED_TEXT_BYTES_MAX;
use ah_model::{
    AgentKindRef, ExecutorId, Invalid, NewRepo, RunKind, SessionStatus, Timestamp, Vcs, to_hex,
};
use ah_store::{IdSource, StoreError, SystemIds};
use sha2::{Digest, Sha256};

/// What it calls a session in `status`.
pub(super) fn session_status(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Created => "pending",
        SessionStatus::Running => "running",
        SessionStatus::Idle => "idle",
        SessionStatus::Stopping => "stopping",
        SessionStatus::Cancelled => "stopped",
        SessionStatus::Succeeded => "finished",
        SessionStatus::Failed => "failed",
    }
}

/// What it calls a session that is not there.
pub(super) const NOT_EXISTENT: &str = "not_existent";

/// What it calls a run of `kind`. Statuses and execution modes of runs are the same words.
pub(super) fn run_type(kind: RunKind) -> &'static str {
    match kind {
        RunKind::Start => "start_session",
        RunKind::Resume => "resume_session",
    }
}

/// UTC with microseconds, as Python writes it.
pub(super) fn time(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{}000+00:00", text.strip_suffix('Z').unwrap_or(&text))
}

/// Reads a time; one without an offset is UTC, as the original takes it.
pub(super) fn read_time(text: &str) -> Option<Timestamp> {
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

/// The kind of sessions that were started without the name of an agent, here or before an import.
pub(super) const UNNAMED: &str = "agent-coordinator";

/// The kind that stands for the blueprint `name`.
pub(super) fn agent_kind(name: Option<&str>) -> Result<AgentKindRef, Invalid> {
    if name == Some(UNNAMED) {
        let reason = format!("{UNNAMED:?} stands for sessions without an agent");
        return Err(Invalid::new("agent_name", reason));
    }
    let name = name.unwrap_or(UNNAMED).to_owned();
    let kind = AgentKindRef { name, version: "latest".to_owned() };
    kind.check().map_err(|invalid| Invalid::new("agent_name", invalid.reason))?;
    Ok(kind)
}

/// The blueprint that `kind` stands for.
pub(super) fn agent_name(kind: &AgentKindRef) -> Option<&str> {
    (kind.name != UNNAMED).then_some(kind.name.as_str())
}

/// Where sessions work that do not say it.
const NOWHERE: &str = "agent-coordinator://no-project-dir";

/// The plain directory that a session works in. One that is no whole path, or too long for an
/// index, is not known as a repository.
pub(super) fn repo(project_dir: Option<&str>) -> NewRepo {
    let root = project_dir.filter(|dir| is_absolute(dir) && dir.len() <= INDEXED_TEXT_BYTES_MAX);
    NewRepo {
        vcs: Vcs::None,
        root_path: root.map(str::to_owned),
        remote_url: root.is_none().then(|| NOWHERE.to_owned()),
        default_branch: None,
    }
}

/// Whether `dir` is a whole path, on whatever machine the session runs.
fn is_absolute(dir: &str) -> bool {
    let drive = dir.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && matches!(dir.get(1..3), Some(":\\" | ":/"));
    dir.starts_with('/') || dir.starts_with("\\\\") || drive
}

/// A fresh id: `prefix` and 12 random hex digits.
pub(super) fn fresh_id(prefix: &str) -> Result<String, StoreError> {
    let random = SystemIds.random()?;
    Ok(format!("{prefix}{}", to_hex(&random[..6])))
}

/// The id of a runner, from what tells it from others: the same runner always has the same one.
pub(super) fn runner_id(parts: &[&str]) -> Result<ExecutorId, Invalid> {
    let digest = to_hex(&Sha256::digest(parts.join(":")));
    format!("lnch_{}", &digest[..12]).parse()
}

/// The type of executor that a runner offers. Older runners name their program there instead, and
/// knew no other type than the first.
pub(super) fn executor_type(word: Option<&str>) -> &'static str {
    match word {
        Some("procedural") => "procedural",
        _ => "autonomous",
    }
}

/// The number of a signal that is named.
pub(super) fn signal(name: &str) -> Option<i64> {
    let signals = [("SIGHUP", 1), ("SIGINT", 2), ("SIGQUIT", 3), ("SIGKILL", 9), ("SIGTERM", 15)];
    signals.iter().find(|(word, _)| *word == name).map(|(_, number)| *number)
}

/// `text` as a stored text may be: at most `max` bytes, without NUL.
pub(super) fn fitting(text: &str, max: usize) -> String {
    let end = text.floor_char_boundary(max.min(text.len()));
    text[..end].replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_word_and_reads_back() {
        let words = SessionStatus::ALL.map(session_status);
        let expected = ["pending", "running", "idle", "stopping", "finished", "failed", "stopped"];
        assert_eq!(words, expected);
        for status in SessionStatus::ALL {
            assert_eq!(session_status(status).parse(), Ok(status));
        }
    }

    #[test]
    fn times_have_microseconds_and_an_offset() {
        let at: Timestamp = "2026-01-02T03:04:05.678Z".parse().unwrap();
        assert_eq!(time(at), "2026-01-02T03:04:05.678000+00:00");
        for text in ["2026-01-02T03:04:05.678000+00:00", "2026-01-02T03:04:05.678"] {
            assert_eq!(read_time(text), Some(at), "{text}");
        }
        assert_eq!(read_time("not a time"), None);
    }

    #[test]
    fn a_runner_is_known_by_what_it_is() {
        // sha256("test-host:/test:default"), and the same with ":claude".
        let id = |parts: &[&str]| runner_id(parts).unwrap().to_string();
        assert_eq!(id(&["test-host", "/test", "default"]), OLD);
        assert_eq!(id(&["test-host", "/test", "default", "claude"]), NEW);
    }

    const OLD: &str = "lnch_156e4fa6a8e2";
    const NEW: &str = "lnch_c13561aca927";

    #[test]
    fn a_session_without_an_agent_is_told_from_all_others() {
        let unnamed = agent_kind(None).unwrap();
        assert_eq!(agent_name(&unnamed), None);
        let named = agent_kind(Some("a-1_b")).unwrap();
        assert_eq!(agent_name(&named), Some("a-1_b"));
        for bad in ["a b", UNNAMED, ""] {
            assert_eq!(agent_kind(Some(bad)).unwrap_err().field, "agent_name");
        }
    }

    #[test]
    fn a_directory_is_a_repository_when_it_is_a_whole_path() {
        for dir in ["/p", r"C:\p", "c:/p", r"\\host\share"] {
            assert_eq!(repo(Some(dir)).root_path.as_deref(), Some(dir));
        }
        let long = format!("/{}", "x".repeat(INDEXED_TEXT_BYTES_MAX));
        for dir in [None, Some("."), Some("p"), Some("C:p"), Some("é:/"), Some(long.as_str())] {
            let found = repo(dir);
            assert_eq!((found.root_path, found.remote_url.as_deref()), (None, Some(NOWHERE)));
        }
    }

    #[test]
    fn texts_are_made_to_fit() {
        assert_eq!(fitting("aé", 2), "a");
        assert_eq!(fitting("a\0b", 9), "a\u{fffd}b");
    }
}
