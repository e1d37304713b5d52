//! How far a file was read, kept in the store's pairs: an import goes on where the last one ended.
//!
//! Written after the events. An import that was cut off in between reads some lines again, and
//! their keys make that harmless. A file that is shorter than what was read of it, or begins
//! otherwise, is another file and is read from its start.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use ah_model::limits::KV_KEY_BYTES_MAX;
use ah_model::{KvEntry, to_hex};
use ah_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::files::SourceFile;

/// How many bytes of its beginning a file is known by.
const HEAD_BYTES: u64 = 4 * 1024;

/// How far a file was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Position {
    /// How large the file was.
    size: u64,
    /// Where the next line begins.
    pub(crate) offset: u64,
    /// How many lines there are before it.
    pub(crate) line: u64,
    /// The digest of the first `head_bytes` bytes.
    head: String,
    head_bytes: u64,
    /// What the format has to know of the lines before.
    pub(crate) state: Value,
}

/// The positions of one program's files.
pub(crate) struct Positions<'a> {
    store: &'a dyn Store,
    scope: String,
}

impl<'a> Positions<'a> {
    pub(crate) fn new(store: &'a dyn Store, source: &str) -> Self {
        Self { store, scope: format!("import/{source}") }
    }

    /// Where to go on in `file`: the start when it is not the file that was read.
    pub(crate) async fn load(&self, file: &SourceFile) -> Result<Position, StoreError> {
        let known = match self.store.kv_get(self.scope.clone(), key(file)).await {
            Ok(entry) => serde_json::from_str(&entry.value).unwrap_or_default(),
            Err(StoreError::NotFound { .. }) => Position::default(),
            Err(error) => return Err(error),
        };
        let goes_on = known.offset > 0 && file.bytes >= known.offset && known.is_of(file);
        Ok(if goes_on { known } else { Position::default() })
    }

    /// Keeps that `file` was read up to `place`, a byte and the number of lines before it.
    pub(crate) async fn save(
        &self,
        file: &SourceFile,
        (offset, line): (u64, u64),
        state: Value,
    ) -> Result<(), StoreError> {
        let head_bytes = offset.min(HEAD_BYTES);
        // A file that is gone by now is read from its start when it comes back.
        let head = head(file, head_bytes).unwrap_or_default();
        let position = Position { size: file.bytes, offset, line, head, head_bytes, state };
        let value = serde_json::to_string(&position).unwrap_or_default();
        let entry = KvEntry { scope: self.scope.clone(), key: key(file), value };
        self.store.kv_set(entry).await
    }
}

impl Position {
    fn is_of(&self, file: &SourceFile) -> bool {
        head(file, self.head_bytes).is_ok_and(|head| head == self.head)
            && byte_at(file, self.offset - 1).is_ok_and(|byte| byte == b'\n')
    }
}

fn head(file: &SourceFile, bytes: u64) -> io::Result<String> {
    let mut head = Vec::new();
    File::open(&file.path)?.take(bytes).read_to_end(&mut head)?;
    Ok(to_hex(&Sha256::digest(&head)))
}

fn byte_at(file: &SourceFile, at: u64) -> io::Result<u8> {
    let (mut input, mut byte) = (File::open(&file.path)?, [0]);
    input.seek(SeekFrom::Start(at))?;
    input.read_exact(&mut byte)?;
    Ok(byte[0])
}

fn key(file: &SourceFile) -> String {
    let path = file.path.to_string_lossy();
    match path.len() > KV_KEY_BYTES_MAX || path.contains('\u{fffd}') {
        true => to_hex(&Sha256::digest(file.path.as_os_str().as_encoded_bytes())),
        false => path.into_owned(),
    }
}
