//! A text that is typed: one line or many.

use crate::clean::{shown, width};
use crate::input::Key;

/// Whether Enter makes a new line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Lines {
    #[default]
    One,
    Many,
}

/// A text and where its cursor is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// In bytes, between two characters.
    cursor: usize,
    lines: Lines,
    bytes_max: usize,
}

/// Where each row of a drawn editor is, and where its cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub(crate) rows: Vec<String>,
    pub(crate) cursor: (usize, usize),
}

impl Editor {
    pub(crate) fn new(lines: Lines, bytes_max: usize) -> Self {
        Self { text: String::new(), cursor: 0, lines, bytes_max }
    }

    /// With a text in it, the cursor behind it.
    pub(crate) fn with(mut self, text: &str) -> Self {
        self.text.clear();
        self.cursor = 0;
        self.insert(text);
        self
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Puts `text` at the cursor, without what cannot be typed, as far as there is room.
    pub(crate) fn insert(&mut self, text: &str) {
        for c in text.replace("\r\n", "\n").replace('\r', "\n").chars() {
            let is_typed = match self.lines {
                Lines::Many => c == '\n' || c == '\t' || !c.is_control(),
                Lines::One => !c.is_control(),
            };
            if is_typed && self.text.len() + c.len_utf8() <= self.bytes_max {
                self.text.insert(self.cursor, c);
                self.cursor += c.len_utf8();
            }
        }
    }

    /// Takes a key; whether it meant anything here.
    pub(crate) fn key(&mut self, key: Key) -> bool {
        match key {
            Key::Char(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            Key::Enter if self.lines == Lines::Many => self.insert("\n"),
            Key::Backspace => self.remove(self.before(self.cursor), self.cursor),
            Key::Delete => self.remove(self.cursor, self.after(self.cursor)),
            Key::Left => self.cursor = self.before(self.cursor),
            Key::Right => self.cursor = self.after(self.cursor),
            Key::Home | Key::Ctrl('a') => self.cursor = self.line_start(self.cursor),
            Key::End | Key::Ctrl('e') => self.cursor = self.line_end(self.cursor),
            Key::Ctrl('w') => self.remove(self.word_start(), self.cursor),
            Key::Ctrl('u') => self.remove(self.line_start(self.cursor), self.cursor),
            Key::Ctrl('k') => self.remove(self.cursor, self.line_end(self.cursor)),
            Key::Up if self.lines == Lines::Many => self.vertical(-1),
            Key::Down if self.lines == Lines::Many => self.vertical(1),
            _ => return false,
        }
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self, at: usize) -> usize {
        self.text[..at].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self, at: usize) -> usize {
        self.text[at..].chars().next().map_or(at, |c| at + c.len_utf8())
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end)
    }

    fn word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        before.rfind(char::is_whitespace).map_or(0, |at| self.after(at))
    }

    /// To the same place of the line above or below.
    fn vertical(&mut self, by: i8) {
        let start = self.line_start(self.cursor);
        let place = self.text[start..self.cursor].chars().count();
        let target = match by {
            ..0 if start == 0 => return self.cursor = 0,
            ..0 => self.line_start(start - 1),
            _ => match self.line_end(self.cursor) {
                end if end == self.text.len() => return self.cursor = end,
                end => end + 1,
            },
        };
        let line = &self.text[target..self.line_end(target)];
        self.cursor = target + line.char_indices().nth(place).map_or(line.len(), |(at, _)| at);
    }

    /// The rows it fills in so many columns.
    pub(crate) fn drawn(&self, columns: usize) -> Drawn {
        let most = columns.max(2);
        let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
        let mut cursor = None;
        for (at, c) in self.text.char_indices() {
            let c = if c == '\t' { ' ' } else { c };
            let seen = if c == '\n' { None } else { shown(c) };
            let wide = seen.map_or(0, width);
            if used + wide > most {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            if at == self.cursor {
                cursor = Some((rows.len(), used));
            }
            if c == '\n' {
                rows.push(std::mem::take(&mut row));
                used = 0;
            }
            row.extend(seen);
            used += wide;
        }
        let cursor = cursor.unwrap_or((rows.len(), used));
        rows.push(row);
        Drawn { rows, cursor }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many() -> Editor {
        Editor::new(Lines::Many, 100)
    }

    #[test]
    fn text_is_typed_moved_through_and_taken_away() {
        let mut editor = many().with("one two\nthrée 日本");
        for (key, text, cursor) in [
            (Key::Up, "one two\nthrée 日本", 7),
            (Key::Home, "one two\nthrée 日本", 0),
            (Key::Down, "one two\nthrée 日本", 8),
            (Key::Ctrl('e'), "one two\nthrée 日本", 21),
            (Key::Backspace, "one two\nthrée 日", 18),
            (Key::Ctrl('w'), "one two\nthrée ", 15),
            (Key::Ctrl('u'), "one two\n", 8),
            (Key::Backspace, "one two", 7),
            (Key::Enter, "one two\n", 8),
            (Key::Char('x'), "one two\nx", 9),
        ] {
            assert!(editor.key(key));
            assert_eq!((editor.text(), editor.cursor), (text, cursor), "{key:?}");
        }
        assert!(!editor.key(Key::Esc));
    }

    #[test]
    fn what_is_pasted_is_text_and_no_more_than_fits() {
        let pasted = Editor::new(Lines::One, 8).with("a\u{1b}[2Jb\r\nc日本");
        assert_eq!(pasted.text(), "a[2Jbc");
        assert_eq!(many().with("a\r\nb\u{7}").text(), "a\nb");
    }

    #[test]
    fn rows_and_the_cursor_are_where_they_are_drawn() {
        let editor = many().with("abcdef\n\n日本語");
        let rows = ["abcd", "ef", "", "日本", "語"].map(str::to_owned).to_vec();
        assert_eq!(editor.drawn(4), Drawn { rows, cursor: (4, 2) });
    }
}
