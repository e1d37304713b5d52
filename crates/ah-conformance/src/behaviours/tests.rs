//! The list is whole.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The words between `noun {` and `}` in the list above.
fn listed(noun: &str) -> BTreeSet<String> {
    let list = include_str!("../behaviours.rs");
    let Some((_, rest)) = list.split_once(&format!("\n            {noun} {{")) else {
        return BTreeSet::new();
    };
    let (names, _) = rest.split_once('}').unwrap();
    let names = names.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_behaviour_is_in_the_list() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = 0;
    for entry in fs::read_dir(src).unwrap() {
        let path = entry.unwrap().path();
        let noun = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() || noun == "behaviours" {
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        let names = source.split("\npub async fn ").skip(1);
        let names = names.map(|rest| rest.split_once('(').unwrap().0.to_owned());
        // A walk itself takes a seed; its behaviours give it one.
        let names: BTreeSet<_> = names.filter(|name| !name.starts_with("walk")).collect();
        found += names.len();
        assert_eq!(names, listed(&noun), "the list of {noun}");
    }
    assert!(found > 100, "only {found} behaviours were found");
}
