//! Requests written by hand, so that they may be wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longest wait of a test for anything.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Status, code and field of a problem; every problem is one in all its parts.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()));
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        assert!(!problem["title"].as_str().unwrap().is_empty());
        assert!(!problem["detail"].as_str().unwrap().is_empty());
        let parts = [&problem["code"], &problem["field"]];
        let parts: Vec<_> = parts.iter().filter_map(|part| part.as_str()).collect();
        format!("{} {}", self.status, parts.join(" "))
    }
}

/// A connection that is written to by hand.
pub(crate) struct Connection(BufReader<TcpStream>);

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.get_mut().write_all(bytes.as_ref()).unwrap();
    }

    /// As [`Self::send`], when the server may have heard enough before the end.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.get_mut().write_all(bytes.as_ref());
    }

    pub(crate) fn close_writing(&self) {
        self.0.get_ref().shutdown(Shutdown::Write).unwrap();
    }

    /// What the server says until it closes the connection, however it does that.
    pub(crate) fn rest(&mut self) -> String {
        String::from_utf8(self.rest_bytes()).unwrap()
    }

    /// As [`Self::rest`], whatever language it is.
    pub(crate) fn rest_bytes(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes);
        bytes
    }

    /// Status and headers of the next answer.
    pub(crate) fn head(&mut self) -> Reply {
        let status = self.line();
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(':') else {
                return Reply { status, headers, body: Vec::new() };
            };
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    /// The next answer to anything but HEAD, and but a stream of events, which has no end.
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        let is_stream = reply.header("content-type") == Some("text/event-stream");
        if reply.header("transfer-encoding") == Some("chunked") && !is_stream {
            while let Some(part) = self.chunk() {
                reply.body.extend(part.into_bytes());
            }
            return reply;
        }
        let length = reply.header("content-length").map_or(0, |length| length.parse().unwrap());
        reply.body = self.bytes(length);
        reply
    }

    /// So many bytes of a body.
    pub(crate) fn bytes(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    /// The next part of a body without a length; none at its end.
    pub(crate) fn chunk(&mut self) -> Option<String> {
        let length = usize::from_str_radix(&self.line(), 16).unwrap();
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).unwrap();
        bytes.truncate(length);
        (length > 0).then(|| String::from_utf8(bytes).unwrap())
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

/// The bytes of a request; a body is announced with its length.
pub(crate) fn request(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    if !body.is_empty() {
        head.push_str(&format!("content-length: {}\r\n", body.len()));
    }
    format!("{head}\r\n{body}")
}

/// One request on a connection of its own; `path` is below `/api/v1`.
pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Reply {
    let mut connection = Connection::open(address);
    connection.send(request(method, &format!("/api/v1{path}"), &[], body));
    connection.reply()
}

/// As [`ask`] with a token, on a connection that lives on; `path` is the whole of it.
pub(crate) fn ask_as(
    connection: &mut Connection,
    (method, path): (&str, &str),
    token: Option<&str>,
    body: &str,
) -> Reply {
    let header = token.map(|token| format!("authorization: Bearer {token}"));
    let headers: Vec<&str> = header.iter().map(String::as_str).collect();
    connection.send(request(method, path, &headers, body));
    connection.reply()
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Reply {
    ask(address, "GET", path, "")
}
