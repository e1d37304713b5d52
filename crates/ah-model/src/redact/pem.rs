//! Private keys in PEM form. The lines around stay, what is between them goes.
//!
//! Keys are met in files, in strings with escaped line ends, behind line numbers and marks of a
//! diff, and cut off; and programs hold the first line without any key.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem;

use super::{Span, looked_at, rules};

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// Longest private key that is looked for.
const KEY_BYTES_MAX: usize = 64 * 1024;

/// Shortest run of base64 that makes a text between the lines a key.
const RUN_BYTES_MIN: usize = 40;

/// Longest name of a key, and what follows it.
const NAME_BYTES_MAX: usize = 80;

static BEGINS: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(BEGIN));

pub(super) fn find(text: &str, found: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(at) = BEGINS.find(&text.as_bytes()[from..]) {
        from += at + BEGIN.len();
        let Some(body) = body_start(text, from) else { continue };
        let Some(secret) = key(text, body) else { continue };
        from = secret.end;
        found.push(Span::in_context(rules::PRIVATE_KEY, secret));
    }
}

/// Whether the first line of a private key ends its dashes at `at`.
pub(super) fn may_be_at(text: &str, at: usize) -> bool {
    let from = at + "-BEGIN ".len();
    text.get(..from).is_some_and(|line| line.ends_with(BEGIN)) && body_start(text, from).is_some()
}

/// Where the body begins, if the line that `from` is in is that of a private key.
fn body_start(text: &str, from: usize) -> Option<usize> {
    let line = &text[from..text.floor_char_boundary(from + NAME_BYTES_MAX)];
    let (name, _) = line.split_once("-----")?;
    name.contains("PRIVATE KEY").then_some(from + name.len() + 5)
}

/// The key from `body` on: up to its last line, or as far as it looks like one.
fn key(text: &str, body: usize) -> Option<Range<usize>> {
    let rest = &text[body..text.floor_char_boundary(body + KEY_BYTES_MAX)];
    // The next first line ends the search, so that many of them are not all read to the end.
    let rest = &rest[..rest.find(BEGIN).unwrap_or(rest.len())];
    looked_at(rest.len());
    let end = match rest.find(END) {
        Some(end) if longest_run(&rest[..end]) >= RUN_BYTES_MIN => end,
        Some(_) => return None,
        None => cut_off(rest)?,
    };
    let trimmed = &rest[..end];
    let start =
        trimmed.len() - trimmed.trim_start_matches(is_space).trim_start_matches("\\n").len();
    let end = trimmed.trim_end_matches(is_space).len();
    (start < end).then_some(body + start..body + end)
}

/// How much of a text without a last line is a key: pieces with long runs, what stands before them
/// on a line, and one short piece at the end.
fn cut_off(rest: &str) -> Option<usize> {
    let mut end = None;
    let mut at = 0;
    for piece in rest.split_inclusive(is_space) {
        let start = at;
        at += piece.len();
        let piece = piece.trim_end_matches(is_space);
        if longest_run(piece) >= RUN_BYTES_MIN {
            end = Some(start + piece.len());
        } else if end.is_some() && !piece.is_empty() && piece.bytes().all(is_base64) {
            return Some(start + piece.len());
        } else if piece.len() > 4 && !is_header(piece) {
            break;
        }
    }
    end
}

/// `Proc-Type: 4,ENCRYPTED` and the like, one word at a time.
fn is_header(piece: &str) -> bool {
    piece.ends_with(':') || piece.contains(',')
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace()
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn longest_run(text: &str) -> usize {
    text.as_bytes().split(|byte| !is_base64(*byte)).map(<[u8]>::len).max().unwrap_or(0)
}
