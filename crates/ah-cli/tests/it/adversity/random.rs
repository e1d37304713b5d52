//! Random numbers that can be had again: the seed is printed when a test fails.

use std::thread;

/// SplitMix64.
pub(super) struct Random {
    seed: u64,
    state: u64,
}

impl Random {
    /// The sequence of `seed`, or of the variable `ADVERSITY_SEED` when that is set.
    pub(super) fn new(seed: u64) -> Self {
        #[expect(clippy::disallowed_methods, reason = "to repeat a failure with another seed")]
        let wanted = std::env::var("ADVERSITY_SEED").ok().and_then(|text| text.parse().ok());
        let seed = wanted.unwrap_or(seed);
        Self { seed, state: seed }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from zero to one less than `end`.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

impl Drop for Random {
    fn drop(&mut self) {
        if thread::panicking() {
            #[expect(clippy::print_stderr, reason = "a failing test says how to repeat it")]
            {
                eprintln!("repeat with ADVERSITY_SEED={}", self.seed);
            }
        }
    }
}
