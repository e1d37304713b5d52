//! One file: what surely is on the disk, and what was done since.
//!
//! After a power cut each part of the file, a page or a sector, is as after any number of the
//! changes to it, whatever became of the parts beside it. So is its length; bytes that were never
//! written are zeros. A sync that has ended covers the changes made before it began.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::survival::Survival;

#[derive(Debug, Clone)]
pub(super) enum Change {
    Write { offset: usize, bytes: Arc<[u8]> },
    Truncate { length: usize },
}

#[derive(Debug, Default, Clone)]
pub(super) struct File {
    durable: Vec<u8>,
    /// With the number of the record.
    pending: Vec<(usize, Change)>,
}

impl File {
    pub(super) fn durable(durable: Vec<u8>) -> Self {
        Self { durable, pending: Vec::new() }
    }

    pub(super) fn change(&mut self, at: usize, change: Change) {
        self.pending.push((at, change));
    }

    /// Everything recorded before `begin` is on the disk.
    pub(super) fn settle(&mut self, begin: usize) {
        let covered = self.pending.partition_point(|(at, _)| *at < begin);
        for (_, change) in self.pending.drain(..covered) {
            let length = change.length_after(self.durable.len());
            self.durable.resize(length.max(self.durable.len()), 0);
            change.apply(&mut self.durable, 0..usize::MAX);
            self.durable.resize(length, 0);
        }
    }

    /// What a power cut leaves of it.
    pub(super) fn after_crash(&self, survival: &mut Survival<'_>) -> Vec<u8> {
        let mut image = self.durable.clone();
        if self.pending.is_empty() {
            return image;
        }
        let lengths = self.lengths();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        image.resize(longest, 0);
        for (unit, changes) in self.changes_by_unit(longest, survival.unit_bytes) {
            let range = unit * survival.unit_bytes..(unit + 1) * survival.unit_bytes;
            for change in &changes[..survival.choose(changes.len())] {
                change.apply(&mut image, range.clone());
            }
        }
        image.resize(lengths[survival.choose(lengths.len() - 1)], 0);
        image
    }

    /// The different lengths since the last sync, oldest first.
    fn lengths(&self) -> Vec<usize> {
        let mut lengths = vec![self.durable.len()];
        for (_, change) in &self.pending {
            let before = lengths[lengths.len() - 1];
            lengths.push(change.length_after(before));
        }
        lengths.dedup();
        lengths
    }

    fn changes_by_unit(&self, longest: usize, unit_bytes: usize) -> BTreeMap<usize, Vec<&Change>> {
        let mut units: BTreeMap<usize, Vec<&Change>> = BTreeMap::new();
        for (_, change) in &self.pending {
            let range = change.range(longest);
            for unit in range.start / unit_bytes..range.end.div_ceil(unit_bytes) {
                units.entry(unit).or_default().push(change);
            }
        }
        units
    }
}

impl Change {
    fn length_after(&self, before: usize) -> usize {
        match self {
            Self::Write { offset, bytes } => before.max(offset + bytes.len()),
            Self::Truncate { length } => *length,
        }
    }

    /// The bytes it touches in a file that was never longer than `longest`.
    fn range(&self, longest: usize) -> Range<usize> {
        match self {
            Self::Write { offset, bytes } => *offset..offset + bytes.len(),
            Self::Truncate { length } => *length..longest.max(*length),
        }
    }

    /// Makes the change within `part` of an image that is long enough.
    fn apply(&self, image: &mut [u8], part: Range<usize>) {
        let whole = self.range(image.len());
        let range = whole.start.max(part.start)..whole.end.min(part.end);
        if range.is_empty() {
            return;
        }
        match self {
            Self::Write { offset, bytes } => {
                let source = range.start - offset..range.end - offset;
                image[range].copy_from_slice(&bytes[source]);
            }
            Self::Truncate { .. } => image[range].fill(0),
        }
    }
}
