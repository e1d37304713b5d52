//! Where something may be in a long text: most of it is prose, which has nothing to look up.
//!
//! Shapes are runs without a blank; a value has a sign behind its name, or dashes before it. Only there
//! every place is looked at. What else announces a secret is a word of its own and searched for.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::{memchr2, memchr2_iter, memmem};

use super::assignment::{NAME_TO_SIGN_BYTES_MAX, OPTION_TO_STEM_BYTES_MAX};
use super::looked_at;
use super::shapes::FROM_WORD_BYTES_MIN;

/// What is passed over, or not, at once.
const BLOCK_BYTES: usize = 64;
const WORD_BYTES: usize = 8;

/// Longest stem or word; a hint is looked up by the end of three of its bytes.
pub(super) const WORD_BYTES_MAX: usize = 32;

/// Every run of a shape has a whole aligned word in it, and no more than this on either side of such
/// words.
const BESIDE_WORD_BYTES: usize = WORD_BYTES - 1;
const _: () = assert!(FROM_WORD_BYTES_MIN >= WORD_BYTES + BESIDE_WORD_BYTES);

/// Calls `look` with the places where the last byte of a shape's or a stem's word may be, in order and
/// without overlaps.
pub(super) fn places(bytes: &[u8], mut look: impl FnMut(Range<usize>)) {
    let mut seen = 0;
    let mut look_from = |from: usize, to: usize| {
        let (from, to) = (from.max(seen), to.min(bytes.len()));
        if from < to {
            look(from..to);
            seen = to;
        }
    };
    let mut signs = Next::new(bytes, |rest| memchr2(b':', b'=', rest));
    let mut dashes = Next::new(bytes, |rest| DASHES.find(rest));
    let (blocks, rest) = bytes.as_chunks::<BLOCK_BYTES>();
    for (number, block) in blocks.iter().enumerate() {
        let (start, end) = (number * BLOCK_BYTES, (number + 1) * BLOCK_BYTES);
        let before = start.saturating_sub(WORD_BYTES_MAX + OPTION_TO_STEM_BYTES_MAX);
        if signs.from(start) < end + WORD_BYTES_MAX + NAME_TO_SIGN_BYTES_MAX
            || dashes.from(before) < end
        {
            // With what a run has of it in the blocks around.
            look_from(start.saturating_sub(BESIDE_WORD_BYTES), end + BESIDE_WORD_BYTES);
        } else {
            runs(bytes, block, start, &mut look_from);
        }
    }
    let rest = bytes.len() - rest.len();
    look_from(rest.saturating_sub(BESIDE_WORD_BYTES), bytes.len());
    looked_at(bytes.len());
}

/// Looks where a run of a shape may be of which an aligned word is in `block`.
fn runs(
    bytes: &[u8],
    block: &[u8; BLOCK_BYTES],
    start: usize,
    look: &mut impl FnMut(usize, usize),
) {
    let (words, _) = block.as_chunks::<WORD_BYTES>();
    // All at once first: hardly any block has one.
    if !words.iter().fold(false, |any, word| any | is_whole(*word)) {
        return;
    }
    let whole = words.iter().enumerate().filter(|(_, word)| is_whole(**word));
    for (number, _) in whole {
        let from = start + number * WORD_BYTES;
        let is_run = |byte: &&u8| **byte > b' ';
        let (before, after) = bytes.split_at_checked(from).unwrap_or_default();
        let before = before.iter().rev().take(BESIDE_WORD_BYTES).take_while(is_run).count();
        let after = after.iter().take(WORD_BYTES + BESIDE_WORD_BYTES).take_while(is_run).count();
        if before + after >= FROM_WORD_BYTES_MIN {
            look(from - before, from + after);
        }
    }
}

/// Whether no blank is in a word.
fn is_whole(word: [u8; WORD_BYTES]) -> bool {
    const EACH: u64 = u64::from_le_bytes([1; WORD_BYTES]);
    let word = u64::from_le_bytes(word);
    // The high bit of a byte that is at most a blank is borrowed.
    word.wrapping_sub(EACH * (b' ' as u64 + 1)) & !word & (EACH << 7) == 0
}

/// The next place of something, asked for in ascending order.
struct Next<'a, F> {
    bytes: &'a [u8],
    find: F,
    at: usize,
}

impl<'a, F: Fn(&[u8]) -> Option<usize>> Next<'a, F> {
    fn new(bytes: &'a [u8], find: F) -> Self {
        let at = find(bytes).unwrap_or(usize::MAX);
        Self { bytes, find, at }
    }

    /// The first place from `from` on.
    fn from(&mut self, from: usize) -> usize {
        if self.at < from {
            let rest = self.bytes.get(from..).unwrap_or_default();
            self.at = (self.find)(rest).map_or(usize::MAX, |at| from + at);
        }
        self.at
    }
}

static DASHES: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("--"));
static CURL: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("curl "));
static BEGIN: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("-BEGIN "));
static MARK: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new("://"));

/// The places of the last bytes of `bearer`, `basic`, `curl`, `-BEGIN` and `://`, whatever is around.
pub(super) fn words(bytes: &[u8], mut look: impl FnMut(Range<usize>)) {
    for at in memchr2_iter(b'b', b'B', bytes) {
        let third = bytes.get(at + 2).map(u8::to_ascii_lowercase);
        if matches!(third, Some(b'a' | b's')) {
            look(at..at + "bearer".len());
        }
    }
    for (finder, length) in [(&CURL, 5), (&BEGIN, 7), (&MARK, 3)] {
        finder.find_iter(bytes).for_each(|at| look(at..at + length));
    }
    looked_at(bytes.len());
}
