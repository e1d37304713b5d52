//! The keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::Look;

const KEYS: &[(&str, &str)] = &[
    ("1 2 3 4, Tab", "the screens"),
    ("j k, arrows, PgUp PgDn", "move"),
    ("g G", "first, last; in a session: its beginning, live"),
    ("/", "search what was said in all sessions"),
    ("Esc", "back"),
    ("q", "quit; what you typed is kept as a draft"),
    ("", ""),
    ("Needs me", ""),
    ("a d", "approve, deny with a reason"),
    ("Enter", "answer a question, open a failed session"),
    ("r x", "queue dead mail again, put aside"),
    ("Agents", ""),
    ("m D R", "change model, destroy, revive"),
    ("Sessions", ""),
    ("f", "filter: status:running agent:codex words"),
    ("Enter Space", "open; in a session: fold and unfold"),
    ("p", "the session it came from"),
    ("New task", ""),
    ("Enter Esc", "write, stop writing"),
    ("Ctrl-S", "send it"),
    ("r x", "take up the newest draft, discard it"),
];

pub(crate) fn draw(look: Look, frame: &mut Frame<'_>) {
    let whole = frame.area();
    let rows = u16::try_from(KEYS.len()).unwrap_or(0) + 2;
    let (width, height) = (72.min(whole.width), rows.min(whole.height));
    let area = Rect { x: (whole.width - width) / 2, y: (whole.height - height) / 2, width, height };
    let lines: Vec<Line<'static>> = KEYS
        .iter()
        .map(|(key, text)| match text.is_empty() {
            true => Line::styled(*key, look.strong()),
            false => Line::from(vec![
                Span::styled(format!("{key:<24}"), look.accent()),
                Span::raw(*text),
            ]),
        })
        .collect();
    frame.render_widget(Clear, area);
    let block = Block::bordered().border_style(look.accent()).title(" Keys · any key closes ");
    frame.render_widget(Paragraph::new(lines).block(block), area);
}
