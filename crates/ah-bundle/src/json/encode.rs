//! Writes values byte for byte as Go 1.24's `MarshalIndent` does, but for numbers: they stay.

use super::{Member, Value, runs};

/// What was written; all of it is text.
pub(super) fn text(out: Vec<u8>) -> String {
    String::from_utf8(out).unwrap_or_default()
}

pub(super) fn value(any: &Value, depth: usize, out: &mut Vec<u8>) {
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
pub(super) fn members(members: &[(&str, Member<'_>)], out: &mut Vec<u8>) {
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
    out: &mut Vec<u8>,
    encode: impl Fn(&T, usize, &mut Vec<u8>),
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

fn array(elements: &[Value], depth: usize, out: &mut Vec<u8>) {
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

fn line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    for _ in 0..depth {
        out.extend_from_slice(b"  ");
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text;
    loop {
        let plain = runs::copy_until(rest.as_bytes(), out, runs::escaped);
        let mut characters = rest.get(plain..).unwrap_or_default().chars();
        let Some(character) = characters.next() else { break };
        escape(character, out);
        rest = characters.as_str();
    }
    out.push(b'"');
}

/// HTML's own characters and JavaScript's line ends are escaped too, so that the text can stand in
/// either.
fn escape(character: char, out: &mut Vec<u8>) {
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
