//! The feed: everything that happens, once, and nothing behind a reader's back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ah_model::{
    Change, Event, FeedCursor, FeedEntry, Happening, Lifecycle, NewEvent, PageLimit, RunEnd,
    SessionId, SessionStatus, SessionUpdate, limits,
};
use ah_store::{Clock, FeedWatch, SessionFork, Store, block_on};

use crate::Harness;
use crate::given::{
    agent_id, append, create, create_agent, feed, feed_after, id, json, keyed, log, new_agent,
    new_task, note, renew, reset, set_lifecycle, set_status,
};
use crate::given_run::{
    LEASE_MS, callbacks, child_run, claim, completed, executor_id, finish, first_run, idle,
    new_executor, queue, resume_of, run_id, runs_of, start, sweep,
};
use crate::token::new_token;

const LEASE: i64 = 30_000;

fn events_of(entries: &[FeedEntry]) -> Vec<Event> {
    let events = entries.iter().filter_map(|entry| match &entry.happening {
        Happening::Event(event) => Some(event.clone()),
        Happening::Change(_) => None,
    });
    events.collect()
}

fn changes_of(entries: &[FeedEntry]) -> Vec<Change> {
    let changes = entries.iter().filter_map(|entry| match &entry.happening {
        Happening::Event(_) => None,
        Happening::Change(change) => Some(change.clone()),
    });
    changes.collect()
}

/// Events and changes, each in their order; how they are mixed is the store's choice.
fn sorted_out(entries: &[FeedEntry]) -> (Vec<Event>, Vec<Change>) {
    (events_of(entries), changes_of(entries))
}

/// What a change is and what it is about, such as `run-queued s1 run-s1`.
fn said(change: &Change) -> String {
    use ah_model::ChangeKind as Kind;
    let about = match change.kind {
        Kind::SessionCreated
        | Kind::SessionUpdated
        | Kind::SessionDeleted
        | Kind::FleetUpdated
        | Kind::FenceUpdated => {
            assert_eq!((&change.run_id, &change.executor_id), (&None, &None), "{change:?}");
            change.session_id.as_ref().unwrap().to_string()
        }
        Kind::RunQueued | Kind::RunUpdated | Kind::RunStopping => {
            let session = change.session_id.as_ref().unwrap();
            format!("{session} {}", change.run_id.as_ref().unwrap())
        }
        Kind::ExecutorUpdated => {
            assert_eq!((&change.session_id, &change.run_id), (&None, &None), "{change:?}");
            change.executor_id.as_ref().unwrap().to_string()
        }
        Kind::RepoMoved => change.subject.clone().unwrap(),
        Kind::ChangesTrimmed => return change.kind.to_string(),
        Kind::AgentUpdated => change.party.as_ref().unwrap().to_string(),
        Kind::MessageQueued
        | Kind::MessageUpdated
        | Kind::ApprovalUpdated
        | Kind::QuestionUpdated => {
            let party = change.party.as_ref().unwrap();
            format!("{party} {}", change.subject.as_ref().unwrap())
        }
    };
    format!("{} {about}", change.kind)
}

/// A place in the feed from which the changes of single calls are read.
pub(crate) struct Reader {
    at: FeedCursor,
}

impl Reader {
    pub(crate) async fn new(h: &dyn Harness) -> Self {
        Self { at: h.store().feed_end().await.unwrap() }
    }

    /// Each change since the last call, once; one call may tell the same thing twice.
    pub(crate) async fn changes(&mut self, h: &dyn Harness) -> BTreeSet<String> {
        let entries = feed_after(h, self.at).await;
        self.at = entries.last().map_or(self.at, |last| last.cursor);
        let changes = changes_of(&entries);
        assert!(changes.iter().all(|change| change.at == h.clock().now()), "{changes:?}");
        changes.iter().map(said).collect()
    }

    pub(crate) async fn assert(&mut self, h: &dyn Harness, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
        assert_eq!(self.changes(h).await, expected);
    }
}

pub async fn every_change_of_a_session_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    create(h, "s1").await;
    reader.assert(h, &["session-created s1"]).await;
    h.clock().advance_ms(5);
    set_status(h, "s1", SessionStatus::Running).await;
    reader.assert(h, &["session-updated s1"]).await;
    h.store().rename_session(id("s1"), "title".to_owned()).await.unwrap();
    reader.assert(h, &["session-updated s1"]).await;
    h.store().pin_session(id("s1"), true).await.unwrap();
    reader.assert(h, &["session-updated s1"]).await;
    let update = SessionUpdate { pid_agent: Some(1), ..SessionUpdate::default() };
    h.store().update_session(id("s1"), update).await.unwrap();
    reader.assert(h, &["session-updated s1"]).await;
    h.store().stop_session(id("s1")).await.unwrap();
    reader.assert(h, &["session-updated s1"]).await;
    let fork = SessionFork { id: Some(id("s2")), ..SessionFork::default() };
    h.store().fork_session(id("s1"), fork).await.unwrap();
    reader.assert(h, &["session-created s2"]).await;
    h.store().delete_session(id("s2")).await.unwrap();
    reader.assert(h, &["session-deleted s2"]).await;
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    let (session, run) = (&batch.session_ids[0], &batch.run_ids[0]);
    let queued = format!("run-queued {session} {run}");
    reader.assert(h, &[&format!("session-created {session}"), &queued]).await;
}

pub async fn every_change_of_an_agents_sessions_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    create_agent(h, "mira").await;
    reader.assert(h, &["session-created mira-1", "agent-updated mira"]).await;
    h.store().append_to_agent(agent_id("mira"), None, vec![note("0")]).await.unwrap();
    reader.assert(h, &["session-updated mira-1"]).await;
    h.store().append_to_agent(agent_id("mira"), None, vec![note("1")]).await.unwrap();
    reader.assert(h, &[]).await;
    renew(h, "mira", reset("again"), "mira-2").await;
    reader.assert(h, &["session-created mira-2", "session-updated mira-1"]).await;
    set_lifecycle(h, "mira", Lifecycle::Sleeping).await;
    reader.assert(h, &["agent-updated mira"]).await;
    set_lifecycle(h, "mira", Lifecycle::Dead).await;
    reader.assert(h, &["session-updated mira-2", "agent-updated mira"]).await;
    let refused = h.store().create_agent(new_agent("mira")).await;
    assert!(refused.is_err());
    reader.assert(h, &[]).await;
}

pub async fn every_change_of_a_run_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    queue(h, first_run("s1")).await;
    reader.assert(h, &["session-created s1", "run-queued s1 run-s1"]).await;
    claim(h, "e1").await.unwrap();
    reader.assert(h, &["run-updated s1 run-s1"]).await;
    h.clock().advance_ms(LEASE);
    sweep(h).await;
    reader.assert(h, &["run-queued s1 run-s1"]).await;
    let run = claim(h, "e1").await.unwrap();
    reader.assert(h, &["run-updated s1 run-s1"]).await;
    start(h, &run).await;
    reader.assert(h, &["run-updated s1 run-s1", "session-updated s1"]).await;
    let place = SessionUpdate { hostname: Some("h".to_owned()), ..SessionUpdate::default() };
    h.store().bind_run(run.lease(), place).await.unwrap();
    reader.assert(h, &["session-updated s1"]).await;
    h.store().stop_run(run.id.clone()).await.unwrap();
    reader.assert(h, &["run-stopping s1 run-s1", "session-updated s1"]).await;
    finish(h, &run, completed()).await;
    reader.assert(h, &["run-updated s1 run-s1", "session-updated s1"]).await;

    queue(h, first_run("s2")).await;
    reader.changes(h).await;
    h.store().stop_session(id("s2")).await.unwrap();
    reader.assert(h, &["run-updated s2 run-s2", "session-updated s2"]).await;
    queue(h, first_run("s3")).await;
    let run = claim(h, "e1").await.unwrap();
    reader.changes(h).await;
    let place = SessionUpdate { hostname: Some("h".to_owned()), ..SessionUpdate::default() };
    h.store().bind_run(run.lease(), place).await.unwrap();
    reader.assert(h, &["run-updated s3 run-s3", "session-updated s3"]).await;
    h.clock().advance_ms(LEASE);
    sweep(h).await;
    reader.assert(h, &["run-updated s3 run-s3", "session-updated s3"]).await;
    h.store().delete_session(id("s3")).await.unwrap();
    reader.assert(h, &["session-deleted s3"]).await;
}

pub async fn the_run_that_carries_a_callback_is_told(h: &mut dyn Harness) {
    queue(h, first_run("p1")).await;
    let run = claim(h, "e1").await.unwrap();
    finish(h, &run, idle()).await;
    queue(h, child_run("c1", "p1")).await;
    let run = claim(h, "e1").await.unwrap();
    let mut reader = Reader::new(h).await;
    finish(h, &run, completed()).await;
    let carrier = callbacks(h, "p1").await[0].delivered_by.clone().unwrap();
    let queued = format!("run-queued p1 {carrier}");
    reader.assert(h, &["run-updated c1 run-c1", "session-updated c1", &queued]).await;
}

pub async fn every_change_of_an_executor_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    h.store().register_executor(new_executor("e1")).await.unwrap();
    reader.assert(h, &["executor-updated e1"]).await;
    h.clock().advance_ms(1);
    h.store().register_executor(new_executor("e1")).await.unwrap();
    reader.assert(h, &["executor-updated e1"]).await;
    h.store().ask_executor_to_go(executor_id("e1")).await.unwrap();
    reader.assert(h, &["executor-updated e1"]).await;
    queue(h, first_run("s1")).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    reader.changes(h).await;
    h.store().remove_executor(executor_id("e1")).await.unwrap();
    let lost = ["executor-updated e1", "run-updated s1 run-s1", "session-updated s1"];
    reader.assert(h, &lost).await;
}

pub async fn what_is_no_change_is_not_told(h: &mut dyn Harness) {
    h.store().register_executor(new_executor("e1")).await.unwrap();
    h.store().create_token(new_token("t1")).await.unwrap();
    queue(h, first_run("s1")).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    let store = h.store();
    let mut reader = Reader::new(h).await;
    h.clock().advance_ms(6_000);
    store.renew_run(run.lease(), LEASE_MS).await.unwrap();
    reader.assert(h, &[]).await;
    store.executor_seen(executor_id("e1")).await.unwrap();
    store.token_used("t1".parse().unwrap()).await.unwrap();
    store.revoke_token("t1".parse().unwrap()).await.unwrap();
    reader.assert(h, &[]).await;
    append(h, "s1", note("0")).await;
    store.append_to_run(run.lease(), vec![note("1")]).await.unwrap();
    reader.assert(h, &[]).await;
    start(h, &run).await;
    sweep(h).await;
    assert_eq!(claim(h, "e1").await, None);
    reader.assert(h, &[]).await;
    store.stop_run(run.id.clone()).await.unwrap();
    store.stop_orders(executor_id("e1")).await.unwrap();
    reader.changes(h).await;
    store.stop_run(run.id.clone()).await.unwrap();
    store.stop_session(id("s1")).await.unwrap();
    reader.assert(h, &[]).await;
    finish(h, &run, completed()).await;
    reader.changes(h).await;
    finish(h, &run, completed()).await;
    assert!(store.finish_run(run.lease(), RunEnd::failed("x")).await.is_err());
    reader.assert(h, &[]).await;
}

pub async fn changes_are_in_the_order_of_their_commits(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    let from = reader.at;
    let mut calls = Vec::new();
    queue(h, first_run("s1")).await;
    calls.push(reader.changes(h).await);
    h.clock().advance_ms(-5_000);
    queue(h, first_run("s0")).await;
    calls.push(reader.changes(h).await);
    let run = claim(h, "e1").await.unwrap();
    calls.push(reader.changes(h).await);
    start(h, &run).await;
    calls.push(reader.changes(h).await);
    h.clock().advance_ms(2_500);
    finish(h, &run, completed()).await;
    calls.push(reader.changes(h).await);
    queue(h, resume_of("s1")).await;
    calls.push(reader.changes(h).await);

    let mut changes = changes_of(&feed_after(h, from).await).into_iter();
    for call in calls {
        // What one call changed stays together.
        let mut left = call.clone();
        while !left.is_empty() {
            let next = said(&changes.next().unwrap());
            assert!(call.contains(&next), "{next} is not of {call:?}");
            left.remove(&next);
        }
    }
    assert_eq!(changes.next(), None);
}

/// Things of every kind, some of them mixed.
async fn history(h: &dyn Harness) {
    for name in ["s1", "s2"] {
        queue(h, first_run(name)).await;
        append(h, name, note(r#"{"b":1.00,"a":"\ud800"}"#)).await;
    }
    let batch = vec![keyed("1", "k1"), keyed("2", "k2"), keyed("1", "k1")];
    h.store().append_events(id("s1"), batch).await.unwrap();
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    h.clock().advance_ms(-700);
    append(h, "s2", note("null")).await;
    finish(h, &run, idle()).await;
    h.store().register_executor(new_executor("e1")).await.unwrap();
    append(h, "s1", note("[]")).await;
}

pub async fn events_are_told_as_they_were_appended(h: &mut dyn Harness) {
    history(h).await;
    let events = events_of(&feed(h).await);
    let of = |name: &str| -> Vec<Event> {
        events.iter().filter(|event| event.session_id == id(name)).cloned().collect()
    };
    assert_eq!(of("s1"), log(h, "s1").await);
    assert_eq!(of("s2"), log(h, "s2").await);
    let order: Vec<_> = events.iter().map(|e| (e.session_id.to_string(), e.seq)).collect();
    let appended = [("s1", 1), ("s2", 1), ("s1", 2), ("s1", 3), ("s2", 2), ("s1", 4)];
    let appended = appended.map(|(session, seq)| (session.to_owned(), seq));
    assert_eq!(order, appended, "across sessions too");
}

/// Everything behind `after`, read in pages of `size`.
async fn read_in_pages(h: &dyn Harness, after: FeedCursor, size: u32) -> Vec<FeedEntry> {
    let limit = PageLimit::new(size).unwrap();
    let mut entries: Vec<FeedEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(after, |last| last.cursor);
        // A cursor is text on its way to the caller and back.
        let after = after.to_string().parse().unwrap();
        let page = h.store().feed(after, limit).await.unwrap();
        assert!(page.len() <= limit.get());
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
        assert!(entries.len() < 10_000, "the feed does not end");
    }
}

pub async fn a_cursor_goes_on_exactly_behind_its_entry(h: &mut dyn Harness) {
    history(h).await;
    let whole = feed(h).await;
    let (events, changes) = sorted_out(&whole);
    assert_eq!(events.len(), 6);
    assert!(changes.len() >= 9, "{changes:?}");
    for size in [1, 2, 3, 5, 1_000] {
        let read = read_in_pages(h, FeedCursor::default(), size).await;
        assert_eq!(sorted_out(&read), sorted_out(&whole), "in pages of {size}");
        for (index, entry) in read.iter().enumerate() {
            let rest = read_in_pages(h, entry.cursor, 4).await;
            assert_eq!(sorted_out(&rest), sorted_out(&read[index + 1..]), "behind {index}");
        }
    }
    h.reopen().await;
    assert_eq!(feed(h).await, whole, "cursors are good in the next process");
    let middle = whole[whole.len() / 2].cursor;
    let rest = feed_after(h, middle).await;
    assert_eq!(sorted_out(&rest), sorted_out(&whole[whole.len() / 2 + 1..]));
}

pub async fn a_page_of_the_feed_ends_early_rather_than_hold_too_many_bytes(h: &mut dyn Harness) {
    create(h, "s1").await;
    let heavy = limits::EVENT_DATA_BYTES_MAX;
    for bytes in [heavy, 3, heavy, heavy, 3] {
        let data = json(&format!("\"{}\"", "x".repeat(bytes - 2)));
        append(h, "s1", NewEvent { data, ..note("0") }).await;
    }
    create(h, "s2").await;
    let mut entries: Vec<FeedEntry> = Vec::new();
    loop {
        let after = entries.last().map_or(FeedCursor::default(), |last| last.cursor);
        let page = h.store().feed(after, PageLimit::MAX).await.unwrap();
        if page.is_empty() {
            break;
        }
        let bytes: usize = events_of(&page).iter().map(|event| event.data.as_str().len()).sum();
        assert!(bytes <= limits::PAGE_BYTES_MAX, "{bytes} bytes");
        entries.extend(page);
    }
    let (events, changes) = sorted_out(&entries);
    let read: Vec<_> = events.iter().map(|e| (e.seq, e.data.as_str().len())).collect();
    assert_eq!(read, [(1, heavy), (2, 3), (3, heavy), (4, heavy), (5, 3)]);
    let changes: Vec<_> = changes.iter().map(said).collect();
    assert_eq!(changes, ["session-created s1", "session-created s2"]);
}

pub async fn the_end_is_where_nothing_is_left(h: &mut dyn Harness) {
    let start = h.store().feed_end().await.unwrap();
    assert_eq!(feed(h).await, [], "nothing has happened");
    history(h).await;
    let end = h.store().feed_end().await.unwrap();
    assert_eq!(feed_after(h, end).await, []);
    assert_eq!(feed(h).await.last().unwrap().cursor, end);
    assert_eq!(sorted_out(&feed_after(h, start).await), sorted_out(&feed(h).await));
    append(h, "s1", note("9")).await;
    let later = feed_after(h, end).await;
    assert_eq!(events_of(&later), [log(h, "s1").await.pop().unwrap()]);
    assert_eq!(changes_of(&later), []);
}

pub async fn a_deleted_session_leaves_its_end_and_no_events(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    create(h, "s2").await;
    append(h, "s2", note("1")).await;
    let before = feed(h).await;
    h.store().delete_session(id("s1")).await.unwrap();
    let after = feed(h).await;
    assert_eq!(events_of(&after), log(h, "s2").await);
    let changes: Vec<_> = changes_of(&after).iter().map(said).collect();
    assert_eq!(changes, ["session-created s1", "session-created s2", "session-deleted s1"]);
    // A reader that stopped at what is gone goes on behind it.
    for (index, entry) in before.iter().enumerate() {
        let rest = feed_after(h, entry.cursor).await;
        let expected: Vec<_> = events_of(&before[index + 1..])
            .into_iter()
            .filter(|event| event.session_id == id("s2"))
            .collect();
        assert_eq!(events_of(&rest), expected, "behind {index}");
        assert_eq!(said(changes_of(&rest).last().unwrap()), "session-deleted s1");
    }
    // The numbers of what is gone are not given out again.
    let end = h.store().feed_end().await.unwrap();
    create(h, "s1").await;
    append(h, "s1", note("9")).await;
    let later = feed_after(h, end).await;
    assert_eq!((events_of(&later).len(), changes_of(&later).len()), (1, 1));
}

pub async fn the_newest_event_that_is_deleted_gives_its_number_to_nobody(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    append(h, "s1", note("0")).await;
    let end = h.store().feed_end().await.unwrap();
    h.store().delete_session(id("s1")).await.unwrap();
    h.reopen().await;
    append(h, "s2", note("1")).await;
    let later = feed_after(h, end).await;
    assert_eq!(events_of(&later), log(h, "s2").await, "a reader at the end misses nothing");
}

pub async fn a_reader_at_the_end_misses_nothing_when_the_end_is_deleted(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    h.store().delete_session(id("s1")).await.unwrap();
    h.reopen().await;
    let end = h.store().feed_end().await.unwrap();
    create(h, "s2").await;
    append(h, "s2", note("1")).await;
    let later = feed_after(h, end).await;
    assert_eq!(events_of(&later), log(h, "s2").await);
    let changes: Vec<_> = changes_of(&later).iter().map(said).collect();
    assert_eq!(changes, ["session-created s2"]);
}

/// The next entries until `enough` says so.
async fn read_until(
    watch: &mut Box<dyn FeedWatch>,
    enough: impl Fn(&[FeedEntry]) -> bool,
) -> Vec<FeedEntry> {
    let mut entries = Vec::new();
    while !enough(&entries) {
        let next = watch.next().await.unwrap();
        assert!(!next.is_empty(), "a watch waits until there is something");
        entries.extend(next);
    }
    entries
}

pub async fn a_watch_of_the_feed_gives_what_is_stored_and_then_what_comes(h: &mut dyn Harness) {
    history(h).await;
    let stored = feed(h).await;
    let from = stored[3].cursor;
    let mut watch = h.store().watch_feed(from).await.unwrap();
    let count = stored.len() - 4;
    let read = read_until(&mut watch, |read| read.len() >= count).await;
    assert_eq!(sorted_out(&read), sorted_out(&stored[4..]));
    append(h, "s1", note("9")).await;
    let read = read_until(&mut watch, |read| !read.is_empty()).await;
    assert_eq!(events_of(&read), [log(h, "s1").await.pop().unwrap()]);
    create(h, "s3").await;
    let read = read_until(&mut watch, |read| !read.is_empty()).await;
    let changes: Vec<_> = changes_of(&read).iter().map(said).collect();
    assert_eq!(changes, ["session-created s3"]);
}

pub async fn a_waiting_watch_of_the_feed_is_woken_by_events_and_by_changes(h: &mut dyn Harness) {
    create(h, "s1").await;
    for round in 0..3 {
        let end = h.store().feed_end().await.unwrap();
        let mut watch = h.store().watch_feed(end).await.unwrap();
        let reader = std::thread::spawn(move || block_on(watch.next()).unwrap());
        match round {
            0 => drop(append(h, "s1", note("0")).await),
            1 => drop(queue(h, crate::given_run::start_of("s1")).await),
            _ => drop(h.store().register_executor(new_executor("e1")).await.unwrap()),
        }
        let read = reader.join().unwrap();
        assert_eq!(sorted_out(&read), sorted_out(&feed_after(h, end).await), "round {round}");
    }
}

pub async fn a_keyed_view_of_the_store_has_the_same_feed(h: &mut dyn Harness) {
    let end = h.store().feed_end().await.unwrap();
    let mut watch = h.store().watch_feed(end).await.unwrap();
    let reader = std::thread::spawn(move || block_on(watch.next()).unwrap());
    let key = ah_model::RequestKey::new("k1", [&b"create s1"[..]]).unwrap();
    let view = h.store().keyed(key);
    view.create_session(crate::given::new_session("s1")).await.unwrap();
    let read = reader.join().unwrap();
    assert_eq!(changes_of(&read).iter().map(said).collect::<Vec<_>>(), ["session-created s1"]);
    assert_eq!(view.feed(end, PageLimit::MAX).await.unwrap(), read);
}

const WRITERS: u64 = 6;
const ROUNDS: u64 = 15;

/// Appends to one session of its own and to one that all share, and makes changes.
fn write_much(store: &Arc<dyn Store>, thread: u64) {
    let own: SessionId = format!("own{thread}").parse().unwrap();
    for round in 0..ROUNDS {
        let batch: Vec<NewEvent> = vec![note(&round.to_string()), note("1")];
        block_on(store.append_events(own.clone(), batch)).unwrap();
        let data = format!("[{thread},{round}]");
        block_on(store.append_events(id("shared"), vec![note(&data)])).unwrap();
        block_on(store.rename_session(own.clone(), round.to_string())).unwrap();
        let run = first_run(&format!("t{thread}-{round}"));
        block_on(store.create_run(run)).unwrap();
    }
}

/// How many events and changes the writers make: three each in every round.
fn expected_counts() -> (usize, usize) {
    let rounds = usize::try_from(WRITERS * ROUNDS).unwrap();
    (3 * rounds, 3 * rounds)
}

async fn prepare_writers(h: &dyn Harness) -> FeedCursor {
    create(h, "shared").await;
    for thread in 0..WRITERS {
        create(h, &format!("own{thread}")).await;
    }
    h.store().feed_end().await.unwrap()
}

/// What was read while others wrote is what is read afterwards: nothing came in before it.
async fn assert_whole(h: &dyn Harness, from: FeedCursor, read: &[FeedEntry]) {
    assert_eq!(sorted_out(read), sorted_out(&feed_after(h, from).await));
    let (events, changes) = sorted_out(read);
    assert_eq!((events.len(), changes.len()), expected_counts());
    for name in (0..WRITERS).map(|thread| format!("own{thread}")).chain(["shared".to_owned()]) {
        let of: Vec<_> =
            events.iter().filter(|event| event.session_id == id(&name)).cloned().collect();
        assert_eq!(of, log(h, &name).await);
    }
}

pub async fn a_reader_beside_writers_misses_nothing(h: &mut dyn Harness) {
    let from = prepare_writers(h).await;
    let done = Arc::new(AtomicBool::new(false));
    let (store, finished) = (h.store(), done.clone());
    let reader = std::thread::spawn(move || {
        let limit = PageLimit::new(7).unwrap();
        let mut read: Vec<FeedEntry> = Vec::new();
        loop {
            // Asked before the read: what was committed by then must be in it.
            let last_round = finished.load(Ordering::SeqCst);
            let after = read.last().map_or(from, |last| last.cursor);
            let page = block_on(store.feed(after, limit)).unwrap();
            if page.is_empty() && last_round {
                return read;
            }
            read.extend(page);
        }
    });
    crate::given::race(h, WRITERS, |store, thread| write_much(&store, thread));
    done.store(true, Ordering::SeqCst);
    let read = reader.join().unwrap();
    assert_whole(h, from, &read).await;
}

pub async fn a_watch_of_the_feed_beside_writers_misses_nothing(h: &mut dyn Harness) {
    let from = prepare_writers(h).await;
    let mut watch = h.store().watch_feed(from).await.unwrap();
    let (events, changes) = expected_counts();
    let reader = std::thread::spawn(move || {
        block_on(read_until(&mut watch, |read| read.len() >= events + changes))
    });
    crate::given::race(h, WRITERS, |store, thread| write_much(&store, thread));
    let read = reader.join().unwrap();
    assert_whole(h, from, &read).await;
}

pub async fn what_an_import_brings_is_told(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    let mut document = Vec::new();
    ah_store::export_session(&*h.store(), &id("s1"), &mut document).await.unwrap();
    h.store().delete_session(id("s1")).await.unwrap();
    let end = h.store().feed_end().await.unwrap();
    ah_store::import_session(&*h.store(), &mut &document[..], &mut |_| {}).await.unwrap();
    let later = feed_after(h, end).await;
    assert_eq!(events_of(&later), log(h, "s1").await);
    let first = changes_of(&later).first().map(said);
    assert_eq!(first.as_deref(), Some("session-created s1"));
    assert_eq!(runs_of(h, "s1").await, []);
    assert!(h.store().run(run_id("run-s1")).await.is_err());
}
