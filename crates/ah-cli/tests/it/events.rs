//! `ah session append`, `events` and `follow`: the log of a session.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::Home;

fn event(seq: u64, kind: &str, data: Value) -> Value {
    json!({ "sessionId": "s1", "seq": seq, "ts": "TIME", "type": kind, "data": data })
}

fn acknowledged(first: u64, last: u64, appended: u64, duplicates: u64) -> Value {
    json!({
        "sessionId": "s1", "firstSeq": first, "lastSeq": last, "appended": appended,
        "duplicates": duplicates,
    })
}

fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn append_answers_with_the_seq_and_a_key_used_again_changes_nothing() {
    let home = Home::new();
    home.create_session("s1");
    let append = ["session", "append", "s1", "--type", "note", "--data"];
    assert_eq!(home.human(&[&append[..], &["{\"a\":1}"]].concat()), "1\n");
    let keyed = [&append[..], &["[]", "--dedup-key", "k"]].concat();
    assert_eq!(home.json(&keyed), acknowledged(2, 2, 1, 0));
    assert_eq!(home.json(&keyed), acknowledged(2, 2, 0, 1));
    assert_eq!(home.human(&keyed), "2 (was there already)\n");
    std::fs::write(home.work().join("data.json"), " { \"b\" : 1.0 }\n").unwrap();
    let file = ["session", "append", "s1", "--type", "note", "--data-file", "data.json"];
    assert_eq!(home.json(&file), acknowledged(3, 3, 1, 0));
    assert_eq!(home.json(&["session", "append", "s1", "--type", "bare"]), acknowledged(4, 4, 1, 0));
    let page = home.steady(home.json(&["session", "events", "s1"]));
    let mut second = event(2, "note", json!([]));
    second["dedupKey"] = json!("k");
    let items = json!([
        event(1, "note", json!({ "a": 1 })),
        second,
        event(3, "note", json!({ "b": 1.0 })),
        event(4, "bare", Value::Null),
    ]);
    assert_eq!(page, json!({ "items": items, "nextCursor": null }));
}

#[test]
fn lines_are_appended_in_order_and_bad_ones_are_named_by_number() {
    let home = Home::new();
    home.create_session("s1");
    let lines = "{\"type\":\"a\",\"data\":1,\"ts\":\"2020-01-01T00:00:00Z\"}\n\nbroken\n\
                 {\"type\":\"b\",\"dedupKey\":\"k\"}\n{\"type\":\"\"}\n\
                 {\"type\":\"b\",\"dedupKey\":\"k\"}\n{\"type\":\"c\",\"colour\":1}\n";
    let output = home.feed(&["session", "append", "s1", "--stdin-jsonl"], lines.as_bytes());
    let answers = json_lines(&output.stdout);
    let sum = |name: &str| answers.iter().map(|line| line[name].as_u64().unwrap()).sum::<u64>();
    assert_eq!((output.status.code(), sum("appended"), sum("duplicates")), (Some(1), 2, 1));
    assert_eq!(
        errors(&output),
        "error: line 3: invalid event: expected value at line 1 column 1\n\
         error: line 5: invalid type: must not be empty\n\
         error: line 7: invalid event: unknown field `colour`, expected one of `type`, `data`, \
         `dedupKey`, `ts` at line 1 column 20\n\
         error: 3 lines were refused, the others were appended\n"
    );
    let page = home.json(&["session", "events", "s1"]);
    let kept: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|e| e["type"].clone()).collect();
    assert_eq!(kept, ["a", "b"]);
    assert_eq!(page["items"][0]["ts"], "2020-01-01T00:00:00.000Z");
}

#[test]
fn flags_of_one_event_and_of_lines_are_not_mixed() {
    let home = Home::new();
    home.create_session("s1");
    for arguments in [
        &["--stdin-jsonl", "--data", "1"][..],
        &["--stdin-jsonl", "--data-file", "x"],
        &["--stdin-jsonl", "--dedup-key", "k"],
        &["--stdin-jsonl", "--ts", "2020-01-01T00:00:00Z"],
        &["--type", "n", "--strict"],
        &["--data", "1"],
        &[],
    ] {
        home.refused(&[&["session", "append", "s1"], arguments].concat(), 2);
    }
}

#[test]
fn strict_lines_stop_at_the_first_bad_one() {
    let home = Home::new();
    home.create_session("s1");
    let lines = b"{\"type\":\"a\"}\n{\n{\"type\":\"b\"}\n";
    let arguments = ["session", "append", "s1", "--stdin-jsonl", "--strict", "--json"];
    let output = home.feed(&arguments, lines);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(json_lines(&output.stdout), [acknowledged(1, 1, 1, 0)]);
    let problems = json_lines(&output.stderr);
    let reason = "EOF while parsing an object at line 1 column 1";
    let expected = json!({
        "code": "invalid", "title": "a value must be corrected", "status": 422,
        "detail": format!("line 2: invalid event: {reason}"), "field": "event", "reason": reason,
    });
    assert_eq!(problems, [expected]);
}

#[test]
fn a_line_is_acknowledged_before_the_next_one_comes() {
    let home = Home::new();
    home.create_session("s1");
    let mut child = home.spawn(&["session", "append", "s1", "--stdin-jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for seq in 1..=3 {
        writeln!(stdin, "{{\"type\":\"n\"}}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer, acknowledged(seq, seq, 1, 0));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn many_lines_share_batches_and_lose_none() {
    let home = Home::new();
    home.create_session("s1");
    let lines: String = (1..=5_000).map(|n| format!("{{\"type\":\"n\",\"data\":{n}}}\n")).collect();
    let output = home.feed(&["session", "append", "s1", "--stdin-jsonl"], lines.as_bytes());
    let answers = json_lines(&output.stdout);
    assert!(answers.len() < 2_500, "{} acknowledgements", answers.len());
    let mut next = 1;
    for answer in answers {
        assert_eq!(answer["firstSeq"], next);
        next = answer["lastSeq"].as_u64().unwrap() + 1;
    }
    assert_eq!(next, 5_001);
    let page = home.json(&["session", "events", "s1"]);
    let data: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|e| e["data"].as_u64().unwrap()).collect();
    assert_eq!(data, (1..=5_000).collect::<Vec<_>>());
}

#[test]
fn events_are_chosen_by_seq_type_and_number() {
    let home = Home::new();
    home.session_with_events("s1", 3);
    home.json(&["session", "append", "s1", "--type", "other"]);
    let seqs = |arguments: &[&str]| {
        let page = home.json(&[&["session", "events", "s1"], arguments].concat());
        let items = page["items"].as_array().unwrap().clone();
        let seqs: Vec<_> = items.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
        (seqs, page["nextCursor"].as_str().map(str::to_owned))
    };
    assert_eq!(seqs(&["--after", "2"]), (vec![3, 4], None));
    assert_eq!(seqs(&["--type", "other", "--type", "none"]), (vec![4], None));
    assert_eq!(seqs(&["--last", "2"]), (vec![3, 4], None));
    assert_eq!(seqs(&["--up-to", "2"]), (vec![1, 2], None));
    assert_eq!(seqs(&["--after", "1", "--up-to", "3", "--last", "1"]), (vec![3], None));
    assert_eq!(seqs(&["--up-to", "0"]), (vec![], None));
    assert_eq!(seqs(&["--limit", "0"]).0, [0; 0]);
    assert_eq!(seqs(&["--after", "9"]), (vec![], None));
    let (first, cursor) = seqs(&["--limit", "3"]);
    assert_eq!((first, seqs(&["--cursor", &cursor.unwrap()])), (vec![1, 2, 3], (vec![4], None)));
    assert_eq!(seqs(&["--limit", "3", "--up-to", "3"]), (vec![1, 2, 3], None), "no more up to it");
    home.refused(&["session", "events", "s1", "--up-to", "3", "--follow"], 2);
    let for_people = home.run(&["session", "events", "s1", "--after", "1", "--limit", "2"]);
    let said = String::from_utf8(for_people.stderr).unwrap();
    let cursor = said.strip_prefix("more: go on with --cursor ").unwrap();
    let cursor = cursor.strip_suffix(", or leave --limit out\n").unwrap();
    assert_eq!(seqs(&["--cursor", cursor]), (vec![4], None));
}

#[test]
fn events_for_people_stand_on_one_line_each() {
    let home = Home::new();
    home.create_session("s1");
    home.json(&["session", "append", "s1", "--type", "note", "--data", "{\"a\": \"b\"}"]);
    let long = format!("\"{}\"", "x".repeat(500));
    home.json(&["session", "append", "s1", "--type", "note", "--data", &long]);
    let text = home.steady_text(&home.human(&["session", "events", "s1"]));
    let short = format!("\"{}…", "x".repeat(159));
    assert_eq!(text, format!("     1  TIME  note  {{\"a\":\"b\"}}\n     2  TIME  note  {short}\n"));
}

#[test]
fn following_shows_what_is_there_and_what_other_processes_append() {
    let home = Home::new();
    home.session_with_events("s1", 1);
    for verb in [&["session", "follow", "s1"][..], &["session", "events", "s1", "--follow"]] {
        let before = home.json(&["session", "show", "s1"])["lastSeq"].as_u64().unwrap();
        let limit = (before + 1).to_string();
        let mut child = home.spawn(&[verb, &["--limit", &limit, "--json"]].concat());
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut next = || {
            let mut line = String::new();
            stdout.read_line(&mut line).unwrap();
            home.steady(serde_json::from_str(&line).unwrap())
        };
        (1..=before).for_each(|seq| assert_eq!(next()["seq"], seq));
        home.json(&["session", "append", "s1", "--type", "new", "--data", "true"]);
        assert_eq!(next(), event(before + 1, "new", json!(true)));
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn following_only_what_is_new_waits_for_the_wanted_types() {
    let home = Home::new();
    home.session_with_events("s1", 2);
    let arguments = ["session", "follow", "s1", "--after", "1", "--type", "wanted", "--limit", "1"];
    let child = home.spawn(&arguments);
    home.json(&["session", "append", "s1", "--type", "unwanted"]);
    home.json(&["session", "append", "s1", "--type", "wanted"]);
    let output = child.wait_with_output().unwrap();
    let text = home.steady_text(shape(&output).1);
    assert_eq!(text, "     4  TIME  wanted  null\n");
}

#[test]
fn an_event_of_the_past_is_ordered_by_seq() {
    let home = Home::new();
    home.create_session("s1");
    for ts in ["2026-01-01T00:00:00Z", "1999-01-01T00:00:00Z", "2020-01-01T00:00:00Z"] {
        home.json(&["session", "append", "s1", "--type", "n", "--ts", ts]);
    }
    let page = home.json(&["session", "events", "s1"]);
    let found: Vec<_> = page["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| (event["seq"].as_u64().unwrap(), event["ts"].as_str().unwrap()))
        .collect();
    let expected = [
        (1, "2026-01-01T00:00:00.000Z"),
        (2, "1999-01-01T00:00:00.000Z"),
        (3, "2020-01-01T00:00:00.000Z"),
    ];
    assert_eq!(found, expected);
}
