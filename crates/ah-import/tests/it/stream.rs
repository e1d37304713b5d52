//! Streams of running programs, by themselves and beside hooks and transcripts of the same session.

use ah_conformance::block_on;
use ah_import::{StreamFormat, StreamReader, Streamed};
use ah_model::{NewEvent, NewSession, Origin, RawJson, Session, Timestamp, Usage};
use ah_store::Store;
use proptest::prelude::*;

use crate::hook::plain;
use crate::support::store;
use crate::transcript::{Tool, Transcripts, fixture, kinds, name, session, sessions, tokens, told};
use crate::transcript_hooks::{hooks, tell};

/// When the streams of tests begin.
const AT: Timestamp = Timestamp::EPOCH;

fn format(tool: Tool) -> StreamFormat {
    match tool {
        Tool::ClaudeCode => StreamFormat::ClaudeCode,
        Tool::Codex => StreamFormat::Codex,
        other => unreachable!("{other:?} has no stream"),
    }
}

/// What a stream of a fixture means.
fn streamed(tool: Tool, file: &str) -> Vec<Streamed> {
    let files = fixture(tool, "stream");
    let (_, bytes) = files.iter().find(|(name, _)| name == file).unwrap();
    let mut reader = StreamReader::new(format(tool));
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>();
    let mut found: Vec<_> = lines.iter().flat_map(|line| reader.line(line, AT)).collect();
    found.extend(reader.end(AT));
    found
}

/// The id of the session that a stream names.
fn external(streamed: &[Streamed]) -> String {
    let id = |one: &Streamed| match one {
        Streamed::External { id, .. } => Some(id.clone()),
        Streamed::Event(_) | Streamed::Outcome { .. } => None,
    };
    streamed.iter().find_map(id).unwrap()
}

/// Appends a stream to its session, which it makes if it is not there.
fn run(store: &dyn Store, tool: Tool, file: &str) {
    let streamed = streamed(tool, file);
    let origin = Origin { source: tool.source().to_owned(), external_id: external(&streamed) };
    let session = match block_on(store.session_of_origin(origin.clone())).unwrap() {
        Some(session) => session,
        None => {
            let dir = std::path::Path::new("/home/dev/project");
            let mut new = NewSession::new(plain(dir), tool.source().parse().unwrap());
            new.origin = Some(origin);
            block_on(store.create_session(new)).unwrap()
        }
    };
    append(store, &session, streamed);
}

/// Appends events as a run does: those without a key get one of the run.
fn append(store: &dyn Store, session: &Session, streamed: Vec<Streamed>) {
    let mut events: Vec<NewEvent> = streamed.into_iter().filter_map(event).collect();
    for (number, event) in events.iter_mut().enumerate() {
        event.dedup_key.get_or_insert_with(|| format!("run/r1/1/{number}"));
    }
    block_on(store.append_events(session.id.clone(), events)).unwrap();
}

fn event(one: Streamed) -> Option<NewEvent> {
    match one {
        Streamed::Event(event) => Some(event),
        Streamed::External { .. } | Streamed::Outcome { .. } => None,
    }
}

/// The tool, the version of the transcript, the hooks, the stream, and the session.
const CASES: [(Tool, &str, &str, &str); 4] = [
    (Tool::ClaudeCode, "2.1.325", "basic.jsonl", "0001"),
    (Tool::ClaudeCode, "2.1.325", "tools.jsonl", "0002"),
    (Tool::Codex, "0.166.0", "basic.jsonl", "6e62"),
    (Tool::Codex, "0.166.0", "tools.jsonl", "dc94"),
];

#[test]
fn a_stream_alone_tells_calls_results_answers_and_tokens() {
    let (claude, codex) = (store(), store());
    run(&*claude, Tool::ClaudeCode, "basic.jsonl");
    run(&*codex, Tool::Codex, "basic.jsonl");
    let (of_claude, of_codex) = (session(&*claude, "0001"), session(&*codex, "6e62"));
    assert_eq!(
        told(&*claude, &of_claude),
        r#"assistant: running it
assistant: Bash toolu_9d42eb0100000100 {"command":"echo hi","description":"say hi"}
tool toolu_9d42eb0100000100: hi
assistant: all done"#
    );
    assert_eq!(
        told(&*codex, &of_codex),
        r#"assistant: running it
assistant: Bash item_5 "/bin/bash -lc 'echo hi'"
tool item_5: hi\n
assistant: all done"#
    );
    assert_eq!(tokens(of_claude.usage), "2010/101/400/60/0");
    assert_eq!(tokens(of_codex.usage), "2010/94/400/0/7");
    assert_eq!(
        kinds(&*codex, &of_codex),
        "session_start codex.error*3 codex.turn.started codex.reasoning assistant_message pre_tool post_tool assistant_message codex.turn.completed usage"
    );
}

/// What a store tells of the session of a case, and what it counted.
fn outcome(store: &dyn Store, id: &str) -> (String, String) {
    let session = session(store, id);
    (told(store, &session), tokens(session.usage))
}

#[test]
fn a_stream_and_a_transcript_are_the_transcript_in_any_order() {
    for (tool, version, file, id) in CASES {
        let transcripts = Transcripts::of(tool, version);
        let (alone, first, last) = (store(), store(), store());
        transcripts.import(&*alone);
        let expected = outcome(&*alone, id);
        run(&*first, tool, file);
        transcripts.import(&*first);
        assert_eq!(outcome(&*first, id), expected, "{file} stream first");
        // Again from the start: what the totals covered is known.
        Transcripts::of(tool, version).import(&*first);
        assert_eq!(outcome(&*first, id), expected, "{file} imported again");
        transcripts.import(&*last);
        run(&*last, tool, file);
        assert_eq!(outcome(&*last, id).0, expected.0, "{file} transcript first");
        let names = |store: &dyn Store| sessions(store).iter().map(name).collect::<Vec<_>>();
        assert_eq!(names(&*first), names(&*alone), "{file}");
    }
}

#[test]
fn a_stream_with_hooks_and_a_transcript_tells_each_thing_once() {
    for (tool, version, file, id) in CASES {
        let expected = {
            let store = store();
            Transcripts::of(tool, version).import(&*store);
            outcome(&*store, id)
        };
        for hooks_first in [true, false] {
            let store = store();
            if hooks_first {
                tell(&*store, &hooks(tool, file));
            }
            run(&*store, tool, file);
            if !hooks_first {
                tell(&*store, &hooks(tool, file));
            }
            let live = outcome(&*store, id).0;
            let prompt = expected.0.lines().next().unwrap();
            assert_eq!(live.matches(prompt).count(), 1, "{file} {hooks_first}:\n{live}");
            for fact in expected.0.lines().filter(|line| line.starts_with("assistant: ")) {
                assert!(live.matches(fact).count() <= 1, "{file} {hooks_first} {fact}:\n{live}");
            }
            Transcripts::of(tool, version).import(&*store);
            assert_eq!(outcome(&*store, id), expected, "{file} {hooks_first}");
        }
    }
}

#[test]
fn a_prompt_that_was_given_to_a_program_is_told_once() {
    let (tool, file) = (Tool::Codex, "basic.jsonl");
    let store = store();
    run(&*store, tool, file);
    let of = session(&*store, "6e62");
    let text = "please do this\n::think let me look\n::say running it\n::tool exec_command {\"cmd\":\"echo hi\"}\n::say all done";
    let prompt = NewEvent {
        kind: "user_message".to_owned(),
        data: RawJson::of(&serde_json::json!({ "text": text })).unwrap(),
        dedup_key: Some("run/r1/1/prompt".to_owned()),
        ts: None,
    };
    block_on(store.append_events(of.id.clone(), vec![prompt])).unwrap();
    let first = |told: &str| told.lines().filter(|line| line.starts_with("user: ")).count();
    assert_eq!(first(&told(&*store, &of)), 1);
    Transcripts::of(tool, "0.166.0").import(&*store);
    assert_eq!(first(&told(&*store, &session(&*store, "6e62"))), 1);
}

#[test]
fn the_end_of_a_turn_and_its_reason_are_told() {
    let outcome = |format: StreamFormat, lines: &[&str]| {
        let mut reader = StreamReader::new(format);
        let mut found: Vec<_> =
            lines.iter().flat_map(|line| reader.line(line.as_bytes(), AT)).collect();
        found.extend(reader.end(AT));
        found.retain(|one| matches!(one, Streamed::Outcome { .. }));
        found
    };
    let ended = |ok: bool, reason: Option<&str>| {
        vec![Streamed::Outcome { ok, reason: reason.map(str::to_owned) }]
    };
    let (claude, codex) = (StreamFormat::ClaudeCode, StreamFormat::Codex);
    let cut = ended(false, Some("the stream ended before its turn"));
    for (format, lines, expected) in [
        (
            claude,
            &[r#"{"type":"result","subtype":"success","is_error":false}"#][..],
            ended(true, None),
        ),
        (
            claude,
            &[r#"{"type":"result","subtype":"error_max_turns","is_error":true}"#],
            ended(false, Some("error_max_turns")),
        ),
        (
            claude,
            &[r#"{"type":"result","subtype":"success","is_error":true,"result":"no key"}"#],
            ended(false, Some("no key")),
        ),
        (claude, &[r#"{"type":"assistant","message":{"role":"assistant"}}"#], cut.clone()),
        (codex, &[r#"{"type":"turn.started"}"#, r#"{"type":"turn.completed"}"#], ended(true, None)),
        (
            codex,
            &[r#"{"type":"turn.failed","error":{"message":"stream lost"}}"#],
            ended(false, Some("stream lost")),
        ),
        (codex, &[r#"{"type":"turn.started"}"#], cut),
        (StreamFormat::Text, &["done"], Vec::new()),
    ] {
        assert_eq!(outcome(format, lines), expected, "{lines:?}");
    }
}

/// The tokens of a program's lines, as a session counts them.
fn counted(reader: &mut StreamReader, lines: &[&str]) -> Usage {
    let streamed = lines.iter().flat_map(|line| reader.line(line.as_bytes(), AT));
    let events = streamed.filter_map(event);
    events.fold(Usage::default(), |sum, event| sum.plus(Usage::of_event(&event.data)))
}

#[test]
fn the_totals_of_a_thread_count_once_over_its_processes() {
    let turn = |input: u64, output: u64| {
        format!(
            r#"{{"type":"turn.completed","usage":{{"input_tokens":{input},"cached_input_tokens":100,"output_tokens":{output}}}}}"#
        )
    };
    let mut first = StreamReader::new(StreamFormat::Codex);
    let before = counted(&mut first, &[&turn(1_100, 50)]);
    assert_eq!(tokens(before), "1000/50/100/0/0");
    let mut second = StreamReader::new(StreamFormat::Codex);
    second.counted(before);
    assert_eq!(tokens(counted(&mut second, &[&turn(3_100, 90)])), "2000/40/0/0/0");
}

#[test]
fn several_results_of_one_process_count_what_no_answer_told() {
    let answer = |id: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"id":"{id}","model":"m","content":[],"usage":{{"input_tokens":10,"output_tokens":1}}}}}}"#
        )
    };
    let result = |input: u64, output: u64| {
        format!(
            r#"{{"type":"result","subtype":"success","usage":{{"input_tokens":{input},"output_tokens":{output}}}}}"#
        )
    };
    let lines = [answer("a"), answer("b"), answer("b"), result(10, 7), result(10, 8)];
    let lines = lines.each_ref().map(String::as_str);
    let mut reader = StreamReader::new(StreamFormat::ClaudeCode);
    assert_eq!(tokens(counted(&mut reader, &lines)), "20/15/0/0/0");
    // An import had counted the first answer whole before the result came.
    let (mut reader, before) = (StreamReader::new(StreamFormat::ClaudeCode), Usage::default());
    reader.counted(before);
    assert_eq!(tokens(counted(&mut reader, &lines[..1])), "10/1/0/0/0");
    reader.counted(Usage { input_tokens: 10, output_tokens: 7, ..before });
    assert_eq!(tokens(counted(&mut reader, &lines[3..4])), "0/0/0/0/0");
}

#[test]
fn a_line_that_is_no_json_or_too_long_is_kept_whole() {
    let long = "x".repeat(5 * 1024 * 1024);
    for format in StreamFormat::ALL {
        let mut reader = StreamReader::new(format);
        let found: Vec<_> =
            reader.line(long.as_bytes(), AT).into_iter().filter_map(event).collect();
        let kept = |event: &NewEvent| {
            event.check().unwrap();
            let said: serde_json::Value = event.data.read().unwrap();
            let kept = said.get("raw").or(said.get("text")).unwrap();
            kept.as_str().unwrap().matches('x').count()
        };
        assert_eq!(found.iter().map(kept).sum::<usize>(), long.len(), "{format:?}");
    }
}

#[test]
fn what_a_program_prints_is_a_log_and_at_its_end_an_answer() {
    let mut reader = StreamReader::new(StreamFormat::Text);
    let lines = ["ready\n", "\n", "  set\r\n"];
    let mut found: Vec<_> =
        lines.iter().flat_map(|line| reader.line(line.as_bytes(), AT)).collect();
    found.extend(reader.end(AT));
    let shown: Vec<_> = found
        .into_iter()
        .filter_map(event)
        .map(|event| (event.kind, event.data.as_str().to_owned(), event.dedup_key))
        .collect();
    let log = |text: &str| {
        let data = format!(r#"{{"stream":"stdout","text":"{text}"}}"#);
        ("hostLog".to_owned(), data, None)
    };
    let answer = ("assistant_message".to_owned(), r#"{"text":"ready\n\n  set"}"#.to_owned(), None);
    assert_eq!(shown, [log("ready"), log(""), log("  set"), answer]);
}

/// A line of a fixture with a piece replaced by other bytes.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let lines: Vec<Vec<u8>> = [Tool::ClaudeCode, Tool::Codex]
        .into_iter()
        .flat_map(|tool| fixture(tool, "stream"))
        .flat_map(|(_, bytes)| {
            bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
        })
        .collect();
    let bytes = prop::collection::vec(any::<u8>(), 0..6);
    (0..lines.len(), any::<prop::sample::Index>(), 0_usize..8, bytes).prop_map(
        move |(line, place, cut, bytes)| {
            let mut line = lines[line].clone();
            let start = place.index(line.len() + 1);
            line.splice(start..(start + cut).min(line.len()), bytes);
            line
        },
    )
}

proptest! {
    #[test]
    fn any_bytes_give_events_that_a_store_takes(
        lines in prop::collection::vec(
            prop_oneof![damaged(), prop::collection::vec(any::<u8>(), 0..60)], 0..12),
        format in prop::sample::select(StreamFormat::ALL.to_vec()),
    ) {
        let mut reader = StreamReader::new(format);
        for line in &lines {
            for one in reader.line(line, AT) {
                if let Streamed::Event(event) = one {
                    prop_assert!(event.check().is_ok(), "{event:?}");
                }
            }
        }
        reader.end(AT);
    }
}
