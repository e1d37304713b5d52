//! Inputs that are nearly right: known ones, cut, doubled, crossed and sprinkled with what parsers
//! care about. Everything follows from a number.

/// SplitMix64: small, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        let mut random = Self(seed ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 when that is 0.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % (bound.max(1) as u64)) as usize
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

/// Longest input.
const BYTES_MAX: usize = 64 * 1024;

/// An input made from `seeds` with up to eight changes.
pub(crate) fn mutated(seeds: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(seeds).cloned().unwrap_or_default();
    for _ in 0..=random.below(8) {
        change(&mut input, seeds, words, random);
        input.truncate(BYTES_MAX);
    }
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let to = (at + 1 + random.below(32)).min(input.len());
    match random.below(9) {
        0 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = random.next() as u8;
            }
        }
        2 => insert(input, at, &random.next().to_le_bytes()),
        3 if at < to => drop(input.drain(at..to)),
        4 if at < to => {
            let again = input[at..to].repeat(1 + random.below(20));
            insert(input, at, &again);
        }
        5 => input.truncate(at),
        6 => {
            let other = random.pick(seeds).cloned().unwrap_or_default();
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        7 => {
            let number = random.next() as i64;
            insert(input, at, number.to_string().as_bytes());
        }
        _ => {
            if let Some(word) = random.pick(words) {
                let times = if random.below(16) == 0 { 200 } else { 1 };
                insert(input, at, &word.as_bytes().repeat(times));
            }
        }
    }
}

fn insert(input: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    input.splice(at..at, bytes.iter().copied());
}
