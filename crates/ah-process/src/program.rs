//! Programs as they are named in configurations.

use std::path::{Path, PathBuf};

/// `argument` with every `{name}` of `values` replaced by its value.
pub fn fill(argument: &str, values: &[(&str, Option<&str>)]) -> String {
    values.iter().fold(argument.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value.unwrap_or_default())
    })
}

/// Whether `program` is a file, by its path or in a directory of `search`.
pub fn is_found(program: &str, search: &[PathBuf]) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => search.iter().any(|dir| dir.join(program).is_file()),
    }
}
