//! The beginning of a snapshot: enough to list it, at the cost of one small read.

use std::io::Read;

use crate::bundle::known_key;
use crate::disk::{Dir, read_all};
use crate::json::Parser;
use crate::{Bundle, Problem};

/// The keys that are listed stand before the prompts, which may be long.
const PEEK_BYTES: usize = 2048;

/// What a listing shows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Peek {
    pub(crate) bytes: u64,
    pub(crate) scope: String,
    pub(crate) created_at: String,
    pub(crate) model_id: String,
}

/// Looks at the first bytes of a file, or at all of it where its keys stand in another order.
pub(crate) fn peek(dir: &Dir, name: &str, bytes_max: u64) -> Result<Peek, Problem> {
    let (mut file, size) = dir.open_file(name)?;
    let mut buffer = [0; PEEK_BYTES];
    let read = file.read(&mut buffer);
    let read = read.map_err(|error| Problem::Unreadable { reason: error.to_string() })?;
    let beginning = buffer.get(..read).unwrap_or_default();
    if let Some(peek) = first_keys(beginning, size) {
        return Ok(peek);
    }
    let mut bytes = beginning.to_vec();
    if size > read as u64 {
        bytes.extend(read_all(&file, size - read as u64, bytes_max)?);
    }
    let bundle = Bundle::parse(&bytes)?;
    let Bundle { scope_key, created_at, model_id, .. } = bundle;
    Ok(Peek { bytes: size, scope: scope_key, created_at, model_id })
}

/// The wanted keys, if all of them stand before the first map.
fn first_keys(beginning: &[u8], size: u64) -> Option<Peek> {
    let mut parser = Parser::new(beginning);
    let mut peek = Peek {
        bytes: size,
        scope: String::new(),
        created_at: String::new(),
        model_id: String::new(),
    };
    let mut open = parser.begin_object().ok()?;
    while open {
        let key = parser.key().ok()?;
        let value = parser.value().ok()?;
        let text = || value.as_str().map(str::to_owned);
        match known_key(&key) {
            Some("version") if value.as_str() != Some("1") => return None,
            Some("created_at") => peek.created_at = text()?,
            Some("model_id") => peek.model_id = text()?,
            Some("scope_key") => peek.scope = text()?,
            _ => {}
        }
        let found = [&peek.scope, &peek.created_at, &peek.model_id];
        if found.iter().all(|text| !text.is_empty()) {
            return Some(peek);
        }
        open = parser.more_members().ok()?;
    }
    None
}
