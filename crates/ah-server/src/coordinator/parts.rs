//! Answers that are made while they are sent: nothing is held for a slow reader.

use std::future::Future;

use ah_store::BoxError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use serde::Serialize;

use crate::parts::{self, Parts};
use crate::problem::Failure;

/// What an answer is made from.
pub(super) trait Source: Send + Sized + 'static {
    /// The next part, and what comes after it; nothing at the end. A failure cuts the answer off,
    /// so that nobody takes it for whole.
    fn part(self) -> impl Future<Output = Result<Option<(Bytes, Self)>, Failure>> + Send;
}

/// A body of what `source` gives.
pub(super) fn body<S: Source>(source: S) -> Body {
    parts::body(Said(source))
}

/// A source whose failure is said in its own words, as far as an answer under way can say anything.
struct Said<S>(S);

impl<S: Source> Parts for Said<S> {
    async fn part(self) -> Result<Option<(Bytes, Self)>, BoxError> {
        match self.0.part().await {
            Ok(next) => Ok(next.map(|(part, source)| (part, Self(source)))),
            Err(failure) => Err(failure.problem().detail.clone().into()),
        }
    }
}

/// A list that is read page by page.
pub(super) trait Pages: Send + 'static {
    /// What it is a list of.
    type Item: Serialize + Send;

    /// The next items; nothing after the last, however often it is asked.
    fn next(&mut self) -> impl Future<Output = Result<Option<Vec<Self::Item>>, Failure>> + Send;
}

/// Answers with all of `pages` as `{"name": […]}`. What cannot be read at all is a failure; later
/// there is an answer under way.
pub(super) async fn list<P: Pages>(name: &str, mut pages: P) -> Result<Response, Failure> {
    let ready = pages.next().await?;
    let opening = format!("{{\"{name}\":[").into_bytes();
    let document = Document { pages, ready, text: opening, some: false, ended: false };
    let mut response = Response::new(body(document));
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    Ok(response)
}

/// A list as one JSON document.
struct Document<P: Pages> {
    pages: P,
    /// Read and not yet written.
    ready: Option<Vec<P::Item>>,
    /// Written and not yet sent.
    text: Vec<u8>,
    /// Whether an item was written, so that the next needs a comma.
    some: bool,
    ended: bool,
}

impl<P: Pages> Document<P> {
    fn write(&mut self, items: Vec<P::Item>) -> Result<(), Failure> {
        for item in items {
            if self.some {
                self.text.push(b',');
            }
            self.some = true;
            serde_json::to_writer(&mut self.text, &item)
                .map_err(|error| Failure::internal(error.to_string()))?;
        }
        Ok(())
    }
}

impl<P: Pages> Source for Document<P> {
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, Failure> {
        if self.ended {
            return Ok(None);
        }
        let items = match self.ready.take() {
            Some(items) => Some(items),
            None => self.pages.next().await?,
        };
        match items {
            Some(items) => self.write(items)?,
            None => {
                self.ended = true;
                self.text.extend_from_slice(b"]}");
            }
        }
        let text = std::mem::take(&mut self.text);
        Ok(Some((text.into(), self)))
    }
}
