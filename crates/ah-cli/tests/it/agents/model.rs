//! A scripted model on the loopback: Anthropic's Messages and OpenAI's Responses, as event streams.
//!
//! It says what its script says next. A request has the whole conversation, so the answers in it tell
//! how far the script is; nothing is remembered between requests. It knows what it really counted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Tokens of every answer: input beyond the cache, from the cache, written to it, and output.
pub(crate) const INPUT: u64 = 1_000;
pub(crate) const CACHED: u64 = 200;
pub(crate) const WRITTEN: u64 = 30;
pub(crate) const OUTPUT: u64 = 50;

/// One answer: what is said, and what is called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Step {
    pub(crate) say: Option<String>,
    /// Tools, with their arguments as JSON.
    pub(crate) calls: Vec<(String, String)>,
}

impl Step {
    pub(crate) fn say(text: &str) -> Self {
        Self { say: Some(text.to_owned()), calls: Vec::new() }
    }

    #[must_use]
    pub(crate) fn call(mut self, tool: &str, arguments: &str) -> Self {
        self.calls.push((tool.to_owned(), arguments.to_owned()));
        self
    }
}

/// What is answered in a conversation that has this word in it.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) word: &'static str,
    pub(crate) steps: Vec<Step>,
}

/// A server that runs as long as the test.
pub(crate) struct Model {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Model {
    /// The first script whose word a conversation has answers it.
    pub(crate) fn start(scripts: Vec<Script>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (scripts, requests) = (Arc::new(scripts), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (scripts, log) = (Arc::clone(&scripts), Arc::clone(&log));
                std::thread::spawn(move || serve(stream, &scripts, &log));
            }
        });
        Self { address, requests }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The first lines of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// Answers the requests of one connection until it is closed.
fn serve(stream: TcpStream, scripts: &[Script], log: &Mutex<Vec<String>>) {
    let Ok(mut answer) = stream.try_clone() else { return };
    let mut input = BufReader::new(stream);
    while let Some((line, body)) = request(&mut input) {
        let (kind, text) = reply(&line, &body, scripts);
        log.lock().unwrap().push(line);
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            text.len()
        );
        // A program that was killed does not read.
        if answer
            .write_all(head.as_bytes())
            .and_then(|()| answer.write_all(text.as_bytes()))
            .is_err()
        {
            return;
        }
    }
}

/// The first line and the body of a request.
fn request(input: &mut impl BufRead) -> Option<(String, String)> {
    let mut first = String::new();
    input.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
    let (mut bytes, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        input.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
        let line = line.trim().to_ascii_lowercase();
        match line.split_once(':') {
            None if line.is_empty() => break,
            Some(("content-length", value)) => bytes = value.trim().parse().ok()?,
            Some(("transfer-encoding", value)) => chunked = value.contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    while chunked {
        let mut size = String::new();
        input.read_line(&mut size).ok()?;
        let size = u64::from_str_radix(size.trim(), 16).ok()?;
        input.take(size).read_to_end(&mut body).ok()?;
        input.read_line(&mut String::new()).ok()?;
        chunked = size > 0;
    }
    input.take(bytes).read_to_end(&mut body).ok()?;
    Some((first.trim().to_owned(), String::from_utf8_lossy(&body).into_owned()))
}

fn reply(line: &str, body: &str, scripts: &[Script]) -> (&'static str, String) {
    const EVENTS: &str = "text/event-stream";
    const JSON: &str = "application/json";
    if line.contains("/count_tokens") {
        return (JSON, r#"{"input_tokens":10}"#.to_owned());
    }
    if line.contains("/messages") {
        let (step, number) = next(body, scripts, count(body, "\"role\":\"assistant\""), |_| 1);
        return match body.contains("\"stream\":true") {
            true => (EVENTS, messages_events(&step, &number)),
            false => (JSON, message_whole(&step, &number)),
        };
    }
    if line.starts_with("POST") && line.contains("/responses") {
        let told =
            count(body, "\"role\":\"assistant\"") + count(body, "\"type\":\"function_call\"");
        let size = |step: &Step| usize::from(step.say.is_some()) + step.calls.len();
        let (step, number) = next(body, scripts, told, size);
        return (EVENTS, responses_events(&step, &number));
    }
    (JSON, r#"{"data":[],"models":[]}"#.to_owned())
}

fn count(body: &str, part: &str) -> usize {
    body.matches(part).count()
}

/// The step that a conversation is at, and what its ids end with. What has no tools is a question of
/// the program itself, such as for a title.
fn next(
    body: &str,
    scripts: &[Script],
    told: usize,
    size: impl Fn(&Step) -> usize,
) -> (Step, String) {
    let script = scripts.iter().find(|script| body.contains(script.word));
    let has_tools = body.contains("\"tools\":[{");
    let Some(script) = script.filter(|_| has_tools) else {
        return (Step::say("a title"), format!("side{}", body.len()));
    };
    let mut before = 0;
    for (place, step) in script.steps.iter().enumerate() {
        if before >= told {
            return (step.clone(), format!("{}{place}", script.word));
        }
        before += size(step);
    }
    (Step::say("nothing more to say"), format!("{}{told}over", script.word))
}

/// `text` as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

fn event(name: &str, data: &str) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

fn message_whole(step: &Step, number: &str) -> String {
    let said = quoted(step.say.as_deref().unwrap_or_default());
    format!(
        r#"{{"id":"msg_{number}","type":"message","role":"assistant","model":"claude-test-1","content":[{{"type":"text","text":{said}}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{{"input_tokens":{INPUT},"output_tokens":{OUTPUT},"cache_read_input_tokens":{CACHED},"cache_creation_input_tokens":{WRITTEN}}}}}"#
    )
}

fn messages_events(step: &Step, number: &str) -> String {
    let mut text = event(
        "message_start",
        &format!(
            r#"{{"type":"message_start","message":{{"id":"msg_{number}","type":"message","role":"assistant","model":"claude-test-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":{INPUT},"output_tokens":1,"cache_read_input_tokens":{CACHED},"cache_creation_input_tokens":{WRITTEN}}}}}}}"#
        ),
    );
    let mut block = |place: usize, start: String, delta: String| {
        text += &event(
            "content_block_start",
            &format!(r#"{{"type":"content_block_start","index":{place},"content_block":{start}}}"#),
        );
        text += &event(
            "content_block_delta",
            &format!(r#"{{"type":"content_block_delta","index":{place},"delta":{delta}}}"#),
        );
        let stop = format!(r#"{{"type":"content_block_stop","index":{place}}}"#);
        text += &event("content_block_stop", &stop);
    };
    let said = step.say.iter().map(|said| {
        let delta = format!(r#"{{"type":"text_delta","text":{}}}"#, quoted(said));
        (r#"{"type":"text","text":""}"#.to_owned(), delta)
    });
    let called = step.calls.iter().enumerate().map(|(place, (tool, arguments))| {
        let start = format!(
            r#"{{"type":"tool_use","id":"toolu_{number}x{place}","name":{},"input":{{}}}}"#,
            quoted(tool)
        );
        let arguments = quoted(arguments);
        (start, format!(r#"{{"type":"input_json_delta","partial_json":{arguments}}}"#))
    });
    for (place, (start, delta)) in said.chain(called).enumerate() {
        block(place, start, delta);
    }
    let reason = if step.calls.is_empty() { "end_turn" } else { "tool_use" };
    text += &event(
        "message_delta",
        &format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}","stop_sequence":null}},"usage":{{"input_tokens":{INPUT},"output_tokens":{OUTPUT},"cache_read_input_tokens":{CACHED},"cache_creation_input_tokens":{WRITTEN}}}}}"#
        ),
    );
    text + &event("message_stop", r#"{"type":"message_stop"}"#)
}

fn responses_events(step: &Step, number: &str) -> String {
    let response = |status: &str, rest: &str| {
        format!(
            r#"{{"id":"resp_{number}","object":"response","created_at":0,"status":"{status}","model":"gpt-test-1","output":[]{rest}}}"#
        )
    };
    let created = response("in_progress", "");
    let mut text = event(
        "response.created",
        &format!(r#"{{"type":"response.created","response":{created}}}"#),
    );
    let said = step.say.iter().map(|said| {
        format!(
            r#"{{"type":"message","id":"msg_{number}","status":"completed","role":"assistant","content":[{{"type":"output_text","text":{},"annotations":[]}}]}}"#,
            quoted(said)
        )
    });
    let called = step.calls.iter().enumerate().map(|(place, (tool, arguments))| {
        format!(
            r#"{{"type":"function_call","id":"fc_{number}_{place}","status":"completed","call_id":"call_{number}_{place}","name":{},"arguments":{}}}"#,
            quoted(tool),
            quoted(arguments)
        )
    });
    for (place, item) in said.chain(called).enumerate() {
        for name in ["response.output_item.added", "response.output_item.done"] {
            text += &event(
                name,
                &format!(r#"{{"type":"{name}","output_index":{place},"item":{item}}}"#),
            );
        }
    }
    let (input, total) = (INPUT + CACHED, INPUT + CACHED + OUTPUT);
    let usage = format!(
        r#","usage":{{"input_tokens":{input},"input_tokens_details":{{"cached_tokens":{CACHED}}},"output_tokens":{OUTPUT},"output_tokens_details":{{"reasoning_tokens":0}},"total_tokens":{total}}}"#
    );
    let completed = response("completed", &usage);
    text + &event(
        "response.completed",
        &format!(r#"{{"type":"response.completed","response":{completed}}}"#),
    )
}
