//! Credentials in URLs: `scheme://user:password@host`.

use std::sync::LazyLock;

use memchr::memmem;

use super::{MASK_START, Span, looked_at, rules, values};

static MARK: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"://"));

pub(super) fn find(text: &str, found: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(at) = MARK.find(&text.as_bytes()[from..]) {
        let scheme_end = from + at;
        from = scheme_end + 3;
        if text[..scheme_end].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            find_in_authority(text, from, found);
        }
    }
}

/// Whether a mark stands at `at`, and before the path behind it somebody who uses it.
pub(super) fn may_be_at(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).and_then(|rest| rest.strip_prefix(b"://")).unwrap_or_default();
    let ends = |byte: &u8| byte.is_ascii() && ends_authority(char::from(*byte));
    let end = rest.iter().position(|byte| *byte == b'@' || ends(byte));
    looked_at(end.unwrap_or(rest.len()));
    end.and_then(|end| rest.get(end)) == Some(&b'@')
}

/// The part before a path ends at the first of these.
fn ends_authority(c: char) -> bool {
    c.is_whitespace() || "/?#\"'<>`\\|,(){}".contains(c)
}

fn find_in_authority(text: &str, start: usize, found: &mut Vec<Span>) {
    let rest = &text[start..];
    let authority = &rest[..rest.find(ends_authority).unwrap_or(rest.len())];
    looked_at(authority.len());
    let Some((user_info, _)) = authority.rsplit_once('@') else { return };
    if user_info.contains(MASK_START) {
        return;
    }
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    let span = |from: usize, part: &str| Span::in_context(rules::URL, from..from + part.len());
    if values::looks_random(user) {
        found.push(span(start, user));
    }
    if !password.is_empty() && !password.starts_with('$') && !password.starts_with('%') {
        found.push(span(start + user.len() + 1, password));
    }
}
