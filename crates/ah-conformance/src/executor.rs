//! Executors: machines that register, are heard of, and go.

use ah_model::limits::{EXECUTOR_JSON_BYTES_MAX, SEEN_EVERY_MS};
use ah_model::{
    Cursor, Executor, ExecutorFilter, ExecutorId, ExecutorStatus, LOST, Labels, NewExecutor,
    NewRun, Offer, RawJson, Run, RunStatus, SessionStatus, TOKEN_PROVIDER,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, from_cursor, json, paged, race, refusal};
use crate::given_run::{
    assert_refused, claim, completed, executor_id, finish, first_run, new_executor, now, queue,
    session, start,
};

const STRANGE: &str = "spiffe://a.b/c?d=%20#e&f+g\"h'i\\j{}~:;<>";

fn full_executor(id: &str) -> NewExecutor {
    let text = |name: &str| Some(format!("{name} ☃"));
    NewExecutor {
        id: executor_id(id),
        offer: Offer {
            hostname: text("host"),
            project_dir: text("dir"),
            executor_profile: text("profile"),
            executor_type: text("type"),
            tags: vec!["b".to_owned(), "a ☃".to_owned()],
            require_matching_tags: true,
        },
        details: json(r#"{"b":1.00,"a":["\u0000",123456789012345678901234567890]}"#),
    }
}

async fn register(h: &dyn Harness, new: NewExecutor) -> Executor {
    h.store().register_executor(new).await.unwrap()
}

async fn kept(h: &dyn Harness, id: &str) -> Executor {
    h.store().executor(executor_id(id)).await.unwrap()
}

pub async fn an_executor_is_kept_with_all_it_said(h: &mut dyn Harness) {
    let at = h.clock().now();
    let executor = register(h, full_executor(STRANGE)).await;
    let expected = Executor {
        id: executor_id(STRANGE),
        offer: full_executor(STRANGE).offer,
        details: full_executor(STRANGE).details,
        identity_provider: TOKEN_PROVIDER.to_owned(),
        identity: RawJson::null(),
        friendly_name: None,
        owner: None,
        machine: None,
        labels: Labels::default(),
        tags: vec![],
        authorization: vec![],
        status: ExecutorStatus::Active,
        capacity: None,
        generation: 1,
        created_at: at,
        registered_at: at,
        seen_at: at,
        removal_requested_at: None,
    };
    assert_eq!(executor, expected);
    h.reopen().await;
    assert_eq!(kept(h, STRANGE).await, expected);
    assert_eq!(
        h.store().list_executors(ExecutorFilter::default(), all()).await.unwrap().items,
        [expected]
    );
}

pub async fn registering_again_replaces_and_counts(h: &mut dyn Harness) {
    let first = register(h, full_executor("e1")).await;
    h.store().ask_executor_to_go(executor_id("e1")).await.unwrap();
    h.clock().advance_ms(3);
    let at = h.clock().now();
    let second = register(h, new_executor("e1")).await;
    let expected = Executor {
        offer: Offer::default(),
        details: RawJson::null(),
        generation: 2,
        registered_at: at,
        seen_at: at,
        removal_requested_at: None,
        ..first
    };
    assert_eq!(second, expected);
    assert_eq!(kept(h, "e1").await, expected);
}

pub async fn registering_again_leaves_what_it_holds(h: &mut dyn Harness) {
    register(h, new_executor("e1")).await;
    queue(h, first_run("s1")).await;
    let run = claim(h, "e1").await.unwrap();
    register(h, new_executor("e1")).await;
    assert_eq!(now(h, &run).await, run);
    finish(h, &run, completed()).await;
}

pub async fn executors_are_paged_by_id_each_once(h: &mut dyn Harness) {
    let ids = ["b", "A", "a", "a/2", "a-1", "~", "10", "9"];
    for id in ids {
        register(h, new_executor(id)).await;
    }
    let mut sorted = ids.map(executor_id);
    sorted.sort();
    for size in [1, 3, 8, 50] {
        let store = h.store();
        let read = paged(size, |page| store.list_executors(ExecutorFilter::default(), page)).await;
        let read: Vec<ExecutorId> = read.into_iter().map(|executor| executor.id).collect();
        assert_eq!(read, sorted, "in pages of {size}, by the bytes of the id");
    }
    let foreign =
        h.store().list_executors(ExecutorFilter::default(), from_cursor(Cursor::Number(1))).await;
    assert_eq!(refusal(foreign), "invalid cursor");
}

pub async fn signs_of_life_are_noted_now_and_then(h: &mut dyn Harness) {
    let every = i64::try_from(SEEN_EVERY_MS).unwrap();
    let first = register(h, new_executor("e1")).await;
    let seen = async |h: &dyn Harness| {
        let seen = h.store().executor_seen(executor_id("e1")).await.unwrap();
        assert_eq!(kept(h, "e1").await, seen);
        seen
    };
    h.clock().advance_ms(every - 1);
    assert_eq!(seen(h).await, first, "too early to be noted");
    h.clock().advance_ms(2);
    let noted = Executor { seen_at: h.clock().now(), ..first };
    assert_eq!(seen(h).await, noted);
    h.clock().advance_ms(every - 1);
    assert_eq!(seen(h).await, noted);
    h.clock().advance_ms(-10 * every);
    assert_eq!(seen(h).await, noted, "a clock that went back moves nothing back");
}

pub async fn an_executor_is_asked_to_go_once(h: &mut dyn Harness) {
    let executor = register(h, new_executor("e1")).await;
    h.clock().advance_ms(10);
    let asked = h.store().ask_executor_to_go(executor_id("e1")).await.unwrap();
    let expected = Executor { removal_requested_at: Some(h.clock().now()), ..executor };
    assert_eq!(asked, expected);
    h.clock().advance_ms(10);
    let before = everything(h).await;
    let again = h.store().ask_executor_to_go(executor_id("e1")).await.unwrap();
    assert_eq!(again, expected, "asking again is no change");
    assert_eq!(everything(h).await, before);
    queue(h, first_run("s1")).await;
    assert!(claim(h, "e1").await.is_some(), "it is told by whoever gives it work, not refused");
}

/// A run of a new session that `executor` has, at work or not.
async fn held(h: &dyn Harness, new: NewRun, executor: &str, at_work: bool) -> Run {
    queue(h, new).await;
    let run = claim(h, executor).await.unwrap();
    match at_work {
        true => start(h, &run).await,
        false => run,
    }
}

pub async fn what_a_removed_executor_holds_is_lost_at_once(h: &mut dyn Harness) {
    register(h, new_executor("e1")).await;
    register(h, new_executor("e2")).await;
    let done = held(h, first_run("s1"), "e1", true).await;
    let done = finish(h, &done, completed()).await;
    let void = held(h, first_run("s2"), "e1", false).await;
    let lost = held(h, first_run("s3"), "e1", true).await;
    let again = NewRun { requeue: true, ..first_run("s4") };
    let again = held(h, again, "e1", true).await;
    let stopping = held(h, first_run("s5"), "e1", true).await;
    h.store().stop_run(stopping.id.clone()).await.unwrap();
    let other = held(h, first_run("s6"), "e2", true).await;
    h.clock().advance_ms(10);

    let touched = h.store().remove_executor(executor_id("e1")).await.unwrap();
    let mut expected = Vec::new();
    for (run, status) in [
        (&void, RunStatus::Pending),
        (&lost, RunStatus::Failed),
        (&again, RunStatus::Pending),
        (&stopping, RunStatus::Stopped),
    ] {
        let run = now(h, run).await;
        assert_eq!(run.status, status);
        expected.push(run);
    }
    assert_eq!(touched, expected);
    assert_eq!(touched[1].error.as_deref(), Some(LOST));
    assert_eq!(touched[1].ended_at, Some(h.clock().now()));
    assert_eq!(session(h, "s3").await.status, SessionStatus::Failed);
    assert_eq!(session(h, "s5").await.status, SessionStatus::Cancelled);
    assert_eq!(now(h, &done).await, done);
    assert_eq!(now(h, &other).await, other);
    let gone = h.store().executor(executor_id("e1")).await;
    assert_eq!(refusal(gone), "not-found executor e1");

    let before = everything(h).await;
    let late = h.store().finish_run(lost.lease(), completed()).await;
    assert_refused(h, &before, late, "conflict run run-s3").await;
    let next = [claim(h, "e2").await.unwrap().id, claim(h, "e2").await.unwrap().id];
    assert_eq!(next, [void.id, again.id], "at their old places");
}

pub async fn an_executor_that_comes_back_is_a_new_one(h: &mut dyn Harness) {
    register(h, full_executor("e1")).await;
    assert_eq!(h.store().remove_executor(executor_id("e1")).await.unwrap(), []);
    h.clock().advance_ms(10);
    let back = register(h, new_executor("e1")).await;
    assert_eq!((back.generation, back.created_at), (1, h.clock().now()));
}

pub async fn an_unknown_executor_is_not_found_by_any_verb(h: &mut dyn Harness) {
    let (store, id) = (h.store(), || executor_id("e1"));
    assert_eq!(refusal(store.executor(id()).await), "not-found executor e1");
    assert_eq!(refusal(store.executor_seen(id()).await), "not-found executor e1");
    assert_eq!(refusal(store.ask_executor_to_go(id()).await), "not-found executor e1");
    assert_eq!(refusal(store.remove_executor(id()).await), "not-found executor e1");
    assert_eq!(store.list_executors(ExecutorFilter::default(), all()).await.unwrap().items, []);
}

pub async fn who_is_not_registered_may_hold_runs(h: &mut dyn Harness) {
    queue(h, first_run("s1")).await;
    let run = claim(h, STRANGE).await.unwrap();
    assert_eq!(run.executor_id, Some(executor_id(STRANGE)));
    let stopping = h.store().stop_run(run.id).await.unwrap();
    let orders = h.store().stop_orders(executor_id(STRANGE)).await.unwrap();
    assert_eq!(orders, [stopping]);
}

pub async fn bad_executors_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let large = format!("\"{}\"", "x".repeat(EXECUTOR_JSON_BYTES_MAX));
    let nul = Offer { hostname: Some("a\0b".to_owned()), ..Offer::default() };
    let blank = Offer { tags: vec![String::new()], ..Offer::default() };
    let bad = [
        (NewExecutor { details: json(&large), ..new_executor("e1") }, "details"),
        (NewExecutor { offer: nul, ..new_executor("e1") }, "hostname"),
        (NewExecutor { offer: blank, ..new_executor("e1") }, "tags"),
    ];
    let before = everything(h).await;
    for (new, field) in bad {
        let refused = h.store().register_executor(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    let largest = format!("\"{}\"", "x".repeat(EXECUTOR_JSON_BYTES_MAX - 2));
    let new = NewExecutor { details: json(&largest), ..new_executor("e1") };
    assert_eq!(register(h, new).await, kept(h, "e1").await);
}

pub async fn racing_registrations_are_counted_each(h: &mut dyn Harness) {
    let made = race(h, 8, |store, _| {
        block_on(store.register_executor(new_executor("e1"))).unwrap().generation
    });
    let mut made = made;
    made.sort_unstable();
    assert_eq!(made, (1..=8).collect::<Vec<u64>>());
}
