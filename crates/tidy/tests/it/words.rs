//! The tree says nothing about the machine or the place it was written on.

use crate::rust_source::{is_word, line_at};
use crate::tree::{self, assert_none};

/// Absolute paths of single machines; written in pieces, so that this file passes.
const PATHS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Files and hosts that a reader of the tree does not have.
const WORDS: [&str; 4] = [
    concat!("shared/", "DESIGN"),
    concat!("shared/", "STYLE"),
    concat!("arti", "factory"),
    concat!("registry.", "npmjs"),
];

#[test]
fn no_file_names_a_machine_or_a_workplace() {
    let mut offenders = Vec::new();
    for path in tree::files("") {
        let text = tree::read(&path);
        let paths = PATHS.iter().flat_map(|wanted| {
            let absolute = |at: usize| !text[..at].ends_with(continues_path);
            text.match_indices(wanted).map(|(at, _)| at).filter(move |at| absolute(*at))
        });
        let words = WORDS.iter().flat_map(|word| text.match_indices(word).map(|(at, _)| at));
        let mut found: Vec<usize> = paths.chain(words).map(|at| line_at(&text, at)).collect();
        found.sort_unstable();
        offenders.extend(found.into_iter().map(|line| format!("{path}:{line}")));
    }
    assert_none("a reader does not have it", &offenders);
}

/// Whether a slash after this character is inside a longer path or an address.
fn continues_path(character: char) -> bool {
    is_word(character) || matches!(character, '.' | '~' | '-' | '}' | '*' | '$')
}
