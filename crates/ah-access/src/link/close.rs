//! Why a link is over: a word for programs and words for people, the same over both transports.

use std::fmt;

use quinn::{ConnectionError, TransportErrorCode};
use rustls::{AlertDescription, Error as TlsError};

use crate::peer::told;

/// Longest reason that is sent or kept, word and detail together, in bytes.
pub const REASON_BYTES_MAX: usize = 1_024;
/// Longest word in bytes.
const WORD_BYTES_MAX: usize = 64;
/// What QUIC adds to the number of a TLS alert.
const QUIC_ALERTS: std::ops::RangeInclusive<u64> = 0x100..=0x1ff;

/// The words that this module itself closes with; frames and peers have theirs.
pub mod word {
    /// Nothing came before the time for the first frame was over.
    pub const NO_FRAME: &str = "no-frame";
    /// A frame was begun and took too long.
    pub const SLOW_FRAME: &str = "slow-frame";
    /// Whoever held the link let it go.
    pub const DROPPED: &str = "dropped";
    /// The peer gave no word, or none that can be read.
    pub const NO_WORD: &str = "no-word";
}

/// Why one side closed a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// For programs: small letters, digits and hyphens.
    pub word: String,
    /// For people; may be empty.
    pub detail: String,
}

impl Reason {
    /// A reason, cut to what may be sent.
    pub fn new(word: &str, detail: &str) -> Self {
        let room = REASON_BYTES_MAX.saturating_sub(word.len() + 2);
        let detail = detail.get(..detail.floor_char_boundary(room)).unwrap_or_default();
        Self { word: word.to_owned(), detail: printable(detail) }
    }

    /// What a peer sent, of which nothing is believed: it is cut, and made printable.
    pub(super) fn from_peer(bytes: &[u8]) -> Self {
        let bytes = bytes.get(..REASON_BYTES_MAX).unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let (word, detail) = text.split_once(": ").unwrap_or((&text, ""));
        match is_word(word) {
            true => Self::new(word, detail),
            false => Self::new(word::NO_WORD, &text),
        }
    }
}

/// As it is sent, too.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.detail.is_empty() {
            true => f.write_str(&self.word),
            false => write!(f, "{}: {}", self.word, self.detail),
        }
    }
}

fn is_word(text: &str) -> bool {
    let is_right = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (1..=WORD_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_right)
}

/// Without what a terminal would act on.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Why a link is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Closed {
    /// This side closed it.
    #[error("closed by this side: {0}")]
    Here(Reason),
    /// The peer closed it.
    #[error("closed by the peer: {0}")]
    There(Reason),
    /// The peer does not let this side in.
    #[error("not let in: {detail}")]
    NotLetIn {
        /// What it says about our certificate.
        detail: String,
    },
    /// The peer has no room for another connection now.
    #[error("the peer takes no more connections at present")]
    Busy,
    /// Nothing came from the peer for the time that a link may be idle.
    #[error("nothing came from the peer for too long")]
    Silent,
    /// The network, or a peer that breaks the rules of the transport.
    #[error("the connection broke: {detail}")]
    Broken {
        /// What happened.
        detail: String,
    },
}

impl Closed {
    pub(super) fn broken(detail: impl fmt::Display) -> Self {
        let detail = detail.to_string();
        let detail = detail.get(..detail.floor_char_boundary(REASON_BYTES_MAX));
        Self::Broken { detail: printable(detail.unwrap_or_default()) }
    }

    /// How QUIC says it.
    pub(super) fn of_quic(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::ApplicationClosed(close) => {
                Self::There(Reason::from_peer(&close.reason))
            }
            ConnectionError::ConnectionClosed(close)
                if close.error_code == TransportErrorCode::CONNECTION_REFUSED =>
            {
                Self::Busy
            }
            ConnectionError::ConnectionClosed(close) => {
                let reason = printable(&String::from_utf8_lossy(&close.reason));
                match alert(u64::from(close.error_code)) {
                    Some(alert) => Self::of_alert(alert, &reason),
                    None => Self::broken(error),
                }
            }
            ConnectionError::TimedOut => Self::Silent,
            ConnectionError::VersionMismatch
            | ConnectionError::TransportError(_)
            | ConnectionError::Reset
            | ConnectionError::LocallyClosed
            | ConnectionError::CidsExhausted => Self::broken(error),
        }
    }

    /// A peer that ends a handshake does not let this side in; `words` are its own, if it has any.
    pub(super) fn of_alert(alert: AlertDescription, words: &str) -> Self {
        let known = told(&TlsError::AlertReceived(alert));
        let detail = match (known, words) {
            (Some(known), "") => known.to_owned(),
            (Some(known), words) => format!("{known} ({words})"),
            (None, words) => format!("the other side ended the handshake with {alert:?} ({words})"),
        };
        Self::NotLetIn { detail }
    }
}

/// The alert of TLS that a code of QUIC stands for.
pub(super) fn alert(code: u64) -> Option<AlertDescription> {
    let is_alert = QUIC_ALERTS.contains(&code);
    let number = u8::try_from(code.checked_sub(*QUIC_ALERTS.start())?).ok()?;
    is_alert.then(|| AlertDescription::from(number))
}
