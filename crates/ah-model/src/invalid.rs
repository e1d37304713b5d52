//! The one error of this room: a value that breaks a rule, named by its field.

use std::borrow::Cow;

/// A value the caller must correct before trying again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field}: {reason}")]
pub struct Invalid {
    /// The field as the caller knows it.
    pub field: Cow<'static, str>,
    /// What is wrong with the value, with the value in it where that helps.
    pub reason: String,
}

impl Invalid {
    /// Names `field` and says why its value cannot be taken.
    pub fn new(field: impl Into<Cow<'static, str>>, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}
