//! Agents that the original lost, in whole or in part: what is imported, record by record.

use crate::support::check;

#[test]
fn a07_without_a_history_the_copy_of_the_context_is_all_there_is() {
    check(
        "a07",
        r##"
markers 0, untimed 0, blank 0
a07nohistory000000000000 imported; sessions 1, records 1, present 0, raw 0
  history.jsonl: is missing: a session without records
  state.json: context: kept as an event, the session has no records it was made of
agent nightly id same from daycare a07nohistory000000000000: cron active 0..60000
  descriptor {"type":"cron","id":"cron-7","name":"nightly"}
  permissions USUAL
  session 1 a07nohistory000000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 context_copy@60000 {"messages":[{"role":"user","content":"kept in the state only","timestamp":1771200000009}]}
"##,
    );
}

#[test]
fn a08_without_a_state_the_agent_sleeps_and_keeps_its_history() {
    check(
        "a08",
        r##"
markers 1, untimed 0, blank 0
a08missingstate000000000 imported; sessions 1, records 1, present 0, raw 0
  state.json: is missing: the agent sleeps and may do nothing
agent a08missingstate000000000 id same from daycare a08missingstate000000000: user sleeping 0..0
  descriptor {"type":"user","connector":"telegram","userId":"u-8","channelId":"c-8"}
  session 1 a08missingstate000000000/1 created running active in DIR/agents/a08missingstate000000000 0..
    1 user_message@1 {"text":"orphaned text","files":[]}
"##,
    );
}

#[test]
fn a09_without_a_descriptor_the_type_is_unknown() {
    check(
        "a09",
        r##"
markers 1, untimed 0, blank 0
a09missingdescriptor0000 imported; sessions 1, records 1, present 0, raw 0
  descriptor.json: is missing: an agent of unknown type
agent a09missingdescriptor0000 id same from daycare a09missingdescriptor0000: unknown active 0..60000
  permissions USUAL
  session 1 a09missingdescriptor0000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@1 {"text":"whose text is this","files":[]}
"##,
    );
}

#[test]
fn a10_a_corrupt_state_is_kept_as_text() {
    check(
        "a10",
        r##"
markers 1, untimed 0, blank 0
a10corruptstate000000000 imported; sessions 1, records 0, present 0, raw 0
  state.json: is not JSON: EOF while parsing a list at line 3 column 17: the agent sleeps and may do nothing
agent cron-10 id same from daycare a10corruptstate000000000: cron sleeping 0..0
  descriptor {"type":"cron","id":"cron-10"}
  metadata {"daycare":{"stateRaw":"{\n  \"context\": {\n    \"messages\": ["}}
  session 1 a10corruptstate000000000/1 created created active in DIR/agents/a10corruptstate000000000 0..
"##,
    );
}

#[test]
fn a11_a_corrupt_descriptor_is_kept_as_text_and_in_hexadecimal() {
    check(
        "a11",
        r##"
markers 1, untimed 0, blank 0
a11corruptdescriptor0000 imported; sessions 1, records 1, present 0, raw 0
  descriptor.json: is not UTF-8 from byte 32 on: an agent of unknown type
agent a11corruptdescriptor0000 id same from daycare a11corruptdescriptor0000: unknown active 0..60000
  permissions USUAL
  metadata {"daycare":{"descriptorHex":"7b2274797065223a2275736572222c22636f6e6e6563746f72223a2274656c65fffe","descriptorRaw":"{\"type\":\"user\",\"connector\":\"tele��"}}
  session 1 a11corruptdescriptor0000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 note@1 {"text":"who am I"}
"##,
    );
}

#[test]
fn a12_corrupt_and_torn_lines_are_kept_raw_between_the_others() {
    check(
        "a12",
        r##"
markers 2, untimed 0, blank 1
a12corruptlines000000000 imported; sessions 2, records 5, present 0, raw 2
  history.jsonl:3: kept raw: is not JSON: EOF while parsing a string at column 56
  history.jsonl:8: kept raw: is not JSON: EOF while parsing a string at column 37
agent a12corruptlines000000000 id same from daycare a12corruptlines000000000: user active 0..60000
  descriptor {"type":"user","connector":"whatsapp","userId":"u-12","channelId":"c-12"}
  permissions USUAL
  session 1 a12corruptlines000000000/1 created succeeded in /srv/demo at /srv/demo/desk 0..4 reset
    1 user_message@1 {"text":"before the damage","files":[]}
    2 unreadable@1 {"file":"history.jsonl","line":3,"reason":"is not JSON: EOF while parsing a string at column 56","raw":"{\"type\":\"user_message\",\"at\":1771200000002,\"text\":\"broken"}
    3 user_message@3 {"text":"after the damage","files":[]}
  session 2 a12corruptlines000000000/2 reset running active in /srv/demo at /srv/demo/desk 4.. inference infsess0000000000000000a1
    1 note@5 {"text":"whole"}
    2 unreadable@5 {"file":"history.jsonl","line":8,"reason":"is not JSON: EOF while parsing a string at column 37","raw":"{\"type\":\"note\",\"at\":1771200000006,\"te"}
"##,
    );
}

#[test]
fn a15_the_shapes_of_the_first_days_are_read() {
    check(
        "a15",
        r##"
markers 2, untimed 0, blank 0
a15legacyshapes000000000 imported; sessions 2, records 1, present 0, raw 0
  state.json: permissions: `web` is `network` now, `events` is missing and false
agent a15legacyshapes000000000 id same from daycare a15legacyshapes000000000: heartbeat sleeping -86400000..-86000000
  descriptor {"type":"heartbeat"}
  permissions {"workingDir":"/srv/old","writeDirs":[],"readDirs":["/srv/old"],"network":true,"events":false}
  metadata {"daycare":{"permissions":{"workingDir":"/srv/old","writeDirs":[],"readDirs":["/srv/old"],"web":true},"state":{"providerId":"anthropic","routing":{"deep":true},"agent":{"kind":"heartbeat","parentAgentId":null,"name":"beat"}}}}
  session 1 a15legacyshapes000000000/1 created succeeded in /srv/old at /srv/old 0..2 reset
    1 assistant_message@1 {"text":"old shape","files":[],"toolCalls":[]}
  session 2 a15legacyshapes000000000/2 reset created active in /srv/old at /srv/old 2..
"##,
    );
}

#[test]
fn a18_records_that_the_original_refused_are_kept_as_they_are() {
    check(
        "a18",
        r##"
markers 1, untimed 0, blank 0
a18unknownrecords0000000 imported; sessions 1, records 5, present 0, raw 0
  history.jsonl:5: at: no whole number of milliseconds, rounded down and kept
agent cron-18 id same from daycare a18unknownrecords0000000: cron active 0..60000
  descriptor {"type":"cron","id":"cron-18"}
  permissions USUAL
  session 1 a18unknownrecords0000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 telepathy@1 {"thought":[0,false,"",null,{}]}
    2 note@2 {"text":"extra","mood":"odd"}
    3 note@3 {"text":7}
    4 note@4 {"at":1771200000004.5,"text":"half"}
    5 note@5 {"text":"the valid one"}
"##,
    );
}

#[test]
fn p01_a_line_null_costs_one_line() {
    check(
        "p01",
        r##"
markers 1, untimed 0, blank 0
p01nullline0000000000000 imported; sessions 1, records 2, present 0, raw 1
  history.jsonl:2: kept raw: is not a JSON object
agent p01nullline0000000000000 id same from daycare p01nullline0000000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-31","channelId":"c-31"}
  permissions USUAL
  session 1 p01nullline0000000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 unreadable@0 {"file":"history.jsonl","line":2,"reason":"is not a JSON object","raw":"null"}
    2 user_message@2 {"text":"after null","files":[]}
"##,
    );
}

#[test]
fn p02_a_line_42_costs_one_line() {
    check(
        "p02",
        r##"
markers 1, untimed 0, blank 0
p02numberline00000000000 imported; sessions 1, records 2, present 0, raw 1
  history.jsonl:2: kept raw: is not a JSON object
agent p02numberline00000000000 id same from daycare p02numberline00000000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-32","channelId":"c-32"}
  permissions USUAL
  session 1 p02numberline00000000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 unreadable@0 {"file":"history.jsonl","line":2,"reason":"is not a JSON object","raw":"42"}
    2 user_message@2 {"text":"after 42","files":[]}
"##,
    );
}

#[test]
fn p03_a_record_without_a_time_gets_that_of_its_session() {
    check(
        "p03",
        r##"
markers 1, untimed 1, blank 0
p03recordwithoutat000000 imported; sessions 1, records 2, present 0, raw 0
  history.jsonl:2: at: no time, that of the record before is taken
agent p03recordwithoutat000000 id same from daycare p03recordwithoutat000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-33","channelId":"c-33"}
  permissions USUAL
  session 1 p03recordwithoutat000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 note@0 {"text":"when"}
    2 user_message@2 {"text":"after","files":[]}
"##,
    );
}

#[test]
fn p04_a_start_without_a_time_begins_at_the_time_of_the_agent() {
    check(
        "p04",
        r##"
markers 1, untimed 1, blank 0
p04startwithoutat0000000 imported; sessions 1, records 1, present 0, raw 0
  history.jsonl:1: at: no time, that of the record before is taken
agent p04startwithoutat0000000 id same from daycare p04startwithoutat0000000: user active 0..60000
  descriptor {"type":"user","connector":"telegram","userId":"u-34","channelId":"c-34"}
  permissions USUAL
  session 1 p04startwithoutat0000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@2 {"text":"after","files":[]}
"##,
    );
}

#[test]
fn p05_an_array_for_a_descriptor_costs_the_descriptor() {
    check(
        "p05",
        r##"
markers 1, untimed 0, blank 0
p05arraydescriptor000000 imported; sessions 1, records 1, present 0, raw 0
  descriptor.json: is not a JSON object: an agent of unknown type
agent p05arraydescriptor000000 id same from daycare p05arraydescriptor000000: unknown active 0..60000
  permissions USUAL
  metadata {"daycare":{"descriptorRaw":"[]\n"}}
  session 1 p05arraydescriptor000000/1 created running active in /srv/demo at /srv/demo/desk 0.. inference infsess0000000000000000a1
    1 user_message@2 {"text":"after","files":[]}
"##,
    );
}

#[test]
fn p06_a_string_for_a_state_costs_the_state() {
    check(
        "p06",
        r##"
markers 1, untimed 0, blank 0
p06stringstate0000000000 imported; sessions 1, records 1, present 0, raw 0
  state.json: is not a JSON object: the agent sleeps and may do nothing
agent p06stringstate0000000000 id same from daycare p06stringstate0000000000: user sleeping 0..0
  descriptor {"type":"user","connector":"telegram","userId":"u-36","channelId":"c-36"}
  metadata {"daycare":{"stateRaw":"\"a string\"\n"}}
  session 1 p06stringstate0000000000/1 created running active in DIR/agents/p06stringstate0000000000 0..
    1 user_message@2 {"text":"after","files":[]}
"##,
    );
}
