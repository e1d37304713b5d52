//! Pruning keeps what leads to a head.

use std::num::NonZeroUsize;

use ah_bundle::{ChainEnd, DryRun};

use crate::given::{Given, at, bundle};

fn keep(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn saved(given: &Given, scope: &str, count: i64) -> Vec<String> {
    let save = |number| given.dir().save(bundle(scope, &format!("{number}")), at(number)).unwrap();
    (0..count).map(|number| save(number).snapshot.name).collect()
}

#[test]
fn the_newest_of_every_scope_stay_and_their_chains_are_whole() {
    let given = Given::nothing();
    let (one, other) = (saved(&given, "one", 5), saved(&given, "other", 2));
    let before = given.files();
    let told = given.dir().prune(keep(3), DryRun::Yes).unwrap();
    assert_eq!(given.files(), before);
    let pruned = given.dir().prune(keep(3), DryRun::No).unwrap();
    assert_eq!(pruned, told);
    let removed: Vec<&str> = pruned.removed.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(removed, [&one[1], &one[0]]);
    assert_eq!(pruned.kept, 5);
    let bytes: u64 = [&one[0], &one[1]].iter().map(|name| before[*name].1.len() as u64).sum();
    assert_eq!(pruned.bytes, bytes);
    let report = given.dir().verify().unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(report.notes, []);
    let log = given.dir().log("one").unwrap();
    let names: Vec<&str> = log.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, [&one[4], &one[3], &one[2]]);
    assert!(matches!(log.end, ChainEnd::Pruned { .. }), "{:?}", log.end);
    assert_eq!(given.dir().load("other").unwrap().snapshot.name, other[1]);

    // The cut outlives saves and further cuts.
    saved(&given, "one", 2);
    assert!(given.dir().verify().unwrap().ok);
    assert_eq!(given.dir().prune(keep(1), DryRun::No).unwrap().removed.len(), 5);
    assert!(given.dir().verify().unwrap().ok);
    assert_eq!(given.dir().prune(keep(1), DryRun::No).unwrap().removed, []);
}

#[test]
fn a_directory_of_the_original_is_pruned_along_its_chain() {
    let given = Given::fixture("chain");
    let pruned = given.dir().prune(keep(2), DryRun::No).unwrap();
    let removed: Vec<&str> = pruned.removed.iter().map(|file| &file.name[..]).collect();
    let expected =
        ["state-2026-11-15T070357Z-e914d3c1.json", "state-2026-03-01T080000Z-f2795392.json"];
    assert_eq!(removed, expected);
    assert!(given.dir().verify().unwrap().ok);
    assert_eq!(given.dir().load("docs-demo").unwrap().snapshot.sha[..8], *"974a3973");
}

#[test]
fn damaged_and_foreign_files_are_left_alone() {
    let given = Given::nothing();
    let names = saved(&given, "one", 3);
    given.write(&names[0], b"damaged");
    given.write("notes.txt", b"of somebody");
    let pruned = given.dir().prune(keep(1), DryRun::No).unwrap();
    let removed: Vec<&str> = pruned.removed.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(removed, [&names[1]]);
    assert_eq!(pruned.damage[0].file, names[0]);
    assert!(given.names().contains(&names[0]) && given.names().contains(&"notes.txt".to_owned()));
    assert_eq!(given.dir().load("one").unwrap().snapshot.name, names[2]);
}

#[test]
fn a_reader_finds_a_head_while_others_save_and_prune() {
    let given = Given::nothing();
    saved(&given, "one", 1);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0..40 {
                given.dir().save(bundle("one", &format!("{number}")), at(number)).unwrap();
                given.dir().prune(keep(1), DryRun::No).unwrap();
            }
        });
        while !writer.is_finished() {
            assert_eq!(given.dir().load("one").unwrap().damage, []);
            given.dir().list().unwrap();
        }
        writer.join().unwrap();
    });
    assert!(given.dir().verify().unwrap().ok);
}
