//! Where the values of a JSON text stand, so that a part of it can be changed and all else stays as
//! it was written: order, spaces, and keys that nobody here knows.
//!
//! The text is known to be JSON: it was checked as a whole before.

use std::ops::Range;

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: String,
    /// From the key to the end of the value.
    pub(super) whole: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Why a text is no JSON object, if it is none.
pub(super) fn refuse(text: &str) -> Result<(), String> {
    match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) => Err(format!("is not JSON: {error}")),
        Ok(value) if !value.is_object() => Err("is not a JSON object".to_owned()),
        Ok(_) => Ok(()),
    }
}

/// The place of the whole value.
pub(super) fn root(text: &str) -> Range<usize> {
    let start = blank(text, 0);
    start..end_of(text, start)
}

/// The members of the object at `place`; nothing when no object is there.
pub(super) fn members(text: &str, place: &Range<usize>) -> Option<Vec<Member>> {
    let mut at = opened(text, place, b'{')?;
    let mut members = Vec::new();
    while byte(text, at) == Some(b'"') {
        let (start, end) = (at, end_of(text, at));
        let key = serde_json::from_str(text.get(start..end)?).ok()?;
        let value = blank(text, blank(text, end) + 1);
        let value = value..end_of(text, value);
        at = next(text, value.end);
        members.push(Member { key, whole: start..value.end, value });
    }
    Some(members)
}

/// The elements of the list at `place`; nothing when no list is there.
pub(super) fn elements(text: &str, place: &Range<usize>) -> Option<Vec<Range<usize>>> {
    let mut at = opened(text, place, b'[')?;
    let mut elements = Vec::new();
    while at < place.end - 1 {
        let end = end_of(text, at);
        elements.push(at..end);
        at = next(text, end);
    }
    Some(elements)
}

/// Puts `new` behind the last of `parts`, which are inside of the object or list at `place`, spaced
/// as that one is; `alone` is what to write when there are none.
pub(super) fn add(
    text: &str,
    place: &Range<usize>,
    parts: &[Range<usize>],
    new: &str,
    alone: &str,
) -> String {
    match parts.last() {
        None => splice(text, place.start + 1..place.start + 1, alone),
        Some(last) => {
            let before = match parts.len().checked_sub(2).and_then(|at| parts.get(at)) {
                Some(one) => text.get(one.end..last.start),
                None => text.get(place.start + 1..last.start),
            };
            let space = before.unwrap_or_default().rsplit(',').next().unwrap_or_default();
            splice(text, last.end..last.end, &format!(",{space}{new}"))
        }
    }
}

/// Takes the part of that number out of `parts`, which are inside of the object or list at `place`.
pub(super) fn cut(
    text: &str,
    place: &Range<usize>,
    parts: &[Range<usize>],
    number: usize,
) -> String {
    let before = number.checked_sub(1).and_then(|at| parts.get(at));
    let range = match (before, parts.get(number), parts.get(number + 1)) {
        (Some(before), Some(part), _) => before.end..part.end,
        (None, Some(part), Some(after)) => part.start..after.start,
        (None, Some(_), None) => place.start + 1..place.end - 1,
        (_, None, _) => return text.to_owned(),
    };
    splice(text, range, "")
}

fn splice(text: &str, range: Range<usize>, new: &str) -> String {
    let (before, after) = (text.get(..range.start), text.get(range.end..));
    [before.unwrap_or_default(), new, after.unwrap_or_default()].concat()
}

fn byte(text: &str, at: usize) -> Option<u8> {
    text.as_bytes().get(at).copied()
}

/// The first place from `at` on that is not blank.
fn blank(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The first place inside of an object or list.
fn opened(text: &str, place: &Range<usize>, opening: u8) -> Option<usize> {
    (byte(text, place.start) == Some(opening)).then(|| blank(text, place.start + 1))
}

/// The next value or key behind one that ends at `end`.
fn next(text: &str, end: usize) -> usize {
    let at = blank(text, end);
    if byte(text, at) == Some(b',') { blank(text, at + 1) } else { at }
}

/// Where the value that begins at `start` ends.
fn end_of(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at, mut in_string) = (0_usize, start, false);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' | b':' if depth == 0 => return at,
            byte if byte.is_ascii_whitespace() && depth == 0 => return at,
            _ => {}
        }
        at += 1;
        let closed = matches!(byte, b'}' | b']' | b'"') && !in_string;
        if depth == 0 && closed {
            return at;
        }
    }
    at.min(bytes.len())
}
