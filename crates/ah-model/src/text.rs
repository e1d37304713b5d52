//! What any stored text must satisfy on every engine.

use crate::Invalid;

/// Accepts text of at most `bytes_max` bytes without NUL, which PostgreSQL cannot store.
pub fn check_text(field: &'static str, text: &str, bytes_max: usize) -> Result<(), Invalid> {
    if text.len() > bytes_max {
        let reason = format!("{} bytes, at most {bytes_max} are allowed", text.len());
        return Err(Invalid::new(field, reason));
    }
    match text.bytes().position(|byte| byte == 0) {
        Some(at) => Err(Invalid::new(field, format!("NUL byte at offset {at}"))),
        None => Ok(()),
    }
}

/// As [`check_text`], and refuses text that is empty or only white space.
pub(crate) fn check_filled(
    field: &'static str,
    text: &str,
    bytes_max: usize,
) -> Result<(), Invalid> {
    if text.trim().is_empty() {
        return Err(Invalid::new(field, "must not be empty"));
    }
    check_text(field, text, bytes_max)
}

/// As [`check_text`] for a value that may be absent.
pub(crate) fn check_optional(
    field: &'static str,
    text: Option<&str>,
    bytes_max: usize,
) -> Result<(), Invalid> {
    text.map_or(Ok(()), |text| check_text(field, text, bytes_max))
}
