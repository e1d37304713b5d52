//! The pre-stage that is built in, against a server made for the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread::{JoinHandle, spawn};

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::bundle::at_s;
use crate::support::{Home, succeeded};

const KEY: &str = "sk-test-4f9aQ27bXw81LmZ0";

/// One request that came in.
struct Asked {
    line: String,
    headers: String,
    body: Value,
}

impl Asked {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.lines().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// A server that gives these answers, one connection each.
struct Fake {
    url: String,
    asked: JoinHandle<Vec<Asked>>,
}

impl Fake {
    fn new(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let serve = move || {
            let answer = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let asked = read(&stream);
                stream.write_all(answer.as_bytes()).unwrap();
                asked
            };
            answers.into_iter().map(answer).collect()
        };
        Self { url, asked: spawn(serve) }
    }

    /// What it was asked, when it has given all its answers.
    fn asked(self) -> Vec<Asked> {
        self.asked.join().unwrap()
    }
}

fn read(stream: &TcpStream) -> Asked {
    let mut reader = BufReader::new(stream);
    let (mut line, mut headers) = (String::new(), String::new());
    reader.read_line(&mut line).unwrap();
    while !headers.ends_with("\r\n\r\n") {
        reader.read_line(&mut headers).unwrap();
    }
    let mut asked = Asked { line, headers, body: Value::Null };
    let length: usize = asked.header("content-length").unwrap().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    asked.body = serde_json::from_slice(&body).unwrap();
    asked
}

fn response(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    )
}

/// A completion with this content.
fn says(content: &str) -> String {
    let choice =
        json!({ "message": { "role": "assistant", "content": content }, "finish_reason": "stop" });
    response("200 OK", "", &json!({ "choices": [choice] }).to_string())
}

impl Home {
    fn asks(&self, url: &str, flags: &[&str]) -> Command {
        let run = at_s(&["run", "--model", "gpt", "--base-url", url, "--prestage", "openai"]);
        let mut command = self.ah_alone(&[&run[..], flags].concat());
        command.env("OPENAI_API_KEY", KEY);
        command
    }
}

#[track_caller]
fn hides_the_key(output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(!out.contains(KEY) && !errors(output).contains(KEY), "{out}{}", errors(output));
}

#[test]
fn a_busy_server_is_asked_again_and_its_answer_is_saved() {
    let home = Home::new();
    let fake = Fake::new(vec![
        response("429 Too Many Requests", "retry-after: 0\r\n", "{}"),
        response("503 Service Unavailable", "retry-after-ms: 1\r\n", ""),
        says(
            "```json\n{\"prompts\": {\"developer\": \"Be brief.\"}, \"custom\": {\"n\": 1.50}}\n```",
        ),
    ]);
    let url = fake.url.clone();
    let output = home.asks(&url, &["--prompt", "sum up", "--json"]).output().unwrap();
    let derived: Value = serde_json::from_str(&succeeded(&output, "run")).unwrap();
    assert_eq!(derived["action"], "derived");
    assert_eq!(derived["bundle"]["prompts"], json!({ "developer": "Be brief." }));
    hides_the_key(&output);
    let asked = fake.asked();
    assert_eq!(asked.len(), 3);
    let last = asked.last().unwrap();
    assert_eq!(last.line, "POST /v1/chat/completions HTTP/1.1\r\n");
    assert_eq!(last.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(last.body["model"], "gpt");
    assert_eq!(last.body["response_format"], json!({ "type": "json_object" }));
    let input: Value =
        serde_json::from_str(last.body["messages"][1]["content"].as_str().unwrap()).unwrap();
    assert_eq!((&input["action"], &input["prompt"]), (&json!("derive"), &json!("sum up")));
    assert_eq!(last.body["messages"][0]["role"], "system");
    // The server is gone: what was saved is restored without it.
    let restored = home.asks(&url, &["--json"]).output().unwrap();
    let restored: Value = serde_json::from_str(&succeeded(&restored, "again")).unwrap();
    assert_eq!((&restored["action"], &restored["sha"]), (&json!("restored"), &derived["sha"]));
    let stored = home.bundle_files().into_iter().flat_map(|(_, _, bytes)| bytes).collect();
    assert!(!String::from_utf8(stored).unwrap().contains(KEY));
}

#[test]
fn refining_shows_the_model_what_there_is() {
    let home = Home::new();
    let fake = Fake::new(vec![
        says(r#"{"prompts":{"developer":"one"}}"#),
        says(r#"{"prep_settings":{"temperature":0.2}}"#),
    ]);
    succeeded(&home.asks(&fake.url, &[]).output().unwrap(), "derive");
    let output = home.asks(&fake.url, &["--refine-text", "cooler", "--json"]).output().unwrap();
    let refined: Value = serde_json::from_str(&succeeded(&output, "refine")).unwrap();
    assert_eq!(refined["bundle"]["prompts"], json!({ "developer": "one" }));
    assert_eq!(refined["bundle"]["prep_settings"], json!({ "temperature": 0.2 }));
    let asked = fake.asked();
    let input = asked[1].body["messages"][1]["content"].as_str().unwrap();
    let input: Value = serde_json::from_str(input).unwrap();
    assert_eq!((&input["action"], &input["refine_text"]), (&json!("refine"), &json!("cooler")));
    assert_eq!(input["bundle"]["prompts"], json!({ "developer": "one" }));
}

#[test]
fn answers_that_are_none_are_named_and_nothing_is_saved() {
    let home = Home::new();
    let choice =
        |choice: Value| response("200 OK", "", &json!({ "choices": [choice] }).to_string());
    let echo = format!("{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\"}}}}");
    for (answer, code, reason) in [
        (says("I cannot do that"), 1, "no valid JSON"),
        (says("[]"), 1, "no valid JSON"),
        (says("{\"answer\":1}"), 1, "none of prompts"),
        (says(" "), 1, "gave an empty answer"),
        (response("200 OK", "", "<html>"), 1, "no chat completion"),
        (response("200 OK", "", "{\"choices\":[]}"), 1, "without choices"),
        (choice(json!({ "message": { "refusal": "no" } })), 1, "refused: no"),
        (choice(json!({ "message": { "content": "{" }, "finish_reason": "length" })), 1, "length"),
        (response("401 Unauthorized", "", &echo), 5, "answered 401"),
        (response("404 Not Found", "", "no such model"), 1, "no such model"),
        (response("307 Temporary Redirect", "location: http://127.0.0.1:1/\r\n", ""), 1, "307"),
        (response("429 Too Many Requests", "retry-after: 9999\r\n", ""), 6, "asks to wait 9999s"),
    ] {
        let fake = Fake::new(vec![answer]);
        let output = home.asks(&fake.url, &[]).output().unwrap();
        assert_eq!(shape(&output), (Some(code), ""), "{reason}: {}", errors(&output));
        assert!(errors(&output).contains(reason), "{reason}: {}", errors(&output));
        hides_the_key(&output);
        assert_eq!(fake.asked().len(), 1);
        assert!(!home.bundles().exists(), "{reason}");
    }
}

#[test]
fn a_server_that_stays_busy_is_given_up() {
    let home = Home::new();
    let busy = response("500 Internal Server Error", "retry-after: 0\r\n", "oops");
    let fake = Fake::new(vec![busy; 5]);
    let output = home.asks(&fake.url, &[]).output().unwrap();
    assert_eq!(shape(&output), (Some(6), ""), "{}", errors(&output));
    assert!(errors(&output).contains("answered 500 Internal Server Error: oops"), "{output:?}");
    assert_eq!(fake.asked().len(), 5);
}

#[test]
fn nobody_there_and_no_address_are_told_apart() {
    let home = Home::new();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://user:{KEY}@{free}");
    for (url, code) in [(url.as_str(), 6), ("not an address", 2)] {
        let output = home.asks(url, &[]).output().unwrap();
        assert_eq!(shape(&output), (Some(code), ""), "{}", errors(&output));
        hides_the_key(&output);
    }
}

#[test]
fn a_server_that_says_nothing_is_waited_for_no_longer_than_asked() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let output = home.asks(&url, &["--timeout", "1s"]).output().unwrap();
    assert_eq!(shape(&output), (Some(6), ""), "{}", errors(&output));
    assert!(errors(&output).contains("timeout"), "{}", errors(&output));
}

#[test]
fn the_key_is_found_in_another_variable_or_where_it_was_kept_or_there_is_none() {
    let home = Home::new();
    let fake = Fake::new(vec![says(r#"{"prompts":{}}"#); 3]);
    let mut named = home.asks(&fake.url, &["--key-env", "OTHER", "--scope", "a"]);
    succeeded(&named.env("OTHER", "another-key").output().unwrap(), "named");
    let keep = ["bundle", "key", "--base-url", &fake.url, "--key-file", "key"];
    let mut unset = home.asks(&fake.url, &["--scope", "b"]);
    std::fs::write(home.work().join("key"), format!("{KEY}\n")).unwrap();
    let kept = home.ah_alone(&keep).output().unwrap();
    succeeded(&kept, "keep");
    hides_the_key(&kept);
    succeeded(&unset.env_remove("OPENAI_API_KEY").output().unwrap(), "kept");
    let forget = ["bundle", "key", "--base-url", &fake.url, "--forget"];
    assert_eq!(
        succeeded(&home.ah_alone(&forget).output().unwrap(), "forget"),
        "the key is forgotten\n"
    );
    assert_eq!(succeeded(&home.ah_alone(&forget).output().unwrap(), "again"), "no key was kept\n");
    let mut none = home.asks(&fake.url, &["--scope", "c"]);
    succeeded(&none.env_remove("OPENAI_API_KEY").output().unwrap(), "none");
    let asked = fake.asked();
    let shown: Vec<Option<&str>> =
        asked.iter().map(|asked| asked.header("authorization")).collect();
    let kept = format!("Bearer {KEY}");
    assert_eq!(shown, [Some("Bearer another-key"), Some(&kept), None]);
}

#[test]
fn the_key_goes_to_another_machine_encrypted_or_when_it_is_typed() {
    let home = Home::new();
    let output = home.asks("http://192.0.2.1/v1", &[]).output().unwrap();
    assert_eq!(shape(&output), (Some(5), ""), "{}", errors(&output));
    assert!(errors(&output).contains("`ah bundle run --insecure`"), "{}", errors(&output));
    hides_the_key(&output);
    assert!(!home.bundles().exists());
}

#[test]
fn agentcli_asks_the_model_with_the_originals_variables() {
    let home = Home::new();
    let fake = Fake::new(vec![says(r#"{"prompts":{"system":"s"}}"#)]);
    let mut command = home.ah_alone(&["agentcli", "-state-dir", "s", "-prompt", "Say ok"]);
    command.env("OAI_BASE_URL", &fake.url).env("OAI_MODEL", "oai").env("OAI_API_KEY", KEY);
    let output = command.env("OPENAI_API_KEY", "weaker-key").output().unwrap();
    assert!(succeeded(&output, "agentcli").contains("\"model_id\": \"oai\""));
    hides_the_key(&output);
    let asked = fake.asked();
    assert_eq!(asked[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(asked[0].body["model"], "oai");
}
