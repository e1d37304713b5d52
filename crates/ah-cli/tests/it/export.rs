//! `ah session export` and `import`: a session as a document.

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::{Home, succeeded};

/// A session with everything a document has to carry, and a task.
fn rich() -> (Home, String) {
    let home = Home::new().with_git();
    let flags = ["--label", "k=v", "--delivery", "pr", "--agent", "codex@1"];
    let batch = home.json(&[&["task", "create", "--prompt", "do it"], &flags[..]].concat());
    let id = batch["sessionIds"][0].as_str().unwrap().to_owned();
    let lines = "{\"type\":\"a\",\"data\":{\"x\":\"\\u0000 \\ud800\",\"n\":1.00}}\n\
                 {\"type\":\"b\",\"dedupKey\":\"k\"}\n{\"type\":\"c\",\"data\":\"\u{1b}[0m\"}\n";
    let lines = lines.replace('\u{1b}', "\\u001b");
    let output = home.feed(&["session", "append", &id, "--stdin-jsonl"], lines.as_bytes());
    succeeded(&output, "append");
    home.json(&["session", "pin", &id]);
    (home, id)
}

#[test]
fn the_same_state_gives_the_same_bytes_and_a_digest_at_the_end() {
    let (home, id) = rich();
    let once = home.human(&["session", "export", &id]);
    assert_eq!(once, home.human(&["session", "export", &id]));
    let lines: Vec<&str> = once.lines().collect();
    assert_eq!(lines.len(), 5);
    let [header, footer] = [0, 4].map(|at| serde_json::from_str::<Value>(lines[at]).unwrap());
    let head = (&header["format"], &header["version"], &header["session"]["id"]);
    assert_eq!(head, (&json!("agent-harbor-session"), &json!(1), &json!(id)));
    assert_eq!((&footer["events"], footer["sha256"].as_str().unwrap().len()), (&json!(3), 64));
    assert!(once.contains(r#""data":{"x":"\u0000 \ud800","n":1.00}"#), "{once}");
}

#[test]
fn a_file_is_written_whole_and_said() {
    let (home, id) = rich();
    let document = home.human(&["session", "export", &id]);
    let done = home.json(&["session", "export", &id, "--output", "s.jsonl"]);
    assert_eq!(done, json!({ "id": id, "events": 3, "path": "s.jsonl" }));
    assert_eq!(std::fs::read_to_string(home.work().join("s.jsonl")).unwrap(), document);
    let said = home.human(&["session", "export", &id, "-o", "s.jsonl"]);
    assert_eq!(said, "3 events written to s.jsonl\n");
}

#[test]
fn import_restores_the_session_elsewhere_and_again_changes_nothing() {
    let (home, id) = rich();
    let document = home.human(&["session", "export", &id]);
    let other = Home::new();
    std::fs::write(other.work().join("s.jsonl"), &document).unwrap();
    let done = other.json(&["session", "import", "s.jsonl"]);
    assert_eq!(done, json!({ "sessionId": id, "imported": 3, "present": 0 }));
    assert_eq!(other.human(&["session", "export", &id]), document);
    let before = std::fs::read(other.database()).unwrap();
    let again = other.feed(&["session", "import", "-"], document.as_bytes());
    let said = format!("{id}: 0 events imported, 3 were there already\n");
    assert_eq!(shape(&again), (Some(0), said.as_str()));
    assert_eq!(other.human(&["session", "export", &id]), document);
    assert_eq!(other.json(&["task", "list"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(other.json(&["db", "check"])["ok"], true);
    assert_eq!(before.len(), std::fs::read(other.database()).unwrap().len());
}

#[test]
fn import_goes_on_where_one_before_it_ended() {
    let (home, id) = rich();
    let document = home.human(&["session", "export", &id]);
    let other = Home::new();
    std::fs::write(other.work().join("s.jsonl"), &document).unwrap();
    other.json(&["session", "import", "s.jsonl"]);
    home.json(&["session", "append", &id, "--type", "later"]);
    let longer = home.human(&["session", "export", &id]);
    let output = other.feed(&["session", "import", "-", "--json"], longer.as_bytes());
    let done: Value = serde_json::from_str(&succeeded(&output, "import")).unwrap();
    assert_eq!(done, json!({ "sessionId": id, "imported": 1, "present": 3 }));
}

#[test]
fn a_damaged_document_is_refused_and_nothing_is_written() {
    let (home, id) = rich();
    let document = home.human(&["session", "export", &id]);
    let lines: Vec<&str> = document.lines().collect();
    let other = Home::new();
    for (damaged, reason) in [
        (document.replace("\"type\":\"c\"", "\"type\":\"d\""), "the digest does not match"),
        (lines[..4].join("\n"), "the document is cut off after line 4"),
        (format!("{document}more\n"), "line 6 stands after the closing digest"),
        ([lines[0], lines[2], lines[1], lines[3], lines[4]].join("\n"), "line 2"),
        (document.replacen("\"version\":1", "\"version\":2", 1), "the document has version 2"),
        ("{}\n".to_owned(), "line 1 is not the header"),
        (String::new(), ""),
    ] {
        let output = other.feed(&["session", "import", "-"], damaged.as_bytes());
        let said = errors(&output);
        assert_eq!(shape(&output), (Some(2), ""), "{said}");
        assert!(said.starts_with("error: invalid document: ") && said.contains(reason), "{said}");
    }
    assert!(!other.database().exists(), "nothing was opened");
}

#[test]
fn another_session_of_the_same_id_is_a_conflict() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    let document = home.human(&["session", "export", "s1"]);
    let other = Home::new();
    other.create_session("s1");
    other.json(&["session", "append", "s1", "--type", "different"]);
    let before = other.json(&["session", "events", "s1"]);
    let output = other.feed(&["session", "import", "-"], document.as_bytes());
    assert_eq!(shape(&output), (Some(4), ""), "{}", errors(&output));
    assert_eq!(other.json(&["session", "events", "s1"]), before);
}
