//! What is fuzzed. A target panics when a promise is broken.

mod bundle;
mod cursor;
mod frame;
mod hook;
mod mux;
mod redact;

pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
    /// What its parser cares about.
    pub(crate) words: &'static [&'static str],
    pub(crate) run: fn(&[u8]),
    /// Bytes that any case may hold at once.
    pub(crate) held_min: usize,
    /// And how many more per byte of input.
    pub(crate) held_per_byte: usize,
}

const SMALL: usize = 256 * 1024;
/// The patterns keep what they learn, up to a bound.
const PATTERNS: usize = 8 * 1024 * 1024;

pub(crate) static TARGETS: [Target; 8] = [
    Target {
        name: "redact-text",
        seeds: redact::seeds,
        words: redact::WORDS,
        run: redact::text,
        held_min: PATTERNS,
        held_per_byte: 64,
    },
    Target {
        name: "redact-json",
        seeds: redact::seeds,
        words: redact::WORDS,
        run: redact::json,
        held_min: PATTERNS,
        held_per_byte: 128,
    },
    Target {
        name: "cursor",
        seeds: cursor::seeds,
        words: cursor::WORDS,
        run: cursor::run,
        held_min: SMALL,
        held_per_byte: 16,
    },
    Target {
        name: "bundle",
        seeds: bundle::seeds,
        words: bundle::WORDS,
        run: bundle::parse,
        held_min: SMALL,
        held_per_byte: 256,
    },
    Target {
        name: "pointer",
        seeds: bundle::pointers,
        words: bundle::WORDS,
        run: bundle::pointer,
        held_min: SMALL,
        held_per_byte: 256,
    },
    Target {
        name: "frame",
        seeds: frame::seeds,
        words: frame::WORDS,
        run: frame::run,
        held_min: SMALL,
        held_per_byte: 256,
    },
    Target {
        name: "mux",
        seeds: mux::seeds,
        words: mux::WORDS,
        run: mux::run,
        held_min: SMALL,
        held_per_byte: 16,
    },
    Target {
        name: "hook",
        seeds: hook::seeds,
        words: hook::WORDS,
        run: hook::run,
        held_min: PATTERNS,
        held_per_byte: 128,
    },
];
