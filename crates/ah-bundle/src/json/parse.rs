//! A recursive parser of one JSON text, bounded in depth and in the number of values.

use std::sync::Arc;

use super::{Number, Object, Value, runs, skim};

/// Deepest nesting of lists and objects.
pub const DEPTH_MAX: usize = 128;
/// Most values one text may hold: they take more memory than the bytes they are written with.
pub const VALUES_MAX: usize = 1_000_000;

/// What is wrong with a text, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct JsonError {
    /// Bytes before what is wrong.
    pub at: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

/// Members in the order of the text, repeated keys included.
pub(crate) type Members = Vec<(String, Value)>;

/// A place in a text that is being read.
pub(crate) struct Parser<'a> {
    text: &'a [u8],
    pub(super) at: usize,
    depth: usize,
    pub(super) values: usize,
    /// Members and elements of all that is open, so that each object and list is allocated once, at
    /// its size.
    open_members: Members,
    open_elements: Vec<Value>,
    /// The string that is being read, for the same reason.
    open_string: Vec<u8>,
}

impl<'a> Parser<'a> {
    /// At the beginning of `text`.
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            values: 0,
            open_members: Vec::new(),
            open_elements: Vec::new(),
            open_string: Vec::new(),
        }
    }

    /// The next value.
    pub(crate) fn value(&mut self) -> Result<Value, JsonError> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return self.error("too many values");
        }
        match self.next_byte() {
            Some(b'"') => self.string().map(Value::String),
            Some(b'{') => Ok(Value::Object(Object::from(self.members()?))),
            Some(b'[') => self.array(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.error("no JSON value"),
            None => self.error("the text ends too early"),
        }
    }

    /// The next value; an object is only passed over and stays a part of `whole`, the text that is
    /// read.
    pub(crate) fn unread(
        &mut self,
        whole: &Arc<Vec<u8>>,
        members: skim::Members,
    ) -> Result<Value, JsonError> {
        self.next_byte();
        match skim::object(self.rest(), members, self.depth, self.values) {
            Some((length, values)) => {
                let range = self.at..self.at + length;
                self.at += length;
                self.values = values;
                Ok(Value::Object(Object::unread(Arc::clone(whole), range)))
            }
            None => self.value(),
        }
    }

    /// The members of the object that begins here.
    pub(crate) fn members(&mut self) -> Result<Members, JsonError> {
        let from = self.open_members.len();
        let mut open = self.begin_object()?;
        while open {
            let key = self.key()?;
            let value = self.value()?;
            self.open_members.push((key, value));
            open = self.more_members()?;
        }
        Ok(self.open_members.split_off(from))
    }

    /// Enters an object; whether it has a member.
    pub(crate) fn begin_object(&mut self) -> Result<bool, JsonError> {
        if self.next_byte() != Some(b'{') {
            return self.error("no object");
        }
        self.open()?;
        match self.next_byte() {
            Some(b'}') => self.close(),
            _ => Ok(true),
        }
    }

    /// The key of the next member and its colon.
    pub(crate) fn key(&mut self) -> Result<String, JsonError> {
        if self.next_byte() != Some(b'"') {
            return self.error("no key");
        }
        let key = self.string()?;
        if self.next_byte() != Some(b':') {
            return self.error("no colon after a key");
        }
        self.at += 1;
        Ok(key)
    }

    /// After a member: whether another one follows.
    pub(crate) fn more_members(&mut self) -> Result<bool, JsonError> {
        match self.next_byte() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(b'}') => self.close(),
            _ => self.error("no comma or brace after a member"),
        }
    }

    /// Nothing but white space follows.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.next_byte() {
            None => Ok(()),
            Some(_) => self.error("something follows the value"),
        }
    }

    fn array(&mut self) -> Result<Value, JsonError> {
        let from = self.open_elements.len();
        self.open()?;
        if self.next_byte() == Some(b']') {
            self.close()?;
            return Ok(Value::Array(Vec::new()));
        }
        loop {
            let element = self.value()?;
            self.open_elements.push(element);
            match self.next_byte() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return self.error("no comma or bracket after an element"),
            }
        }
        self.close()?;
        Ok(Value::Array(self.open_elements.split_off(from)))
    }

    fn open(&mut self) -> Result<(), JsonError> {
        self.at += 1;
        self.depth += 1;
        if self.depth > DEPTH_MAX { self.error("nested too deep") } else { Ok(()) }
    }

    /// Leaves a list or object: nothing more of it follows.
    fn close(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        self.depth -= 1;
        Ok(false)
    }

    fn word(&mut self, word: &str, value: Value) -> Result<Value, JsonError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return self.error("no JSON value");
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let from = self.at;
        self.skip_if(|byte| byte == b'-');
        let whole = self.digits();
        let first = self.text.get(self.at.saturating_sub(whole));
        if whole == 0 || (whole > 1 && first == Some(&b'0')) {
            return self.error("no number");
        }
        if self.skip_if(|byte| byte == b'.') && self.digits() == 0 {
            return self.error("no digits after the point");
        }
        if self.skip_if(|byte| matches!(byte, b'e' | b'E')) {
            self.skip_if(|byte| matches!(byte, b'+' | b'-'));
            if self.digits() == 0 {
                return self.error("no digits in the exponent");
            }
        }
        let digits = self.text.get(from..self.at).unwrap_or_default();
        Ok(Value::Number(Number(String::from_utf8_lossy(digits).into())))
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while self.skip_if(|byte| byte.is_ascii_digit()) {}
        self.at - from
    }

    fn skip_if(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let skips = self.rest().first().is_some_and(|byte| wanted(*byte));
        self.at += usize::from(skips);
        skips
    }

    fn string(&mut self) -> Result<String, JsonError> {
        self.at += 1;
        self.open_string.clear();
        loop {
            let rest = self.rest();
            self.at += runs::copy_until(rest, &mut self.open_string, runs::escapes);
            match self.rest().first() {
                Some(b'"') => break,
                Some(b'\\') => {
                    self.at += 1;
                    let character = self.escape()?;
                    let mut bytes = [0; 4];
                    self.open_string
                        .extend_from_slice(character.encode_utf8(&mut bytes).as_bytes());
                }
                Some(_) => return self.error("a control character in a string"),
                None => return self.error("the text ends inside a string"),
            }
        }
        self.at += 1;
        match std::str::from_utf8(&self.open_string) {
            Ok(string) => Ok(string.to_owned()),
            Err(_) => self.error("a string that is no UTF-8 ends"),
        }
    }

    /// The character after a backslash. Half a surrogate pair becomes U+FFFD, as the original reads
    /// it.
    fn escape(&mut self) -> Result<char, JsonError> {
        let escape = self.rest().first().copied();
        self.at += 1;
        let character = match escape {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(),
            _ => {
                self.at -= 1;
                return self.error("no such escape");
            }
        };
        Ok(character)
    }

    fn unicode(&mut self) -> Result<char, JsonError> {
        let Some(high) = hex4(self.rest()) else {
            return self.error("no four hexadecimal digits");
        };
        self.at += 4;
        let low = self.rest().strip_prefix(b"\\u").and_then(hex4);
        match (high, low) {
            (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                self.at += 6;
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
            }
            _ => Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }

    /// The next byte that is no white space, which stays.
    fn next_byte(&mut self) -> Option<u8> {
        while self.skip_if(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {}
        self.rest().first().copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn error<T>(&self, reason: &'static str) -> Result<T, JsonError> {
        Err(JsonError { at: self.at, reason })
    }
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    bytes
        .get(..4)?
        .iter()
        .try_fold(0, |code, byte| char::from(*byte).to_digit(16).map(|digit| code * 16 + digit))
}
