//! The rule of what moved, and paths by their components.

use super::*;

const HERE: &str = "/new";

fn row(id: i64, root: &str, fingerprint: &str, remote: Option<&str>, host: &str) -> Repo {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Repo {
        id,
        found: NewRepo {
            vcs: Vcs::Git,
            root_path: text(root),
            remote_url: None,
            default_branch: None,
        },
        marks: RepoMarks {
            fingerprint: text(fingerprint),
            remote_key: remote.map(str::to_owned),
            host: text(host),
        },
        created_at: Timestamp::from_unix_ms(0),
        moved_at: None,
    }
}

fn sighting(fingerprint: &str, remote: Option<&str>, gone: &[&str]) -> RepoSighting {
    let Repo { found, marks, .. } = row(0, HERE, fingerprint, remote, "h");
    RepoSighting { found, marks, gone: gone.iter().map(|path| (*path).to_owned()).collect() }
}

#[test]
fn only_one_that_is_gone_and_alike_has_moved() {
    use Whereabouts::{Known, Moved, New, Unclear};
    let alike = |id, root| row(id, root, "git:1", Some("h/a"), "h");
    for (rows, seen, expected) in [
        (vec![], sighting("git:1", None, &[]), New),
        (vec![alike(1, "/a")], sighting("git:1", Some("h/a"), &["/a"]), Moved(1)),
        // Still there: a second clone.
        (vec![alike(1, "/a")], sighting("git:1", Some("h/a"), &[]), New),
        (vec![alike(1, "/a")], sighting("git:1", Some("h/a"), &["/a/"]), New),
        (vec![alike(1, "/a"), alike(2, "/b")], sighting("git:1", None, &["/b"]), Moved(2)),
        (
            vec![alike(1, "/a"), alike(2, "/b")],
            sighting("git:1", None, &["/a", "/b"]),
            Unclear(vec![1, 2]),
        ),
        // What is known at the path is it, whatever else may be.
        (vec![alike(1, "/a"), alike(2, HERE)], sighting("git:1", None, &["/a"]), Known(2)),
        (vec![row(3, HERE, "", None, "")], sighting("git:1", None, &[]), Known(3)),
        // Another root, another remote, another machine.
        (vec![alike(1, "/a")], sighting("git:2", Some("h/a"), &["/a"]), New),
        (vec![alike(1, "/a")], sighting("git:1", Some("h/fork"), &["/a"]), New),
        (vec![row(1, "/a", "git:1", None, "other")], sighting("git:1", None, &["/a"]), New),
        // A remote that only one of them has says nothing.
        (vec![row(1, "/a", "git:1", None, "h")], sighting("git:1", Some("h/a"), &["/a"]), Moved(1)),
        // What has no fingerprint is like nothing.
        (vec![row(1, "/a", "", None, "h")], sighting("", None, &["/a"]), New),
        (vec![row(1, "", "git:1", None, "h")], sighting("git:1", None, &[""]), New),
    ] {
        assert_eq!(seen.whereabouts(&rows), expected, "{rows:?} {seen:?}");
    }
}

#[test]
fn paths_move_by_components_and_not_by_letters() {
    for (path, from, to, expected) in [
        ("/a/b", "/a/b", "/x", Some("/x")),
        ("/a/b/", "/a/b", "/x/", Some("/x")),
        ("/a/b/c", "/a/b/", "/x", Some("/x/c")),
        ("/a/bc", "/a/b", "/x", None),
        ("/a/b c/d", "/a/b c", "/a/b", Some("/a/b/d")),
        ("/a", "/a/b", "/x", None),
        ("/a/b\\c", "/a/b", "/x", None),
        ("/ä/ß/c", "/ä/ß", "/ö", Some("/ö/c")),
        (r"C:\a\b", r"C:\a", r"D:\x", Some(r"D:\x\b")),
        (r"C:\ab", r"C:\a", r"D:\x", None),
        ("https://host/a", "/a", "/x", None),
    ] {
        assert_eq!(moved_path(path, from, to).as_deref(), expected, "{path} {from} {to}");
    }
}

#[test]
fn directories_above_are_named_nearest_first() {
    let above = |path| path_and_above(path).collect::<Vec<_>>();
    assert_eq!(above("/a/b/c/"), ["/a/b/c", "/a/b", "/a"]);
    assert_eq!(above("/"), [""; 0]);
    assert_eq!(above(""), [""; 0]);
    assert_eq!(above(r"C:\a\b"), [r"C:\a\b", r"C:\a", "C:"]);
}

#[test]
fn a_relocation_into_itself_or_of_nothing_is_refused() {
    let check = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        let relocation = Relocation { from, to, host: None, earnest: Earnest::Change };
        relocation.check().map_err(|refused| refused.field.into_owned())
    };
    assert_eq!(check("/a/b", "/a"), Ok(()), "one that moved up");
    assert_eq!(check("/a/b", "/a/bc"), Ok(()));
    assert_eq!(check("/a", "/a/b"), Err("to".to_owned()));
    assert_eq!(check("/a", "/a/"), Err("to".to_owned()));
    assert_eq!(check("/", "/a"), Err("from".to_owned()));
    assert_eq!(check("/a", ""), Err("to".to_owned()));
    assert_eq!(check("/a\0", "/b"), Err("from".to_owned()));
}

#[test]
fn a_joined_repo_keeps_its_number_and_takes_what_is_known_of_the_place() {
    let mut kept = row(1, "/a", "", None, "");
    kept.found.vcs = Vcs::None;
    kept.found.default_branch = Some("old".to_owned());
    let other = row(2, "/b", "git:1", Some("h/a"), "h");
    let mut expected = row(1, "/b", "git:1", Some("h/a"), "h");
    expected.found.default_branch = Some("old".to_owned());
    assert_eq!(joined_repo(&kept, &other), expected);
}
