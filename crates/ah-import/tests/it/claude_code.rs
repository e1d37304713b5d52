//! Claude Code's own transcripts, as its versions wrote them.

use ah_import::{Outcome, TranscriptReport};

use crate::support::{events, store};
use crate::transcript::{
    Tool, Transcripts, fixture, kept, kinds, log, session, sessions, tokens, told, total,
};

#[test]
fn version_2_1_325_is_sessions_with_their_children() {
    let store = store();
    let report = Transcripts::of(Tool::ClaudeCode, "2.1.325").import(&*store);
    assert_eq!(
        kept(&*store),
        r#"10000000-0000-4000-8000-000000000001 claude-code@2.1.325 idle "please do this" in /home/dev/project [branch=master model=claude-opus-5-5] 2010/101/400/60/0 07:28:18..07:28:20
10000000-0000-4000-8000-000000000002 claude-code@2.1.325 idle "all kinds of tools" in /home/dev/project [branch=master model=claude-opus-5-5] 7210/371/1400/210/0 07:28:22..07:28:34
10000000-0000-4000-8000-000000000002/a45c1ae1d54821147 of 10000000-0000-4000-8000-000000000002 claude-code@2.1.325 idle "sub work" in /home/dev/project [agent-type=general-purpose branch=master model=claude-opus-5-5] 2010/101/400/60/0 07:28:30..07:28:33
10000000-0000-4000-8000-000000000003 claude-code@2.1.325 idle "::tool Write {\"file_path\":\"/home/dev/project/approved.txt\",\"content\":\"ok\"}" in /home/dev/project [branch=master model=claude-opus-5-5] 4050/205/800/120/0 07:28:37..07:28:48"#
    );
    assert!(report.details.iter().all(|session| session.outcome == Outcome::Imported));
    assert_eq!((report.files.read, report.sessions.imported, report.records.kept_raw), (4, 4, 0));
}

/// The last line of each transcript has the program's own totals: 2,010, 9,220 with the sub-agent,
/// and 4,050 tokens of input. By lines it would be 20,310.
#[test]
fn tokens_are_counted_once_per_answer_and_equal_the_ledger() {
    let store = store();
    let report = Transcripts::of(Tool::ClaudeCode, "2.1.325").import(&*store);
    assert_eq!(tokens(total(&*store)), "15280/778/3000/450/0");
    assert_eq!(report.usage, total(&*store));
    let ledger: u64 = fixture(Tool::ClaudeCode, "2.1.325")
        .iter()
        .flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines())
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| line["modelUsage"]["claude-opus-5-5"]["inputTokens"].as_u64())
        .sum();
    assert_eq!(total(&*store).input_tokens, ledger);
}

#[test]
fn the_types_of_events_are_ours_where_we_have_a_word() {
    let store = store();
    Transcripts::of(Tool::ClaudeCode, "2.1.325").import(&*store);
    assert_eq!(
        kinds(&*store, &session(&*store, "0001")),
        "claude-code.queue-operation*2 user_message claude-code.attachment*5 \
         claude-code.atis-latch claude-code.attachment*4 claude-code.api-request-shape \
         claude-code.api-request-blob*2 claude-code.api-request claude-code.tools-used \
         assistant_message usage assistant_message*2 claude-code.last-prompt \
         claude-code.atis-latch tool_result claude-code.attachment claude-code.last-prompt \
         claude-code.atis-latch claude-code.api-request assistant_message usage \
         claude-code.system claude-code.last-prompt claude-code.cost-state"
    );
}

#[test]
fn a_context_shows_each_prompt_answer_call_and_result_once_in_order() {
    let store = store();
    Transcripts::of(Tool::ClaudeCode, "2.1.325").import(&*store);
    assert_eq!(
        told(&*store, &session(&*store, "0001")),
        r#"user: please do this\n::think let me look\n::say running it\n::too
assistant: running it
assistant: Bash toolu_9d42eb0100000100 {"command":"echo hi","description":"say hi"}
tool toolu_9d42eb0100000100: hi
assistant: all done"#
    );
    assert_eq!(
        told(&*store, &session(&*store, "0002")),
        r#"user: all kinds of tools\n::say first a pair\n::tool Bash {"comman
assistant: first a pair
assistant: Bash toolu_9d42eb0100000300 {"command":"echo one","description":"one"}
tool toolu_9d42eb0100000300: one
assistant: Bash toolu_9d42eb0100000301 {"command":"echo two; exit 3","description":"two"}
tool toolu_9d42eb0100000301 failed: Exit code 3\ntwo
assistant: Write toolu_9d42eb0100000400 {"file_path":"denied.txt","content":"x"}
tool toolu_9d42eb0100000400 failed {"decision":"reject","source":"config","reasonCode":"unknown"}: Claude requested permissions to write to /home/dev/project/d
assistant: mcp__probe__echo toolu_9d42eb0100000500 {"text":"ping"}
tool toolu_9d42eb0100000500: {"text":"ping"}
assistant: mcp__probe__slow toolu_9d42eb0100000600 {}
tool toolu_9d42eb0100000600: slow done
assistant: mcp__probe__boom toolu_9d42eb0100000700 {}
tool toolu_9d42eb0100000700 failed: [client text, 404 chars]
assistant: Agent toolu_9d42eb0100000800 {"description":"sub work","prompt":"::tool Bash {\"command\"
tool toolu_9d42eb0100000800: [client text, 684 chars]
assistant: tools done"#
    );
    assert_eq!(
        told(&*store, &session(&*store, "a45c1ae1d54821147")),
        r#"user: ::tool Bash {"command":"echo from-sub","description":"sub"}\
assistant: Bash toolu_9d42eb0100000900 {"command":"echo from-sub","description":"sub"}
tool toolu_9d42eb0100000900: from-sub
assistant: sub finished"#
    );
}

#[test]
fn version_2_0_77_has_its_children_in_files_beside_it() {
    let store = store();
    Transcripts::of(Tool::ClaudeCode, "2.0.77").import(&*store);
    assert_eq!(
        kept(&*store),
        r#"a63994f2-e38b-49ec-8180-1cae4673d6aa claude-code@2.0.77 idle "please" in /home/dev/project [model=claude-sonnet-4-5-20250929] 3030/153/600/90/0 07:16:59..07:17:02
a63994f2-e38b-49ec-8180-1cae4673d6aa/a3a28bb of a63994f2-e38b-49ec-8180-1cae4673d6aa claude-code@2.0.77 idle "Warmup" in /home/dev/project [model=claude-haiku-4-5-20251001] 1000/50/200/30/0 07:16:59..07:17:00
a63994f2-e38b-49ec-8180-1cae4673d6aa/a6aa336 of a63994f2-e38b-49ec-8180-1cae4673d6aa claude-code@2.0.77 idle "Warmup" in /home/dev/project [model=claude-sonnet-4-5-20250929] 1000/50/200/30/0 07:16:59..07:17:00
a63994f2-e38b-49ec-8180-1cae4673d6aa/ae96583 of a63994f2-e38b-49ec-8180-1cae4673d6aa claude-code@2.0.77 idle "::tool Bash {\"command\":\"echo from-sub\",\"description\":\"sub\"}" in /home/dev/project [model=claude-sonnet-4-5-20250929] 2010/101/400/60/0 07:17:01..07:17:01
a63994f2-e38b-49ec-8180-1cae4673d6aa/af5f3cb of a63994f2-e38b-49ec-8180-1cae4673d6aa claude-code@2.0.77 idle "Warmup" in /home/dev/project [model=claude-sonnet-4-5-20250929] 1000/50/200/30/0 07:16:59..07:17:00"#
    );
    assert_eq!(
        told(&*store, &session(&*store, "73d6aa")),
        r#"user: please\n::say running\n::tool Bash {"command":"echo hi","des
assistant: running
assistant: Bash toolu_2457da8c00005000 {"command":"echo hi","description":"say hi"}
tool toolu_2457da8c00005000: hi
assistant: Task toolu_2457da8c00005200 {"description":"sub work","prompt":"::tool Bash {\"command\"
tool toolu_2457da8c00005200: sub finished
tool toolu_2457da8c00005200: agentId: ae96583 (for resuming to continue this agent's work
assistant: all done"#
    );
}

#[test]
fn every_line_is_an_event_byte_for_byte() {
    for version in ["2.1.325", "2.0.77"] {
        let store = store();
        Transcripts::of(Tool::ClaudeCode, version).import(&*store);
        let mut lines: Vec<String> = fixture(Tool::ClaudeCode, version)
            .iter()
            .filter(|(name, _)| name.ends_with(".jsonl"))
            .flat_map(|(_, bytes)| std::str::from_utf8(bytes).unwrap().lines())
            .map(str::to_owned)
            .collect();
        let all = sessions(&*store);
        let events = all.iter().flat_map(|session| events(&*store, session));
        let events = events.filter(|event| event.kind != "usage");
        let mut kept: Vec<String> = events.map(|event| event.data.as_str().to_owned()).collect();
        lines.sort();
        kept.sort();
        assert_eq!(kept, lines, "{version}");
    }
}

#[test]
fn importing_twice_adds_nothing_and_a_dry_run_foretells() {
    for version in ["2.1.325", "2.0.77"] {
        let (transcripts, store) = (Transcripts::of(Tool::ClaudeCode, version), store());
        let foretold = transcripts.dry_run(&*store);
        assert_eq!(kept(&*store), "", "a dry run writes nothing");
        let report = transcripts.import(&*store);
        assert_eq!(without_ids(foretold), without_ids(report.clone()));
        let before = (kept(&*store), log(&*store));
        let again = transcripts.import(&*store);
        assert_eq!(again.files.unchanged, report.files.found);
        assert_eq!((again.records.imported, again.sessions.found), (0, 0));
        assert_eq!((kept(&*store), log(&*store)), before);
    }
}

/// What a dry run cannot know left out.
fn without_ids(mut report: TranscriptReport) -> TranscriptReport {
    report.dry_run = false;
    report.details.iter_mut().for_each(|session| session.session_id = None);
    report
}
