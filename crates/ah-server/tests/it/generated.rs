//! Requests that the description decides and a seed chooses: whatever is sent, the answer is one
//! that the description names, and nothing breaks.

mod pattern;
mod schema;
mod values;

use std::collections::BTreeMap;

use ah_server::openapi_document;
use serde_json::Value;

use crate::harness::SqliteServer;
use crate::http::{Connection, Reply, request};
use crate::walk::MCP;
use values::{Ready, Values};

const ROUNDS: usize = 64;
/// What takes a whole row whose parts agree with each other, which chance seldom makes; the lease of
/// who leads at an open fence; an executor, which a server alone has none of; the home of an agent; or the secret of a token.
const SELDOM: [&str; 7] = [
    "POST /login",
    "GET /api/v1/approvals/{id}/diff",
    "POST /api/v1/executors/{id}/reports",
    "POST /api/v1/runs/{id}/dispatches",
    "PUT /api/v1/run-imports/{id}",
    "PUT /api/v1/sessions/{id}/export",
    "POST /api/v1/fences/{id}/reports",
];
/// Waits that would make the test wait.
const WAITS: [&str; 3] = ["wait", "seconds", "waitMs"];

/// One operation of the description.
struct Operation<'a> {
    method: String,
    path: &'a str,
    said: &'a Value,
}

/// What is sent for one.
struct Sent {
    target: String,
    headers: Vec<String>,
    body: String,
}

#[test]
fn whatever_is_sent_is_answered_as_the_description_says() {
    let document = openapi_document();
    let operations = operations(&document);
    let server = SqliteServer::new();
    let mut values = Values::new(&document, 20_261_116);
    let mut connection = Connection::open(server.address());
    let mut successes: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..ROUNDS {
        for operation in &operations {
            let sent = operation.invent(&mut values);
            connection.send(sent.bytes(&operation.method));
            let reply = connection.reply();
            if reply.header("connection") == Some("close") {
                connection = Connection::open(server.address());
            }
            operation.check(&mut values, &sent, &reply);
            let name = format!("{} {}", operation.method, operation.path);
            *successes.entry(name).or_default() += u32::from(reply.status < 300);
        }
    }
    // A test of refusals alone would prove little.
    let never = successes.iter().filter(|(_, count)| **count == 0).map(|(name, _)| name.as_str());
    let never: Vec<_> = never.filter(|name| !SELDOM.contains(name)).collect();
    assert_eq!(never, [""; 0], "never succeeded");
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let mut operations = Vec::new();
    let paths = document["paths"].as_object().unwrap();
    // MCP has messages of its own, which are described elsewhere.
    for (path, methods) in paths.iter().filter(|(path, _)| *path != MCP) {
        for (method, said) in methods.as_object().unwrap() {
            operations.push(Operation { method: method.to_ascii_uppercase(), path, said });
        }
    }
    operations
}

impl Sent {
    fn bytes(&self, method: &str) -> String {
        let headers: Vec<&str> = self.headers.iter().map(String::as_str).collect();
        request(method, &self.target, &headers, &self.body)
    }
}

impl Operation<'_> {
    /// A request: two of three are as the description has them.
    fn invent(&self, values: &mut Values<'_>) -> Sent {
        let ready = values.take_ready(self.path);
        // What is ready comes seldom, and is not wasted.
        let spoilt = values.random.one_in(if ready.is_some() { 9 } else { 3 });
        let mut sent =
            Sent { target: self.path.to_owned(), headers: Vec::new(), body: String::new() };
        let mut query = Vec::new();
        for parameter in self.said["parameters"].as_array().unwrap() {
            self.give(values, parameter, &mut sent, &mut query);
        }
        let schema = self.body_schema();
        let id = match schema.is_null() {
            true => None,
            false => self.give_body(values, schema, spoilt, ready.as_ref(), &mut sent),
        };
        // Some bodies say themselves what they are about.
        let id = id.filter(|_| !values.random.one_in(3));
        if let Some(id) = ready.map(|ready| ready.id).or(id) {
            sent.target = self.about(&id);
        }
        if !query.is_empty() {
            sent.target = format!("{}?{}", sent.target, query.join("&"));
        }
        sent
    }

    fn give(
        &self,
        values: &mut Values<'_>,
        parameter: &Value,
        sent: &mut Sent,
        query: &mut Vec<String>,
    ) {
        let parameter = match parameter["$ref"].as_str() {
            Some(reference) => values.schemas.resolve(reference).clone(),
            None => parameter.clone(),
        };
        let name = parameter["name"].as_str().unwrap();
        let needed = parameter["required"] == true;
        if WAITS.contains(&name) {
            query.push(format!("{name}=0"));
            return;
        }
        if !needed && !values.random.one_in(4) {
            return;
        }
        let value = match values.random.one_in(12) {
            true => values.spoilt(&parameter["schema"]),
            false => values.part(name, &parameter["schema"]),
        };
        let texts: Vec<String> = match &value {
            Value::Array(items) => items.iter().map(plain).collect(),
            other => vec![plain(other)],
        };
        match parameter["in"].as_str().unwrap() {
            "path" => {
                sent.target = self.about(texts.first().map_or("", String::as_str));
            }
            "query" => {
                query.extend(texts.iter().map(|text| format!("{name}={}", encoded(text))));
            }
            "header" => {
                let text: String = plain(&value).chars().filter(|c| !c.is_control()).collect();
                sent.headers.push(format!("{name}: {text}"));
            }
            other => panic!("{other}"),
        }
    }

    /// The path with `id` in it; without one it would be another path.
    fn about(&self, id: &str) -> String {
        let id = if id.is_empty() { " " } else { id };
        self.path.replace("{id}", &encoded(id))
    }

    fn body_schema(&self) -> &Value {
        &self.said["requestBody"]["content"]["application/json"]["schema"]
    }

    /// Gives a body, and says whose it is if it says that.
    fn give_body(
        &self,
        values: &mut Values<'_>,
        schema: &Value,
        spoilt: bool,
        ready: Option<&Ready>,
        sent: &mut Sent,
    ) -> Option<String> {
        let mut body = match spoilt {
            true => values.spoilt(schema),
            false => values.valid(schema),
        };
        if let (Some(ready), Some(fields)) = (ready, body.as_object_mut()) {
            fields.extend(ready.fields.clone());
        }
        // Who holds a run proves it with an epoch that nobody would guess often enough.
        let held = values.held.clone().filter(|_| body.get("epoch").is_some());
        let held = held.filter(|_| !values.random.one_in(4));
        if let Some((_, epoch)) = &held {
            body["epoch"] = epoch.clone();
        }
        sent.body = body.to_string();
        let mut media_type = "application/json";
        if spoilt && values.random.one_in(6) {
            sent.body.truncate(sent.body.floor_char_boundary(sent.body.len() / 2));
        } else if spoilt && values.random.one_in(8) {
            media_type = "text/plain";
        }
        sent.headers.push(format!("content-type: {media_type}"));
        let id = body.get("id").or_else(|| body.pointer("/session/id")).and_then(Value::as_str);
        let id = id.filter(|_| self.path.contains("{id}")).map(str::to_owned);
        held.map(|(id, _)| id).or(id)
    }

    /// The answer is one of those that are described, in all its parts.
    fn check(&self, values: &mut Values<'_>, sent: &Sent, reply: &Reply) {
        let text = String::from_utf8_lossy(&reply.body);
        let told = || {
            let Sent { target, headers, body } = sent;
            format!("{} {target} {headers:?}\n{body}\n{} {text}", self.method, reply.status)
        };
        assert!(reply.status < 500 || [501, 503].contains(&reply.status), "{}", told());
        let said = &self.said["responses"][reply.status.to_string()];
        assert!(!said.is_null(), "the status is not described: {}", told());
        let said = match said["$ref"].as_str() {
            Some(reference) => values.schemas.resolve(reference).clone(),
            None => said.clone(),
        };
        if reply.status < 300 && !self.body_schema().is_null() {
            let body = serde_json::from_str(&sent.body).unwrap();
            values.learn(values.schemas.check(self.body_schema(), &body).unwrap_or_default());
        }
        let Some(content) = said["content"].as_object() else {
            assert!(reply.body.is_empty(), "{}", told());
            return;
        };
        let media_type = reply.header("content-type").unwrap_or_default();
        let schema = content.get(media_type).unwrap_or_else(|| panic!("{media_type}: {}", told()));
        if media_type.ends_with("/json") || media_type.ends_with("+json") {
            let named = values.schemas.check(&schema["schema"], &reply.json());
            values.learn(named.unwrap_or_else(|why| panic!("{why}\n{}", told())));
            values.hold(&reply.json());
        }
        if reply.status >= 400 {
            reply.problem();
        }
    }
}

/// A value as it stands in an address or a header.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Percent-encoded, all but what needs it nowhere.
fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' | b'.' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}
