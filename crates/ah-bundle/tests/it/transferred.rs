//! Export and import.

use ah_bundle::{BundleError, HeadConflict};

use crate::given::{Given, at, bundle};

fn exported(given: &Given, scope: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    given.dir().export(scope, &mut out).unwrap();
    out
}

#[test]
fn an_export_of_everything_gives_the_same_directory() {
    let given = Given::fixture("chain");
    given.add_fixture("two-scopes");
    given.dir().save(bundle("docs-demo", "ours"), at(0)).unwrap();
    given.dir().save(bundle("third", "ours"), at(1)).unwrap();
    let document = exported(&given, None);
    serde_json::from_slice::<serde_json::Value>(&document).unwrap();
    let copy = Given::nothing();
    let imported = copy.dir().import(&mut document.as_slice()).unwrap();
    assert_eq!((imported.added.len(), imported.present), (7, 0));
    assert_eq!(imported.heads.len(), 3);
    for scope in ["docs-demo", "other-scope", "third"] {
        let theirs = given.dir().load(scope).unwrap();
        assert_eq!(copy.dir().load(scope).unwrap().snapshot, theirs.snapshot);
    }
    assert!(copy.dir().verify().unwrap().ok);
    assert_eq!(copy.read("latest.json"), given.read("latest.json"));

    let before = copy.files();
    let again = copy.dir().import(&mut document.as_slice()).unwrap();
    assert_eq!((again.added.len(), again.present, again.heads.len()), (0, 7, 0));
    assert_eq!(again.conflicts, []);
    assert_eq!(copy.files(), before);
}

#[test]
fn one_scope_can_be_exported_alone() {
    let given = Given::fixture("two-scopes");
    let copy = Given::nothing();
    let document = exported(&given, Some("docs-demo"));
    assert_eq!(copy.dir().import(&mut document.as_slice()).unwrap().added.len(), 1);
    assert!(copy.dir().load("other-scope").is_err());
    let missing = given.dir().export(Some("absent"), &mut Vec::new()).unwrap_err();
    assert!(matches!(missing, BundleError::NothingForScope { .. }), "{missing}");
}

#[test]
fn heads_move_forward_and_never_sideways() {
    let given = Given::nothing();
    given.dir().save(bundle("one", "first"), at(0)).unwrap();
    let early = exported(&given, None);
    let copy = Given::nothing();
    copy.dir().import(&mut early.as_slice()).unwrap();
    let later = given.dir().save(bundle("one", "second"), at(1)).unwrap().snapshot;
    let moved = copy.dir().import(&mut exported(&given, None).as_slice()).unwrap();
    assert_eq!(moved.heads[0].name, later.name);
    // An older export changes nothing.
    let older = copy.dir().import(&mut early.as_slice()).unwrap();
    assert_eq!((older.heads.len(), older.conflicts.len()), (0, 0));
    // Both go on by themselves.
    let ours = copy.dir().save(bundle("one", "ours"), at(2)).unwrap().snapshot;
    let theirs = given.dir().save(bundle("one", "theirs"), at(3)).unwrap().snapshot;
    let apart = copy.dir().import(&mut exported(&given, None).as_slice()).unwrap();
    let conflict = HeadConflict {
        scope: "one".to_owned(),
        ours: ours.name.clone(),
        theirs: theirs.name.clone(),
    };
    assert_eq!(apart.conflicts, [conflict]);
    assert_eq!(apart.added, [theirs.name]);
    assert_eq!(copy.dir().load("one").unwrap().snapshot, ours);
}

#[test]
fn a_damaged_export_is_refused_whole() {
    let given = Given::fixture("chain");
    let document = String::from_utf8(exported(&given, None)).unwrap();
    let renamed =
        document.replace("state-2026-11-15T070357Z-e914d3c1.json", "../escaped-e914d3c1.json");
    for damaged in [
        document.replace("refinement 3", "refinement 4"),
        document.replace("\"scope\":\"docs-demo\"", "\"scope\":\"other\""),
        renamed,
        document.replace("ah-bundles", "others"),
        document.replace("\"version\":1", "\"version\":2"),
        document[..document.len() / 2].to_owned(),
        String::new(),
    ] {
        assert_ne!(damaged, document);
        let copy = Given::nothing();
        copy.dir().import(&mut damaged.as_bytes()).unwrap_err();
        assert!(!copy.path().exists());
    }
}

#[test]
fn what_was_cut_stays_cut_in_a_copy() {
    let given = Given::nothing();
    for number in 0..4 {
        given.dir().save(bundle("one", &format!("{number}")), at(number)).unwrap();
    }
    let keep = std::num::NonZeroUsize::new(2).unwrap();
    given.dir().prune(keep, ah_bundle::DryRun::No).unwrap();
    let copy = Given::nothing();
    copy.dir().import(&mut exported(&given, None).as_slice()).unwrap();
    assert!(copy.dir().verify().unwrap().ok);
}
