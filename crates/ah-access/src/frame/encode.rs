//! Frames to bytes.

use super::{Body, FrameError, VERSION};

/// Bytes before the body: the length, the version and the kind.
pub(super) const HEADER_BYTES: usize = 6;
/// What the length counts besides the body: the version and the kind.
pub(super) const COUNTED_HEADER_BYTES: usize = 2;

/// The bytes of one frame. A body that its kind does not allow is refused before it is sent.
pub fn encode<B: Body>(body: &B) -> Result<Vec<u8>, FrameError> {
    let kind = B::KIND;
    let bad = |reason: String| FrameError::BadBody { kind, reason };
    body.check().map_err(|error| bad(error.to_string()))?;
    let mut bytes = vec![0; HEADER_BYTES];
    serde_json::to_writer(&mut bytes, body).map_err(|error| bad(error.to_string()))?;
    let length = bytes.len() - HEADER_BYTES;
    let too_long = || FrameError::TooLong { kind, length, max: kind.body_bytes_max() };
    if length > kind.body_bytes_max() {
        return Err(too_long());
    }
    let counted = u32::try_from(length + COUNTED_HEADER_BYTES).map_err(|_| too_long())?;
    for (place, byte) in
        bytes.iter_mut().zip(counted.to_be_bytes().into_iter().chain([VERSION, kind as u8]))
    {
        *place = byte;
    }
    Ok(bytes)
}
