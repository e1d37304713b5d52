//! `ah agent`: the sessions of an agent, what is said in them, and how the next one begins.

use serde_json::{Value, json};

use crate::answers::{errors, shape};
use crate::support::Home;

/// Seq and number of session of every event in a page.
fn places(home: &Home, page: &Value) -> Vec<(u64, u64)> {
    let number = |event: &Value| {
        let session = home.json(&["session", "show", event["sessionId"].as_str().unwrap()]);
        session["ofAgent"]["number"].as_u64().unwrap()
    };
    let items = page["items"].as_array().unwrap();
    items.iter().map(|event| (number(event), event["seq"].as_u64().unwrap())).collect()
}

/// An agent with two events in its first session, none in the second and one in the third.
fn with_three_sessions(home: &Home) {
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "one"]);
    home.json(&["agent", "append", "bob", "--type", "note", "--data", "2"]);
    home.json(&["agent", "reset", "bob"]);
    home.json(&["agent", "reset", "bob", "--message", "enough"]);
    home.json(&["agent", "say", "bob", "three"]);
}

#[test]
fn say_appends_messages_to_the_active_session() {
    let home = Home::new();
    home.create_agent("bob");
    assert_eq!(home.human(&["agent", "say", "bob", "hello"]), "1\n");
    let keyed = ["agent", "say", "bob", "hi \"you\"", "--role", "assistant", "--dedup-key", "k"];
    let session = home.active_session("bob");
    let answer = |appended: u64, duplicates: u64| {
        json!({
            "sessionId": session, "firstSeq": 2, "lastSeq": 2, "appended": appended,
            "duplicates": duplicates,
        })
    };
    assert_eq!(home.json(&keyed), answer(1, 0));
    assert_eq!(home.json(&keyed), answer(0, 1));
    assert_eq!(home.human(&keyed), "2 (was there already)\n");
    let output = home.feed(&["agent", "say", "bob", "-"], "line\nline é\n".as_bytes());
    assert_eq!(shape(&output), (Some(0), "3\n"));
    let page = home.json(&["agent", "history", "bob"]);
    let said: Vec<_> = page["items"].as_array().unwrap().iter().collect();
    let said: Vec<_> = said.iter().map(|e| (&e["type"], &e["data"]["text"])).collect();
    let expected = [
        (&json!("user_message"), &json!("hello")),
        (&json!("assistant_message"), &json!("hi \"you\"")),
        (&json!("user_message"), &json!("line\nline é\n")),
    ];
    assert_eq!(said, expected);
    assert_eq!(home.json(&["session", "show", &session])["status"], "running");
    for refused in
        [&["agent", "say", "bob", " "][..], &["agent", "say", "bob", "x", "--role", "god"]]
    {
        home.refused(refused, 2);
    }
}

#[test]
fn append_takes_what_a_session_takes() {
    let home = Home::new();
    home.create_agent("bob");
    let session = home.active_session("bob");
    let arguments = [
        &["agent", "append", "bob", "--type", "note", "--data", "{\"a\":1.0}"][..],
        &["--dedup-key", "k", "--ts", "2020-01-01T00:00:00Z"],
    ]
    .concat();
    assert_eq!(home.human(&arguments), "1\n");
    assert_eq!(home.human(&arguments), "1 (was there already)\n");
    std::fs::write(home.work().join("data.json"), "[2]").unwrap();
    home.json(&["agent", "append", "bob", "--type", "note", "--data-file", "data.json"]);
    let lines = b"{\"type\":\"a\"}\nbroken\n{\"type\":\"b\"}\n";
    let output = home.feed(&["agent", "append", "bob", "--stdin-jsonl"], lines);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors(&output).starts_with("error: line 2: invalid event: "));
    let strict = ["agent", "append", "bob", "--stdin-jsonl", "--strict"];
    assert_eq!(home.feed(&strict, b"{\n").status.code(), Some(2));
    for refused in [
        &["agent", "append", "bob"][..],
        &["agent", "append", "bob", "--type", "n", "--stdin-jsonl"],
        &["agent", "append", "bob", "--type", "n", "--data", "{"],
        &["agent", "append", "bob", "--stdin-jsonl", "--data", "1"],
    ] {
        home.refused(refused, 2);
    }
    let page = home.json(&["session", "events", &session]);
    let kinds: Vec<_> = page["items"].as_array().unwrap().iter().map(|e| &e["type"]).collect();
    assert_eq!(kinds, ["note", "note", "a", "b"]);
    assert_eq!(page["items"][0]["ts"], "2020-01-01T00:00:00.000Z");
    assert_eq!(home.json(&["agent", "history", "bob"]), page);
}

#[test]
fn a_stream_of_lines_follows_a_reset() {
    use std::io::{BufRead, BufReader, Write};
    let home = Home::new();
    home.create_agent("bob");
    let mut child = home.spawn(&["agent", "append", "bob", "--stdin-jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut append = || -> Value {
        writeln!(stdin, "{{\"type\":\"n\"}}").unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    };
    let first = home.active_session("bob");
    assert_eq!(append()["sessionId"], first.as_str());
    let second = home.json(&["agent", "reset", "bob"])["id"].clone();
    let answer = append();
    assert_eq!((&answer["sessionId"], &answer["firstSeq"]), (&second, &json!(1)));
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_expects_another_session_is_not_appended_and_says_where_it_can_go() {
    let home = Home::new();
    home.create_agent("bob");
    home.create_agent("joe");
    let first = home.active_session("bob");
    let say = ["agent", "say", "bob", "x", "--dedup-key", "k", "--expect-session"];
    let append = ["agent", "append", "bob", "--type", "n", "--expect-session"];
    let expecting = |verb: &[&'static str], session: &str| home.run(&[verb, &[session]].concat());
    for verb in [&say[..], &append[..]] {
        assert!(expecting(verb, &first[..13]).status.success(), "a shortened id will do");
    }
    home.json(&["agent", "reset", "bob", "--session-id", "s-2"]);
    let show = "hint: `ah agent show bob` shows how it stands now\n";
    let late = format!(
        "hint: `ah session append {first} --type T --data JSON` still takes a late record\n"
    );
    for verb in [&say[..], &append[..]] {
        let refused = expecting(verb, &first);
        let said = format!("agent bob: goes on in session s-2, {first} was expected");
        assert_eq!(shape(&refused), (Some(4), ""));
        assert_eq!(errors(&refused), format!("error: {said}\n{show}{late}"));
        let foreign = errors(&expecting(verb, &home.active_session("joe")));
        assert!(foreign.ends_with(show), "not into the session of another: {foreign}");
        assert_eq!(expecting(verb, "nope").status.code(), Some(3));
    }
    assert_eq!(home.json(&["session", "show", "s-2"])["lastSeq"], 0);
    home.json(&["session", "append", &first, "--type", "T", "--data", "{}"]);
    assert_eq!(home.json(&say[..6])["appended"], 1, "the key was used in another session");
    for verb in ["say", "append"] {
        let help = home.human(&["agent", verb, "--help"]);
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("keys hold within one session"), "{help}");
    }
}

#[test]
fn a_stream_of_lines_that_expects_a_session_ends_with_it() {
    use std::io::{BufRead, BufReader, Write};
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    let expect = ["agent", "append", "bob", "--stdin-jsonl", "--expect-session", &first];
    let mut child = home.spawn(&expect);
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{{\"type\":\"n\"}}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains(&first), "{line}");
    home.json(&["agent", "reset", "bob", "--session-id", "s-2"]);
    writeln!(stdin, "{{\"type\":\"n\"}}").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(errors(&output).contains(&format!("`ah session append {first} ")));
    let events = |id| home.json(&["session", "show", id])["lastSeq"].clone();
    assert_eq!([events(&first), events("s-2")], [1, 0]);
}

#[test]
fn a_session_that_only_took_records_itself_succeeded_too() {
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    home.json(&["session", "append", &first, "--type", "note"]);
    home.json(&["agent", "reset", "bob"]);
    let ended = home.json(&["session", "show", &first]);
    assert_eq!([&ended["status"], &ended["exit"]["reason"]], ["succeeded", "reset"]);
}

#[test]
fn a_session_that_comes_back_to_an_agent_that_went_on_has_ended() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "hello"]);
    let first = home.active_session("bob");
    home.json(&["session", "export", &first, "--output", "s.jsonl"]);
    let second = home.json(&["agent", "reset", "bob"])["id"].clone();
    home.json(&["session", "delete", &first]);
    home.json(&["session", "import", "s.jsonl"]);
    let back = home.json(&["session", "show", &first]);
    assert_eq!([&back["status"], &back["exit"]["reason"]], ["succeeded", "import"]);
    assert_eq!([&back["ofAgent"]["number"], &back["lastSeq"]], [1, 1]);
    assert_eq!(home.active_session("bob"), second.as_str().unwrap());
}

#[test]
fn a_reset_ends_the_session_and_begins_the_next_with_the_reason() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "hello"]);
    let first = home.active_session("bob");
    let second = home.json(&["agent", "reset", "bob", "--message", "begin again"]);
    let of_agent =
        json!({ "id": home.json(&["agent", "show", "bob"])["id"], "number": 2, "cause": "reset" });
    assert_eq!(
        [&second["ofAgent"], &second["resetMessage"], &second["status"], &second["lastSeq"]],
        [&of_agent, &json!("begin again"), &json!("created"), &json!(0)]
    );
    let ended = home.json(&["session", "show", &first]);
    assert_eq!([&ended["status"], &ended["exit"]["reason"]], ["succeeded", "reset"]);
    assert_eq!(home.active_session("bob"), second["id"].as_str().unwrap());
    home.json(&["agent", "say", "bob", "and on"]);
    let context = home.json(&["agent", "context", "bob"]);
    let said: Vec<_> = context["messages"].as_array().unwrap().iter().collect();
    assert_eq!(said[0]["content"], json!([{ "type": "text", "text": "begin again" }]));
    assert_eq!(
        [&said[0]["role"], &said[0]["cause"], &said[1]["role"]],
        ["system", "reset", "user"]
    );
    assert_eq!(said.len(), 2, "nothing of the session before");
}

#[test]
fn a_reset_prints_the_id_it_was_given_and_reads_its_message_from_a_file() {
    let home = Home::new();
    home.create_agent("bob");
    std::fs::write(home.work().join("why.txt"), "from a file").unwrap();
    let reset = ["agent", "reset", "bob", "--message-file", "why.txt", "--session-id", "s-2"];
    assert_eq!(home.human(&reset), "s-2\n");
    let piped = ["agent", "reset", "bob", "--message-file", "-", "--session-id", "s-3"];
    assert_eq!(shape(&home.feed(&piped, b"from stdin")), (Some(0), "s-3\n"));
    let message = |id| home.json(&["session", "show", id])["resetMessage"].clone();
    assert_eq!([message("s-2"), message("s-3")], ["from a file", "from stdin"]);
    assert_eq!(home.steady_text(&home.human(&["agent", "reset", "bob"])), "ID\n");
    home.refused(&["agent", "reset", "bob", "--session-id", "s-2"], 4);
    home.refused(&["agent", "reset", "bob", "--message", "a", "--message-file", "why.txt"], 2);
    home.refused(&["agent", "reset", "bob", "--message-file", "none"], 1);
    assert_eq!(home.json(&["agent", "show", "bob"])["sessionCount"], 4, "refused is undone");
}

#[test]
fn a_reset_that_expects_another_session_changes_nothing() {
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    let reset = ["agent", "reset", "bob", "--session-id", "s-2", "--expect-session", &first[..13]];
    assert_eq!(home.human(&reset), "s-2\n", "a shortened id will do");
    let expect = ["agent", "reset", "bob", "--expect-session", &first];
    assert_eq!(
        home.refused(&expect, 4),
        format!(
            "error: agent bob: goes on in session s-2, {} was expected\n\
             hint: `ah agent show bob` shows how it stands now\n",
            "ID"
        )
    );
    assert_eq!(home.active_session("bob"), "s-2");
    home.refused(&["agent", "reset", "bob", "--expect-session", "nope"], 3);
}

#[test]
fn a_compaction_begins_with_the_summary_of_what_was_read() {
    let home = Home::new();
    home.create_agent("bob");
    home.json(&["agent", "say", "bob", "hello"]);
    home.json(&["agent", "say", "bob", "more"]);
    let first = home.active_session("bob");
    let compact = ["agent", "compact", "bob", "--summary", "so far", "--expect-seq"];
    assert_eq!(
        home.detail(&[&compact[..], &["1"]].concat(), 4),
        "agent bob: has 2 events in its session, 1 were expected"
    );
    let made = home.json(&[&compact[..], &["2", "--expect-session", &first]].concat());
    assert_eq!([&made["ofAgent"]["cause"], &made["resetMessage"]], ["compaction", "so far"]);
    let context = home.json(&["agent", "context", "bob"]);
    assert_eq!(context["messages"][0]["cause"], "compaction");
    std::fs::write(home.work().join("sum.txt"), "from a file").unwrap();
    let file = home.human(&["agent", "compact", "bob", "--summary-file", "sum.txt"]);
    assert_eq!(home.steady_text(&file), "ID\n");
    home.refused(&["agent", "compact", "bob"], 2);
    assert_eq!(
        home.detail(&["agent", "compact", "bob", "--summary", " "], 2),
        "invalid summary: must not be empty"
    );
}

#[test]
fn a_fork_goes_on_from_an_earlier_point_of_the_agent() {
    let home = Home::new();
    home.create_agent("bob");
    ["a", "b", "c"].iter().for_each(|text| drop(home.json(&["agent", "say", "bob", text])));
    let first = home.active_session("bob");
    home.json(&["agent", "reset", "bob"]);
    let fork = home.json(&["agent", "fork", "bob", "--session", &first[..13], "--at", "2"]);
    assert_eq!(fork["forkedFrom"], json!({ "sessionId": first, "atSeq": 2 }));
    assert_eq!(fork["ofAgent"]["cause"], "fork");
    home.json(&["agent", "say", "bob", "d"]);
    let context = home.json(&["agent", "context", "bob"]);
    let said: Vec<_> = context["messages"].as_array().unwrap().iter().collect();
    let said: Vec<_> = said.iter().map(|message| &message["content"][0]["text"]).collect();
    assert_eq!(said, ["a", "b", "d"]);
    let page = home.json(&["agent", "history", "bob"]);
    assert_eq!(page["items"].as_array().unwrap().len(), 1, "its log is its own");
    assert_eq!(home.steady_text(&home.human(&["agent", "fork", "bob"])), "ID\n");
    home.refused(&["agent", "fork", "bob", "--at", "9"], 2);
}

#[test]
fn a_session_of_nobody_or_of_another_is_refused() {
    let home = Home::new();
    home.create_agent("bob");
    home.create_agent("joe");
    home.create_session("alone");
    let joes = home.active_session("joe");
    for verb in ["fork", "context"] {
        for session in ["alone", &joes] {
            let said = home.refused(&["agent", verb, "bob", "--session", session], 2);
            let hint = "hint: `ah agent sessions bob` lists them\n";
            assert!(said.starts_with("error: invalid session: ") && said.ends_with(hint), "{said}");
        }
    }
    home.refused(&["agent", "context", "bob", "--session", "nope"], 3);
    assert_eq!(home.json(&["agent", "show", "bob"])["sessionCount"], 1);
}

#[test]
fn sessions_are_listed_newest_first_with_their_reason() {
    let home = Home::new();
    with_three_sessions(&home);
    let long = format!("\n{}\nmore", "y".repeat(80));
    home.json(&["agent", "compact", "bob", "--summary", &long]);
    let all = home.json(&["agent", "sessions", "bob"]);
    let numbers: Vec<_> =
        all["items"].as_array().unwrap().iter().map(|s| s["ofAgent"]["number"].clone()).collect();
    assert_eq!(numbers, [4, 3, 2, 1]);
    let first = home.json(&["agent", "sessions", "bob", "--limit", "3"]);
    let cursor = first["nextCursor"].as_str().unwrap();
    let rest = home.json(&["agent", "sessions", "bob", "--limit", "3", "--cursor", cursor]);
    assert_eq!(rest["items"][0], all["items"][3]);
    assert_eq!(home.json(&["agent", "sessions", "bob", "--all"]), all);
    let text = home.steady_text(&home.human(&["agent", "sessions", "bob"]));
    let cells: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    let header = ["NUMBER", "ID", "STATUS", "CAUSE", "EVENTS", "TOKENS", "CREATED", "REASON"];
    let cut = format!("{}…", "y".repeat(60));
    assert_eq!(cells[0], header);
    assert_eq!(cells[1], ["4*", "ID", "created", "compaction", "0", "now", &cut]);
    assert_eq!(cells[2], ["3", "ID", "succeeded", "reset", "1", "now", "enough"]);
    assert_eq!(cells[3], ["2", "ID", "cancelled", "reset", "0", "now"]);
    assert_eq!(cells[4], ["1", "ID", "succeeded", "created", "2", "now"]);
}

#[test]
fn history_is_the_active_session_unless_all_are_asked_for() {
    let home = Home::new();
    with_three_sessions(&home);
    let page = |arguments: &[&str]| home.json(&[&["agent", "history", "bob"], arguments].concat());
    assert_eq!(places(&home, &page(&[])), [(3, 1)]);
    assert_eq!(places(&home, &page(&["--all"])), [(1, 1), (1, 2), (3, 1)]);
    assert_eq!(places(&home, &page(&["--all", "--type", "user_message"])), [(1, 1), (3, 1)]);
    assert_eq!(page(&["--type", "none"]), json!({ "items": [], "nextCursor": null }));
    assert_eq!(
        home.steady_text(&home.human(&["agent", "history", "bob", "--all"])),
        "session 1 (created) ID\n     \
         1  TIME  user_message  {\"text\":\"one\"}\n     \
         2  TIME  note  2\n\
         session 2 (reset) ID\n\
         session 3 (reset) ID\n     \
         1  TIME  user_message  {\"text\":\"three\"}\n"
    );
    assert_eq!(
        home.steady_text(&home.human(&["agent", "history", "bob"])),
        "     1  TIME  user_message  {\"text\":\"three\"}\n"
    );
}

#[test]
fn history_goes_on_where_its_limit_ended_also_in_the_next_session() {
    let home = Home::new();
    with_three_sessions(&home);
    let mut found = Vec::new();
    let mut arguments = vec!["agent", "history", "bob", "--all", "--limit", "1"];
    let mut page = home.json(&arguments);
    while let Some(cursor) = page["nextCursor"].as_str().map(str::to_owned) {
        found.extend(places(&home, &page));
        arguments.truncate(6);
        page = home.json(&[&arguments[..], &["--cursor", &cursor]].concat());
    }
    found.extend(places(&home, &page));
    assert_eq!(found, [(1, 1), (1, 2), (3, 1)]);
    let nothing = home.json(&["agent", "history", "bob", "--all", "--limit", "0"]);
    assert_eq!(nothing["items"], json!([]));
    let all =
        ["agent", "history", "bob", "--all", "--cursor", nothing["nextCursor"].as_str().unwrap()];
    assert_eq!(places(&home, &home.json(&all)).len(), 3);
    // The session that a cursor names, also when the agent has gone on.
    home.json(&["agent", "say", "bob", "more"]);
    let half = home.json(&["agent", "history", "bob", "--limit", "1"]);
    home.json(&["agent", "reset", "bob"]);
    let rest = ["agent", "history", "bob", "--cursor", half["nextCursor"].as_str().unwrap()];
    assert_eq!(places(&home, &home.json(&rest)), [(3, 2)]);
    for cursor in ["zz", "6e31", "7431"] {
        home.refused(&["agent", "history", "bob", "--cursor", cursor], 2);
    }
}

#[test]
fn a_history_for_people_says_that_there_is_more() {
    let home = Home::new();
    with_three_sessions(&home);
    let history =
        |arguments: &[&str]| home.run(&[&["agent", "history", "bob"], arguments].concat());
    // The third session is asked for by the limit's last event, the second has nothing.
    let half = history(&["--all", "--limit", "2"]);
    let said = errors(&half);
    let cursor = said.strip_prefix("more: go on with --cursor ").unwrap();
    let cursor = cursor.strip_suffix(", or leave --limit out\n").unwrap();
    assert_eq!(shape(&half).1.lines().count(), 3, "a heading and two events");
    let rest = history(&["--all", "--limit", "2", "--cursor", cursor]);
    assert!(shape(&rest).1.contains("three"), "{rest:?}");
    assert_eq!(errors(&rest), "", "that was all");
    assert_eq!(errors(&history(&["--limit", "1"])), "", "there is one");
    assert!(errors(&history(&["--limit", "0"])).starts_with("more: "));
    assert_eq!(errors(&history(&["--limit", "0", "--quiet"])), "");
    assert_eq!(errors(&history(&["--limit", "0", "--json"])), "", "programs have nextCursor");
}

#[test]
fn a_long_history_is_streamed_whole() {
    let home = Home::new();
    home.create_agent("bob");
    let lines: String = (1..=1_500).map(|n| format!("{{\"type\":\"n\",\"data\":{n}}}\n")).collect();
    for _ in 0..2 {
        let output = home.feed(&["agent", "append", "bob", "--stdin-jsonl"], lines.as_bytes());
        assert!(output.status.success());
        home.json(&["agent", "reset", "bob"]);
    }
    let page = home.json(&["agent", "history", "bob", "--all"]);
    let data: Vec<_> =
        page["items"].as_array().unwrap().iter().map(|e| e["data"].as_u64().unwrap()).collect();
    assert_eq!(data, (1..=1_500).chain(1..=1_500).collect::<Vec<_>>());
    assert_eq!(page["nextCursor"], Value::Null);
    assert_eq!(home.human(&["agent", "history", "bob", "--all"]).lines().count(), 3_003);
}

#[test]
fn stats_are_totals_of_the_agent_and_of_each_session() {
    let home = Home::new();
    home.create_agent("bob");
    let spend = |input: u64, output: u64| {
        let data = json!({ "usage": { "inputTokens": input, "outputTokens": output } }).to_string();
        home.json(&["agent", "append", "bob", "--type", "assistant_message", "--data", &data]);
    };
    spend(10, 3);
    home.json(&["agent", "reset", "bob"]);
    spend(5, 1);
    spend(1, 1);
    home.json(&["agent", "update", "bob", "--tokens", r#"{"x":1}"#, "--stats", r#"{"p":{"m":2}}"#]);
    let usage = |input: u64, output: u64| {
        json!({
            "inputTokens": input, "outputTokens": output, "cacheReadTokens": 0,
            "cacheWriteTokens": 0, "reasoningTokens": 0,
        })
    };
    let session = |number: u64, status: &str, cause: &str, events: u64, usage: Value| {
        let ended = if status == "succeeded" { json!("TIME") } else { Value::Null };
        json!({
            "number": number, "id": "ID", "status": status, "cause": cause, "events": events,
            "usage": usage, "createdAt": "TIME", "endedAt": ended,
        })
    };
    let expected = json!({
        "agentId": "ID", "name": "bob", "sessionCount": 2, "events": 3, "usage": usage(16, 5),
        "tokens": { "x": 1 }, "stats": { "p": { "m": 2 } },
        "sessions": [
            session(1, "succeeded", "created", 1, usage(10, 3)),
            session(2, "running", "reset", 2, usage(6, 2)),
        ],
    });
    assert_eq!(home.steady(home.json(&["agent", "stats", "bob"])), expected);
    let text = home.steady_text(&home.human(&["agent", "stats", "bob"]));
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[2..4], [["input:", "16"], ["output:", "5"]]);
    assert_eq!(
        lines[7..9],
        [vec!["last", "answer:", "{\"x\":1}"], vec!["stats:", "{\"p\":{\"m\":2}}"]]
    );
    assert_eq!(lines[11], ["1", "ID", "succeeded", "1", "10", "3"]);
    assert_eq!(lines[12], ["2", "ID", "running", "2", "6", "2"]);
}

#[test]
fn a_session_shows_whose_it_is() {
    let home = Home::new();
    let made = home.create_agent("bob");
    let (agent, session) = (made["id"].as_str().unwrap(), home.active_session("bob"));
    let text = home.human(&["session", "show", &session]);
    let line = format!("of agent:      {agent}, its session 1 (created)\n");
    assert!(text.contains(&line), "{text}");
}

#[test]
fn the_session_an_agent_goes_on_in_is_not_deleted() {
    let home = Home::new();
    home.create_agent("bob");
    let first = home.active_session("bob");
    let said = home.refused(&["session", "delete", &first], 4);
    assert!(said.starts_with(&format!("error: session {first}: ")), "{said}");
    assert!(said.ends_with("\nhint: `ah agent reset bob` begins its next one\n"), "{said}");
    home.json(&["agent", "reset", "bob"]);
    home.json(&["session", "delete", &first]);
    assert_eq!(home.json(&["agent", "sessions", "bob"])["items"].as_array().unwrap().len(), 1);
    assert_eq!(home.json(&["agent", "reset", "bob"])["ofAgent"]["number"], 3, "no number twice");
    home.json(&["agent", "retire", "bob"]);
    let said = home.refused(&["session", "delete", &home.active_session("bob")], 4);
    assert!(said.ends_with("\nhint: bob is dead and keeps its last session\n"), "{said}");
}
