//! Server-sent events: a session's log, or everything.
//!
//! `id:` is the place behind an entry, a seq or a cursor of the feed, so a client that comes back
//! with `Last-Event-ID` goes on where it was. Nothing is queued for a slow reader: it is served from
//! the store once it has taken what came before. The stream ends when the server stops; when the
//! session is deleted or cannot be read, or the caller's token is not good any more, its last event
//! is `problem`, without an id.

use std::pin::{Pin, pin};
use std::str::FromStr;
use std::sync::Arc;
use std::vec;

use ah_model::FeedEntry;
use ah_store::BoxError;
use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use tokio::time::{Instant, Sleep, sleep};

use crate::auth::Lasting;
use crate::limits::{HEARTBEAT, STREAM_PART_BYTES};
use crate::live::{Batch, News, Reader};
use crate::metrics::Counted;
use crate::parts::{self, Parts};
use crate::problem::Failure;

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

/// The place that the stream begins behind: a client that comes back says it in a header.
pub(crate) fn begin<T: FromStr>(headers: &HeaderMap, asked: T) -> Result<T, Failure> {
    let Some(id) = headers.get(LAST_EVENT_ID) else {
        return Ok(asked);
    };
    let place = id.to_str().ok().and_then(|id| id.trim().parse().ok());
    place.ok_or_else(|| Failure::invalid("Last-Event-ID", format!("{id:?} is no place here")))
}

/// Answers with what `reader` reads, for as long as it does and `right` lasts, counted as a
/// subscriber.
pub(crate) fn stream(reader: impl Reader, right: Lasting, subscriber: Counted) -> Response {
    let source = Source::new(reader, right, subscriber);
    let mut response = Response::new(parts::body(source));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// What is known between two parts of the stream.
struct Source<R> {
    reader: R,
    right: Lasting,
    _subscriber: Counted,
    /// Read from the store and not yet written.
    ready: vec::IntoIter<FeedEntry>,
    /// Runs out no sooner than the next heartbeat is due.
    timer: Pin<Box<Sleep>>,
    said: Instant,
    ended: bool,
}

impl<R: Reader> Source<R> {
    fn new(reader: R, right: Lasting, subscriber: Counted) -> Self {
        let (timer, said) = (Box::pin(sleep(HEARTBEAT)), Instant::now());
        Self {
            reader,
            right,
            _subscriber: subscriber,
            ready: Vec::new().into_iter(),
            timer,
            said,
            ended: false,
        }
    }

    /// What the reader says next, or why the caller may not hear it; nothing when a sign of life may
    /// be due. What the reader does is not broken off to look at the token.
    async fn wait(&mut self) -> Option<Result<Option<News>, Failure>> {
        let Self { reader, right, timer, .. } = self;
        let mut next = pin!(reader.next());
        loop {
            let news = tokio::select! {
                news = &mut next => Some(news),
                () = timer.as_mut() => None,
                () = right.due() => {
                    match right.check().await {
                        Ok(()) => continue,
                        Err(failure) => return Some(Err(failure)),
                    }
                }
            };
            return match right.check().await {
                Ok(()) => news,
                Err(failure) => Some(Err(failure)),
            };
        }
    }

    /// Frames of entries that were read already, up to the size of a part.
    fn take_ready(&mut self) -> Bytes {
        let mut part = Vec::new();
        while part.len() < STREAM_PART_BYTES {
            let Some(entry) = self.ready.next() else { break };
            if self.reader.wants(&entry) {
                R::FRAME(&mut part, &entry);
            }
        }
        part.into()
    }

    /// Frames of what the reader said; nothing at the end.
    fn take(&mut self, news: Result<Option<News>, Failure>) -> Option<Bytes> {
        match news {
            Ok(None) => None,
            Ok(Some(News::Stored(entries))) => {
                self.ready = entries.into_iter();
                Some(self.take_ready())
            }
            Ok(Some(News::Live(batch, first))) => Some(self.chosen(&batch, first)),
            Err(failure) => Some(self.problem(&failure)),
        }
    }

    /// The last that is said.
    fn problem(&mut self, failure: &Failure) -> Bytes {
        self.ended = true;
        let data = serde_json::to_string(failure.problem()).unwrap_or_default();
        format!("event: problem\ndata: {data}\n\n").into()
    }

    /// The frames of a batch from `first` on: shared if all of them are wanted.
    fn chosen(&self, batch: &Arc<Batch>, first: usize) -> Bytes {
        if self.reader.wants_all() {
            return batch.frames_from(first);
        }
        let mut part = Vec::new();
        for (index, entry) in batch.entries().iter().enumerate().skip(first) {
            if self.reader.wants(entry) {
                part.extend_from_slice(batch.frame(index));
            }
        }
        part.into()
    }

    /// A sign of life, if nothing was said for that long; with the place, where the client would
    /// otherwise come back to one long past.
    fn heartbeat(&mut self) -> Bytes {
        let due = self.said + HEARTBEAT;
        if Instant::now() < due {
            self.timer.as_mut().reset(due);
            return Bytes::new();
        }
        self.timer.as_mut().reset(Instant::now() + HEARTBEAT);
        match self.reader.place() {
            Some(place) => format!(":\nid: {place}\n\n").into(),
            None => Bytes::from_static(b":\n\n"),
        }
    }
}

impl<R: Reader> Parts for Source<R> {
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, BoxError> {
        if self.ended {
            return Ok(None);
        }
        loop {
            let mut part = self.take_ready();
            if part.is_empty() {
                part = match self.wait().await {
                    Some(news) => match self.take(news) {
                        Some(part) => part,
                        None => return Ok(None),
                    },
                    None => self.heartbeat(),
                }
            } else if let Err(failure) = self.right.check().await {
                part = self.problem(&failure);
            }
            if !part.is_empty() {
                self.said = Instant::now();
                return Ok(Some((part, self)));
            }
        }
    }
}
