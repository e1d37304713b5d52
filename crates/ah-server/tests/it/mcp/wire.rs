//! Messages of the protocol, written by hand so that they may be wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use super::given::PATIENCE;
use crate::http::{Connection, Reply, request};

/// Where a program of the new era says what it can do.
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// A revision of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Era {
    pub(super) const ALL: [Self; 3] = [Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];

    pub(super) fn version(self) -> &'static str {
        match self {
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether every request stands for itself.
    pub(super) fn is_stateless(self) -> bool {
        self == Self::V2026_07_28
    }

    /// A request of this era; `meta` is what the program says of itself.
    pub(super) fn message(self, id: u64, method: &str, mut params: Value, meta: &Value) -> Value {
        let mut meta = meta.clone();
        if self.is_stateless() {
            let client = json!({ "name": "by-hand", "version": "1" });
            meta["io.modelcontextprotocol/protocolVersion"] = json!(self.version());
            if meta[CAPABILITIES].is_null() {
                meta[CAPABILITIES] = json!({});
            }
            meta["io.modelcontextprotocol/clientInfo"] = client;
        }
        if meta.as_object().is_some_and(|meta| !meta.is_empty()) {
            params["_meta"] = meta;
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }
}

/// A way to the server.
pub(super) trait Wire {
    fn era(&self) -> Era;

    fn meta(&mut self) -> &mut Value;

    /// Sends a request and reads its answer, whole.
    fn exchange(&mut self, method: &str, params: Value) -> Value;

    /// The result of a request that must succeed.
    fn done(&mut self, method: &str, params: Value) -> Value {
        let answer = self.exchange(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// What a tool answers that must do what it is asked.
    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.done("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_ne!(result["isError"], json!(true), "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// Why a tool does not do what it is asked: its code, and the reason.
    fn refused(&mut self, name: &str, arguments: Value) -> (String, String) {
        let result = self.done("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_eq!(result["isError"], json!(true), "{name}: {result}");
        let refusal = &result["structuredContent"];
        let text = |name: &str| refusal[name].as_str().unwrap_or_default().to_owned();
        (text("code"), text("reason"))
    }

    /// The names of the tools that are shown.
    fn tools(&mut self) -> Vec<String> {
        let tools = self.done("tools/list", json!({}))["tools"].clone();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.as_array().unwrap().iter().map(name).collect()
    }
}

/// Lines over a socket.
pub(super) struct Lines {
    stream: BufReader<UnixStream>,
    era: Era,
    last: u64,
    meta: Value,
}

impl Lines {
    /// Connects, and shakes hands if that is the custom.
    pub(super) fn open(path: &Path, era: Era) -> Self {
        let mut lines = Self::silent(path, era);
        if !era.is_stateless() {
            let hello = lines.done("initialize", hello(era));
            assert_eq!(hello["protocolVersion"], era.version());
            assert_eq!(hello["serverInfo"]["name"], "agent-harbor");
            lines.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        lines
    }

    /// Connects and says nothing.
    pub(super) fn silent(path: &Path, era: Era) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self { stream: BufReader::new(stream), era, last: 0, meta: json!({}) }
    }

    pub(super) fn send(&mut self, line: &str) {
        self.stream.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Sends a request, and does not wait for its answer.
    pub(super) fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let message = self.era.message(self.last, method, params, &self.meta);
        self.send(&message.to_string());
        self.last
    }

    /// The next answer.
    pub(super) fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Waits until the server hangs up; what it says before is passed over.
    pub(super) fn ended(&mut self) {
        let mut rest = Vec::new();
        // A connection may be reset as well as closed.
        let _ = self.stream.read_to_end(&mut rest).map_err(|error| {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "it did not hang up");
        });
    }
}

/// How a program introduces itself.
fn hello(era: Era) -> Value {
    let client = json!({ "name": "by-hand", "version": "1" });
    json!({ "protocolVersion": era.version(), "capabilities": {}, "clientInfo": client })
}

impl Wire for Lines {
    fn era(&self) -> Era {
        self.era
    }

    fn meta(&mut self) -> &mut Value {
        &mut self.meta
    }

    fn exchange(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let answer = self.answer();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

/// Requests over HTTP.
pub(super) struct Http {
    address: SocketAddr,
    token: Option<String>,
    era: Era,
    last: u64,
    meta: Value,
}

impl Http {
    pub(super) fn open(address: SocketAddr, token: Option<String>, era: Era) -> Self {
        let mut http = Self { address, token, era, last: 0, meta: json!({}) };
        if !era.is_stateless() {
            let hello = http.done("initialize", hello(era));
            assert_eq!(hello["protocolVersion"], era.version());
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            assert_eq!(http.post(&initialized, &[]).status, 202);
        }
        http
    }

    /// The same at another server.
    pub(super) fn at(self, address: SocketAddr) -> Self {
        Self { address, ..self }
    }

    /// Sends `message` with the headers of the era and some others.
    pub(super) fn post(&self, message: &Value, headers: &[&str]) -> Reply {
        let mut all = vec![
            "content-type: application/json".to_owned(),
            "accept: application/json, text/event-stream".to_owned(),
        ];
        let has = |name: &str| headers.iter().any(|header| header.starts_with(name));
        if !has("mcp-protocol-version") {
            all.push(format!("mcp-protocol-version: {}", self.era.version()));
        }
        if let (true, Some(method)) = (self.era.is_stateless(), message["method"].as_str()) {
            let name = message["params"]["name"].as_str().or(message["params"]["uri"].as_str());
            if !has("mcp-method") {
                all.push(format!("mcp-method: {method}"));
            }
            if let Some(name) = name.filter(|_| !has("mcp-name")) {
                all.push(format!("mcp-name: {name}"));
            }
        }
        if let Some(token) = &self.token {
            all.push(format!("authorization: Bearer {token}"));
        }
        all.extend(headers.iter().map(|header| (*header).to_owned()));
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        let mut connection = Connection::open(self.address);
        connection.send(request("POST", "/mcp", &all, &message.to_string()));
        connection.reply()
    }

    /// A request of the era, not yet sent.
    pub(super) fn message(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        self.era.message(self.last, method, params, &self.meta)
    }
}

impl Wire for Http {
    fn era(&self) -> Era {
        self.era
    }

    fn meta(&mut self) -> &mut Value {
        &mut self.meta
    }

    fn exchange(&mut self, method: &str, params: Value) -> Value {
        let message = self.message(method, params);
        let reply = self.post(&message, &[]);
        let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_else(|_| {
            panic!("{} {}", reply.status, String::from_utf8_lossy(&reply.body))
        });
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }
}
