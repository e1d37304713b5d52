//! `ah --remote-server`: the same program over a server.

use std::io::{BufRead, BufReader};
use std::process::{Child, Output, Stdio};

use serde_json::{Value, json};

use crate::support::Home;

/// An access point on the database of a home of its own; ends with the test.
pub(crate) struct Server {
    home: Home,
    child: Child,
    url: String,
}

impl Server {
    pub(crate) fn start(home: Home) -> Self {
        let mut command = home.ah(&["agent", "access-point", "--no-auth", "--json"]);
        command.args(["--bind", "127.0.0.1:0"]).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let url = said["url"].as_str().unwrap().to_owned();
        Self { home, child, url }
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Runs a command of another machine, as far as it can tell.
    fn run(&self, home: &Home, arguments: &[&str]) -> Output {
        home.ah(arguments).args(["--remote-server", &self.url]).output().unwrap()
    }

    fn json(&self, home: &Home, arguments: &[&str]) -> Value {
        let output = self.run(home, &[arguments, &["--json"]].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Where its database is.
    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power cut would, and starts another on the same data.
    pub(crate) fn restart(mut self) -> Self {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let state = Home::new();
        std::fs::rename(self.home.state(), state.state()).unwrap();
        Self::start(state)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Exit code, stdout and stderr, without what differs between two runs: ids, times and places.
fn steady(home: &Home, output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        without_ids_and_times(&text.replace(home.path().to_str().unwrap(), "DIR"))
    };
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn without_ids_and_times(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
    let is_id = |word: &str| word.len() == 36 && word.split('-').count() == 5;
    let is_time = |word: &str| word.len() == 24 && word.ends_with('Z') && word.contains('T');
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        let parts = word.split(':').map(|part| if is_id(part) { "ID" } else { part });
        match is_time(word) {
            true => out.push_str("TIME"),
            false => out.push_str(&parts.collect::<Vec<_>>().join(":")),
        }
        let skipped = rest[end..].find(is_part).map_or(rest.len(), |at| end + at);
        out.push_str(&rest[end..skipped]);
        rest = &rest[skipped..];
    }
    out
}

/// Every verb that works on any store, with what goes wrong in it.
const SCRIPT: &[&[&str]] = &[
    &["session", "create", "--agent", "codex@1", "--id", "s1", "--title", "one", "--label", "a=b"],
    &["session", "create", "--agent", "codex", "--id", "s1"],
    &[
        "session",
        "append",
        "s1",
        "--type",
        "note",
        "--data",
        "{\"x\":1.00,\"usage\":{\"inputTokens\":3}}",
    ],
    &["session", "append", "s1", "--type", "note", "--data", "\"\\ud800\"", "--dedup-key", "k"],
    &["session", "append", "s1", "--type", "note", "--dedup-key", "k"],
    &["session", "append", "s1", "--type", ""],
    &["session", "events", "s1"],
    &["session", "context", "s1"],
    &["session", "events", "s1", "--type", "note", "--limit", "1"],
    &["session", "events", "s"],
    &["session", "show", "s1"],
    &["session", "show", "none"],
    &["session", "list", "--label", "a=b", "--status", "created"],
    &["session", "set-status", "s1", "running"],
    &["session", "set-status", "s1", "created"],
    &["session", "rename", "s1", "two & more"],
    &["session", "pin", "s1"],
    &["session", "fork", "s1"],
    &["session", "delete", "s1", "--yes"],
    &["task", "create", "--prompt", "do it", "--agent", "codex"],
    &["task", "list"],
    &["task", "show", "1"],
    &["task", "show", "9"],
    &["draft", "save", "--prompt", "an idea"],
    &["draft", "list"],
    &["draft", "show", "none"],
    &["session", "create", "--agent", "codex", "--id", "f1"],
    &["fleet", "create", "f1", "--member", "a", "--member", "b", "--pull", "cp -r x ."],
    &["fleet", "create", "f1", "--member", "a"],
    &["fleet", "show", "f1"],
    &["fleet", "show", "none"],
    &["fleet", "lead", "f1", "b"],
    &["fleet", "add", "f1", "c", "--os", "linux"],
    &["fleet", "remove", "f1", "b"],
    &["fleet", "remove", "f1", "a"],
    &["fleet", "fence", "f1", "--timeout", "1s"],
    &["fleet", "fences", "f1"],
    &["fleet", "list"],
    &["fleet", "end", "f1"],
    &["fleet", "list", "--ended"],
    &["kv", "set", "a key/with ?&=%", "value"],
    &["kv", "get", "a key/with ?&=%"],
    &["kv", "list"],
    &["kv", "delete", "none"],
    &["repo", "list"],
    &["repo", "add", "."],
    &["agent", "create", "lib", "--kind", "codex", "--id", "a1", "--model", "m"],
    &["agent", "create", "LIB", "--kind", "codex"],
    &["agent", "say", "lib", "hello"],
    &[
        "agent",
        "append",
        "lib",
        "--type",
        "assistant_message",
        "--data",
        "{\"toolCalls\":[{\"id\":\"c\",\"name\":\"n\"}]}",
    ],
    &["agent", "context", "lib"],
    &["agent", "repair", "lib"],
    &["agent", "reset", "lib", "--message", "why"],
    &["agent", "compact", "lib", "--summary", "all of it"],
    &["agent", "update", "lib", "--stats", "{\"a\":1}", "--tokens", "null", "--if-revision", "3"],
    &["agent", "update", "lib", "--model", "", "--if-revision", "3"],
    &["agent", "sessions", "lib"],
    &["agent", "history", "lib", "--all"],
    &["agent", "stats", "lib"],
    &["agent", "list"],
    &["agent", "show", "a"],
    &["agent", "restore"],
    &["agent", "sleep", "lib"],
    &["agent", "retire", "lib", "--yes"],
    &["agent", "say", "lib", "still there?"],
    &["agent", "kinds", "list"],
];

#[test]
fn every_verb_answers_the_same_over_a_server() {
    let (local, remote) = (Home::new(), Home::new());
    let server = Server::start(Home::new());
    for arguments in SCRIPT {
        let arguments = [arguments, &["--json"][..]].concat();
        let here = steady(&local, &local.run(&arguments));
        let there = steady(&remote, &server.run(&remote, &arguments));
        assert_eq!(here, there, "{arguments:?}");
    }
    assert!(!remote.database().exists(), "nothing is kept on this side");
}

#[test]
fn workspaces_are_the_servers() {
    let (home, server) = (Home::new(), Server::start(Home::new()));
    server.json(&home, &["workspace", "create", "blue"]);
    let made = ["--workspace", "blue", "session", "create", "--agent", "codex"];
    assert_eq!(server.json(&home, &made)["workspace"], "blue");
    let refused = home.run(&made);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}

#[test]
fn what_a_server_acknowledged_is_there_after_it_was_killed() {
    let (home, mut server) = (Home::new(), Server::start(Home::new()));
    server.json(&home, &["session", "create", "--agent", "codex", "--id", "s1"]);
    for round in 1..=3 {
        let done = server.json(&home, &["session", "append", "s1", "--type", "note"]);
        assert_eq!(done["lastSeq"], round);
        server = server.restart();
        let events = server.json(&home, &["session", "events", "s1"]);
        assert_eq!(events["items"].as_array().unwrap().len(), round);
    }
}

#[test]
fn a_document_goes_from_a_server_to_a_file_and_back() {
    let (home, server) = (Home::new(), Server::start(Home::new()));
    server.json(&home, &["session", "create", "--agent", "codex", "--id", "s1"]);
    server.json(&home, &["session", "append", "s1", "--type", "note", "--data", "1.0"]);
    let document = server.run(&home, &["session", "export", "s1"]).stdout;
    std::fs::write(home.work().join("s1.jsonl"), &document).unwrap();
    let report = home.json(&["session", "import", "s1.jsonl"]);
    assert_eq!(report, json!({ "sessionId": "s1", "imported": 1, "present": 0 }));
    assert_eq!(home.run(&["session", "export", "s1"]).stdout, document);
    assert_eq!(server.json(&home, &["session", "import", "s1.jsonl"])["present"], 1);
}

#[test]
fn a_reader_on_one_side_sees_what_another_appends() {
    let (home, server) = (Home::new(), Server::start(Home::new()));
    server.json(&home, &["session", "create", "--agent", "codex", "--id", "s1"]);
    let mut follow =
        home.ah(&["session", "follow", "s1", "--json", "--remote-server", &server.url]);
    let mut reader = follow.stdout(Stdio::piped()).spawn().unwrap();
    // The server's own machine writes to the file beside it.
    server.home.json(&["session", "append", "s1", "--type", "note", "--data", "7"]);
    let mut line = String::new();
    BufReader::new(reader.stdout.take().unwrap()).read_line(&mut line).unwrap();
    reader.kill().unwrap();
    reader.wait().unwrap();
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["seq"], &event["data"]), (&json!(1), &json!(7)));
}

#[test]
fn what_cannot_be_done_over_a_server_says_where() {
    let (home, server) = (Home::new(), Server::start(Home::new()));
    for arguments in [&["db", "check"][..], &["db", "stats"], &["upgrade"]] {
        let refused = server.run(&home, arguments);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(4), "{arguments:?}: {said}");
        assert!(said.contains("hint: run it on the server's machine"), "{said}");
    }
    let up = server.json(&home, &["status"]);
    assert_eq!(up["database"], format!("behind {}", server.url));
}

#[test]
fn nobody_is_served_by_accident() {
    let home = Home::new();
    let open = ["agent", "access-point", "--no-auth", "--bind", "0.0.0.0:0"];
    assert!(home.refused(&open, 5).contains("nobody would be asked for a token"));
    let plain = ["agent", "access-point", "--bind", "0.0.0.0:0"];
    let said = home.refused(&plain, 5);
    assert!(
        said.contains("--insecure") && said.contains("hint: serve this machine only"),
        "{said}"
    );
    assert!(
        !home.state().join("admin-token").exists(),
        "nothing is made for a server that is none"
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = home.refused(&["agent", "access-point", "--no-auth", "--bind", &address], 1);
    assert!(said.contains(&format!("cannot listen on {address}")), "{said}");
}

#[test]
fn a_second_server_of_a_home_is_refused_before_it_says_anything() {
    let server = Server::start(Home::new());
    let second = ["agent", "access-point", "--no-auth", "--json", "--bind", "127.0.0.1:0"];
    let output = server.home.ah(&second).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("another server has its sockets here"), "{said}");
    // The first is none the worse for it.
    server.json(&Home::new(), &["agent", "list"]);
}
