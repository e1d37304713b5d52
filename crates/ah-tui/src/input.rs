//! What comes in: keys, sizes, answers, time.

use ratatui::crossterm::event::{
    Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind,
};

use crate::effect::Answer;

/// A key, as far as it means anything here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A character with Ctrl.
    Ctrl(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Up.
    Up,
    /// Down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
}

/// Anything that happens to the window.
#[derive(Debug)]
pub enum Input {
    /// A key was pressed.
    Key(Key),
    /// Text was pasted.
    Paste(String),
    /// A mouse button was pressed at a column and row.
    Click(u16, u16),
    /// The wheel was turned so many rows down.
    Scroll(i32),
    /// The terminal has another size.
    Resize(u16, u16),
    /// The store answered.
    Answer(Answer),
    /// Time has passed.
    Tick,
    /// Somebody asks the process to end.
    Quit,
}

/// Rows of one turn of the wheel.
const WHEEL: i32 = 3;

impl Input {
    /// What a terminal says, if it means anything here.
    pub(crate) fn of(event: Event) -> Option<Self> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Key::of(key).map(Self::Key),
            Event::Paste(text) => Some(Self::Paste(text)),
            Event::Resize(columns, rows) => Some(Self::Resize(columns, rows)),
            Event::Mouse(MouseEvent { kind, column, row, .. }) => match kind {
                MouseEventKind::Down(_) => Some(Self::Click(column, row)),
                MouseEventKind::ScrollDown => Some(Self::Scroll(WHEEL)),
                MouseEventKind::ScrollUp => Some(Self::Scroll(-WHEEL)),
                _ => None,
            },
            Event::Key(_) | Event::FocusGained | Event::FocusLost => None,
        }
    }
}

impl Key {
    fn of(key: KeyEvent) -> Option<Self> {
        let with_ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        Some(match key.code {
            KeyCode::Char(c) if with_ctrl => Self::Ctrl(c.to_ascii_lowercase()),
            KeyCode::Char(_) if key.modifiers.contains(KeyModifiers::ALT) => return None,
            KeyCode::Char(c) => Self::Char(c),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Esc,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            _ => return None,
        })
    }
}
