//! The one door through which foreign text comes onto the screen.
//!
//! Agents, tools and people write anything: escape sequences, control characters, characters that turn
//! the direction of text, that have no width or that are drawn far wider than terminals believe. What
//! leaves this module is harmless: a terminal acts on none of it, and its width is what is counted.

use ratatui::text::Span;

/// Stands for what is not shown.
const INSTEAD: char = '\u{fffd}';
/// Marks above and below one letter that are kept.
const MARKS_MAX: usize = 2;
/// Columns of a tab.
const TAB: &str = "    ";

/// `text` on one line.
pub fn clean(text: &str) -> String {
    cleaned(text, |out, c| match c {
        '\n' | '\t' => out.push(' '),
        _ => out.push(INSTEAD),
    })
}

/// `text` with its line ends.
pub fn clean_lines(text: &str) -> String {
    let mut last = ' ';
    let unix: String = text
        .chars()
        .filter(|c| {
            let is_second = *c == '\n' && last == '\r';
            last = *c;
            !is_second
        })
        .map(|c| if c == '\r' { '\n' } else { c })
        .collect();
    cleaned(&unix, |out, c| match c {
        '\n' => out.push('\n'),
        '\t' => out.push_str(TAB),
        _ => out.push(INSTEAD),
    })
}

fn cleaned(text: &str, control: impl Fn(&mut String, char)) -> String {
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    for c in text.chars() {
        if c.is_control() {
            control(&mut out, c);
            marks = 0;
            continue;
        }
        let Some(c) = shown(c) else { continue };
        marks = if width(c) == 0 { marks + 1 } else { 0 };
        if marks <= MARKS_MAX && !(marks > 0 && out.is_empty()) {
            out.push(c);
        }
    }
    out
}

/// What is drawn for a character of a line; nothing for what only says how others are drawn.
pub(crate) fn shown(c: char) -> Option<char> {
    match c {
        // Variation selectors, joiners and tags: terminals disagree on what they make of them.
        '\u{fe00}'..='\u{fe0f}' | '\u{200c}' | '\u{200d}' | '\u{e0000}'..='\u{e01ef}' => None,
        // Direction, invisible characters, and letters that are drawn far beyond their cell.
        '\u{00ad}'
        | '\u{034f}'
        | '\u{061c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2e3a}'
        | '\u{2e3b}'
        | '\u{3164}'
        | '\u{fdfa}'..='\u{fdfd}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{12000}'..='\u{1254f}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e000}'..='\u{f8ff}'
        | '\u{f0000}'..='\u{10ffff}' => Some(INSTEAD),
        c if c.is_control() => Some(INSTEAD),
        c => Some(c),
    }
}

/// Columns of a character.
pub(crate) fn width(c: char) -> usize {
    if c.is_ascii() {
        return 1;
    }
    Span::raw(&*c.encode_utf8(&mut [0; 4])).width()
}

/// Columns of a clean text.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// A clean text cut to so many columns, with a sign when there is more.
pub(crate) fn cut(text: &str, columns_max: usize) -> String {
    if text.len() <= columns_max || columns(text) <= columns_max {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for c in text.chars() {
        let wide = width(c);
        if used + wide + 1 > columns_max {
            break;
        }
        used += wide;
        out.push(c);
    }
    if columns_max > 0 {
        out.push('…');
    }
    out
}

/// A clean text in exactly so many columns.
pub(crate) fn fit(text: &str, columns_wanted: usize) -> String {
    let mut out = cut(text, columns_wanted);
    out.extend(std::iter::repeat_n(' ', columns_wanted.saturating_sub(columns(&out))));
    out
}

/// A clean text in lines of at most so many columns, broken at spaces where there are some.
pub(crate) fn wrap(text: &str, columns_max: usize) -> Vec<String> {
    let most = columns_max.max(2);
    text.split('\n').flat_map(|line| wrap_line(line, most)).collect()
}

fn wrap_line(line: &str, most: usize) -> Vec<String> {
    let mut rows = Vec::new();
    let (mut row, mut used) = (String::new(), 0);
    // Where the row may be broken: behind its last space.
    let mut space: Option<usize> = None;
    for c in line.chars() {
        let wide = width(c);
        if used + wide > most {
            let rest = match space.filter(|_| c != ' ') {
                Some(at) => row.split_off(at),
                None => String::new(),
            };
            rows.push(row.trim_end().to_owned());
            used = columns(&rest);
            row = rest;
            space = None;
            if c == ' ' && row.is_empty() {
                continue;
            }
        }
        row.push(c);
        used += wide;
        if c == ' ' {
            space = Some(row.len());
        }
    }
    rows.push(row);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_on_comes_through() {
        let hostile = [
            "\u{1b}[2J\u{1b}[H",
            "\u{1b}]0;title\u{7}",
            "\u{9b}31m",
            "\r\u{8}\u{b}\u{c}\u{7f}",
            "\u{202e}evil\u{2066}",
            "a\u{200b}b\u{feff}c\u{2060}",
            "\u{fdfd}\u{12031}\u{2e3b}",
            "\u{e0041}\u{fe0f}\u{200d}",
            "\u{e000}\u{f8ff}",
        ];
        for text in hostile {
            for out in [clean(text), clean_lines(text)] {
                let acts = |c: char| c != '\n' && shown(c) != Some(c);
                assert!(!out.chars().any(acts), "{text:?} became {out:?}");
            }
        }
        assert_eq!(clean("a\u{1b}[31mb\tc\nd"), "a\u{fffd}[31mb c d");
        assert_eq!(clean_lines("a\r\nb\rc\n\td"), "a\nb\nc\n    d");
    }

    #[test]
    fn towers_of_marks_are_cut_and_letters_stay() {
        let tower = format!("e{}x", "\u{301}".repeat(500));
        assert_eq!(clean(&tower), "e\u{301}\u{301}x");
        assert_eq!(clean("\u{301}x"), "x");
        assert_eq!(clean("Ärger 日本 👩\u{200d}🚀 ❤\u{fe0f}"), "Ärger 日本 👩🚀 ❤");
    }

    #[test]
    fn widths_are_kept_whatever_the_letters_are() {
        for (text, most, expected) in [
            ("hello", 5, "hello"),
            ("hello", 4, "hel…"),
            ("日本語", 4, "日…"),
            ("日本", 1, "…"),
            ("ab", 0, ""),
        ] {
            assert_eq!(cut(text, most), expected, "{text} in {most}");
        }
        assert_eq!(fit("日", 4), "日  ");
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefghij\n\nk", 4), ["abcd", "efgh", "ij", "", "k"]);
        assert_eq!(wrap("日本語", 4), ["日本", "語"]);
        for text in ["one two three four", "aaaaaaaaaaaaaaaa b", "日本 語 x", "   lead"] {
            for most in 2..12 {
                assert!(wrap(text, most).iter().all(|row| columns(row) <= most), "{text} {most}");
            }
        }
    }
}
