//! A session's log as server-sent events.
//!
//! `id:` is the seq, so a client that comes back with `Last-Event-ID` goes on where it was. Nothing
//! is queued for a slow reader: the next events are read from the store once it has taken those
//! before. The stream ends when the server stops; when the session is deleted or cannot be read,
//! its last event is `problem`, without an id.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use ah_model::{Event, EventQuery, SessionId};
use ah_store::EventWatch;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use http_body::Frame;
use tokio::time::sleep;

use crate::answer::Answer;
use crate::limits::{HEARTBEAT, STREAM_PART_BYTES};
use crate::problem::Failure;
use crate::state::ServerState;
use crate::store_call::next_events;

const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Whether the client asks for a stream.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = accepted.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let media_type = range.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case(EVENT_STREAM)
    })
}

/// The seq that the stream begins behind: a client that comes back says it in a header.
pub(crate) fn begin(headers: &HeaderMap, query: &EventQuery) -> Result<u64, Failure> {
    let Some(id) = headers.get(LAST_EVENT_ID) else {
        return Ok(query.after);
    };
    let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    seq.ok_or_else(|| Failure::invalid("Last-Event-ID", format!("{id:?} is not a seq")))
}

/// Answers with the events of `session` behind `after`, of the types asked for.
pub(crate) async fn stream(
    state: ServerState,
    session: SessionId,
    after: u64,
    types: Vec<String>,
) -> Answer {
    let watch = state.watch(session, after).await?;
    let source = Source { state, watch, types, ready: Vec::new().into_iter(), ended: false };
    let mut response = Response::new(Body::new(Stream { next: Some(Box::pin(source.part())) }));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// What is known between two parts of the stream.
struct Source {
    state: ServerState,
    watch: Box<dyn EventWatch>,
    types: Vec<String>,
    ready: vec::IntoIter<Event>,
    ended: bool,
}

impl Source {
    /// The next part, and what comes after it; nothing at the end.
    async fn part(mut self) -> Option<(Bytes, Self)> {
        if self.ended {
            return None;
        }
        let mut part = self.take_ready();
        if part.is_empty() {
            let state = self.state.clone();
            tokio::select! {
                () = state.closing() => return None,
                () = sleep(HEARTBEAT) => part.extend_from_slice(b":\n\n"),
                news = next_events(&mut *self.watch) => part = self.take(news),
            }
        }
        Some((part.into(), self))
    }

    /// Frames of events that were read already, up to the size of a part.
    fn take_ready(&mut self) -> Vec<u8> {
        let mut part = Vec::new();
        while part.len() < STREAM_PART_BYTES {
            let Some(event) = self.ready.next() else { break };
            if self.types.is_empty() || self.types.contains(&event.kind) {
                push_event(&mut part, &event);
            }
        }
        part
    }

    /// Frames of what the watch said.
    fn take(&mut self, news: Result<Vec<Event>, Failure>) -> Vec<u8> {
        match news {
            Ok(events) => {
                self.ready = events.into_iter();
                self.take_ready()
            }
            Err(failure) => {
                self.ended = true;
                let data = serde_json::to_string(failure.problem()).unwrap_or_default();
                format!("event: problem\ndata: {data}\n\n").into_bytes()
            }
        }
    }
}

/// Payloads hold no line ends between their tokens; a type may, and would break its frame.
fn push_event(part: &mut Vec<u8>, event: &Event) {
    let kind = event.kind.replace(['\n', '\r'], " ");
    part.extend_from_slice(format!("id: {}\nevent: {kind}\ndata: ", event.seq).as_bytes());
    // An event is texts, numbers and raw JSON, and a vector takes every byte.
    let _ = serde_json::to_writer(&mut *part, event);
    part.extend_from_slice(b"\n\n");
}

type NextPart = Pin<Box<dyn Future<Output = Option<(Bytes, Source)>> + Send>>;

/// The body: each part is made when the one before was taken.
struct Stream {
    next: Option<NextPart>,
}

impl http_body::Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(next) = &mut self.next else {
            return Poll::Ready(None);
        };
        let Some((part, source)) = ready!(next.as_mut().poll(cx)) else {
            self.next = None;
            return Poll::Ready(None);
        };
        self.next = Some(Box::pin(source.part()));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }
}
