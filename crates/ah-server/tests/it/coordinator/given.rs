//! A server of the coordinator's interface, and runners that speak to it.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use ah_conformance::{SeededIds, TestClock};
use ah_server::{AuthMode, RunningServer, ServerOptions, ServerState};
use ah_store::{Capabilities, Clock, Ids, Runs, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};
use serde_json::{Value, json};

use crate::http::{Connection, Reply, request};

const CAPABILITIES: Capabilities = Capabilities { workspaces: true };

/// What a request was answered with: status and body; null when there is none.
pub(crate) type Said = (u16, Value);

/// A server over a file that survives it. Time moves only by hand, and is swept by hand.
pub(crate) struct Coordinator {
    opened: Option<(RunningServer, Arc<SqlStore>)>,
    pub(crate) clock: TestClock,
    auth: AuthMode,
    openings: u64,
    directory: tempfile::TempDir,
}

impl Coordinator {
    pub(crate) fn new() -> Self {
        Self::asking(AuthMode::Open)
    }

    /// One that asks for tokens, or does not.
    pub(crate) fn asking(auth: AuthMode) -> Self {
        let (directory, clock) = (tempfile::tempdir().unwrap(), TestClock::new());
        let mut coordinator = Self { opened: None, clock, auth, openings: 0, directory };
        coordinator.open();
        coordinator
    }

    fn open(&mut self) {
        self.openings += 1;
        let options = SqliteOptions::new(self.directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(self.openings)));
        let clock: Arc<dyn Clock> = Arc::new(self.clock.clone());
        let (store, _) =
            SqlStore::open_sqlite(options, CAPABILITIES, Arc::clone(&clock), ids).unwrap();
        let store = Arc::new(store);
        let options = ServerOptions { auth: self.auth, clock, ..ServerOptions::default() };
        let state = ServerState::with_options(store.clone(), options).sweeping_after(None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        self.opened = Some((RunningServer::start(listener, state).unwrap(), store));
    }

    /// Stops the server and starts another one on the same file.
    pub(crate) fn restart(&mut self) {
        let (server, store) = self.opened.take().unwrap();
        server.stop().unwrap();
        drop(store);
        self.open();
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.opened.as_ref().unwrap().0.address()
    }

    pub(crate) fn store(&self) -> &SqlStore {
        &self.opened.as_ref().unwrap().1
    }

    /// Lets time go by and applies what it decides.
    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.advance_ms(seconds * 1_000);
        block_on(self.store().sweep_runs()).unwrap();
    }

    pub(crate) fn get(&self, path: &str) -> Said {
        self.ask("GET", path, &Value::Null)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Said {
        self.ask("POST", path, &body)
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Said {
        said(&self.reply(method, path, &[], body))
    }

    /// The whole answer to a request with `headers`.
    pub(crate) fn reply(&self, method: &str, path: &str, headers: &[&str], body: &Value) -> Reply {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.raw(method, path, headers, &body)
    }

    /// As [`Self::reply`] with any text as body.
    pub(crate) fn raw(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Reply {
        let mut connection = Connection::open(self.address());
        connection.send(request(method, &format!("/coordinator{path}"), headers, body));
        let mut head = connection.head();
        if head.header("transfer-encoding").is_none() {
            let length = head.header("content-length").map_or(0, |length| length.parse().unwrap());
            head.body = connection.bytes(length);
            return head;
        }
        while let Some(part) = connection.chunk() {
            head.body.extend_from_slice(part.as_bytes());
        }
        head
    }

    /// A stream of what happens, which is never at its end.
    pub(crate) fn stream(&self, path: &str, headers: &[&str]) -> Stream {
        let mut connection = Connection::open(self.address());
        connection.send(request("GET", &format!("/coordinator{path}"), headers, ""));
        let head = connection.head();
        assert_eq!(head.status, 200);
        assert_eq!(head.header("content-type"), Some("text/event-stream"));
        assert_eq!(head.header("cache-control"), Some("no-cache"));
        assert_eq!(head.header("x-accel-buffering"), Some("no"));
        Stream { connection, rest: String::new() }
    }

    /// Asks for a run that begins; its id and its session's.
    pub(crate) fn start(&self, more: Value) -> (String, String) {
        let mut body = json!({ "type": "start_session", "parameters": { "prompt": "hi" } });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        created(&self.post("/runs", body))
    }

    pub(crate) fn resume(&self, session: &str) -> Said {
        let parameters = json!({ "prompt": "go on" });
        let body =
            json!({ "type": "resume_session", "session_id": session, "parameters": parameters });
        self.post("/runs", body)
    }

    pub(crate) fn session(&self, id: &str) -> Value {
        let (status, body) = self.get(&format!("/sessions/{id}"));
        assert_eq!(status, 200, "{body}");
        body["session"].clone()
    }

    pub(crate) fn status(&self, session: &str) -> String {
        let (status, body) = self.get(&format!("/sessions/{session}/status"));
        assert_eq!(status, 200);
        text(&body["status"])
    }

    pub(crate) fn run(&self, id: &str) -> Value {
        let (status, body) = self.get(&format!("/runs/{id}"));
        assert_eq!(status, 200, "{body}");
        body
    }

    pub(crate) fn run_status(&self, id: &str) -> String {
        text(&self.run(id)["status"])
    }

    /// The events of a session.
    pub(crate) fn events(&self, session: &str) -> Vec<Value> {
        let (status, body) = self.get(&format!("/sessions/{session}/events"));
        assert_eq!(status, 200, "{body}");
        body["events"].as_array().unwrap().clone()
    }

    /// Adds an event that says nothing but what `more` says.
    pub(crate) fn tell(&self, session: &str, kind: &str, more: Value) {
        assert_eq!(self.told(session, kind, more), (201, json!({ "ok": true })));
    }

    pub(crate) fn told(&self, session: &str, kind: &str, more: Value) -> Said {
        self.post(&format!("/sessions/{session}/events"), event(session, kind, more))
    }

    /// A runner on `host` that offers nothing else in particular.
    pub(crate) fn runner(&self, host: &str) -> Runner<'_> {
        Runner::register(self, registration(host))
    }
}

pub(crate) fn said(reply: &Reply) -> Said {
    let body = if reply.body.is_empty() { Value::Null } else { reply.json() };
    (reply.status, body)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub(crate) fn registration(host: &str) -> Value {
    json!({
        "hostname": host,
        "project_dir": "/p",
        "executor_profile": "coding",
        "executor": { "type": "autonomous", "command": "claude", "config": {} },
    })
}

pub(crate) fn event(session: &str, kind: &str, more: Value) -> Value {
    let mut body = json!({
        "event_type": kind,
        "session_id": session,
        "timestamp": "2026-01-02T03:04:05.678901+00:00",
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// Ids of the run and of the session that were created.
pub(crate) fn created((status, body): &Said) -> (String, String) {
    assert_eq!(*status, 201, "{body}");
    assert_eq!(body["status"], "pending");
    (text(&body["run_id"]), text(&body["session_id"]))
}

/// A runner that has registered.
#[derive(Clone)]
pub(crate) struct Runner<'a> {
    at: &'a Coordinator,
    pub(crate) id: String,
}

impl<'a> Runner<'a> {
    pub(crate) fn register(at: &'a Coordinator, body: Value) -> Self {
        let (status, body) = at.post("/runner/register", body);
        assert_eq!(status, 200, "{body}");
        Self { at, id: text(&body["runner_id"]) }
    }

    /// The runner of that id, which registered before.
    pub(crate) fn known(at: &'a Coordinator, id: &str) -> Self {
        Self { at, id: id.to_owned() }
    }

    /// What there is for it now.
    pub(crate) fn poll(&self) -> Said {
        self.at.get(&format!("/runner/runs?runner_id={}&wait=0", self.id))
    }

    /// The run that there is for it now.
    pub(crate) fn take(&self) -> Value {
        let (status, body) = self.poll();
        assert_eq!(status, 200, "{body}");
        assert_eq!(body["run"]["status"], "claimed", "{body}");
        body["run"].clone()
    }

    /// The id of the run that there is for it now.
    pub(crate) fn take_id(&self) -> String {
        text(&self.take()["run_id"])
    }

    pub(crate) fn report(&self, run: &str, what: &str, more: Value) -> Said {
        let mut body = json!({ "runner_id": self.id });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.at.post(&format!("/runner/runs/{run}/{what}"), body)
    }

    /// Reports that it was done.
    pub(crate) fn done(&self, run: &str, what: &str, more: Value) {
        let said = self.report(run, what, more);
        assert_eq!(said, (200, json!({ "ok": true })), "{what}");
    }

    /// Takes the next run and begins with it; its id.
    pub(crate) fn begin(&self) -> String {
        let run = self.take_id();
        self.done(&run, "started", json!({}));
        run
    }

    pub(crate) fn heartbeat(&self) -> Said {
        self.at.post("/runner/heartbeat", json!({ "runner_id": self.id }))
    }
}

/// A stream and what of it was not yet read.
pub(crate) struct Stream {
    connection: Connection,
    rest: String,
}

/// A frame of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) data: Value,
}

impl Stream {
    /// The next frame.
    pub(crate) fn frame(&mut self) -> Frame {
        loop {
            if let Some((frame, rest)) = self.rest.split_once("\n\n") {
                let frame = read_frame(frame);
                self.rest = rest.to_owned();
                return frame;
            }
            self.rest.push_str(&self.connection.chunk().unwrap());
        }
    }

    /// Names and data of the frames up to the first one of that name.
    pub(crate) fn until(&mut self, name: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        loop {
            let frame = self.frame();
            let last = frame.name == name;
            frames.push(frame);
            if last {
                return frames;
            }
        }
    }
}

fn read_frame(text: &str) -> Frame {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
    };
    let data = serde_json::from_str(&field("data: ")).unwrap();
    Frame { id: field("id: "), name: field("event: "), data }
}
