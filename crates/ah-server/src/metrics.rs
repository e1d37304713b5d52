//! What the server counts, in the text form of Prometheus.
//!
//! Labels are routes, methods, statuses and codes: never what a client may choose, so their number
//! is bounded by the program.

mod jobs;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ah_store::{Problem, StoreError};
use axum::extract::State;
use axum::http::{HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};

use crate::access::Access;
use crate::limits::{BODIES_BYTES_MAX, BODY_UNIT_BYTES};
use crate::routing::{Routes, doc};
use crate::state::ServerState;
use jobs::Jobs;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper ends of the buckets of durations, in seconds.
const BUCKETS: [f64; 12] =
    [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// The route of a request that none was found for.
const NO_ROUTE: &str = "none";

pub(crate) fn routes() -> Routes {
    let numbers = doc("What the server counts, for Prometheus").answers_text(TEXT);
    Routes::new().get("/metrics", Access::LOOK, numbers, show)
}

async fn show(State(state): State<ServerState>) -> Response {
    let free = state.bodies.available_permits() * BODY_UNIT_BYTES;
    let text = state.metrics.text(BODIES_BYTES_MAX.saturating_sub(free));
    ([(header::CONTENT_TYPE, HeaderValue::from_static(TEXT))], text).into_response()
}

/// The numbers of one server.
#[derive(Default)]
pub(crate) struct Metrics {
    /// By route, then by method.
    requests: Mutex<HashMap<String, BTreeMap<&'static str, Answered>>>,
    store_errors: Mutex<BTreeMap<String, u64>>,
    /// What the server does by itself.
    pub(crate) jobs: Jobs,
    in_flight: Arc<AtomicU64>,
    subscribers: Arc<AtomicU64>,
}

/// The requests of a route that were answered.
#[derive(Default)]
struct Answered {
    statuses: BTreeMap<u16, u64>,
    /// How many took no longer than each of [`BUCKETS`], and longer than the one before.
    took: [u64; BUCKETS.len()],
    seconds: f64,
    count: u64,
}

/// Counts something that lasts until it is dropped.
pub(crate) struct Counted(Arc<AtomicU64>);

impl Counted {
    fn new(number: &Arc<AtomicU64>) -> Self {
        number.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(number))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// A request is under way.
    pub(crate) fn request(&self) -> Counted {
        Counted::new(&self.in_flight)
    }

    /// Somebody follows a stream of events.
    pub(crate) fn subscriber(&self) -> Counted {
        Counted::new(&self.subscribers)
    }

    /// A request was answered.
    pub(crate) fn answered(
        &self,
        route: Option<&str>,
        method: &Method,
        status: u16,
        took: Duration,
    ) {
        let (route, seconds) = (route.unwrap_or(NO_ROUTE), took.as_secs_f64());
        let mut requests = lock(&self.requests);
        let methods = match requests.get_mut(route) {
            Some(methods) => methods,
            None => requests.entry(route.to_owned()).or_default(),
        };
        let answered = methods.entry(word(method)).or_default();
        *answered.statuses.entry(status).or_default() += 1;
        if let Some(bucket) = BUCKETS.iter().position(|end| seconds <= *end) {
            answered.took[bucket] += 1;
        }
        answered.seconds += seconds;
        answered.count += 1;
    }

    /// The store refused or failed.
    pub(crate) fn store_error(&self, error: &StoreError) {
        *lock(&self.store_errors).entry(Problem::from(error).code).or_default() += 1;
    }

    fn text(&self, body_bytes: usize) -> String {
        let mut text = Text::default();
        text.head("ah_build_info", "gauge", "What this is.");
        text.line("ah_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
        self.push_requests(&mut text);
        let in_flight = self.in_flight.load(Ordering::Relaxed) as f64;
        text.number("ah_http_requests_in_flight", "Requests that are not answered yet.", in_flight);
        let bodies = body_bytes as f64;
        text.number("ah_http_body_bytes_held", "Memory that bodies are given.", bodies);
        let subscribers = self.subscribers.load(Ordering::Relaxed) as f64;
        text.number("ah_sse_subscribers", "Streams of events that are followed.", subscribers);
        text.head("ah_store_errors_total", "counter", "Calls into the store that it refused.");
        for (code, count) in &*lock(&self.store_errors) {
            text.line("ah_store_errors_total", &[("code", code)], *count as f64);
        }
        self.jobs.push(&mut text);
        text.0
    }

    fn push_requests(&self, text: &mut Text) {
        let requests = lock(&self.requests);
        let routes: BTreeMap<_, _> = requests.iter().collect();
        let rows = || {
            let rows = routes.iter();
            rows.flat_map(|(route, methods)| methods.iter().map(move |row| (route.as_str(), row)))
        };
        text.head("ah_http_requests_total", "counter", "Requests that were answered.");
        for (route, (method, answered)) in rows() {
            for (status, count) in &answered.statuses {
                let status = status.to_string();
                let labels = [("method", *method), ("route", route), ("status", &status)];
                text.line("ah_http_requests_total", &labels, *count as f64);
            }
        }
        let name = "ah_http_request_duration_seconds";
        text.head(name, "histogram", "How long their answers took to begin.");
        for (route, (method, answered)) in rows() {
            text.histogram(name, [("method", method), ("route", route)], answered);
        }
    }
}

/// Only methods that a route can have; others are one.
fn word(method: &Method) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A page of numbers. Writing to a text cannot fail, so its results are passed over.
#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, about: &str) {
        let _ = write!(self.0, "# HELP {name} {about}\n# TYPE {name} {kind}\n");
    }

    fn number(&mut self, name: &str, about: &str, value: f64) {
        self.head(name, "gauge", about);
        self.line(name, &[], value);
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (place, (label, text)) in labels.iter().enumerate() {
            let opening = if place == 0 { '{' } else { ',' };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{opening}{label}=\"{text}\"");
        }
        let closing = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{closing} {value}");
    }

    fn histogram(&mut self, name: &str, labels: [(&str, &str); 2], answered: &Answered) {
        let bucket = format!("{name}_bucket");
        let mut sum = 0;
        for (end, count) in BUCKETS.iter().zip(answered.took) {
            sum += count;
            let end = end.to_string();
            self.line(&bucket, &[labels[0], labels[1], ("le", &end)], sum as f64);
        }
        let count = answered.count as f64;
        self.line(&bucket, &[labels[0], labels[1], ("le", "+Inf")], count);
        self.line(&format!("{name}_sum"), &labels, answered.seconds);
        self.line(&format!("{name}_count"), &labels, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_method_and_status() {
        let metrics = Metrics::default();
        let route = Some("/api/v1/sessions/{id}");
        for (method, status, ms) in
            [(Method::GET, 200, 3), (Method::GET, 200, 30), (Method::DELETE, 404, 20_000)]
        {
            metrics.answered(route, &method, status, Duration::from_millis(ms));
        }
        let brew = Method::from_bytes(b"BREW").unwrap();
        metrics.answered(None, &brew, 404, Duration::ZERO);
        let text = metrics.text(0);
        let series = r#"method="GET",route="/api/v1/sessions/{id}""#;
        let slow = r#"method="DELETE",route="/api/v1/sessions/{id}""#;
        for line in [
            format!(r#"ah_http_requests_total{{{series},status="200"}} 2"#),
            format!(r#"ah_http_requests_total{{{slow},status="404"}} 1"#),
            r#"ah_http_requests_total{method="other",route="none",status="404"} 1"#.to_owned(),
            format!(r#"ah_http_request_duration_seconds_bucket{{{series},le="0.0025"}} 0"#),
            format!(r#"ah_http_request_duration_seconds_bucket{{{series},le="0.005"}} 1"#),
            format!(r#"ah_http_request_duration_seconds_bucket{{{series},le="10"}} 2"#),
            format!(r#"ah_http_request_duration_seconds_bucket{{{slow},le="10"}} 0"#),
            format!(r#"ah_http_request_duration_seconds_bucket{{{slow},le="+Inf"}} 1"#),
            format!(r#"ah_http_request_duration_seconds_count{{{series}}} 2"#),
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }

    #[test]
    fn what_lasts_is_counted_until_it_ends() {
        let metrics = Metrics::default();
        let held = (metrics.request(), metrics.subscriber(), metrics.subscriber());
        let text = metrics.text(65_536);
        for line in [
            "ah_http_requests_in_flight 1",
            "ah_sse_subscribers 2",
            "ah_http_body_bytes_held 65536",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        drop(held);
        assert!(metrics.text(0).lines().any(|found| found == "ah_sse_subscribers 0"));
    }

    #[test]
    fn labels_are_escaped() {
        let mut text = Text::default();
        text.line("x", &[("a", "b\"c\\d\ne")], 1.5);
        assert_eq!(text.0, "x{a=\"b\\\"c\\\\d\\ne\"} 1.5\n");
    }
}
