//! Streams of events, read frame by frame.

use std::net::SocketAddr;

use serde_json::Value;

use crate::http::{Connection, request};

/// A stream and what of it was not yet read.
pub(crate) struct Stream {
    connection: Connection,
    rest: String,
}

/// A frame that names an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Stream {
    pub(crate) fn open(address: SocketAddr, path: &str, headers: &[&str]) -> Self {
        let mut connection = Connection::open(address);
        let headers = [&["accept: text/html, text/event-stream;q=0.9"], headers].concat();
        connection.send(request("GET", &format!("/api/v1{path}"), &headers, ""));
        let head = connection.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-cache"));
        Self { connection, rest: String::new() }
    }

    /// The next frame as it came; none at the end.
    pub(crate) fn text(&mut self) -> Option<String> {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let frame = frame.to_owned();
                self.rest = rest.to_owned();
                return Some(frame);
            }
            self.rest.push_str(&self.connection.chunk()?);
        }
    }

    pub(crate) fn frame(&mut self) -> Frame {
        let frame = self.text().unwrap();
        let field = |name: &str| {
            let line = frame.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().to_owned()
        };
        let data = serde_json::from_str(&field("data: ")).unwrap();
        Frame { id: field("id: "), name: field("event: "), data }
    }

    pub(crate) fn ids(&mut self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.frame().id).collect()
    }
}
