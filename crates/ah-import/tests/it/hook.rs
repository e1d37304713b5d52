//! Payloads of hooks: what each becomes, in which session, and that nothing is there twice.

use std::path::Path;

use ah_conformance::block_on;
use ah_import::{HookCall, HookFate, HookTool, record_hooks};
use ah_model::limits::EVENT_DATA_BYTES_MAX;
use ah_model::{
    NewRepo, NewSession, PageRequest, RawJson, SessionFilter, SessionStatus, Timestamp, Vcs,
};
use ah_store::Store;
use proptest::prelude::*;

use crate::support::{T0, events, store};
use crate::transcript::{name, session, sessions, told};

/// The repository of a directory, whatever there is on this machine.
pub(crate) fn plain(dir: &Path) -> NewRepo {
    let root_path = Some(dir.to_string_lossy().into_owned());
    NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None }
}

/// A call for each line.
pub(crate) fn calls(tool: HookTool, lines: &str) -> Vec<HookCall> {
    let lines = lines.lines().enumerate();
    lines.map(|(number, line)| call(tool, &number.to_string(), line)).collect()
}

fn call(tool: HookTool, id: &str, payload: &str) -> HookCall {
    HookCall {
        tool,
        id: id.to_owned(),
        at: Timestamp::from_unix_ms(T0),
        dir: Some("/srv/here".to_owned()),
        session: None,
        payload: RawJson::parse("payload", payload, usize::MAX).unwrap(),
    }
}

fn fixture(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn record(store: &dyn Store, calls: &[HookCall]) -> Vec<HookFate> {
    block_on(record_hooks(store, calls, &plain))
}

/// The types of a session's events, each with how often it follows.
fn kinds(store: &dyn Store, session: &ah_model::Session) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for event in events(store, session) {
        match kinds.last_mut() {
            Some((kind, count)) if *kind == event.kind => *count += 1,
            _ => kinds.push((event.kind, 1)),
        }
    }
    let shown = kinds.into_iter().map(|(kind, count)| match count {
        1 => kind,
        _ => format!("{kind}*{count}"),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn claude_code_tells_of_prompts_tools_sub_agents_and_ends() {
    let store = store();
    let calls = calls(HookTool::ClaudeCode, &fixture("claude-code/hooks/tools.jsonl"));
    assert!(record(&*store, &calls).iter().all(|fate| *fate == HookFate::Recorded));
    let (root, child) = (session(&*store, "0002"), &sessions(&*store)[1]);
    assert_eq!(
        kinds(&*store, &root),
        "session_start message pre_tool post_tool pre_tool post_tool claude-code.PostToolBatch pre_tool \
         permission_request claude-code.PostToolBatch pre_tool post_tool claude-code.PostToolBatch \
         pre_tool post_tool claude-code.PostToolBatch pre_tool post_tool claude-code.PostToolBatch \
         pre_tool subagent_start subagent_stop post_tool claude-code.PostToolBatch session_stop*2"
    );
    assert_eq!(name(child), "10000000-0000-4000-8000-000000000002/a45c1ae1d54821147");
    assert_eq!(kinds(&*store, child), "pre_tool post_tool claude-code.PostToolBatch");
    assert_eq!(child.parent_session_id, Some(root.id.clone()));
    assert_eq!(child.labels.0["agent-type"], "general-purpose");
    assert_eq!((root.status, child.status), (SessionStatus::Idle, SessionStatus::Idle));
    assert_eq!(root.title.as_deref(), Some("all kinds of tools"));
    assert_eq!(root.details.project_dir.as_deref(), Some("/home/dev/project"));
    assert_eq!(root.id.as_str(), "10000000-0000-4000-8000-000000000002");
}

#[test]
fn an_agent_that_was_started_for_a_session_writes_into_it() {
    let store = store();
    let start = |kind: &str| {
        let new = NewSession::new(plain(Path::new("/r")), kind.parse().unwrap());
        block_on(store.create_session(new)).unwrap()
    };
    let (ours, other) = (start("codex"), start("shell"));
    let calls = calls(HookTool::Codex, &fixture("codex/hooks/tools.jsonl"));
    let of = |session: &ah_model::Session| {
        let session = Some(session.id.clone());
        calls.iter().map(|call| HookCall { session: session.clone(), ..call.clone() }).collect()
    };
    let for_ours: Vec<HookCall> = of(&ours);
    record(&*store, &for_ours);
    let bound = block_on(store.session(ours.id.clone())).unwrap();
    assert!(name(&bound).ends_with("9d1e24e6dc94"));
    let all = store.list_sessions(SessionFilter::default(), PageRequest::default());
    let children = block_on(all).unwrap().items.into_iter();
    let parents: Vec<_> = children.filter_map(|child| child.parent_session_id).collect();
    assert_eq!(parents, std::slice::from_ref(&ours.id), "a sub-agent has a session of its own");
    // What is found by its origin stays where it is, and a session of another kind is not taken.
    let count = events(&*store, &bound).len();
    let for_other: Vec<HookCall> = of(&other);
    record(&*store, &for_other);
    assert_eq!(events(&*store, &bound).len(), count);
    assert_eq!(block_on(store.session(other.id.clone())).unwrap(), other);
}

#[test]
fn codex_tells_its_model_and_gives_sub_agents_their_own_threads() {
    let store = store();
    let calls = calls(HookTool::Codex, &fixture("codex/hooks/tools.jsonl"));
    record(&*store, &calls);
    let root = session(&*store, "9d1e24e6dc94");
    let all = sessions(&*store);
    let child = all.iter().find(|one| one.parent_session_id == Some(root.id.clone())).unwrap();
    assert_eq!(root.labels.0["model"], "gpt-5-codex");
    assert!(!name(child).contains('/'));
    assert_eq!(kinds(&*store, child), "message pre_tool post_tool");
    assert_eq!(
        kinds(&*store, &root),
        "session_start message pre_tool*2 post_tool*2 pre_tool permission_request pre_tool*2 \
         subagent_start post_tool pre_tool subagent_stop post_tool session_stop*2"
    );
}

#[test]
fn gemini_and_goose_tell_the_same_in_their_own_words() {
    let store = store();
    let gemini = calls(HookTool::Gemini, &fixture("gemini/hooks.jsonl"));
    record(&*store, &gemini);
    let hooked = session(&*store, "818ad7b3e667");
    let shown = kinds(&*store, &hooked);
    assert!(shown.starts_with("session_start message gemini.PreCompress gemini.BeforeModel"));
    assert!(shown.ends_with("session_stop*2"), "{shown}");
    let conversation = told(&*store, &hooked);
    assert!(conversation.starts_with("user: please"), "{conversation}");
    assert!(conversation.ends_with("assistant: ok\\nall done"), "{conversation}");
    let at = events(&*store, &hooked)[0].ts.to_string();
    assert_eq!(at, "2026-11-15T07:03:20.549Z", "its own time");
    let goose = calls(HookTool::Goose, &fixture("goose/hooks.jsonl"));
    record(&*store, &goose);
    let hooked = session(&*store, "20261115_3");
    let conversation = told(&*store, &hooked);
    assert!(conversation.starts_with("user: please"), "{conversation}");
    assert!(conversation.ends_with("assistant: all done"), "{conversation}");
    assert_eq!(hooked.details.project_dir.as_deref(), Some("/srv/here"), "that of the call");
}

#[test]
fn a_payload_is_kept_as_it_is_but_for_blanks() {
    let store = store();
    let payload = r#"{ "session_id":"s-1", "hook_event_name":"Strange", "x":[1.50,"\u00e9",{}] }"#;
    record(&*store, &[call(HookTool::ClaudeCode, "one", payload)]);
    let found = events(&*store, &session(&*store, "s-1"));
    assert_eq!(found[0].data.as_str(), payload.replace(' ', ""));
    assert_eq!(found[0].kind, "claude-code.Strange");
    assert_eq!(found[0].dedup_key.as_deref(), Some("hook/one"));
}

#[test]
fn calls_that_come_twice_are_there_once() {
    for (tool, path) in [
        (HookTool::ClaudeCode, "claude-code/hooks/lifecycle.jsonl"),
        (HookTool::Codex, "codex/hooks/lifecycle.jsonl"),
        (HookTool::Gemini, "gemini/hooks.jsonl"),
        (HookTool::Goose, "goose/hooks.jsonl"),
    ] {
        let store = store();
        let calls = calls(tool, &fixture(path));
        calls.iter().for_each(|call| drop(record(&*store, std::slice::from_ref(call))));
        let count =
            || -> usize { sessions(&*store).iter().map(|one| events(&*store, one).len()).sum() };
        assert_eq!(count(), calls.len(), "{path}");
        record(&*store, &calls);
        assert_eq!(count(), calls.len(), "{path} again");
    }
}

#[test]
fn a_tool_is_known_by_its_own_id_whatever_the_call_is_called() {
    let store = store();
    let payload = r#"{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t1"}"#;
    for id in ["one", "two"] {
        record(&*store, &[call(HookTool::ClaudeCode, id, payload)]);
    }
    let found = events(&*store, &session(&*store, "s"));
    let keys: Vec<_> = found.iter().map(|event| event.dedup_key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["hook/PreToolUse/t1"]);
}

#[test]
fn a_payload_that_names_no_session_is_refused_and_costs_no_other() {
    let store = store();
    let good = r#"{"session_id":"good","hook_event_name":"SessionStart"}"#;
    let bad = [r#"{"hook_event_name":"Stop"}"#, "7", r#"{"session_id":"a b"}"#, "[]"];
    let mut calls: Vec<_> = bad.iter().map(|payload| call(HookTool::Codex, "x", payload)).collect();
    calls.push(call(HookTool::Codex, "y", good));
    let fates = record(&*store, &calls);
    let refused =
        HookFate::Refused("invalid session_id: the payload of codex names no session".to_owned());
    assert_eq!(fates[..4], vec![refused; 4]);
    assert_eq!(fates[4], HookFate::Recorded);
    assert_eq!(sessions(&*store).len(), 1);
}

#[test]
fn a_payload_that_is_too_large_for_an_event_is_kept_in_parts() {
    let store = store();
    let long = "x".repeat(EVENT_DATA_BYTES_MAX);
    let payload =
        format!(r#"{{"session_id":"s","hook_event_name":"PostToolUse","tool_response":"{long}"}}"#);
    assert_eq!(record(&*store, &[call(HookTool::Codex, "id", &payload)]), [HookFate::Recorded]);
    let found = events(&*store, &session(&*store, "s"));
    let part = |event: &ah_model::Event| event.data.read::<serde_json::Value>().unwrap();
    let whole: String =
        found.iter().map(|event| part(event)["raw"].as_str().unwrap().to_owned()).collect();
    assert_eq!(whole, payload);
    assert!(found.iter().all(|event| event.kind == "unreadable"));
}

#[test]
fn a_session_that_somebody_ended_stays_ended() {
    let store = store();
    let prompt = r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"go"}"#;
    record(&*store, &[call(HookTool::Codex, "1", prompt)]);
    let hooked = session(&*store, "s");
    assert_eq!(hooked.status, SessionStatus::Running);
    let change =
        ah_model::StatusChange { to: SessionStatus::Cancelled, exit: ah_model::Exit::default() };
    block_on(store.set_session_status(hooked.id, change)).unwrap();
    assert_eq!(record(&*store, &[call(HookTool::Codex, "2", prompt)]), [HookFate::Recorded]);
    let after = session(&*store, "s");
    assert_eq!((after.status, after.last_seq), (SessionStatus::Cancelled, 2));
}

/// Payloads of each program, in the order of [`HookTool::ALL`].
const RECORDED: [&str; 4] = [
    "claude-code/hooks/tools.jsonl",
    "codex/hooks/lifecycle.jsonl",
    "gemini/hooks.jsonl",
    "goose/hooks.jsonl",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn any_payload_is_an_event_with_a_key_or_refused(
        tool in 0..4_usize,
        session in "[ -~]{0,140}",
        name in "\\PC{0,200}",
        rest in "\\PC{0,40}",
    ) {
        let payload = serde_json::json!({
            "session_id": session, "hook_event_name": name, "agent_id": rest, "cwd": rest,
            "prompt": name, "timestamp": rest, "tool_use_id": session, "model": name,
        });
        let call = call(HookTool::ALL[tool], "id", &payload.to_string());
        let fits = !session.is_empty() && session.len() <= 128 && !session.contains(' ');
        match call.event() {
            Ok(event) => {
                prop_assert!(fits);
                for event in &event.events {
                    prop_assert!(event.dedup_key.as_ref().unwrap().starts_with("hook/"));
                    prop_assert_eq!(event.check(), Ok(()));
                }
                let fates = record(&*store(), &[call]);
                prop_assert_eq!(fates, [HookFate::Recorded]);
            }
            Err(refused) => prop_assert!(!fits, "{refused}"),
        }
    }
    #[test]
    fn a_damaged_payload_is_recorded_or_refused_and_costs_no_other(
        tool in 0..4_usize,
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), b' '..=b'~', 0..3_u8), 1..4),
    ) {
        let lines = fixture(RECORDED[tool]);
        let lines: Vec<&str> = lines.lines().collect();
        let mut bytes = which.get(&lines).as_bytes().to_vec();
        for (place, byte, how) in damage {
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
        }
        // What is no JSON never comes so far.
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(()) };
        let Ok(payload) = RawJson::parse("payload", text, usize::MAX) else { return Ok(()) };
        let tool = HookTool::ALL[tool];
        let damaged = HookCall { payload, ..call(tool, "damaged", "{}") };
        let whole = call(tool, "whole", r#"{"session_id":"whole","hook_event_name":"Stop"}"#);
        let expected = match damaged.event() {
            Ok(_) => HookFate::Recorded,
            Err(refused) => HookFate::Refused(refused.to_string()),
        };
        let fates = record(&*store(), &[damaged, whole]);
        prop_assert_eq!(fates, [expected, HookFate::Recorded]);
    }
}
