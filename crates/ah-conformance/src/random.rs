//! A tiny random source (splitmix64): the same seed gives the same numbers on every machine.

use std::sync::Mutex;

use ah_store::{IdSource, StoreError};

/// Numbers that a seed decides.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `items`.
    pub fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        let index = self.below(items.len() as u64);
        items[usize::try_from(index).unwrap()].clone()
    }
}

/// An [`IdSource`] whose bytes a seed decides, so that a failing test fails again.
#[derive(Debug)]
pub struct SeededIds(Mutex<Random>);

impl SeededIds {
    /// The bytes of `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Random::new(seed)))
    }
}

impl IdSource for SeededIds {
    fn random(&self) -> Result<[u8; 10], StoreError> {
        let mut random = self.0.lock().unwrap();
        let mut bytes = [0; 10];
        bytes[..8].copy_from_slice(&random.number().to_be_bytes());
        bytes[8..].copy_from_slice(&random.number().to_be_bytes()[..2]);
        Ok(bytes)
    }
}
