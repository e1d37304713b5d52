//! Ids for what cannot have its own here; the same in every import.

use ah_model::{SessionId, Timestamp};
use ah_store::{Store, StoreError};
use sha2::{Digest, Sha256};

/// The parts of an id for something whose own cannot be taken.
pub(crate) fn minted(parts: &[&[u8]], time: Timestamp) -> (u64, [u8; 10]) {
    let digest = Sha256::digest(parts.join(&0));
    let mut random = [0; 10];
    random.copy_from_slice(&digest[..10]);
    (u64::try_from(time.unix_ms()).unwrap_or(0), random)
}

/// The session's own id where it may have it, else one made of it.
pub(crate) async fn free_id(
    store: &dyn Store,
    name: &str,
    created_at: Timestamp,
) -> Result<SessionId, StoreError> {
    if let Ok(id) = name.parse::<SessionId>() {
        match store.session(id.clone()).await {
            Err(StoreError::NotFound { .. }) => return Ok(id),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    let (ms, random) = minted(&[b"session", name.as_bytes()], created_at);
    Ok(SessionId::mint(ms, random))
}
