//! `ah mcp`: the protocol on standard input and output, and nothing else there.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command};

use serde_json::{Value, json};

use crate::approval::{applied, commit};
use crate::remote::Server;
use crate::resident::signal;
use crate::support::{Home, piped};
use crate::token::{Up, create};

/// A program that speaks to `ah mcp`.
struct Client {
    child: Child,
    answers: BufReader<ChildStdout>,
    stateless: bool,
    last: u64,
}

impl Client {
    /// Starts it, and shakes hands if `version` wants it.
    fn start(command: &mut Command, version: &str) -> Self {
        let mut child = piped(command).spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let stateless = version == "2026-07-28";
        let mut client = Self { child, answers, stateless, last: 0 };
        if !stateless {
            let program = json!({ "name": "by-hand", "version": "1" });
            let hello =
                json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": program });
            assert_eq!(client.ask("initialize", hello)["protocolVersion"], version);
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        }
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn begin(&mut self, method: &str, mut params: Value) {
        self.last += 1;
        if self.stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "by-hand", "version": "1" },
            });
        }
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.last, "{answer}");
        answer["result"].clone()
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.begin(method, params);
        self.answer()
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        assert_ne!(result["isError"], json!(true), "{name}: {result}");
        result["structuredContent"].clone()
    }

    /// Ends the input; what the program still writes must be nothing, and its end a success.
    fn end(mut self) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.answers.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "");
        let output = self.child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{}: {said}", output.status);
        assert_eq!(said, "");
    }
}

/// Begins to ask, and waits until the question is kept; its id.
fn begin_to_ask(home: &Home, client: &mut Client) -> String {
    let ask = json!({ "text": "which?", "waitSeconds": 200 });
    client.begin("tools/call", json!({ "name": "ask", "arguments": ask }));
    loop {
        let open = home.json(&["question", "list"]);
        if let Some(question) = open["items"].as_array().unwrap().first() {
            return question["id"].as_str().unwrap().to_owned();
        }
    }
}

/// The id that came back, of a question that is still open.
fn handle(client: &mut Client) -> String {
    let answer = client.answer();
    let asked = &answer["structuredContent"];
    assert_eq!(asked["outcome"], "open", "{answer}");
    asked["questionId"].as_str().unwrap().to_owned()
}

fn hive() -> Home {
    let home = Home::new();
    for name in ["alice", "bob"] {
        home.create_agent(name);
    }
    home
}

#[test]
fn an_agent_works_on_the_local_database_in_every_era() {
    let home = hive();
    for version in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let mut alice = Client::start(&mut home.ah(&["mcp", "--agent", "ALICE"]), version);
        assert_eq!(alice.tool("whoami", json!({}))["name"], "alice");
        alice.tool("send", json!({ "to": ["bob"], "body": version }));
        let mut bob = Client::start(&mut home.ah(&["mcp", "--agent", "bob"]), version);
        let mail = bob.tool("recv", json!({ "waitSeconds": 5 }))["messages"][0].clone();
        assert_eq!(mail["body"], version);
        let hold = json!({ "id": mail["id"], "delivery": mail["delivery"] });
        bob.tool("ack", json!({ "messages": [hold] }));
        alice.end();
        bob.end();
    }
}

#[test]
fn an_answer_of_another_process_ends_the_wait() {
    let home = hive();
    let mut alice = Client::start(&mut home.ah(&["mcp", "--agent", "alice"]), "2025-11-25");
    let id = begin_to_ask(&home, &mut alice);
    home.json(&["question", "answer", &id, "blue"]);
    let asked = alice.answer()["structuredContent"].clone();
    assert_eq!(asked["answer"]["values"], json!(["blue"]));
    alice.end();
}

#[test]
fn a_program_that_is_ended_while_it_asks_says_the_handle_first() {
    for version in ["2025-11-25", "2026-07-28"] {
        let home = hive();
        let alice = ["mcp", "--agent", "alice"];
        let mut client = Client::start(&mut home.ah(&alice), version);
        let id = begin_to_ask(&home, &mut client);
        signal("-TERM", client.child.id());
        assert_eq!(handle(&mut client), id);
        client.end();
        home.json(&["question", "answer", &id, "blue"]);
        let mut later = Client::start(&mut home.ah(&alice), version);
        let fetched = later.tool("get_answer", json!({ "questionId": id }));
        assert_eq!(fetched["answer"]["values"], json!(["blue"]));
        later.end();
    }
}

#[test]
fn a_server_that_goes_away_while_an_agent_asks_leaves_it_the_handle() {
    for version in ["2025-11-25", "2026-07-28"] {
        let server = Server::start(hive());
        let elsewhere = Home::new();
        let alice = ["mcp", "--agent", "alice", "--remote-server", server.url()];
        let mut client = Client::start(&mut elsewhere.ah(&alice), version);
        let id = begin_to_ask(server.home(), &mut client);
        signal("-TERM", server.pid());
        assert_eq!(handle(&mut client), id);
        client.end();
        let server = server.restart();
        server.home().json(&["question", "answer", &id, "blue"]);
        let alice = ["mcp", "--agent", "alice", "--remote-server", server.url()];
        let mut later = Client::start(&mut elsewhere.ah(&alice), version);
        let fetched = later.tool("get_answer", json!({ "questionId": id }));
        assert_eq!(fetched["answer"]["values"], json!(["blue"]));
        later.end();
    }
}

#[test]
fn only_who_may_operate_is_served_as_the_operator_of_a_server() {
    let up = Up::start();
    up.home.create_agent("alice");
    let elsewhere = Home::new();
    let serve = ["mcp", "--operator", "--remote-server", &up.url];
    let roles = [("viewer", None), ("executor", None), ("agent", Some("alice"))];
    for (role, agent) in roles {
        let whose = agent.map_or(vec![], |name| vec!["--agent", name]);
        let (secret, _) = create(&up.home, &[&["--role", role][..], &whose].concat());
        let output = elsewhere.ah(&serve).env("AH_TOKEN", &secret).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{role}: {said}");
        assert!(output.stdout.is_empty(), "{role}");
        let reason = format!("a token of the role {role} does not speak for the operator");
        assert!(said.contains(&reason), "{said}");
        assert!(said.contains("ah mcp --agent NAME"), "{said}");
    }
    let (secret, _) = create(&up.home, &["--role", "operator"]);
    let mut command = elsewhere.ah(&serve);
    let mut operator = Client::start(command.env("AH_TOKEN", &secret), "2026-07-28");
    assert_eq!(operator.tool("whoami", json!({}))["powers"], "admin");
    operator.end();
}

#[test]
fn an_agent_of_a_server_is_served_and_hears_of_mail_at_once() {
    let server = Server::start(hive());
    let home = Home::new();
    let there = ["mcp", "--agent", "bob", "--remote-server", server.url()];
    let mut bob = Client::start(&mut home.ah(&there), "2025-11-25");
    assert_eq!(bob.tool("recv", json!({ "waitSeconds": 1 })), json!({ "messages": [] }));
    let wait = json!({ "name": "recv", "arguments": { "waitSeconds": 200 } });
    bob.begin("tools/call", wait);
    let mut operator = Client::start(
        &mut home.ah(&["mcp", "--operator", "--remote-server", server.url()]),
        "2026-07-28",
    );
    operator.tool("send", json!({ "to": ["bob"], "body": "now" }));
    let got = bob.answer()["structuredContent"].clone();
    assert_eq!(got["messages"][0]["body"], "now");
    bob.end();
    operator.end();
}

#[test]
fn the_session_comes_from_the_flag_else_from_the_environment() {
    let home = hive();
    for (flag, variable, session) in [
        (None, None, Value::Null),
        (None, Some("CLAUDE_CODE_SESSION_ID"), json!("from-environment")),
        (None, Some("AGENT_SESSION_ID"), json!("from-environment")),
        (Some("from-flag"), Some("AGENT_SESSION_ID"), json!("from-flag")),
    ] {
        let mut command = home.ah(&["mcp", "--agent", "alice"]);
        command.env_remove("CLAUDE_CODE_SESSION_ID").env_remove("AGENT_SESSION_ID");
        flag.map(|flag| command.args(["--session", flag]));
        variable.map(|name| command.env(name, "from-environment"));
        let mut alice = Client::start(&mut command, "2025-11-25");
        assert_eq!(alice.tool("whoami", json!({}))["session"], session);
        alice.end();
    }
}

#[test]
fn the_operator_decides_what_agents_may_not() {
    let home = hive();
    let mut alice = Client::start(&mut home.ah(&["mcp", "--agent", "alice"]), "2025-11-25");
    let request = json!({ "kind": "deploy", "reason": "it is ready" });
    let approval = alice.tool("request_approval", request);
    assert_eq!(approval["status"], "pending");
    let mut operator = Client::start(&mut home.ah(&["mcp", "--operator"]), "2026-07-28");
    let decision = json!({ "approvalId": approval["id"], "verdict": "denied", "note": "not yet" });
    assert_eq!(operator.tool("decide_approval", decision)["status"], "denied");
    let status = alice.tool("approval_status", json!({ "approvalId": approval["id"] }));
    assert_eq!((&status["status"], &status["note"]), (&json!("denied"), &json!("not yet")));
    // She has heard of it, so no mail tells her again.
    assert_eq!(alice.tool("recv", json!({ "waitSeconds": 0 })), json!({ "messages": [] }));
    alice.end();
    operator.end();
}

#[test]
fn a_commit_is_pinned_when_it_is_asked_for_and_in_force_once_approved() {
    let home = hive();
    let asked_for = commit(&home, "one");
    let mut alice = Client::start(&mut home.ah(&["mcp", "--agent", "alice"]), "2026-07-28");
    let request = json!({ "kind": "apply_commit", "commitRef": "HEAD", "reason": "better" });
    let approval = alice.tool("request_approval", request);
    assert_eq!(approval["commit"], asked_for);
    commit(&home, "two");
    let mut operator = Client::start(&mut home.ah(&["mcp", "--operator"]), "2025-11-25");
    let approve = json!({ "approvalId": approval["id"], "verdict": "approved" });
    assert_ne!(operator.tool("decide_approval", approve)["carriedOutAt"], Value::Null);
    assert_eq!(applied(&home), asked_for);
    alice.end();
    operator.end();
}

#[test]
fn who_is_not_there_is_not_served() {
    let home = hive();
    home.json(&["agent", "destroy", "bob"]);
    for (arguments, exit) in [
        (&["mcp"][..], 2),
        (&["mcp", "--agent", "alice", "--operator"], 2),
        (&["mcp", "--agent", "nobody"], 3),
        (&["mcp", "--agent", "bob"], 4),
        (&["mcp", "--agent", "alice", "--session", ""], 2),
    ] {
        let output = home.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(said.contains("error"), "{arguments:?}: {said}");
    }
    // Whoever says nothing has nothing to be told.
    assert!(home.run(&["mcp", "--agent", "alice"]).status.success());
}

#[test]
fn who_is_served_must_be_said() {
    let output = hive().ah(&["mcp"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--agent") && said.contains("--operator"), "{said}");
}
