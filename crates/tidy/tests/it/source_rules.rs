//! What no Rust file may hold, beyond what clippy sees.

use crate::rust_source::{Attribute, Source};
use crate::tree::{self, assert_none};

const FILE_LINES_MAX: usize = 800;

/// Its tests are the crate.
const EMPTY_BY_DESIGN: &str = "crates/tidy/src/lib.rs";

#[test]
fn no_test_is_ignored() {
    assert_none("a test runs or goes", &attributes_where(|text| mentions(text, "ignore")));
}

#[test]
fn lints_are_expected_with_a_reason_and_never_allowed() {
    let offenders = attributes_where(|text| {
        let expects = mentions(text, "expect") && !text.contains("reason =");
        mentions(text, "allow") || expects
    });
    assert_none("write #[expect(lint, reason = \"..\")]", &offenders);
}

#[test]
fn modules_stand_where_their_name_says() {
    assert_none("no #[path]", &attributes_where(|text| mentions(text, "path")));
}

#[test]
fn nothing_is_left_to_do() {
    let offenders = places(|source| {
        ["todo", "unimplemented"].iter().flat_map(|word| source.lines_of(word, '!')).collect()
    });
    assert_none("finish it or take it out", &offenders);
}

#[test]
fn no_file_is_too_long() {
    let too_long = rust_files().into_iter().filter_map(|path| {
        let lines = tree::read(&path).lines().count();
        (lines > FILE_LINES_MAX).then(|| format!("{path}:{lines}"))
    });
    let rule = format!("split at {FILE_LINES_MAX} lines");
    assert_none(&rule, &too_long.collect::<Vec<_>>());
}

#[test]
fn no_file_is_empty() {
    let mut empty = places(|source| match source.code.trim() {
        "" => vec![1],
        _ => vec![],
    });
    empty.retain(|place| !place.starts_with(EMPTY_BY_DESIGN));
    assert_none("holds no code", &empty);
}

#[test]
fn attributes_are_recognised_inside_cfg_attr() {
    for text in ["allow(dead_code)", "cfg_attr(test, allow(dead_code))", " allow (x)"] {
        assert!(mentions(text, "allow"), "{text}");
    }
    for text in ["expect(dead_code)", "cfg(allow_all)", "doc(alias)", "serde(rename)"] {
        assert!(!mentions(text, "allow"), "{text}");
    }
}

fn rust_files() -> Vec<String> {
    tree::rust_files("")
}

/// Whether an attribute is `name`, or sets it under a condition.
fn mentions(text: &str, name: &str) -> bool {
    let text = text.trim();
    let conditional = text.strip_prefix("cfg_attr").and_then(|rest| rest.split_once(','));
    let is_name = |part: &str| {
        let rest = part.trim().strip_prefix(name).map(str::trim_start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['(', '=', ')']))
    };
    is_name(text) || conditional.is_some_and(|(_, set)| set.split(',').any(is_name))
}

fn attributes_where(is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
    places(|source| {
        let wrong = source.attributes().into_iter().filter(|Attribute { text, .. }| is_wrong(text));
        wrong.map(|attribute| attribute.line).collect()
    })
}

/// `path:line` of what `lines` finds in each Rust file.
fn places(lines: impl Fn(&Source) -> Vec<usize>) -> Vec<String> {
    let mut found = Vec::new();
    for path in rust_files() {
        let source = Source::parse(&tree::read(&path));
        found.extend(lines(&source).into_iter().map(|line| format!("{path}:{line}")));
    }
    found
}
