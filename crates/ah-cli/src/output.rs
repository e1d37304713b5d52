//! What is printed: results on stdout, talk on stderr, colour on a terminal only.

use std::io::{self, IsTerminal, Write};

use ah_store::Problem;
use serde::Serialize;

use crate::error::{CommandError, Exit};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

/// Where results and talk go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) quiet: bool,
    pub(crate) colour: bool,
}

/// A result that could not be printed. A reader that went away has had enough: not an error.
fn written(result: io::Result<()>) -> Result<(), CommandError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            Err(CommandError::new(Exit::Failed, BROKEN_PIPE))
        }
        Err(error) => Err(CommandError::new(Exit::Failed, format!("cannot write: {error}"))),
        Ok(()) => Ok(()),
    }
}

const BROKEN_PIPE: &str = "broken pipe";

/// Whether a command ended only because nobody reads its output any more.
pub(crate) fn is_broken_pipe(error: &CommandError) -> bool {
    error.problem.detail == BROKEN_PIPE
}

impl Output {
    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    /// Prints a result: `value` as JSON, or the lines that `human` makes of it.
    pub(crate) fn result<T: Serialize>(
        self,
        value: &T,
        human: impl FnOnce(&T) -> String,
    ) -> Result<(), CommandError> {
        match self.format {
            Format::Json => self.json(value),
            Format::Human => self.text(&human(value)),
        }
    }

    /// Prints one JSON document on one line.
    pub(crate) fn json<T: Serialize>(self, value: &T) -> Result<(), CommandError> {
        let line = serde_json::to_string(value)
            .map_err(|error| CommandError::new(Exit::Failed, error.to_string()))?;
        self.text(&line)
    }

    /// Prints text, ended by a line end; nothing when it is empty.
    pub(crate) fn text(self, text: &str) -> Result<(), CommandError> {
        if text.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        let end = if text.ends_with('\n') { "" } else { "\n" };
        written(write!(stdout, "{text}{end}").and_then(|()| stdout.flush()))
    }

    /// Hands stdout to `write`, buffered.
    pub(crate) fn stream(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), CommandError>,
    ) -> Result<(), CommandError> {
        let mut stdout = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
        write(&mut stdout)?;
        written(stdout.flush())
    }

    /// Says something to the person; never part of a result.
    pub(crate) fn talk(self, text: &str) {
        if !self.quiet {
            // Nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Reports an error and its hints on stderr.
    pub(crate) fn error(self, error: &CommandError) {
        let text = match self.format {
            Format::Json => json_error(&error.problem, &error.hints),
            Format::Human => {
                let (red, plain) = if self.colour { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
                let hints: String = error.hints.iter().map(|h| format!("\nhint: {h}")).collect();
                format!("{red}error:{plain} {}{hints}", printable_lines(&error.problem.detail))
            }
        };
        let _ = writeln!(io::stderr(), "{text}");
    }
}

fn json_error(problem: &Problem, hints: &[String]) -> String {
    #[derive(Serialize)]
    struct WithHints<'a> {
        #[serde(flatten)]
        problem: &'a Problem,
        #[serde(skip_serializing_if = "<[String]>::is_empty")]
        hints: &'a [String],
    }
    serde_json::to_string(&WithHints { problem, hints }).unwrap_or_else(|_| problem.detail.clone())
}

/// Writes to a stream that [`Output::stream`] lent.
pub(crate) fn put(out: &mut dyn Write, text: &str) -> Result<(), CommandError> {
    written(out.write_all(text.as_bytes()))
}

/// Whether stderr and stdin belong to a person.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// `text` without characters that would move a terminal's cursor or change its colours.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// As [`printable`], keeping line ends and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    let keep = |c: char| c == '\n' || c == '\t' || !c.is_control();
    text.chars().map(|c| if keep(c) { c } else { '\u{fffd}' }).collect()
}

/// Rows in aligned columns under a header; the last column is not padded.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.len()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let padded = cells.zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    let mut text = line(&mut header.iter().copied());
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// `name: value` lines with aligned values; empty values are left out.
pub(crate) fn fields(pairs: &[(&str, String)]) -> String {
    let filled = || pairs.iter().filter(|(_, value)| !value.is_empty());
    let width = filled().map(|(name, _)| name.len() + 1).max().unwrap_or(0);
    filled()
        .map(|(name, value)| format!("{:<width$} {}\n", format!("{name}:"), printable(value)))
        .collect()
}
