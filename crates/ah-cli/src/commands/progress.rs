//! Progress of what takes long, on a terminal only.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressStyle};

use crate::app::App;
use crate::config::LogLevel;

/// A bar of that length, hidden where nobody looks.
pub(crate) fn bar(app: &App, length: u64, template: &str) -> ProgressBar {
    if app.output.level < LogLevel::Info || app.output.is_json() || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
