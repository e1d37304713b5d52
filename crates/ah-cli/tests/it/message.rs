//! `ah message`: mail between agents and the operator, by command line alone.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;

use crate::support::{Home, piped};

fn hive(names: &[&str]) -> Home {
    let home = Home::new();
    names.iter().for_each(|name| drop(home.create_agent(name)));
    home
}

/// The next message of an agent, if one waits.
fn recv(home: &Home, agent: &str, more: &[&str]) -> Option<Value> {
    let output = home.run(&[&["message", "recv", agent, "--json"][..], more].concat());
    match output.status.code() {
        Some(0) => Some(serde_json::from_slice(&output.stdout).unwrap()),
        Some(3) => None,
        _ => panic!("{output:?}"),
    }
}

fn refused(home: &Home, arguments: &[&str], exit: i32) -> String {
    let output = home.run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {said}");
    said
}

#[test]
fn a_message_is_sent_taken_answered_and_acknowledged() {
    let home = hive(&["alice", "bob"]);
    let sent = home.json(&["message", "send", "bob", "please review", "--from", "alice"]);
    assert_eq!((&sent["from"], &sent["to"]), (&"alice".into(), &"bob".into()));
    let got = recv(&home, "bob", &[]).unwrap();
    assert_eq!((&got["id"], &got["deliveries"]), (&sent["id"], &1.into()));
    assert_eq!(recv(&home, "bob", &[]), None, "nobody else gets it");
    let id = sent["id"].as_str().unwrap();
    let reply = ["message", "send", "alice", "done", "--from", "bob", "--reply-to", &id[..30]];
    assert_eq!(home.json(&reply)["inReplyTo"], sent["id"]);
    let acked = home.json(&["message", "ack", id, "--delivery", "1"]);
    assert_eq!(acked["items"][0]["status"], "acked");
    assert_eq!(home.json(&["message", "list", "--reply-to", id])["items"][0]["from"], "bob");
    assert_eq!(home.json(&["message", "inbox", "bob"])["items"], serde_json::json!([]));
    assert_eq!(home.json(&["message", "list", "--from", "alice"])["items"][0]["id"], sent["id"]);
}

#[test]
fn one_text_goes_to_several_or_to_nobody() {
    let home = hive(&["alice", "bob"]);
    let sent = home.json(&["message", "send", "alice,bob,operator", "hello"]);
    let to: Vec<_> = sent["items"].as_array().unwrap().iter().map(|m| m["to"].clone()).collect();
    assert_eq!(to, ["alice", "bob", "operator"]);
    let said = refused(&home, &["message", "send", "alice,carol", "hello"], 3);
    assert!(said.contains("agent carol not found") && said.contains("ah agent list"), "{said}");
    assert_eq!(
        home.json(&["message", "list", "--to", "alice"])["items"].as_array().unwrap().len(),
        1
    );
}

#[test]
fn a_lease_that_ends_gives_the_message_to_the_next_marked() {
    let home = hive(&["bob"]);
    home.json(&["message", "send", "bob", "work"]);
    let first = recv(&home, "bob", &["--lease", "1s"]).unwrap();
    let again = recv(&home, "bob", &["--wait", "20s"]).unwrap();
    assert_eq!(again["id"], first["id"]);
    assert_eq!((&again["deliveries"], &again["attempts"]), (&2.into(), &1.into()));
    let id = first["id"].as_str().unwrap();
    let said = refused(&home, &["message", "ack", id, "--delivery", "1"], 4);
    assert!(said.contains("hand-out 1 is not the newest"), "{said}");
    home.json(&["message", "ack", id, "--delivery", "2"]);
}

#[test]
fn what_nobody_can_handle_is_given_up_and_its_writer_told() {
    let home = hive(&["alice", "bob"]);
    let sent = home.json(&["message", "send", "bob", "poison", "--from", "alice"]);
    let id = sent["id"].as_str().unwrap();
    for try_number in 1..=5 {
        recv(&home, "bob", &[]).unwrap();
        let left = home.json(&["message", "release", id, "--note", "cannot parse"]);
        assert_eq!(left["attempts"], try_number);
    }
    assert_eq!(home.json(&["message", "dead"])["items"][0]["id"], sent["id"]);
    let bounce = recv(&home, "alice", &[]).unwrap();
    assert_eq!((&bounce["kind"], &bounce["about"]), (&"bounce".into(), &sent["id"]));
    assert!(bounce["body"].as_str().unwrap().contains("cannot parse"), "{bounce}");
    home.json(&["message", "requeue", id]);
    assert_eq!(recv(&home, "bob", &[]).unwrap()["deliveries"], 6);
}

#[test]
fn a_message_that_rests_is_not_handed_out() {
    let home = hive(&["bob"]);
    let sent = home.json(&["message", "send", "bob", "later"]);
    recv(&home, "bob", &[]).unwrap();
    home.json(&["message", "release", sent["id"].as_str().unwrap(), "--delay", "1h"]);
    assert_eq!(recv(&home, "bob", &[]), None);
    assert_eq!(home.json(&["message", "inbox", "bob"])["items"][0]["status"], "queued");
}

#[test]
fn who_waits_is_woken_by_another_process() {
    let home = hive(&["bob"]);
    let waiting = home.spawn(&["message", "recv", "bob", "--wait", "60s", "--json"]);
    // Wherever in its life the other process is now, it must get the message.
    std::thread::sleep(Duration::from_millis(300));
    let sent = home.json(&["message", "send", "bob", "wake up"]);
    let output = waiting.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let got: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(got["id"], sent["id"]);
}

#[test]
fn text_comes_from_stdin_whole() {
    let home = hive(&["bob"]);
    let mut child =
        piped(&mut home.ah(&["message", "send", "bob", "-", "--json"])).spawn().unwrap();
    let text = "two\nlines \u{2603} and \"quotes\"\n";
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let sent: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(sent["body"], text);
}

#[test]
fn names_that_are_no_names_are_refused() {
    let home = hive(&["bob"]);
    let long = "x".repeat(300);
    for name in ["../x", "a/b", "", &long, "b\u{43e}b", ".", "-"] {
        for arguments in [
            vec!["message", "send", "--", name, "text"],
            vec!["message", "inbox", "--", name],
            vec!["message", "recv", "--", name],
            vec!["agent", "create", "--kind", "tester", "--", name],
        ] {
            let said = refused(&home, &arguments, 2);
            assert!(said.contains("agent name"), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn an_agent_program_acts_as_itself() {
    let home = hive(&["alice", "bob"]);
    let send =
        home.ah(&["message", "send", "bob", "hi", "--json"]).env("AH_AGENT", "alice").output();
    let sent: Value = serde_json::from_slice(&send.unwrap().stdout).unwrap();
    assert_eq!(sent["from"], "alice");
}

#[test]
fn an_agent_program_is_kept_from_acting_as_others() {
    let home = hive(&["alice", "bob"]);
    let asked = home.json(&["approval", "request", "--agent", "alice", "--kind", "deploy"]);
    let id = asked["id"].as_str().unwrap();
    for arguments in [
        &["approval", "approve", id][..],
        &["approval", "deny", id, "--note", "no"],
        &["message", "recv", "bob"],
        &["message", "inbox", "operator"],
        &["message", "send", "operator", "x", "--from", "bob"],
        &["question", "ask", "x", "--from", "bob"],
        &["agent", "destroy", "bob"],
        &["agent", "purge", "bob", "--yes"],
    ] {
        let output = home.ah(arguments).env("AH_AGENT", "alice").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{arguments:?}: {said}");
        assert!(said.contains("AH_AGENT is alice"), "{said}");
    }
    assert_eq!(home.json(&["approval", "show", id])["status"], "pending");
}

/// Processor time of the children of this process so far, in hundredths of a second.
#[cfg(target_os = "linux")]
fn work_of_children() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let after_name = stat.rsplit_once(')').unwrap().1;
    let field = |at: usize| after_name.split_whitespace().nth(at).unwrap().parse::<u64>().unwrap();
    field(13) + field(14)
}

#[cfg(target_os = "linux")]
#[test]
fn who_waits_for_what_does_not_come_does_not_work_meanwhile() {
    let home = hive(&["bob"]);
    let held = home.json(&["message", "send", "bob", "held"]);
    recv(&home, "bob", &[]).unwrap();
    home.json(&["message", "send", "bob", "another that could be received"]);
    let before = work_of_children();
    assert_eq!(recv(&home, "bob", &["--id", held["id"].as_str().unwrap(), "--wait", "3s"]), None);
    let work = work_of_children() - before;
    assert!(work < 100, "{work} hundredths of a second in three");
}

#[test]
fn a_message_reads_well_and_moves_no_cursor() {
    let home = hive(&["bob"]);
    home.json(&["message", "send", "bob", "a\u{1b}[2Jb"]);
    for arguments in [["message", "inbox", "bob"], ["message", "recv", "bob"]] {
        let output = home.run(&arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("operator") && !text.contains('\u{1b}'), "{text:?}");
    }
}
