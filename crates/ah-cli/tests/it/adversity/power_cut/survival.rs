//! Which of the changes that no sync covers a power cut leaves on the disk.

use crate::adversity::random::Random;

/// How a state after a power cut is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Only what a sync covers.
    Durable,
    /// Everything, as if the disk had no cache.
    Everything,
    /// Everything, except that one unit is old.
    AllButOne,
    /// What a sync covers, except that one unit is new.
    OnlyOne,
    /// For each unit any state it has been in since the last sync.
    Any,
}

/// A sequence of choices, one for each unit: a part of a file, its length, or a name.
pub(super) struct Survival<'a> {
    kept: Kept,
    /// How many bytes of a file reach the disk together.
    pub(super) unit_bytes: usize,
    /// The unit that is the exception.
    special: usize,
    /// Units asked for so far.
    pub(super) units: usize,
    random: &'a mut Random,
}

impl<'a> Survival<'a> {
    /// Choices among `units` units; the number matters only where one of them is an exception.
    pub(super) fn new(kept: Kept, unit_bytes: usize, units: usize, random: &'a mut Random) -> Self {
        let special = random.below(units);
        Self { kept, unit_bytes, special, units: 0, random }
    }

    /// How many of `changes` to the next unit are kept, counted from the oldest.
    pub(super) fn choose(&mut self, changes: usize) -> usize {
        if changes == 0 {
            return 0;
        }
        let is_special = self.units == self.special;
        self.units += 1;
        match self.kept {
            Kept::Durable => 0,
            Kept::Everything => changes,
            Kept::AllButOne if is_special => self.random.below(changes),
            Kept::AllButOne => changes,
            Kept::OnlyOne if is_special => 1 + self.random.below(changes),
            Kept::OnlyOne => 0,
            Kept::Any => self.random.below(changes + 1),
        }
    }
}
