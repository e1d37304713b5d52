//! Search in bytes, eight at a time: long prompts are nearly all of a bundle.
//!
//! A mark is the high bit of a byte that was looked for. The lowest mark of a word is always true;
//! those above it may not be, because a borrow runs upwards.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks the bytes below `limit`, which is at most 128.
pub(super) fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(LOW * u64::from(limit)) & !word & HIGH
}

/// Marks the bytes that are `byte`.
pub(super) fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (LOW * u64::from(byte)), 1)
}

/// Copies the bytes before the first that `marks` finds, and says how many they are. A word is copied
/// before it is looked at: runs are short, and a call to copy each would cost more.
pub(super) fn copy_until(bytes: &[u8], out: &mut Vec<u8>, marks: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut copied = 0;
    for word in words {
        out.extend_from_slice(word);
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            let before = found.trailing_zeros() as usize / 8;
            out.truncate(out.len() - 8 + before);
            return copied + before;
        }
        copied += 8;
    }
    let found = rest.iter().position(|byte| marks(LOW * u64::from(*byte)) != 0);
    let before = found.unwrap_or(rest.len());
    out.extend(rest.iter().take(before));
    copied + before
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_up_to_what_is_looked_for() {
        for length in 0..40 {
            for at in 0..length {
                for byte in [0, 0x1f, b'"', b'\\'] {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    bytes[at + 1..].fill(0xff);
                    let marks = |word| below(word, b' ') | equal(word, b'"') | equal(word, b'\\');
                    let mut out = b"before".to_vec();
                    assert_eq!(copy_until(&bytes, &mut out, marks), at, "{length} {byte}");
                    assert_eq!(out, [b"before", &bytes[..at]].concat());
                }
            }
            let plain = vec![b' '; length];
            let mut out = Vec::new();
            assert_eq!(copy_until(&plain, &mut out, |word| below(word, b' ')), length);
            assert_eq!(out, plain);
        }
    }
}
