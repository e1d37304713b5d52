//! The Agent Coordinator's database: what is imported of each age.

use ah_import::Progress;

use crate::coordinator_db::{CoordinatorDb, SEED, at, head, session};
use crate::support::{events, store};

/// A parent, its child, which was written first, and one that was at work.
fn seed_rows() -> String {
    let (t0, t1, t2, t3, t4) = (at(0), at(1), at(2), at(3), at(4));
    format!(
        r#"
INSERT INTO sessions VALUES
  ('ses_00000000000b', 'finished', '{t1}', '/srv/demo', 'reviewer', NULL, 'ses_00000000000a',
   'uuid-b', 'coding', 'host1'),
  ('ses_00000000000a', 'stopped', '{t0}', '/srv/demo', NULL, '{t4}', NULL, 'uuid-a', 'coding', 'host1'),
  ('ses_00000000000c', 'running', '{t2}', NULL, 'coder', NULL, NULL, NULL, NULL, NULL);
INSERT INTO events (session_id, event_type, timestamp, tool_name, tool_input, tool_output, error,
    exit_code, reason, role, content) VALUES
  ('ses_00000000000a', 'session_start', '{t0}', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('ses_00000000000b', 'post_tool', '{t3}', 'Read', '{{"file_path": "/a", "n": 1.00}}', '"text"', 'no such file',
   NULL, NULL, NULL, NULL),
  ('ses_00000000000a', 'message', '{t1}', NULL, NULL, NULL, NULL, NULL, NULL, 'assistant',
   '[{{"type": "text", "text": "é \ud800"}}]'),
  ('ses_00000000000b', 'message', '2026-01-06T10:00:02.000001+00:00', NULL, NULL, NULL, NULL, NULL, NULL, 'user', '[]'),
  ('ses_00000000000b', 'session_stop', '{t3}', NULL, NULL, NULL, NULL, 3, 'completed', NULL, NULL);
"#
    )
}

#[test]
fn sessions_and_events_of_the_first_age_come_parents_first_and_in_the_order_of_writing() {
    CoordinatorDb::new(&format!("{SEED}{}", seed_rows())).check(
        r#"
runs 0 new, 0 present; untimed 0, raw 0
ses_00000000000a imported; runs 0, records 2, present 0, raw 0
ses_00000000000b imported; runs 0, records 3, present 0, raw 0
ses_00000000000c imported; runs 0, records 0, present 0, raw 0
  sessions:3: status: "running": failed here
ses_00000000000a id same agent-coordinator@latest cancelled in /srv/demo 0..4 started 0 active 4
  project=/srv/demo host=host1 profile=coding executor=uuid-a resumed=4
    1 session_start@0 {}
    2 message@1 {"role":"assistant","content":[{"type":"text","text":"é \ud800"}]}
ses_00000000000b id same reviewer@latest succeeded in /srv/demo 1..3 started 1 active 3
  parent=ses_00000000000a project=/srv/demo host=host1 profile=coding executor=uuid-b code=3 reason=completed
    1 post_tool@3 {"tool_name":"Read","tool_input":{"file_path":"/a","n":1.00},"tool_output":"text","error":"no such file"}
    2 message@2 {"role":"user","content":[],"timestamp":"2026-01-06T10:00:02.000001+00:00"}
    3 session_stop@3 {"exit_code":3,"reason":"completed"}
ses_00000000000c id same coder@latest failed in agent-coordinator://no-project-dir 2..2 started 2 active 2
  reason=imported while running [coordinator-status=running]
"#,
    );
}

/// Runs in every state, of two sessions.
fn head_rows() -> String {
    let t: Vec<String> = (0..40).map(at).collect();
    format!(
        r#"
INSERT INTO sessions VALUES
  ('ses_00000000000a', 'idle', '{0}', '/srv/demo', 'lead', '{9}', NULL, 'uuid-a', 'coding', 'host1'),
  ('ses_00000000000b', 'failed', '{1}', '/srv/demo', 'coder', NULL, 'ses_00000000000a', NULL, NULL, NULL),
  ('ses_00000000000c', 'pending', '{2}', '/srv/demo', 'coder', NULL, NULL, NULL, NULL, NULL),
  ('ses_00000000000d', 'stopping', '{2}', '/srv/demo', 'coder', NULL, NULL, NULL, NULL, NULL);
INSERT INTO events (session_id, event_type, timestamp, exit_code, result_text, result_data) VALUES
  ('ses_00000000000a', 'run_start', '{4}', NULL, NULL, NULL),
  ('ses_00000000000a', 'result', '{5}', NULL, 'done', '{{"n":[0,false,null,"",{{}}]}}'),
  ('ses_00000000000a', 'run_completed', '{5}', 0, NULL, NULL);
INSERT INTO runs VALUES
  ('run_000000000001', 'ses_00000000000a', 'start_session', 'lead', '{{"prompt": "begin"}}', '/srv/demo', NULL, 'sync',
   '{{"hostname": "host1", "project_dir": null, "executor_profile": "coding", "executor_type": "autonomous", "tags": ["b", "a"]}}',
   'completed', 'lnch_0123456789ab', NULL, '{0}', '{3}', '{4}', '{5}', '2026-01-06T10:05:00.000000+00:00', NULL, NULL),
  ('run_000000000002', 'ses_00000000000b', 'start_session', 'coder', '{{"task":{{"x":1.0}}}}', '/srv/other', 'ses_00000000000a',
   'async_callback', NULL, 'failed', 'lnch_0123456789ab', 'it broke', '{1}', '{6}', NULL, '{7}', NULL,
   '{{"tenant": "t1"}}', '{{"name": "coder"}}'),
  ('run_000000000003', 'ses_00000000000a', 'resume_session', 'lead', '{{"prompt":"more"}}', NULL, NULL, 'async_poll',
   NULL, 'running', 'lnch_0123456789ab', NULL, '{8}', '{8}', '{9}', NULL, NULL, NULL, NULL),
  ('run_000000000004', 'ses_00000000000c', 'start_session', 'coder', '{{}}', NULL, NULL, 'sync', NULL, 'pending',
   NULL, NULL, '{2}', NULL, NULL, NULL, NULL, NULL, NULL),
  ('run_000000000005', 'ses_00000000000d', 'start_session', 'coder', '{{}}', NULL, NULL, 'sync', NULL, 'stopping',
   'lnch_0123456789ab', NULL, '{2}', '{3}', '{3}', NULL, NULL, NULL, NULL),
  ('run_000000000006', 'ses_00000000000c', 'resume_session', 'coder', '{{}}', NULL, NULL, 'sync', NULL, 'stopped',
   NULL, NULL, '{6}', NULL, NULL, '{7}', NULL, NULL, NULL);
"#,
        t[0], t[1], t[2], t[3], t[4], t[5], t[6], t[7], t[8], t[9]
    )
}

#[test]
fn runs_of_the_later_age_come_ended_and_nothing_waits_for_anybody() {
    CoordinatorDb::new(&format!("{}{}", head(), head_rows())).check(
        r#"
runs 6 new, 0 present; untimed 0, raw 0
ses_00000000000a imported; runs 2, records 3, present 0, raw 0
  runs:3: status: "running": failed here
ses_00000000000b imported; runs 1, records 0, present 0, raw 0
ses_00000000000c imported; runs 2, records 0, present 0, raw 0
  sessions:3: status: "pending": failed here
  runs:4: status: "pending": failed here
ses_00000000000d imported; runs 1, records 0, present 0, raw 0
  sessions:4: status: "stopping": cancelled here
  runs:5: status: "stopping": stopped here
ses_00000000000a id same lead@latest idle in /srv/demo 0.. started 4 active 9
  project=/srv/demo host=host1 profile=coding executor=uuid-a resumed=9
    1 run_start@4 {}
    2 result@5 {"result_text":"done","result_data":{"n":[0,false,null,"",{}]}}
    3 run_completed@5 {"exit_code":0}
    run_000000000001 start completed sync 0/3/4/5 {"prompt":"begin"} by=lnch_0123456789ab demands={"hostname":"host1","executorProfile":"coding","executorType":"autonomous","tags":["b","a"]} timeout=300000
    run_000000000003 resume failed async_poll 8/8/9/9 {"prompt":"more"} by=lnch_0123456789ab error=imported while running
ses_00000000000b id same coder@latest failed in /srv/demo 1..7 started 1 active 7
  parent=ses_00000000000a project=/srv/demo
    run_000000000002 start failed async_callback 1/6/-/7 {"task":{"x":1.0},"$coordinator":{"project_dir":"/srv/other","scope":{"tenant":"t1"},"resolved_agent_blueprint":{"name":"coder"}}} by=lnch_0123456789ab parent=ses_00000000000a error=it broke
ses_00000000000c id same coder@latest failed in /srv/demo 2..7 started 2 active 7
  project=/srv/demo reason=imported while pending [coordinator-status=pending]
    run_000000000004 start failed sync 2/-/-/2 {} error=imported while pending
    run_000000000006 resume stopped sync 6/-/-/7 {}
ses_00000000000d id same coder@latest cancelled in /srv/demo 2..3 started 3 active 3
  project=/srv/demo reason=imported while stopping [coordinator-status=stopping]
    run_000000000005 start stopped sync 2/3/3/3 {} by=lnch_0123456789ab error=imported while stopping
"#,
    );
}

#[test]
fn the_prompt_of_an_older_table_of_runs_is_the_parameters() {
    let database = CoordinatorDb::new(&format!(
        "{SEED}
         CREATE TABLE runs (run_id TEXT PRIMARY KEY, session_id TEXT, type TEXT, prompt TEXT, status TEXT);
         INSERT INTO sessions (session_id, status, created_at) VALUES ('s', 'finished', '{}');
         INSERT INTO runs VALUES ('r', 's', 'start_session', 'say \"hello\"', 'completed');",
        at(0)
    ));
    database.check(
        r#"
runs 1 new, 0 present; untimed 0, raw 0
s imported; runs 1, records 0, present 0, raw 0
s id same agent-coordinator@latest succeeded in agent-coordinator://no-project-dir 0..0 started 0 active 0
    r start completed sync 0/-/-/0 {"prompt":"say \"hello\""}
"#,
    );
}

#[test]
fn progress_tells_of_all_events() {
    let database = CoordinatorDb::new(&format!("{SEED}{}", seed_rows()));
    let mut told = Vec::new();
    let mut note = |progress: Progress<'_>| told.push(format!("{progress:?}"));
    database.import_with(&*store(), &mut note).unwrap();
    let bytes = |text: &str| text.split_once("bytes: ").unwrap().1.trim_end_matches(" }").parse();
    let bytes: Vec<u64> = told.iter().map(|text| bytes(text).unwrap()).collect();
    assert_eq!(bytes[0], bytes[1..].iter().sum::<u64>());
    assert_eq!(told.len(), 4);
    assert!(told[0].starts_with("Found { agents: 3, bytes: "), "{told:?}");
    assert!(told[1].starts_with("Agent { name: \"ses_00000000000a\", bytes: "), "{told:?}");
}

#[test]
fn events_of_many_sessions_that_were_written_by_turns_are_told_apart() {
    let rows = "
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
        INSERT INTO sessions (session_id, status, created_at, parent_session_id)
          SELECT printf('ses_%012x', i), 'finished', '2026-01-06T10:00:00.000000+00:00',
            CASE WHEN i % 3 = 0 THEN NULL ELSE printf('ses_%012x', (i + 15) % 30) END FROM n;
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1499)
        INSERT INTO events (session_id, event_type, timestamp, content)
          SELECT printf('ses_%012x', i % 30), 'message', '2026-01-06T10:00:01.000000+00:00',
            json_array(i) FROM n;";
    let database = CoordinatorDb::new(&format!("{SEED}{rows}"));
    let store = store();
    let report = database.import(&*store);
    assert_eq!((report.sessions.imported, report.records.imported), (30, 1_500));
    let one = session(&*store, "ses_000000000007");
    assert_eq!(one.last_seq, 50);
    let in_order = events(&*store, &one).iter().zip(0..).all(|(event, number)| {
        event.data.as_str() == format!("{{\"content\":[{}]}}", 7 + 30 * number)
    });
    assert!(in_order);
    database.check_unchanged(&*store);
}
