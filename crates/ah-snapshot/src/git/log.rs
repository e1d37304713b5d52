//! Snapshots as commits: how they are written, found and removed.

use ah_model::{FileSnapshot, SessionId};

use super::repository::{Call, Repository};
use crate::SnapshotError;
use crate::name::escaped;

/// Where the refs of all sessions are.
const REFS: &str = "refs/ah/sessions";
/// What the line of a message begins with that says what the snapshot is.
const MARK: &str = "ah-snapshot: ";
const NAME: &str = "Agent Harbor";
const MAIL: &str = "snapshots@agent-harbor.invalid";

/// The ref of a session's snapshot.
pub(super) fn reference(session: &SessionId, number: u64) -> String {
    format!("{REFS}/{}/{number}", escaped(session, '%'))
}

/// The commit that is checked out; none before the first.
pub(super) fn head(at: &Repository<'_>) -> Result<Option<String>, SnapshotError> {
    let found = at.call(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]).try_run()?;
    Ok(found.status.success().then(|| found.line()))
}

/// Writes the commit of a snapshot whose id is not known yet, and gives the id.
pub(super) fn commit(
    at: &Repository<'_>,
    tree: &str,
    snapshot: &FileSnapshot,
) -> Result<String, SnapshotError> {
    let said = serde_json::to_string(snapshot)
        .map_err(|error| SnapshotError::NotKept { reason: error.to_string() })?;
    let title = snapshot.message.clone().unwrap_or_else(|| {
        format!("Snapshot {} of session {}", snapshot.number, snapshot.session_id)
    });
    let message = format!("{title}\n\n{MARK}{said}\n");
    let mut call = at.plain(&at.top, &["commit-tree", tree])?;
    for parent in [&snapshot.parent, &snapshot.base].into_iter().flatten() {
        call = call.arg("-p").arg(parent);
    }
    signed(call, snapshot).input(message.into_bytes()).run().map(|output| output.line())
}

/// A call that writes a commit, as ours and at the time of the snapshot.
pub(super) fn signed(call: Call, snapshot: &FileSnapshot) -> Call {
    let date = format!("{} +0000", snapshot.created_at.unix_ms().div_euclid(1_000));
    call.env("GIT_AUTHOR_NAME", NAME)
        .env("GIT_AUTHOR_EMAIL", MAIL)
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_NAME", NAME)
        .env("GIT_COMMITTER_EMAIL", MAIL)
        .env("GIT_COMMITTER_DATE", &date)
}

/// Makes the ref of a snapshot; false if another took its number.
pub(super) fn publish(at: &Repository<'_>, snapshot: &FileSnapshot) -> Result<bool, SnapshotError> {
    let FileSnapshot { id, reference, .. } = snapshot;
    let input = format!("create {reference} {id}\n").into_bytes();
    // No log of it, also for those who have all changes logged.
    let call = at.call(&["update-ref", "--stdin"]).env("GIT_CONFIG_COUNT", "1");
    let call = call.env("GIT_CONFIG_KEY_0", "core.logAllRefUpdates");
    let made = call.env("GIT_CONFIG_VALUE_0", "false").input(input).try_run()?;
    if made.status.success() {
        return Ok(true);
    }
    let ask = ["rev-parse", "--quiet", "--verify", reference.as_str()];
    let taken = at.call(&ask).try_run()?.status.success();
    match taken || made.reason().contains("cannot lock ref") {
        true => Ok(false),
        false => Err(crate::command::failed("git".as_ref(), "update-ref", made.reason())),
    }
}

/// The newest snapshot of a session.
pub(super) fn last(
    at: &Repository<'_>,
    session: &SessionId,
) -> Result<Option<FileSnapshot>, SnapshotError> {
    Ok(listed(at, &format!("{REFS}/{}/", escaped(session, '%')))?.pop())
}

/// All snapshots, by session and number.
pub(super) fn list(at: &Repository<'_>) -> Result<Vec<FileSnapshot>, SnapshotError> {
    listed(at, &format!("{REFS}/"))
}

fn listed(at: &Repository<'_>, below: &str) -> Result<Vec<FileSnapshot>, SnapshotError> {
    let format = "--format=%(refname)%00%(objectname)%00%(contents)%00";
    let text = at.call(&["for-each-ref", format, below]).run()?.text;
    let text = String::from_utf8_lossy(&text);
    let parts: Vec<&str> = text.split('\0').map(|part| part.trim_start_matches('\n')).collect();
    let mut snapshots: Vec<FileSnapshot> = parts
        .chunks_exact(3)
        .filter_map(|part| {
            let said = part[2].lines().rev().find_map(|line| line.strip_prefix(MARK))?;
            let snapshot: FileSnapshot = serde_json::from_str(said).ok()?;
            let number = part[0].rsplit('/').next()?.parse().ok()?;
            // The repository decides; what was said is only what it cannot know.
            let (reference, id) = (part[0].to_owned(), part[1].to_owned());
            Some(FileSnapshot { id, reference, number, ..snapshot })
        })
        .collect();
    snapshots.sort_by(|a, b| (&a.session_id, a.number).cmp(&(&b.session_id, b.number)));
    Ok(snapshots)
}

/// The commit of a snapshot that is still there.
pub(super) fn read(at: &Repository<'_>, snapshot: &FileSnapshot) -> Result<String, SnapshotError> {
    let name = format!("{}^{{commit}}", snapshot.id);
    let found = at.call(&["rev-parse", "--quiet", "--verify", &name]).try_run()?;
    match found.status.success() {
        true => Ok(found.line()),
        false => Err(SnapshotError::Gone {
            id: snapshot.id.clone(),
            reference: snapshot.reference.clone(),
        }),
    }
}

/// Removes the ref of a snapshot if it still is that of this snapshot.
pub(super) fn delete(at: &Repository<'_>, snapshot: &FileSnapshot) -> Result<(), SnapshotError> {
    read(at, snapshot)?;
    at.call(&["update-ref", "-d", &snapshot.reference, &snapshot.id]).run().map(drop)
}
