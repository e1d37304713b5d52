//! Homes: what they consist of, and which are refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use ah_hive::{Homes, HostError};

use crate::given::{State, mode, set_mode, unsafe_reason};

#[test]
fn a_home_has_its_directories_for_its_owner_alone() {
    let state = State::new();
    let home = state.home("alice");
    let root = state.path();
    for part in [
        "agents",
        "agents/alice",
        "agents/alice/config",
        "agents/alice/claude",
        "agents/alice/state",
    ] {
        assert_eq!(mode(&root.join(part)), 0o700, "{part}");
    }
    for part in ["applied", "applied/alice"] {
        assert_eq!(mode(&root.join(part)), 0o700, "{part}");
    }
    assert_eq!(home.dir, root.join("agents/alice"));
    assert!(home.config().join(".git/HEAD").is_file());
    assert!(home.applied.join(".git/HEAD").is_file());
}

#[test]
fn making_a_home_again_changes_nothing_of_it() {
    let state = State::new();
    let home = state.home("alice");
    fs::write(home.state().join("notes"), "remember").unwrap();
    fs::write(home.config().join("agent.toml"), "x = 1").unwrap();
    state.home("alice");
    assert_eq!(fs::read_to_string(home.state().join("notes")).unwrap(), "remember");
    assert_eq!(fs::read_to_string(home.config().join("agent.toml")).unwrap(), "x = 1");
}

#[test]
fn a_home_that_was_left_half_made_is_finished() {
    // Every part but one, and a repository that was never finished.
    for missing in ["agents/alice/claude", "agents/alice/config", "applied/alice", "agents/alice"] {
        let state = State::new();
        state.home("alice");
        fs::remove_dir_all(state.path().join(missing)).unwrap();
        let unfinished = state.path().join("applied/.unfinished");
        fs::create_dir(&unfinished).unwrap();
        set_mode(&unfinished, 0o700);
        fs::write(unfinished.join("junk"), "junk").unwrap();
        let home = state.home("alice");
        assert!(home.config().join(".git/HEAD").is_file(), "{missing}");
        assert!(!home.config().join("junk").exists(), "{missing}");
        assert!(home.applied.join(".git/HEAD").is_file(), "{missing}");
        assert!(home.claude().is_dir(), "{missing}");
    }
}

#[test]
fn many_at_once_make_one_home() {
    let state = State::new();
    std::thread::scope(|scope| {
        let homes = state.homes();
        let made: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn({
                    let homes = homes.clone();
                    move || homes.create("alice")
                })
            })
            .collect();
        for one in made {
            one.join().unwrap().unwrap();
        }
    });
    assert!(state.homes().home("alice").unwrap().config().join(".git/HEAD").is_file());
    assert_eq!(fs::read_dir(state.path().join("applied")).unwrap().count(), 1);
}

/// Run as a process of its own by the test below.
#[test]
fn makes_the_home_that_the_environment_names() {
    let Some(root) = std::env::vars_os().find(|(key, _)| key == "AH_TEST_HOME_OF") else {
        return;
    };
    Homes::new(root.1).create("alice").unwrap();
}

#[test]
fn two_processes_at_once_make_one_home() {
    let state = State::new();
    let program = std::env::current_exe().unwrap();
    let start = || {
        Command::new(&program)
            .args(["--exact", "homes::makes_the_home_that_the_environment_names"])
            .env("AH_TEST_HOME_OF", state.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children = [start(), start(), start()];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let home = state.homes().home("alice").unwrap();
    assert!(home.config().join(".git/HEAD").is_file());
    assert!(home.applied.join(".git/HEAD").is_file());
}

#[test]
fn names_that_lead_elsewhere_or_look_alike_are_refused() {
    let state = State::new();
    let long = "x".repeat(300);
    for name in ["../x", "a/b", "", ".", "..", ".hidden", &long, "al\u{456}ce", "a\0b", "operator"]
    {
        for result in [state.homes().create(name), state.homes().home(name)] {
            let refused = matches!(result, Err(HostError::Store(ah_store::StoreError::Invalid(_))));
            assert!(refused, "{name:?}");
        }
    }
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn another_spelling_of_a_name_does_not_get_a_second_home() {
    let state = State::new();
    state.home("Alice");
    let reason = unsafe_reason(state.homes().create("alice"));
    assert!(reason.ends_with("agents/Alice: it is alice as well"), "{reason}");
    assert!(!state.path().join("agents/alice").exists());
}

#[test]
fn a_link_at_any_level_is_refused_and_not_followed() {
    for level in [
        "agents",
        "agents/alice",
        "agents/alice/config",
        "agents/alice/claude",
        "agents/alice/state",
        "applied",
        "applied/alice",
    ] {
        let state = State::new();
        state.home("alice");
        let elsewhere = state.elsewhere();
        let place = state.path().join(level);
        fs::remove_dir_all(&place).unwrap();
        symlink(&elsewhere, &place).unwrap();
        let created = unsafe_reason(state.homes().create("alice"));
        assert!(created.contains("symbolic link"), "{level}: {created}");
        let found = unsafe_reason(state.homes().find("alice"));
        assert!(found.contains("symbolic link"), "{level}: {found}");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1, "{level}");
        assert!(fs::symlink_metadata(&place).unwrap().is_symlink(), "{level}");
    }
}

#[test]
fn a_directory_that_others_may_enter_is_refused_and_not_repaired() {
    for (level, wrong) in
        [("agents", 0o755), ("agents/alice/state", 0o770), ("applied/alice", 0o701)]
    {
        let state = State::new();
        state.home("alice");
        set_mode(&state.path().join(level), wrong);
        let reason = unsafe_reason(state.homes().create("alice"));
        assert!(reason.contains("it must be 0700"), "{level}: {reason}");
        assert_eq!(mode(&state.path().join(level)), wrong, "{level}");
    }
}

#[test]
fn a_file_where_a_directory_should_be_is_refused() {
    let state = State::new();
    state.home("alice");
    let place = state.path().join("agents/alice/claude");
    fs::remove_dir(&place).unwrap();
    fs::write(&place, "").unwrap();
    assert!(unsafe_reason(state.homes().create("alice")).contains("no directory"));
}

#[test]
fn a_home_of_another_user_is_refused() {
    let me = rustix::process::geteuid();
    if !me.is_root() {
        // Only the root of a machine can give things away.
        return;
    }
    let state = State::new();
    state.home("alice");
    std::os::unix::fs::chown(state.path().join("agents/alice"), Some(12_345), None).unwrap();
    assert!(unsafe_reason(state.homes().create("alice")).contains("another user (12345)"));
}

#[test]
fn without_git_the_error_says_what_to_do() {
    let state = State::new();
    let homes = state.homes().with_git("/nonexistent/git");
    let error = homes.create("alice").unwrap_err().to_string();
    assert!(error.contains("install git"), "{error}");
    // And with it the same home is finished.
    assert!(state.home("alice").config().join(".git/HEAD").is_file());
}
