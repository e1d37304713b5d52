//! Writes values byte for byte as Go 1.24's `MarshalIndent` does, but for numbers: they stay.

use super::{Member, Value, runs};

/// How much is given away at once; whoever takes it still finds it in a cache, and an allocator keeps
/// room for it.
const PIECE_BYTES: usize = 96 * 1024;
/// How much of a string is encoded before that is looked at.
const PART_BYTES: usize = 16 * 1024;

/// Takes the next bytes of an encoding, and leaves those that it does not want yet.
pub(crate) type Take<'a> = &'a mut dyn FnMut(&mut Vec<u8>);

/// Where an encoding goes.
pub(super) struct Out<'a> {
    bytes: Vec<u8>,
    /// Takes what is there whenever there is enough.
    take: Option<Take<'a>>,
}

impl<'a> Out<'a> {
    /// Keeps everything, and has room for that much.
    pub(super) fn whole(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), take: None }
    }

    /// Gives it away piece by piece; what is left there is given again.
    pub(super) fn pieces(take: Take<'a>) -> Self {
        Self { bytes: Vec::with_capacity(PIECE_BYTES + 3 * PART_BYTES / 2), take: Some(take) }
    }

    fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn give(&mut self, bytes_min: usize) {
        if self.bytes.len() >= bytes_min
            && let Some(take) = &mut self.take
        {
            take(&mut self.bytes);
        }
    }

    /// Gives the rest away.
    pub(super) fn end(mut self) {
        self.give(1);
    }

    /// What was kept; all of it is text.
    pub(super) fn text(self) -> String {
        String::from_utf8(self.bytes).unwrap_or_default()
    }
}

pub(super) fn value(any: &Value, depth: usize, out: &mut Out<'_>) {
    match any {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => out.extend_from_slice(number.as_str().as_bytes()),
        Value::String(text) => string(text, out),
        Value::Array(elements) => array(elements, depth, out),
        Value::Object(members) => object(members.iter(), depth, out, value),
    }
}

/// An object of the original's struct, with its members in the given order.
pub(super) fn members(members: &[(&str, Member<'_>)], out: &mut Out<'_>) {
    let members = members.iter().map(|(key, member)| (*key, member));
    object(members, 0, out, |member, depth, out| match member {
        Member::Text(text) => string(text, out),
        Member::Map(None) => out.extend_from_slice(b"null"),
        Member::Map(Some(map)) => object(map.iter(), depth, out, value),
        Member::Other(other) => value(other, depth, out),
    });
}

fn object<'a, T: 'a>(
    members: impl Iterator<Item = (&'a str, &'a T)>,
    depth: usize,
    out: &mut Out<'_>,
    encode: impl Fn(&T, usize, &mut Out<'_>),
) {
    let mut opened = false;
    out.push(b'{');
    for (key, member) in members {
        if opened {
            out.push(b',');
        }
        opened = true;
        line(depth + 1, out);
        string(key, out);
        out.extend_from_slice(b": ");
        encode(member, depth + 1, out);
    }
    if opened {
        line(depth, out);
    }
    out.push(b'}');
}

fn array(elements: &[Value], depth: usize, out: &mut Out<'_>) {
    out.push(b'[');
    for (index, element) in elements.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        line(depth + 1, out);
        value(element, depth + 1, out);
    }
    if !elements.is_empty() {
        line(depth, out);
    }
    out.push(b']');
}

fn line(depth: usize, out: &mut Out<'_>) {
    out.give(PIECE_BYTES);
    out.push(b'\n');
    for _ in 0..depth {
        out.extend_from_slice(b"  ");
    }
}

fn string(text: &str, out: &mut Out<'_>) {
    out.push(b'"');
    let mut rest = text;
    while !rest.is_empty() {
        let (part, more) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        escaped(part, out);
        out.give(PIECE_BYTES);
        rest = more;
    }
    out.push(b'"');
}

fn escaped(text: &str, out: &mut Out<'_>) {
    let mut rest = text;
    loop {
        let plain = runs::copy_until(rest.as_bytes(), &mut out.bytes, runs::escaped);
        let mut characters = rest.get(plain..).unwrap_or_default().chars();
        let Some(character) = characters.next() else { break };
        escape(character, out);
        rest = characters.as_str();
    }
}

/// HTML's own characters and JavaScript's line ends are escaped too, so that the text can stand in
/// either.
fn escape(character: char, out: &mut Out<'_>) {
    match character {
        '"' => out.extend_from_slice(b"\\\""),
        '\\' => out.extend_from_slice(b"\\\\"),
        '\n' => out.extend_from_slice(b"\\n"),
        '\r' => out.extend_from_slice(b"\\r"),
        '\t' => out.extend_from_slice(b"\\t"),
        '\u{8}' => out.extend_from_slice(b"\\b"),
        '\u{c}' => out.extend_from_slice(b"\\f"),
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' => {
            out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
        }
        other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}
