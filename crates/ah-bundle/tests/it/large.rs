//! Bundles that are encoded, hashed and written piece by piece.

use ah_bundle::json::Value;
use ah_bundle::{Bundle, BundleError, Problem};

use crate::given::{Given, at, bundle};

/// A bundle of `scope` with those prompts.
fn with_prompts(scope: &str, prompts: Vec<String>) -> Bundle {
    let role = |number| format!("role {number}");
    let prompts = prompts.iter().enumerate();
    let prompts = prompts.map(|(number, text)| (role(number), Value::from(text.as_str())));
    Bundle { prompts: Some(prompts.collect()), ..bundle(scope, "") }
}

#[test]
fn what_is_written_in_pieces_is_what_is_encoded_at_once() {
    let lines = "a \"quoted\" line <b> \\ of any length\n";
    // Characters of several bytes, so that pieces would end within one.
    let wide = "é€\u{2028}𝄞x";
    for (bytes, count) in [(70_000, 1), (70_000, 3), (400_000, 1), (1_500_000, 4)] {
        for text in [lines, wide, "plain"] {
            let given = Given::nothing();
            let prompt = |number: usize| text.repeat(bytes / count / text.len() + number);
            let prompts: Vec<String> = (0..count).map(prompt).collect();
            for ms in 0..2 {
                let draft = with_prompts("one", prompts.clone());
                let saved = given.dir().save(draft, at(ms)).unwrap().snapshot;
                let stored = given.read(&saved.name);
                assert!(stored == saved.bundle.encode(), "{bytes} {count} {text}");
                assert_eq!(stored.len() as u64, saved.bytes);
                let loaded = given.dir().load("one").unwrap();
                assert!(loaded.snapshot == saved && loaded.damage.is_empty(), "{bytes} {count}");
            }
            assert!(given.dir().verify().unwrap().ok);
        }
    }
}

#[test]
fn secrets_are_found_in_every_part_of_large_prompts_and_told_in_order() {
    let secret = format!("token: {}{}", "ghp_", "0123456789abcdefABCDEF0123456789abcd");
    let filler = "words of a prompt that nobody has to hide\n".repeat(3_000);
    for count in [1, 2, 5] {
        let given = Given::nothing();
        let prompts = vec![format!("{filler}{secret}\n{filler}"); count];
        let saved = given.dir().save(with_prompts("one", prompts), at(0)).unwrap();
        let paths: Vec<String> = saved.redacted.iter().map(|one| one.path.to_string()).collect();
        let expected: Vec<String> =
            (0..count).map(|number| format!("prompts.role {number}")).collect();
        assert_eq!(paths, expected);
        let stored = given.read(&saved.snapshot.name);
        assert!(!stored.contains("0123456789abcdef"));
        assert_eq!(stored.matches("[redacted:").count(), count);
    }
}

#[test]
fn a_large_bundle_that_is_too_large_leaves_nothing_behind() {
    let given = Given::nothing();
    let first = given.dir().save(bundle("one", "first"), at(0)).unwrap().snapshot;
    let before = given.files();
    let dir = given.dir().with_bytes_max(200_000);
    let error = dir.save(bundle("one", &"x".repeat(300_000)), at(1)).unwrap_err();
    let BundleError::Refused(Problem::TooLarge { bytes, max }) = error else { panic!("{error}") };
    assert!(bytes > 300_000 && max == 200_000, "{bytes}");
    let mut after = given.files();
    after.retain(|name, _| !name.starts_with(".spare"));
    assert_eq!(after, before);
    assert_eq!(given.dir().load("one").unwrap().snapshot, first);
}
