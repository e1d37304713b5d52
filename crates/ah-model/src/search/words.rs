//! Words: what a text is split into, the same on every engine.
//!
//! A word is a run of letters and digits of any script, in lower case. Characters of scripts that
//! put no blanks between words are a word each, so that any part of a sentence is found. Bytes that
//! were written as letters (Base64) are no words.

use std::ops::Range;

use crate::limits::SEARCH_WORD_BYTES_MAX;

/// The shortest run of the letters of Base64 that is taken for bytes. A digest of 512 bits is
/// shorter.
const BYTES_AS_LETTERS_MIN: usize = 160;

/// A word, and where it stands in its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) place: Range<usize>,
}

/// The words of a text, in order.
pub(super) fn words(text: &str) -> Words<'_> {
    Words { text, at: 0, letters_until: 0 }
}

pub(super) struct Words<'a> {
    text: &'a str,
    at: usize,
    /// Up to here no bytes that were written as letters begin.
    letters_until: usize,
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        loop {
            let rest = self.text.get(self.at..)?;
            let begin = self.at + rest.find(is_of_word)?;
            if let Some(end) = self.behind_bytes(begin) {
                self.at = end;
                continue;
            }
            let end = word_end(self.text, begin)?;
            self.at = end;
            let text = lower(self.text.get(begin..end)?);
            return Some(Word { text, place: begin..end });
        }
    }
}

impl Words<'_> {
    /// The end of the bytes that were written as letters from `begin` on, if that is what stands
    /// there. A run of letters is looked at once.
    fn behind_bytes(&mut self, begin: usize) -> Option<usize> {
        if begin < self.letters_until {
            return None;
        }
        let rest = self.text.as_bytes().get(begin..)?;
        let letters = rest.iter().take_while(|byte| is_of_base64(**byte)).count();
        self.letters_until = begin + letters;
        (letters >= BYTES_AS_LETTERS_MIN).then_some(begin + letters)
    }
}

/// The end of the word that begins at `begin`.
fn word_end(text: &str, begin: usize) -> Option<usize> {
    let rest = text.get(begin..)?;
    let first = rest.chars().next()?;
    if stands_alone(first) {
        return Some(begin + first.len_utf8());
    }
    let end = rest.find(|c| !is_of_word(c) || stands_alone(c)).unwrap_or(rest.len());
    Some(begin + end)
}

fn is_of_word(c: char) -> bool {
    // Accents that are written apart belong to the letter before.
    c.is_alphanumeric() || ('\u{300}'..='\u{36f}').contains(&c)
}

fn is_of_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Whether it is a character of a script that puts no blanks between words.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// A word in lower case, letter by letter, and no longer than words are compared.
fn lower(word: &str) -> String {
    let mut lower = String::with_capacity(word.len().min(SEARCH_WORD_BYTES_MAX));
    for c in word.chars().flat_map(char::to_lowercase) {
        if lower.len() + c.len_utf8() > SEARCH_WORD_BYTES_MAX {
            break;
        }
        lower.push(c);
    }
    lower
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(text: &str) -> Vec<String> {
        words(text).map(|word| word.text).collect()
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        for (text, expected) in [
            ("", vec![]),
            (" \n-'\"*\0", vec![]),
            ("Hello, World2!", vec!["hello", "world2"]),
            ("src/main.rs snake_case", vec!["src", "main", "rs", "snake", "case"]),
            ("ÄRGER Straße ΣΟΦΟΣ", vec!["ärger", "straße", "σοφοσ"]),
            ("e\u{301}t é", vec!["e\u{301}t", "é"]),
            ("日本go語", vec!["日", "本", "go", "語"]),
        ] {
            assert_eq!(split(text), expected, "{text}");
        }
    }

    #[test]
    fn bytes_that_were_written_as_letters_are_no_words() {
        let bytes = "QUJD+/".repeat(40);
        assert_eq!(
            split(&format!("before data:image/png;base64,{bytes}== after")),
            ["before", "data", "image", "png", "base64", "after"]
        );
        let digest = "0123456789abcdef".repeat(4);
        assert_eq!(split(&digest), [digest]);
    }

    #[test]
    fn a_long_word_is_known_by_its_beginning() {
        let long = "x".repeat(100);
        assert_eq!(split(&long), ["x".repeat(SEARCH_WORD_BYTES_MAX)]);
    }

    proptest! {
        #[test]
        fn any_text_is_split_and_every_word_stands_where_it_says(text in "\\PC{0,80}|[ -~é日\u{301}]{0,300}") {
            let mut end = 0;
            for word in words(&text) {
                prop_assert!(word.place.start >= end && !word.text.is_empty());
                end = word.place.end;
                prop_assert_eq!(lower(&text[word.place.clone()]), word.text.clone());
                prop_assert!(word.text.len() <= SEARCH_WORD_BYTES_MAX);
                prop_assert!(!word.text.contains(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric()));
            }
        }
    }
}
