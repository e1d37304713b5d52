//! `ah hook`: whatever happens, nothing is lost, nothing is there twice, and the agent goes on.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use serde_json::{Value, json};

use crate::support::{Home, piped, succeeded};
use crate::token::Up;

const PATIENCE: Duration = Duration::from_secs(60);
/// Far more than a call may take, far less than anything here is held up for.
const SOON: Duration = Duration::from_secs(5);

fn pre_tool(session: &str, tool: &str) -> String {
    json!({
        "session_id": session, "cwd": "/home/dev/project", "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": tool,
    })
    .to_string()
}

/// A hook with places of its own for everything.
fn hook(home: &Home, arguments: &[&str]) -> Command {
    let mut command = home.ah(&["hook"]);
    command.args(arguments).env("TMPDIR", home.path().join("home"));
    command
}

fn start(home: &Home, arguments: &[&str], payload: &str) -> Child {
    let mut child = piped(&mut hook(home, arguments)).spawn().unwrap();
    // One that has ended already does not read.
    let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    child
}

fn call(home: &Home, arguments: &[&str], payload: &str) -> Output {
    start(home, arguments, payload).wait_with_output().unwrap()
}

/// A call that must be silent and succeed.
#[track_caller]
fn tell(home: &Home, payload: &str) {
    silent(&call(home, &["claude-code"], payload));
}

#[track_caller]
fn silent(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// Brings in what a busy machine did not give the time for.
#[track_caller]
fn drain(home: &Home) -> Value {
    let mut command = home.ah(&["hooks", "drain", "--json"]);
    let output = command.env("TMPDIR", home.path().join("home")).output().unwrap();
    serde_json::from_str(&succeeded(&output, "drain")).unwrap()
}

fn events(home: &Home, session: &str) -> Vec<Value> {
    let events = home.json(&["session", "events", session, "--limit", "1000"]);
    events["items"].as_array().unwrap().clone()
}

fn calls_of(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["data"]["tool_use_id"].as_str().unwrap()).collect()
}

/// The files that wait.
fn waiting(home: &Home) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(home.state().join("hooks")) else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect()
}

/// Keeps a call as one that could not be written does.
fn keep(home: &Home, number: usize, payload: &str) {
    let place = home.state().join("hooks");
    std::fs::create_dir_all(&place).unwrap();
    for path in [home.state(), place.clone()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
    }
    let payload: Value = serde_json::from_str(payload).unwrap();
    let call = json!({
        "tool": "claude-code", "id": format!("kept-{number}"), "at": "2026-01-01T00:00:00.000Z",
        "payload": payload,
    });
    std::fs::write(place.join(format!("{number:015}-x.json")), call.to_string()).unwrap();
}

#[test]
fn calls_become_events_of_one_session_and_nothing_is_said() {
    let home = Home::new();
    let prompt = r#"{"session_id":"s1","cwd":"/home/dev","hook_event_name":"UserPromptSubmit","prompt":"do it"}"#;
    tell(&home, prompt);
    tell(&home, &pre_tool("s1", "t1"));
    tell(&home, &pre_tool("s1", "t1"));
    drain(&home);
    let events = events(&home, "s1");
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "pre_tool"]);
    let session = home.json(&["session", "show", "s1"]);
    assert_eq!(session["origin"], json!({ "source": "claude-code", "externalId": "s1" }));
    assert_eq!(session["title"], "do it");
}

#[test]
fn whatever_is_wrong_the_agent_goes_on() {
    let home = Home::new();
    for payload in ["", "no JSON", "{\"a\":", "[1]", "{}", "\u{0}", "{\"session_id\":\"\"}"] {
        silent(&call(&home, &["codex"], payload));
    }
    let asked = home.ah(&["hook", "codex"]).output().unwrap();
    silent(&asked);
    for arguments in [&["hook", "nobody"][..], &["hook"], &["hook", "codex", "--frob"]] {
        let output = home.run(arguments);
        assert_eq!(output.status.code(), Some(0), "2 would stop the agent: {arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    let status = home.json(&["hooks", "status"]);
    assert_eq!(status["refused"], 6, "all but the empty one can be looked at: {status}");
}

#[test]
fn a_database_that_others_hold_does_not_hold_up_the_agent() {
    let home = Home::new();
    home.json(&["session", "create", "--agent", "tester", "--id", "other"]);
    #[expect(clippy::disallowed_methods, reason = "another program holds the database")]
    let mut holder = Connection::open(home.database()).unwrap();
    let held = holder.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    for number in 0..3 {
        let began = Instant::now();
        tell(&home, &pre_tool("s1", &format!("t{number}")));
        assert!(began.elapsed() < SOON, "took {:?}", began.elapsed());
    }
    let files = waiting(&home);
    assert_eq!(files.len(), 3);
    for file in files {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    held.rollback().unwrap();
    tell(&home, &pre_tool("s1", "t3"));
    drain(&home);
    assert_eq!(calls_of(&events(&home, "s1")), ["t0", "t1", "t2", "t3"], "in order, once");
    assert_eq!(waiting(&home).len(), 0);
}

#[test]
fn a_home_that_cannot_be_written_costs_nothing_either() {
    let home = Home::new();
    std::fs::write(home.state(), "a file in its place").unwrap();
    tell(&home, &pre_tool("s1", "t1"));
    std::fs::remove_file(home.state()).unwrap();
    assert_eq!(drain(&home)["broughtIn"], 1);
    assert_eq!(calls_of(&events(&home, "s1")), ["t1"]);
}

#[test]
fn killed_at_any_moment_a_call_that_comes_again_is_there_once() {
    let home = Home::new();
    for round in 0..12 {
        let payload = pre_tool("s1", &format!("t{round}"));
        let mut child = start(&home, &["claude-code"], &payload);
        let end = Instant::now() + Duration::from_millis(round * 4);
        while Instant::now() < end {}
        child.kill().unwrap();
        child.wait().unwrap();
        tell(&home, &payload);
    }
    drain(&home);
    let mut found: Vec<_> = calls_of(&events(&home, "s1")).into_iter().map(str::to_owned).collect();
    found.sort();
    let mut expected: Vec<_> = (0..12).map(|round| format!("t{round}")).collect();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn many_calls_that_wait_come_in_once_and_in_order_whoever_brings_them() {
    let home = Home::new();
    for number in 0..700 {
        keep(&home, number, &pre_tool("s1", &format!("t{number}")));
    }
    let drains: Vec<_> =
        (0..3).map(|_| piped(&mut home.ah(&["hooks", "drain"])).spawn().unwrap()).collect();
    for child in drains {
        succeeded(&child.wait_with_output().unwrap(), "drain");
    }
    drain(&home);
    let expected: Vec<_> = (0..700).map(|number| format!("t{number}")).collect();
    assert_eq!(calls_of(&events(&home, "s1")), expected);
}

#[test]
fn a_file_that_is_torn_is_put_aside_and_costs_no_other() {
    let home = Home::new();
    keep(&home, 1, &pre_tool("s1", "t1"));
    let torn = home.state().join("hooks").join("000000000000000-torn.json");
    std::fs::write(&torn, "{\"tool\":\"claude-c").unwrap();
    drain(&home);
    assert_eq!(calls_of(&events(&home, "s1")), ["t1"]);
    let status = home.json(&["hooks", "status"]);
    assert_eq!((&status["waiting"], &status["refused"]), (&json!(0), &json!(1)));
}

fn sixteen_at_once(home: &Home) {
    let children: Vec<_> = (0..16)
        .map(|number| start(home, &["claude-code"], &pre_tool("s1", &format!("t{number}"))))
        .collect();
    children.into_iter().for_each(|child| silent(&child.wait_with_output().unwrap()));
    drain(home);
    let events = events(home, "s1");
    let mut found = calls_of(&events);
    found.sort_unstable();
    let mut expected: Vec<_> = (0..16).map(|number| format!("t{number}")).collect();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn sixteen_at_once_are_all_there_without_a_server() {
    sixteen_at_once(&Home::new());
}

#[test]
fn sixteen_at_once_are_all_there_with_a_server() {
    let up = Up::start();
    let socket = up.home.state().join("run").join("hook.sock");
    let end = Instant::now() + PATIENCE;
    while !socket.exists() {
        assert!(Instant::now() < end, "no socket came");
    }
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    sixteen_at_once(&up.home);
}

#[test]
fn a_server_brings_in_what_waits_without_another_call() {
    let up = Up::start();
    keep(&up.home, 1, &pre_tool("s1", "t1"));
    let end = Instant::now() + PATIENCE;
    while !waiting(&up.home).is_empty() {
        assert!(Instant::now() < end, "nobody brought it in");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(calls_of(&events(&up.home, "s1")), ["t1"]);
}

/// Where a server of the home listens.
fn listener(home: &Home) -> UnixListener {
    let run = home.state().join("run");
    std::fs::create_dir_all(&run).unwrap();
    std::fs::set_permissions(home.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
    UnixListener::bind(run.join("hook.sock")).unwrap()
}

/// Takes one call, as a server does, and says that it is in the store.
fn take(listener: &UnixListener) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    let mut size = [0; 4];
    stream.read_exact(&mut size).unwrap();
    let mut frame = vec![0; u32::from_be_bytes(size) as usize];
    stream.read_exact(&mut frame).unwrap();
    let answer = br#"{"fate":"recorded"}"#;
    stream.write_all(&(answer.len() as u32).to_be_bytes()).unwrap();
    stream.write_all(answer).unwrap();
    serde_json::from_slice(&frame).unwrap()
}

#[test]
fn a_call_is_handed_to_the_server_and_written_nowhere_else_once_it_is_taken() {
    let home = Home::new();
    let listener = listener(&home);
    let child = start(&home, &["claude-code"], &pre_tool("s1", "t1"));
    let handed = take(&listener);
    assert_eq!(
        (&handed["tool"], &handed["payload"]["tool_use_id"]),
        (&json!("claude-code"), &json!("t1"))
    );
    silent(&child.wait_with_output().unwrap());
    assert!(!home.database().exists());
}

#[test]
fn a_call_for_an_agent_goes_to_the_server_too_and_brings_its_mail() {
    let home = Home::new();
    home.create_agent("ada");
    home.json(&["message", "send", "ada", "the build is red"]);
    let listener = listener(&home);
    let prompt = r#"{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"go"}"#;
    let end = Instant::now() + PATIENCE;
    let said = loop {
        let child = start(&home, &["claude-code", "--agent", "ada"], prompt);
        assert_eq!(take(&listener)["payload"]["prompt"], "go");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        if !output.stdout.is_empty() {
            break String::from_utf8(output.stdout).unwrap();
        }
        assert!(Instant::now() < end, "no mail came");
    };
    assert!(said.contains("the build is red"), "{said}");
    let shown = home.run(&["session", "show", "s1"]);
    assert_eq!(shown.status.code(), Some(3), "the call itself is the server's");
}

#[test]
fn secrets_that_were_taken_out_of_calls_are_counted() {
    let home = Home::new();
    let status = || {
        let mut command = home.ah(&["hooks", "status", "--json"]);
        let output = command.env("TMPDIR", home.path().join("home")).output().unwrap();
        let status: Value = serde_json::from_str(&succeeded(&output, "status")).unwrap();
        status["redacted"].clone()
    };
    tell(&home, &pre_tool("s1", "t1"));
    assert_eq!(status(), json!({}));
    let command = "curl https://bob:hunter2hunter2@example.org/";
    for tool in ["t2", "t3"] {
        tell(&home, &pre_tool("s1", tool).replace("\"ls\"", &format!("\"{command}\"")));
    }
    assert_eq!(status(), json!({ "url-credentials": 2 }));
}

#[test]
fn the_log_that_calls_leave_behind_stays_short() {
    let home = Home::new();
    let log = home.state().join("state.db-wal");
    let mut longest = 0;
    for number in 0..60 {
        tell(&home, &pre_tool("s1", &format!("t{number}")));
        longest = longest.max(std::fs::metadata(&log).map_or(0, |found| found.len()));
    }
    // A write of a call is a few pages; the first also makes the session.
    assert!(longest > 0 && longest < 640 * 1024, "{longest} bytes are read by the next call");
    drain(&home);
    assert_eq!(events(&home, "s1").len(), 60);
}

#[test]
fn a_server_that_breaks_off_costs_nothing() {
    let home = Home::new();
    let listener = listener(&home);
    let child = start(&home, &["claude-code"], &pre_tool("s1", "t1"));
    drop(listener.accept().unwrap());
    silent(&child.wait_with_output().unwrap());
    drain(&home);
    assert_eq!(calls_of(&events(&home, "s1")), ["t1"]);
}

#[test]
fn mail_and_answers_that_wait_are_handed_to_the_agent_once() {
    let home = Home::new();
    home.create_agent("ada");
    let sent = home.json(&["message", "send", "ada", "the build is red"]);
    let id = sent["items"][0]["id"].as_str().unwrap_or_default().to_owned();
    let prompt = r#"{"session_id":"s1","hook_event_name":"UserPromptSubmit","prompt":"go"}"#;
    let arguments = ["claude-code", "--agent", "ada"];
    let end = Instant::now() + PATIENCE;
    let said = loop {
        let output = call(&home, &arguments, prompt);
        assert_eq!(output.status.code(), Some(0));
        if !output.stdout.is_empty() {
            break output.stdout;
        }
        assert!(Instant::now() < end, "no mail came");
    };
    let said: Value = serde_json::from_slice(&said).unwrap();
    let output = &said["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "UserPromptSubmit");
    let context = output["additionalContext"].as_str().unwrap();
    assert!(context.contains("the build is red") && context.contains(&id), "{context}");
    silent(&call(&home, &arguments, prompt));
    let stop = r#"{"session_id":"s1","hook_event_name":"Stop"}"#;
    home.json(&["message", "send", "ada", "later"]);
    silent(&call(&home, &arguments, stop));
}

#[test]
fn a_permission_request_waits_for_the_operator() {
    let home = Home::new();
    home.create_agent("ada");
    let request = r#"{"session_id":"s1","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"rm -r x"}}"#;
    let decisions = [
        (&["approve"][..], json!({ "behavior": "allow" })),
        (&["deny", "--note", "not x"], json!({ "behavior": "deny", "message": "not x" })),
    ];
    for (verb, expected) in decisions {
        let child = start(&home, &["claude-code", "--agent", "ada", "--approvals"], request);
        let end = Instant::now() + PATIENCE;
        let id = loop {
            let pending = home.json(&["approval", "list", "--status", "pending"]);
            if let Some(approval) = pending["items"].get(0) {
                assert_eq!(approval["kind"], "permission");
                assert_eq!(approval["details"]["toolInput"]["command"], "rm -r x");
                break approval["id"].as_str().unwrap().to_owned();
            }
            assert!(Instant::now() < end, "nothing was asked");
        };
        let mut decide = vec!["approval", verb[0], &id];
        decide.extend(&verb[1..]);
        succeeded(&home.run(&decide), &decide);
        let output = child.wait_with_output().unwrap();
        let said: Value = serde_json::from_str(&succeeded(&output, "hook")).unwrap();
        assert_eq!(said["hookSpecificOutput"]["decision"], expected);
        assert_eq!(said["hookSpecificOutput"]["hookEventName"], "PermissionRequest");
    }
}

#[test]
fn hooks_and_the_import_of_the_transcript_are_one_session() {
    let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../ah-import/tests/it/fixtures/claude-code");
    let id = "10000000-0000-4000-8000-000000000001";
    let payloads = std::fs::read_to_string(fixtures.join("hooks/basic.jsonl")).unwrap();
    let transcripts = fixtures.join("2.1.325");
    let transcripts = transcripts.to_str().unwrap();
    let both = Home::new();
    payloads.lines().for_each(|payload| tell(&both, payload));
    drain(&both);
    assert_eq!(events(&both, id).len(), payloads.lines().count());
    let only = Home::new();
    for home in [&both, &only] {
        home.json(&["import", "claude-code", transcripts]);
    }
    let told = |home: &Home| {
        let context = home.json(&["session", "context", id]);
        context["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|said| said["content"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(told(&both), told(&only));
    let count = |home: &Home| home.json(&["session", "list"])["items"].as_array().unwrap().len();
    assert_eq!(count(&both), count(&only));
}
