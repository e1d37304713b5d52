//! What is printed: results on stdout, talk on stderr, colour on a terminal only.

use std::io::{self, IsTerminal, Write};

use ah_store::Problem;
use serde::Serialize;

use crate::config::LogLevel;
use crate::error::{CommandError, Exit};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

/// Where a program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    fn is_terminal(self) -> bool {
        match self {
            Self::Stdout => io::stdout().is_terminal(),
            Self::Stderr => io::stderr().is_terminal(),
        }
    }

    fn put(self, text: &str) -> Result<(), CommandError> {
        let mut out: Box<dyn Write> = match self {
            Self::Stdout => Box::new(io::stdout()),
            Self::Stderr => Box::new(io::stderr()),
        };
        written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }
}

/// Where results and talk go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) level: LogLevel,
    pub(crate) colour: bool,
}

/// A result that could not be printed. A reader that went away has had enough: not an error.
fn written(result: io::Result<()>) -> Result<(), CommandError> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(broken_pipe()),
        Err(error) => Err(CommandError::new(Exit::Failed, format!("cannot write: {error}"))),
        Ok(()) => Ok(()),
    }
}

const BROKEN_PIPE: &str = "broken pipe";

/// Nobody reads stdout any more.
pub(crate) fn broken_pipe() -> CommandError {
    CommandError::new(Exit::Failed, BROKEN_PIPE)
}

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

    /// Prints a stored text: byte for byte to a program, without its control characters to a person.
    pub(crate) fn stored(self, text: &str) -> Result<(), CommandError> {
        match io::stdout().is_terminal() {
            true => self.text(&format!("{}\n", printable_lines(text))),
            false => self.text(&format!("{text}\n")),
        }
    }

    /// Prints one stored line behind a prefix of ours, as [`Self::stored`] prints texts, on the
    /// stream it was written to.
    pub(crate) fn stored_line(
        self,
        stream: Stream,
        prefix: &str,
        line: &str,
    ) -> Result<(), CommandError> {
        let is_read_by_a_person = stream.is_terminal();
        let line = if is_read_by_a_person { printable_lines(line) } else { line.to_owned() };
        stream.put(&format!("{prefix}{line}\n"))
    }

    /// Prints a piece of what a program wrote, as [`Self::stored`] prints texts, on the stream it was
    /// written to.
    pub(crate) fn stored_piece(self, stream: Stream, text: &str) -> Result<(), CommandError> {
        match stream.is_terminal() {
            true => stream.put(&printable_lines(text)),
            false => stream.put(text),
        }
    }

    /// Hands stdout to `write`, buffered.
    pub(crate) fn stream<T>(
        self,
        write: impl FnOnce(&mut dyn Write) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut stdout = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
        let done = write(&mut stdout)?;
        written(stdout.flush()).map(|()| done)
    }

    /// Says something to the person; never part of a result.
    pub(crate) fn talk(self, text: &str) {
        if self.level >= LogLevel::Info {
            // Nobody to tell when stderr is gone.
            let _ = writeln!(io::stderr(), "{}", printable_lines(text));
        }
    }

    /// Says something to who looks for a cause.
    pub(crate) fn debug(self, text: &str) {
        if self.level >= LogLevel::Debug {
            let _ = writeln!(io::stderr(), "debug: {}", printable_lines(text));
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

/// `text` without characters that would move a terminal's cursor, change its colours or turn the
/// direction of what follows.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if is_active(c) { '\u{fffd}' } else { c }).collect()
}

/// As [`printable`], keeping line ends and tabs.
pub(crate) fn printable_lines(text: &str) -> String {
    let keep = |c: char| c == '\n' || c == '\t' || !is_active(c);
    text.chars().map(|c| if keep(c) { c } else { '\u{fffd}' }).collect()
}

fn is_active(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The first `chars` characters of `text`, with a sign when there are more.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The beginning of `text` as one line of a table.
pub(crate) fn line(text: &str, chars: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    printable(&cut(&words, chars))
}

/// A number of things: `1 record`, `2 records`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes as people read it: `512 bytes`, `180.0 KiB`.
pub(crate) fn bytes(count: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if count < 1_024 {
        return format!("{count} bytes");
    }
    let mut tenths = count.saturating_mul(10) / 1_024;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    for larger in units {
        if tenths < 10_240 {
            break;
        }
        (tenths, unit) = (tenths / 1_024, larger);
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_largest_unit_that_fits() {
        for (count, text) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0 KiB"),
            (184_320, "180.0 KiB"),
            (1_048_575, "1023.9 KiB"),
            (1_572_864, "1.5 MiB"),
            (5 << 40, "5.0 TiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }

    #[test]
    fn what_a_terminal_would_act_on_is_replaced() {
        let text = "a\u{1b}[31mb\u{7}\u{9b}2J\u{202e}c\r\nd\te";
        assert_eq!(
            printable(text),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}2J\u{fffd}c\u{fffd}\u{fffd}d\u{fffd}e"
        );
        assert_eq!(
            printable_lines(text),
            "a\u{fffd}[31mb\u{fffd}\u{fffd}2J\u{fffd}c\u{fffd}\nd\te"
        );
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned()];
        let text = table(&["ID", "TITLE"], &[row("1", "x"), row("long id", "")]);
        assert_eq!(text, "ID       TITLE\n1        x\nlong id\n");
    }
}
