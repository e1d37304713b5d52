//! Where somebody is in a list that is longer than the screen.

use crate::input::Key;

/// A chosen row, and the first that is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct List {
    pub(crate) at: usize,
    pub(crate) top: usize,
}

impl List {
    /// Takes a key that moves; whether it was one.
    pub(crate) fn key(&mut self, key: Key, len: usize, height: usize) -> bool {
        let page = height.saturating_sub(1).max(1);
        self.at = match key {
            Key::Char('j') | Key::Down => self.at.saturating_add(1),
            Key::Char('k') | Key::Up => self.at.saturating_sub(1),
            Key::PageDown | Key::Ctrl('d' | 'f') => self.at.saturating_add(page),
            Key::PageUp | Key::Ctrl('u' | 'b') => self.at.saturating_sub(page),
            Key::Char('g') | Key::Home => 0,
            Key::Char('G') | Key::End => usize::MAX,
            _ => return false,
        };
        self.fit(len, height);
        true
    }

    /// Brings it back into a list of that length, seen through so many rows.
    pub(crate) fn fit(&mut self, len: usize, height: usize) {
        let height = height.max(1);
        self.at = self.at.min(len.saturating_sub(1));
        self.top = self.top.min(len.saturating_sub(height)).min(self.at);
        self.top = self.top.max((self.at + 1).saturating_sub(height));
    }

    /// Stays with a row that is at another place now, on the same line of the screen.
    pub(crate) fn follow(&mut self, at: usize) {
        let line = self.at.saturating_sub(self.top);
        self.at = at;
        self.top = at.saturating_sub(line);
    }
}
