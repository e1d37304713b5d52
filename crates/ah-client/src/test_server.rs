//! A server of a few lines for tests: it records what it is sent and answers what a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::{RestOptions, RestStore};

/// What a test lets the server do.
pub(crate) enum Answer {
    /// An answer with this status, content type and body.
    Body(u16, &'static str, String),
    /// These bytes, and the end of the connection.
    Bytes(Vec<u8>),
    /// A success that closes the connection without having said so.
    ThenClose(String),
    /// Nothing, and the end of the connection.
    HangUp,
    /// Nothing until the client goes.
    Silence,
}

impl Answer {
    pub(crate) fn json(body: &str) -> Self {
        Self::Body(200, "application/json", body.to_owned())
    }

    pub(crate) fn problem(status: u16, body: &str) -> Self {
        Self::Body(status, "application/problem+json", body.to_owned())
    }
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) connection: usize,
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: String,
}

type Script = dyn Fn(usize, &Received) -> Answer + Send + Sync;

/// Listens on a free port until it is dropped. Asked for capabilities it answers by itself and
/// records nothing.
pub(crate) struct TestServer {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    received: Mutex<Vec<Received>>,
    closed: AtomicUsize,
    over: AtomicBool,
}

impl TestServer {
    /// A server that answers its n-th request, counted from 0, with what `script` says.
    pub(crate) fn new(script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), script)
    }

    /// The same at a place of the test's choice.
    pub(crate) fn at(
        place: SocketAddr,
        script: impl Fn(usize, &Received) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(place).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Box::new(script),
            received: Mutex::default(),
            closed: AtomicUsize::new(0),
            over: AtomicBool::new(false),
        });
        let theirs = shared.clone();
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                if theirs.over.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, stream) = (theirs.clone(), stream.unwrap());
                thread::spawn(move || shared.serve(connection, stream));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn options(&self) -> RestOptions {
        RestOptions::new(self.address())
    }

    pub(crate) fn store(&self) -> RestStore {
        RestStore::connect(self.options()).unwrap()
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// Waits until the server has closed that many connections.
    pub(crate) fn wait_closed(&self, connections: usize) {
        while self.shared.closed.load(Ordering::SeqCst) < connections {
            thread::yield_now();
        }
    }

    /// The request lines, without the protocol.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |request: &Received| request.line.replace(" HTTP/1.1", "");
        self.received().iter().map(line).collect()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it sees it is over.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, connection: usize, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        while let Some(request) = read_request(connection, &mut reader) {
            let capabilities = request.line.contains("/capabilities ");
            let answer = if capabilities {
                Answer::json(r#"{"workspaces":true,"more":1}"#)
            } else {
                (self.script)(self.record(&request), &request)
            };
            if !send(answer, &stream) {
                let _ = stream.shutdown(Shutdown::Both);
                self.closed.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
    }

    fn record(&self, request: &Received) -> usize {
        let mut received = self.received.lock().unwrap();
        received.push(request.clone());
        received.len() - 1
    }
}

fn read_request(connection: usize, reader: &mut impl BufRead) -> Option<Received> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let line = lines.remove(0);
    Some(Received { connection, line, headers: lines, body: String::from_utf8(body).unwrap() })
}

/// Whether the connection goes on.
fn send(answer: Answer, mut stream: &TcpStream) -> bool {
    let whole = |status: u16, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}"
        )
    };
    match answer {
        Answer::Body(status, kind, body) => {
            stream.write_all(whole(status, kind, &body).as_bytes()).is_ok()
        }
        Answer::Bytes(bytes) => {
            let _ = stream.write_all(&bytes);
            false
        }
        Answer::ThenClose(body) => {
            let _ = stream.write_all(whole(200, "application/json", &body).as_bytes());
            false
        }
        Answer::HangUp => false,
        Answer::Silence => {
            let _ = stream.read(&mut [0]);
            false
        }
    }
}
