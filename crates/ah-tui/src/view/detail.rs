//! What is said of the chosen row of a list.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Look;
use crate::clean::{clean_lines, wrap};

/// What is said of the chosen one.
pub(crate) struct Page {
    pub(crate) lines: Vec<Line<'static>>,
    pub(crate) look: Look,
    pub(crate) width: usize,
}

impl Page {
    pub(crate) fn head(&mut self, text: &str) {
        let rule = "─".repeat(self.width);
        self.lines.push(Line::styled(rule, self.look.dim()));
        self.styled(text, self.look.strong());
    }

    pub(crate) fn field(&mut self, name: &str, value: &str) {
        if value.trim().is_empty() {
            return;
        }
        let wide = self.width.saturating_sub(12);
        for (at, text) in wrap(&clean_lines(value), wide).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            let name = Span::styled(format!("{name:<12}"), self.look.dim());
            self.lines.push(Line::from(vec![name, Span::raw(text)]));
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.styled(text, Style::new());
    }

    pub(crate) fn styled(&mut self, text: &str, style: Style) {
        let wrapped = wrap(&clean_lines(text), self.width);
        self.lines.extend(wrapped.into_iter().map(|text| Line::styled(text, style)));
    }
}
