//! Credentials in URLs: `scheme://user:password@host`.

use memchr::memmem;

use super::{MASK_START, Span, looked_at, rules, values};

pub(super) fn find(text: &str, found: &mut Vec<Span>) {
    let mut from = 0;
    while let Some(at) = memmem::find(&text.as_bytes()[from..], b"://") {
        let scheme_end = from + at;
        from = scheme_end + 3;
        if text[..scheme_end].ends_with(|c: char| c.is_ascii_alphanumeric()) {
            find_in_authority(text, from, found);
        }
    }
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
