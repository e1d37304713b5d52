//! Snapshots of work trees of Git in all the states that users leave them in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;

use ah_model::{FileSnapshot, Labels, SnapshotProvider, Timestamp};
use ah_snapshot::{
    ChangeKind, FileChange, Ignored, NewBranch, NewSnapshot, SnapshotError, working_copy,
};
use proptest::prelude::*;

use crate::support::{SESSION, Theirs, Work, expected, git, kept, new, programs, put, try_git};

/// Takes a snapshot and asserts that nothing of the user's changed and that it comes back as it was.
#[track_caller]
fn check(work: &Work) -> FileSnapshot {
    let (theirs, files) = (Theirs::of(&work.top), expected(&work.top));
    let snapshot = work.create();
    assert_eq!(Theirs::of(&work.top), theirs);
    assert_eq!(expected(&work.top), files);
    let to = work.free("restored");
    work.provider().restore(&work.top, &snapshot, &to).unwrap();
    assert_eq!(kept(&to), files);
    assert_eq!(Theirs::of(&work.top), theirs);
    fs::remove_dir_all(to).unwrap();
    snapshot
}

#[test]
fn a_changed_work_tree_comes_back_byte_for_byte() {
    let work = Work::committed();
    work.dirty();
    let head = work.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let snapshot = check(&work);
    let expected = FileSnapshot {
        id: work.git(&["rev-parse", &snapshot.reference]).trim().to_owned(),
        session_id: SESSION.parse().unwrap(),
        number: 1,
        provider: SnapshotProvider::Git,
        reference: format!("refs/ah/sessions/{SESSION}/1"),
        directory: work.top.to_string_lossy().into_owned(),
        created_at: Timestamp::from_unix_ms(1_700_000_000_000),
        parent: None,
        base: Some(head),
        message: None,
        labels: Labels::default(),
    };
    assert_eq!(snapshot, expected);
    assert_eq!(work.provider().list(&work.top).unwrap(), [expected]);
}

#[test]
fn staged_changes_and_deletions_stay_staged() {
    let work = Work::committed();
    work.dirty();
    work.git(&["add", "new file"]);
    work.git(&["rm", "--quiet", "--cached", "dir/b.txt"]);
    fs::remove_file(work.top.join("a.txt")).unwrap();
    check(&work);
}

#[test]
fn a_file_that_is_tracked_although_ignored_is_kept() {
    let work = Work::committed();
    work.put("kept.log", b"tracked");
    work.git(&["add", "--force", "kept.log"]);
    let snapshot = check(&work);
    assert!(work.git(&["ls-tree", "-r", "--name-only", &snapshot.id]).contains("kept.log"));
}

#[test]
fn ignored_files_are_kept_when_asked_for() {
    let work = Work::committed();
    work.dirty();
    let asked = NewSnapshot { ignored: Ignored::Included, ..new(SESSION) };
    let snapshot = work.provider().create(&work.top, &asked).unwrap().snapshot;
    let to = work.free("restored");
    work.provider().restore(&work.top, &snapshot, &to).unwrap();
    let mut files = kept(&work.top);
    files.retain(|path, _| !path.starts_with(".git"));
    assert_eq!(kept(&to), files);
}

#[test]
fn before_the_first_commit_there_is_a_snapshot_without_a_base() {
    let work = Work::new();
    work.dirty();
    assert_eq!(check(&work).base, None);
}

#[test]
fn an_empty_work_tree_has_a_snapshot() {
    let work = Work::new();
    check(&work);
}

#[test]
fn a_detached_head_stays_detached() {
    let work = Work::committed();
    work.git(&["checkout", "--quiet", "--detach"]);
    work.dirty();
    check(&work);
}

#[test]
fn a_merge_with_conflicts_can_go_on_after() {
    let work = Work::committed();
    work.git(&["checkout", "--quiet", "-b", "other"]);
    work.put("a.txt", b"theirs\n");
    work.git(&["commit", "--quiet", "-am", "theirs"]);
    work.git(&["checkout", "--quiet", "main"]);
    work.put("a.txt", b"ours\n");
    work.git(&["commit", "--quiet", "-am", "ours"]);
    assert!(!try_git(&work.top, &["merge", "other"]).status.success());
    check(&work);
    work.put("a.txt", b"both\n");
    work.git(&["commit", "--quiet", "-am", "merged"]);
}

#[test]
fn a_rebase_in_its_middle_can_go_on_after() {
    let work = Work::committed();
    work.git(&["checkout", "--quiet", "-b", "other"]);
    work.put("a.txt", b"theirs\n");
    work.git(&["commit", "--quiet", "-am", "theirs"]);
    work.git(&["checkout", "--quiet", "main"]);
    work.put("a.txt", b"ours\n");
    work.git(&["commit", "--quiet", "-am", "ours"]);
    assert!(!try_git(&work.top, &["rebase", "other"]).status.success());
    check(&work);
    work.git(&["rebase", "--abort"]);
}

#[test]
fn a_stash_stays_as_it_is() {
    let work = Work::committed();
    work.dirty();
    work.git(&["stash", "--quiet", "--include-untracked"]);
    work.put("after", b"x");
    check(&work);
}

#[test]
fn a_linked_work_tree_has_snapshots_of_its_own_files() {
    let work = Work::committed();
    let linked = work.free("linked");
    work.git(&["worktree", "add", "--quiet", "-b", "side", linked.to_str().unwrap()]);
    let linked = Work { home: work.home, top: linked };
    linked.dirty();
    check(&linked);
}

#[test]
fn a_directory_inside_of_the_work_tree_means_all_of_it() {
    let work = Work::committed();
    work.dirty();
    let snapshot = work.provider().create(&work.top.join("dir"), &new(SESSION)).unwrap().snapshot;
    assert_eq!(snapshot.directory, work.top.to_string_lossy());
    let changes = work.provider().diff(&work.top, &snapshot, None).unwrap();
    assert_eq!(changes, []);
}

#[test]
fn a_sparse_checkout_keeps_what_is_outside_of_it() {
    let work = Work::committed();
    work.git(&["sparse-checkout", "set", "--no-cone", "/a.txt", "/.gitignore"]);
    assert!(!work.top.join("dir").exists());
    work.put("a.txt", b"changed");
    let theirs = Theirs::of(&work.top);
    let snapshot = work.create();
    assert_eq!(Theirs::of(&work.top), theirs);
    let names = work.git(&["ls-tree", "-r", "--name-only", &snapshot.id]);
    assert_eq!(names, ".gitignore\na.txt\ndir/b.txt\n");
    assert_eq!(work.provider().diff(&work.top, &snapshot, None).unwrap(), []);
}

#[test]
fn of_repositories_inside_the_commit_is_kept_and_that_is_said() {
    let work = Work::committed();
    for name in ["tracked", "untracked", "unborn"] {
        let inner = work.top.join(name);
        fs::create_dir(&inner).unwrap();
        git(&inner, &["init", "--quiet"]);
        if name != "unborn" {
            put(&inner.join("file"), b"inner");
            git(&inner, &["add", "file"]);
            let who = ["-c", "user.name=u", "-c", "user.email=u@example.org"];
            git(&inner, &[&who[..], &["commit", "--quiet", "-m", "inner"]].concat());
        }
    }
    try_git(&work.top, &["add", "tracked"]);
    let theirs = Theirs::of(&work.top);
    let created = work.provider().create(&work.top, &new(SESSION)).unwrap();
    assert_eq!(Theirs::of(&work.top), theirs);
    assert_eq!(
        created.not_kept,
        [
            "tracked is a repository of its own: its commit is kept, not its files",
            "unborn is a repository without a commit",
            "untracked is a repository of its own: its commit is kept, not its files",
        ]
    );
    let tree = work.git(&["ls-tree", &created.snapshot.id]);
    let links: Vec<_> = tree.lines().filter(|line| line.starts_with("160000")).collect();
    assert_eq!(links.len(), 2, "{tree}");
    let restored = work.free("restored");
    work.provider().restore(&work.top, &created.snapshot, &restored).unwrap();
    assert_eq!(fs::read(restored.join("a.txt")).unwrap(), b"one\n");
}

#[test]
fn empty_directories_are_not_kept_and_that_is_said() {
    let work = Work::committed();
    fs::create_dir_all(work.top.join("empty/inner")).unwrap();
    let created = work.provider().create(&work.top, &new(SESSION)).unwrap();
    assert_eq!(created.not_kept, ["empty is an empty directory"]);
}

#[test]
fn names_of_any_bytes_come_back() {
    let work = Work::committed();
    for name in
        [&b"line\nend"[..], b"tab\tquote\"", b"\xff\xfe", b"-dash", b":(glob)*", b"\\back", b" "]
    {
        put(&work.top.join(OsStr::from_bytes(name)), name);
    }
    check(&work);
}

#[test]
fn settings_attributes_filters_and_hooks_change_no_byte_and_run_nothing() {
    let work = Work::committed();
    let ran = work.free("ran");
    let hooks = work.top.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let names = ["pre-commit", "post-index-change", "reference-transaction", "post-checkout"];
    for hook in names.map(|name| hooks.join(name)) {
        put(&hook, format!("#!/bin/sh\necho $0 >> {}\n", ran.display()).as_bytes());
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    work.put(".gitattributes", b"*.txt text eol=crlf\n*.bin filter=upper\n*.id ident\n");
    work.put("lines.txt", b"lf\ncrlf\r\n");
    work.put("x.bin", b"lower");
    work.put("y.id", b"$Id: kept $\n");
    let noise = format!("touch {}; tr a-z A-Z", ran.display());
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.safecrlf", "true"),
        ("core.fileMode", "false"),
        ("core.logAllRefUpdates", "always"),
        ("core.splitIndex", "true"),
        ("core.untrackedCache", "true"),
        ("commit.gpgsign", "true"),
        ("gpg.program", "/bin/false"),
        ("filter.upper.clean", &noise),
        ("filter.upper.smudge", &noise),
        ("core.fsmonitor", &ran.with_file_name("monitor").to_string_lossy()),
    ] {
        work.git(&["config", key, value]);
    }
    put(&work.top.join(".git/info/attributes"), b"*.bin filter=upper\n");
    work.dirty();
    // What the test itself asks Git may run them; the snapshot may not.
    let theirs = Theirs::of(&work.top);
    let _ = fs::remove_file(&ran);
    let snapshot = work.create();
    assert!(!ran.exists(), "{}", fs::read_to_string(&ran).unwrap());
    assert_eq!(Theirs::of(&work.top), theirs);
    let to = work.free("restored");
    let _ = fs::remove_file(&ran);
    work.provider().restore(&work.top, &snapshot, &to).unwrap();
    assert!(!ran.exists());
    assert_eq!(kept(&to), expected(&work.top));
}

#[test]
fn an_index_that_is_split_or_in_version_4_is_read() {
    let work = Work::committed();
    work.git(&["update-index", "--split-index"]);
    work.dirty();
    work.git(&["add", "run.sh"]);
    check(&work);
    work.git(&["update-index", "--no-split-index", "--index-version", "4"]);
    check(&work);
}

#[test]
fn a_repository_of_sha256_has_snapshots() {
    let home = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(home.path()).unwrap().join("work");
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "--quiet", "--object-format=sha256"]);
    let work = Work { home, top };
    work.dirty();
    assert_eq!(check(&work).id.len(), 64);
}

#[test]
fn the_next_snapshot_sees_what_changed_also_when_size_and_time_did_not() {
    let work = Work::committed();
    let first = work.create();
    let time = fs::metadata(work.top.join("a.txt")).unwrap().modified().unwrap();
    work.put("a.txt", b"eno\n");
    let file = fs::File::options().write(true).open(work.top.join("a.txt")).unwrap();
    file.set_modified(time).unwrap();
    fs::remove_dir_all(work.top.join("dir")).unwrap();
    work.put("dir", b"now a file");
    let second = work.create();
    assert_eq!((second.number, second.parent.as_deref()), (2, Some(first.id.as_str())));
    let changes = work.provider().diff(&work.top, &first, Some(&second)).unwrap();
    let change = |path: &str, kind, lines| FileChange { path: path.into(), kind, lines };
    assert_eq!(
        changes,
        [
            change("a.txt", ChangeKind::Changed, Some((1, 1))),
            change("dir", ChangeKind::Added, Some((1, 0))),
            change("dir/b.txt", ChangeKind::Removed, Some((0, 1))),
        ]
    );
    check(&work);
}

#[test]
fn snapshots_survive_collection_and_are_not_pushed() {
    let work = Work::committed();
    work.dirty();
    let snapshot = work.create();
    let bare = work.free("bare");
    git(work.home.path(), &["init", "--quiet", "--bare", bare.to_str().unwrap()]);
    work.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    work.git(&["push", "--quiet", "--all", "origin"]);
    assert_eq!(git(&bare, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    work.git(&["gc", "--quiet", "--prune=now"]);
    let to = work.free("restored");
    work.provider().restore(&work.top, &snapshot, &to).unwrap();
    assert_eq!(kept(&to), expected(&work.top));
}

#[test]
fn after_all_snapshots_were_deleted_and_collected_a_new_one_is_whole() {
    let work = Work::committed();
    work.dirty();
    let snapshot = work.create();
    work.provider().delete(&work.top, &snapshot).unwrap();
    assert_eq!(work.provider().list(&work.top).unwrap(), []);
    work.git(&["gc", "--quiet", "--prune=now"]);
    let error = work.provider().restore(&work.top, &snapshot, &work.free("gone")).unwrap_err();
    assert!(matches!(error, SnapshotError::Gone { .. }), "{error}");
    check(&work);
    work.git(&["fsck", "--strict"]);
}

#[test]
fn two_snapshots_at_once_are_both_kept_one_after_the_other() {
    const WRITERS: usize = 8;
    let work = Work::committed();
    work.dirty();
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| work.create());
        }
    });
    let list = work.provider().list(&work.top).unwrap();
    let numbers: Vec<u64> = list.iter().map(|one| one.number).collect();
    assert_eq!(numbers, (1..=WRITERS as u64).collect::<Vec<_>>());
    for pair in list.windows(2) {
        assert_eq!(pair[1].parent.as_deref(), Some(pair[0].id.as_str()));
    }
    work.git(&["fsck", "--strict"]);
}

#[test]
fn a_damaged_index_of_ours_costs_a_reading_and_not_the_snapshot() {
    let work = Work::committed();
    let first = work.create();
    let index = work.top.join(format!(".git/ah/index-{}", first.id));
    fs::write(&index, b"DIRC no index at all").unwrap();
    work.dirty();
    check(&work);
}

#[test]
fn restoring_in_place_gives_the_files_back_and_leaves_ignored_ones() {
    let work = Work::committed();
    work.dirty();
    let before = kept(&work.top);
    let target = work.create();
    work.put("a.txt", b"spoiled");
    fs::remove_file(work.top.join("run.sh")).unwrap();
    fs::remove_file(work.top.join("link")).unwrap();
    work.put("link/now a directory", b"x");
    work.put("build/out", b"newer output");
    work.put("extra/deep/file", b"x");
    let now = work.create();
    let changes = work.provider().restore_in_place(&work.top, &target, &now).unwrap();
    assert_eq!(changes.len(), 5);
    let mut after = kept(&work.top);
    let out = after.insert(PathBuf::from("build/out"), before[Path::new("build/out")].clone());
    assert!(out.is_some());
    let files = |map: &std::collections::BTreeMap<PathBuf, _>| {
        map.iter()
            .filter(|(path, _)| !path.starts_with(".git"))
            .map(|(path, kept): (&PathBuf, &crate::support::Kept)| (path.clone(), kept.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(files(&after), files(&before));
    assert!(!work.top.join("extra").exists());
}

#[test]
fn restoring_in_place_is_refused_whole_when_something_unkept_is_in_the_way() {
    let work = Work::committed();
    work.put("out", b"a file once");
    let target = work.create();
    fs::remove_file(work.top.join("out")).unwrap();
    work.put("a.txt", b"changed since");
    work.put("out/secret.log", b"ignored, in no snapshot");
    let now = work.create();
    let before = kept(&work.top);
    let error = work.provider().restore_in_place(&work.top, &target, &now).unwrap_err();
    let SnapshotError::WouldBeLost { paths, .. } = error else { panic!("{error}") };
    assert_eq!(paths, [PathBuf::from("out/secret.log")]);
    assert_eq!(kept(&work.top), before);
}

#[test]
fn a_directory_that_holds_something_is_not_restored_into() {
    let work = Work::committed();
    let snapshot = work.create();
    let to = work.free("full");
    put(&to.join("file"), b"mine");
    let error = work.provider().restore(&work.top, &snapshot, &to).unwrap_err();
    assert!(matches!(error, SnapshotError::Exists { .. }), "{error}");
    assert_eq!(fs::read(to.join("file")).unwrap(), b"mine");
}

#[test]
fn a_branch_is_a_work_tree_with_the_files_on_top_of_what_was_checked_out() {
    let work = Work::committed();
    work.dirty();
    let head = work.git(&["rev-parse", "HEAD"]);
    let files = expected(&work.top);
    let branch = NewBranch { name: "travel".to_owned(), directory: work.free("travel") };
    let status = work.git(&["status", "--porcelain=v2", "--branch"]);
    let (created, branch) =
        working_copy(&*work.provider(), &work.top, &new(SESSION), &branch).unwrap();
    assert_eq!(work.git(&["status", "--porcelain=v2", "--branch"]), status);
    assert_eq!(git(&branch.directory, &["rev-parse", "HEAD^"]), head);
    assert_eq!(git(&branch.directory, &["status", "--porcelain"]), "");
    assert_eq!(git(&branch.directory, &["branch", "--show-current"]), "travel\n");
    let trees = [format!("{}^{{tree}}", created.snapshot.id), "travel^{tree}".to_owned()];
    let trees = trees.map(|tree| work.git(&["rev-parse", &tree]));
    assert_eq!(trees[0], trees[1]);
    let mut there = kept(&branch.directory);
    there.remove(Path::new(".git"));
    assert_eq!(there, files);
    work.provider().unbranch(&work.top, &branch).unwrap();
    assert!(!branch.directory.exists());
    assert_eq!(work.git(&["branch", "--list", "travel"]), "");
}

#[test]
fn a_directory_without_a_repository_is_said_to_be_one() {
    let directory = tempfile::tempdir().unwrap();
    let work = Work::committed();
    let found = work.provider().detect(directory.path());
    assert!(!found.usable && found.reason.contains("not a git repository"), "{found:?}");
    let error = ah_snapshot::choose(directory.path(), None, &programs()).err().unwrap();
    assert!(matches!(error, SnapshotError::NoProvider { .. }), "{error}");
    assert!(work.provider().detect(&work.top).usable);
}

/// Names of files and directories that get in each other's way now and then.
fn trees() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>, u8)>> {
    let part = prop::collection::vec(prop::sample::select(b"ab\n\xff ".to_vec()), 1..3);
    let path = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(&b'/'));
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec((path, bytes, 0_u8..3), 0..12)
}

fn make(work: &Work, tree: &[(Vec<u8>, Vec<u8>, u8)]) {
    for (path, bytes, kind) in tree {
        let path = work.top.join(OsStr::from_bytes(path));
        if fs::create_dir_all(path.parent().unwrap()).is_err() || path.symlink_metadata().is_ok() {
            continue;
        }
        match kind {
            0 => std::os::unix::fs::symlink("a target\n", &path).unwrap(),
            kind => {
                fs::write(&path, bytes).unwrap();
                let mode = if *kind == 1 { 0o644 } else { 0o755 };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
}

fn wipe(top: &Path) {
    for entry in fs::read_dir(top).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.ends_with(".git") {
            continue;
        }
        match entry.symlink_metadata().unwrap().is_dir() {
            true => fs::remove_dir_all(entry).unwrap(),
            false => fs::remove_file(entry).unwrap(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_comes_back_into_a_directory_and_in_place(first in trees(), second in trees()) {
        let work = Work::new();
        let files = |top: &Path| {
            let mut files = kept(top);
            files.retain(|path, _| !path.starts_with(".git"));
            files
        };
        make(&work, &first);
        let (was, one) = (files(&work.top), work.create());
        wipe(&work.top);
        make(&work, &second);
        let two = work.create();
        let to = work.free("restored");
        work.provider().restore(&work.top, &two, &to).unwrap();
        prop_assert_eq!(kept(&to), files(&work.top));
        work.provider().restore_in_place(&work.top, &one, &two).unwrap();
        prop_assert_eq!(files(&work.top), was);
    }
}
