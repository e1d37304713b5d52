//! Hashes of bytes and of what a bundle is for.

use std::io::{self, Read};

use ah_model::to_hex;
use sha2::{Digest, Sha256};

const PIECE_BYTES: usize = 64 * 1024;

/// Lower-case hexadecimal SHA-256 of stored bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    to_hex(&Sha256::digest(bytes))
}

/// The same of what is read, piece by piece: a save that only compares needs no memory for it.
pub(crate) fn sha256_of(mut from: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(to_hex(&hash.finalize())),
            Ok(read) => hash.update(piece.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The scope of runs that share a model, an address and tools.
pub fn scope_key(model_id: &str, base_url: &str, toolset_hash: &str) -> String {
    sha256([model_id.trim(), base_url.trim(), toolset_hash.trim()].join("|").as_bytes())
}

/// The hash of a tool manifest's bytes.
pub fn toolset_hash(manifest: &[u8]) -> String {
    sha256(manifest)
}

/// What the original keeps as `source_hash`.
pub(crate) fn source_hash(
    model_id: &str,
    base_url: &str,
    toolset_hash: &str,
    scope_key: &str,
) -> String {
    sha256([model_id, base_url, toolset_hash, scope_key].join("|").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_those_of_the_original() {
        let expected = "2fd1b66e9af3558369250fc5904d7208a55c5a9d839ee07603106c2dc653b43c";
        assert_eq!(scope_key("m", "http://b", ""), expected);
        assert_eq!(scope_key(" m ", "http://b\n", " "), expected);
    }
}
