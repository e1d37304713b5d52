//! Where in a text a shape can be at all, found without a pattern: most of a text is words.
//!
//! A shape is one run of characters that tokens are made of, and of [`RUN_BYTES_MIN`] at least; or
//! it follows a word that announces it. Only those places are shown to the patterns.

use memchr::{memchr2_iter, memmem};

use super::looked_at;

/// Length of the shortest shape that nothing announces.
pub(super) const RUN_BYTES_MIN: usize = 15;

/// A run of that length has at least one whole word of this many bytes in it, wherever it begins.
const WORD_BYTES: usize = RUN_BYTES_MIN.div_ceil(2);

/// How much is looked at behind `Bearer` and `Basic`; more than their shapes need.
const SCHEME_BYTES: usize = 32;

/// How much is looked at behind `curl`; more than its shape needs.
const CURL_BYTES: usize = 320;

/// Calls `look` with every part of `text` that a shape may be in, with the character before it.
pub(super) fn each(text: &str, mut look: impl FnMut(&str)) {
    runs(text, &mut look);
    let bytes = text.as_bytes();
    for at in memchr2_iter(b'b', b'B', bytes) {
        if ["bearer", "basic"].iter().any(|scheme| is_at(bytes, at, scheme)) {
            look(part(text, at, at + SCHEME_BYTES));
        }
    }
    for at in memmem::find_iter(bytes, b"curl ") {
        look(part(text, at, at + CURL_BYTES));
    }
}

/// Runs of characters of tokens that are long enough.
fn runs(text: &str, look: &mut impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let (words, _) = bytes.as_chunks::<WORD_BYTES>();
    let mut seen = 0;
    for (number, word) in words.iter().enumerate() {
        let from = number * WORD_BYTES;
        if from < seen || has_space(*word) || !word.iter().all(|byte| is_token(*byte)) {
            continue;
        }
        let (before, after) = bytes.split_at(from);
        let start = from - before.iter().rev().take_while(|byte| is_token(**byte)).count();
        seen = from + after.iter().take_while(|byte| is_token(**byte)).count();
        looked_at(seen - start);
        if seen - start >= RUN_BYTES_MIN {
            look(part(text, start, seen));
        }
    }
}

/// Whether a byte of the word is a space, a control character or none of ASCII. All at once: in most
/// words one is.
fn has_space(word: [u8; WORD_BYTES]) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let word = u64::from_le_bytes(word);
    // Taking away borrows from a byte that is less, which sets its highest bit.
    (word.wrapping_sub(EACH * 0x21) | word) & (EACH * 0x80) != 0
}

/// What prefixes and bodies of shapes are made of.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_./+=%:~".contains(&byte)
}

fn is_at(bytes: &[u8], at: usize, word: &str) -> bool {
    let found = bytes.get(at..at + word.len());
    found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

fn part(text: &str, start: usize, end: usize) -> &str {
    &text[text.floor_char_boundary(start.saturating_sub(1))..text.ceil_char_boundary(end)]
}
