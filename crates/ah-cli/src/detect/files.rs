//! Reading small files that may be missing or odd: whatever is wrong, there is no text.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// A larger file is none that a person or a version control system wrote as configuration.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Refs of very large repositories: about a million of them.
const LINES_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The whole text of a small regular file.
pub(super) fn text(path: &Path) -> Option<String> {
    let mut text = String::new();
    let read = open(path)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text);
    (read.is_ok() && text.len() as u64 <= FILE_BYTES_MAX).then_some(text)
}

/// The first line of a small file, without white space around it.
pub(super) fn first_line(path: &Path) -> Option<String> {
    let text = text(path)?;
    let line = text.lines().next().map_or("", str::trim);
    (!line.is_empty()).then(|| line.to_owned())
}

/// The lines of a file that may be long; it ends at the first that is not UTF-8.
pub(super) fn lines(path: &Path) -> impl Iterator<Item = String> {
    let reader = open(path).map(|file| BufReader::new(file.take(LINES_BYTES_MAX)));
    reader.into_iter().flat_map(|reader| reader.lines().map_while(Result::ok))
}

/// Opening a pipe would wait for a writer, so only regular files are opened.
fn open(path: &Path) -> Option<File> {
    let regular = path.metadata().is_ok_and(|metadata| metadata.is_file());
    regular.then(|| File::open(path).ok()).flatten()
}
