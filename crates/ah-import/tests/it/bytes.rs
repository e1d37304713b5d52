//! Every byte of a history is somewhere in the store.

use std::fs;

use ah_model::limits::{AGENT_JSON_BYTES_MAX, EVENT_DATA_BYTES_MAX};
use ah_model::{Event, from_hex};
use ah_store::Store;
use proptest::prelude::*;

use crate::support::{DataDir, agents, all_events, check_unchanged, fixture, sessions, store};

/// The payload of the event that a record becomes.
fn data(store: &dyn Store, place: usize) -> String {
    all_events(store)[place].data.as_str().to_owned()
}

#[test]
fn nul_half_surrogates_and_long_lines_are_kept_byte_for_byte() {
    let text = fs::read_to_string(fixture("a20").join("history.jsonl")).unwrap();
    let dir = DataDir::with_fixtures(&["a20"]);
    let store = store();
    dir.import(&*store);
    for (place, line) in text.lines().skip(1).enumerate() {
        let (_, rest) = line.split_once(",\"text\"").unwrap();
        assert_eq!(data(&*store, place), format!("{{\"text\"{rest}"));
    }
    assert!(data(&*store, 0).contains(r"\u0000nul 😀 \ud800lone"));
}

#[test]
fn numbers_doubled_keys_and_escapes_are_kept_and_space_between_tokens_is_not() {
    let line = r#"{ "b":1.00, "type" : "x", "a":123456789012345678901234567890, "at":5 , "b" : -0, "\u0063":"\/" }"#;
    let dir = DataDir::with_history("a", line);
    let store = store();
    dir.import(&*store);
    assert_eq!(
        data(&*store, 0),
        r#"{"b":1.00,"a":123456789012345678901234567890,"b":-0,"\u0063":"\/"}"#
    );
}

#[test]
fn line_feeds_with_carriage_returns_are_the_same_as_without() {
    let lines = ["{\"type\":\"start\",\"at\":1}", "{\"type\":\"note\",\"at\":2}", "broken"];
    let dir = DataDir::with_history("a", lines.join("\n"));
    let store = store();
    dir.import(&*store);
    dir.write("a", "history.jsonl", lines.join("\r\n") + "\r\n");
    check_unchanged(&dir, &*store);
}

/// The bytes that an `unreadable` event holds.
fn raw(event: &Event) -> Vec<u8> {
    let json: serde_json::Value = event.data.read().unwrap();
    match json.get("rawHex").and_then(|hex| hex.as_str()) {
        Some(hex) => from_hex(hex).unwrap(),
        None => json["raw"].as_str().unwrap().as_bytes().to_vec(),
    }
}

#[test]
fn a_line_longer_than_an_event_is_kept_in_parts() {
    let long = format!(
        "{{\"type\":\"note\",\"at\":2,\"text\":\"{}\"}}",
        "ü".repeat(EVENT_DATA_BYTES_MAX / 2 + 100_000)
    );
    let history =
        format!("{{\"type\":\"start\",\"at\":1}}\n{long}\n{{\"type\":\"note\",\"at\":3}}\n");
    let dir = DataDir::with_history("a", history);
    let store = store();
    let report = dir.import(&*store);
    assert_eq!((report.records.kept_raw, report.details[0].remarks.len()), (1, 3));
    let mut found = all_events(&*store);
    assert_eq!(found.pop().unwrap().kind, "note");
    assert_eq!(found.len(), long.len().div_ceil(1024 * 1024));
    assert_eq!(found.iter().flat_map(raw).collect::<Vec<_>>(), long.as_bytes());
    check_unchanged(&dir, &*store);
}

#[test]
fn a_line_that_only_its_escapes_make_too_long_is_kept_in_parts() {
    let broken = "\u{1}".repeat(EVENT_DATA_BYTES_MAX / 6);
    let dir = DataDir::with_history("a", &broken);
    let store = store();
    dir.import(&*store);
    let found = all_events(&*store);
    assert!(found.len() > 1);
    assert_eq!(found.iter().flat_map(raw).collect::<Vec<_>>(), broken.as_bytes());
    check_unchanged(&dir, &*store);
}

#[test]
fn what_no_agent_can_hold_is_kept_in_its_last_session() {
    let large = "x".repeat(AGENT_JSON_BYTES_MAX);
    let dir = DataDir::with_history("a", "{\"type\":\"start\",\"at\":1}\n");
    dir.write("a", "descriptor.json", format!("{{\"type\":\"user\",\"x\":\"{large}\"}}"));
    dir.write(
        "a",
        "state.json",
        format!(
            r#"{{"permissions":{{"events":true,"x":"{large}"}},"tokens":["{large}"],"stats":{{"y":"{large}"}},"z":"{large}","createdAt":1,"updatedAt":2}}"#
        ),
    );
    let store = store();
    let report = dir.import(&*store);
    let remarks: Vec<_> =
        report.details[0].remarks.iter().map(|remark| remark.what.as_str()).collect();
    assert_eq!(
        remarks,
        [
            "kept raw: permissions: 262166 bytes, at most 262144 are allowed",
            "kept raw: tokens: 262148 bytes, at most 262144 are allowed",
            "kept raw: stats: 262152 bytes, at most 262144 are allowed",
            "kept raw: no room for state in the metadata",
            "kept raw: descriptor: 262166 bytes, at most 262144 are allowed",
        ]
    );
    let found = all_events(&*store);
    assert_eq!(raw(&found[1]), format!("[\"{large}\"]").as_bytes());
    assert_eq!(raw(&found[3]), format!("{{\"z\":\"{large}\"}}").as_bytes());
    let agent = agents(&*store).remove(0);
    assert_eq!(agent.agent_type.as_str(), "user");
    assert_eq!((agent.descriptor.as_str(), agent.metadata.as_str()), ("{}", "{}"));
    check_unchanged(&dir, &*store);
}

/// The events of a history of these lines beside a state with this context.
fn with_context(history: &str, context: &str) -> Vec<String> {
    let dir = DataDir::with_history("a", history);
    let state = format!(
        r#"{{"permissions":{{"events":true}},"createdAt":1,"updatedAt":9,"context":{context}}}"#
    );
    dir.write("a", "state.json", state);
    let store = store();
    dir.import(&*store);
    check_unchanged(&dir, &*store);
    let events = all_events(&*store).into_iter();
    events.map(|event| format!("{} {}", event.kind, event.data.as_str())).collect()
}

#[test]
fn the_copy_of_a_context_is_kept_only_where_nothing_else_says_it() {
    let context = r#"{"messages":[{"role":"user","n":1.0}],"systemPrompt":"s"}"#;
    let kept = format!("context_copy {context}");
    for (history, expected) in [
        ("{\"type\":\"start\",\"at\":1}", vec![kept.as_str()]),
        ("{\"type\":\"reset\",\"at\":1,\"message\":\" \"}", vec![&kept]),
        ("{\"type\":\"reset\",\"at\":1,\"by\":2}", vec!["reset {\"by\":2}", &kept]),
        ("{\"type\":\"reset\",\"at\":1,\"message\":\"m\"}", vec![]),
        ("{\"type\":\"note\",\"at\":1}", vec!["note {}"]),
        ("{\"type\":\"note\",\"at\":1}\n{\"type\":\"reset\",\"at\":2}", vec!["note {}", &kept]),
    ] {
        assert_eq!(with_context(history, context), expected, "{history}");
    }
    assert_eq!(with_context("{\"type\":\"start\"}", r#"{"messages":[]}"#), [""; 0]);
    let deep = format!("{{\"messages\":{}{}}}", "[".repeat(600), "]".repeat(600));
    let found = with_context("{\"type\":\"start\"}", &deep);
    assert!(found[0].starts_with(
        "unreadable {\"file\":\"state.json\",\"reason\":\"context: invalid data: nested 601 deep"
    ));
    assert!(found[0].contains(&"[".repeat(600)));
}

#[test]
fn remarks_are_counted_beyond_a_hundred() {
    let dir = DataDir::with_history("a", "broken\n".repeat(150));
    let report = dir.import(&*store());
    let agent = &report.details[0];
    // One is about the state, one about the descriptor.
    assert_eq!((agent.remarks.len(), agent.more_remarks, agent.kept_raw), (100, 52, 150));
}

/// A line that is likely to be something.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let json = prop_oneof![
        Just("null".to_owned()),
        Just("{}".to_owned()),
        any::<f64>().prop_map(|number| number.to_string()),
        ".{0,8}".prop_map(|text| serde_json::to_string(&text).unwrap()),
        Just(r#""\ud800\u0000""#.to_owned()),
        any::<i64>().prop_map(|number| number.to_string()),
    ];
    let kind = prop_oneof![
        Just("start".to_owned()),
        Just("reset".to_owned()),
        Just("note".to_owned()),
        ".{0,4}"
    ];
    let record = (kind, json.clone(), json).prop_map(|(kind, at, message)| {
        let kind = serde_json::to_string(&kind).unwrap();
        format!("{{\"type\":{kind},\"at\":{at},\"message\":{message}}}").into_bytes()
    });
    prop_oneof![
        2 => prop::collection::vec(any::<u8>(), 0..12),
        1 => Just(Vec::new()),
        1 => Just(b" \t\r".to_vec()),
        1 => Just(br#"{"type":"reset","at":7,"message":"again"}"#.to_vec()),
        4 => record,
    ]
}

/// The lines of a file that have something in them, one by one without their ends.
fn filled_lines(history: &[u8]) -> usize {
    let lines = history.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.iter().all(u8::is_ascii_whitespace)).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..<_>::default() })]

    #[test]
    fn every_line_is_a_marker_a_record_or_kept_raw(lines in prop::collection::vec(line(), 0..8)) {
        let history = lines.join(&b'\n');
        prop_assume!(!history.is_empty());
        let dir = DataDir::with_history("a", &history);
        let store = store();
        let foretold = dir.dry_run(&*store);
        let report = dir.import(&*store);
        prop_assert_eq!(foretold.records, report.records);
        let events = all_events(&*store);
        let of = |kinds: &[&str]| events.iter().filter(|e| kinds.contains(&e.kind.as_str())).count();
        let kept_markers = of(&["start", "reset"]);
        let markers = report.records.markers as usize;
        prop_assert_eq!(events.len() as u64, report.records.imported);
        prop_assert_eq!(markers + events.len() - kept_markers, filled_lines(&history));
        prop_assert_eq!(of(&["unreadable"]) as u64, report.records.kept_raw);
        let agent = agents(&*store).remove(0);
        prop_assert!(sessions(&*store, &agent).len() >= markers.max(1));
        check_unchanged(&dir, &*store);
    }

    #[test]
    fn any_bytes_as_descriptor_and_state_are_an_agent(
        descriptor in prop::collection::vec(any::<u8>(), 0..20),
        state in prop_oneof![
            prop::collection::vec(any::<u8>(), 1..20),
            (".{0,6}", ".{0,6}").prop_map(|(key, value)| {
                serde_json::to_vec(&serde_json::json!({
                    "permissions": { &key: &value }, "state": value, "stats": key, "x": value,
                })).unwrap()
            }),
        ],
    ) {
        let dir = DataDir::new();
        dir.write("a", "descriptor.json", descriptor);
        dir.write("a", "state.json", state);
        let store = store();
        prop_assert_eq!(dir.import(&*store).agents.imported, 1);
        check_unchanged(&dir, &*store);
    }
}
