//! Secrets in JSON, without touching anything but the strings that hold them: numbers, spaces, the
//! order of keys and the spelling of every other string stay.
//!
//! A string is redacted under its key; elements of a list stand under the list's key. So does the
//! `value` beside a `name` that means a secret, and what follows an option in a list of arguments.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr2};
use serde::de::IgnoredAny;

use super::hints::Hints;
use super::keys::{self, Kind};
use super::{Finding, Redacted, Span, looked_at, note, settle, spans};
use crate::Invalid;
use crate::json::end_of_string;
use crate::limits::JSON_DEPTH_MAX;

/// Places that are told; further secrets are only counted.
const PLACES_MAX: usize = 100;

/// Longest name of a member or an option that its neighbour's meaning is taken from.
const NAME_BYTES_MAX: usize = 512;

/// Longest place; what is deeper is cut off.
const PATH_BYTES_MAX: usize = 256;

/// Redacts the strings of one JSON value.
///
/// # Errors
/// When `text` is no JSON, or nested deeper than any stored value may be.
pub fn json(text: &str) -> Result<Redacted<'_>, Invalid> {
    serde_json::from_str::<IgnoredAny>(text)
        .map_err(|error| Invalid::new("json", error.to_string()))?;
    checked_json(text)
}

/// As [`json`], of text that is known to be JSON.
pub(crate) fn checked_json(text: &str) -> Result<Redacted<'_>, Invalid> {
    let mut walk = Walk { text, frames: Vec::new(), edits: Vec::new(), findings: Vec::new() };
    walk.run()?;
    let Walk { mut edits, findings, .. } = walk;
    edits.sort_by_key(|edit| edit.at.start);
    Ok(Redacted { text: edited(text, &edits), findings })
}

/// A string of the document and what is put in its place.
struct Edit {
    at: Range<usize>,
    text: String,
}

fn edited<'a>(text: &'a str, edits: &[Edit]) -> Cow<'a, str> {
    if edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut edited = String::with_capacity(text.len());
    let mut from = 0;
    for edit in edits {
        edited.push_str(&text[from..edit.at.start]);
        edited.push_str(&edit.text);
        from = edit.at.end;
    }
    edited.push_str(&text[from..]);
    Cow::Owned(edited)
}

/// An object or list that is open.
struct Frame {
    is_object: bool,
    /// What the key that this stands under means for its strings.
    kind: Kind,
    /// The next string of an object is a key.
    expects_key: bool,
    /// The key, without quotes, that a value of the object stands under.
    key: Range<usize>,
    /// The kind of that key.
    key_kind: Kind,
    /// The number of the element of a list.
    index: usize,
    /// What the `name` of an object, or an option before in a list, says of the `value`.
    named: Kind,
    /// A `value` that came before its `name`.
    value: Option<(Range<usize>, Option<usize>)>,
}

struct Walk<'a> {
    text: &'a str,
    frames: Vec<Frame>,
    edits: Vec<Edit>,
    findings: Vec<Finding>,
}

impl Walk<'_> {
    fn run(&mut self) -> Result<(), Invalid> {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            looked_at(1);
            match byte {
                b'"' => {
                    at = self.string(at + 1);
                    continue;
                }
                b'{' | b'[' => self.open(byte == b'{')?,
                b'}' | b']' => drop(self.frames.pop()),
                b',' => self.next(),
                b':' => self.expect(false),
                _ => {}
            }
            at += 1;
        }
        Ok(())
    }

    fn open(&mut self, is_object: bool) -> Result<(), Invalid> {
        if self.frames.len() >= JSON_DEPTH_MAX {
            let reason = format!("nested deeper than {JSON_DEPTH_MAX}");
            return Err(Invalid::new("json", reason));
        }
        // A list of lists stands under the same key; an object has keys of its own.
        let kind = if is_object { Kind::None } else { self.kind() };
        self.frames.push(Frame {
            is_object,
            kind,
            expects_key: is_object,
            key: 0..0,
            key_kind: Kind::None,
            index: 0,
            named: Kind::None,
            value: None,
        });
        Ok(())
    }

    fn next(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.index += 1;
            frame.expects_key = frame.is_object;
        }
    }

    fn expect(&mut self, key: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expects_key = key;
        }
    }

    /// What the string that comes now stands under.
    fn kind(&self) -> Kind {
        match self.frames.last() {
            None => Kind::None,
            Some(frame) if frame.is_object && frame.key_kind == Kind::None => {
                match &self.text[frame.key.clone()] {
                    "value" => frame.named,
                    _ => Kind::None,
                }
            }
            Some(frame) if frame.is_object => frame.key_kind,
            Some(frame) if frame.kind == Kind::None => frame.named,
            Some(frame) => frame.kind,
        }
    }

    /// Redacts the string whose quotes open before `start` and returns the place behind them.
    fn string(&mut self, start: usize) -> usize {
        let rest = self.text.as_bytes().get(start..).unwrap_or_default();
        let plain = memchr2(b'"', b'\\', rest).filter(|at| rest.get(*at) == Some(&b'"'));
        let end = match plain {
            Some(length) => start + length,
            None => end_of_string(self.text, start - 1).saturating_sub(1).max(start),
        };
        let hints = match plain {
            Some(_) => Hints::of(&self.text[start..end]),
            // What it says is not what is written.
            None => Hints::ALL,
        };
        match self.frames.last_mut() {
            Some(frame) if frame.is_object && frame.expects_key => {
                frame.key = start..end;
                let kind = self.key(start..end, hints);
                if let Some(frame) = self.frames.last_mut() {
                    frame.key_kind = kind;
                }
            }
            _ => self.value(start..end, hints),
        }
        end + 1
    }

    /// Redacts a key and says what it means.
    fn key(&mut self, at: Range<usize>, hints: Hints) -> Kind {
        if hints.are_none() {
            return match hints.stem {
                true => keys::kind_by_words(&self.text[at]),
                false => Kind::None,
            };
        }
        let edit = self.redact(Kind::None, at.clone());
        keys::kind(&decoded(self.written(&at, edit)))
    }

    fn value(&mut self, at: Range<usize>, hints: Hints) {
        let kind = self.kind();
        let edit = match kind == Kind::None && hints.are_none() {
            true => None,
            false => self.redact(kind, at.clone()),
        };
        self.remember(at, edit);
    }

    /// A string as it will be written. Its meaning is taken from that, or it would have another
    /// when it is redacted again.
    fn written(&self, at: &Range<usize>, edit: Option<usize>) -> &str {
        let edit = edit.and_then(|edit| self.edits.get(edit));
        edit.map_or(&self.text[at.clone()], |edit| edit.text.as_str())
    }

    /// Notes what a string says of its neighbours.
    fn remember(&mut self, at: Range<usize>, edit: Option<usize>) {
        if !self.says_something(&at) {
            return;
        }
        let written = self.written(&at, edit);
        let says = match written.len() <= NAME_BYTES_MAX {
            true => decoded(written).into_owned(),
            false => String::new(),
        };
        let Some(frame) = self.frames.last_mut() else { return };
        if !frame.is_object {
            frame.named = match says.strip_prefix("--") {
                Some(option) if !option.contains(['=', ' ']) => keys::kind(option),
                _ => Kind::None,
            };
            return;
        }
        match &self.text[frame.key.clone()] {
            "name" | "key" | "header" => {
                frame.named = keys::kind(&says);
                let (named, value) = (frame.named, frame.value.take());
                if let Some((value, edit)) = value.filter(|_| named != Kind::None) {
                    self.redact_again(named, value, edit);
                }
            }
            "value" if frame.named == Kind::None => frame.value = Some((at, edit)),
            _ => {}
        }
    }

    /// Whether a string may say something of its neighbours: most do not, and are read no further.
    fn says_something(&mut self, at: &Range<usize>) -> bool {
        let Some(frame) = self.frames.last_mut() else { return false };
        if frame.is_object {
            return matches!(&self.text[frame.key.clone()], "name" | "key" | "header" | "value");
        }
        frame.named = Kind::None;
        // The dashes of an option, or the start of an escape.
        self.text[at.clone()].starts_with(['-', '\\'])
    }

    /// Redacts a string and returns the number of its edit.
    fn redact(&mut self, kind: Kind, at: Range<usize>) -> Option<usize> {
        let mut rules = Vec::new();
        let raw = &self.text[at.clone()];
        let settled = settle(raw, |raw| raw_spans(kind, raw), |rule| rules.push(rule));
        let Cow::Owned(text) = settled else { return None };
        let path = (self.findings.len() < PLACES_MAX).then(|| self.path());
        rules.iter().for_each(|rule| note(&mut self.findings, rule, path.as_deref()));
        self.edits.push(Edit { at, text });
        Some(self.edits.len() - 1)
    }

    /// Redacts a string under what was learned later; its first edit gives way.
    fn redact_again(&mut self, kind: Kind, at: Range<usize>, first: Option<usize>) {
        if self.redact(kind, at).is_some()
            && let Some(first) = first
        {
            self.edits.swap_remove(first);
        }
    }

    /// The place of the string that is looked at, as a JSON pointer without any secret.
    fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            if path.len() >= PATH_BYTES_MAX {
                path.push_str("/…");
                break;
            }
            path.push('/');
            if frame.is_object {
                let key = &self.text[frame.key.clone()];
                let key = decoded(&key[..key.floor_char_boundary(PATH_BYTES_MAX)]).into_owned();
                path.push_str(&super::text(&key).text.replace('~', "~0").replace('/', "~1"));
            } else {
                path.push_str(&frame.index.to_string());
            }
        }
        path
    }
}

/// The spans of a string as it is written, found in what it says.
fn raw_spans(kind: Kind, raw: &str) -> Vec<Span> {
    if !raw.contains('\\') {
        return spans(kind, raw);
    }
    let mut spans = spans(kind, &decoded(raw));
    let mut places = Characters { raw, at: 0, decoded: 0 };
    for span in &mut spans {
        span.secret = places.at(span.secret.start)..places.at(span.secret.end);
    }
    spans
}

/// What a JSON string says. Halves of characters that stand alone become replacement characters.
fn decoded(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    looked_at(raw.len());
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        let (plain, escaped) = rest.split_at(at);
        text.push_str(plain);
        let Some((character, length)) = next_character(escaped) else { return Cow::Owned(text) };
        text.push(character);
        rest = &escaped[length..];
    }
    text.push_str(rest);
    Cow::Owned(text)
}

/// Finds the places of a decoded string in the written one; asked in ascending order.
struct Characters<'a> {
    raw: &'a str,
    at: usize,
    decoded: usize,
}

impl Characters<'_> {
    fn at(&mut self, decoded: usize) -> usize {
        while self.decoded < decoded {
            let Some((character, length)) = next_character(&self.raw[self.at..]) else { break };
            self.at += length;
            self.decoded += character.len_utf8();
        }
        self.at
    }
}

/// The first character of a JSON string and how long it is written.
fn next_character(raw: &str) -> Option<(char, usize)> {
    let mut characters = raw.chars();
    match characters.next()? {
        '\\' => {}
        plain => return Some((plain, plain.len_utf8())),
    }
    let escaped = match characters.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => return Some(unicode_escape(raw)),
        other => return Some((other, 1 + other.len_utf8())),
    };
    Some((escaped, 2))
}

fn unicode_escape(raw: &str) -> (char, usize) {
    let unit = |from: usize| {
        let digits = raw.get(from..from + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else { return (char::REPLACEMENT_CHARACTER, 2) };
    if let Some(character) = char::from_u32(first) {
        return (character, 6);
    }
    let pair = unit(6)
        .filter(|second| (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(second));
    let character = pair
        .and_then(|second| char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00)));
    match character {
        Some(character) => (character, 12),
        None => (char::REPLACEMENT_CHARACTER, 6),
    }
}
