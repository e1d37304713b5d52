//! Passes over an object without building it: whether it is JSON, and where it ends.
//!
//! Takes only what the parser takes. What it does not take the parser reads again, and says why.

use super::{DEPTH_MAX, VALUES_MAX, runs};

/// What the members of an object may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Members {
    Any,
    Strings,
}

/// A place in a text that is passed over.
struct Skim<'a> {
    rest: &'a [u8],
    /// How many lists and objects are open, and a bit for each: whether it is an object.
    depth: usize,
    objects: [bool; DEPTH_MAX + 1],
    values: usize,
}

/// The length of the object that `text` begins with and how many values are in it, itself included;
/// `depth` is how deep it stands and `values` how many came before it.
pub(super) fn object(
    text: &[u8],
    members: Members,
    depth: usize,
    values: usize,
) -> Option<(usize, usize)> {
    let mut skim = Skim { rest: text, depth, objects: [false; DEPTH_MAX + 1], values };
    if text.first() != Some(&b'{') {
        return None;
    }
    let mut is_open = skim.value()?;
    while skim.depth > depth {
        if !is_open && !skim.next()? {
            continue;
        }
        if skim.objects.get(skim.depth) == Some(&true) {
            skim.key()?;
        }
        let byte = skim.next_byte()?;
        if members == Members::Strings && skim.depth == depth + 1 && byte != b'"' {
            return None;
        }
        is_open = skim.value()?;
    }
    let length = text.len() - skim.rest.len();
    std::str::from_utf8(text.get(..length)?).ok()?;
    Some((length, skim.values))
}

impl Skim<'_> {
    /// Passes a value, or the beginning of a list or object that is not empty: then something in it
    /// follows.
    fn value(&mut self) -> Option<bool> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return None;
        }
        match self.next_byte()? {
            b'"' => self.string()?,
            b'{' => return self.open(true, b'}'),
            b'[' => return self.open(false, b']'),
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => self.number()?,
        }
        Some(false)
    }

    fn open(&mut self, is_object: bool, end: u8) -> Option<bool> {
        self.pass(1)?;
        self.depth += 1;
        *self.objects.get_mut(self.depth)? = is_object;
        if self.next_byte()? != end {
            return Some(true);
        }
        self.depth -= 1;
        self.pass(1)?;
        Some(false)
    }

    /// After a value: whether another one follows in the same list or object, which is left if not.
    fn next(&mut self) -> Option<bool> {
        let is_object = *self.objects.get(self.depth)?;
        let byte = self.next_byte()?;
        self.pass(1)?;
        match (byte, is_object) {
            (b',', _) => Some(true),
            (b'}', true) | (b']', false) => {
                self.depth -= 1;
                Some(false)
            }
            _ => None,
        }
    }

    fn key(&mut self) -> Option<()> {
        if self.next_byte()? != b'"' {
            return None;
        }
        self.string()?;
        let is_colon = self.next_byte()? == b':';
        self.pass(1)?;
        is_colon.then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.pass(1)?;
        loop {
            self.pass(runs::before(self.rest, runs::escapes))?;
            let byte = *self.rest.first()?;
            self.pass(1)?;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
    }

    fn escape(&mut self) -> Option<()> {
        let byte = *self.rest.first()?;
        self.pass(1)?;
        match byte {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => {
                let is_code = self.rest.get(..4)?.iter().all(u8::is_ascii_hexdigit);
                self.pass(4)?;
                is_code.then_some(())
            }
            _ => None,
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        self.pass_if(|byte| byte == b'-');
        let first = self.rest.first();
        let whole = self.digits();
        if whole == 0 || (whole > 1 && first == Some(&b'0')) {
            return None;
        }
        if self.pass_if(|byte| byte == b'.') && self.digits() == 0 {
            return None;
        }
        if self.pass_if(|byte| matches!(byte, b'e' | b'E')) {
            self.pass_if(|byte| matches!(byte, b'+' | b'-'));
            return (self.digits() > 0).then_some(());
        }
        Some(())
    }

    fn digits(&mut self) -> usize {
        let before = self.rest.len();
        while self.pass_if(|byte| byte.is_ascii_digit()) {}
        before - self.rest.len()
    }

    fn pass_if(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        match self.rest {
            [first, rest @ ..] if wanted(*first) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn pass(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    /// The next byte that is no white space, which stays.
    fn next_byte(&mut self) -> Option<u8> {
        while self.pass_if(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {}
        self.rest.first().copied()
    }
}
