//! This program as the keeper of another: not a command for people.

use std::ffi::OsString;
use std::process::ExitCode;

/// The word that makes it one.
pub(crate) const KEEPER: &str = "keeper";

/// Keeps a program, if that is what this process was started for.
pub(crate) fn run(arguments: &[OsString]) -> Option<ExitCode> {
    let (word, rest) = arguments.split_first()?;
    (word == KEEPER).then(|| ah_access::executor::keep::main(rest))
}
