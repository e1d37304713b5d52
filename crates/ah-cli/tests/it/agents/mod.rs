//! The real Claude Code and Codex, driven against a scripted model: what their hooks tell while they
//! run, what their transcripts tell afterwards, and what they print are one session, told once.
//!
//! `cargo xtask agents` installs the programs and names them to the tests. Without them the same
//! tests run on what was recorded of them.

mod model;
mod played;

use std::io::Write;

use ah_import::{StreamFormat, StreamReader, Streamed};
use ah_model::{NewEvent, Timestamp, Usage};
use serde_json::{Value, json};

use self::model::{CACHED, INPUT, OUTPUT, WRITTEN};
use self::played::{Played, Tool};
use crate::support::{Home, succeeded};

const TOOLS: [Tool; 2] = [Tool::ClaudeCode, Tool::Codex];

/// What a context shows, without where it was stored.
fn shown(home: &Home, session: &str) -> Vec<Value> {
    let context = home.json(&["session", "context", session]);
    let mut messages = context["messages"].as_array().unwrap().clone();
    for message in &mut messages {
        let message = message.as_object_mut().unwrap();
        message.retain(|name, _| !["seq", "ts", "sessionId"].contains(&name.as_str()));
    }
    messages.extend(
        context["pendingCalls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|call| json!({ "pending": call["id"] })),
    );
    messages
}

/// Prompts, calls, results and answers, a word for each.
fn facts(messages: &[Value]) -> Vec<String> {
    let mut facts = Vec::new();
    for message in messages {
        if let Some(id) = message["toolCallId"].as_str() {
            facts.push(format!("result {id}"));
            continue;
        }
        for part in message["content"].as_array().into_iter().flatten() {
            let role = message["role"].as_str().unwrap();
            match part["type"].as_str() {
                Some("toolCall") => facts.push(format!("call {}", part["id"].as_str().unwrap())),
                Some("text") => facts.push(format!("{role} {}", part["text"].as_str().unwrap())),
                _ => {}
            }
        }
    }
    facts
}

/// The events of a session as (type, key).
fn log(home: &Home, session: &str) -> Vec<(String, String)> {
    let events = home.json(&["session", "events", session, "--limit", "1000"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let items = events["items"].as_array().unwrap();
    items.iter().map(|event| (text(&event["type"]), text(&event["dedupKey"]))).collect()
}

/// What `answers` answers of the scripted model cost.
fn truth(tool: Tool, answers: u64) -> Value {
    let written = if tool == Tool::ClaudeCode { WRITTEN } else { 0 };
    json!({
        "inputTokens": INPUT * answers, "outputTokens": OUTPUT * answers,
        "cacheReadTokens": CACHED * answers, "cacheWriteTokens": written * answers,
        "reasoningTokens": 0,
    })
}

/// A store that has only the transcript.
fn imported(played: &Played) -> Home {
    let alone = Home::new();
    played.import(&alone);
    alone
}

fn is_among(few: &[String], all: &[String]) -> bool {
    let mut all = all.iter();
    few.iter().all(|fact| all.any(|other| other == fact))
}

#[test]
fn hooks_record_the_prompt_the_calls_their_results_and_the_answer_of_a_real_turn() {
    for tool in TOOLS {
        let played = Played::whole(tool);
        let told = facts(&shown(&played.home, &played.session));
        let all = facts(&shown(&imported(&played), &played.session));
        assert_eq!((told.first(), told.last()), (all.first(), all.last()), "{tool:?}");
        if played.real {
            // Hooks tell only the last words of a turn.
            let known: Vec<_> =
                all.iter().filter(|fact| !fact.starts_with("assistant first")).cloned().collect();
            let sorted = |mut facts: Vec<String>| {
                facts.sort();
                facts
            };
            assert_eq!(sorted(told.clone()), sorted(known), "{tool:?}");
            assert_eq!(told[0], "user MAINTASK please");
        } else {
            let calls = |facts: &[String]| facts.iter().filter(|f| f.starts_with("call ")).count();
            assert_eq!(calls(&told), calls(&all), "{tool:?}\n{told:#?}\n{all:#?}");
        }
        let status = played.home.json(&["hooks", "status"]);
        assert_eq!([&status["waiting"], &status["refused"]], [0, 0], "{tool:?}");
    }
}

#[test]
fn an_import_after_the_hooks_is_the_import_alone_and_comes_once() {
    for tool in TOOLS {
        let played = Played::whole(tool);
        let alone = imported(&played);
        played.import(&played.home);
        let (both, only) = (shown(&played.home, &played.session), shown(&alone, &played.session));
        assert_eq!(both, only, "{tool:?}");
        let row = |home: &Home| home.json(&["session", "show", &played.session]);
        let (both, only) = (row(&played.home), row(&alone));
        assert_eq!((&both["usage"], &both["title"]), (&only["usage"], &only["title"]), "{tool:?}");
        if played.real {
            let answers = if tool == Tool::ClaudeCode { 3 } else { 2 };
            assert_eq!(only["usage"], truth(tool, answers), "{tool:?}");
        }
        let again = played.import(&played.home);
        assert_eq!(again["records"]["imported"], 0, "{tool:?}");
        assert_eq!(played.home.json(&["db", "check"])["ok"], true);
    }
}

/// What a program printed, as events.
fn streamed(played: &Played) -> (Vec<NewEvent>, Vec<Streamed>) {
    let format = match played.tool {
        Tool::ClaudeCode => StreamFormat::ClaudeCode,
        Tool::Codex => StreamFormat::Codex,
    };
    let mut reader = StreamReader::new(format);
    let lines: Vec<_> = played.stream.split_inclusive(|byte| *byte == b'\n').collect();
    let mut found: Vec<_> =
        lines.iter().flat_map(|line| reader.line(line, Timestamp::EPOCH)).collect();
    found.extend(reader.end(Timestamp::EPOCH));
    let (mut events, mut rest) = (Vec::new(), Vec::new());
    for one in found {
        match one {
            Streamed::Event(event) => events.push(event),
            other => rest.push(other),
        }
    }
    (events, rest)
}

#[test]
fn what_a_program_prints_is_what_its_transcript_has() {
    for tool in TOOLS {
        let played = Played::whole(tool);
        let alone = imported(&played);
        let (events, rest) = streamed(&played);
        let outcome = Streamed::Outcome { ok: true, reason: None };
        assert_eq!(rest.last(), Some(&outcome), "{tool:?}");
        let spent = events
            .iter()
            .fold(Usage::default(), |sum, event| sum.plus(Usage::of_event(&event.data)));
        let row = alone.json(&["session", "show", &played.session]);
        assert_eq!(serde_json::to_value(spent).unwrap(), row["usage"], "{tool:?}");
        let log = log(&alone, &played.session);
        let told = ["user_message", "assistant_message", "tool_result"];
        if tool == Tool::ClaudeCode {
            for event in events.iter().filter(|event| told.contains(&event.kind.as_str())) {
                let key = event.dedup_key.as_deref().unwrap().strip_prefix("stream/").unwrap();
                let found = (event.kind.clone(), key.to_owned());
                assert!(log.contains(&found), "{found:?} is not in {log:#?}");
            }
        }
        let home = Home::new();
        let id = &played.session;
        home.json(&["session", "create", "--agent", tool.kind(), "--id", id]);
        let lines: Vec<_> = events
            .iter()
            .map(|event| format!("{}\n", serde_json::to_string(event).unwrap()))
            .collect();
        let mut append = home.spawn(&["session", "append", id, "--stdin-jsonl", "--strict"]);
        append.stdin.take().unwrap().write_all(lines.concat().as_bytes()).unwrap();
        succeeded(&append.wait_with_output().unwrap(), "append");
        let (printed, all) = (facts(&shown(&home, id)), facts(&shown(&alone, id)));
        let words = |facts: &[String]| -> Vec<String> {
            facts.iter().filter(|fact| fact.starts_with("assistant ")).cloned().collect()
        };
        assert_eq!(words(&printed), words(&all), "{tool:?}");
        let calls = |facts: &[String]| facts.iter().filter(|f| f.starts_with("call ")).count();
        assert_eq!(calls(&printed), calls(&all), "{tool:?}");
        assert!(tool == Tool::Codex || is_among(&printed, &all), "{printed:#?} {all:#?}");
    }
}

#[test]
fn a_turn_whose_program_is_killed_is_unended() {
    for tool in TOOLS {
        let played = Played::killed(tool);
        let told = shown(&played.home, &played.session);
        let pending = |messages: &[Value]| {
            messages.iter().filter(|message| message["pending"].is_string()).count()
        };
        assert_eq!(pending(&told), 1, "{tool:?} {told:#?}");
        let (_, rest) = streamed(&played);
        assert!(matches!(rest.last(), Some(Streamed::Outcome { ok: false, .. })), "{tool:?}");
        played.import(&played.home);
        let row = played.home.json(&["session", "show", &played.session]);
        assert_eq!(row["labels"]["turn"], "unended", "{tool:?} {row:#}");
        assert_eq!(pending(&shown(&played.home, &played.session)), 1, "{tool:?}");
    }
}
