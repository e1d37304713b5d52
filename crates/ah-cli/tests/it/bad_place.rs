//! A state directory that cannot hold a database, or holds something else.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::answers::{connect, errors, shape};
use crate::support::{Home, succeeded};

/// Runs a reading and a writing command with `AH_HOME` there; both must fail alike.
#[track_caller]
fn refused_at(home: &Home, state: &Path, code: i32, said: &str) {
    for arguments in [&["session", "list"][..], &["session", "create", "--agent", "x"]] {
        let output = home.ah(arguments).env("AH_HOME", state).output().unwrap();
        assert_eq!(shape(&output), (Some(code), ""), "{}", errors(&output));
        let text = home.steady_text(&errors(&output));
        assert!(text.starts_with(&format!("error: {said}")), "{text}");
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let home = Home::new();
    std::fs::write(home.path().join("file"), "mine").unwrap();
    let below = home.path().join("file/below");
    refused_at(&home, &below, 1, "cannot create directory DIR/file/below: Not a directory");
    assert_eq!(std::fs::read_to_string(home.path().join("file")).unwrap(), "mine");
    refused_at(&home, Path::new("/proc/none"), 1, "cannot create directory /proc/none: ");
    refused_at(&home, &home.path().join("file"), 1, "cannot ");
}

#[test]
fn a_directory_in_place_of_the_database_is_named() {
    let home = Home::new();
    std::fs::create_dir_all(home.database()).unwrap();
    let said = "database DIR/state/state.db is damaged: a directory stands in its place\n";
    refused_at(&home, &home.state(), 9, said);
    assert!(home.database().is_dir());
}

#[test]
fn a_place_that_anybody_may_write_to_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let home = Home::new();
    let open_to_all = |place: &Path, mode| {
        std::fs::set_permissions(place, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    std::fs::create_dir(home.state()).unwrap();
    open_to_all(&home.state(), 0o777);
    let said = "cannot use database DIR/state/state.db: DIR/state: anybody may write to it";
    refused_at(&home, &home.state(), 1, said);
    assert!(!home.database().exists());
    open_to_all(&home.state(), 0o755);
    home.json(&["session", "create", "--agent", "x"]);
    open_to_all(&home.database(), 0o666);
    let said = "cannot use database DIR/state/state.db: DIR/state/state.db: anybody may write";
    refused_at(&home, &home.state(), 1, said);
}

#[test]
fn a_file_that_is_no_database_stays_as_it_is() {
    let home = Home::new();
    std::fs::create_dir(home.state()).unwrap();
    for text in
        ["no database\n".repeat(100), "short".to_owned(), "SQLite format 3\0 not".to_owned()]
    {
        std::fs::write(home.database(), &text).unwrap();
        refused_at(
            &home,
            &home.state(),
            9,
            "database DIR/state/state.db is damaged: file is not a database\nhint: ",
        );
        assert_eq!(std::fs::read_to_string(home.database()).unwrap(), text);
    }
}

#[test]
fn a_truncated_database_stays_as_it_is() {
    let home = Home::new();
    home.session_with_events("s1", 50);
    home.connect().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let whole = std::fs::read(home.database()).unwrap();
    for bytes in [20_000, 4_096, 1_000] {
        std::fs::write(home.database(), &whole[..bytes]).unwrap();
        refused_at(&home, &home.state(), 9, "database DIR/state/state.db is damaged: ");
        assert_eq!(std::fs::read(home.database()).unwrap(), &whole[..bytes]);
    }
    std::fs::write(home.database(), &whole).unwrap();
    assert_eq!(home.json(&["db", "check"])["ok"], true, "nothing was lost beside it");
}

#[test]
fn another_programs_database_stays_as_it_is() {
    let home = Home::new();
    std::fs::create_dir(home.state()).unwrap();
    for sql in [
        "CREATE TABLE bookmarks (x); INSERT INTO bookmarks VALUES (1)",
        "PRAGMA user_version = 2",
        "PRAGMA user_version = 3",
        "PRAGMA application_id = 7",
    ] {
        home.connect().execute_batch(sql).unwrap();
        let before = std::fs::read(home.database()).unwrap();
        let said = "database DIR/state/state.db is damaged: it belongs to another program";
        refused_at(&home, &home.state(), 9, said);
        assert_eq!(std::fs::read(home.database()).unwrap(), before, "{sql}");
    }
}

#[test]
fn a_locked_database_is_busy_and_says_so() {
    let home = Home::new();
    home.session_with_events("s1", 1);
    let before = home.json(&["session", "show", "s1"]);
    let holder = connect(&home.database());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut command = home.ah(&["session", "append", "s1", "--type", "n", "--json"]);
    let output = command.env("AH_STORE_BUSY_TIMEOUT_MS", "300").output().unwrap();
    assert_eq!(shape(&output), (Some(9), ""));
    let mut problem: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert!(problem["retryAfterMs"].take().is_u64());
    let expected = json!({
        "code": "busy", "title": "try again later", "status": 503, "detail": "the store is busy",
        "retryAfterMs": null,
        "hints": [
            "another program is writing to the database; try again, or raise store.busy-timeout-ms"
        ],
    });
    assert_eq!(problem, expected);
    assert_eq!(home.json(&["session", "show", "s1"]), before, "reading goes on");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(home.json(&["session", "append", "s1", "--type", "n"])["firstSeq"], 2);
}

#[test]
fn without_a_home_the_variables_are_named() {
    let home = Home::new();
    let mut command = home.ah(&["session", "list"]);
    let output = command.env_remove("AH_HOME").env("HOME", "").output().unwrap();
    assert_eq!(shape(&output), (Some(7), ""));
    let said = "error: no home directory: HOME is not set to an absolute path, nor is AH_HOME set\n\
                hint: set AH_HOME to the directory that shall hold the database\n";
    assert_eq!(errors(&output), said);
}

#[test]
fn an_empty_file_becomes_a_database_and_an_odd_path_holds_one() {
    let home = Home::new();
    std::fs::create_dir(home.state()).unwrap();
    std::fs::write(home.database(), "").unwrap();
    home.create_session("s1");
    let odd = home.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9 'x' %20 ?"));
    let output =
        home.ah(&["session", "create", "--id", "s2"]).env("AH_HOME", &odd).output().unwrap();
    assert_eq!(succeeded(&output, "create"), "s2\n");
    assert!(odd.join("state.db").exists());
}

#[test]
fn a_removed_working_directory_matters_only_to_who_needs_it() {
    let home = Home::new();
    home.create_session("s1");
    let program = env!("CARGO_BIN_EXE_ah");
    let script = |arguments: &str| {
        let text = format!("mkdir gone && cd gone && rmdir ../gone && exec {program} {arguments}");
        home.clean("sh").args(["-c", &text]).output().unwrap()
    };
    assert_eq!(succeeded(&script("session rename s1 x && true"), "rename"), "");
    let output = script("session create");
    assert_eq!(shape(&output).0, Some(7), "{}", errors(&output));
}
