//! Plain text: what a program prints, line by line, and all of it as its answer.

use ah_model::{RawJson, Timestamp};
use serde_json::{Value, json};

use super::{PLACE, Streamed, events, keyed};
use crate::unreadable::{self, Place};

/// Most bytes of a plain answer that are kept as one message.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct TextStream {
    answer: String,
}

impl TextStream {
    pub(super) fn line(&mut self, line: &[u8], number: u64, at: Timestamp) -> Vec<Streamed> {
        let text = String::from_utf8_lossy(line);
        if self.answer.len() + text.len() < ANSWER_BYTES_MAX {
            self.answer.push_str(&text);
            self.answer.push('\n');
        }
        printed(line, number, at)
    }

    pub(super) fn end(&mut self, at: Timestamp) -> Vec<Streamed> {
        let answer = std::mem::take(&mut self.answer);
        match answer.trim() {
            "" => Vec::new(),
            said => event("assistant_message", &json!({ "text": said }), at),
        }
    }
}

/// A line that a program printed.
pub(super) fn printed(line: &[u8], number: u64, at: Timestamp) -> Vec<Streamed> {
    match std::str::from_utf8(line) {
        Ok(text) => event("hostLog", &json!({ "stream": "stdout", "text": text }), at),
        Err(_) => {
            let place = Place::new(PLACE, Some(number), "is not UTF-8");
            keyed(unreadable::kept(&place, line, String::new(), at), None)
        }
    }
}

fn event(kind: &str, data: &Value, at: Timestamp) -> Vec<Streamed> {
    let data = RawJson::of(data).unwrap_or_else(|_| RawJson::null());
    events(&data, kind.to_owned(), None, at)
}
