//! What the conversations of both sides have in common: how they end.

use std::time::Duration;

use tokio::time::timeout;

use crate::frame::Frame;
use crate::link::{Link, ReceiveError, Receiver, SendError, Sender};

/// How long a peer may take to read a farewell.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why a conversation is over.
pub(crate) enum Over {
    /// The peer, or the network.
    There,
    /// This side.
    Here {
        /// Why, as one word.
        word: &'static str,
    },
}

impl From<ReceiveError> for Over {
    fn from(error: ReceiveError) -> Self {
        error.word().map_or(Self::There, |word| Self::Here { word })
    }
}

impl From<SendError> for Over {
    fn from(_: SendError) -> Self {
        Self::There
    }
}

/// Closes the link; a peer that still listens hears why first.
pub(crate) async fn end(link: &Link, control: Sender, over: Over) {
    let word = match over {
        Over::There => "over",
        Over::Here { word } => {
            // A peer that does not take it in time does without.
            let _ = timeout(FAREWELL, control.deliver()).await;
            word
        }
    };
    link.close(word, "");
}

/// The next frame of a stream that may not be there yet.
pub(crate) async fn next_of(stream: &mut Option<Receiver>) -> Result<Option<Frame>, ReceiveError> {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}
