//! Cursors of lists and of the feed: opaque texts that anybody may send.

use ah_model::{Cursor, FeedCursor, Timestamp, to_hex};

pub(crate) const WORDS: &[&str] = &["a", "n", "t", ":", "-", "61", "6e", "74", "3a", "00", "ff"];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let at = Timestamp::from_unix_ms(1_700_000_000_000);
    let cursors = [
        Cursor::Number(-7),
        Cursor::Text("a:b".to_owned()),
        Cursor::Activity { at, id: "ses_1".to_owned() },
    ];
    let texts = cursors.iter().map(ToString::to_string).chain(["12-5".to_owned()]);
    texts.map(String::into_bytes).chain([b"n9".to_vec(), b"a12:x".to_vec()]).collect()
}

pub(crate) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    // As it is, and as the inside of a well-formed one.
    for text in [text.as_ref(), &to_hex(input)] {
        if let Ok(cursor) = text.parse::<Cursor>() {
            assert_eq!(cursor.to_string().parse(), Ok(cursor), "{text:?}");
        }
        if let Ok(cursor) = text.parse::<FeedCursor>() {
            assert_eq!(cursor.to_string().parse(), Ok(cursor), "{text:?}");
        }
    }
}
