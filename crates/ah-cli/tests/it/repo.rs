//! `ah repo`, and which repository a command works on.

use std::process::Output;

use serde_json::{Value, json};

use crate::answers::{errors, git, shape};
use crate::support::{Home, succeeded};

fn from(home: &Home, directory: &str, arguments: &[&str]) -> Output {
    home.ah(arguments).current_dir(home.path().join(directory)).output().unwrap()
}

#[test]
fn detect_tells_without_recording() {
    let home = Home::new().with_git();
    let expected = json!({
        "vcs": "git", "rootPath": "DIR/work", "remoteUrl": "https://example.com/a.git",
        "defaultBranch": "main",
    });
    assert_eq!(home.steady(home.json(&["repo", "detect"])), expected);
    assert_eq!(
        home.steady_text(&home.human(&["repo", "detect"])),
        "vcs:            git\n\
         root:           DIR/work\n\
         remote:         https://example.com/a.git\n\
         default branch: main\n"
    );
    assert!(!home.database().exists());
}

#[test]
fn no_repository_names_the_start_what_was_looked_for_and_a_way_out() {
    let home = Home::new();
    let detail = "no repository found from DIR/work upwards (looked for .jj, .git, .hg, .bzr, \
                  .fslckout, _FOSSIL_, .pijul, .svn)";
    let hint = "go into a repository, or name one with `--repo PATH`";
    let expected = json!({
        "code": "no-repository", "title": "no repository was found", "status": 404,
        "detail": detail, "hints": [hint],
    });
    for arguments in [
        &["repo", "detect"][..],
        &["repo", "add"],
        &["task", "create", "--prompt", "x"],
        &["draft", "save", "--prompt", "x"],
    ] {
        assert_eq!(home.problem(arguments, 8), expected, "{arguments:?}");
    }
    let text = home.refused(&["repo", "detect"], 8);
    assert_eq!(text, format!("error: {detail}\nhint: {hint}\n"));
}

#[test]
fn the_flag_overrides_the_directory() {
    let home = Home::new().with_git();
    let other = home.path().join("other");
    git(&other, "");
    let found = home.json(&["repo", "detect", "--repo", "../other"]);
    assert_eq!(home.steady(found)["rootPath"], "DIR/other");
    let plain = home.json(&["repo", "detect", "--repo", home.path().to_str().unwrap()]);
    let expected =
        json!({ "vcs": "none", "rootPath": "DIR", "remoteUrl": null, "defaultBranch": null });
    assert_eq!(home.steady(plain), expected);
    let batch = home.json(&["task", "create", "--prompt", "x", "--repo", "../other"]);
    let session = home.json(&["session", "show", batch["sessionIds"][0].as_str().unwrap()]);
    assert_eq!(home.steady(session)["repo"]["rootPath"], "DIR/other");
    let detail = home.detail(&["repo", "detect", "--repo", "nowhere"], 8);
    assert_eq!(detail, "DIR/work/nowhere cannot be read: No such file or directory (os error 2)");
}

#[test]
fn a_worktree_is_a_repository_of_its_own() {
    let home = Home::new().with_git();
    let behind = home.work().join(".git/worktrees/tree");
    std::fs::create_dir_all(&behind).unwrap();
    std::fs::write(behind.join("HEAD"), "ref: refs/heads/side\n").unwrap();
    std::fs::write(behind.join("commondir"), "../..\n").unwrap();
    let tree = home.path().join("tree");
    std::fs::create_dir_all(tree.join("deep")).unwrap();
    std::fs::write(tree.join(".git"), format!("gitdir: {}\n", behind.display())).unwrap();
    let output = from(&home, "tree/deep", &["repo", "detect", "--json"]);
    let found: Value = serde_json::from_str(&succeeded(&output, "detect")).unwrap();
    let found = home.steady(found);
    let named = (&found["vcs"], &found["rootPath"], &found["remoteUrl"]);
    let expected = (&json!("git"), &json!("DIR/tree"), &json!("https://example.com/a.git"));
    assert_eq!(named, expected);
}

#[test]
fn repositories_are_added_once_listed_and_removed() {
    let home = Home::new().with_git();
    assert_eq!(home.human(&["repo", "add"]), "1\n");
    assert_eq!(home.human(&["repo", "add", "."]), "1\n");
    let url = "https://user:secret@example.com/b.git";
    let added = home.steady(home.json(&["repo", "add", url]));
    let expected = json!({
        "id": 2, "vcs": "git", "rootPath": null, "remoteUrl": "https://example.com/b.git",
        "defaultBranch": null, "createdAt": "TIME",
    });
    assert_eq!(added, expected);
    assert_eq!(
        home.steady_text(&home.human(&["repo", "list"])),
        "ID  VCS  BRANCH  WHERE\n\
         1   git  main    DIR/work\n\
         2   git          https://example.com/b.git\n"
    );
    assert_eq!(home.steady(home.json(&["repo", "list"]))["items"][1], expected);
    let gone = home.json(&["repo", "remove", "https://example.com/b.git"]);
    assert_eq!(gone, json!({ "id": 2, "removed": true }));
    assert_eq!(home.human(&["repo", "remove", "."]), "");
    let none = home.run(&["repo", "list"]);
    let said = "no repositories yet; `ah repo add` records one\n".to_owned();
    assert_eq!((shape(&none), errors(&none)), ((Some(0), ""), said));
}

#[test]
fn a_repository_with_sessions_stays() {
    let home = Home::new().with_git();
    home.create_session("s1");
    assert_eq!(home.detail(&["repo", "remove", "1"], 4), "repo 1: has sessions, s1 among them");
    assert_eq!(home.detail(&["repo", "remove", "2"], 3), "repo 2 not found");
    assert_eq!(home.detail(&["repo", "remove", "x"], 3), "repo x not found");
    let detail = home.detail(&["repo", "add", "https://"], 8);
    assert_eq!(detail, "the repository URL has no readable host");
}
