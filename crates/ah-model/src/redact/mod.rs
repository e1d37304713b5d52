//! Secrets taken out of text before it is kept.
//!
//! What is found: keys of known shapes, credentials of headers and URLs, private keys, JSON web
//! tokens, and values whose key means a secret. The secret becomes `[redacted:RULE]`; a prefix that
//! tells what it was stays. Hashes, ids and numbers are left alone unless their key says secret.
//!
//! Invariants: redacting twice changes nothing more; time and memory grow with the text and no
//! faster. Pure: knows no store and no file.

mod assignment;
mod hints;
mod json;
mod keys;
mod long;
mod pem;
mod rules;
mod shapes;
mod url;
mod values;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use hints::Hints;
pub(crate) use json::checked_json;
pub use json::json;
pub use keys::is_secret_key;
pub use rules::{RULES, RULES_VERSION, Rule};

/// A text without its secrets, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text; borrowed when there was nothing to redact.
    pub text: Cow<'a, str>,
    /// What was found, each rule once per place.
    pub findings: Vec<Finding>,
}

/// How often a rule found something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The name of a rule in [`RULES`].
    pub rule: &'static str,
    /// Where in a JSON document, as a JSON pointer; none for plain text and past the first places.
    pub path: Option<String>,
    /// How many secrets.
    pub count: usize,
}

impl Redacted<'_> {
    /// How many secrets were found.
    pub fn count(&self) -> usize {
        self.findings.iter().map(|finding| finding.count).sum()
    }
}

/// Redacts plain text.
pub fn text(text: &str) -> Redacted<'_> {
    value(None, text)
}

/// Redacts a text that stands under `key`, such as a header or a member of an object.
///
/// Under a key that means a secret all of it goes, unless it only refers to one (`$TOKEN`).
pub fn value<'a>(key: Option<&str>, text: &'a str) -> Redacted<'a> {
    let kind = key.map_or(keys::Kind::None, keys::kind);
    let mut findings = Vec::new();
    let text = settle(text, |text| spans(kind, text), |rule| note(&mut findings, rule, None));
    Redacted { text, findings }
}

/// Adds one to the finding of `rule` at `path`.
fn note(findings: &mut Vec<Finding>, rule: &'static str, path: Option<&str>) {
    let same = |finding: &&mut Finding| finding.rule == rule && finding.path.as_deref() == path;
    match findings.iter_mut().rev().find(same) {
        Some(finding) => finding.count += 1,
        None => findings.push(Finding { rule, path: path.map(str::to_owned), count: 1 }),
    }
}

/// A secret in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// What is masked.
    secret: Range<usize>,
    /// The secret with the prefix that is kept of it.
    whole: Range<usize>,
    rule: &'static str,
    /// Found by what stands around it, not by its own shape.
    by_context: bool,
}

impl Span {
    fn in_context(rule: &'static str, secret: Range<usize>) -> Self {
        Self { whole: secret.clone(), secret, rule, by_context: true }
    }
}

const MASK_START: &str = "[redacted:";

/// Longest name of a rule; bounds how far a mask is read.
const RULE_NAME_BYTES_MAX: usize = 32;

/// Longest prefix that is kept of a secret.
const KEPT_BYTES_MAX: usize = 32;

/// The length of the mask that `text` starts with.
fn mask_at(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(MASK_START)?.as_bytes();
    let is_name = |byte: &&u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || **byte == b'-';
    let name = rest.iter().take(RULE_NAME_BYTES_MAX + 1).take_while(is_name).count();
    let closed = rest.get(name) == Some(&b']') && (1..=RULE_NAME_BYTES_MAX).contains(&name);
    closed.then_some(MASK_START.len() + name + 1)
}

/// Whether `text` is nothing but masks, the first of them after a prefix that a rule keeps.
fn is_masked(text: &str) -> bool {
    let start = &text[..text.floor_char_boundary(KEPT_BYTES_MAX + MASK_START.len())];
    let Some(first) = start.find(MASK_START) else { return false };
    let (before, mut rest) = text.split_at(first);
    if !before.is_empty() && !shapes::is_kept_prefix(before) {
        return false;
    }
    while let Some(length) = mask_at(rest) {
        rest = &rest[length..];
    }
    rest.is_empty()
}

/// Everything to mask in `text`, in order, without overlaps.
fn spans(kind: keys::Kind, text: &str) -> Vec<Span> {
    if let Some(secret) = values::secret_in(kind, text, values::Style::Quoted) {
        return vec![Span::in_context(rules::SECRET, secret)];
    }
    hinted_spans(text, Hints::of(text))
}

/// What there is in `text` of what may be there.
fn hinted_spans(text: &str, hints: Hints) -> Vec<Span> {
    if hints.are_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    shapes::find(text, hints, &mut found);
    if hints.private_key {
        pem::find(text, &mut found);
    }
    if hints.url {
        url::find(text, &mut found);
    }
    if hints.assignment {
        assignment::find(text, &mut found);
    }
    merged(found)
}

fn merged(mut found: Vec<Span>) -> Vec<Span> {
    if found.is_empty() {
        return found;
    }
    prefer_shapes(&mut found);
    found.sort_by_key(|span| (span.secret.start, std::cmp::Reverse(span.secret.end)));
    let mut spans: Vec<Span> = Vec::with_capacity(found.len());
    for span in found {
        match spans.last_mut() {
            Some(last) if span.secret.start < last.secret.end => {
                last.secret.end = last.secret.end.max(span.secret.end);
            }
            _ => spans.push(span),
        }
    }
    spans
}

/// Of several that found the very same, keeps the first shape: it says most.
fn prefer_shapes(found: &mut Vec<Span>) {
    let mut shapes = std::collections::HashSet::new();
    found.retain(|span| span.by_context || shapes.insert(span.whole.clone()));
    if !shapes.is_empty() {
        found.retain(|span| !span.by_context || !shapes.contains(&span.secret));
    }
}

/// How often a text is looked through. What is left after a mask may be a secret in its new
/// surroundings; no text known to us needs more than two looks.
const PASSES_MAX: usize = 5;

/// Masks what `find` finds until it finds nothing. A text that never settles is masked whole.
fn settle<'a>(
    text: &'a str,
    mut find: impl FnMut(&str) -> Vec<Span>,
    mut note: impl FnMut(&'static str),
) -> Cow<'a, str> {
    let mut settled = Cow::Borrowed(text);
    for _ in 0..PASSES_MAX {
        let spans = find(&settled);
        if spans.is_empty() {
            return settled;
        }
        spans.iter().for_each(|span| note(span.rule));
        settled = Cow::Owned(masked(&settled, &spans));
    }
    if !find(&settled).is_empty() {
        note(rules::UNSETTLED);
        settled = Cow::Owned(format!("{MASK_START}{}]", rules::UNSETTLED));
    }
    settled
}

fn masked(text: &str, spans: &[Span]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        masked.push_str(&text[from..span.secret.start]);
        masked.push_str(MASK_START);
        masked.push_str(span.rule);
        masked.push(']');
        from = span.secret.end;
    }
    masked.push_str(&text[from..]);
    masked
}

/// Counts the bytes that our own loops look at, so that a test can bound them; free otherwise.
#[cfg(not(test))]
fn looked_at(_bytes: usize) {}
#[cfg(test)]
use tests::looked_at;

/// Whether a test wants everything looked for everywhere; never otherwise.
#[cfg(not(test))]
const fn ignores_hints() -> bool {
    false
}
#[cfg(test)]
use tests::ignores_hints;
