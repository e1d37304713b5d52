//! Bodies that are made part by part, each when the one before was taken: a slow reader costs no
//! more than one part.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ah_store::BoxError;
use axum::body::{Body, Bytes};
use http_body::Frame;

/// What a body is made of.
pub(crate) trait Parts: Sized + Send + 'static {
    /// The next part, and what comes after it; nothing at the end. An error breaks the answer off, so
    /// that nobody takes it for whole.
    fn part(self) -> impl Future<Output = Result<Option<(Bytes, Self)>, BoxError>> + Send;
}

/// A body of these.
pub(crate) fn body(parts: impl Parts) -> Body {
    Body::new(Parted { next: Some(Box::pin(parts.part())) })
}

type NextPart<P> = Pin<Box<dyn Future<Output = Result<Option<(Bytes, P)>, BoxError>> + Send>>;

struct Parted<P> {
    next: Option<NextPart<P>>,
}

impl<P: Parts> http_body::Body for Parted<P> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let made = ready!(next.as_mut().poll(cx));
        self.next = None;
        Poll::Ready(match made {
            Ok(None) => None,
            Ok(Some((part, rest))) => {
                self.next = Some(Box::pin(rest.part()));
                Some(Ok(Frame::data(part)))
            }
            Err(error) => Some(Err(error)),
        })
    }
}
