//! Hyperhive's databases: what is imported of each age, and what comes of it the second time.

use ah_conformance::block_on;
use ah_import::{HyperhiveOptions, Outcome, RowCounts};
use ah_model::{Decision, Hold, Lifecycle, Party, Receive, Verdict};

use crate::hyperhive_db::{
    DEADLINES, EVENTS, HiveDir, LATER, SEED, approvals, import, import_as, kept, messages,
    questions,
};
use crate::support::{agents, events, sessions, store};

/// Rows of the seed's age.
fn seed_rows() -> String {
    rows(
        "
INSERT INTO messages (sender, recipient, body, sent_at, delivered_at) VALUES
  ('operator', 'manager', 'begin', {0}, {1}),
  ('manager', 'alice', 'build it', {2}, {3}),
  ('alice', 'operator', 'done', {4}, NULL);
INSERT INTO approvals (agent, kind, commit_ref, requested_at, status, resolved_at, note) VALUES
  ('alice', 'apply_commit', '0123456789ABCDEF0123456789abcdef01234567', {5}, 'approved', {6}, NULL),
  ('alice', 'apply_commit', 'main', {7}, 'denied', {8}, 'too large'),
  ('bob', 'spawn', '', {9}, 'pending', NULL, NULL);
INSERT INTO operator_questions (asker, question, options_json, multi, asked_at, answered_at, answer)
VALUES
  ('manager', 'which?', '[\"a\",\"b\",\"c\"]', 1, {10}, {11}, 'a, c'),
  ('alice', 'why?', '[]', 0, {12}, {13}, '[cancelled]'),
  ('alice', 'when?', '[]', 0, {14}, NULL, NULL);
",
    )
}

/// `text` with its `{n}` as times.
fn rows(text: &str) -> String {
    (0..100).fold(text.to_owned(), |text, second| {
        text.replace(&format!("{{{second}}}"), &(crate::hyperhive_db::T0 + second).to_string())
    })
}

fn counts(imported: u64, updated: u64, present: u64, kept_raw: u64) -> RowCounts {
    RowCounts { imported, updated, present, kept_raw }
}

#[test]
fn mail_approvals_and_questions_of_the_first_age_come_as_they_stand() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    let report = hive.import(&*store);
    assert_eq!(report.messages, counts(3, 0, 0, 0));
    assert_eq!(report.approvals, counts(3, 0, 0, 0));
    assert_eq!(report.questions, counts(3, 0, 0, 0));
    assert_eq!(report.failed, []);
    let expected = r#"
message 1 operator>manager "begin" acked 1/0 0,1,1
message 2 manager>alice "build it" acked 1/0 2,3,3
message 3 alice>operator "done" queued 0/0 4,-,-
approval 1 alice apply_commit approved 0123456789ABCDEF0123456789abcdef01234567 0123456789abcdef0123456789abcdef01234567 - 5,6,6 {}
approval 2 alice apply_commit denied main - too large 7,8,- {}
approval 3 bob spawn pending  - - 9,-,- {}
question 1 manager>operator "which?" ["a", "b", "c"] true answered 10,-,11 ["a", "c"] by operator at 11
question 2 alice>operator "why?" [] false withdrawn 12,-,13
question 3 alice>operator "when?" [] false open 14,-,-
"#;
    assert_eq!(kept(&*store), expected.trim());
    let made: Vec<_> = agents(&*store);
    let made: Vec<_> = made.iter().map(|a| (a.name.as_str(), a.protected, a.lifecycle)).collect();
    let active = Lifecycle::Active;
    assert_eq!(made, [("alice", false, active), ("bob", false, active), ("manager", true, active)]);
}

#[test]
fn deadlines_and_the_columns_that_came_later_are_taken() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{DEADLINES}{LATER}")), store());
    hive.run(&rows(
        "
INSERT INTO messages (sender, recipient, body, sent_at, delivered_at, acked_at, in_reply_to) VALUES
  ('alice', 'bob', 'handled', {0}, {1}, {2}, NULL),
  ('alice', 'bob', 'was being handled', {3}, {4}, NULL, NULL),
  ('bob', 'alice', 'an answer', '2026-05-01 01:46:45', NULL, NULL, 1),
  ('bob', 'alice', 'an answer to nothing', {6}, NULL, NULL, 77);
INSERT INTO approvals (agent, kind, commit_ref, requested_at, status, resolved_at, note, fetched_sha)
VALUES
  ('alice', 'apply_commit', 'main', {5}, 'pending', NULL, NULL, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'),
  ('alice', 'update_meta_inputs', 'x', {6}, 'failed', {7}, 'no', 'bbbb');
INSERT INTO operator_questions
  (asker, question, options_json, multi, asked_at, answered_at, answer, deadline_at, target) VALUES
  ('alice', 'in time', '[]', 0, {0}, {4}, 'yes', {5}, NULL),
  ('alice', 'late', '[]', 0, {0}, {5}, 'yes', {5}, 'bob'),
  ('alice', 'expired there', '[]', 0, {0}, {6}, '[expired]', {5}, NULL),
  ('alice', 'expired since', '[]', 0, {0}, NULL, NULL, {50}, NULL),
  ('alice', 'still open', '[\"a\"]', 0, {0}, NULL, NULL, 1877600000, 'bob');
",
    ));
    let report = hive.import(&*store);
    let expected = r#"
message 1 alice>bob "handled" acked 1/0 0,1,2
message 2 alice>bob "was being handled" queued 1/1 3,4,-
message 3 bob>alice "an answer" queued 0/0 5,-,- re 1
message 4 bob>alice "an answer to nothing" queued 0/0 6,-,-
approval 1 alice apply_commit pending main aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa - 5,-,- {"hyperhive":{"fetched_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}}
approval 2 alice update_meta_inputs failed x - no 6,7,- {"hyperhive":{"fetched_sha":"bbbb"}}
question 1 alice>operator "in time" [] false answered 0,5,4 ["yes"] by operator at 4
question 2 alice>bob "late" [] false late 0,5,5 ["yes"] by bob at 5
question 3 alice>operator "expired there" [] false expired 0,5,5
question 4 alice>operator "expired since" [] false expired 0,50,50
question 5 alice>bob "still open" ["a"] false open 0,100000000,-
"#;
    assert_eq!(kept(&*store), expected.trim());
    let said: Vec<_> = report.import.remarks.iter().map(|r| (r.line, r.what.as_str())).collect();
    let what = "in_reply_to: names no earlier message that was taken, left out";
    assert_eq!(said, [(Some(4), what)]);
}

#[test]
fn a_message_that_was_being_handled_is_handed_out_again_as_a_redelivery() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{LATER}")), store());
    hive.run(&rows(
        "INSERT INTO messages (sender, recipient, body, sent_at, delivered_at)
         VALUES ('alice', 'bob', 'once more', {3}, {4});",
    ));
    hive.import(&*store);
    let bob = Party::Agent("bob".to_owned());
    let got =
        block_on(store.receive_messages(Receive::next(bob, "test", 60_000))).unwrap().messages;
    assert_eq!(
        got.iter().map(|m| (m.body.as_str(), m.deliveries)).collect::<Vec<_>>(),
        [("once more", 2)]
    );
}

#[test]
fn a_message_that_was_being_handled_is_handled_once_it_was_there() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{LATER}")), store());
    hive.run(&rows(
        "INSERT INTO messages (sender, recipient, body, sent_at, delivered_at)
         VALUES ('alice', 'bob', 'soon done', {3}, {4});",
    ));
    hive.import(&*store);
    assert_eq!(hive.import(&*store).messages, counts(0, 0, 1, 0));
    hive.run(&rows("UPDATE messages SET acked_at = {9}"));
    assert_eq!(hive.dry_run(&*store).messages, counts(0, 1, 0, 0));
    assert_eq!(hive.import(&*store).messages, counts(0, 1, 0, 0));
    assert_eq!(kept(&*store), r#"message 1 alice>bob "soon done" acked 1/0 3,4,9"#);
    assert_eq!(hive.import(&*store).messages, counts(0, 0, 1, 0));
}

#[test]
fn a_second_import_adds_what_is_new_and_what_was_decided_since() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{DEADLINES}{}", seed_rows())), store());
    hive.import(&*store);
    let again = hive.import(&*store);
    assert_eq!(again.messages, counts(0, 0, 3, 0));
    assert_eq!(again.approvals, counts(0, 0, 3, 0));
    assert_eq!(again.questions, counts(0, 0, 3, 0));
    assert_eq!((again.import.agents.unchanged, again.import.agents.found), (3, 3));
    // It grows, decides, and removes what is old; and it has moved.
    hive.run(&rows(
        "
DELETE FROM messages WHERE id <= 2;
UPDATE messages SET delivered_at = {20} WHERE id = 3;
UPDATE approvals SET status = 'approved', resolved_at = {21} WHERE id = 3;
UPDATE operator_questions SET answer = 'now', answered_at = {22} WHERE id = 3;
INSERT INTO messages (sender, recipient, body, sent_at) VALUES ('carol', 'alice', 'hi', {23});
",
    ));
    let copy = hive.path().join("copy.db");
    std::fs::rename(hive.broker(), &copy).unwrap();
    let grown = import(&*store, &[copy]).unwrap();
    assert_eq!(grown.messages, counts(1, 1, 0, 0));
    assert_eq!(grown.approvals, counts(0, 1, 2, 0));
    assert_eq!(grown.questions, counts(0, 1, 2, 0));
    let kept = kept(&*store);
    for line in [
        r#"message 3 alice>operator "done" acked 1/0 4,20,20"#,
        r#"message 4 carol>alice "hi" queued 0/0 23,-,-"#,
        "approval 3 bob spawn approved  - - 9,21,21 {}",
        r#"question 3 alice>operator "when?" [] false answered 14,-,22 ["now"] by operator at 22"#,
    ] {
        assert!(kept.contains(line), "{line}\nis not in\n{kept}");
    }
}

#[test]
fn more_rows_than_one_step_takes_come_in_their_order_and_once() {
    let (hive, store) = (HiveDir::new(SEED), store());
    hive.run(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
         INSERT INTO messages (sender, recipient, body, sent_at) SELECT 'a', 'b', i, 5 FROM n;
         UPDATE messages SET recipient = 'b', body = CAST(body AS TEXT);",
    );
    // An import that was killed after the first rows.
    let part = HiveDir::new(SEED);
    std::fs::copy(hive.broker(), part.broker()).unwrap();
    part.run("DELETE FROM messages WHERE id > 700");
    assert_eq!(part.import(&*store).messages, counts(700, 0, 0, 0));
    assert_eq!(hive.import(&*store).messages, counts(500, 0, 700, 0));
    let bob = || Receive { max: 2, ..Receive::next(Party::Agent("b".to_owned()), "t", 60_000) };
    let first = block_on(store.receive_messages(bob())).unwrap().messages;
    assert_eq!(first.iter().map(|m| m.body.as_str()).collect::<Vec<_>>(), ["1", "2"]);
    let newest: Vec<String> = messages(&*store).into_iter().map(|m| m.body).collect();
    let expected: Vec<String> = (201..=1200).map(|number| number.to_string()).collect();
    assert_eq!(newest, expected);
}

#[test]
fn what_was_decided_here_stays_decided_here() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    hive.import(&*store);
    let spawn = approvals(&*store)[2].id.clone();
    let deny = Decision::operator(Verdict::Denied);
    block_on(store.decide_approval(spawn, deny)).unwrap();
    let got = Receive::next(Party::Operator, "test", 60_000);
    let done = block_on(store.receive_messages(got)).unwrap().messages[0].clone();
    let hold = Hold { id: done.id, delivery: Some(done.deliveries) };
    block_on(store.ack_messages(vec![hold])).unwrap();
    let before = kept(&*store);
    hive.run(&rows("UPDATE approvals SET status = 'approved', resolved_at = {21} WHERE id = 3"));
    let again = hive.import(&*store);
    assert_eq!([again.messages, again.approvals], [counts(0, 0, 3, 0), counts(0, 0, 3, 0)]);
    assert_eq!(kept(&*store), before);
}

#[test]
fn a_dry_run_says_what_an_import_would_do_and_does_nothing() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    let said = hive.dry_run(&*store);
    assert_eq!((agents(&*store).len(), messages(&*store).len()), (0, 0));
    let done = hive.import(&*store);
    assert_eq!([said.messages, said.approvals], [done.messages, done.approvals]);
    assert_eq!((said.questions, said.import.agents), (done.questions, done.import.agents));
    hive.run(&rows("UPDATE operator_questions SET answer = 'x', answered_at = {22} WHERE id = 3"));
    let said = hive.dry_run(&*store);
    assert_eq!([said.messages, said.questions], [counts(0, 0, 3, 0), counts(0, 1, 2, 0)]);
    let done = hive.import(&*store);
    assert_eq!([said.messages, said.questions], [done.messages, done.questions]);
}

#[test]
fn names_that_no_agent_may_have_are_made_safe_and_told() {
    let (hive, store) = (HiveDir::new(SEED), store());
    hive.run(&rows(
        "
INSERT INTO messages (sender, recipient, body, sent_at) VALUES
  ('../x', 'a b', 'one', {0}), ('a-b', '..', 'two', {1}), ('Operator', 'al\u{456}ce', 'three', {2});
",
    ));
    let report = hive.import(&*store);
    let kept = kept(&*store);
    let parties: Vec<&str> = kept.lines().map(|line| line.split(' ').nth(2).unwrap()).collect();
    assert_eq!(parties, ["x>a-b-2", "a-b>agent", "operator>al-ce"]);
    let said: Vec<_> = report.import.details.iter().flat_map(|agent| &agent.remarks).collect();
    let said: Vec<&str> = said.iter().map(|remark| remark.what.as_str()).collect();
    let expected = [
        "\"../x\" is x here",
        "\"a b\" is a-b-2 here",
        "\"..\" is agent here",
        "\"al\u{456}ce\" is al-ce here",
    ];
    assert_eq!(said.len(), expected.len(), "{said:?}");
    assert!(expected.iter().all(|line| said.contains(line)), "{said:?}");
    let again = hive.import(&*store);
    assert_eq!((again.messages, again.import.agents.unchanged), (counts(0, 0, 3, 0), 5));
}

#[test]
fn hives_of_other_names_have_their_own_agents_and_rows() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    for name in ["one", "two", "one"] {
        let options = HyperhiveOptions { hive: Some(name.to_owned()), agent: None };
        import_as(&*store, &[hive.broker()], &options).unwrap();
    }
    let names: Vec<String> = agents(&*store).into_iter().map(|agent| agent.name).collect();
    assert_eq!(names, ["alice", "alice-2", "bob", "bob-2", "manager", "manager-2"]);
    assert_eq!((messages(&*store).len(), questions(&*store).len()), (6, 6));
}

#[test]
fn a_row_that_cannot_be_taken_costs_itself_and_is_kept() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{DEADLINES}")), store());
    hive.run(&rows(
        "
INSERT INTO messages (sender, recipient, body, sent_at) VALUES
  ('alice', 'bob', ' ', {0}), ('alice', 'bob', x'ff00', {1}), ('alice', 'bob', 'good', 'soon');
INSERT INTO approvals (agent, kind, commit_ref, requested_at, status) VALUES
  ('alice', 'Not A Word', '', {2}, 'pending'), ('alice', 'spawn', '', {3}, 'odd');
INSERT INTO operator_questions (asker, question, options_json, asked_at, deadline_at) VALUES
  ('alice', 'options?', '{\"a\":1}', {4}, 'never');
",
    ));
    let report = hive.import(&*store);
    assert_eq!(report.messages, counts(1, 0, 0, 2));
    assert_eq!(report.approvals, counts(1, 0, 0, 1));
    assert_eq!(report.questions, counts(1, 0, 0, 0));
    let expected = r#"
message 3 alice>bob "good" queued 0/0 1,-,-
approval 2 alice spawn failed  - - 3,3,- {}
question 1 alice>operator "options?" [] false open 4,-,-
"#;
    assert_eq!(kept(&*store), expected.trim());
    let all = agents(&*store);
    let holder = all.iter().find(|agent| agent.name == "hyperhive-unreadable").unwrap();
    assert_eq!(holder.lifecycle, Lifecycle::Sleeping);
    let log = events(&*store, &sessions(&*store, holder)[0]);
    let log: Vec<serde_json::Value> = log.iter().map(|event| event.data.read().unwrap()).collect();
    let log: Vec<_> = log
        .iter()
        .map(|data| {
            format!(
                "{}:{} {}",
                data["file"].as_str().unwrap(),
                data["line"],
                data["reason"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        log,
        [
            "messages:1 invalid body: must not be empty",
            "messages:2 body: is no text",
            "messages:3 sent_at: is no time",
            "approvals:1 invalid kind: \"Not A Word\" is not 1 to 64 of a-z, 0-9, `_`, `-`, beginning with a letter",
            "approvals:2 status: is not a known word: failed here",
            "operator_questions:1 options_json: is no list of texts",
            "operator_questions:1 deadline_at: is no time",
        ]
    );
    assert_eq!((report.import.records.kept_raw, report.import.records.imported), (7, 7));
    let again = hive.import(&*store);
    assert_eq!((again.import.records.kept_raw, again.import.records.imported), (7, 0));
}

#[test]
fn live_events_become_records_of_the_agents_session() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    let insert = rows(
        "
INSERT INTO events (ts, kind, payload_json) VALUES
  ({0}, 'turn_start', '{\"from\":\"manager\"}'), ({1}, 'stream', '{\"n\":1.00}'),
  ({2}, 'note', 'no json'), ({3}, 'turn_end', 'null');
",
    );
    let file = hive.events("alice", &format!("{EVENTS}{insert}"));
    import(&*store, &[hive.broker(), file.clone()]).unwrap();
    let alice = agents(&*store).into_iter().find(|agent| agent.name == "alice").unwrap();
    let all = sessions(&*store, &alice);
    assert_eq!((all.len(), alice.active_session_id.as_ref()), (1, Some(&all[0].id)));
    let log: Vec<_> = events(&*store, &all[0]);
    let log: Vec<_> = log.iter().map(|e| format!("{} {}", e.kind, e.data.as_str())).collect();
    assert_eq!(
        log,
        [
            r#"live.turn_start {"from":"manager"}"#,
            r#"live.stream {"n":1.00}"#,
            r#"unreadable {"file":"events","line":3,"reason":"payload_json: is not JSON: expected ident at line 1 column 2","type":"note","raw":"no json"}"#,
            "live.turn_end null",
        ]
    );
    hive.events(
        "alice",
        &rows("INSERT INTO events (ts, kind, payload_json) VALUES ({9}, 'note', '{}')"),
    );
    let grown = import(&*store, &[file]).unwrap();
    let told = &grown.import.details[0];
    assert_eq!((told.outcome, told.records, told.present), (Outcome::Updated, 1, 4));
}

#[test]
fn a_file_that_is_no_ones_costs_itself() {
    let (hive, store) = (HiveDir::new(&format!("{SEED}{}", seed_rows())), store());
    let events = hive.events("alice", EVENTS);
    let nobodys = hive.path().join("events.sqlite");
    std::fs::copy(&events, &nobodys).unwrap();
    let error = import(&*store, std::slice::from_ref(&nobodys)).unwrap_err().to_string();
    assert!(
        error.ends_with("does not say whose events it holds: give the agent's name"),
        "{error}"
    );
    let report = import(&*store, &[nobodys.clone(), hive.broker()]).unwrap();
    assert_eq!((report.failed.len(), report.messages.imported), (1, 3));
    let options = HyperhiveOptions { hive: None, agent: Some("bob".to_owned()) };
    let report = import_as(&*store, &[nobodys], &options).unwrap();
    assert_eq!(report.import.details[0].name, "bob");
    let other = HiveDir::new("CREATE TABLE notes (id)");
    let error = import(&*store, &[other.broker()]).unwrap_err().to_string();
    assert!(error.contains("neither a table `messages`"), "{error}");
}
