//! Mail, approvals and questions over HTTP: who may do what, and how long a wait takes.

mod access;
mod agents;
mod names;
mod wait;

use ah_model::TokenRole;
use serde_json::{Value, json};

use crate::guarded::{Guarded, agent};

/// A server with the agents Mira and Nils, a token for each, and one for the operator.
struct Hive {
    server: Guarded,
    admin: String,
    operator: String,
    mira: String,
    nils: String,
}

impl Hive {
    fn new() -> Self {
        let server = Guarded::new();
        let admin = server.token("admin", TokenRole::Admin);
        let operator = server.token("operator", TokenRole::Operator);
        for (id, name, session) in [("a1", "Mira", "s1"), ("a2", "nils", "s2")] {
            server.done("POST", "/agent-instances", &admin, &agent(id, name, session));
        }
        // Names are the same in any case.
        let (mira, nils) = (server.agent_token("mira", "mira"), server.agent_token("nils", "nils"));
        Self { server, admin, operator, mira, nils }
    }

    /// Has something done that must succeed.
    fn done(&self, token: &str, method: &str, path: &str, body: Value) -> Value {
        self.server.done(method, path, token, &body)
    }

    /// Sends a message and returns its id.
    fn send(&self, from: &str, to: &str, body: &str) -> String {
        let message = json!({ "from": from, "to": [to], "body": body });
        id(&self.done(&self.operator, "POST", "/messages", message)["items"][0])
    }

    /// Asks a question and returns its id.
    fn ask(&self, from: &str, to: &str) -> String {
        let question = json!({ "from": from, "to": to, "text": "why" });
        id(&self.done(&self.operator, "POST", "/questions", question))
    }

    /// Asks for an approval and returns its id.
    fn request(&self, agent: &str) -> String {
        let approval = json!({ "agent": agent, "kind": "deploy" });
        id(&self.done(&self.operator, "POST", "/approvals", approval))
    }

    /// The status and detail of what is refused to `token`.
    #[track_caller]
    fn refused(&self, token: &str, (method, path): (&str, &str), body: &Value) -> String {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let reply = self.server.ask(method, path, Some(token), &body);
        assert!(reply.status >= 400, "{method} {path}: {}", reply.status);
        reply.problem();
        format!("{} {}", reply.status, reply.json()["detail"].as_str().unwrap())
    }
}

fn id(thing: &Value) -> String {
    thing["id"].as_str().unwrap().to_owned()
}

fn ids(list: &Value) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(id).collect()
}
