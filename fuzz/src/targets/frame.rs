//! Frames of executors: bytes of a peer that nobody has reason to trust.

use ah_access::frame::{Decoder, Frame, FrameError, Lane, VERSION};

pub(crate) const WORDS: &[&str] = &[
    "\0\0\0\u{2}",
    "\u{1}",
    "\u{7f}",
    "{}",
    "null",
    "\"protocol\":1",
    "\"deadlineMs\":0",
    "[]",
    "1e99",
];

const EVERYWHERE: &[Lane] = &[
    Lane::ExecutorControl,
    Lane::ServerControl,
    Lane::Request,
    Lane::Answer,
    Lane::Report,
    Lane::ReportAck,
];

/// One of each kind, as a number and a body.
const FRAMES: &str = include_str!("../../seeds/frames.txt");

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let frames: Vec<Vec<u8>> = FRAMES.lines().map(frame).collect();
    for bytes in &frames {
        // A seed that is none finds nothing.
        let (frames, error) = decoded(bytes, bytes.len());
        assert!(frames.len() == 1 && error.is_none(), "{error:?}: {}", bytes.escape_ascii());
    }
    frames
}

fn frame(line: &str) -> Vec<u8> {
    let (kind, body) = line.split_once(' ').expect("a number and a body");
    let length = u32::try_from(body.len() + 2).expect("a short body");
    let kind = kind.parse().expect("the number of a kind");
    [&length.to_be_bytes()[..], &[VERSION, kind], body.as_bytes()].concat()
}

/// However the bytes are cut the same comes out, and no more is held than has arrived twice over.
pub(crate) fn run(input: &[u8]) {
    let whole = decoded(input, input.len().max(1));
    assert_eq!(whole, decoded(input, 7));
    for frame in &whole.0 {
        let again = frame.encode().map(|bytes| decoded(&bytes, bytes.len()).0);
        assert_eq!(again.as_deref(), Ok(std::slice::from_ref(frame)));
    }
}

fn decoded(input: &[u8], size: usize) -> (Vec<Frame>, Option<FrameError>) {
    let (mut decoder, mut frames) = (Decoder::new(EVERYWHERE), Vec::new());
    for mut piece in input.chunks(size) {
        loop {
            match decoder.decode(&mut piece) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
        assert!(decoder.held_bytes() <= 2 * input.len(), "{}", decoder.held_bytes());
    }
    (frames, decoder.finish().err())
}
