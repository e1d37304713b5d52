//! What a Git repository is known by wherever it is: its oldest root commit.
//!
//! The one place of detection that starts a program, so it is asked only for a path that is new to
//! the store. A shallow clone has no roots, and a repository that Git will not read in time has
//! none that are known: both have no fingerprint, which is like no other.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ah_model::{NewRepo, Vcs};

use super::git;

/// How long a person waits for Git at most: a history of a million commits is read in seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// How long a hook does, whose agent waits for it.
pub(crate) const HOOK_PATIENCE: Duration = Duration::from_millis(60);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Variables of Git that would lead it elsewhere; it sets them for the hooks it runs itself.
const MISLEADING: [&str; 6] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
];

/// The fingerprint of a repository on this machine.
pub(crate) fn fingerprint(repo: &NewRepo, patience: Duration) -> Option<String> {
    let root = Path::new(repo.root_path.as_deref()?);
    match repo.vcs {
        // Jujutsu beside Git has the same commits.
        Vcs::Git | Vcs::Jj => {}
        Vcs::Hg | Vcs::Bzr | Vcs::Fossil | Vcs::Pijul | Vcs::Svn | Vcs::None => return None,
    }
    let git_dir = git::git_dir(&root.join(".git"))?;
    let common = git::common_dir(&git_dir);
    if common.join("shallow").exists() {
        return None;
    }
    let roots = roots(root, patience)?;
    let commit = oldest(&roots)?;
    // Worktrees of one clone are apart by their names, which a move of one keeps.
    let worktree = git_dir.parent().filter(|above| above.ends_with("worktrees"));
    match worktree.and(git_dir.file_name()?.to_str()) {
        Some(name) => Some(format!("git:{commit}+{name}")),
        None => Some(format!("git:{commit}")),
    }
}

/// Lines of a time and a commit for each root of what is checked out.
fn roots(root: &Path, patience: Duration) -> Option<String> {
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(["--no-replace-objects", "--no-optional-locks"]);
    command.args(["rev-list", "--max-parents=0", "--timestamp", "HEAD", "--"]);
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + patience;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(LOOK_AGAIN),
            Ok(None) | Err(_) => {
                // Gone already or gone now; either way it is not waited for longer.
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    };
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    status.success().then_some(text)
}

/// The commit that came first; of two at one time the one that sorts first.
fn oldest(lines: &str) -> Option<&str> {
    let commits = lines.lines().filter_map(|line| {
        let (time, commit) = line.split_once(' ')?;
        let is_id = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id.then_some((time.parse::<i64>().ok()?, commit))
    });
    commits.min().map(|(_, commit)| commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_root_wins_whatever_the_order() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        assert_eq!(oldest(&format!("20 {a}\n10 {b}\n")), Some(b.as_str()));
        assert_eq!(oldest(&format!("10 {b}\n10 {a}\n")), Some(a.as_str()));
        assert_eq!(oldest("10 short\nnonsense\n"), None);
        assert_eq!(oldest(""), None);
    }
}
