//! The part of Git's configuration syntax that remotes are written in.
//!
//! Sections, quoted subsections, comments, quotes, escapes and continued lines are understood;
//! `include` and `insteadOf` are not followed. A line that makes no sense is skipped.

use std::iter::Peekable;
use std::str::Chars;

/// Every remote with its first URL, in the order of the file.
pub(super) fn remotes(text: &str) -> Vec<(String, String)> {
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut section = None;
    let mut rest = text.chars().peekable();
    while let Some(&next) = rest.peek() {
        match next {
            '[' => section = remote_section(&mut rest),
            '#' | ';' => skip_line(&mut rest),
            _ if next.is_whitespace() || next == '\u{feff}' => drop(rest.next()),
            _ => {
                let name = variable_name(&mut rest);
                let value = value(&mut rest);
                let Some(remote) = &section else { continue };
                let known = remotes.iter().any(|(name, _)| name == remote);
                if name.eq_ignore_ascii_case("url") && !value.is_empty() && !known {
                    remotes.push((remote.clone(), value));
                }
            }
        }
    }
    remotes
}

/// Reads `[section "subsection"]` and gives the subsection of a remote.
fn remote_section(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    rest.next();
    let mut name = String::new();
    let mut subsection = None;
    while let Some(next) = rest.next_if(|c| *c != '\n') {
        match next {
            ']' => break,
            '"' => subsection = Some(quoted(rest)),
            _ if next.is_whitespace() => {}
            _ => name.push(next),
        }
    }
    subsection.filter(|_| name.eq_ignore_ascii_case("remote"))
}

/// The rest of a quoted subsection; a backslash takes the next character as it is.
fn quoted(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(next) = rest.next_if(|c| *c != '\n') {
        match next {
            '"' => break,
            '\\' => text.extend(rest.next_if(|c| *c != '\n')),
            _ => text.push(next),
        }
    }
    text
}

/// Everything up to the `=`, or the whole line when there is none.
fn variable_name(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut name = String::new();
    while let Some(next) = rest.next_if(|c| !"=\n".contains(*c)) {
        name.push(next);
    }
    rest.next_if_eq(&'=');
    name.trim_end().to_owned()
}

/// The value after `=`: quotes removed, comment cut, continued lines joined.
fn value(rest: &mut Peekable<Chars<'_>>) -> String {
    let mut value = String::new();
    let mut kept = 0;
    let mut in_quotes = false;
    while let Some(next) = rest.next() {
        match next {
            '\n' => break,
            '#' | ';' if !in_quotes => {
                skip_line(rest);
                break;
            }
            '"' => in_quotes = !in_quotes,
            '\\' => value.extend(escaped(rest)),
            _ => value.push(next),
        }
        // White space at the end counts only inside quotes.
        if in_quotes || !next.is_whitespace() {
            kept = value.len();
        }
    }
    value.truncate(kept);
    value.trim_start().to_owned()
}

fn escaped(rest: &mut Peekable<Chars<'_>>) -> Option<char> {
    match rest.next()? {
        '\n' => None,
        '\r' => rest.next_if_eq(&'\n').and(None),
        'n' => Some('\n'),
        't' => Some('\t'),
        other => Some(other),
    }
}

fn skip_line(rest: &mut Peekable<Chars<'_>>) {
    rest.by_ref().find(|c| *c == '\n');
}

#[cfg(test)]
mod tests {
    use super::remotes;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = remotes(text);
        let found: Vec<_> = found.iter().map(|(n, u)| (n.as_str(), u.as_str())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn reads_what_git_writes() {
        check(
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://host/a.git\n\
             \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n",
            &[("origin", "https://host/a.git")],
        );
    }

    #[test]
    fn keeps_the_order_and_the_first_url_of_each() {
        check(
            "[remote \"b\"]\nurl = one\nurl = two\n[remote \"a\"]\nURL=three\n",
            &[("b", "one"), ("a", "three")],
        );
    }

    #[test]
    fn comments_quotes_and_escapes_are_understood() {
        check(
            "# [remote \"no\"]\n[Remote \"o\\\"x\"] ; why\n  url = \"a b#c\"  # said so\n; url = d\n",
            &[("o\"x", "a b#c")],
        );
    }

    #[test]
    fn a_value_may_go_on_in_the_next_line_and_stand_behind_its_header() {
        check(
            "[remote \"o\"] url = ht\\\ntps://h\r\n[remote \"p\"]\r\n\turl = x\r\n",
            &[("o", "https://h"), ("p", "x")],
        );
    }

    #[test]
    fn variables_without_value_and_other_sections_say_nothing() {
        check("url = top\n[remote \"o\"]\nurl\nprune\n[remotes \"x\"]\nurl = y\n", &[]);
    }

    #[test]
    fn broken_text_ends_without_a_panic() {
        check("[remote \"o\nurl = x\n[", &[("o", "x")]);
        check("[remote \"o\"]\nurl = \"open\\", &[("o", "open")]);
        check("\u{0}\u{1}[[[[\"\"\"===", &[]);
    }
}
