//! Hints only save work: with every rule looking at every text the same is found.

use std::path::{Path, PathBuf};

use super::properties::piece;
use super::*;
use crate::redact::shapes::tests::any_secret;

/// Runs `work` with every rule looking everywhere.
fn without_hints<T>(work: impl FnOnce() -> T) -> T {
    IGNORES_HINTS.set(true);
    let result = work();
    IGNORES_HINTS.set(false);
    result
}

fn check_text(key: Option<&str>, given: &str) {
    assert_eq!(value(key, given), without_hints(|| value(key, given)), "{key:?}: {given}");
}

/// As [`check_text`], of a text that is too long to be shown whole.
fn check_long(given: &str) {
    let (with, without) = (value(None, given), without_hints(|| value(None, given)));
    let same = with.text.bytes().zip(without.text.bytes()).take_while(|(one, other)| one == other);
    let from = with.text.floor_char_boundary(same.count().saturating_sub(40));
    assert_eq!(with.findings, without.findings, "{:.120}", &with.text[from..]);
    assert_eq!(with.text, without.text);
}

fn check_json(given: &str) {
    assert_eq!(json(given).unwrap(), without_hints(|| json(given).unwrap()), "{given}");
}

/// A string of JSON in which every `each`th character is written as an escape.
fn escaped(text: &str, each: usize) -> String {
    let mut escaped = String::from("\"");
    for (at, character) in text.chars().enumerate() {
        match character {
            _ if at % each == each - 1 => {
                let units = &mut [0; 2];
                for unit in character.encode_utf16(units) {
                    escaped.push_str(&format!("\\u{unit:04x}"));
                }
            }
            '/' => escaped.push_str("\\/"),
            plain => {
                let quoted = serde_json::to_string(&plain.to_string()).unwrap();
                escaped.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
    }
    escaped + "\""
}

/// Documents with a text as a key, a value, an element, a named value and behind an option.
fn documents(key: &str, text: &str) -> [String; 5] {
    let quoted = |text: &str| serde_json::to_string(text).unwrap();
    let (key, text, odd) = (quoted(key), quoted(text), escaped(text, 7));
    [
        format!("{{{key}:{text},{text}:{odd}}}"),
        format!("[{key},{odd},[{text}],{{{key}:[[{text}]]}}]"),
        format!("{{\"name\":{key},\"value\":{text}}}"),
        format!("{{\"value\":{odd},\"key\":{key}}}"),
        format!("[\"--{},{text},{odd}]", &key[1..]),
    ]
}

fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![3 => piece(), 2 => any_secret(), 1 => "[ \n\t]"];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Long texts with hardly anything to look at, cut anywhere.
fn prose() -> impl Strategy<Value = String> {
    let line = "the smallest change that works, and the \"why\" of it is what we keep here - ";
    (0..line.len(), 0..900_usize).prop_map(move |(from, bytes)| {
        let from = line.floor_char_boundary(from);
        line.repeat(20)[from..from + bytes].to_owned()
    })
}

proptest! {
    #[test]
    fn any_text_is_redacted_the_same_without_hints(given in any_text(), key in piece()) {
        check_text(None, &given);
        check_text(Some(&key), &given);
        documents(&key, &given).iter().for_each(|document| check_json(document));
    }

    #[test]
    fn long_texts_are_redacted_the_same_without_hints(
        pieces in prop::collection::vec((any_text(), prose()), 1..6),
        before in "[ a-z]{0,80}",
    ) {
        let pieces = pieces.into_iter().flat_map(|(text, prose)| [text, prose]);
        check_long(&(before + &pieces.collect::<String>()));
    }

    #[test]
    fn names_mean_the_same_without_hints(
        words in prop::collection::vec(
            prop_oneof![
                2 => "(?i)(pass|pwd|token|key|auth|secret|bearer|cookie|credential|jwt|pat|session)",
                2 => "(?i)(api|access|db|id|word|s|wd|phrase|orization|value|h|new)",
                1 => "[_ .-]|[0-9]|[A-Za-z]|é",
            ],
            0..6,
        ),
    ) {
        let name = words.concat();
        prop_assert_eq!(keys::kind(&name), without_hints(|| keys::kind(&name)), "{}", name);
    }
}

#[test]
fn every_known_secret_is_redacted_the_same_without_hints() {
    let under_keys = UNDER_KEYS.iter().map(|(around, secret)| around.replacen("{}", secret, 1));
    for given in found().into_iter().map(|(given, ..)| given).chain(under_keys) {
        check_text(None, &given);
        documents("n", &given).iter().for_each(|document| check_json(document));
    }
}

fn lines(directory: &Path) -> Vec<String> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    let of = |path: PathBuf| match path.is_dir() {
        true => lines(&path),
        false if path.extension().is_some_and(|extension| extension == "jsonl") => {
            let bytes = std::fs::read(&path).unwrap();
            String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
        }
        false => Vec::new(),
    };
    entries.into_iter().flat_map(of).collect()
}

/// Numbers that look random and are the same every time.
fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 7_u64;
    move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    }
}

#[test]
fn transcripts_with_secrets_put_into_them_are_redacted_the_same_without_hints() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ah-import/tests/it/fixtures");
    let mut lines = lines(&fixtures);
    lines.retain(|line| line.len() < 4_000 && json(line).is_ok());
    assert!(lines.len() > 300, "{}", lines.len());
    let under_keys = UNDER_KEYS.iter().map(|(around, secret)| around.replacen("{}", secret, 1));
    let secrets: Vec<String> =
        found().into_iter().map(|(given, ..)| given).chain(under_keys).collect();
    let mut number = numbers();
    let mut redacted = 0;
    for line in lines {
        check_json(&line);
        let secret = &secrets[number(secrets.len())];
        let at = line.floor_char_boundary(number(line.len()));
        let secret = escaped(secret, 1 + number(40));
        let changed = format!("{}{}{}", &line[..at], &secret[1..secret.len() - 1], &line[at..]);
        check_text(None, &changed);
        if let Ok(found) = json(&changed) {
            redacted += found.count();
            check_json(&changed);
        }
    }
    assert!(redacted > 100, "{redacted}");
}
