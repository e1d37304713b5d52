//! Many processes at one agent: resets at once are ordered, and one that is killed leaves a whole
//! agent with everything it acknowledged.

use std::process::{Child, Command, Output};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::random::Random;
use crate::support::{Home, piped, succeeded};

const RESETS: u64 = 12;
const KILLS: usize = 12;

/// Says something and resets, again and again, and writes down what was acknowledged.
const LOOP: &str = r#"n=0; while :; do n=$((n+1));
said=$("$0" agent say bob "$1-$n" --json) && echo "$1-$n $said";
[ $((n % 3)) -ne 0 ] || { made=$("$0" agent reset bob --json) && echo "reset $made"; }; done"#;

#[test]
fn resets_at_once_are_ordered() {
    let home = Home::new();
    home.create_agent("bob");
    for output in at_once(&home, &["agent", "reset", "bob", "--json"]) {
        succeeded(&output, "reset");
    }
    let sessions = sessions(&home);
    let numbers: Vec<_> = sessions.iter().map(|s| s["ofAgent"]["number"].clone()).collect();
    assert_eq!(numbers, (1..=RESETS + 1).rev().collect::<Vec<_>>());
    assert_eq!(home.active_session("bob"), sessions[0]["id"].as_str().unwrap());
    check_one_is_active(&home, &sessions);
}

#[test]
fn of_resets_that_expect_the_same_session_one_wins() {
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    let arguments = ["agent", "reset", "bob", "--expect-session", &first];
    let codes = at_once(&home, &arguments).into_iter().map(|output| output.status.code());
    let (won, lost): (Vec<_>, Vec<_>) = codes.partition(|code| *code == Some(0));
    assert_eq!((won.len(), lost), (1, vec![Some(4); RESETS as usize - 1]));
    let sessions = sessions(&home);
    assert_eq!(sessions.len(), 2);
    check_one_is_active(&home, &sessions);
}

#[test]
fn killed_programs_leave_a_whole_agent() {
    let mut random = Random::new(5);
    let home = Home::new();
    home.create_agent("bob");
    let mut acknowledged = Vec::new();
    for kill in 0..KILLS {
        let child = looping(&home, &format!("w{kill}"));
        thread::sleep(Duration::from_millis(30 + random.next() % 300));
        acknowledged.extend(kill_group(child).lines().map(str::to_owned));
    }
    assert!(acknowledged.len() > KILLS, "they were killed before they did anything");
    let history = home.json(&["agent", "history", "bob", "--all"]);
    let events = history["items"].as_array().unwrap();
    let sessions = sessions(&home);
    for line in &acknowledged {
        let (what, answer) = line.split_once(' ').unwrap();
        let answer: Value = serde_json::from_str(answer).unwrap();
        let there = match what {
            "reset" => sessions.iter().any(|session| session["id"] == answer["id"]),
            said => events.iter().any(|event| {
                event["sessionId"] == answer["sessionId"]
                    && event["seq"] == answer["firstSeq"]
                    && event["data"]["text"] == said
            }),
        };
        assert!(there, "acknowledged and lost: {line}");
    }
    check_one_is_active(&home, &sessions);
    assert_eq!(home.json(&["agent", "show", "bob"])["sessionCount"], sessions.len());
}

/// Runs the program many times, all of them begun when the last is there.
fn at_once(home: &Home, arguments: &[&str]) -> Vec<Output> {
    let waiting: Vec<Child> = (0..RESETS)
        .map(|_| {
            let mut command = home.clean("sh");
            command.args(["-c", r#"read go; exec "$@""#, "sh", env!("CARGO_BIN_EXE_ah")]);
            piped(command.args(arguments)).spawn().unwrap()
        })
        .collect();
    let go = |mut child: Child| {
        drop(child.stdin.take());
        child
    };
    let going: Vec<Child> = waiting.into_iter().map(go).collect();
    going.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

fn sessions(home: &Home) -> Vec<Value> {
    home.json(&["agent", "sessions", "bob", "--all"])["items"].as_array().unwrap().clone()
}

#[track_caller]
fn check_one_is_active(home: &Home, sessions: &[Value]) {
    let open: Vec<_> = sessions.iter().filter(|session| session["endedAt"].is_null()).collect();
    assert_eq!(open.len(), 1, "all but one have ended");
    assert_eq!(open[0]["id"], home.active_session("bob").as_str());
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

/// A shell that runs the program in a loop, in a process group of its own.
fn looping(home: &Home, writer: &str) -> Child {
    use std::os::unix::process::CommandExt;
    let mut command: Command = home.clean("sh");
    command.args(["-c", LOOP, env!("CARGO_BIN_EXE_ah"), writer]);
    piped(command.process_group(0)).spawn().unwrap()
}

/// Kills the loop and the program it is in; what they had printed by then, but for half a line.
fn kill_group(child: Child) -> String {
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-9", "--", &group]).status().unwrap();
    assert!(killed.success());
    let printed = child.wait_with_output().unwrap().stdout;
    let text = String::from_utf8(printed).unwrap();
    text[..text.rfind('\n').map_or(0, |end| end + 1)].to_owned()
}
