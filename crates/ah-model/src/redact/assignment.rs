//! Values whose key means a secret, in any notation: `KEY=value`, `"key": "value"`, `key: value`,
//! `--key value`, headers, and JSON that stands escaped in other JSON.
//!
//! Looks at separators, not at keys, and only so far back as a key can be long. A value is passed
//! over once when it is masked; one that is left alone is short or told by its start.

use std::ops::Range;

use memchr::memchr3_iter;

use super::keys::{self, Kind};
use super::values::{self, Style};
use super::{Span, looked_at, mask_at, rules};

pub(super) fn find(text: &str, found: &mut Vec<Span>) {
    let mut ends = Ends::default();
    let mut from = 0;
    while let Some((at, sign)) = next_sign(text, from) {
        from = at + 1;
        let Some(place) = place(text, at, sign) else { continue };
        let value = value_at(text, &place, &mut ends);
        let style = style(text, &value, place.notation);
        let Some(secret) = values::secret_in(place.kind, &text[value.range.clone()], style) else {
            continue;
        };
        let secret = value.range.start + secret.start..value.range.start + secret.end;
        if !is_prefix_of_mask(text, &secret) {
            from = from.max(secret.end);
            found.push(Span::in_context(rules::SECRET, secret));
        }
    }
}

/// Whether a value may follow a name that the stem of a key is in.
pub(super) fn may_be_after(text: &str, stem: &Range<usize>) -> bool {
    is_option(text.as_bytes(), stem)
        || sign_after(text.as_bytes(), stem.end)
            .is_some_and(|at| place(text, at, Sign::Separator).is_some())
}

/// The separator behind a key that goes on at `from`: the other way round than [`key_before`].
fn sign_after(bytes: &[u8], from: usize) -> Option<usize> {
    let skipped = |from: usize, max: usize, is: fn(u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        from + rest.iter().take(max).take_while(|byte| is(**byte)).count()
    };
    let key_end = skipped(from, KEY_BYTES_MAX + BETWEEN_BYTES_MAX, is_key);
    let at = skipped(key_end, BETWEEN_BYTES_MAX + 2, |byte| is_between(byte) || byte == b']');
    looked_at(at - from);
    matches!(bytes.get(at), Some(b':' | b'=')).then_some(at)
}

/// Whether the stem is in the name of an option that a value may follow.
fn is_option(bytes: &[u8], stem: &Range<usize>) -> bool {
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let (before, after) = (bytes.get(..stem.start), bytes.get(stem.end..));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let length = before.iter().rev().take(KEY_BYTES_MAX + 2).take_while(is_name).count();
    let name = before.get(before.len() - length..).unwrap_or_default();
    let rest = after.iter().take(KEY_BYTES_MAX).take_while(is_name).count();
    looked_at(length + rest);
    after.get(rest) == Some(&b' ') && name.windows(2).any(|pair| pair == b"--")
}

/// What may announce a value.
enum Sign {
    /// `:` or `=`.
    Separator,
    /// `--name `.
    Option,
}

/// Where a value under a name that tells something begins.
struct Place {
    kind: Kind,
    from: usize,
    notation: Notation,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// `name: value`, `name = value`.
    Pair,
    /// `NAME=value`
    Variable,
    /// `--name value`
    Option,
}

fn place(text: &str, at: usize, sign: Sign) -> Option<Place> {
    let (name, from, notation) = match sign {
        Sign::Separator => {
            let key = key_before(text, at)?;
            let from = after_separator(text, at);
            let is_variable =
                from == at + 1 && key.end == at && is_variable_name(&text[key.clone()]);
            (key, from, if is_variable { Notation::Variable } else { Notation::Pair })
        }
        Sign::Option => {
            let name = option_name(text, at);
            (name.clone(), name.end + 1, Notation::Option)
        }
    };
    let kind = keys::kind(&text[name]);
    (kind != Kind::None).then_some(Place { kind, from, notation })
}

fn next_sign(text: &str, from: usize) -> Option<(usize, Sign)> {
    let bytes = text.as_bytes();
    for at in memchr3_iter(b':', b'=', b'-', bytes.get(from..)?).map(|at| from + at) {
        looked_at(1);
        if bytes.get(at) != Some(&b'-') {
            return Some((at, Sign::Separator));
        }
        if bytes.get(at + 1) == Some(&b'-') && option_name(text, at).len() > 2 {
            return Some((at, Sign::Option));
        }
    }
    None
}

const KEY_BYTES_MAX: usize = 64;

/// How far behind a stem the sign of its value may be: see [`sign_after`].
pub(super) const NAME_TO_SIGN_BYTES_MAX: usize = KEY_BYTES_MAX + 2 * BETWEEN_BYTES_MAX + 2;

/// How far before a stem the dashes of its option may begin: see [`is_option`].
pub(super) const OPTION_TO_STEM_BYTES_MAX: usize = KEY_BYTES_MAX + 2;

/// The name of an option whose dashes begin at `at` and which a space and a value follow.
fn option_name(text: &str, at: usize) -> Range<usize> {
    let start = at + 2;
    let bytes = text.as_bytes().get(start..).unwrap_or_default();
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    if !bytes.first().is_some_and(u8::is_ascii_alphanumeric) {
        return start..start;
    }
    let length = bytes.iter().take(KEY_BYTES_MAX).take_while(is_name).count();
    looked_at(length);
    let followed = bytes.get(length) == Some(&b' ')
        && bytes.get(length + 1).is_some_and(|byte| !matches!(byte, b'-' | b' '));
    start..start + if followed { length } else { 0 }
}

/// Spaces and quotes that may stand between a key and its separator.
const BETWEEN_BYTES_MAX: usize = 12;

/// The key that ends before the separator at `at`: words, also with single spaces between them.
fn key_before(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let before = |at: usize| at.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let mut end = at;
    while at - end < BETWEEN_BYTES_MAX && before(end).is_some_and(is_between) {
        end -= 1;
    }
    // `os.environ["KEY"] =`
    if before(end) == Some(b']') && matches!(before(end - 1), Some(b'"' | b'\'')) {
        end -= 2;
    }
    let mut start = end;
    while end - start < KEY_BYTES_MAX && before(start).is_some_and(is_key) {
        start -= 1;
    }
    looked_at(at - start + 1);
    (start < end).then_some(start..end)
}

fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'\\' | b'*')
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b' ')
}

fn is_variable_name(key: &str) -> bool {
    let name = key.rsplit(' ').next().unwrap_or(key);
    let is_part = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_part)
}

/// Behind a separator of one to three characters (`:`, `=`, `:=`, `==`, `=>`).
fn after_separator(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    at + rest.iter().take(3).take_while(|byte| matches!(byte, b':' | b'=' | b'>')).count()
}

struct Value {
    range: Range<usize>,
    is_quoted: bool,
}

fn value_at(text: &str, place: &Place, ends: &mut Ends) -> Value {
    let from = place.from;
    let bytes = text.as_bytes();
    let count = |from: usize, max: usize, is: fn(u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take(max).take_while(|byte| is(**byte)).count()
    };
    let start = match place.notation {
        Notation::Variable => from,
        Notation::Pair | Notation::Option => {
            from + count(from, BETWEEN_BYTES_MAX, |byte| matches!(byte, b' ' | b'\t' | b'*'))
        }
    };
    // `b"bytes"` and the like.
    let letters = count(start, 2, |byte| byte.is_ascii_alphabetic());
    let open = if quote_at(bytes, start + letters).is_some() { start + letters } else { start };
    if let Some((quote, escapes)) = quote_at(bytes, open)
        && let Some(range) = ends.quoted(text, open + escapes + 1, quote, escapes > 0)
    {
        return Value { range, is_quoted: true };
    }
    let start = open + quote_at(bytes, open).map_or(0, |(_, escapes)| escapes + 1);
    let start = start + masks_bytes(&text[start..]);
    let range = start..ends.unquoted(text, start, stop(place, text));
    Value { range, is_quoted: false }
}

/// The masks that a value starts with.
fn masks_bytes(text: &str) -> usize {
    let mut at = 0;
    while let Some(length) = mask_at(&text[at..]) {
        looked_at(length);
        at += length;
    }
    at
}

/// The quote at `at` and the backslashes before it.
fn quote_at(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = bytes.get(at..).unwrap_or_default();
    let escapes = rest.iter().take(8).take_while(|byte| **byte == b'\\').count();
    let quote = rest.get(escapes).copied();
    quote.filter(|quote| matches!(quote, b'"' | b'\'' | b'`')).map(|quote| (quote, escapes))
}

/// What ends a value without quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// A space or a quote.
    Space,
    /// Also what separates values in code, queries and lists.
    Punctuation,
    /// The line, or a quote: credentials of a header have several parts.
    Line,
}

fn stop(place: &Place, text: &str) -> Stop {
    let in_query = || {
        let from = text.floor_char_boundary(place.from.saturating_sub(KEY_BYTES_MAX + 2));
        let line = &text[from..place.from];
        line.rsplit(char::is_whitespace).next().is_some_and(|word| word.contains(['?', '&']))
    };
    match (place.kind, place.notation) {
        (Kind::Authorization, _) => Stop::Line,
        (_, Notation::Variable) if !in_query() => Stop::Space,
        _ => Stop::Punctuation,
    }
}

impl Stop {
    fn at(self, byte: u8) -> bool {
        let quote = matches!(byte, b'"' | b'\'' | b'`');
        match self {
            Self::Line => quote || matches!(byte, b'\n' | b'\r' | b'\\'),
            Self::Space => quote || byte.is_ascii_whitespace(),
            Self::Punctuation => {
                quote || byte.is_ascii_whitespace() || b",;&<>)]}[|\\".contains(&byte)
            }
        }
    }
}

fn style<'a>(text: &'a str, value: &Value, notation: Notation) -> Style<'a> {
    match notation {
        _ if value.is_quoted => Style::Quoted,
        Notation::Variable => Style::Variable,
        Notation::Option => Style::Option,
        Notation::Pair => Style::Loose(&text[value.range.end..]),
    }
}

/// Whether `secret` is only what was kept of one that is masked already.
fn is_prefix_of_mask(text: &str, secret: &Range<usize>) -> bool {
    mask_at(&text[secret.end..])
        .is_some_and(|length| super::is_masked(&text[secret.start..secret.end + length]))
}

/// Where values end. Remembers the last answer of each kind: it holds for every start before it.
#[derive(Default)]
struct Ends {
    quoted: [Option<(Range<usize>, bool)>; 6],
    unquoted: [Range<usize>; 3],
}

impl Ends {
    /// The text up to the closing quote, if that is on the same line.
    fn quoted(
        &mut self,
        text: &str,
        start: usize,
        quote: u8,
        is_escaped: bool,
    ) -> Option<Range<usize>> {
        let kind = usize::from(quote == b'"') + 2 * usize::from(quote == b'\'');
        let remembered = self.quoted.get_mut(kind + 3 * usize::from(is_escaped))?;
        let known =
            remembered.clone().filter(|(known, _)| (known.start..=known.end).contains(&start));
        let (range, is_closed) = known.unwrap_or_else(|| closing(text, start, quote, is_escaped));
        *remembered = Some((range.clone(), is_closed));
        let is_own_escape = |end: usize| is_escaped && text[start..end].ends_with('\\');
        let mut end = range.end;
        while is_own_escape(end) {
            end -= 1;
        }
        is_closed.then_some(start..end)
    }

    /// The end of the run from `start` on that nothing of `stop` is in.
    fn unquoted(&mut self, text: &str, start: usize, stop: Stop) -> usize {
        let Some(known) = self.unquoted.get_mut(stop as usize) else { return start };
        if !known.contains(&start) {
            let rest = text.as_bytes().get(start..).unwrap_or_default();
            let length = rest.iter().take_while(|byte| !stop.at(**byte)).count();
            looked_at(length);
            let run = rest.get(..length).unwrap_or_default().trim_ascii_end();
            *known = start..start + run.len();
        }
        known.end.max(start)
    }
}

/// From `start` to the closing quote, or to the end of the line when there is none.
fn closing(text: &str, start: usize, quote: u8, is_escaped: bool) -> (Range<usize>, bool) {
    let rest = text.as_bytes().get(start..).unwrap_or_default();
    let mut escapes = 0;
    for (at, &byte) in rest.iter().enumerate() {
        looked_at(1);
        match byte {
            b'\n' => return (start..start + at, false),
            _ if byte == quote && (is_escaped || escapes % 2 == 0) => {
                return (start..start + at, true);
            }
            b'\\' => escapes += 1,
            _ => escapes = 0,
        }
    }
    (start..text.len(), false)
}
