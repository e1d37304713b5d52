//! Text given as an argument, a file or on stdin, read up to a limit and no further.

use std::io::{self, BufRead, Read, Write};
use std::path::Path;

use ah_model::Invalid;

use crate::error::{CommandError, Exit};
use crate::output;

/// Reads a file, or stdin for `-`, as UTF-8 text of at most `bytes_max` bytes.
pub(crate) fn read_text(
    field: &'static str,
    path: &Path,
    bytes_max: usize,
) -> Result<String, CommandError> {
    let read = if path == Path::new("-") {
        read_limited(&mut io::stdin().lock(), bytes_max)
    } else {
        std::fs::File::open(path).and_then(|mut file| read_limited(&mut file, bytes_max))
    };
    let bytes = read.map_err(|error| CommandError::file("read", path, &error))?;
    if bytes.len() > bytes_max {
        let reason = format!("{} holds more than the {bytes_max} bytes allowed", path.display());
        return Err(Invalid::new(field, reason).into());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let reason = format!("{} is not UTF-8 from byte {at} on", path.display());
        Invalid::new(field, reason).into()
    })
}

/// The text itself, or what the file it stands in holds; nothing when neither is given.
pub(crate) fn text_or_file(
    field: &'static str,
    text: Option<&str>,
    file: Option<&Path>,
    bytes_max: usize,
) -> Result<Option<String>, CommandError> {
    match (text, file) {
        (Some(text), _) => Ok(Some(text.to_owned())),
        (None, Some(file)) => read_text(field, file, bytes_max).map(Some),
        (None, None) => Ok(None),
    }
}

/// At most one byte more than `bytes_max`: enough to know that there is more.
fn read_limited(input: &mut dyn Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether people may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asking {
    Allowed,
    Forbidden,
}

impl Asking {
    fn is_possible(self) -> bool {
        self == Self::Allowed && output::is_interactive()
    }
}

/// Asks for several lines of text on a terminal.
pub(crate) fn ask_text(asking: Asking, what: &str, flag: &str) -> Result<String, CommandError> {
    if !asking.is_possible() {
        let message = format!("a {what} is needed and nobody can be asked for it");
        return Err(CommandError::new(Exit::InputNeeded, message)
            .hint(format!("give it with `{flag} TEXT`, or `{flag}-file FILE` (`-` for stdin)")));
    }
    let _ = writeln!(io::stderr(), "Type the {what}, then Ctrl-D:");
    let mut text = String::new();
    let failed =
        |error: io::Error| CommandError::new(Exit::Failed, format!("cannot read: {error}"));
    io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

/// Asks before something that cannot be undone; programs are taken at their word.
pub(crate) fn confirm(asking: Asking, question: &str) -> Result<(), CommandError> {
    if !asking.is_possible() {
        return Ok(());
    }
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    match read {
        Ok(_) if ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) => Ok(()),
        _ => Err(CommandError::new(Exit::Failed, "not confirmed, nothing was changed")),
    }
}
