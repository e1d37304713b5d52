//! Retention: what the rules remove, what they keep, in bounded steps with a receipt.

use std::slice;

use ah_model::limits::{HIVE_IMPORT_MAX, REMOVAL_ROWS_MAX};
use ah_model::{
    Amount, Beginning, FeedCursor, FeedEntry, Happening, HiveImport, Lifecycle, MessageStatus,
    NewEvent, PageLimit, Receipt, ReceiptKind, RemovalStep, RetentionRules, SessionStatus, Tally,
};
use ah_store::{Clock, SessionFork, block_on};

use crate::Harness;
use crate::given::{
    agent, agent_id, all, append, create, create_agent, everything, feed, feed_after, id, listed,
    log, new_task, note, paged, race, refusal, renew, reset, set_lifecycle, set_status, tell,
};
use crate::given_hive::{
    agents, any_hold, hold, let_die, mail, mail_of, message_id, next, queued, send, sent,
};
use crate::given_run::{claim, completed, ended, finish, queue, resume_of, session};

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// Rules for one class each.
fn messages_after(ms: u64) -> RetentionRules {
    RetentionRules { messages_ms: Some(ms), ..RetentionRules::KEEP }
}

fn sessions_after(ms: u64) -> RetentionRules {
    RetentionRules { sessions_ms: Some(ms), ..RetentionRules::KEEP }
}

fn changes_after(ms: u64) -> RetentionRules {
    RetentionRules { changes_ms: Some(ms), ..RetentionRules::KEEP }
}

fn later(h: &dyn Harness, ms: u64) {
    h.clock().advance_ms(i64::try_from(ms).unwrap());
}

/// So many rows and bytes of each class.
pub(crate) fn tally(amounts: &[(&str, u64, u64)]) -> Tally {
    let mut tally = Tally::default();
    for (class, rows, bytes) in amounts {
        tally.add(class, Amount { rows: *rows, bytes: *bytes });
    }
    tally
}

async fn plan(h: &dyn Harness, rules: &RetentionRules) -> Tally {
    h.store().plan_retention(rules.clone()).await.unwrap()
}

async fn step(h: &dyn Harness, rules: &RetentionRules) -> RemovalStep {
    h.store().retention_step(rules.clone()).await.unwrap()
}

/// Does every step, and shows that the plan foretold it.
async fn run(h: &dyn Harness, rules: &RetentionRules) -> Tally {
    let planned = plan(h, rules).await;
    let mut steps = 0;
    let last = loop {
        let done = step(h, rules).await;
        steps += 1;
        assert!(steps < 100, "the steps do not end");
        if !done.more {
            break done.receipt;
        }
        assert_eq!(done.receipt.finished_at, None, "it is under way");
    };
    assert_eq!(last.finished_at, Some(h.clock().now()));
    assert_eq!(last.removed, planned, "the plan says what will be removed");
    assert_eq!(plan(h, rules).await, Tally::default(), "nothing is left to remove");
    last.removed
}

pub async fn messages_go_so_long_after_they_were_handled(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for id in ["acked", "held", "dead", "young", "queued"] {
        sent(h, "operator", "mira", id).await;
    }
    let got = next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![hold(&got)]).await.unwrap();
    next(h, "mira").await.unwrap();
    let_die(h, "dead").await;
    later(h, 1);
    let young = next(h, "mira").await.unwrap();
    assert_eq!(young.id, message_id("young"));
    h.store().ack_messages(vec![hold(&young)]).await.unwrap();
    later(h, 999);
    let rules = messages_after(1_000);
    assert_eq!(run(h, &rules).await, Tally::default(), "none is older than that");
    later(h, 1);
    assert_eq!(run(h, &rules).await, tally(&[("messages", 1, 5)]), "its body has 5 bytes");
    assert_eq!(refusal(h.store().message(message_id("acked")).await), "not-found message acked");
    later(h, DAY);
    assert_eq!(run(h, &rules).await, tally(&[("messages", 1, 5)]));
    let left: Vec<_> = mail_of(h, "mira").await.into_iter().map(|m| m.id.to_string()).collect();
    assert_eq!(left, ["held", "dead", "queued"], "others are kept for ever");
    assert_eq!(mail_of(h, "operator").await.len(), 1);
}

pub async fn bytes_are_those_of_the_bodies(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for body in ["☃☃", "x"] {
        send(h, mail("operator", "mira", body)).await;
        let got = next(h, "mira").await.unwrap();
        h.store().ack_messages(vec![hold(&got)]).await.unwrap();
    }
    create(h, "s1").await;
    append(h, "s1", note(r#"{"a":"☃"}"#)).await;
    append(h, "s1", note("0")).await;
    set_status(h, "s1", SessionStatus::Running).await;
    set_status(h, "s1", SessionStatus::Succeeded).await;
    later(h, 2);
    let rules = RetentionRules { messages_ms: Some(1), sessions_ms: Some(1), changes_ms: None };
    let expected = tally(&[("messages", 2, 7), ("sessions", 1, 0), ("events", 2, 12)]);
    assert_eq!(run(h, &rules).await, expected);
}

pub async fn sessions_go_so_long_after_their_last_activity(h: &mut dyn Harness) {
    for name in ["old", "edge"] {
        create(h, name).await;
        append(h, name, note("0")).await;
        set_status(h, name, SessionStatus::Running).await;
        set_status(h, name, SessionStatus::Failed).await;
        later(h, 1);
    }
    later(h, 999);
    let before = plan(h, &sessions_after(1_000)).await;
    assert_eq!(before, tally(&[("sessions", 1, 0), ("events", 1, 1)]));
    assert_eq!(run(h, &sessions_after(1_000)).await, before);
    assert_eq!(listed(h, <_>::default()).await, ["edge"], "one that is just as old stays");
    let gone = h.store().events(id("old"), <_>::default()).await;
    assert_eq!(refusal(gone), "not-found session old");
    let left: Vec<_> = feed(h).await.into_iter().collect();
    let told = |happening: &Happening| match happening {
        Happening::Event(event) => event.session_id == id("old"),
        Happening::Change(_) => false,
    };
    assert!(!left.iter().any(|entry| told(&entry.happening)), "its events are gone from the feed");
    let deleted = |happening: &Happening| match happening {
        Happening::Event(_) => false,
        Happening::Change(change) => {
            change.kind == ah_model::ChangeKind::SessionDeleted
                && change.session_id == Some(id("old"))
        }
    };
    assert!(left.iter().any(|entry| deleted(&entry.happening)), "that it is gone is told");
}

pub async fn sessions_that_somebody_needs_are_kept(h: &mut dyn Harness) {
    for name in ["created", "running", "idle", "pinned", "stem", "fork", "resumed", "plain"] {
        create(h, name).await;
    }
    for name in ["running", "idle", "pinned", "stem", "fork", "resumed", "plain"] {
        set_status(h, name, SessionStatus::Running).await;
    }
    set_status(h, "idle", SessionStatus::Idle).await;
    for name in ["pinned", "stem", "fork", "resumed", "plain"] {
        set_status(h, name, SessionStatus::Cancelled).await;
    }
    h.store().pin_session(id("pinned"), true).await.unwrap();
    let fork = SessionFork { id: Some(id("branch")), ..SessionFork::default() };
    h.store().fork_session(id("stem"), fork).await.unwrap();
    queue(h, resume_of("resumed")).await;
    create_agent(h, "mira").await;
    tell(h, "mira", note("0")).await;
    renew(h, "mira", reset("again"), "mira-2").await;
    set_status(h, "mira-2", SessionStatus::Failed).await;
    later(h, DAY);
    let expected = tally(&[("sessions", 3, 0), ("events", 1, 1)]);
    assert_eq!(run(h, &sessions_after(1)).await, expected);
    let mut left = listed(h, <_>::default()).await;
    left.sort();
    let kept = ["branch", "created", "idle", "mira-2", "pinned", "resumed", "running", "stem"];
    assert_eq!(left, kept, "plain, fork and mira-1 are gone");
    let mira = agent(h, "mira").await;
    assert_eq!((mira.session_count, mira.active_session_id), (2, Some(id("mira-2"))));
}

pub async fn a_stem_goes_once_its_forks_have_gone(h: &mut dyn Harness) {
    create(h, "stem").await;
    append(h, "stem", note("0")).await;
    set_status(h, "stem", SessionStatus::Running).await;
    set_status(h, "stem", SessionStatus::Succeeded).await;
    let fork = SessionFork { id: Some(id("branch")), ..SessionFork::default() };
    h.store().fork_session(id("stem"), fork).await.unwrap();
    set_status(h, "branch", SessionStatus::Cancelled).await;
    later(h, DAY);
    let expected = tally(&[("sessions", 2, 0), ("events", 1, 1)]);
    assert_eq!(run(h, &sessions_after(1)).await, expected);
    assert_eq!(listed(h, <_>::default()).await, Vec::<String>::new());
}

pub async fn runs_go_with_their_sessions(h: &mut dyn Harness) {
    let run_of = ended(h, "s1", completed()).await;
    queue(h, resume_of("s1")).await;
    let second = claim(h, "e1").await.unwrap();
    later(h, 5);
    assert_eq!(plan(h, &sessions_after(1)).await, Tally::default(), "a live run keeps it");
    finish(h, &second, completed()).await;
    later(h, 5);
    let expected = tally(&[("sessions", 1, 0), ("runs", 2, 0)]);
    assert_eq!(run(h, &sessions_after(1)).await, expected);
    assert!(refusal(h.store().run(run_of.id).await).starts_with("not-found run"));
    assert_eq!(h.store().list_runs(<_>::default(), all()).await.unwrap().items, []);
}

pub async fn what_sessions_leave_behind_goes_with_them(h: &mut dyn Harness) {
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    let session_id = batch.session_ids[0].clone();
    create(h, "child").await;
    create_agent(h, "mira").await;
    tell(h, "mira", note(r#"{"usage":{"input_tokens":3}}"#)).await;
    renew(h, "mira", Beginning::Compaction { summary: "so".to_owned() }, "mira-2").await;
    let claimed = claim(h, "e1").await.unwrap();
    finish(h, &claimed, completed()).await;
    later(h, 5);
    run(h, &sessions_after(1)).await;
    assert!(refusal(h.store().session(session_id).await).starts_with("not-found session"));
    let tasks = h.store().list_tasks(<_>::default(), all()).await.unwrap();
    assert_eq!(tasks.items, []);
    let mira = agent(h, "mira").await;
    assert_eq!(mira.usage, ah_model::Usage::default(), "its totals are those of what it has");
    assert_eq!(mira.session_count, 2, "its numbers are never given again");
    let next = renew(h, "mira", reset("on"), "mira-3").await;
    assert_eq!(next.of_agent.unwrap().number, 3);
}

pub async fn changes_go_so_long_after_they_happened(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    later(h, 1);
    create(h, "s2").await;
    later(h, 1_000);
    let end = h.store().feed_end().await.unwrap();
    assert_eq!(run(h, &changes_after(1_000)).await, tally(&[("changes", 1, 0)]));
    assert_eq!(h.store().feed_end().await.unwrap(), end, "places are never given again");
    let left = feed(h).await;
    let created: Vec<_> = left.iter().filter_map(|entry| entry.happening.session_id()).collect();
    assert_eq!(created.len(), 2, "the event of one and the creation of the other");
    create(h, "s3").await;
    let after = FeedCursor { event: end.event, change: end.change };
    let news = feed_after(h, after).await;
    assert_eq!(news.len(), 1);
    assert_eq!(news[0].cursor, FeedCursor { change: end.change + 1, ..end });
}

/// What the feed says after a place: a change in a word, an event as `event`.
async fn told_after(h: &dyn Harness, after: FeedCursor) -> Vec<String> {
    let words = |entry: &FeedEntry| match &entry.happening {
        Happening::Event(_) => "event".to_owned(),
        Happening::Change(change) => change.kind.to_string(),
    };
    feed_after(h, after).await.iter().map(words).collect()
}

pub async fn who_missed_changes_that_are_gone_is_told_and_nobody_else(h: &mut dyn Harness) {
    let mut places = vec![FeedCursor::default()];
    for name in ["s1", "s2"] {
        create(h, name).await;
        places.push(h.store().feed_end().await.unwrap());
    }
    let gone_at = h.clock().now();
    later(h, 1_001);
    create(h, "s3").await;
    run(h, &changes_after(1_000)).await;
    assert_eq!(told_after(h, places[2]).await, ["session-created"], "who had seen all that went");
    for missed in [places[0], places[1]] {
        assert_eq!(told_after(h, missed).await, ["changes-trimmed", "session-created"]);
        let first = h.store().feed(missed, PageLimit::new(1).unwrap()).await.unwrap().remove(0);
        let mut watch = h.store().watch_feed(missed).await.unwrap();
        assert_eq!(watch.next().await.unwrap()[0], first);
        let Happening::Change(change) = first.happening else { panic!("{first:?}") };
        assert_eq!((change.session_id, change.at), (None, gone_at));
        assert_eq!(first.cursor.change, places[2].change, "it stands for all that went");
    }
}

pub async fn one_note_tells_of_all_changes_that_went(h: &mut dyn Harness) {
    let begin = FeedCursor::default();
    let mut seen = begin;
    for name in ["s1", "s2", "s3"] {
        create(h, name).await;
        later(h, 1_000);
        assert_eq!(run(h, &changes_after(1)).await, tally(&[("changes", 1, 0)]), "{name}");
        assert_eq!(told_after(h, begin).await, ["changes-trimmed"]);
        assert_eq!(told_after(h, seen).await, ["changes-trimmed"], "who had read the note before");
        seen = h.store().feed_end().await.unwrap();
        later(h, 365 * DAY);
        assert_eq!(plan(h, &changes_after(1)).await, Tally::default(), "the note is not removed");
    }
}

pub async fn the_note_moves_with_every_step_that_removes_changes(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let many: Vec<u64> = (0..=REMOVAL_ROWS_MAX as u64).collect();
    for some in many.chunks(HIVE_IMPORT_MAX) {
        let messages = some.iter().map(|n| queued(h, &format!("m{n}"), *n, "x")).collect();
        let import = HiveImport { messages, ..HiveImport::default() };
        h.store().import_hive(import).await.unwrap();
    }
    later(h, DAY);
    let all = plan(h, &changes_after(1)).await.rows("changes");
    let rest = usize::try_from(all).unwrap() - REMOVAL_ROWS_MAX;
    assert!(step(h, &changes_after(1)).await.more);
    let told = told_after(h, FeedCursor::default()).await;
    assert_eq!(told[0], "changes-trimmed");
    assert_eq!(told[1..], vec!["message-queued"; rest]);
    assert!(!step(h, &changes_after(1)).await.more);
    assert_eq!(told_after(h, FeedCursor::default()).await, ["changes-trimmed"]);
}

pub async fn the_feed_ends_where_it_did_when_all_changes_went(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    later(h, DAY);
    let end = h.store().feed_end().await.unwrap();
    assert_eq!(run(h, &changes_after(1)).await, tally(&[("changes", 1, 0)]));
    assert_eq!(h.store().feed_end().await.unwrap(), end);
    h.reopen().await;
    assert_eq!(h.store().feed_end().await.unwrap(), end);
    assert_eq!(told_after(h, end).await, Vec::<String>::new());
    create(h, "s2").await;
    assert_eq!(told_after(h, end).await, ["session-created"]);
}

pub async fn rules_that_say_nothing_keep_everything(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![any_hold("m1")]).await.unwrap();
    ended(h, "s1", completed()).await;
    later(h, 400 * DAY);
    assert_eq!(plan(h, &RetentionRules::KEEP).await, Tally::default());
    let huge = RetentionRules {
        messages_ms: Some(u64::MAX),
        sessions_ms: Some(u64::MAX),
        changes_ms: Some(u64::MAX),
    };
    assert_eq!(plan(h, &huge).await, Tally::default());
    assert_eq!(plan(h, &RetentionRules::default()).await.rows("sessions"), 0, "unless one says so");
    run(h, &RetentionRules::KEEP).await;
    run(h, &huge).await;
    assert_eq!(session(h, "s1").await.id, id("s1"));
    assert_eq!(mail_of(h, "mira").await.len(), 1);
    assert_eq!(run(h, &RetentionRules::default()).await.rows("messages"), 1);
}

pub async fn a_plan_changes_nothing(h: &mut dyn Harness) {
    ended(h, "s1", completed()).await;
    append(h, "s1", note("0")).await;
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![any_hold("m1")]).await.unwrap();
    later(h, DAY);
    let before = everything(h).await;
    let rules = RetentionRules { messages_ms: Some(1), sessions_ms: Some(1), changes_ms: Some(1) };
    let planned = plan(h, &rules).await;
    assert_eq!((planned.rows("messages"), planned.rows("sessions")), (1, 1));
    assert!(planned.rows("changes") > 3);
    assert_eq!(everything(h).await, before);
    assert_eq!(h.store().list_receipts(all()).await.unwrap().items, []);
}

/// A finished session with so many events, which are `0`.
async fn long_session(h: &dyn Harness, name: &str, events: usize) {
    create(h, name).await;
    let batch: Vec<NewEvent> = (0..events).map(|_| note("0")).collect();
    h.store().append_events(id(name), batch).await.unwrap();
    set_status(h, name, SessionStatus::Running).await;
    set_status(h, name, SessionStatus::Succeeded).await;
    later(h, 1);
}

pub async fn a_step_removes_no_more_than_it_may_and_the_receipt_goes_on(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![any_hold("m1")]).await.unwrap();
    long_session(h, "s1", REMOVAL_ROWS_MAX + 500).await;
    long_session(h, "s2", 700).await;
    later(h, DAY);
    let rules = RetentionRules { messages_ms: Some(1), sessions_ms: Some(1), changes_ms: None };
    let planned = plan(h, &rules).await;
    let rows = |tally: &Tally| tally.0.values().map(|amount| amount.rows).sum::<u64>();
    let max = REMOVAL_ROWS_MAX as u64;
    assert_eq!(rows(&planned), 1 + 1_500 + 1 + 700 + 1);

    let first = step(h, &rules).await;
    let begun = h.clock().now();
    assert!(first.more);
    let expected = tally(&[("messages", 1, 2), ("events", max - 1, max - 1)]);
    assert_eq!(first.receipt.removed, expected);
    assert_eq!((first.receipt.started_at, first.receipt.finished_at), (begun, None));
    let left = log(h, "s1").await;
    let seqs: Vec<u64> = left.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (max..=1_500).collect::<Vec<_>>(), "the oldest went first");
    assert_eq!(session(h, "s1").await.last_seq, 1_500, "the session itself is still there");
    let of_feed = feed(h).await.into_iter().filter(|entry| match &entry.happening {
        Happening::Event(event) => event.session_id == id("s1"),
        Happening::Change(_) => false,
    });
    assert_eq!(of_feed.count(), left.len());

    later(h, 5);
    h.reopen().await;
    let second = step(h, &rules).await;
    assert!(second.more);
    assert_eq!((second.receipt.id.clone(), second.receipt.started_at), (first.receipt.id, begun));
    assert_eq!(rows(&second.receipt.removed), 2 * max);
    assert_eq!(listed(h, <_>::default()).await, ["s2", "mira-1"]);
    let third = step(h, &rules).await;
    assert_eq!((third.more, third.receipt.finished_at), (false, Some(h.clock().now())));
    assert_eq!(third.receipt.removed, planned, "in the end it is what was planned");
    let receipts = h.store().list_receipts(all()).await.unwrap().items;
    assert_eq!(receipts, slice::from_ref(&third.receipt));
    // What comes later has its own receipt.
    let next = step(h, &rules).await;
    assert_ne!(next.receipt.id, third.receipt.id);
}

pub async fn a_step_that_finds_nothing_leaves_a_closed_receipt(h: &mut dyn Harness) {
    let done = step(h, &RetentionRules::default()).await;
    let expected = Receipt {
        id: done.receipt.id.clone(),
        kind: ReceiptKind::Retention,
        subject: None,
        started_at: h.clock().now(),
        finished_at: Some(h.clock().now()),
        removed: Tally::default(),
    };
    assert_eq!(done, RemovalStep { receipt: expected.clone(), more: false });
    h.reopen().await;
    let receipts = h.store().list_receipts(all()).await.unwrap().items;
    assert_eq!(receipts, [expected]);
}

pub async fn receipts_are_listed_newest_first_and_what_the_host_removed_is_added(
    h: &mut dyn Harness,
) {
    let mut receipts = Vec::new();
    for _ in 0..5 {
        receipts.push(step(h, &RetentionRules::KEEP).await.receipt);
        later(h, 1);
    }
    receipts.reverse();
    for size in [1, 2, 50] {
        let store = h.store();
        assert_eq!(paged(size, |page| store.list_receipts(page)).await, receipts);
    }
    let of = receipts[2].id.clone();
    let files = tally(&[("files", 3, 4_096)]);
    let added = h.store().add_to_receipt(of.clone(), files.clone()).await.unwrap();
    assert_eq!(added, Receipt { removed: files, ..receipts[2].clone() });
    let more = tally(&[("files", 1, 4), ("events", 2, 0)]);
    let added = h.store().add_to_receipt(of, more).await.unwrap();
    assert_eq!(added.removed, tally(&[("files", 4, 4_100), ("events", 2, 0)]));
    receipts[2] = added;
    h.reopen().await;
    let kept = h.store().list_receipts(all()).await.unwrap().items;
    assert_eq!(kept, receipts);
    let lost = h.store().add_to_receipt("r0".parse().unwrap(), Tally::default()).await;
    assert_eq!(refusal(lost), "not-found receipt r0");
}

pub async fn a_clock_that_went_back_removes_nothing_young(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![any_hold("m1")]).await.unwrap();
    ended(h, "s1", completed()).await;
    h.clock().advance_ms(-10_000);
    let rules = RetentionRules { messages_ms: Some(1), sessions_ms: Some(1), changes_ms: Some(1) };
    assert_eq!(run(h, &rules).await, Tally::default());
}

pub async fn space_is_given_back_until_there_is_none(h: &mut dyn Harness) {
    long_session(h, "s1", 500).await;
    later(h, DAY);
    run(h, &sessions_after(1)).await;
    let before = everything(h).await;
    let mut steps = 0;
    while h.store().reclaim_space().await.unwrap().more {
        steps += 1;
        assert!(steps < 1_000, "there is always more");
    }
    assert_eq!(everything(h).await, before);
}

pub async fn racing_steps_remove_each_thing_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for n in 0..40 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
        next(h, "mira").await.unwrap();
        h.store().ack_messages(vec![any_hold(&format!("m{n}"))]).await.unwrap();
    }
    set_lifecycle(h, "mira", Lifecycle::Sleeping).await;
    assert!(mail_of(h, "mira").await.iter().all(|m| m.status == MessageStatus::Acked));
    later(h, 2);
    race(h, 4, |store, _| block_on(store.retention_step(messages_after(1))).unwrap());
    let receipts = h.store().list_receipts(all()).await.unwrap().items;
    let removed: u64 = receipts.iter().map(|receipt| receipt.removed.rows("messages")).sum();
    assert_eq!(removed, 40);
    assert!(receipts.iter().all(|receipt| receipt.finished_at.is_some()));
    assert_eq!(mail_of(h, "mira").await, []);
    assert_eq!(agent(h, "mira").await.id, agent_id("mira"));
}
