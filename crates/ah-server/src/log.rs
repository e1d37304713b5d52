//! The log of requests: one line each, to whoever runs the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ah_model::TokenId;

use crate::limits::LOG_PATH_BYTES_MAX;

/// Takes the lines. It is called on the way of every answer, so it must not wait.
pub type LogSink = Arc<dyn Fn(&LogLine<'_>) + Send + Sync>;

/// What is said of a request. Secrets travel in headers and queries, and neither is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// The request's id, as its answer has it.
    pub request_id: &'a str,
    /// Its method.
    pub method: &'a str,
    /// Its path, without the query.
    pub path: &'a str,
    /// The status of its answer.
    pub status: u16,
    /// How long its answer took to begin.
    pub took: Duration,
    /// Whose token it came with, if it was a good one.
    pub token: Option<&'a TokenId>,
    /// Why it was refused: the code of the problem.
    pub code: Option<&'a str>,
}

impl fmt::Display for LogLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { request_id, method, path, status, took, token, code } = self;
        let ms = took.as_secs_f64() * 1_000.0;
        let (path, cut) = match path.len() > LOG_PATH_BYTES_MAX {
            true => (&path[..path.floor_char_boundary(LOG_PATH_BYTES_MAX)], "…"),
            false => (*path, ""),
        };
        write!(f, "{method} {path}{cut} {status} {ms:.1}ms request={request_id}")?;
        if let Some(token) = token {
            write!(f, " token={token}")?;
        }
        code.map_or(Ok(()), |code| write!(f, " code={code}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_was_asked_by_whom_and_how_it_went() {
        let token: TokenId = "t1".parse().unwrap();
        let line = LogLine {
            request_id: "r-1",
            method: "GET",
            path: "/api/v1/sessions",
            status: 403,
            took: Duration::from_micros(1_250),
            token: Some(&token),
            code: Some("forbidden"),
        };
        let text = "GET /api/v1/sessions 403 1.2ms request=r-1 token=t1 code=forbidden";
        assert_eq!(line.to_string(), text);
        let long = format!("/{}", "é".repeat(LOG_PATH_BYTES_MAX));
        let line = LogLine { path: &long, token: None, code: None, ..line };
        assert!(line.to_string().len() < LOG_PATH_BYTES_MAX + 100);
        assert!(line.to_string().ends_with("… 403 1.2ms request=r-1"));
    }
}
