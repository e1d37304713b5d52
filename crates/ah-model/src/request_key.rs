//! Keys of requests: the same request sent again is answered again, not done again.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::limits::REQUEST_KEY_BYTES_MAX;
use crate::text::check_filled;
use crate::{Invalid, to_hex};

/// Names one request of one caller, and says what it asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// The caller's name for it, with the caller in it.
    pub key: String,
    /// Tells the request from another one with the same key.
    pub fingerprint: String,
}

impl RequestKey {
    /// A key for a request that consists of `parts`; each part is told from its neighbours.
    pub fn new<'a>(
        key: impl Into<String>,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, Invalid> {
        let key = key.into();
        check_filled("idempotency key", &key, REQUEST_KEY_BYTES_MAX)?;
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_be_bytes());
            digest.update(part);
        }
        Ok(Self { key, fingerprint: to_hex(&digest.finalize()) })
    }

    /// The refusal of another request with the same key.
    pub fn reused(&self) -> Invalid {
        Invalid::new("idempotency key", "it was used for another request")
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)
    }
}
