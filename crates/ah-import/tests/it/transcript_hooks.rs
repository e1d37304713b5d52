//! Sessions that hooks told of while they ran, and their transcripts: whichever comes first, the
//! conversation is that of the transcript.

use std::sync::Arc;

use ah_conformance::block_on;
use ah_import::{HookCall, HookFate, HookTool, record_hooks};
use ah_store::Store;

use crate::hook::{calls, plain};
use crate::support::store;
use crate::transcript::{Tool, Transcripts, fixture, name, session, sessions, told};

/// The calls of a program's hooks in a fixture.
pub(crate) fn hooks(tool: Tool, file: &str) -> Vec<HookCall> {
    let files = fixture(tool, "hooks");
    let (_, bytes) = files.iter().find(|(name, _)| name == file).unwrap();
    let tool = match tool {
        Tool::ClaudeCode => HookTool::ClaudeCode,
        Tool::Codex => HookTool::Codex,
        Tool::Gemini => HookTool::Gemini,
        Tool::Goose => HookTool::Goose,
        Tool::Opencode => unreachable!("opencode has plugins, no hooks"),
    };
    calls(tool, std::str::from_utf8(bytes).unwrap())
}

/// Appends what hooks tell, as each is called.
pub(crate) fn tell(store: &dyn Store, calls: &[HookCall]) {
    for call in calls {
        let fates = block_on(record_hooks(store, std::slice::from_ref(call), &plain));
        assert_eq!(fates, [HookFate::Recorded]);
    }
}

/// What is told of every session that has a transcript.
fn conversations(store: &dyn Store, of: &[String]) -> Vec<(String, String)> {
    let all = sessions(store).into_iter().filter(|session| of.contains(&name(session)));
    all.map(|session| (name(&session), told(store, &session))).collect()
}

const CASES: [(Tool, &str, &str); 6] = [
    (Tool::ClaudeCode, "2.1.325", "basic.jsonl"),
    (Tool::ClaudeCode, "2.1.325", "tools.jsonl"),
    (Tool::ClaudeCode, "2.0.77", "2.0.77.jsonl"),
    (Tool::Codex, "0.166.0", "basic.jsonl"),
    (Tool::Codex, "0.166.0", "tools.jsonl"),
    (Tool::Codex, "0.166.0", "lifecycle.jsonl"),
];

fn imported(tool: Tool, version: &str) -> (Arc<dyn Store>, Vec<String>) {
    let store = store();
    Transcripts::of(tool, version).import(&*store);
    let names = sessions(&*store).iter().map(name).collect();
    (store, names)
}

#[test]
fn hooks_before_or_after_the_transcript_change_nothing() {
    for (tool, version, file) in CASES {
        let (only, names) = imported(tool, version);
        let expected = conversations(&*only, &names);
        let hooks = hooks(tool, file);
        let before = store();
        tell(&*before, &hooks);
        Transcripts::of(tool, version).import(&*before);
        assert_eq!(conversations(&*before, &names), expected, "{version} {file} before");
        tell(&*only, &hooks);
        assert_eq!(conversations(&*only, &names), expected, "{version} {file} after");
    }
}

/// The prompts, the answers, and the ids of the calls.
fn facts(conversation: &str) -> Vec<String> {
    let lines = conversation.lines().filter(|line| !line.starts_with("tool"));
    let fact = |line: &str| match line.split(' ').find(|word| is_call(word)) {
        Some(id) if line.starts_with("assistant") => id.to_owned(),
        _ => line.to_owned(),
    };
    lines.map(fact).collect()
}

fn is_call(word: &str) -> bool {
    word.starts_with("toolu_") || word.starts_with("call_")
}

fn count(facts: &[String], fact: &String) -> usize {
    facts.iter().filter(|other| *other == fact).count()
}

/// Whether `longer` has the facts of `shorter` in the same order.
fn holds(longer: &[String], shorter: &[String]) -> bool {
    let mut facts = longer.iter();
    shorter.iter().all(|fact| facts.any(|other| other == fact))
}

#[test]
fn a_part_of_the_transcript_and_hooks_tell_each_fact_once() {
    for (tool, version, file) in CASES {
        let (only, names) = imported(tool, version);
        let expected = conversations(&*only, &names);
        let (hooks, files) = (hooks(tool, file), fixture(tool, version));
        for (part, hooks_first) in
            [2, 5, 9].into_iter().flat_map(|tenth| [(tenth, true), (tenth, false)])
        {
            let what = format!("{version} {file} {part} tenths, hooks first {hooks_first}");
            let (store, transcripts) = (store(), Transcripts::new(tool));
            let cut = |bytes: &[u8]| bytes[..bytes.len() * part / 10].to_vec();
            files.iter().for_each(|(name, bytes)| transcripts.write(name, &cut(bytes)));
            let alone = self::store();
            transcripts.import(&*alone);
            let alone = conversations(&*alone, &names);
            if hooks_first {
                tell(&*store, &hooks);
            }
            transcripts.import(&*store);
            if !hooks_first {
                tell(&*store, &hooks);
            }
            for (session, told) in conversations(&*store, &names) {
                let of = |all: &[(String, String)]| {
                    let found = all.iter().find(|(name, _)| *name == session);
                    found.map(|(_, told)| facts(told)).unwrap_or_default()
                };
                let (found, whole, mut partly) = (facts(&told), of(&expected), of(&alone));
                for fact in &found {
                    let most = count(&whole, fact).max(1);
                    assert!(count(&found, fact) <= most, "{what} {session}: {fact}\n{told}");
                }
                // A hook may have the answer that the transcript still waits for.
                partly.retain(|fact| !fact.starts_with("pending"));
                assert!(holds(&found, &partly), "{what} {session}:\n{told}");
            }
            files.iter().for_each(|(name, bytes)| transcripts.write(name, bytes));
            transcripts.import(&*store);
            assert_eq!(conversations(&*store, &names), expected, "{what}, then all");
        }
    }
}

#[test]
fn what_only_a_hook_told_stands_behind_what_both_told() {
    let files = fixture(Tool::ClaudeCode, "2.1.325");
    let (path, bytes) = files.iter().find(|(name, _)| name.contains("0001.jsonl")).unwrap();
    let lines: Vec<_> = std::str::from_utf8(bytes).unwrap().split_inclusive('\n').collect();
    // Up to the call, which is line 21.
    let (store, transcripts) = (store(), Transcripts::new(Tool::ClaudeCode));
    transcripts.write(path, lines[..21].concat().as_bytes());
    tell(&*store, &hooks(Tool::ClaudeCode, "basic.jsonl"));
    transcripts.import(&*store);
    assert_eq!(
        told(&*store, &session(&*store, "0001")),
        r#"user: please do this\n::think let me look\n::say running it\n::too
assistant: running it
assistant: Bash toolu_9d42eb0100000100 {"command":"echo hi","description":"say hi"}
tool toolu_9d42eb0100000100: other {"stdout":"hi","stderr":"","interrupted":false,"isImage":fal
assistant: all done"#
    );
}

#[test]
fn hooks_alone_tell_the_prompts_calls_results_and_last_answers() {
    let store = store();
    tell(&*store, &hooks(Tool::ClaudeCode, "lifecycle.jsonl"));
    assert_eq!(
        told(&*store, &session(&*store, "0005")),
        "user: ::say forked turn\nassistant: forked turn"
    );
    let told = told(&*store, &session(&*store, "0004"));
    assert!(told.starts_with("user: ::tool Bash {\"command\":\"echo a\"}\\n::say first turn\nassistant: Bash toolu_9d42eb0100001600"), "{told}");
    assert!(told.ends_with("user: ::say after compaction\nassistant: after compaction"), "{told}");
}
