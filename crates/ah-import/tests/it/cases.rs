//! Agents that the original could load: what is imported, record by record.

use crate::support::check;

#[test]
fn a01_a_full_agent_has_two_sessions_and_the_tool_result_that_the_original_dropped() {
    check(
        "a01",
        r##"
markers 2, untimed 0, blank 0
a01userfull0000000000000 imported; sessions 2, records 8, present 0, raw 0
  state.json: context: left out, it is made of the session's records
agent a01userfull0000000000000 id same from daycare a01userfull0000000000000: user active claude-sonnet-4 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-100","channelId":"c-200"}
  permissions USUAL
  tokens {"provider":"anthropic","model":"claude-sonnet-4","size":{"input":120,"output":30,"cacheRead":0,"cacheWrite":0,"total":150}}
  stats {"anthropic":{"claude-sonnet-4":{"input":120,"output":30,"cacheRead":0,"cacheWrite":0,"total":150}}}
  session 1 a01userfull0000000000000/1 created succeeded in /srv/demo at /srv/demo/desk 0..100 reset
    1 user_message@1 {"text":"list the files","files":[{"id":"f1","name":"notes.txt","mimeType":"text/plain","size":12,"path":"/srv/demo/desk/notes.txt"}]}
    2 assistant_message@2 {"text":"I look.","files":[],"toolCalls":[{"type":"toolCall","id":"call-1","name":"read_dir","arguments":{"path":".","deep":1.0}}],"tokens":{"provider":"anthropic","model":"claude-sonnet-4","size":{"input":120,"output":30,"cacheRead":0,"cacheWrite":0,"total":150}}}
    3 tool_result@3 {"toolCallId":"call-1","output":{"toolMessage":{"role":"toolResult","toolCallId":"call-1","toolName":"read_dir","content":[{"type":"text","text":"a.txt"}],"isError":false,"timestamp":1771200000003},"typedResult":{"entries":["a.txt"]}}}
    4 assistant_message@4 {"text":"There is a.txt.","files":[],"toolCalls":[],"tokens":{"provider":"anthropic","model":"claude-sonnet-4","size":{"input":120,"output":30,"cacheRead":0,"cacheWrite":0,"total":150}}}
    5 note@5 {"text":"the first session"}
  session 2 a01userfull0000000000000/2 reset running active in /srv/demo at /srv/demo/desk 100.. inference infsess0000000000000000a1 message "Manual reset: new topic."
    1 user_message@101 {"text":"second session","files":[]}
    2 assistant_message@102 {"text":"<say>ok</say><run_python>x</run_python><say>never said</say>","files":[],"toolCalls":[],"tokens":{"provider":"anthropic","model":"claude-sonnet-4","size":{"input":120,"output":30,"cacheRead":0,"cacheWrite":0,"total":150}}}
    3 assistant_rewrite@103 {"assistantAt":1771200000102,"text":"<say>ok</say><run_python>x</run_python>","reason":"run_python_say_after_trim"}
"##,
    );
}

#[test]
fn a02_only_a_start_is_one_session_without_events() {
    check(
        "a02",
        r##"
markers 1, untimed 0, blank 0
a02onlystart000000000000 imported; sessions 1, records 0, present 0, raw 0
agent a02onlystart000000000000 id same from daycare a02onlystart000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-2","channelId":"c-2"}
  permissions USUAL
  session 1 a02onlystart000000000000/1 created created active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
"##,
    );
}

#[test]
fn a03_resets_in_a_row_are_sessions_with_their_messages_also_blank_ones() {
    check(
        "a03",
        r##"
markers 4, untimed 0, blank 0
a03systemresets000000000 imported; sessions 4, records 2, present 0, raw 0
agent heartbeat id same from daycare a03systemresets000000000: system active 0..60000
  descriptor {"type":"system","tag":"heartbeat"}
  permissions USUAL
  session 1 a03systemresets000000000/1 created succeeded in /srv/demo at /srv/demo/desk 0..10 reset
    1 user_message@1 {"text":"beat","files":[]}
  session 2 a03systemresets000000000/2 reset cancelled in /srv/demo at /srv/demo/desk 10..11 reset
  session 3 a03systemresets000000000/3 reset succeeded in /srv/demo at /srv/demo/desk 11..20 reset message "   "
    1 user_message@12 {"text":"beat again","files":[]}
  session 4 a03systemresets000000000/4 reset created active in /srv/demo at /srv/demo/desk 20.. inference infsess0000000000000000a1 message "Emergency reset: context overflow detected. Previous session context was cleared."
"##,
    );
}

#[test]
fn a04_a_dead_agent_comes_with_its_whole_rlm_cycle_and_its_session_is_over() {
    check(
        "a04",
        r##"
markers 1, untimed 0, blank 0
a04deadrlm00000000000000 imported; sessions 1, records 6, present 0, raw 0
agent digger id same from daycare a04deadrlm00000000000000: subagent dead 0..60000
  descriptor {"type":"subagent","id":"a04deadrlm00000000000000","parentAgentId":"a01userfull0000000000000","name":"digger"}
  permissions USUAL
  session 1 a04deadrlm00000000000000/1 created succeeded active in /srv/demo at /srv/demo/desk 0..60000 retired
    1 assistant_message@1 {"text":"","files":[],"toolCalls":[{"type":"toolCall","id":"rp-4","name":"run_python","arguments":{"code":"read(\"x\")"}}],"tokens":null}
    2 rlm_start@2 {"toolCallId":"rp-4","code":"read(\"x\")","preamble":"def read(p): ..."}
    3 rlm_tool_call@3 {"toolCallId":"rp-4","snapshot":"AAEC/w==","printOutput":[],"toolCallCount":0,"toolName":"read","toolArgs":{"p":"x"}}
    4 rlm_tool_result@4 {"toolCallId":"rp-4","toolName":"read","toolResult":"text of x","toolIsError":false}
    5 rlm_complete@5 {"toolCallId":"rp-4","output":"text of x","printOutput":["done"],"toolCallCount":1,"isError":false}
    6 tool_result@6 {"toolCallId":"rp-4","output":{"toolMessage":{"role":"toolResult","toolCallId":"rp-4","toolName":"run_python","content":[{"type":"text","text":"text of x"}],"isError":false,"timestamp":1771200000006},"files":[]}}
"##,
    );
}

#[test]
fn a05_a_crash_within_an_rlm_keeps_its_snapshot() {
    check(
        "a05",
        r##"
markers 1, untimed 0, blank 0
a05rlmcrash0000000000000 imported; sessions 1, records 4, present 0, raw 0
agent mailer id same from daycare a05rlmcrash0000000000000: app active 0..60000
  descriptor {"type":"app","id":"a05rlmcrash0000000000000","parentAgentId":"a01userfull0000000000000","name":"mailer","systemPrompt":"Send mail.","appId":"app-5"}
  permissions USUAL
  session 1 a05rlmcrash0000000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@1 {"text":"send it","files":[]}
    2 assistant_message@2 {"text":"Sending.","files":[],"toolCalls":[{"type":"toolCall","id":"call-9","name":"send","arguments":{}},{"type":"toolCall","id":"rp-9","name":"run_python","arguments":{"code":"send()"}}],"tokens":null}
    3 rlm_start@3 {"toolCallId":"rp-9","code":"send()","preamble":""}
    4 rlm_tool_call@4 {"toolCallId":"rp-9","snapshot":"c25hcA==","printOutput":[],"toolCallCount":1,"toolName":"send","toolArgs":null}
"##,
    );
}

#[test]
fn a06_a_compaction_is_a_reset_and_a_summary_in_the_same_millisecond() {
    check(
        "a06",
        r##"
markers 2, untimed 0, blank 0
a06permanentcompact00000 imported; sessions 2, records 3, present 0, raw 0
agent librarian id same from daycare a06permanentcompact00000: permanent active 0..60000
  descriptor {"type":"permanent","id":"a06permanentcompact00000","name":"librarian","username":"lib","description":"Keeps the shelves.","systemPrompt":"Be quiet.","workspaceDir":"/srv/demo/lib"}
  permissions USUAL
  session 1 a06permanentcompact00000/1 created succeeded in /srv/demo at /srv/demo/desk 0..50 reset
    1 user_message@1 {"text":"a long talk","files":[]}
    2 rlm_complete@2 {"toolCallId":"rp-6","output":"","printOutput":[],"toolCallCount":0,"isError":true,"error":"out of time"}
  session 2 a06permanentcompact00000/2 reset running active in /srv/demo at /srv/demo/desk 50.. inference infsess0000000000000000a1 message "Session context compacted."
    1 user_message@50 {"text":"Summary of the talk.\n\nPlease continue with the user's latest request.","files":[]}
"##,
    );
}

#[test]
fn a13_without_a_marker_the_first_record_begins_a_session() {
    check(
        "a13",
        r##"
markers 0, untimed 0, blank 0
a13nomarker0000000000000 imported; sessions 1, records 2, present 0, raw 0
agent a13nomarker0000000000000 id same from daycare a13nomarker0000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-13","channelId":"c-13"}
  permissions USUAL
  session 1 a13nomarker0000000000000/1 created running active in /srv/demo at /srv/demo/desk 7.. inference infsess0000000000000000a1
    1 user_message@7 {"text":"no beginning","files":[]}
    2 assistant_message@8 {"text":"indeed","files":[],"toolCalls":[],"tokens":null}
"##,
    );
}

#[test]
fn a14_markers_alone_are_sessions_without_events() {
    check(
        "a14",
        r##"
markers 3, untimed 0, blank 0
a14onlymarkers0000000000 imported; sessions 3, records 0, present 0, raw 0
agent a14onlymarkers0000000000 id same from daycare a14onlymarkers0000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-14","channelId":"c-14"}
  permissions USUAL
  session 1 a14onlymarkers0000000000/1 created cancelled in /srv/demo at /srv/demo/desk 0..1 reset
  session 2 a14onlymarkers0000000000/2 reset cancelled in /srv/demo at /srv/demo/desk 1..2 reset message "first"
  session 3 a14onlymarkers0000000000/3 reset created active in /srv/demo at /srv/demo/desk 2.. inference infsess0000000000000000a1 message "last"
"##,
    );
}

#[test]
fn a16_both_forms_of_a_tool_result_are_kept() {
    check(
        "a16",
        r##"
markers 1, untimed 0, blank 0
a16bothtoolresults000000 imported; sessions 1, records 3, present 0, raw 0
agent a16bothtoolresults000000 id same from daycare a16bothtoolresults000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-16","channelId":"c-16"}
  permissions USUAL
  session 1 a16bothtoolresults000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 assistant_message@1 {"text":"two calls","files":[],"toolCalls":[{"type":"toolCall","id":"c1","name":"read","arguments":{"p":1}},{"type":"toolCall","id":"c2","name":"read","arguments":{"p":2}}],"tokens":null}
    2 tool_result@2 {"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"one"}],"isError":false,"timestamp":1771200000002},"files":[]}}
    3 tool_result@3 {"toolCallId":"c2","output":{"toolMessage":{"role":"toolResult","toolCallId":"c2","toolName":"read","content":[{"type":"text","text":"two"}],"isError":false,"timestamp":1771200000003},"typedResult":{"n":2}}}
"##,
    );
}

#[test]
fn a17_repairs_that_were_appended_again_and_again_are_each_kept() {
    check(
        "a17",
        r##"
markers 1, untimed 0, blank 0
a17repairedcalls00000000 imported; sessions 1, records 4, present 0, raw 0
agent a17repairedcalls00000000 id same from daycare a17repairedcalls00000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-17","channelId":"c-17"}
  permissions USUAL
  session 1 a17repairedcalls00000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 assistant_message@1 {"text":"","files":[],"toolCalls":[{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"write","arguments":{}}],"tokens":null}
    2 tool_result@2 {"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"session_crashed"}],"isError":true,"timestamp":1771200000002},"typedResult":{"error":"session_crashed"}}}
    3 tool_result@3 {"toolCallId":"c2","output":{"toolMessage":{"role":"toolResult","toolCallId":"c2","toolName":"write","content":[{"type":"text","text":"session_crashed"}],"isError":true,"timestamp":1771200000003},"typedResult":{"error":"session_crashed"}}}
    4 tool_result@2 {"toolCallId":"c1","output":{"toolMessage":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"session_crashed"}],"isError":true,"timestamp":1771200000002},"typedResult":{"error":"session_crashed"}}}
"##,
    );
}

#[test]
fn a19_sessions_are_in_the_order_of_the_file_when_the_clock_goes_back() {
    check(
        "a19",
        r##"
markers 3, untimed 0, blank 0
a19clockback000000000000 imported; sessions 3, records 3, present 0, raw 0
agent a19clockback000000000000 id same from daycare a19clockback000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-19","channelId":"c-19"}
  permissions USUAL
  session 1 a19clockback000000000000/1 created succeeded in /srv/demo at /srv/demo/desk 3000..1000 reset
    1 user_message@3001 {"text":"first","files":[]}
  session 2 a19clockback000000000000/2 reset succeeded in /srv/demo at /srv/demo/desk 1000..2000 reset message "second"
    1 user_message@1001 {"text":"second","files":[]}
  session 3 a19clockback000000000000/3 reset running active in /srv/demo at /srv/demo/desk 2000.. inference infsess0000000000000000a1 message "third"
    1 user_message@1999 {"text":"third","files":[]}
"##,
    );
}

#[test]
fn a20_text_that_is_hard_to_store_is_kept() {
    check(
        "a20",
        r##"
markers 1, untimed 0, blank 0
a20unicode00000000000000 imported; sessions 1, records 2, present 0, raw 0
agent a20unicode00000000000000 id same from daycare a20unicode00000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"пользователь","channelId":"канал-😀"}
  permissions USUAL
  session 1 a20unicode00000000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@1 {"text":"line1\nline2 sep \u0000nul 😀 \ud800lone \"q\" \\ <b>","files":[]}
    2 note@2 (70011 bytes)
"##,
    );
}

#[test]
fn a21_other_files_are_named_and_left_alone() {
    check(
        "a21",
        r##"
markers 1, untimed 0, blank 0
a21otherfiles00000000000 imported; sessions 1, records 1, present 0, raw 0
  compaction_20260216.md: left alone
  notes.txt: left alone
  state.json.tmp-4242-1771200000000: left alone
agent a21otherfiles00000000000 id same from daycare a21otherfiles00000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-21","channelId":"c-21"}
  permissions USUAL
  session 1 a21otherfiles00000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@1 {"text":"with neighbours","files":[]}
"##,
    );
}
