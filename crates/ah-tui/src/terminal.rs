//! The terminal: taken over, read, and given back whatever happens.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

/// Whether the mouse is listened to; if so the terminal cannot select text by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mouse {
    /// It is the terminal's own.
    #[default]
    Off,
    /// Clicks choose, the wheel moves.
    On,
}

/// Whether the terminal is ours, for who has to give it back in a hurry.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// The terminal while the window is open. Dropping it gives the terminal back.
pub struct Opened {
    pub(crate) terminal: Terminal<CrosstermBackend<Box<dyn Write + Send>>>,
    give_back: fn() -> Box<dyn Write + Send>,
}

impl Opened {
    /// Takes the terminal over; `out` opens what leads to it. A panic gives it back before it speaks.
    pub fn open(out: fn() -> Box<dyn Write + Send>, mouse: Mouse) -> io::Result<Self> {
        let terminal = Terminal::new(CrosstermBackend::new(out()))?;
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore(&mut out());
            before(panic);
        }));
        // From here on dropping it gives back what was taken so far.
        IS_TAKEN.store(true, Ordering::SeqCst);
        let opened = Self { terminal, give_back: out };
        enable_raw_mode()?;
        let mut out = out();
        execute!(out, EnterAlternateScreen, EnableBracketedPaste)?;
        if mouse == Mouse::On {
            execute!(out, EnableMouseCapture)?;
        }
        Ok(opened)
    }
}

impl Opened {
    /// Whether a thread has panicked and given the terminal back.
    pub(crate) fn is_lost(&self) -> bool {
        !IS_TAKEN.load(Ordering::SeqCst)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        restore(&mut (self.give_back)());
    }
}

/// Gives the terminal back, once.
fn restore(out: &mut Box<dyn Write + Send>) {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        // Nobody to tell when the terminal is gone.
        let _ =
            execute!(out, DisableMouseCapture, DisableBracketedPaste, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}
