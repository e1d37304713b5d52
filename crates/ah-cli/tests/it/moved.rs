//! Repositories and directories that are moved: sessions follow by fingerprint, or by `ah repo relocate`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::answers::errors;
use crate::support::{Home, succeeded};

/// Real repositories of Git below a home.
struct World {
    home: Home,
}

impl World {
    /// With a repository at `a` that has a commit and this remote.
    fn new(remote: &str) -> Self {
        let world = Self { home: Home::new() };
        world.init("a", remote);
        world
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    fn text(&self, below: &str) -> String {
        self.path(below).to_str().unwrap().to_owned()
    }

    fn init(&self, below: &str, remote: &str) {
        std::fs::create_dir_all(self.path(below)).unwrap();
        self.git(below, &["init", "--initial-branch", "main"]);
        self.git(below, &["commit", "--allow-empty", "-m", below]);
        if !remote.is_empty() {
            self.git(below, &["remote", "add", "origin", remote]);
        }
    }

    #[track_caller]
    fn git(&self, below: &str, arguments: &[&str]) {
        let mut command = self.home.clean("git");
        command.current_dir(self.path(below)).env("GIT_CONFIG_SYSTEM", "/dev/null");
        command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(arguments);
        succeeded(&command.output().unwrap(), arguments);
    }

    fn rename(&self, from: &str, to: &str) {
        let to = self.path(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(self.path(from), to).unwrap();
    }

    /// What `ah` answers in a directory, and what it says.
    #[track_caller]
    fn at(&self, below: &str, arguments: &[&str]) -> (Value, String) {
        let mut command = self.home.ah(arguments);
        let output = command.arg("--json").current_dir(self.path(below)).output().unwrap();
        let answer = succeeded(&output, arguments);
        (serde_json::from_str(&answer).unwrap(), self.home.steady_text(&errors(&output)))
    }

    /// Makes a session in a directory; what is said.
    #[track_caller]
    fn session(&self, below: &str, id: &str) -> String {
        self.at(below, &["session", "create", "--agent", "t", "--id", id]).1
    }

    /// The ids of the sessions of the repository around a directory.
    #[track_caller]
    fn here(&self, below: &str) -> Vec<String> {
        let (page, _) = self.at(below, &["session", "list", "--here"]);
        let mut ids: Vec<_> =
            page["items"].as_array().unwrap().iter().map(|item| text(&item["id"])).collect();
        ids.sort();
        ids
    }

    /// The recorded roots, by number.
    #[track_caller]
    fn roots(&self) -> Vec<String> {
        let repos = self.home.steady(self.home.json(&["repo", "list"]));
        repos["items"].as_array().unwrap().iter().map(|repo| text(&repo["rootPath"])).collect()
    }

    #[track_caller]
    fn dir_of(&self, id: &str) -> String {
        text(&self.home.steady(self.home.json(&["session", "show", id]))["projectDir"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn the_sessions_of_a_repository_that_was_moved_are_found_at_its_new_place() {
    let world = World::new("git@example.org:me/a.git");
    std::fs::create_dir(world.path("a/sub")).unwrap();
    world.session("a/sub", "s1");
    world.rename("a", "new/place");
    world.git("new/place", &["remote", "set-url", "origin", "https://example.org/me/a"]);
    assert_eq!(world.here("new/place/sub"), ["s1"], "looking finds it");
    assert_eq!(world.roots(), ["DIR/a"], "and records nothing");

    let said = world.session("new/place", "s2");
    assert_eq!(said, "repository 1 moved here from DIR/a; its sessions follow\n");
    assert_eq!(world.here("new/place"), ["s1", "s2"]);
    assert_eq!(world.roots(), ["DIR/new/place"]);
    assert_eq!(world.dir_of("s1"), "DIR/new/place/sub");
    let old = world.text("a");
    for named in ["1", &old, &world.text("new/place"), "ssh://git@example.org/me/a.git"] {
        let listed = world.home.json(&["session", "list", "--repo", named]);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2, "{named}");
        world.home.json(&["stats", "--repo", named]);
        world.home.json(&["search", "x", "--repo", named]);
    }
    let shown = world.home.json(&["repo", "show", &old]);
    assert_eq!(shown["formerPaths"][0]["path"], json!(old));
    assert_eq!(
        (&shown["missing"], &shown["remoteKey"]),
        (&json!(false), &json!("example.org/me/a"))
    );
    assert!(text(&shown["fingerprint"]).starts_with("git:"), "{shown}");
}

#[test]
fn a_second_clone_a_shallow_one_and_a_worktree_are_repositories_of_their_own() {
    let world = World::new("");
    world.git("a", &["commit", "--allow-empty", "-m", "second"]);
    world.session("a", "s1");
    let url = format!("file://{}", world.text("a"));
    world.git("", &["clone", &url, "b"]);
    world.git("", &["clone", "--depth", "1", &url, "shallow"]);
    world.git("a", &["worktree", "add", "../side", "-b", "side"]);
    for (place, id) in [("b", "s2"), ("shallow", "s3"), ("side", "s4")] {
        assert_eq!(world.session(place, id), "", "{place}");
        assert_eq!(world.here(place), [id]);
    }
    assert_eq!(world.roots(), ["DIR/a", "DIR/b", "DIR/shallow", "DIR/side"]);
    let shallow = world.home.json(&["repo", "show", "3"]);
    assert_eq!(shallow.get("fingerprint"), None, "it has no root");

    // A worktree that is moved is the same, one that is made anew is another.
    world.git("a", &["worktree", "move", "../side", "../moved"]);
    let said = world.session("moved", "s5");
    assert_eq!(said, "repository 4 moved here from DIR/side; its sessions follow\n");
    world.git("a", &["worktree", "remove", "../moved"]);
    world.git("a", &["worktree", "add", "../other", "-b", "other"]);
    assert_eq!(world.session("other", "s6"), "");
    assert_eq!(world.here("other"), ["s6"]);
}

#[test]
fn of_two_clones_that_are_gone_none_is_guessed_and_relocate_decides() {
    let world = World::new("");
    let url = format!("file://{}", world.text("a"));
    world.git("", &["clone", &url, "b"]);
    world.git("", &["clone", &url, "c"]);
    for (place, id) in [("b", "s1"), ("c", "s2")] {
        world.session(place, id);
    }
    world.rename("b", "d");
    std::fs::remove_dir_all(world.path("c")).unwrap();
    assert_eq!(world.here("d"), [""; 0]);
    let said = world.session("d", "s3");
    let expected = "this is repository 3; any of 1, 2 may have moved here, which \
                    `ah repo relocate ID DIR/d` says\n";
    assert_eq!(said, expected);

    let list = world.home.run(&["repo", "list"]);
    let shown = world.home.steady_text(&succeeded(&list, "list"));
    assert!(shown.contains("DIR/b (missing)") && !shown.contains("DIR/d (missing)"), "{shown}");
    let hint = "of those missing, `ah repo relocate OLD NEW` says where they are now\n";
    assert_eq!(errors(&list), hint);

    let (done, said) = world.at("", &["repo", "relocate", "1", "d"]);
    let step = json!({ "id": 1, "from": "DIR/b", "to": "DIR/d", "joined": 3 });
    let expected = json!({ "repos": [step], "sessions": 2, "tasks": 0, "drafts": 0 });
    assert_eq!(world.home.steady(done), expected);
    assert_eq!(said, "repository 3, known at DIR/d, is joined with 1\n");
    assert_eq!(world.here("d"), ["s1", "s3"]);
    assert_eq!(world.roots(), ["DIR/d", "DIR/c"]);
    let (again, _) = world.at("", &["repo", "relocate", &world.text("b"), "d"]);
    assert_eq!(again, json!({ "repos": [], "sessions": 0, "tasks": 0, "drafts": 0 }));
}

#[test]
fn a_moved_parent_takes_repositories_plain_folders_and_nested_ones_along() {
    let world = World::new("");
    world.init("old/one", "");
    world.init("old/one/nested", "");
    std::fs::create_dir_all(world.path("old/plain")).unwrap();
    std::fs::create_dir_all(world.path("older")).unwrap();
    for (place, id) in
        [("old/one", "s1"), ("old/one/nested", "s2"), ("old/plain", "s3"), ("older", "s4")]
    {
        world.session(place, id);
    }
    std::os::unix::fs::symlink(world.path(""), world.path("work/link")).unwrap();
    world.rename("old", "new");
    let old = world.text("work/link/old");
    let (plan, _) = world.at("", &["repo", "relocate", &old, "new", "--dry-run"]);
    assert_eq!((plan["repos"].as_array().unwrap().len(), &plan["sessions"]), (3, &json!(3)));
    assert_eq!(world.dir_of("s3"), "DIR/old/plain");
    let output = world.home.ah(&["repo", "relocate", &old, "../new"]).output().unwrap();
    assert_eq!(
        world.home.steady_text(&succeeded(&output, "relocate")),
        "repository 1: DIR/old/one -> DIR/new/one\n\
         repository 2: DIR/old/one/nested -> DIR/new/one/nested\n\
         repository 3: DIR/old/plain -> DIR/new/plain\n\
         moved: 3 repositories, 3 sessions, 0 tasks, 0 drafts\n"
    );
    for (id, dir) in
        [("s1", "new/one"), ("s2", "new/one/nested"), ("s3", "new/plain"), ("s4", "older")]
    {
        assert_eq!(world.dir_of(id), format!("DIR/{dir}"));
        assert_eq!(world.here(dir), [id]);
    }
}

#[test]
fn relocate_refuses_what_is_still_there_and_another_repository() {
    let world = World::new("");
    world.init("other", "");
    world.session("a", "s1");
    let refused = |arguments: &[&str], exit| {
        let mut all = vec!["repo", "relocate"];
        all.extend(arguments);
        let problem = world.home.steady(world.home.problem(&all, exit));
        text(&problem["detail"])
    };
    let old = world.text("a");
    assert_eq!(refused(&[&old, "../other"], 4), "DIR/a is still there");
    world.rename("a", "b");
    let said = refused(&[&old, "../other"], 4);
    assert!(said.starts_with("DIR/other is another repository (git:"), "{said}");
    assert!(said.contains(") than DIR/a was (git:"), "{said}");
    let said = refused(&[&old, "../nowhere"], 3);
    assert!(said.starts_with("DIR/work/../nowhere cannot be read"), "{said}");
    assert_eq!(refused(&["../never", "../b"], 3), "nothing is known at or below DIR/never");
    refused(&["77", "../b"], 3);
    assert_eq!(world.roots(), ["DIR/a"]);
    world.home.json(&["repo", "relocate", &old, "../other", "--force"]);
    assert_eq!(world.roots(), ["DIR/other"]);
}

#[test]
fn a_link_that_was_left_behind_is_no_hindrance() {
    let world = World::new("");
    world.session("a", "s1");
    world.rename("a", "b");
    std::os::unix::fs::symlink(world.path("b"), world.path("a")).unwrap();
    let (done, _) = world.at("", &["repo", "relocate", "a", "b"]);
    assert_eq!(done["sessions"], 1);
    assert_eq!((world.roots(), world.here("a")), (vec!["DIR/b".to_owned()], vec!["s1".to_owned()]));
}

#[test]
fn two_processes_at_the_new_place_make_one_row() {
    let world = World::new("");
    world.session("a", "s0");
    world.rename("a", "b");
    let start = |n: usize| {
        let id = format!("s{n}");
        let mut command = world.home.ah(&["session", "create", "--agent", "t", "--id", &id]);
        command.current_dir(world.path("b")).spawn().unwrap()
    };
    let racing: Vec<_> = (1..=4).map(start).collect();
    for mut one in racing {
        assert!(one.wait().unwrap().success());
    }
    assert_eq!(world.roots(), ["DIR/b"]);
    assert_eq!(world.here("b"), ["s0", "s1", "s2", "s3", "s4"]);
}

#[test]
fn a_transcript_of_a_dead_path_belongs_to_the_repository_that_was_there() {
    let world = World::new("");
    world.session("a", "s1");
    world.rename("a", "b");
    world.session("b", "s2");
    let dir = world.path("home/.claude/projects/x");
    std::fs::create_dir_all(&dir).unwrap();
    let line = json!({
        "type": "user", "sessionId": "11111111-1111-4111-8111-111111111111", "uuid": "u1",
        "parentUuid": null, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": world.text("a/deep"),
        "version": "2.0.0", "isSidechain": false, "message": { "role": "user", "content": "hello" },
    });
    let file = dir.join("11111111-1111-4111-8111-111111111111.jsonl");
    std::fs::write(file, format!("{line}\n")).unwrap();
    world.home.json(&["import", "claude-code"]);
    assert_eq!(world.roots(), ["DIR/b"], "no row for the dead path");
    assert_eq!(world.here("b").len(), 3);
}

#[test]
fn rows_from_before_get_their_fingerprint_when_they_are_seen() {
    let world = World::new("");
    world.session("a", "s1");
    world.home.damage("UPDATE repos SET fingerprint = NULL, remote_key = NULL, host = NULL");
    assert_eq!(world.home.json(&["repo", "show", "1"]).get("fingerprint"), None);
    assert_eq!(world.session("a", "s2"), "");
    assert!(text(&world.home.json(&["repo", "show", "1"])["fingerprint"]).starts_with("git:"));
    world.rename("a", "b");
    assert_eq!(world.here("b"), ["s1", "s2"]);
}

#[test]
fn a_directory_that_is_gone_is_told_with_the_way_out() {
    let world = World::new("");
    std::fs::create_dir(world.path("plain")).unwrap();
    world.session("plain", "s1");
    world.rename("plain", "elsewhere");
    let (_, said) = world.at("", &["session", "show", "s1"]);
    let expected = "DIR/plain, where session s1 worked, is gone\n\
                    hint: `ah repo relocate DIR/plain NEW` says where it is now\n";
    assert_eq!(said, expected);
    world.home.json(&["repo", "relocate", &world.text("plain"), "../elsewhere"]);
    assert_eq!(world.at("", &["session", "show", "s1"]).1, "");
}

#[test]
fn the_transcripts_of_claude_code_are_renamed_but_never_overwritten() {
    let world = World::new("");
    world.session("a", "s1");
    let named = |path: &Path| {
        let name = path.to_str().unwrap();
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        world.path("home/.claude/projects").join(name)
    };
    let (old, new) = (named(&world.path("a")), named(&world.path("b")));
    std::fs::create_dir_all(&old).unwrap();
    std::fs::write(old.join("t.jsonl"), "{}").unwrap();
    world.rename("a", "b");
    let (_, said) = world.at("", &["repo", "relocate", "1", "b", "--claude"]);
    assert!(said.starts_with("renamed "), "{said}");
    assert!(new.join("t.jsonl").exists() && !old.exists());

    std::fs::create_dir_all(named(&world.path("c"))).unwrap();
    world.rename("b", "c");
    let (_, said) = world.at("", &["repo", "relocate", "1", "c", "--claude"]);
    assert!(said.ends_with("is there already\n"), "{said}");
    assert!(new.join("t.jsonl").exists());
}
