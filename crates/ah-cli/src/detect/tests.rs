//! Detection over directories made by hand and, where Git is installed, by Git itself.

use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::*;

struct Tree {
    dir: TempDir,
}

impl Tree {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn of(files: &[(&str, &str)]) -> Self {
        let tree = Self::new();
        for (path, text) in files {
            let path = tree.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    }

    fn path(&self, below: &str) -> PathBuf {
        let joined = self.dir.path().canonicalize().unwrap().join(below);
        joined.components().collect()
    }

    fn make_dir(&self, below: &str) -> PathBuf {
        let path = self.path(below);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Runs Git away from the settings of whoever runs the tests.
    fn git(&self, below: &str, arguments: &[&str]) {
        let output = Command::new("git")
            .current_dir(self.path(below))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    /// A repository at `upstream` with one commit on `branch`.
    fn upstream(branch: &str) -> Self {
        let tree = Self::new();
        tree.make_dir("upstream");
        tree.git("upstream", &["init", "--initial-branch", branch]);
        tree.git("upstream", &["commit", "--allow-empty", "-m", "first"]);
        tree
    }
}

fn repo(vcs: Vcs, root: &Path, remote: Option<&str>, branch: Option<&str>) -> NewRepo {
    NewRepo {
        vcs,
        root_path: Some(root.to_str().unwrap().to_owned()),
        remote_url: remote.map(str::to_owned),
        default_branch: branch.map(str::to_owned),
    }
}

/// Detects from a directory below the root and expects this repository.
#[track_caller]
fn check(tree: &Tree, vcs: Vcs, remote: Option<&str>, branch: Option<&str>) {
    let start = tree.make_dir("deep/er");
    let found = detect(&start).unwrap();
    assert_eq!(found, Some(repo(vcs, &tree.path(""), remote, branch)));
    found.unwrap().check().unwrap();
}

fn git_installed() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: git is not installed");
    }
    found
}

#[test]
fn a_fresh_git_repository_has_the_branch_it_was_made_with() {
    if !git_installed() {
        return;
    }
    let tree = Tree::new();
    tree.git("", &["init", "--initial-branch", "trunk"]);
    check(&tree, Vcs::Git, None, Some("trunk"));
}

#[test]
fn a_clone_has_its_upstreams_default_branch_whatever_is_checked_out() {
    if !git_installed() {
        return;
    }
    let tree = Tree::upstream("develop");
    tree.git("", &["clone", "upstream", "clone"]);
    tree.git("clone", &["checkout", "-b", "feature"]);
    let upstream = tree.path("upstream");
    let clone = tree.path("clone");
    let expected = repo(Vcs::Git, &clone, upstream.to_str(), Some("develop"));
    assert_eq!(detect(&clone).unwrap(), Some(expected));
}

#[test]
fn a_worktree_is_a_root_of_its_own_with_the_shared_remote_and_default_branch() {
    if !git_installed() {
        return;
    }
    let tree = Tree::upstream("main");
    tree.git("upstream", &["remote", "add", "origin", "https://me:secret@host/a.git"]);
    tree.git("upstream", &["worktree", "add", "../side", "-b", "feature"]);
    let side = tree.path("side");
    let expected = repo(Vcs::Git, &side, Some("https://host/a.git"), Some("main"));
    assert_eq!(detect(&side).unwrap(), Some(expected));
}

#[test]
fn a_submodule_is_a_root_of_its_own() {
    if !git_installed() {
        return;
    }
    let tree = Tree::upstream("main");
    tree.make_dir("outer");
    tree.git("outer", &["init"]);
    let upstream = tree.path("upstream");
    tree.git("outer", &["submodule", "add", upstream.to_str().unwrap(), "inner"]);
    let inner = tree.path("outer/inner");
    assert!(inner.join(".git").is_file());
    let expected = repo(Vcs::Git, &inner, upstream.to_str(), Some("main"));
    assert_eq!(detect(&inner).unwrap(), Some(expected));
}

#[test]
fn a_detached_head_falls_back_to_a_usual_branch() {
    if !git_installed() {
        return;
    }
    let tree = Tree::upstream("master");
    tree.git("upstream", &["checkout", "--detach"]);
    let expected = repo(Vcs::Git, &tree.path("upstream"), None, Some("master"));
    assert_eq!(detect(&tree.path("upstream")).unwrap(), Some(expected.clone()));
    tree.git("upstream", &["pack-refs", "--all"]);
    assert!(!tree.path("upstream/.git/refs/heads/master").exists());
    assert_eq!(detect(&tree.path("upstream")).unwrap(), Some(expected));
}

#[test]
fn the_first_remote_stands_in_for_origin() {
    let tree = Tree::of(&[
        (".git/config", "[remote \"fork\"]\nurl = git@host:me/a\n[remote \"up\"]\nurl = x\n"),
        (".git/refs/remotes/fork/HEAD", "ref: refs/remotes/fork/release/1\n"),
        (".git/HEAD", "ref: refs/heads/feature\n"),
    ]);
    check(&tree, Vcs::Git, Some("git@host:me/a"), Some("release/1"));
}

#[test]
fn refs_in_a_reftable_are_not_guessed() {
    let tree = Tree::of(&[(".git/HEAD", "ref: refs/heads/.invalid\n")]);
    check(&tree, Vcs::Git, None, None);
}

#[test]
fn odd_files_leave_fields_empty() {
    let tree = Tree::of(&[(".git/HEAD", "\n"), (".git/refs/heads/main/x", "")]);
    fs::write(tree.path(".git/config"), b"[remote \"origin\"]\nurl = \xff\xfe\n").unwrap();
    check(&tree, Vcs::Git, None, None);
    check(&Tree::of(&[(".git", "not a pointer")]), Vcs::Git, None, None);
    check(&Tree::of(&[(".git", "gitdir: /nowhere/at/all\n")]), Vcs::Git, None, None);
}

#[test]
fn overlong_and_unprintable_values_are_none() {
    let long = format!("[remote \"origin\"]\nurl = {}\n", "x".repeat(SHORT_TEXT_BYTES_MAX + 1));
    let tree = Tree::of(&[(".git/config", &long), (".git/HEAD", "ref: refs/heads/a\u{7}b\n")]);
    check(&tree, Vcs::Git, None, None);
}

#[test]
fn jujutsu_wins_over_git_beside_it_and_asks_the_git_behind_it() {
    let tree = Tree::of(&[
        (".git/config", "[remote \"origin\"]\nurl = https://token@host/a\n"),
        (".git/refs/remotes/origin/HEAD", "ref: refs/remotes/origin/main\n"),
        (".jj/repo/store/git_target", "../../../.git"),
    ]);
    check(&tree, Vcs::Jj, Some("https://host/a"), Some("main"));
}

#[test]
fn a_second_jujutsu_workspace_follows_the_first() {
    let tree = Tree::of(&[
        ("first/.jj/repo/store/git_target", "git"),
        ("first/.jj/repo/store/git/HEAD", "ref: refs/heads/main\n"),
        ("second/.jj/repo", "../../first/.jj/repo"),
    ]);
    let second = tree.path("second");
    let expected = repo(Vcs::Jj, &second, None, Some("main"));
    assert_eq!(detect(&second).unwrap(), Some(expected));
}

#[test]
fn mercurial_names_its_path_and_branch() {
    let tree = Tree::of(&[
        (".hg/hgrc", "[paths]\ndefault = https://u:p@host/hg\n"),
        (".hg/branch", "stable\n"),
    ]);
    check(&tree, Vcs::Hg, Some("https://host/hg"), Some("stable"));
    check(&Tree::of(&[(".hg/requires", "")]), Vcs::Hg, None, Some("default"));
}

#[test]
fn bazaar_names_its_parent() {
    let tree = Tree::of(&[(".bzr/branch/branch.conf", "parent_location = bzr+ssh://me@host/b\n")]);
    check(&tree, Vcs::Bzr, Some("bzr+ssh://me@host/b"), None);
}

#[test]
fn fossil_is_known_by_either_file() {
    check(&Tree::of(&[(".fslckout", "")]), Vcs::Fossil, None, Some("trunk"));
    check(&Tree::of(&[("_FOSSIL_", "")]), Vcs::Fossil, None, Some("trunk"));
}

#[test]
fn pijul_names_its_default_remote() {
    let tree = Tree::of(&[(".pijul/config", "default_remote = \"me@nest:a\"\n")]);
    check(&tree, Vcs::Pijul, Some("me@nest:a"), Some("main"));
}

#[test]
fn old_subversion_roots_at_the_top_of_the_chain() {
    let tree = Tree::of(&[(".svn/a", ""), ("deep/.svn/a", ""), ("deep/er/.svn/a", "")]);
    check(&tree, Vcs::Svn, None, None);
}

#[test]
fn the_nearest_root_wins() {
    let tree = Tree::of(&[(".hg/a", ""), ("inner/.bzr/a", "")]);
    let inner = tree.path("inner");
    assert_eq!(detect(&inner).unwrap(), Some(repo(Vcs::Bzr, &inner, None, None)));
}

#[test]
fn without_a_marker_nothing_is_found_and_the_error_says_what_was_looked_for() {
    let tree = Tree::new();
    let start = tree.path("");
    if find_root(&start).unwrap().is_some() {
        return; // The temporary directory itself is in a repository.
    }
    let expected = format!(
        "no repository found from {} upwards (looked for .jj, .git, .hg, .bzr, .fslckout, \
         _FOSSIL_, .pijul, .svn)",
        start.display()
    );
    assert_eq!(require(&start).unwrap_err().to_string(), expected);
    assert_eq!(for_directory(&start).unwrap(), repo(Vcs::None, &start, None, None));
    let flagged = from_flag(start.to_str().unwrap(), Path::new("/")).unwrap();
    assert_eq!(flagged, repo(Vcs::None, &start, None, None));
}

#[test]
fn a_flag_takes_a_path_from_the_current_directory() {
    let tree = Tree::of(&[(".hg/a", ""), ("deep/file", "")]);
    let expected = repo(Vcs::Hg, &tree.path(""), None, Some("default"));
    assert_eq!(from_flag("deep", &tree.path("")).unwrap(), expected);
    let error = from_flag("deep/file", &tree.path("")).unwrap_err();
    let expected = format!("{} is not a directory", tree.path("deep/file").display());
    assert_eq!(error.to_string(), expected);
    let error = from_flag("nowhere", &tree.path("")).unwrap_err();
    let expected = format!("{} cannot be read", tree.path("nowhere").display());
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_flag_takes_a_url_and_keeps_no_secret_of_it() {
    let flagged = from_flag("https://me:pw@host/a.git", Path::new("/")).unwrap();
    let expected = NewRepo {
        vcs: Vcs::Git,
        root_path: None,
        remote_url: Some("https://host/a.git".to_owned()),
        default_branch: None,
    };
    assert_eq!(flagged, expected);
    let error = from_flag("https://me:p/w@host/a.git", Path::new("/")).unwrap_err();
    assert_eq!(error.to_string(), "the repository URL has no readable host");
}

#[cfg(unix)]
#[test]
fn the_root_has_no_symbolic_links_in_it() {
    let tree = Tree::of(&[("real/.hg/a", "")]);
    std::os::unix::fs::symlink(tree.path("real"), tree.path("link")).unwrap();
    let expected = repo(Vcs::Hg, &tree.path("real"), None, Some("default"));
    assert_eq!(detect(&tree.path("link")).unwrap(), Some(expected));
}

#[cfg(target_os = "linux")]
#[test]
fn a_root_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new();
    let odd = tree.path("").join(std::ffi::OsStr::from_bytes(b"\xff"));
    fs::create_dir_all(odd.join(".hg")).unwrap();
    let error = detect(&odd).unwrap_err();
    assert!(matches!(error, DetectError::NotUtf8 { path } if path == odd));
}
