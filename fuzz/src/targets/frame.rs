//! Frames of executors: bytes of a peer that nobody has reason to trust.

use ah_access::frame::{Decoder, Frame, FrameError, Lane};

#[path = "../../../crates/ah-access/tests/it/samples.rs"]
#[expect(unreachable_pub, dead_code, reason = "samples are of the tests, which use them all")]
mod samples;

pub(crate) const WORDS: &[&str] = &[
    "\0\0\0\u{2}", "\u{1}", "\u{7f}", "{}", "null", "\"protocol\":1", "\"deadline\":0", "[]", "1e99",
];

const EVERYWHERE: &[Lane] = &[
    Lane::ExecutorControl,
    Lane::ServerControl,
    Lane::Request,
    Lane::Answer,
    Lane::Report,
    Lane::ReportAck,
];

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    samples::all().iter().filter_map(|frame| frame.encode().ok()).collect()
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
