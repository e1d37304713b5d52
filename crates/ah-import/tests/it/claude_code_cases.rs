//! What happens to Claude Code's sessions, in transcripts made up for it.

use std::fmt::Write;

use ah_conformance::block_on;
use ah_import::TranscriptOptions;
use ah_model::limits::EVENT_DATA_BYTES_MAX;
use ah_model::{Timestamp, to_hex};
use serde_json::{Value, json};

use crate::support::{events, store};
use crate::transcript::{
    Tool, Transcripts, kept, kinds, log, name, options, session, sessions, tokens, told, total,
};

const A: &str = "aaaaaaaa-0000-4000-8000-00000000000a";
const B: &str = "bbbbbbbb-0000-4000-8000-00000000000b";

/// A transcript in the making.
#[derive(Clone)]
struct Script {
    session: String,
    lines: Vec<Value>,
    last: Option<String>,
}

impl Script {
    fn new(session: &str) -> Self {
        Self { session: session.to_owned(), lines: Vec::new(), last: None }
    }

    /// Adds a line that follows the one before.
    fn line(mut self, uuid: &str, mut line: Value) -> Self {
        let time = Timestamp::from_unix_ms(1_794_727_560_000 + self.lines.len() as i64 * 1_000);
        let common = json!({
            "uuid": uuid, "parentUuid": self.last, "sessionId": self.session, "isSidechain": false,
            "cwd": "/srv/p", "version": "2.1.0", "timestamp": time,
        });
        for (key, value) in common.as_object().unwrap() {
            line.as_object_mut().unwrap().entry(key.clone()).or_insert(value.clone());
        }
        self.last = Some(uuid.to_owned());
        self.lines.push(line);
        self
    }

    /// Adds a line that is no part of the conversation.
    fn mark(mut self, line: Value) -> Self {
        self.lines.push(line);
        self
    }

    fn prompt(self, uuid: &str, text: &str) -> Self {
        self.line(uuid, json!({"type": "user", "message": {"role": "user", "content": text}}))
    }

    /// An answer of 1,000 tokens of input and so many of output.
    fn answer(self, uuid: &str, text: &str, output: u64) -> Self {
        let id = format!("msg-{uuid}");
        self.part(uuid, &id, json!({"type": "text", "text": text}), "end_turn", output)
    }

    fn call(self, uuid: &str, id: &str) -> Self {
        let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
        self.part(uuid, &format!("msg-{uuid}"), call, "tool_use", 10)
    }

    fn part(self, uuid: &str, id: &str, block: Value, reason: &str, output: u64) -> Self {
        let usage = json!({"input_tokens": 1000, "output_tokens": output});
        let message = json!({
            "id": id, "role": "assistant", "model": "m", "content": [block],
            "stop_reason": reason, "usage": usage,
        });
        self.line(uuid, json!({"type": "assistant", "message": message}))
    }

    fn result(self, uuid: &str, id: &str, text: &str) -> Self {
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text});
        self.line(uuid, json!({"type": "user", "message": {"role": "user", "content": [block]}}))
    }

    fn compacted(mut self, uuid: &str, summary: &str) -> Self {
        let before = self.last.take();
        let boundary =
            json!({"type": "system", "subtype": "compact_boundary", "logicalParentUuid": before});
        let summary = json!({
            "type": "user", "isCompactSummary": true,
            "message": {"role": "user", "content": summary},
        });
        self.line(uuid, boundary).line(&format!("{uuid}-s"), summary)
    }

    fn ledger(self, input: u64, output: u64) -> Self {
        let usage = json!({"inputTokens": input, "outputTokens": output});
        self.mark(json!({"type": "cost-state", "modelUsage": {"m": usage}}))
    }

    /// A session that goes on from this one: its lines are copied under another id.
    fn fork(&self, session: &str) -> Self {
        let mut fork = self.clone();
        fork.session = session.to_owned();
        fork.lines.iter_mut().for_each(|line| line["sessionId"] = json!(session));
        fork
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = String::new();
        self.lines.iter().for_each(|line| writeln!(text, "{line}").unwrap());
        text.into_bytes()
    }

    fn put(&self, transcripts: &Transcripts) {
        transcripts.write(&format!("-srv-p/{}.jsonl", self.session), &self.bytes());
    }
}

fn new() -> Transcripts {
    Transcripts::new(Tool::ClaudeCode)
}

/// A session of two turns, the first with a call.
fn two_turns() -> Script {
    Script::new(A)
        .prompt("u1", "first")
        .call("u2", "c1")
        .result("u3", "c1", "done")
        .answer("u4", "one", 10)
        .prompt("u5", "second")
        .answer("u6", "two", 10)
}

#[test]
fn a_fork_is_a_link_and_its_copied_lines_are_not_stored_again() {
    let (transcripts, store) = (new(), store());
    let parent = two_turns();
    parent.put(&transcripts);
    parent.fork(B).prompt("f1", "forked").answer("f2", "three", 10).put(&transcripts);
    parent.prompt("u7", "third").answer("u8", "four", 10).put(&transcripts);
    let report = transcripts.import(&*store);
    assert_eq!(report.sessions.imported, 2);
    let (parent, fork) = (session(&*store, A), session(&*store, B));
    let at = fork.forked_from.clone().unwrap();
    assert_eq!((at.session_id, fork.usage.input_tokens), (parent.id.clone(), 1_000));
    assert_eq!(kinds(&*store, &fork), "user_message assistant_message usage");
    assert_eq!(total(&*store).input_tokens, 5_000);
    assert_eq!(
        told(&*store, &fork),
        "user: first\nassistant: Bash c1 {}\ntool c1: done\nassistant: one\nuser: second\n\
         assistant: two\nuser: forked\nassistant: three"
    );
    assert!(told(&*store, &parent).ends_with("user: third\nassistant: four"));
}

#[test]
fn a_fork_whose_lines_got_other_ids_says_where_they_came_from() {
    let (transcripts, store) = (new(), store());
    let parent = two_turns();
    parent.put(&transcripts);
    let mut fork = parent.fork(B);
    for (number, line) in fork.lines.iter_mut().enumerate() {
        line["forkedFrom"] = json!({"sessionId": A, "messageUuid": line["uuid"]});
        line["uuid"] = json!(format!("new{number}"));
    }
    fork.prompt("f1", "forked").put(&transcripts);
    transcripts.import(&*store);
    let fork = session(&*store, B);
    assert_eq!(kinds(&*store, &fork), "user_message");
    assert_eq!(fork.forked_from.unwrap().session_id, session(&*store, A).id);
}

#[test]
fn a_fork_of_a_fork_goes_on_from_the_nearer_one() {
    let (transcripts, store) = (new(), store());
    let c = "cccccccc-0000-4000-8000-00000000000c";
    let fork = two_turns().fork(B).prompt("f1", "forked");
    two_turns().put(&transcripts);
    fork.put(&transcripts);
    fork.fork(c).prompt("g1", "again").put(&transcripts);
    transcripts.import(&*store);
    let again = session(&*store, c);
    let stem = block_on(store.session(again.forked_from.clone().unwrap().session_id)).unwrap();
    assert_eq!(name(&stem), B);
    assert!(told(&*store, &again).ends_with("user: forked\nuser: again"));
    // Read anew from its start, the copied lines are known again.
    let before = log(&*store);
    forget_positions(&*store);
    transcripts.import(&*store);
    assert_eq!(log(&*store), before);
}

#[test]
fn a_copy_without_a_line_of_its_own_waits() {
    let (transcripts, store) = (new(), store());
    two_turns().put(&transcripts);
    two_turns().fork(B).put(&transcripts);
    let report = transcripts.import(&*store);
    assert_eq!((report.files.read, report.files.skipped), (1, 1));
    assert_eq!(report.remarks[0].what, "left out: a fork that holds nothing of its own yet");
}

#[test]
fn the_cost_of_a_compaction_is_what_the_totals_have_beyond_the_answers() {
    let (transcripts, store) = (new(), store());
    let script = two_turns()
        .ledger(3_000, 30)
        .compacted("k1", "what was said")
        .ledger(4_000, 37)
        .prompt("u7", "after")
        .answer("u8", "three", 10)
        .ledger(5_000, 47);
    script.put(&transcripts);
    transcripts.import(&*store);
    let found = session(&*store, A);
    assert_eq!(tokens(found.usage), "5000/47/0/0/0");
    let usage = events(&*store, &found).into_iter().filter(|event| event.kind == "usage");
    let keys: Vec<_> = usage.filter_map(|event| event.dedup_key).collect();
    assert_eq!(keys[3], "usage/compaction/k1");
    assert!(
        kinds(&*store, &found)
            .contains(" compaction claude-code.user claude-code.cost-state usage ")
    );
    assert!(!told(&*store, &found).contains("what was said"));
}

/// A program that asks another model for a title counts that too, and no line tells of it.
#[test]
fn what_the_totals_had_beyond_the_answers_before_is_no_compaction() {
    let (transcripts, store) = (new(), store());
    let script = two_turns().ledger(3_100, 35).compacted("k1", "s").ledger(4_100, 45);
    script.put(&transcripts);
    transcripts.import(&*store);
    assert_eq!(tokens(total(&*store)), "4000/40/0/0/0");
}

#[test]
fn sub_agents_among_the_lines_of_their_parent_are_children() {
    let (transcripts, store) = (new(), store());
    let mut script = Script::new(A).prompt("u1", "go").call("u2", "c1");
    for (uuid, parent, text) in
        [("s1", None, "task one"), ("t1", None, "task two"), ("s2", Some("s1"), "more of one")]
    {
        let line = json!({
            "type": "user", "isSidechain": true, "parentUuid": parent,
            "message": {"role": "user", "content": text},
        });
        script = script.line(uuid, line);
    }
    script.last = Some("u2".to_owned());
    script.result("u3", "c1", "both done").answer("u4", "end", 10).put(&transcripts);
    transcripts.import(&*store);
    let names: Vec<_> = sessions(&*store).iter().map(name).collect();
    assert_eq!(names, [A.to_owned(), format!("{A}/s1"), format!("{A}/t1")]);
    let child = session(&*store, "/s1");
    assert_eq!(child.parent_session_id, Some(session(&*store, A).id));
    assert_eq!(told(&*store, &child), "user: task one\nuser: more of one");
    assert_eq!(
        told(&*store, &session(&*store, A)),
        "user: go\nassistant: Bash c1 {}\ntool c1: both done\nassistant: end"
    );
}

#[test]
fn a_session_that_was_killed_in_a_turn_is_idle_and_says_so_until_the_turn_ends() {
    let (transcripts, store) = (new(), store());
    let killed = Script::new(A).prompt("u1", "go").call("u2", "c1");
    killed.put(&transcripts);
    transcripts.import(&*store);
    let found = session(&*store, A);
    assert_eq!(found.status.as_str(), "idle");
    assert_eq!(found.labels.0.get("turn").map(String::as_str), Some("unended"));
    assert!(told(&*store, &found).ends_with("pending c1"));
    // The program makes up an answer, and a line that no model said.
    let line = json!({
        "type": "assistant",
        "message": {
            "id": "x", "role": "assistant", "model": "<synthetic>", "stop_reason": "stop_sequence",
            "content": [{"type": "text", "text": "No response requested."}],
            "usage": {"input_tokens": 0, "output_tokens": 0},
        },
    });
    killed.result("u3", "c1", "interrupted").line("u4", line).put(&transcripts);
    transcripts.import(&*store);
    let found = session(&*store, A);
    assert_eq!(found.labels.0.get("turn"), None);
    assert_eq!((found.usage.input_tokens, found.labels.0["model"].as_str()), (1_000, "m"));
}

#[test]
fn the_best_title_is_taken_and_one_that_was_given_here_stays() {
    let title = |store: &dyn ah_store::Store| session(store, A).title.unwrap();
    let (transcripts, store) = (new(), store());
    let script = Script::new(A).prompt("u1", "\n first line \nsecond line");
    script.put(&transcripts);
    transcripts.import(&*store);
    assert_eq!(title(&*store), "first line");
    let script = script.mark(json!({"type": "custom-title", "customTitle": "by hand"}));
    let script = script.mark(json!({"type": "ai-title", "aiTitle": "by a model"}));
    script.put(&transcripts);
    transcripts.import(&*store);
    assert_eq!(title(&*store), "by hand");
    let id = session(&*store, A).id;
    block_on(store.rename_session(id, "renamed here".to_owned())).unwrap();
    script.mark(json!({"type": "custom-title", "customTitle": "by hand again"})).put(&transcripts);
    transcripts.import(&*store);
    assert_eq!(title(&*store), "renamed here");
}

#[test]
fn numbers_that_grow_from_line_to_line_count_as_the_largest() {
    let (transcripts, store) = (new(), store());
    let block = |text: &str| json!({"type": "text", "text": text});
    let script = Script::new(A).prompt("u1", "go").part("u2", "m1", block("a"), "end_turn", 1);
    script.put(&transcripts);
    transcripts.import(&*store);
    script.part("u3", "m1", block("b"), "end_turn", 60).put(&transcripts);
    transcripts.import(&*store);
    assert_eq!(tokens(total(&*store)), "1000/60/0/0/0");
    let keys: Vec<_> = events(&*store, &session(&*store, A))
        .into_iter()
        .filter(|event| event.kind == "usage")
        .map(|event| format!("{} {}", event.dedup_key.unwrap(), event.data.as_str()))
        .collect();
    let of = |input: u64, output: u64| {
        format!(
            r#"{{"usage":{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":0,"cacheWriteTokens":0,"reasoningTokens":0}},"model":"m","answerId":"m1"}}"#
        )
    };
    let expected = [format!("usage/m1 {}", of(1_000, 1)), format!("usage/m1/2 {}", of(0, 59))];
    assert_eq!(keys, expected);
}

#[test]
fn lines_that_cannot_be_read_are_kept_as_they_are() {
    let (transcripts, store) = (new(), store());
    let long = format!("{{\"long\":\"{}\"}}", "x".repeat(EVENT_DATA_BYTES_MAX));
    let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
    let bad: [&[u8]; 5] =
        [b"{\"torn\":", b"\xff\xfe", b"{\"torn\":", deep.as_bytes(), long.as_bytes()];
    let unknown = r#"{"type":"brand-new","x":1.00,"y":"\ud800"}"#;
    let mut bytes = two_turns().bytes();
    for line in bad.into_iter().chain([&b""[..], unknown.as_bytes(), b"{\"type\":\"torn tail\""]) {
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
    }
    bytes.pop();
    transcripts.write(&format!("p/{A}.jsonl"), &bytes);
    let report = transcripts.import(&*store);
    assert_eq!((report.records.kept_raw, report.records.blank), (5, 1));
    let found = session(&*store, A);
    let all = events(&*store, &found);
    let raw = all.iter().filter(|event| event.kind == "unreadable");
    let raw: Vec<Value> = raw.map(|event| event.data.read().unwrap()).collect();
    let whole = |raw: &Value| match raw["rawHex"].as_str() {
        Some(hex) => hex.to_owned(),
        None => to_hex(raw["raw"].as_str().unwrap().as_bytes()),
    };
    let expected: Vec<_> = bad[..4].iter().map(|line| to_hex(line)).collect();
    assert_eq!(raw[..4].iter().map(whole).collect::<Vec<_>>(), expected);
    let parts: String = raw[4..].iter().map(|part| part["raw"].as_str().unwrap()).collect();
    assert!(parts == long, "the parts are together the line");
    let other = all.iter().find(|event| event.kind == "claude-code.brand-new").unwrap();
    assert_eq!(other.data.as_str(), unknown);
    assert!(!log(&*store).contains("torn tail"), "a line without its end is left");
    let before = log(&*store);
    forget_positions(&*store);
    transcripts.import(&*store);
    assert_eq!(log(&*store), before);
}

#[test]
fn a_file_that_was_written_anew_is_read_from_its_start() {
    let (transcripts, store) = (new(), store());
    two_turns().put(&transcripts);
    transcripts.import(&*store);
    Script::new(A).prompt("v1", "another beginning").put(&transcripts);
    let report = transcripts.import(&*store);
    assert_eq!((report.files.read, report.records.imported), (1, 1));
    assert!(told(&*store, &session(&*store, A)).ends_with("user: another beginning"));
}

#[test]
fn a_session_that_was_removed_comes_back_whole_when_it_goes_on() {
    let (transcripts, store) = (new(), store());
    two_turns().put(&transcripts);
    transcripts.import(&*store);
    block_on(store.delete_session(session(&*store, A).id)).unwrap();
    assert_eq!(transcripts.import(&*store).files.unchanged, 1);
    two_turns().prompt("u7", "third").put(&transcripts);
    transcripts.import(&*store);
    let told = told(&*store, &session(&*store, A));
    assert!(told.starts_with("user: first\n") && told.ends_with("user: third"), "{told}");
}

#[test]
fn only_files_written_to_since_are_read() {
    let (transcripts, store) = (new(), store());
    two_turns().put(&transcripts);
    let since = Some(Timestamp::MAX.minus_ms(1));
    let report =
        transcripts.import_with(&*store, &TranscriptOptions { since, ..options() }).unwrap();
    assert_eq!((report.files.older, kept(&*store).as_str()), (1, ""));
}

#[test]
fn files_that_are_no_transcripts_are_left_out_and_named() {
    let (transcripts, store) = (new(), store());
    transcripts
        .write("history.jsonl", b"{\"display\":\"x\",\"sessionId\":\"s\",\"timestamp\":1}\n");
    transcripts.write("p/rollout.jsonl.zst", b"\x28\xb5\x2f\xfd");
    let report = transcripts.import(&*store);
    let named: Vec<_> = report.remarks.iter().map(|remark| remark.what.as_str()).collect();
    let packed = "is packed and left out: unpack it with `zstd -d` first";
    assert_eq!(named, [packed, "left out: holds no conversation yet"]);
    assert_eq!((report.files.found, report.files.skipped, kept(&*store).as_str()), (1, 1, ""));
}

/// As if every import had been killed before it noted how far it came.
fn forget_positions(store: &dyn ah_store::Store) {
    let page = ah_model::PageRequest { limit: ah_model::PageLimit::MAX, cursor: None };
    let scope = "import/claude-code".to_owned();
    for entry in block_on(store.kv_list(scope.clone(), page)).unwrap().items {
        block_on(store.kv_delete(scope.clone(), entry.key)).unwrap();
    }
}
