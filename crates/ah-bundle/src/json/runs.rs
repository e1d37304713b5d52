//! Search in bytes, eight at a time: long prompts are nearly all of a bundle.
//!
//! A mark is the high bit of a byte that was looked for. The lowest mark of a word is always true;
//! those above it may not be, because a borrow runs upwards.

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// Marks the bytes below `limit`, which is at most 128.
fn below(word: u64, limit: u8) -> u64 {
    word.wrapping_sub(LOW * u64::from(limit)) & !word & HIGH
}

/// Marks the bytes that are `byte`.
fn equal(word: u64, byte: u8) -> u64 {
    below(word ^ (LOW * u64::from(byte)), 1)
}

/// Marks the bytes that are `byte`, or would be with the bit `or`.
fn equal_or(word: u64, byte: u8, or: u8) -> u64 {
    equal(word | (LOW * u64::from(or)), byte)
}

/// Marks what cannot be taken from a JSON string as it is.
pub(super) fn escapes(word: u64) -> u64 {
    below(word, b' ') | equal(word, b'"') | equal(word, b'\\')
}

/// Marks what is not written to a JSON string as it is: HTML's characters as well, and the byte that
/// the line ends of JavaScript begin with, as many others do.
pub(super) fn escaped(word: u64) -> u64 {
    // `"` and `&`, `<` and `>` are a bit apart.
    let pairs = equal_or(word, b'&', 0x04) | equal_or(word, b'>', 0x02);
    below(word, b' ') | pairs | equal(word, b'\\') | equal(word, 0xe2)
}

/// How many bytes stand before the first that `marks` finds.
pub(super) fn before(bytes: &[u8], marks: impl Fn(u64) -> u64) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let found = marks(u64::from_le_bytes(*word));
        if found != 0 {
            return 8 * number + found.trailing_zeros() as usize / 8;
        }
    }
    let found = rest.iter().position(|byte| marks(u64::from_le_bytes([*byte; 8])) != 0);
    8 * words.len() + found.unwrap_or(rest.len())
}

/// Copies the bytes before the first that `marks` finds, and says how many they are.
pub(super) fn copy_until(bytes: &[u8], out: &mut Vec<u8>, marks: impl Fn(u64) -> u64) -> usize {
    let length = before(bytes, marks);
    out.extend_from_slice(bytes.get(..length).unwrap_or_default());
    length
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
                    let mut out = b"before".to_vec();
                    assert_eq!(copy_until(&bytes, &mut out, escapes), at, "{length} {byte}");
                    assert_eq!(out, [b"before", &bytes[..at]].concat());
                }
            }
            let plain = vec![b' '; length];
            let mut out = Vec::new();
            assert_eq!(copy_until(&plain, &mut out, escapes), length);
            assert_eq!(out, plain);
        }
    }

    #[test]
    fn every_byte_is_marked_that_is_looked_for_and_no_other() {
        for byte in 0..=u8::MAX {
            let word = u64::from_le_bytes([b'a', b'a', byte, b'a', b'a', b'a', b'a', b'a']);
            let is = |marks: u64| marks != 0;
            let plain = !matches!(byte, 0..b' ' | b'"' | b'\\');
            assert_eq!(is(escapes(word)), !plain, "{byte}");
            let written = plain && !matches!(byte, b'<' | b'>' | b'&' | 0xe2);
            assert_eq!(is(escaped(word)), !written, "{byte}");
        }
    }
}
