//! Around every request: its id, its panics, and the one place where it is counted and logged.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::connection::Activity;
use crate::limits::REQUEST_ID_BYTES_MAX;
use crate::log::LogLine;
use crate::problem::{Code, Failure};
use crate::routing::AskedBy;
use crate::state::ServerState;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives the request an id and an answer, whatever happens in it, and tells of it.
pub(crate) async fn observe(
    State(state): State<ServerState>,
    request: Request,
    next: Next,
) -> Response {
    let id = request_id(&state, request.headers());
    let connection = request.extensions().get::<ConnectInfo<Activity>>();
    let _under_way = connection.map(|ConnectInfo(activity)| activity.begin());
    let _in_flight = state.metrics.request();
    let asked = Asked {
        method: request.method().clone(),
        // The whole address: what is nested sees only its own part.
        uri: request.uri().clone(),
        route: request.extensions().get::<MatchedPath>().cloned(),
        began: Instant::now(),
    };
    let mut response = answered(next.run(request)).await;
    asked.tell(&state, &id, &response);
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// What is kept of a request to tell of it.
struct Asked {
    method: Method,
    uri: Uri,
    route: Option<MatchedPath>,
    began: Instant,
}

impl Asked {
    fn tell(&self, state: &ServerState, id: &HeaderValue, response: &Response) {
        let (status, took) = (response.status().as_u16(), self.began.elapsed());
        let route = self.route.as_ref().map(MatchedPath::as_str);
        state.metrics.answered(route, &self.method, status, took);
        let Some(log) = &state.options.log else { return };
        log(&LogLine {
            request_id: id.to_str().unwrap_or_default(),
            method: self.method.as_str(),
            path: self.uri.path(),
            status,
            took,
            token: response.extensions().get().map(|AskedBy(token)| token),
            code: response.extensions().get().map(|Code(code)| code.as_str()),
        });
    }
}

/// The client's id if it is safe to repeat, else a fresh one.
fn request_id(state: &ServerState, headers: &HeaderMap) -> HeaderValue {
    let safe = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._".contains(byte);
    let given = headers.get(REQUEST_ID).filter(|value| {
        let fits = (1..=REQUEST_ID_BYTES_MAX).contains(&value.len());
        fits && value.as_bytes().iter().all(safe)
    });
    let fresh = || HeaderValue::from_str(&state.fresh_request_id());
    given.cloned().map_or_else(fresh, Ok).unwrap_or(HeaderValue::from_static("none"))
}

/// The answer, or a problem in place of a panic, so that the connection lives on.
async fn answered(work: impl Future<Output = Response>) -> Response {
    let mut work = pin!(work);
    poll_fn(|cx| {
        // What a handler holds is its own: nothing that it left half done is seen by others.
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))).unwrap_or_else(|_| {
            Poll::Ready(Failure::internal("the request broke off").into_response())
        })
    })
    .await
}

#[cfg(test)]
mod tests {
    use ah_store::block_on;
    use axum::http::StatusCode;

    use super::*;

    #[test]
    fn a_panic_is_a_problem() {
        let response = block_on(answered(async { panic!("as a bug would") }));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
