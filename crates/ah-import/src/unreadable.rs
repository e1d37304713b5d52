//! What cannot be read is kept: an event of type `unreadable` with the bytes as they were, in parts
//! when there are too many for one event.

use std::borrow::Cow;
use std::io::{self, Read};

use ah_model::limits::EVENT_DATA_BYTES_MAX;
use ah_model::{NewEvent, RawJson, Timestamp, to_hex};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The type of such an event.
pub(crate) const UNREADABLE: &str = "unreadable";

/// Bytes of a part: escaped six times as long and once more in hexadecimal it still is an event.
const PART_BYTES: usize = 1024 * 1024;

/// Where it stood and why it cannot be read.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u64>,
    pub(crate) reason: &'a str,
    /// The type that was said beside the bytes.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<&'a str>,
    /// The time that was said beside the bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<&'a RawJson>,
    /// When it happened, if that is known.
    #[serde(skip)]
    pub(crate) time: Option<Timestamp>,
}

impl<'a> Place<'a> {
    pub(crate) fn new(file: &'a str, line: Option<u64>, reason: &'a str) -> Self {
        Self { file, line, reason, kind: None, at: None, time: None }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept<'a> {
    #[serde(flatten)]
    place: &'a Place<'a>,
    raw: Cow<'a, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<u64>,
}

impl<'a> Kept<'a> {
    fn of(place: &'a Place<'a>, bytes: &'a [u8]) -> Self {
        let raw = String::from_utf8_lossy(bytes);
        let raw_hex = std::str::from_utf8(bytes).is_err().then(|| to_hex(bytes));
        Self { place, raw, raw_hex, part: None, of: None }
    }

    fn json(&self) -> RawJson {
        RawJson::of(self).unwrap_or_else(|_| RawJson::null())
    }
}

/// All of `bytes` as one payload, or nothing when they are too many for one event.
pub(crate) fn whole(place: &Place<'_>, bytes: &[u8]) -> Option<RawJson> {
    if bytes.len() > EVENT_DATA_BYTES_MAX {
        return None;
    }
    let json = Kept::of(place, bytes).json();
    (json.as_str().len() <= EVENT_DATA_BYTES_MAX).then_some(json)
}

/// `data` as one event, or in parts where it is more than one may hold; `file` says where it stood.
pub(crate) fn events(
    file: &str,
    data: &RawJson,
    kind: String,
    key: String,
    time: Timestamp,
) -> Vec<NewEvent> {
    let dedup_key = Some(key.clone());
    let whole = NewEvent { kind, data: data.clone(), dedup_key, ts: Some(time) };
    let Err(refused) = whole.check() else { return vec![whole] };
    let reason = refused.to_string();
    let place = Place { kind: Some(&whole.kind), ..Place::new(file, None, &reason) };
    in_parts(&place, data.as_str().as_bytes(), &key, time)
}

/// `bytes` that cannot be read, as one event or in parts.
pub(crate) fn kept(place: &Place<'_>, bytes: &[u8], key: String, time: Timestamp) -> Vec<NewEvent> {
    match whole(place, bytes) {
        Some(data) => {
            let kind = UNREADABLE.to_owned();
            vec![NewEvent { kind, data, dedup_key: Some(key), ts: Some(time) }]
        }
        None => in_parts(place, bytes, &key, time),
    }
}

fn in_parts(place: &Place<'_>, bytes: &[u8], key: &str, time: Timestamp) -> Vec<NewEvent> {
    let mut parts = Parts::new(bytes, bytes.len() as u64);
    let mut events = Vec::new();
    // Bytes in memory are always read.
    while let Ok(Some(data)) = parts.next(place) {
        let dedup_key = Some(format!("{key}/{}", events.len() + 1));
        events.push(NewEvent { kind: UNREADABLE.to_owned(), data, dedup_key, ts: Some(time) });
    }
    events
}

/// The next bytes of something long, as one payload after the other. No part ends within a
/// character.
pub(crate) struct Parts<R> {
    input: R,
    /// Bytes not read yet.
    left: u64,
    part: u64,
    of: u64,
    /// Bytes of a character that began in the part before.
    begun: Vec<u8>,
}

impl<R: Read> Parts<R> {
    /// The first `bytes` of `input`.
    pub(crate) fn new(input: R, bytes: u64) -> Self {
        Self { input, left: bytes, part: 0, of: bytes.div_ceil(PART_BYTES as u64), begun: vec![] }
    }

    pub(crate) fn next(&mut self, place: &Place<'_>) -> io::Result<Option<RawJson>> {
        if self.left == 0 {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.begun);
        let old = bytes.len();
        let new = usize::try_from(self.left).unwrap_or(usize::MAX).min(PART_BYTES);
        bytes.resize(old + new, 0);
        self.input.read_exact(&mut bytes[old..])?;
        self.left -= new as u64;
        self.part += 1;
        if self.left > 0 {
            self.begun = bytes.split_off(bytes.len() - begun_character(&bytes));
        }
        let kept = Kept { part: Some(self.part), of: Some(self.of), ..Kept::of(place, &bytes) };
        Ok(Some(kept.json()))
    }
}

/// How many bytes at the end of `bytes` are the beginning of a character.
fn begun_character(bytes: &[u8]) -> usize {
    let begins = |count: &usize| {
        let error = std::str::from_utf8(&bytes[bytes.len() - count..]).err();
        error.is_some_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=bytes.len().min(3)).find(begins).unwrap_or(0)
}

/// What a line is known by: the first 64 bits of its SHA-256.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    first_bits(&Sha256::digest(bytes))
}

/// As [`fingerprint`], of the first `bytes` of `input`.
pub(crate) fn fingerprint_of(input: impl Read, bytes: u64) -> io::Result<u64> {
    let mut input = input.take(bytes);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(first_bits(&digest.finalize())),
            count => digest.update(&buffer[..count]),
        }
    }
}

fn first_bits(digest: &[u8]) -> u64 {
    digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(bytes: &[u8]) -> Vec<serde_json::Value> {
        let place = Place::new("f", Some(7), "long");
        let mut parts = Parts::new(bytes, bytes.len() as u64);
        let mut found = Vec::new();
        while let Some(json) = parts.next(&place).unwrap() {
            found.push(json.read().unwrap());
        }
        found
    }

    #[test]
    fn the_parts_of_a_text_are_texts_and_together_the_whole() {
        for filler in ["x", "xé", "€", "😀"] {
            let text = filler.repeat(2 * PART_BYTES / filler.len() + 5);
            let found = parts(text.as_bytes());
            assert_eq!(found.len(), 3, "{filler}");
            assert!(found.iter().all(|part| part.get("rawHex").is_none() && part["of"] == 3));
            let together: String = found.iter().map(|part| part["raw"].as_str().unwrap()).collect();
            assert_eq!(together, text);
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_in_the_parts_in_hexadecimal() {
        let bytes: Vec<u8> = (0..=255).cycle().take(PART_BYTES + 300).collect();
        let found = parts(&bytes);
        let together: String = found.iter().map(|part| part["rawHex"].as_str().unwrap()).collect();
        assert_eq!(together, to_hex(&bytes));
    }

    #[test]
    fn what_fits_is_one_payload() {
        let place = Place::new("f", Some(7), "no JSON");
        let json = whole(&place, b"{\"a\0").unwrap();
        assert_eq!(json.as_str(), r#"{"file":"f","line":7,"reason":"no JSON","raw":"{\"a\u0000"}"#);
        let json = whole(&place, b"a\xff").unwrap();
        assert_eq!(
            json.as_str(),
            "{\"file\":\"f\",\"line\":7,\"reason\":\"no JSON\",\"raw\":\"a\u{fffd}\",\"rawHex\":\"61ff\"}"
        );
        assert!(whole(&place, &vec![0; EVENT_DATA_BYTES_MAX / 6]).is_none());
    }

    #[test]
    fn a_fingerprint_is_the_beginning_of_the_digest() {
        assert_eq!(fingerprint(b"abc"), 0xba78_16bf_8f01_cfea);
        assert_eq!(fingerprint_of(&b"abcd"[..], 3).unwrap(), fingerprint(b"abc"));
    }
}
