//! Quarantine.

use ah_bundle::{DryRun, Problem};

use crate::given::{Given, at, bundle, set_mode};

#[test]
fn damaged_files_are_put_aside_and_pointers_lead_to_what_is_valid() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let second = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    given.write(&second.name, b"damaged");
    given.write(&format!("{}.quarantined", second.name), b"an older one");
    let before = given.files();
    let told = given.dir().quarantine(DryRun::Yes).unwrap();
    assert_eq!(given.files(), before);
    assert_eq!(given.dir().quarantine(DryRun::No).unwrap(), told);
    let aside = format!("{}.quarantined.1", second.name);
    assert!(told.moved.iter().any(|moved| moved.from == second.name && moved.to == aside));
    assert_eq!(given.read(&aside), "damaged");
    assert_eq!(given.read(&format!("{}.quarantined", second.name)), "an older one");
    assert_eq!(told.repointed.len(), 2);
    let loaded = given.dir().load("one").unwrap();
    assert_eq!((loaded.snapshot, loaded.damage), (first, vec![]));
    assert!(given.dir().verify().unwrap().ok);
    assert_eq!(given.dir().quarantine(DryRun::No).unwrap().moved, []);
}

#[test]
fn a_wrong_pointer_does_not_cost_a_good_snapshot() {
    let given = Given::fixture("bad-pointer-sha");
    let done = given.dir().quarantine(DryRun::No).unwrap();
    let moved: Vec<&str> = done.moved.iter().map(|moved| moved.from.as_str()).collect();
    assert_eq!(moved, ["latest.json"]);
    assert_eq!(given.dir().load("docs-demo").unwrap().damage, []);
}

#[test]
fn files_that_are_only_refused_stay() {
    let given = Given::fixture("basic");
    let name = "state-2026-03-01T080000Z-f2795392.json";
    set_mode(&given.file(name), 0o644);
    let done = given.dir().quarantine(DryRun::No).unwrap();
    assert_eq!(done.moved, []);
    let mode = "0644".to_owned();
    assert_eq!(done.left[0].problem, Problem::UnsafeMode { mode });
    given.dir().fix_permissions(DryRun::No).unwrap();
    assert_eq!(given.dir().load("docs-demo").unwrap().snapshot.name, name);
}

#[test]
fn pointers_to_nothing_go_when_nothing_is_left() {
    let given = Given::fixture("bad-snapshot-bytes");
    let done = given.dir().quarantine(DryRun::No).unwrap();
    assert_eq!((done.moved.len(), done.repointed.len()), (2, 0));
    let report = given.dir().verify().unwrap();
    assert!(report.ok && report.snapshots == 0, "{report:?}");
    let saved = given.dir().save(bundle("docs-demo", "anew"), at(0)).unwrap();
    assert_eq!(saved.snapshot.bundle.prev_sha, "");
}
