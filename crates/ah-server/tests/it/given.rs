//! Sessions, runs and claims, as a client sends them.

use std::net::SocketAddr;

use serde_json::{Value, json};

use crate::http::{Connection, Reply, ask, request};

/// A session to create.
pub(crate) fn new_session(id: &str) -> Value {
    let repo = json!({ "vcs": "git", "rootPath": "/r", "remoteUrl": null, "defaultBranch": null });
    json!({ "id": id, "agent": { "type": "codex", "version": "1" }, "repo": repo })
}

/// Queues a run of a session of its own: the run `r1` of the session `s1` for 1.
pub(crate) fn queue(address: SocketAddr, number: usize, demands: Value) {
    let session_id = format!("s{number}");
    let body = json!({
        "id": format!("r{number}"), "sessionId": session_id, "kind": "start", "parameters": {},
        "session": new_session(&session_id), "demands": demands,
    });
    let reply = ask(address, "POST", "/runs", &body.to_string());
    assert_eq!(reply.status, 201, "{}", reply.json());
}

/// What `executor` sends to get a run.
pub(crate) fn claim_of(executor: &str, tags: &[&str]) -> String {
    let offer = json!({ "tags": tags });
    json!({ "executorId": executor, "offer": offer, "leaseMs": 60_000 }).to_string()
}

/// A claim that is sent, and waits for its answer.
pub(crate) struct Waiting(Connection);

impl Waiting {
    /// Sends a claim that may wait for half a minute, and sees that the server works on it.
    pub(crate) fn send(address: SocketAddr, executor: &str, tags: &[&str]) -> Self {
        let mut connection = Connection::open(address);
        let body = claim_of(executor, tags);
        connection.send(request("POST", "/api/v1/runs/claim?wait=30", &[], &body));
        // Whoever comes behind it has been answered.
        for _ in 0..3 {
            assert_eq!(ask(address, "GET", "/runs?limit=1", "").status, 200);
        }
        Self(connection)
    }

    /// The id of the run that it was given; nothing if it was given none.
    pub(crate) fn answer(mut self) -> Option<String> {
        claimed(&self.0.reply())
    }

    /// Goes away without an answer.
    pub(crate) fn hang_up(self) {}
}

/// The id of the run in the answer to a claim.
pub(crate) fn claimed(reply: &Reply) -> Option<String> {
    assert_eq!(reply.status, 200, "{}", reply.json());
    let run = &reply.json()["run"];
    (!run.is_null()).then(|| run["id"].as_str().unwrap().to_owned())
}
