//! `ah agent run` and the resident agents of `ah up`.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::answers::errors;
use crate::support::{Home, piped, succeeded};

/// Long enough for any machine; nothing waits so long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until there is something.
#[track_caller]
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// An agent whose program is a shell script.
fn shell_agent(home: &Home, name: &str, script: &str) {
    std::fs::create_dir_all(home.state()).unwrap();
    let command = json!(["sh", "-c", script]);
    let config = format!("[[program]]\nkind = \"shell\"\ncommand = {command}\n");
    std::fs::write(home.state().join("config.toml"), config).unwrap();
    home.json(&["agent", "create", name, "--kind", "shell"]);
}

fn send(home: &Home, to: &str, text: &str) -> String {
    let sent = home.json(&["message", "send", to, text]);
    let sent = sent["items"].as_array().map_or(&sent, |all| &all[0]);
    sent["id"].as_str().unwrap().to_owned()
}

fn message(home: &Home, id: &str) -> Value {
    let all = home.json(&["message", "list"]);
    let all = all["items"].as_array().unwrap().clone();
    all.into_iter().find(|message| message["id"] == id).unwrap()
}

fn state(home: &Home, agent: &str, file: &str) -> PathBuf {
    home.state().join("agents").join(agent).join("state").join(file)
}

fn types(home: &Home, agent: &str) -> Vec<String> {
    let log = home.json(&["agent", "history", agent]);
    let log = log["items"].as_array().unwrap().clone();
    log.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

pub(crate) fn signal(name: &str, process: impl ToString) {
    let done = Command::new("kill").args([name, &process.to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn a_program_handles_mail_and_may_use_ah_as_its_agent() {
    let home = Home::new();
    let ah = env!("CARGO_BIN_EXE_ah");
    let script = format!(
        "'{ah}' message send operator \"$AH_AGENT did it\" --from $AH_AGENT >&2; echo done"
    );
    shell_agent(&home, "alice", &script);
    let id = send(&home, "alice", "do it");
    let ran = home.json(&["agent", "run", "alice", "--once"]);
    let expected = json!({ "agent": "alice", "succeeded": 1, "failed": 0, "ending": "no-mail" });
    assert_eq!(ran, expected);
    assert_eq!(message(&home, &id)["status"], "acked");
    let inbox = home.json(&["message", "inbox", "operator"]);
    assert_eq!(inbox["items"][0]["body"], "alice did it");
    assert_eq!(types(&home, "alice"), ["user_message", "assistant_message", "turn_end"]);
    assert!(state(&home, "alice", "events.sqlite").exists());
}

#[test]
fn a_loop_that_is_killed_in_mid_turn_has_that_message_redelivered_and_no_other() {
    let home = Home::new();
    let script = "cd $AH_AGENT_HOME/state; [ -e begun ] && echo handled && exit; \
                  echo $$ > begun.tmp; mv begun.tmp begun; exec sleep 600";
    shell_agent(&home, "alice", script);
    let (first, second) = (send(&home, "alice", "first"), send(&home, "alice", "second"));
    let mut killed = home.spawn(&["agent", "run", "alice", "--lease", "1s"]);
    let program = eventually(|| std::fs::read_to_string(state(&home, "alice", "begun")).ok());
    killed.kill().unwrap();
    killed.wait().unwrap();
    signal("-KILL", program.trim());
    assert_ne!(message(&home, &first)["status"], "acked");
    assert_eq!(message(&home, &second)["deliveries"], 0);
    assert_eq!(types(&home, "alice"), ["user_message"]);
    let ran = home.json(&["agent", "run", "alice", "--max-turns", "2"]);
    assert_eq!((&ran["succeeded"], &ran["ending"]), (&json!(2), &json!("turns-made")));
    let (first, second) = (message(&home, &first), message(&home, &second));
    assert_eq!((&first["status"], &first["deliveries"]), (&json!("acked"), &json!(2)));
    assert_eq!((&second["status"], &second["deliveries"]), (&json!("acked"), &json!(1)));
    let (ends, ins): (Vec<_>, Vec<_>) = types(&home, "alice")
        .into_iter()
        .filter(|kind| kind != "assistant_message")
        .partition(|kind| kind == "turn_end");
    assert_eq!((ends.len(), ins.len()), (2, 2));
}

#[test]
fn a_loop_that_is_asked_to_end_gives_its_message_back() {
    let home = Home::new();
    shell_agent(&home, "alice", "touch $AH_AGENT_HOME/state/begun; exec sleep 600");
    let id = send(&home, "alice", "long");
    let mut command = home.ah(&["agent", "run", "alice", "--json"]);
    let child = piped(&mut command).spawn().unwrap();
    eventually(|| state(&home, "alice", "begun").exists().then_some(()));
    let second = errors(&home.run(&["agent", "run", "alice"]));
    assert!(second.contains(&format!("process {}", child.id())), "{second}");
    signal("-TERM", child.id());
    let ended = child.wait_with_output().unwrap();
    let ran: Value = serde_json::from_str(&succeeded(&ended, "ah agent run")).unwrap();
    assert_eq!((&ran["failed"], &ran["ending"]), (&json!(1), &json!("stopped")));
    let back = message(&home, &id);
    assert_eq!((&back["status"], &back["attempts"]), (&json!("queued"), &json!(0)));
    assert_eq!(back["deliveries"], 1, "it was handed out, which was no try of it");
}

#[test]
fn a_kind_without_a_program_is_named_with_what_helps() {
    let home = Home::new();
    home.create_agent("alice");
    let said = errors(&home.run(&["agent", "run", "alice", "--once"]));
    assert!(said.contains("no program is known for the agent kind tester"), "{said}");
    assert!(said.contains("[[program]]"), "{said}");
}

/// `ah up --demo`; ends with the test.
struct Demo(Child);

impl Demo {
    fn start(home: &Home) -> Self {
        let mut command = home.ah(&["up", "--demo", "--port", "0", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let demo = Self(child);
        // It says where it is before it listens for signals.
        let status = ["--remote-server", said["url"].as_str().unwrap(), "status"];
        eventually(|| home.run(&status).status.success().then_some(()));
        demo
    }

    fn end(mut self) {
        signal("-TERM", self.0.id());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first of a list, once there is one.
fn first(home: &Home, list: &[&str]) -> Value {
    eventually(|| home.json(list)["items"].as_array().unwrap().first().cloned())
}

fn bodies(home: &Home, party: &str) -> Vec<String> {
    let all = home.json(&["message", "list", "--to", party]);
    let all = all["items"].as_array().unwrap().clone();
    all.iter().map(|message| message["body"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_demo_asks_waits_for_an_approval_and_comes_to_its_end() {
    let home = Home::new();
    let demo = Demo::start(&home);
    let question = first(&home, &["question", "list"]);
    assert_eq!((&question["from"], &question["status"]), (&json!("alice"), &json!("open")));
    let approval = first(&home, &["approval", "list"]);
    assert_eq!((&approval["agent"], &approval["status"]), (&json!("bob"), &json!("pending")));
    home.json(&["question", "answer", question["id"].as_str().unwrap(), "North Pier"]);
    home.json(&["approval", "approve", approval["id"].as_str().unwrap()]);
    let told =
        |party: &str, text: &str| bodies(&home, party).contains(&text.to_owned()).then_some(());
    eventually(|| told("operator", "the new pier is open"));
    eventually(|| told("bob", "the new pier is called North Pier"));
    eventually(|| told("alice", "noted: the new pier is called North Pier"));
    demo.end();
    // A second start finds everything done.
    let before = bodies(&home, "harbor-master").len();
    Demo::start(&home).end();
    assert_eq!(bodies(&home, "harbor-master").len(), before);
}

#[test]
fn the_demo_leaves_agents_of_others_alone() {
    let home = Home::new();
    home.create_agent("bob");
    let said = errors(&home.run(&["up", "--demo", "--port", "0"]));
    assert!(said.contains("an agent bob is there already that is not the demo's"), "{said}");
}

/// Whether a process runs; one that has ended and was not asked how does not.
#[cfg(target_os = "linux")]
fn runs(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.trim()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// Has a loop killed whose program does `script` first. The next one must not meet it, nor what it
/// started. The script writes its own number and that of what it started to `begun`.
#[cfg(target_os = "linux")]
fn killed_loop_leaves_nobody_to_meet(script: &str, settled: impl Fn(&str, &str) -> bool) {
    let home = Home::new();
    // The second one fails if the first, or what that started, is there.
    let script = format!(
        "cd $AH_AGENT_HOME/state; if [ -e begun ]; then \
         for old in $(cat begun); do grep -sq ') [^Z] ' /proc/$old/stat && exit 7; done; \
         echo alone; exit 0; fi; {script}"
    );
    shell_agent(&home, "alice", &script);
    let id = send(&home, "alice", "work");
    let mut killed = home.spawn(&["agent", "run", "alice", "--lease", "1s"]);
    let begun = eventually(|| std::fs::read_to_string(state(&home, "alice", "begun")).ok());
    let (head, other) = begun.trim().split_once(' ').unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually(|| settled(head, other).then_some(()));
    let output = home.run(&["agent", "run", "alice", "--max-turns", "1"]);
    let said = errors(&output);
    succeeded(&output, "ah agent run");
    assert!(
        said.contains(&format!("alice: ended process {other} of a turn that broke off")),
        "{said}"
    );
    assert!(!runs(head) && !runs(other), "{said}");
    let handled = message(&home, &id);
    assert_eq!((&handled["status"], &handled["deliveries"]), (&json!("acked"), &json!(2)));
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_whose_loop_was_killed_is_ended_before_another_gets_its_message() {
    let script = "sleep 600 & echo $$ $! > begun.tmp; mv begun.tmp begun; wait";
    killed_loop_leaves_nobody_to_meet(script, |head, other| runs(head) && runs(other));
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_program_started_is_ended_also_when_the_program_is_gone() {
    let script = "sleep 600 & echo $$ $! > begun.tmp; mv begun.tmp begun; \
                  while kill -0 $PPID; do sleep 0.01; done";
    killed_loop_leaves_nobody_to_meet(script, |head, other| !runs(head) && runs(other));
}
