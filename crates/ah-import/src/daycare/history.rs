//! `history.jsonl`, line by line: a record, a marker that begins a session, or neither.

use ah_model::limits::{EVENT_DATA_BYTES_MAX, PROMPT_BYTES_MAX};
use ah_model::{JsonMember, NewEvent, RawJson, check_text};

use crate::raw_object::{Moment, RawObject, exact_text, lossy_text, storable};

/// The name of the file.
pub(super) const FILE: &str = "history.jsonl";

/// Longest line that may be a record: an event with room for its type and time.
pub(super) const LINE_BYTES_MAX: usize = EVENT_DATA_BYTES_MAX + 64 * 1024;

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// Something that happened.
    Record {
        /// Its type.
        kind: String,
        /// Its time.
        at: Moment,
        /// Everything else it says.
        data: RawJson,
    },
    /// The beginning of a session.
    Marker(Marker),
    /// Neither, for this reason.
    Unreadable(String),
}

/// The beginning of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Marker {
    /// Its time.
    pub(super) at: Moment,
    /// The message that the session begins with.
    pub(super) message: Option<String>,
    /// What it says beyond that.
    pub(super) rest: Option<Rest>,
}

/// What a session does not hold of the marker that begins it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rest {
    /// Why it is kept.
    pub(super) why: &'static str,
    /// The type and payload of the event it is kept as, or why there cannot be one.
    pub(super) event: Result<(String, RawJson), String>,
}

/// Whether a line has nothing in it.
pub(super) fn is_blank(line: &[u8]) -> bool {
    line.iter().all(u8::is_ascii_whitespace)
}

/// Whether a line begins a session.
pub(super) fn is_marker(line: &[u8]) -> bool {
    let holds = |word: &[u8]| line.windows(word.len()).any(|part| part == word);
    // Reading every line to its end is what this saves.
    let perhaps = holds(b"start") || holds(b"reset") || holds(b"\\u00");
    perhaps && matches!(read(line), Entry::Marker(_))
}

/// Reads a line.
pub(super) fn read(line: &[u8]) -> Entry {
    let json = match crate::agent::json(line) {
        Ok(json) => json,
        Err(reason) => return Entry::Unreadable(short(&reason)),
    };
    let Some(mut rest) = RawObject::of(&json) else {
        return Entry::Unreadable("is not a JSON object".to_owned());
    };
    let kind = match rest.find("type").map(|member| kind_of(&member)) {
        None => return Entry::Unreadable("has no type".to_owned()),
        Some(Err(reason)) => return Entry::Unreadable(reason.to_owned()),
        Some(Ok(kind)) => kind,
    };
    rest.take("type");
    let at = Moment::of(rest.find("at").map(|member| member.value));
    if at.is_exact() {
        rest.take("at");
    }
    match kind.as_str() {
        "start" | "reset" => Entry::Marker(marker(kind, at, &rest)),
        _ => match event(kind, rest.to_json()) {
            Ok((kind, data)) => Entry::Record { kind, at, data },
            Err(reason) => Entry::Unreadable(reason),
        },
    }
}

/// The reason without the line of the value, which is always the first.
fn short(reason: &str) -> String {
    reason.replace(" at line 1 column ", " at column ")
}

fn kind_of(member: &JsonMember<'_>) -> Result<String, &'static str> {
    if !member.value.starts_with('"') {
        return Err("its type is not a string");
    }
    exact_text(member.value).ok_or("its type is no text")
}

/// Type and payload, if an event may have them.
fn event(kind: String, data: RawJson) -> Result<(String, RawJson), String> {
    let event = NewEvent { kind, data, dedup_key: None, ts: None };
    event.check().map_err(|invalid| invalid.to_string())?;
    Ok((event.kind, event.data))
}

fn marker(kind: String, at: Moment, said: &RawObject<'_>) -> Marker {
    let mut rest = said.clone();
    let (mut message, mut why) = (None, "it says more than a session holds");
    if let Some(member) = rest.find("message") {
        let exact = exact_text(member.value);
        match exact.filter(|text| check_text("", text, PROMPT_BYTES_MAX).is_ok()) {
            Some(text) => {
                rest.take("message");
                message = Some(text);
            }
            None => {
                message = lossy_text(member.value).map(|text| storable(&text));
                why = "its message cannot be stored as it is";
            }
        }
    }
    let rest = (!rest.is_empty()).then(|| Rest { why, event: event(kind, said.to_json()) });
    Marker { at, message, rest }
}

#[cfg(test)]
mod tests {
    use ah_model::Timestamp;

    use super::*;

    fn reason(line: &[u8]) -> String {
        match read(line) {
            Entry::Unreadable(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_is_no_record_says_why() {
        for (line, expected) in [
            (&b"null"[..], "is not a JSON object"),
            (b"42", "is not a JSON object"),
            (b"{\"type\":\"no", "is not JSON: EOF while parsing a string at column 11"),
            (b"{\"type\":\"a\xff\"}", "is not UTF-8 from byte 10 on"),
            (b"{\"at\":1}", "has no type"),
            (b"{\"type\":7}", "its type is not a string"),
            (b"{\"type\":\"\\ud800\"}", "its type is no text"),
            (b"{\"type\":\" \"}", "invalid type: must not be empty"),
            (b"{\"type\":\"a\\u0000\"}", "invalid type: NUL byte at offset 1"),
        ] {
            assert_eq!(reason(line), expected);
        }
        let long = format!("{{\"type\":\"{}\"}}", "x".repeat(129));
        assert_eq!(reason(long.as_bytes()), "invalid type: 129 bytes, at most 128 are allowed");
        let deep = format!("{{\"type\":\"a\",\"x\":{}{}}}", "[".repeat(600), "]".repeat(600));
        assert_eq!(
            reason(deep.as_bytes()),
            "invalid data: nested 601 deep, at most 500 are allowed"
        );
        let bottomless = "[".repeat(1_000_000);
        assert!(reason(bottomless.as_bytes()).starts_with("is not JSON: EOF"));
    }

    #[test]
    fn a_record_keeps_a_time_that_is_no_whole_number_in_its_payload() {
        for (line, at, kept) in [
            (r#"{"at":5,"type":"note","text":"x"}"#, Some(5), r#"{"text":"x"}"#),
            (r#"{"at":5.9,"type":"note"}"#, Some(5), r#"{"at":5.9}"#),
            (r#"{"at":"5","type":"note"}"#, None, r#"{"at":"5"}"#),
            (r#"{"type":"note"}"#, None, "{}"),
        ] {
            let Entry::Record { kind, at: found, data } = read(line.as_bytes()) else {
                panic!("{line}");
            };
            assert_eq!(kind, "note");
            assert_eq!((found.time(), data.as_str()), (at.map(Timestamp::from_unix_ms), kept));
        }
    }

    fn marked(line: &str) -> (Option<String>, Option<(&'static str, String)>) {
        assert!(is_marker(line.as_bytes()), "{line}");
        let Entry::Marker(marker) = read(line.as_bytes()) else {
            panic!("{line}");
        };
        let rest = marker.rest.map(|rest| (rest.why, rest.event.unwrap().1.as_str().to_owned()));
        (marker.message, rest)
    }

    #[test]
    fn a_marker_is_an_event_only_for_what_a_session_does_not_hold() {
        let more = "it says more than a session holds";
        let odd = "its message cannot be stored as it is";
        let text = |text: &str| Some(text.to_owned());
        let kept = |why, json: &str| Some((why, json.to_owned()));
        for (line, message, rest) in [
            (r#"{"type":"start","at":1}"#, None, None),
            (r#"{"type":"start"}"#, None, None),
            (r#"{"type":"reset","at":1,"message":"   "}"#, text("   "), None),
            (r#"{"typ\u0065":"res\u0065t","at":1,"message":""}"#, text(""), None),
            (
                r#"{"type":"reset","at":1,"message":"m","by":"me"}"#,
                text("m"),
                kept(more, r#"{"message":"m","by":"me"}"#),
            ),
            (r#"{"type":"reset","at":1.5}"#, None, kept(more, r#"{"at":1.5}"#)),
            (r#"{"type":"reset","at":1,"message":7}"#, None, kept(odd, r#"{"message":7}"#)),
            (
                r#"{"type":"reset","at":1,"message":"a\u0000\ud800"}"#,
                text("a\u{fffd}\u{fffd}"),
                kept(odd, r#"{"message":"a\u0000\ud800"}"#),
            ),
        ] {
            assert_eq!(marked(line), (message, rest), "{line}");
        }
        let line =
            format!(r#"{{"type":"reset","message":"é{}"}}"#, "é".repeat(PROMPT_BYTES_MAX / 2));
        let (message, rest) = marked(&line);
        assert_eq!(message.unwrap().len(), PROMPT_BYTES_MAX);
        assert_eq!(rest.unwrap().0, odd);
    }
}
