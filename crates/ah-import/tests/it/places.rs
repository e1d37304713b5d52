//! Where agents are looked for, and what is not followed or cannot be read.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use ah_conformance::block_on;
use ah_import::{ImportError, Progress, import_daycare};

use crate::support::{DataDir, agents, check_unchanged, options, store, told};

#[test]
fn a_data_directory_or_its_agents_may_be_given() {
    let dir = DataDir::with_fixtures(&["a02"]);
    let store = store();
    dir.import(&*store);
    let agents = dir.path().join("agents");
    let report = block_on(import_daycare(&*store, &agents, &options(), &mut |_| {})).unwrap();
    assert_eq!(report.agents.unchanged, 1);
}

#[test]
fn a_relative_path_makes_no_relative_repository() {
    let dir = DataDir::with_history("a", "{\"type\":\"start\",\"at\":1}\n");
    let store = store();
    let here = std::env::current_dir().unwrap();
    let up: String = here.components().skip(1).map(|_| "../").collect();
    let path = dir.path().strip_prefix("/").unwrap();
    let path = std::path::Path::new(&up).join(path);
    block_on(import_daycare(&*store, &path, &options(), &mut |_| {})).unwrap();
    let session = agents(&*store)[0].active_session_id.clone().unwrap();
    let session = block_on(store.session(session)).unwrap();
    assert!(session.repo.root_path.unwrap().starts_with('/'));
}

#[test]
fn what_holds_no_agents_is_refused() {
    let store = store();
    let dir = tempfile::tempdir().unwrap();
    let import = |path: &std::path::Path| {
        block_on(import_daycare(&*store, path, &options(), &mut |_| {})).unwrap_err()
    };
    assert!(matches!(import(dir.path()), ImportError::NoAgents { .. }));
    fs::create_dir(dir.path().join("something")).unwrap();
    assert!(matches!(import(dir.path()), ImportError::NoAgents { .. }));
    fs::write(dir.path().join("file"), "").unwrap();
    assert!(matches!(import(&dir.path().join("file")), ImportError::NotADirectory { .. }));
    let missing = import(&dir.path().join("missing"));
    assert!(matches!(missing, ImportError::Unreadable { .. }));
    assert!(missing.to_string().ends_with("/missing"), "{missing}");
    symlink("something", dir.path().join("agents")).unwrap();
    assert!(matches!(import(dir.path()), ImportError::NotADirectory { .. }));
}

#[test]
fn an_empty_directory_of_agents_is_no_error() {
    let report = DataDir::new().import(&*store());
    assert_eq!(report.agents.found, 0);
}

#[test]
fn symbolic_links_are_named_and_not_followed() {
    let dir = DataDir::with_fixtures(&["a02"]);
    let elsewhere = DataDir::with_fixtures(&["a01"]);
    let other = elsewhere.agent("a01userfull0000000000000");
    symlink(&other, dir.agent("a99link")).unwrap();
    symlink(other.join("history.jsonl"), dir.agent("loose")).unwrap();
    dir.write("b", "descriptor.json", "{\"type\":\"user\"}");
    symlink(other.join("history.jsonl"), dir.agent("b").join("history.jsonl")).unwrap();
    fs::create_dir(dir.agent("b").join("state.json")).unwrap();
    let store = store();
    assert_eq!(
        told(&dir.import(&*store)),
        "markers 1, untimed 0, blank 0\n\
         loose: not a folder, left alone\n\
         a02onlystart000000000000 imported; sessions 1, records 0, present 0, raw 0\n\
         a99link skipped: is a symbolic link and not followed; sessions 0, records 0, present 0, \
         raw 0\n\
         b imported; sessions 1, records 0, present 0, raw 0\n  \
           history.jsonl: not a regular file, not followed\n  \
           state.json: not a regular file, not followed\n  \
           state.json: is missing: the agent sleeps and may do nothing\n  \
           history.jsonl: is missing: a session without records"
    );
    check_unchanged(&dir, &*store);
}

#[test]
fn a_file_that_cannot_be_read_costs_its_agent_and_comes_in_the_next_run() {
    let dir = DataDir::with_fixtures(&["a01", "a02", "a03"]);
    let [first, third] =
        ["a01userfull0000000000000", "a03systemresets000000000"].map(|id| dir.agent(id));
    // Nobody can read a directory or what is gone, not even who may read everything.
    let mut change = |progress: Progress<'_>| {
        if let Progress::Found { .. } = progress {
            fs::rename(first.join("history.jsonl"), first.join("kept")).unwrap();
            fs::create_dir(first.join("history.jsonl")).unwrap();
            fs::rename(third.join("descriptor.json"), third.join("kept")).unwrap();
        }
    };
    let store = store();
    let report = block_on(import_daycare(&*store, dir.path(), &options(), &mut change)).unwrap();
    assert_eq!(
        told(&report),
        "markers 1, untimed 0, blank 0\n\
         a01userfull0000000000000 failed: cannot read history.jsonl: Is a directory (os error 21); \
         sessions 0, records 0, present 0, raw 0\n\
         a02onlystart000000000000 imported; sessions 1, records 0, present 0, raw 0\n\
         a03systemresets000000000 failed: cannot read descriptor.json: No such file or directory \
         (os error 2); sessions 0, records 0, present 0, raw 0"
    );
    fs::remove_dir(first.join("history.jsonl")).unwrap();
    fs::rename(first.join("kept"), first.join("history.jsonl")).unwrap();
    fs::rename(third.join("kept"), third.join("descriptor.json")).unwrap();
    assert_eq!(dir.import(&*store).agents.imported, 2);
    check_unchanged(&dir, &*store);
}

#[test]
fn a_folder_or_file_that_may_not_be_read_costs_its_agent() {
    let dir = DataDir::with_fixtures(&["a01", "a02", "a03"]);
    let folder = dir.agent("a01userfull0000000000000");
    let file = dir.agent("a03systemresets000000000").join("state.json");
    for path in [&folder, &file] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let report = dir.import(&*store());
    // Who may read everything reads these too.
    let refused = fs::read_dir(&folder).is_err();
    assert_eq!(report.agents.failed, if refused { 2 } else { 0 });
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn folders_are_read_in_the_byte_order_of_their_names_whatever_those_are() {
    let dir = DataDir::new();
    for name in [&b"b"[..], b"B", "ä \u{1f600}".as_bytes(), b"\xff", b" ", b"-x"] {
        let folder = dir.path().join("agents").join(std::ffi::OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("descriptor.json"), "{}").unwrap();
    }
    let store = store();
    let report = dir.import(&*store);
    let found: Vec<_> = report
        .details
        .iter()
        .map(|agent| (agent.id.as_str(), agent.name.as_str(), agent.reason.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (" ", " ", Some("its name is blank")),
            ("-x", "x", None),
            ("B", "B", None),
            ("b", "b-2", None),
            ("ä \u{1f600}", "agent", None),
            ("\u{fffd}", "\u{fffd}", Some("its name is not UTF-8")),
        ]
    );
    check_unchanged(&dir, &*store);
}

#[test]
fn progress_tells_of_all_bytes_and_of_each_agent() {
    let dir = DataDir::with_fixtures(&["a02", "a07"]);
    let mut told = Vec::new();
    let mut note = |progress: Progress<'_>| told.push(format!("{progress:?}"));
    block_on(import_daycare(&*store(), dir.path(), &options(), &mut note)).unwrap();
    let size = |id: &str| -> u64 {
        let files = fs::read_dir(dir.agent(id)).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let (a, b) = ("a02onlystart000000000000", "a07nohistory000000000000");
    let (x, y) = (size(a), size(b));
    assert_eq!(
        told,
        [
            format!("Found {{ agents: 2, bytes: {} }}", x + y),
            format!("Agent {{ name: {a:?}, bytes: {x} }}"),
            format!("Agent {{ name: {b:?}, bytes: {y} }}"),
        ]
    );
}
