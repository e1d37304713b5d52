//! How far an import is, in bytes of what is read.

use ah_import::Progress;
use indicatif::ProgressBar;

use crate::app::App;
use crate::commands::progress;
use crate::output::printable;

pub(super) fn bar(app: &App) -> ProgressBar {
    progress::bar(app, 0, "{bar:40} {bytes}/{total_bytes} {wide_msg}")
}

pub(super) fn show(bar: &ProgressBar, progress: Progress<'_>) {
    match progress {
        Progress::Found { bytes, .. } => bar.set_length(bytes),
        Progress::Agent { name, bytes } => {
            bar.set_message(printable(name));
            bar.inc(bytes);
        }
    }
}
