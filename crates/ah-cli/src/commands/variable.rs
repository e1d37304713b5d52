//! Variables of programs, as they are given on the command line.

use crate::error::{CommandError, Exit};

/// The name and the value of `--env K=V`.
pub(crate) fn variable(pair: &str) -> Result<(String, String), CommandError> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(CommandError::new(Exit::Usage, format!("--env {pair:?} is not K=V"))
            .hint("`--env NAME=` sets an empty one")),
    }
}
