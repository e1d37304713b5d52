//! The pointer that a save replaces is written over by the next one, and nothing else ever is.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use ah_bundle::{DryRun, Step};

use crate::given::{Given, at, bundle, set_mode};

const SPARES: [&str; 2] = [".spare-ah-head", ".spare-ah-latest"];

/// A directory in which the next save to the scope `one` has a spare.
fn with_spare() -> Given {
    let given = Given::nothing();
    for (number, scope) in ["other", "one", "one", "one"].into_iter().enumerate() {
        given.dir().save(bundle(scope, "first"), at(number as i64)).unwrap();
    }
    given
}

fn inode(given: &Given, name: &str) -> u64 {
    fs::symlink_metadata(given.file(name)).unwrap().ino()
}

#[test]
fn two_files_take_turns_as_pointer_and_spare() {
    let given = with_spare();
    let head = given.head("one");
    let files = [inode(&given, &head), inode(&given, SPARES[0])];
    for turn in 0..4 {
        let [pointer, spare] = if turn % 2 == 0 { files } else { [files[1], files[0]] };
        let found = [head.as_str(), "latest.json", SPARES[0], SPARES[1]];
        let found = found.map(|name| inode(&given, name));
        assert_eq!(found, [pointer, pointer, spare, spare], "{turn}");
        assert!(given.read(SPARES[0]).starts_with("-\n"), "{}", given.read(SPARES[0]));
        let saved = given.dir().save(bundle("one", "next"), at(10)).unwrap().snapshot;
        assert_eq!(given.dir().load("one").unwrap().snapshot, saved);
        assert_eq!(given.read(&head), given.read("latest.json"));
    }
}

#[test]
fn after_a_prune_two_pairs_of_files_take_turns() {
    let given = with_spare();
    let other = given.dir().load("other").unwrap();
    given.dir().prune(std::num::NonZeroUsize::MIN, DryRun::No).unwrap();
    let head = given.head("one");
    let pair = |names: [&str; 2]| names.map(|name| inode(&given, name));
    for number in 20..22 {
        given.dir().save(bundle("one", "next"), at(number)).unwrap();
    }
    for number in 22..26 {
        let [pointers, spares] = [pair([&head, "latest.json"]), pair(SPARES)];
        assert!(SPARES.iter().all(|spare| given.read(spare).starts_with("-\n")), "{number}");
        let saved = given.dir().save(bundle("one", "next"), at(number)).unwrap().snapshot;
        assert_eq!([pair(SPARES), pair([&head, "latest.json"])], [pointers, spares], "{number}");
        assert_ne!(pointers[0], pointers[1]);
        assert_eq!(given.dir().load("one").unwrap().snapshot, saved);
        assert_eq!(given.dir().load("other").unwrap(), other);
        assert!(given.dir().verify().unwrap().ok);
    }
}

#[test]
fn a_spare_is_nothing_that_any_verb_reads_or_tells() {
    let given = with_spare();
    // What it said before.
    let said = given.read(&given.head("other"));
    fs::write(given.file(SPARES[0]), said).unwrap();
    let (listed, exported) = (given.dir().list().unwrap(), exported(&given));
    let report = given.dir().verify().unwrap();
    assert!(report.ok && report.foreign.is_empty(), "{report:?}");
    assert_eq!((listed.len(), report.snapshots), (4, 4));
    for spare in SPARES {
        set_mode(&given.file(spare), 0o644);
    }
    assert_eq!(given.dir().load("one").unwrap().damage, []);
    assert_eq!(given.dir().quarantine(DryRun::No).unwrap(), Default::default());
    let fixed = given.dir().fix_permissions(DryRun::No).unwrap();
    assert_eq!(fixed.changed.len(), 1, "they are one file: {fixed:?}");
    for spare in SPARES {
        fs::remove_file(given.file(spare)).unwrap();
    }
    assert_eq!(given.dir().list().unwrap(), listed);
    assert_eq!(self::exported(&given), exported);
}

fn exported(given: &Given) -> Vec<u8> {
    let mut to = Vec::new();
    given.dir().export(None, &mut to).unwrap();
    to
}

#[test]
fn a_file_that_is_no_spare_of_ours_is_not_written_over() {
    type Makes = fn(&Given);
    let cases: [(&str, Makes); 9] = [
        ("a head of another scope", |given| {
            let other = given.file(&given.head("other"));
            SPARES.iter().for_each(|spare| fs::hard_link(&other, given.file(spare)).unwrap());
        }),
        ("the head itself", |given| {
            let head = given.file(&given.head("one"));
            SPARES.iter().for_each(|spare| fs::hard_link(&head, given.file(spare)).unwrap());
        }),
        ("a link to a head", |given| {
            let head = given.head("one");
            SPARES.iter().for_each(|spare| symlink(&head, given.file(spare)).unwrap());
        }),
        ("a file with a third name", |given| {
            given.write("backup", b"kept");
            let backup = given.file("backup");
            SPARES.iter().for_each(|spare| fs::hard_link(&backup, given.file(spare)).unwrap());
        }),
        ("a file that others may read", |given| {
            given.write(SPARES[0], b"-");
            fs::hard_link(given.file(SPARES[0]), given.file(SPARES[1])).unwrap();
            set_mode(&given.file(SPARES[0]), 0o644);
        }),
        ("two files", |given| SPARES.iter().for_each(|spare| given.write(spare, b"-"))),
        ("two heads", |given| {
            let heads = [given.head("other"), given.head("one")];
            for (head, spare) in heads.iter().zip(SPARES) {
                fs::hard_link(given.file(head), given.file(spare)).unwrap();
            }
        }),
        ("half a pair", |given| given.write(SPARES[0], b"-")),
        ("the other half", |given| given.write(SPARES[1], b"-")),
    ];
    for (case, make) in cases {
        let given = with_spare();
        let (one, other) = (given.dir().load("one").unwrap(), given.dir().load("other").unwrap());
        SPARES.iter().for_each(|spare| fs::remove_file(given.file(spare)).unwrap());
        make(&given);
        let mut keeps = given.files();
        keeps.retain(|name, _| name.starts_with("state-") || name == "backup");

        // Stopped before anything has its name, and then not.
        let stop = |step| match step {
            Step::Synced => Err(std::io::ErrorKind::Other.into()),
            _ => Ok(()),
        };
        given.dir().with_steps(stop).save(bundle("one", "stopped"), at(20)).unwrap_err();
        assert_eq!(given.dir().load("one").unwrap(), one, "{case}");
        for number in 21..24 {
            let saved = given.dir().save(bundle("one", "next"), at(number)).unwrap().snapshot;
            assert_eq!(given.dir().load("one").unwrap().snapshot, saved, "{case}");
            assert_eq!(given.dir().load("other").unwrap(), other, "{case}");
        }
        let after = given.files();
        assert!(keeps.iter().all(|(name, file)| after.get(name) == Some(file)), "{case}");
        assert!(given.dir().verify().unwrap().ok, "{case}");
    }
}

#[test]
fn a_spare_of_any_length_becomes_a_pointer() {
    for content in ["", "-", &"-".repeat(5_000)] {
        let given = with_spare();
        fs::write(given.file(SPARES[0]), content).unwrap();
        let before = inode(&given, SPARES[0]);
        let saved = given.dir().save(bundle("one", "next"), at(20)).unwrap().snapshot;
        assert_eq!(inode(&given, "latest.json"), before);
        let loaded = given.dir().load("one").unwrap();
        assert_eq!((loaded.snapshot, loaded.damage), (saved, vec![]));
    }
}

#[test]
fn saves_that_alternate_between_scopes_keep_every_head() {
    let given = Given::nothing();
    let scopes = ["one", "other", "third"];
    let mut heads = std::collections::BTreeMap::new();
    for number in 0..30 {
        // Every order of the three, and runs of one.
        let scope = scopes[(number * number / 2 + number / 7) % 3];
        let saved = given.dir().save(bundle(scope, &format!("{number}")), at(0)).unwrap();
        heads.insert(scope, saved.snapshot);
        for (scope, head) in &heads {
            let loaded = given.dir().load(scope).unwrap();
            assert_eq!((&loaded.snapshot, loaded.damage.len()), (head, 0), "{number}");
        }
    }
    assert_eq!(heads.len(), 3);
    let report = given.dir().verify().unwrap();
    assert!(report.ok && report.notes.is_empty(), "{report:?}");
}
