//! Saving and loading, and what is made of damage.

use std::fs;

use ah_bundle::json::Value;
use ah_bundle::{Bundle, BundleError, Damage, Problem};

use crate::given::{Given, at, bundle, set_mode};

#[test]
fn a_save_is_private_linked_and_later_than_its_parent() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(5)).unwrap().snapshot;
    // The clock went back.
    let second = given.dir().save(bundle("one", "second"), at(0)).unwrap().snapshot;
    assert_eq!(first.bundle.prev_sha, "");
    assert_eq!(second.bundle.prev_sha, first.sha);
    assert_eq!(first.bundle.created_at, "2027-01-15T08:00:00.005000Z");
    assert_eq!(second.bundle.created_at, "2027-01-15T08:00:00.005001Z");
    assert_eq!(second.name, format!("state-2027-01-15T080000.005001Z-{}.json", &second.sha[..8]));
    let modes: Vec<u32> = given.files().values().map(|(mode, _)| mode & 0o7777).collect();
    assert_eq!(modes, [0o700, 0o600, 0o600, 0o600, 0o600, 0o600, 0o600, 0o600]);
    assert_eq!(given.dir().load("one").unwrap().snapshot, second);
}

#[test]
fn scopes_do_not_hide_each_other() {
    let given = Given::nothing();
    let one = given.dir().save(bundle("one", "a"), at(0)).unwrap().snapshot;
    let other = given.dir().save(bundle("other", "b"), at(1)).unwrap().snapshot;
    assert_eq!(given.dir().load("one").unwrap().snapshot, one);
    assert_eq!(given.dir().load("other").unwrap().snapshot, other);
    let Err(BundleError::NothingForScope { scopes, .. }) = given.dir().load("third") else {
        panic!("nothing was saved for it");
    };
    assert_eq!(scopes, ["one", "other"]);
}

#[test]
fn a_directory_that_is_not_there_is_no_state_and_is_not_made() {
    let given = Given::nothing();
    assert!(matches!(given.dir().load("one"), Err(BundleError::NoState { .. })));
    assert!(matches!(given.dir().list(), Err(BundleError::NoState { .. })));
    assert!(matches!(given.dir().verify(), Err(BundleError::NoState { .. })));
    let unusable = Bundle { model_id: String::new(), ..bundle("one", "a") };
    let error = given.dir().save(unusable, at(0)).unwrap_err();
    assert_eq!(error.to_string(), "the bundle cannot be saved: invalid model_id: it is empty");
    assert!(!given.path().exists());
}

#[test]
fn unknown_keys_and_null_maps_survive() {
    let given = Given::nothing();
    let draft = br#"{"MODEL_ID":"m","base_url":"u","custom":{},"zeta":[1.50],"Alpha":null}"#;
    let saved = given.dir().save(Bundle::draft(draft).unwrap(), at(0)).unwrap().snapshot;
    let text = given.read(&saved.name);
    assert!(text.ends_with("\"Alpha\": null,\n  \"zeta\": [\n    1.50\n  ]\n}"), "{text}");
    assert!(text.contains("\"custom\": {},\n") && text.contains("\"context\": null,\n"), "{text}");
    let refined = given.dir().refine(&saved.bundle.scope_key, &Default::default(), at(1)).unwrap();
    assert_eq!(refined.snapshot.bundle.unknown, saved.bundle.unknown);
}

#[test]
fn a_bundle_that_could_not_be_read_again_is_not_saved() {
    let given = Given::nothing();
    let mut deep = Value::Null;
    for _ in 0..127 {
        deep = Value::Array(vec![deep]);
    }
    let mut unread = bundle("one", "a");
    unread.unknown.insert("deep".to_owned(), deep.clone());
    given.dir().save(unread.clone(), at(0)).unwrap();
    given.dir().load("one").unwrap();
    unread.unknown.insert("deep".to_owned(), Value::Array(vec![deep]));
    let error = given.dir().save(unread, at(0)).unwrap_err().to_string();
    assert!(error.contains("nested too deep"), "{error}");
    let mut twice = bundle("one", "a");
    twice.unknown.insert("Prompts".to_owned(), Value::Null);
    let error = given.dir().save(twice, at(0)).unwrap_err().to_string();
    assert!(error.contains("another spelling"), "{error}");
    let before = given.files();
    let error = given.dir().with_bytes_max(300).save(bundle("one", "a"), at(0)).unwrap_err();
    assert!(matches!(error, BundleError::Refused(Problem::TooLarge { .. })), "{error}");
    assert_eq!(given.files(), before);
}

#[test]
fn damage_of_the_head_falls_back_along_the_chain_and_is_named() {
    type Damages = fn(&Given, &str);
    let cases: [(&str, Damages); 7] = [
        ("missing", |given, name| fs::remove_file(given.file(name)).unwrap()),
        ("badJson", |given, name| given.write(name, b"{\"version\":")),
        ("wrongSha", |given, name| {
            given.write(name, format!("{} ", given.read(name)).as_bytes());
        }),
        ("symlink", |given, name| {
            fs::rename(given.file(name), given.file("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", given.file(name)).unwrap();
        }),
        ("unsafeMode", |given, name| set_mode(&given.file(name), 0o644)),
        ("notAFile", |given, name| {
            fs::remove_file(given.file(name)).unwrap();
            fs::create_dir(given.file(name)).unwrap();
        }),
        ("tooLarge", |given, name| {
            let file = fs::OpenOptions::new().write(true).open(given.file(name)).unwrap();
            file.set_len(ah_bundle::SNAPSHOT_BYTES_MAX + 1).unwrap();
        }),
    ];
    for (kind, damage) in cases {
        let given = Given::nothing();
        given.dir().save(bundle("one", "first"), at(0)).unwrap();
        let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
        given.dir().save(bundle("other", "newest"), at(2)).unwrap();
        let head = given.dir().save(bundle("one", "third"), at(3)).unwrap().snapshot;
        let head_file = given.head("one");
        damage(&given, &head.name);
        let before = given.files();
        let loaded = given.dir().load("one").unwrap();
        assert_eq!(loaded.snapshot, second, "{kind}");
        let named = serde_json::to_value(&loaded.damage).unwrap();
        let kinds: Vec<(&str, &str)> = named
            .as_array()
            .unwrap()
            .iter()
            .map(|damage| {
                let file = damage["file"].as_str().unwrap();
                (file, damage["problem"]["kind"].as_str().unwrap())
            })
            .collect();
        let expected = match kind {
            // A pointer to nothing is the pointer's problem.
            "missing" => vec![(head_file.as_str(), kind), ("latest.json", kind)],
            _ => vec![(head.name.as_str(), kind)],
        };
        assert_eq!(kinds, expected);
        assert!(!given.dir().verify().unwrap().ok, "{kind}");
        assert_eq!(given.files(), before, "{kind}");
        // The next save goes on from there.
        let next = given.dir().save(bundle("one", "next"), at(4)).unwrap();
        assert_eq!(next.snapshot.bundle.prev_sha, second.sha, "{kind}");
    }
}

#[test]
fn damage_in_the_middle_is_passed_over_by_what_can_be_read() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    let third = given.dir().save(bundle("one", "third"), at(2)).unwrap().snapshot;
    for name in [&second.name, &third.name] {
        given.write(name, given.read(name).replace("\"model\"", "\"other\"").as_bytes());
    }
    let loaded = given.dir().load("one").unwrap();
    assert_eq!(loaded.snapshot, first);
    let files: Vec<&str> = loaded.damage.iter().map(|damage| damage.file.as_str()).collect();
    assert_eq!(files, [&third.name, &second.name]);
}

#[test]
fn a_head_that_leads_to_another_scope_is_named_and_not_followed() {
    let given = Given::nothing();
    let other = given.dir().save(bundle("other", "theirs"), at(0)).unwrap().snapshot;
    given.dir().save(bundle("one", "ours"), at(1)).unwrap();
    let head = given.head("other");
    given.write(&head, given.read(&given.head("one")).as_bytes());
    let loaded = given.dir().load("other").unwrap();
    assert_eq!(loaded.snapshot, other);
    let problem = Problem::WrongScope { found: "one".to_owned() };
    assert_eq!(loaded.damage, [Damage { file: head, problem }]);
}

#[test]
fn a_damaged_head_file_is_named_and_the_chain_still_found() {
    let given = Given::nothing();
    given.dir().save(bundle("one", "first"), at(0)).unwrap();
    let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    given.dir().save(bundle("other", "newest"), at(2)).unwrap();
    let head = given.head("one");
    given.write(&head, given.read(&head).replace(&second.sha, "").as_bytes());
    let loaded = given.dir().load("one").unwrap();
    assert_eq!(loaded.snapshot, second);
    assert_eq!(loaded.damage, [Damage { file: head.clone(), problem: Problem::BlankSha }]);
    given.write(&head, b"{}");
    let loaded = given.dir().load("one").unwrap();
    assert_eq!(loaded.snapshot, second);
    let problem = Problem::WrongVersion { found: String::new() };
    assert_eq!(loaded.damage, [Damage { file: head, problem }]);
}

#[test]
fn a_listing_shows_heads_and_what_cannot_be_read() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    let other = given.dir().save(bundle("other", "first"), at(2)).unwrap().snapshot;
    given.write("state-9-bad.json", b"nothing");
    given.write("notes.txt", b"of somebody");
    let listed = given.dir().list().unwrap();
    let shown: Vec<(&str, Option<&str>, bool, bool, bool)> = listed
        .iter()
        .map(|one| {
            let problem = one.problem.is_some();
            (one.name.as_str(), one.scope.as_deref(), one.head, one.latest, problem)
        })
        .collect();
    let expected = [
        (first.name.as_str(), Some("one"), false, false, false),
        (second.name.as_str(), Some("one"), true, false, false),
        (other.name.as_str(), Some("other"), true, true, false),
        ("state-9-bad.json", None, false, false, true),
    ];
    assert_eq!(shown, expected);
    assert_eq!(listed[0].bytes, first.bytes);
    assert_eq!(listed[0].created_at.as_ref(), Some(&first.bundle.created_at));
    assert_eq!(given.dir().verify().unwrap().foreign, ["notes.txt"]);
}

#[test]
fn a_snapshot_is_read_by_name_or_by_the_beginning_of_its_hash() {
    let given = Given::nothing();
    let saved = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    for name in [saved.name.as_str(), &saved.sha[..6], &saved.sha[..8], &saved.sha] {
        assert_eq!(given.dir().read(name).unwrap(), saved, "{name}");
    }
    let mut other = saved.sha.clone();
    other.replace_range(63.., if other.ends_with('0') { "1" } else { "0" });
    for name in ["../state-1.json", "", "abc", "ffffffff", "state-1.json", &other] {
        let read = given.dir().read(name);
        assert!(matches!(read, Err(BundleError::NoSnapshot { .. })), "{name}: {read:?}");
    }
}

#[test]
fn a_link_to_what_is_not_there_is_broken() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    fs::remove_file(given.file(&first.name)).unwrap();
    let report = given.dir().verify().unwrap();
    assert!(!report.ok);
    let broken: Vec<(&str, &str)> =
        report.broken.iter().map(|link| (link.file.as_str(), link.prev_sha.as_str())).collect();
    assert_eq!(broken, [(second.name.as_str(), first.sha.as_str())]);
    let log = given.dir().log("one").unwrap();
    assert_eq!(log.end, ah_bundle::ChainEnd::Missing { sha: first.sha });
}

#[test]
fn a_large_parent_that_is_damaged_is_found_before_anything_has_its_name() {
    let large = "a long prompt ".repeat(20_000);
    for damage in ["", "short", &large] {
        let given = Given::nothing();
        let save = |ms| given.dir().save(bundle("one", &large), at(ms)).unwrap();
        let snapshots: Vec<_> = (0..3).map(|ms| save(ms).snapshot).collect();
        assert_eq!(snapshots[2].bundle.prev_sha, snapshots[1].sha);
        // Its beginning, by which it is known, stays.
        let head = &snapshots[2].name;
        let text = given.read(head);
        given.write(head, format!("{}{damage}", &text[..text.len() / 2]).as_bytes());
        let saved = save(3);
        assert_eq!(saved.snapshot.bundle.prev_sha, snapshots[1].sha);
        let damaged: Vec<&str> = saved.damage.iter().map(|damage| damage.file.as_str()).collect();
        assert_eq!(damaged, [head]);
        let loaded = given.dir().load("one").unwrap();
        assert_eq!((loaded.snapshot, loaded.damage), (saved.snapshot, vec![]));
        assert!(given.names().iter().all(|name| !name.starts_with(".tmp")));
        assert_eq!(save(4).damage, []);
    }
}
