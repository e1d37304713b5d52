//! What may be in a text, seen in one look: most texts hold nothing, and are not looked at again.
//!
//! Every secret has a word in it or before it. At every place three bytes are looked up, the rarest
//! of each word; only where a word stands it is seen whether what it announces can be there. A hint
//! may be wrong, but nothing is where there is none.

use std::ops::Range;
use std::sync::LazyLock;

use super::keys::{self, STEMS};
use super::shapes::{Announces, SHAPES};
use super::{assignment, ignores_hints, long, looked_at, pem, shapes, url};

/// What may be in a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// A bit for each of [`SHAPES`].
    shapes: u64,
    pub(super) private_key: bool,
    pub(super) url: bool,
    pub(super) assignment: bool,
    /// Whether the text would mean something as the name of a value.
    pub(super) stem: bool,
}

/// From how many bytes on a text is looked at only where something may be.
const LONG_BYTES: usize = 512;

const _: () = assert!(SHAPES.len() <= u64::BITS as usize);

impl Hints {
    /// Everything may be there.
    pub(super) const ALL: Self =
        Self { shapes: u64::MAX, private_key: true, url: true, assignment: true, stem: true };

    /// Whether no secret is in the text.
    pub(super) fn are_none(self) -> bool {
        self == Self { stem: self.stem, ..Self::default() }
    }

    pub(super) fn has_shape(self, shape: usize) -> bool {
        self.shapes >> shape & 1 == 1
    }

    fn add_shape(&mut self, shape: usize) {
        self.shapes |= 1 << shape;
    }

    /// What may be in `text`.
    pub(super) fn of(text: &str) -> Self {
        if ignores_hints() {
            return Self::ALL;
        }
        let table = &*TABLE;
        let mut hints = Self::default();
        if text.len() < LONG_BYTES {
            table.look_through(text, 0..text.len(), &mut hints);
        } else {
            // No name is that long, and whoever asks looks again.
            hints.stem = true;
            long::places(text.as_bytes(), |at| table.look_through(text, at, &mut hints));
            long::words(text.as_bytes(), |at| table.look_through(text, at, &mut hints));
        }
        if shapes::may_be_discord(text.as_bytes()) {
            hints.add_shape(table.discord);
        }
        hints
    }
}

/// What a word announces.
#[derive(Clone, Copy)]
enum What {
    Shape(usize),
    PrivateKey,
    Url,
    /// A value under a name with that stem.
    Assignment(usize),
}

struct Trigger {
    word: String,
    /// Where the three bytes of it end that are looked up.
    end: usize,
    what: What,
}

/// How many groups of three bytes are told apart.
const SLOTS: usize = 1 << 13;

struct Table {
    /// The number of the list of triggers by three of their bytes; most are 0 and have none.
    groups: [u8; SLOTS],
    triggers: Vec<Vec<Trigger>>,
    discord: usize,
}

static TABLE: LazyLock<Table> = LazyLock::new(Table::new);

/// Letters of both cases are the same. So are a few other characters, which only costs a look.
fn folded(byte: u8) -> u32 {
    u32::from(byte | 0x20)
}

/// The slot of the lower three bytes: multiplying moves the fourth out.
fn slot(last_bytes: u32) -> usize {
    (last_bytes.wrapping_mul(0x9e37_79b1 << 8) >> (u32::BITS - SLOTS.ilog2())) as usize
}

/// How often letters stand in texts, from the rarest on.
const LETTERS: &[u8; 26] = b"zjqxkvbpygfwmucldrhsnioate";

/// Those three bytes of a word that are least often in a text, and where they end.
fn rarest(word: &[u8]) -> (usize, u32) {
    let often = |byte: &u8| match byte.to_ascii_lowercase() {
        b' ' => LETTERS.len(),
        byte => LETTERS.iter().position(|letter| *letter == byte).map_or(0, |at| at + 1),
    };
    let threes = word.windows(3).enumerate();
    let rarest = threes.min_by_key(|(_, three)| three.iter().map(often).sum::<usize>());
    let (at, three) = rarest.unwrap_or_default();
    (at + 3, three.iter().fold(0, |three, byte| three << 8 | folded(*byte)))
}

impl Table {
    fn new() -> Self {
        let mut table = Self { groups: [0; SLOTS], triggers: vec![Vec::new()], discord: 0 };
        for (shape, words) in shapes::words().enumerate() {
            match words {
                Announces::Words(words) => {
                    words.into_iter().for_each(|word| table.add(word, What::Shape(shape)));
                }
                Announces::Dots => table.discord = shape,
            }
        }
        for (at, stem) in STEMS.iter().enumerate() {
            table.add(stem.word.to_owned(), What::Assignment(at));
        }
        table.add("-BEGIN ".to_owned(), What::PrivateKey);
        table.add("://".to_owned(), What::Url);
        table
    }

    fn add(&mut self, word: String, what: What) {
        let (end, rarest) = rarest(word.as_bytes());
        let Some(group) = self.groups.get_mut(slot(rarest)) else { return };
        if *group == 0 {
            // There are fewer words than a byte can number: a test counts them.
            *group = self.triggers.len() as u8;
            self.triggers.push(Vec::new());
        }
        if let Some(triggers) = self.triggers.get_mut(usize::from(*group)) {
            triggers.push(Trigger { word, end, what });
        }
    }

    /// Adds what the words announce whose groups end in `range`.
    fn look_through(&self, text: &str, range: Range<usize>, hints: &mut Hints) {
        let (before, bytes) = text.as_bytes().split_at(range.start);
        let bytes = bytes.get(..range.len()).unwrap_or(bytes);
        let known = before.get(before.len().saturating_sub(2)..).unwrap_or_default();
        let mut last_bytes = known.iter().fold(0, |last, byte| last << 8 | folded(*byte));
        looked_at(bytes.len());
        // Four at once: there is a word at hardly one of many places.
        let (fours, rest) = bytes.as_chunks::<4>();
        for (number, four) in fours.iter().enumerate() {
            let groups = four.map(|byte| self.next_group(&mut last_bytes, byte));
            if groups != [0; 4] {
                self.look_all(&groups, text, range.start + number * 4, hints);
            }
        }
        for (at, byte) in (range.start + fours.len() * 4..).zip(rest) {
            let group = self.next_group(&mut last_bytes, *byte);
            self.look_all(&[group], text, at, hints);
        }
    }

    /// The group of the last three bytes when `byte` comes.
    fn next_group(&self, last_bytes: &mut u32, byte: u8) -> u8 {
        *last_bytes = *last_bytes << 8 | folded(byte);
        self.groups[slot(*last_bytes)]
    }

    /// Adds what the words announce whose groups end at `at` and the places behind it.
    fn look_all(&self, groups: &[u8], text: &str, at: usize, hints: &mut Hints) {
        let places = groups.iter().zip(at..).filter(|(group, _)| **group != 0);
        places.for_each(|(group, at)| self.look(*group, text, at, hints));
    }

    /// Adds what the words of a group announce whose looked up bytes end at `last`.
    fn look(&self, group: u8, text: &str, last: usize, hints: &mut Hints) {
        for trigger in self.triggers.get(usize::from(group)).into_iter().flatten() {
            let Some(at) = (last + 1).checked_sub(trigger.end) else { continue };
            match trigger.what {
                What::Shape(shape) if !hints.has_shape(shape) => {
                    if shapes::may_be_at(shape, &trigger.word, text.as_bytes(), at) {
                        hints.add_shape(shape);
                    }
                }
                What::PrivateKey if !hints.private_key => {
                    hints.private_key = pem::may_be_at(text, at);
                }
                What::Url if !hints.url => hints.url = url::may_be_at(text.as_bytes(), at),
                What::Assignment(stem) if !hints.assignment => {
                    let stem = STEMS.get(stem);
                    let stem = stem.and_then(|stem| keys::stem_at(stem, text.as_bytes(), at));
                    hints.stem |= stem.is_some();
                    hints.assignment =
                        stem.is_some_and(|stem| assignment::may_be_after(text, &stem));
                }
                What::Shape(_) | What::PrivateKey | What::Url | What::Assignment(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found_by_three_of_its_bytes() {
        assert!(TABLE.triggers.len() < 256, "{}", TABLE.triggers.len());
        let words: usize = TABLE.triggers.iter().map(Vec::len).sum();
        let of_shapes = shapes::words().map(|words| match words {
            Announces::Words(words) => words.len(),
            Announces::Dots => 0,
        });
        assert_eq!(words, of_shapes.sum::<usize>() + STEMS.len() + 2);
        assert!(TABLE.triggers.iter().flatten().all(|trigger| trigger.word.len() >= 3));
        assert_eq!(SHAPES[TABLE.discord].name, "discord-token");
    }
}
