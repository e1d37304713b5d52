//! Names of directories: the same for the same files, another for every change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ah_access::executor::digest::{self, DigestError};
use ah_model::Snapshot;
use proptest::prelude::*;
use tempfile::TempDir;

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Thing {
    File { contents: Vec<u8>, executable: bool },
    Directory,
    Link(String),
}

type Tree = BTreeMap<PathBuf, Thing>;

fn thing() -> impl Strategy<Value = Thing> {
    prop_oneof![
        4 => (proptest::collection::vec(any::<u8>(), 0..40), any::<bool>())
            .prop_map(|(contents, executable)| Thing::File { contents, executable }),
        1 => Just(Thing::Directory),
        1 => "[a-c./]{1,6}".prop_map(Thing::Link),
    ]
}

/// Trees of up to three levels; what would be below a file or a link is left out.
fn tree() -> impl Strategy<Value = Tree> {
    let path = proptest::collection::vec("[a-d]|ü|a b", 1..4)
        .prop_map(|parts| parts.iter().collect::<PathBuf>());
    proptest::collection::btree_map(path, thing(), 1..10).prop_map(|mut tree| {
        let all = tree.clone();
        let is_below_no_directory = |path: &Path| {
            let parents = path.ancestors().skip(1);
            parents.filter_map(|it| all.get(it)).any(|it| *it != Thing::Directory)
        };
        tree.retain(|path, _| !is_below_no_directory(path));
        tree
    })
}

/// Makes the tree; in the other order, with another mode and at another time if `is_other`.
fn made(tree: &Tree, is_other: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut things: Vec<(&PathBuf, &Thing)> = tree.iter().collect();
    if is_other {
        things.reverse();
    }
    for (path, thing) in things {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match thing {
            Thing::File { contents, executable } => {
                fs::write(&path, contents).unwrap();
                let read = if is_other { 0o600 } else { 0o644 };
                let mode = if *executable { read | 0o100 } else { read };
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            Thing::Directory => fs::create_dir_all(&path).unwrap(),
            Thing::Link(target) => symlink(target, &path).unwrap(),
        }
    }
    folder
}

fn snapshot(directory: &Path) -> Snapshot {
    digest::of(directory, &[], &|| true).unwrap()
}

fn name(tree: &Tree) -> String {
    snapshot(made(tree, false).path()).name
}

/// Every tree that differs from this one in one thing.
fn changes(tree: &Tree) -> Vec<(String, Tree)> {
    let mut changes = Vec::new();
    let mut change = |word: &str, path: &Path, how: &dyn Fn(&mut Tree)| {
        let mut other = tree.clone();
        how(&mut other);
        changes.push((format!("{word} {}", path.display()), other));
    };
    let beside = |path: &Path| {
        let last = path.file_name().unwrap().to_str().unwrap();
        path.with_file_name(format!("{last}z"))
    };
    for (path, thing) in tree {
        let put =
            |thing: Thing| move |other: &mut Tree| drop(other.insert(path.clone(), thing.clone()));
        match thing.clone() {
            Thing::File { contents, executable } => {
                let more = [contents.as_slice(), b"!"].concat();
                change("longer", path, &put(Thing::File { contents: more, executable }));
                if let Some((first, rest)) = contents.split_first() {
                    let bytes = [&[first ^ 1], rest].concat();
                    change("other byte", path, &put(Thing::File { contents: bytes, executable }));
                }
                change("mode", path, &put(Thing::File { contents, executable: !executable }));
                change("link instead of file", path, &put(Thing::Link("a".to_owned())));
            }
            Thing::Link(target) => {
                change("target", path, &put(Thing::Link(format!("{target}z"))));
                let contents = target.into_bytes();
                change("file", path, &put(Thing::File { contents, executable: false }));
            }
            Thing::Directory => change("directory in it", path, &|other| {
                other.insert(path.join("new"), Thing::Directory);
            }),
        }
        change("empty directory beside", path, &|other| {
            other.insert(beside(path), Thing::Directory);
        });
        let is_leaf = !tree.keys().any(|other| other != path && other.starts_with(path));
        if is_leaf {
            change("name", path, &|other| {
                let thing = other.remove(path).unwrap();
                other.insert(beside(path), thing);
            });
        }
    }
    changes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_same_tree_has_one_name_and_every_change_another(tree in tree()) {
        let one = snapshot(made(&tree, false).path());
        prop_assert_eq!(&one, &snapshot(made(&tree, true).path()));
        let contents = tree.values().filter_map(|thing| match thing {
            Thing::File { contents, .. } => Some(contents.len() as u64),
            Thing::Directory | Thing::Link(_) => None,
        });
        let lengths: Vec<u64> = contents.collect();
        prop_assert_eq!((one.files, one.bytes), (lengths.len() as u64, lengths.iter().sum()));
        for (what, other) in changes(&tree) {
            prop_assert_ne!(&one.name, &name(&other), "{}", what);
        }
    }
}

#[test]
fn what_is_ignored_does_not_count_at_any_depth() {
    let file = |text: &str| Thing::File { contents: text.into(), executable: false };
    let tree = Tree::from([("src/a".into(), file("1")), ("b".into(), file("2"))]);
    let mut more = tree.clone();
    more.extend([
        (".git/HEAD".into(), file("x")),
        ("src/.jj".into(), Thing::Directory),
        ("src/target/out".into(), file("y")),
    ]);
    let (one, other) = (made(&tree, false), made(&more, false));
    let ignore = ["target".to_owned()];
    let of = |folder: &TempDir| digest::of(folder.path(), &ignore, &|| true).unwrap();
    assert_eq!(of(&one), of(&other));
    assert_ne!(snapshot(one.path()), snapshot(other.path()), "nothing ignores target by itself");
}

#[test]
fn a_link_is_never_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "1").unwrap();
    let folder = tempfile::tempdir().unwrap();
    symlink(outside.path(), folder.path().join("out")).unwrap();
    symlink(".", folder.path().join("round")).unwrap();
    let before = snapshot(folder.path());
    assert_eq!((before.files, before.bytes), (0, 0));
    fs::write(outside.path().join("secret"), "2").unwrap();
    assert_eq!(snapshot(folder.path()), before);
}

#[test]
fn pipes_and_sockets_are_named_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let empty = snapshot(folder.path());
    let socket = std::os::unix::net::UnixListener::bind(folder.path().join("it")).unwrap();
    let with_socket = snapshot(folder.path());
    drop(socket);
    fs::remove_file(folder.path().join("it")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("it")).status();
    assert!(made.unwrap().success());
    let with_pipe = snapshot(folder.path());
    let names = [&empty.name, &with_socket.name, &with_pipe.name];
    assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
}

#[test]
fn what_is_not_there_or_cannot_be_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = digest::of(&folder.path().join("no"), &[], &|| true).unwrap_err();
    assert!(missing.to_string().ends_with("/no is no directory on this machine"), "{missing}");
    let stopped =
        fs::write(folder.path().join("a"), "1").map(|()| digest::of(folder.path(), &[], &|| false));
    assert!(matches!(stopped.unwrap(), Err(DigestError::Stopped)));
}

#[test]
fn a_file_that_always_changes_is_named_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("busy");
    fs::write(&path, "1").unwrap();
    let turns = std::cell::Cell::new(0_u64);
    // Called before every piece: the file is another one each time.
    let goes_on = || {
        turns.set(turns.get() + 1);
        fs::write(&path, "x".repeat(usize::try_from(turns.get()).unwrap() + 1)).unwrap();
        true
    };
    let error = digest::of(folder.path(), &[], &goes_on).unwrap_err();
    assert_eq!(error.to_string(), format!("{} changes while it is read", path.display()));
    // One that comes to rest is named after all.
    turns.set(0);
    let rests = || {
        turns.set(turns.get() + 1);
        if turns.get() < 4 {
            fs::write(&path, "x".repeat(usize::try_from(turns.get()).unwrap() + 1)).unwrap();
        }
        true
    };
    let found = digest::of(folder.path(), &[], &rests).unwrap();
    assert_eq!(found, snapshot(folder.path()));
}
