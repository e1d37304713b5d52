//! Directories and files that are refused: the table of the original, line by line.

use std::fs;
use std::os::unix::fs::symlink;

use ah_bundle::{Bundle, BundleError, DryRun, Problem, UnsafeDirectory};

use crate::given::{Given, at, bundle, set_mode};

const SCOPE: &str = "docs-demo";
const FIRST: &str = "state-2026-03-01T080000Z-f2795392.json";
const SHA: &str = "f2795392c3ba25c3fb327291ca3aba769a477313b90802910e30683b336afb1e";

#[test]
fn pointers_that_the_original_takes_are_taken() {
    let upper = SHA.to_uppercase();
    for (pointer, problems) in [
        (format!(r#"{{"version":"1","path":"{FIRST}","sha256":"{upper}"}}"#), 0),
        (format!(r#"{{"VERSION":"1","Path":"{FIRST}","sha256":"{SHA}","more":1}}"#), 0),
        (format!(r#"{{"version":"1","path":"{FIRST}","sha256":""}}"#), 1),
        (format!(r#"{{"version":"1","path":"{FIRST}"}}"#), 1),
    ] {
        let given = Given::fixture("basic");
        given.write("latest.json", pointer.as_bytes());
        let loaded = given.dir().load(SCOPE).unwrap();
        assert_eq!(loaded.snapshot.sha, SHA, "{pointer}");
        let blank = loaded.damage.iter().filter(|damage| damage.problem == Problem::BlankSha);
        assert_eq!((blank.count(), loaded.damage.len()), (problems, problems), "{pointer}");
    }
}

#[test]
fn a_pointer_that_is_wrong_is_named_and_the_snapshot_still_loads() {
    let pointing = |path: &str| format!(r#"{{"version":"1","path":{path:?},"sha256":"{SHA}"}}"#);
    for (pointer, kind) in [
        (String::new(), "badJson"),
        ("nonsense".to_owned(), "badJson"),
        ("null".to_owned(), "badJson"),
        (format!(r#"{{"version":"2","path":"{FIRST}","sha256":"{SHA}"}}"#), "wrongVersion"),
        (format!(r#"{{"version":1,"path":"{FIRST}","sha256":"{SHA}"}}"#), "invalid"),
        (pointing("../state.json"), "pathTraversal"),
        (pointing("a/b.json"), "pathTraversal"),
        (pointing("/etc/passwd"), "pathTraversal"),
        (pointing("state..json"), "pathTraversal"),
        (pointing(""), "pathTraversal"),
        (pointing("latest.json"), "missing"),
        (pointing("absent.json"), "missing"),
    ] {
        let given = Given::fixture("basic");
        given.write("latest.json", pointer.as_bytes());
        let before = given.files();
        let loaded = given.dir().load(SCOPE).unwrap();
        assert_eq!(loaded.snapshot.sha, SHA, "{pointer}");
        let damage = serde_json::to_value(&loaded.damage).unwrap();
        assert_eq!(damage[0]["file"], "latest.json", "{pointer}");
        assert_eq!(damage[0]["problem"]["kind"], kind, "{pointer}");
        assert_eq!(loaded.damage.len(), 1, "{pointer}");
        assert_eq!(given.files(), before, "{pointer}");
    }
}

#[test]
fn a_bundle_that_the_original_refuses_is_refused_by_the_key() {
    let good = Given::fixture("basic").read(FIRST);
    let changed = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    for (text, key) in [
        (changed("\"2026-03-01T08:00:00Z\"", "\"2026-03-01 08:00:00Z\""), "created_at"),
        (changed("\"demo-model-1\"", "\"\""), "model_id"),
        (changed("\"http://127.0.0.1:9/v1\"", "null"), "base_url"),
        (changed("\"docs-demo\"", "\"\""), "scope_key"),
        (changed("\"v0.0.0-fixture\"", "7"), "tool_version"),
        (changed("\"Prefer short answers.\"", "[]"), "prompts"),
        (changed("\"context\": {}", "\"context\": []"), "context"),
    ] {
        match Bundle::parse(text.as_bytes()) {
            Err(Problem::Invalid { key: found, .. }) => assert_eq!(found, key),
            other => panic!("{key}: {other:?}"),
        }
    }
    for version in ["\"2\"", "null", "\"\""] {
        let text = changed("\"version\": \"1\"", &format!("\"version\": {version}"));
        let parsed = Bundle::parse(text.as_bytes());
        assert!(matches!(parsed, Err(Problem::WrongVersion { .. })), "{version}: {parsed:?}");
    }
    // A blank is not empty, and hashes and links are nobody's to check.
    Bundle::parse(changed("\"demo-model-1\"", "\" \"").as_bytes()).unwrap();
    Bundle::parse(changed("a712e90b", "bogus").as_bytes()).unwrap();
}

#[test]
fn a_directory_that_others_can_reach_is_refused_until_it_is_asked_to_be_fixed() {
    for mode in [0o707, 0o702, 0o1777, 0o770, 0o755, 0o710] {
        let given = Given::fixture("basic");
        set_mode(given.path(), mode);
        let before = given.files();
        for error in [
            given.dir().load(SCOPE).unwrap_err(),
            given.dir().save(bundle(SCOPE, "a"), at(0)).unwrap_err(),
        ] {
            let command =
                format!("`ah bundle fix-permissions --state-dir {}`", given.path().display());
            assert!(error.to_string().contains(&command), "{error}");
            let reason = UnsafeDirectory::UnsafeMode { dir: given.path().to_owned(), mode };
            let BundleError::UnsafeDirectory { reason: found, .. } = error else { panic!() };
            assert_eq!(found, reason);
        }
        assert_eq!(given.files(), before);
        let told = given.dir().fix_permissions(DryRun::Yes).unwrap();
        assert_eq!(given.files(), before);
        assert_eq!(given.dir().fix_permissions(DryRun::No).unwrap(), told);
        assert_eq!(told.changed.len(), 1);
        given.dir().load(SCOPE).unwrap();
    }
}

#[test]
fn files_that_others_can_reach_are_refused_until_they_are_asked_to_be_fixed() {
    for mode in [0o666, 0o644, 0o604, 0o620] {
        let given = Given::fixture("basic");
        set_mode(&given.file(FIRST), mode);
        let error = given.dir().load(SCOPE).unwrap_err().to_string();
        assert!(error.contains(&format!("its mode is {mode:04o}")), "{error}");
        assert!(error.contains("`ah bundle fix-permissions --state-dir"), "{error}");
        given.write("notes.txt", b"of somebody");
        set_mode(&given.file("notes.txt"), 0o644);
        let fixed = given.dir().fix_permissions(DryRun::No).unwrap();
        let names: Vec<&str> = fixed.changed.iter().map(|change| change.name.as_str()).collect();
        assert_eq!(names, [FIRST]);
        assert_eq!(given.dir().load(SCOPE).unwrap().damage, []);
    }
}

#[test]
fn links_and_other_things_in_place_of_a_directory_are_refused() {
    let given = Given::fixture("basic");
    let link = given.path().with_file_name("link");
    symlink(given.path(), &link).unwrap();
    for path in [link.clone(), link.join("")] {
        let error = ah_bundle::StateDir::new(path).load(SCOPE).unwrap_err();
        let BundleError::UnsafeDirectory { reason, .. } = error else { panic!("{error}") };
        assert_eq!(reason, UnsafeDirectory::Symlink { target: given.path().to_owned() });
    }
    let error = ah_bundle::StateDir::new(given.file(FIRST)).load(SCOPE).unwrap_err();
    let BundleError::UnsafeDirectory { reason, .. } = error else { panic!("{error}") };
    assert_eq!(reason, UnsafeDirectory::NotADirectory);
    let error = ah_bundle::StateDir::new(given.file(FIRST)).save(bundle("one", "a"), at(0));
    assert!(matches!(error, Err(BundleError::UnsafeDirectory { .. })), "{error:?}");
}

#[test]
fn links_and_pipes_in_place_of_files_are_refused_without_waiting() {
    let given = Given::fixture("basic");
    fs::remove_file(given.file("latest.json")).unwrap();
    symlink(FIRST, given.file("latest.json")).unwrap();
    let loaded = given.dir().load(SCOPE).unwrap();
    assert_eq!(loaded.damage[0].problem, Problem::Symlink);
    fs::remove_file(given.file(FIRST)).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, given.file(FIRST), mode).unwrap();
    let Err(BundleError::AllDamaged { damage, .. }) = given.dir().load(SCOPE) else {
        panic!("a pipe is no snapshot");
    };
    assert!(damage.iter().any(|damage| damage.problem == Problem::NotAFile), "{damage:?}");
    assert_eq!(given.dir().list().unwrap()[0].problem, Some(Problem::NotAFile));
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    if !rustix::process::geteuid().is_root() {
        // Nobody else can give a file away: what is foreign is then whatever root owns.
        let error = ah_bundle::StateDir::new("/").load(SCOPE).unwrap_err();
        let BundleError::UnsafeDirectory { reason, .. } = error else { panic!("{error}") };
        assert_eq!(reason, UnsafeDirectory::ForeignOwner { owner: 0 });
        return;
    }
    let given = Given::fixture("basic");
    std::os::unix::fs::chown(given.file(FIRST), Some(1234), None).unwrap();
    let Err(BundleError::AllDamaged { damage, .. }) = given.dir().load(SCOPE) else {
        panic!("it is foreign");
    };
    assert_eq!(damage[0].problem, Problem::ForeignOwner { owner: 1234 });
    assert_eq!(given.dir().fix_permissions(DryRun::No).unwrap().left.len(), 1);
    std::os::unix::fs::chown(given.path(), Some(1234), None).unwrap();
    let error = given.dir().load(SCOPE).unwrap_err();
    let BundleError::UnsafeDirectory { reason, .. } = error else { panic!("{error}") };
    assert_eq!(reason, UnsafeDirectory::ForeignOwner { owner: 1234 });
}

#[test]
fn a_stale_lock_of_the_original_holds_nobody_up() {
    let given = Given::fixture("basic");
    given.write("state.lock", b"");
    given.dir().load(SCOPE).unwrap();
    given.dir().save(bundle(SCOPE, "a"), at(0)).unwrap();
    assert_eq!(given.dir().verify().unwrap().foreign, ["state.lock"]);
}
