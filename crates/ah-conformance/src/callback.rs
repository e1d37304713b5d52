//! Callbacks: what a parent is told when its children's runs end, exactly once.

use std::slice::from_ref;

use ah_model::limits::{CALLBACK_ATTEMPTS_MAX, CALLBACKS_AT_ONCE};
use ah_model::{
    Callback, Demands, ExecutionMode, NewRun, NewSession, Run, RunEnd, RunKind, RunStatus,
    SessionStatus, SessionUpdate, Swept,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{create, everything, id, json, new_session, race, refusal, set_status};
use crate::given_run::{
    at_work, callbacks, child_run, claim, claimed, completed, ended, finish, first_run, idle,
    new_executor, now, queue, resume_of, run_id, running, runs_of, session, start, stopped, sweep,
};

const LEASE: i64 = 30_000;

/// The end of a child that gave something back.
fn told(text: &str) -> RunEnd {
    let result = format!(r#"{{"result_text":"{text}"}}"#);
    RunEnd { result: Some(json(&result)), ..completed() }
}

/// What the end of `run` tells the parent, before anybody carries it.
fn callback(run: &Run) -> Callback {
    Callback::of(run).unwrap()
}

fn carried(callback: Callback, by: &Run) -> Callback {
    Callback { delivered_by: Some(by.id.clone()), ..callback }
}

/// A child of `parent` that was at work and ended; nothing else may wait in the queue.
async fn child(h: &dyn Harness, child: &str, parent: &str, end: RunEnd) -> Run {
    let run = at_work(h, child_run(child, parent)).await;
    finish(h, &run, end).await
}

/// The parent's newest run, which nobody has yet.
async fn carrier(h: &dyn Harness, parent: &str) -> Run {
    let run = runs_of(h, parent).await.pop().unwrap();
    assert_eq!((run.status, run.kind), (RunStatus::Pending, RunKind::Resume));
    run
}

pub async fn a_child_that_ends_resumes_its_parent_at_once(h: &mut dyn Harness) {
    for (name, end) in [("p1", idle()), ("p2", completed()), ("p3", RunEnd::failed("x"))] {
        ended(h, name, end).await;
        let before = session(h, name).await;
        h.clock().advance_ms(10);
        let child = child(h, &format!("c-{name}"), name, told("done ☃")).await;
        let run = carrier(h, name).await;
        let parameters = Callback::parameters(&[callback(&child)]).unwrap();
        let resume = NewRun::new(id(name), RunKind::Resume, parameters);
        let expected = Run::queued(resume, run.id.clone(), &before, h.clock().now());
        assert_eq!(run, expected, "{name}");
        assert_eq!(callbacks(h, name).await, [carried(callback(&child), &run)]);
        assert_eq!(session(h, name).await, before, "its run has not begun");
        h.reopen().await;
        assert_eq!(callbacks(h, name).await, [carried(callback(&child), &run)]);

        let run = claim(h, "e1").await.unwrap();
        start(h, &run).await;
        assert_eq!(session(h, name).await.status, SessionStatus::Running);
        finish(h, &run, completed()).await;
        assert_eq!(callbacks(h, name).await, [carried(callback(&child), &run)], "told once");
        assert_eq!(claim(h, "e1").await, None);
    }
}

pub async fn a_callback_run_goes_to_the_parents_host_and_parent(h: &mut dyn Harness) {
    create(h, "grandparent").await;
    let parent = NewSession { parent: Some(id("grandparent")), ..new_session("p1") };
    let new = NewRun { session: Some(Box::new(parent)), ..first_run("p1") };
    let run = at_work(h, new).await;
    let place = SessionUpdate { hostname: Some("h".to_owned()), ..SessionUpdate::default() };
    h.store().bind_run(run.lease(), place).await.unwrap();
    finish(h, &run, idle()).await;
    child(h, "c1", "p1", completed()).await;
    let run = carrier(h, "p1").await;
    let host = Demands { hostname: Some("h".to_owned()), ..Demands::default() };
    assert_eq!((run.demands, run.execution_mode), (host, ExecutionMode::Sync));
    assert_eq!(run.parent_session_id, Some(id("grandparent")));
    assert_eq!(callbacks(h, "grandparent").await, []);
}

pub async fn only_who_asked_to_be_called_is(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    for (index, execution_mode) in
        [ExecutionMode::Sync, ExecutionMode::AsyncPoll].into_iter().enumerate()
    {
        let new = NewRun { execution_mode, ..child_run(&format!("c{index}"), "p1") };
        let run = at_work(h, new).await;
        finish(h, &run, completed()).await;
    }
    let orphan = NewRun { parent_session_id: None, ..child_run("c2", "p1") };
    let run = at_work(h, orphan).await;
    finish(h, &run, completed()).await;
    assert_eq!(callbacks(h, "p1").await, []);
    assert_eq!(runs_of(h, "p1").await.len(), 1);
}

pub async fn the_sessions_parent_is_called_when_the_run_names_none(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let session = NewSession { parent: Some(id("p1")), ..new_session("c1") };
    let new = NewRun {
        session: Some(Box::new(session)),
        execution_mode: ExecutionMode::AsyncCallback,
        ..first_run("c1")
    };
    let run = at_work(h, new).await;
    let run = finish(h, &run, completed()).await;
    assert_eq!(callbacks(h, "p1").await, [carried(callback(&run), &carrier(h, "p1").await)]);
}

pub async fn a_callback_waits_while_the_parent_works(h: &mut dyn Harness) {
    let ends = [completed(), idle(), RunEnd::failed("x")];
    for (index, end) in ends.into_iter().enumerate() {
        let name = format!("p{index}");
        let parent = running(h, &name).await;
        let child = child(h, &format!("c{index}"), &name, told("done")).await;
        assert_eq!(callbacks(h, &name).await, [callback(&child)], "it waits");
        assert_eq!(runs_of(h, &name).await.len(), 1);
        assert_eq!(sweep(h).await, Swept::default(), "and goes on waiting");
        finish(h, &parent, end).await;
        let run = carrier(h, &name).await;
        assert_eq!(callbacks(h, &name).await, [carried(callback(&child), &run)]);
        claim(h, "e1").await.unwrap();
    }
}

pub async fn a_callback_is_delivered_when_the_parents_run_is_lost(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let child = child(h, "c1", "p1", told("done")).await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, Swept { requeued: 0, ended: 1, callbacks: 1 });
    assert_eq!(now(h, &parent).await.status, RunStatus::Failed);
    let run = carrier(h, "p1").await;
    assert_eq!(callbacks(h, "p1").await, [carried(callback(&child), &run)]);
    assert_eq!(sweep(h).await, Swept::default());
}

pub async fn a_parent_with_a_run_in_the_queue_is_told_behind_it(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let child = at_work(h, child_run("c1", "p1")).await;
    queue(h, resume_of("p1")).await;
    let child = finish(h, &child, told("done")).await;
    assert_eq!(callbacks(h, "p1").await, [callback(&child)]);
    let resume = claim(h, "e1").await.unwrap();
    start(h, &resume).await;
    finish(h, &resume, idle()).await;
    assert_eq!(callbacks(h, "p1").await, [carried(callback(&child), &carrier(h, "p1").await)]);
}

pub async fn what_waits_is_told_together_in_the_order_it_came(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let mut expected = Vec::new();
    // Names and times that sort otherwise: the order is that in which the runs ended.
    for (name, end) in [("c3", told("one")), ("c1", RunEnd::failed("two")), ("c2", stopped())] {
        expected.push(callback(&child(h, name, "p1", end).await));
        h.clock().advance_ms(-100);
    }
    assert_eq!(callbacks(h, "p1").await, expected);
    finish(h, &parent, idle()).await;
    let run = carrier(h, "p1").await;
    assert_eq!(run.parameters, Callback::parameters(&expected).unwrap());
    let expected: Vec<_> = expected.into_iter().map(|one| carried(one, &run)).collect();
    assert_eq!(callbacks(h, "p1").await, expected);
    assert_eq!(runs_of(h, "p1").await.len(), 2, "one run tells all");
}

pub async fn one_run_carries_so_many_and_the_next_the_rest(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    for n in 0..CALLBACKS_AT_ONCE + 2 {
        let run = queue(h, child_run(&format!("c{n}"), "p1")).await;
        h.store().stop_run(run.id).await.unwrap();
    }
    finish(h, &parent, idle()).await;
    let first = carrier(h, "p1").await;
    let told = callbacks(h, "p1").await;
    let by: Vec<_> = told.iter().map(|one| one.delivered_by.clone()).collect();
    assert_eq!(by[..CALLBACKS_AT_ONCE], vec![Some(first.id.clone()); CALLBACKS_AT_ONCE]);
    assert_eq!(by[CALLBACKS_AT_ONCE..], [None, None]);
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    finish(h, &run, idle()).await;
    let second = carrier(h, "p1").await;
    let rest = callbacks(h, "p1").await.split_off(CALLBACKS_AT_ONCE);
    assert_eq!(second.parameters, Callback::parameters(&rest).unwrap());
    assert!(rest.iter().all(|one| one.delivered_by.as_ref() == Some(&second.id)));
}

pub async fn every_way_to_end_tells_the_parent(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let renew = async |h: &dyn Harness| {
        h.store().renew_run(parent.lease(), 3_600_000).await.unwrap();
    };
    renew(h).await;
    let mut expected = Vec::new();
    let run = queue(h, child_run("stopped", "p1")).await;
    expected.push(h.store().stop_run(run.id).await.unwrap());

    let run = queue(h, NewRun { timeout_ms: Some(5), ..child_run("late", "p1") }).await;
    h.clock().advance_ms(5);
    assert_eq!(sweep(h).await, Swept { ended: 1, ..Swept::default() });
    expected.push(now(h, &run).await);

    let run = at_work(h, child_run("lost", "p1")).await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, Swept { ended: 1, ..Swept::default() });
    expected.push(now(h, &run).await);

    queue(h, child_run("removed", "p1")).await;
    h.store().register_executor(new_executor("e9")).await.unwrap();
    let run = claim(h, "e9").await.unwrap();
    start(h, &run).await;
    h.store().remove_executor("e9".parse().unwrap()).await.unwrap();
    expected.push(now(h, &run).await);

    let run = claimed_child(h, "unstarted").await;
    expected.push(finish(h, &run, RunEnd::failed("could not begin")).await);

    let run = at_work(h, child_run("asked", "p1")).await;
    h.store().stop_run(run.id.clone()).await.unwrap();
    expected.push(finish(h, &run, stopped()).await);

    let expected: Vec<_> = expected.iter().map(callback).collect();
    assert_eq!(callbacks(h, "p1").await, expected);
}

async fn claimed_child(h: &dyn Harness, name: &str) -> Run {
    queue(h, child_run(name, "p1")).await;
    claim(h, "e1").await.unwrap()
}

pub async fn a_requeued_child_tells_nothing_yet(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let run = claimed_child(h, "c1").await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, Swept { requeued: 1, ..Swept::default() });
    assert_eq!(callbacks(h, "p1").await, []);
    let again = claim(h, "e2").await.unwrap();
    assert_eq!(again.id, run.id);
    let done = finish(h, &again, completed()).await;
    assert_eq!(callbacks(h, "p1").await.len(), 1);
    assert_eq!(callbacks(h, "p1").await[0].run_id, done.id);
}

pub async fn a_callback_is_recorded_once_however_often_the_end_is_said(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let child = child(h, "c1", "p1", told("done")).await;
    let before = everything(h).await;
    finish(h, &child, told("done")).await;
    assert_eq!(everything(h).await, before);
    assert_eq!(callbacks(h, "p1").await.len(), 1);
}

pub async fn each_run_of_a_child_tells_its_own_end(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let first = child(h, "c1", "p1", told("one")).await;
    let again = NewRun {
        execution_mode: ExecutionMode::AsyncCallback,
        parent_session_id: Some(id("p1")),
        ..resume_of("c1")
    };
    let second = at_work(h, again).await;
    let second = finish(h, &second, told("two")).await;
    assert_eq!(callbacks(h, "p1").await, [callback(&first), callback(&second)]);
    finish(h, &parent, completed()).await;
    assert_eq!(runs_of(h, "p1").await.len(), 2);
}

pub async fn what_a_run_carried_that_never_began_waits_again(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let child = child(h, "c1", "p1", told("done")).await;
    for attempts in 1..=CALLBACK_ATTEMPTS_MAX {
        let run = claim(h, "e1").await.unwrap();
        assert_eq!(callbacks(h, "p1").await[0].delivered_by, Some(run.id.clone()));
        finish(h, &run, RunEnd::failed("could not begin")).await;
        let waiting = callbacks(h, "p1").await;
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].attempts, attempts);
    }
    let given_up = Callback { attempts: CALLBACK_ATTEMPTS_MAX, ..callback(&child) };
    assert_eq!(callbacks(h, "p1").await, [given_up], "it waits for a person");
    assert_eq!(claim(h, "e1").await, None);
    assert_eq!(sweep(h).await, Swept::default());

    // What comes later is told without it.
    let child = self::child(h, "c2", "p1", told("later")).await;
    let parameters = Callback::parameters(&[callback(&child)]).unwrap();
    assert_eq!(carrier(h, "p1").await.parameters, parameters);
}

pub async fn a_carrier_that_goes_back_to_the_queue_still_carries(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    child(h, "c1", "p1", told("done")).await;
    let run = claim(h, "e1").await.unwrap();
    let before = callbacks(h, "p1").await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, Swept { requeued: 1, ..Swept::default() });
    assert_eq!(callbacks(h, "p1").await, before);
    let again = claim(h, "e2").await.unwrap();
    assert_eq!(again.id, run.id);
}

pub async fn what_a_run_carried_that_began_is_told(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    child(h, "c1", "p1", told("done")).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    let before = callbacks(h, "p1").await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, Swept { ended: 1, ..Swept::default() });
    assert_eq!(callbacks(h, "p1").await, before);
    assert_eq!(claim(h, "e1").await, None);
}

pub async fn a_parent_that_was_stopped_is_not_resumed(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let waiting = child(h, "c1", "p1", told("one")).await;
    // Nobody had the run that carried it, so it ends, and so does the parent.
    let stopped = h.store().stop_session(id("p1")).await.unwrap();
    assert_eq!(stopped.status, SessionStatus::Cancelled);
    let released = Callback { attempts: 1, ..callback(&waiting) };
    assert_eq!(callbacks(h, "p1").await, from_ref(&released));
    let later = child(h, "c2", "p1", told("two")).await;
    assert_eq!(callbacks(h, "p1").await, [released.clone(), callback(&later)]);
    assert_eq!(sweep(h).await, Swept::default());
    assert_eq!(claim(h, "e1").await, None);

    // A person resumes it; at the end of that run it is told.
    let run = at_work(h, resume_of("p1")).await;
    finish(h, &run, idle()).await;
    let run = carrier(h, "p1").await;
    let both = [carried(released, &run), carried(callback(&later), &run)];
    assert_eq!(callbacks(h, "p1").await, both);
}

pub async fn a_parent_whose_run_was_stopped_is_not_resumed(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let child = child(h, "c1", "p1", told("done")).await;
    h.store().stop_session(id("p1")).await.unwrap();
    finish(h, &parent, stopped()).await;
    assert_eq!(session(h, "p1").await.status, SessionStatus::Cancelled);
    assert_eq!(callbacks(h, "p1").await, [callback(&child)]);
    assert_eq!(runs_of(h, "p1").await.len(), 1);
}

pub async fn a_parent_that_has_not_begun_is_told_after_its_first_run(h: &mut dyn Harness) {
    create(h, "p1").await;
    let child = child(h, "c1", "p1", told("done")).await;
    assert_eq!(callbacks(h, "p1").await, [callback(&child)]);
    assert_eq!(sweep(h).await, Swept::default());
    let run = at_work(h, crate::given_run::start_of("p1")).await;
    finish(h, &run, completed()).await;
    assert_eq!(callbacks(h, "p1").await, [carried(callback(&child), &carrier(h, "p1").await)]);
}

pub async fn a_sweep_tells_parents_that_became_free_by_themselves(h: &mut dyn Harness) {
    create(h, "p1").await;
    set_status(h, "p1", SessionStatus::Running).await;
    let child = child(h, "c1", "p1", told("done")).await;
    assert_eq!(callbacks(h, "p1").await, [callback(&child)]);
    set_status(h, "p1", SessionStatus::Idle).await;
    h.reopen().await;
    assert_eq!(sweep(h).await, Swept { callbacks: 1, ..Swept::default() });
    assert_eq!(callbacks(h, "p1").await, [carried(callback(&child), &carrier(h, "p1").await)]);
    assert_eq!(sweep(h).await, Swept::default());
}

pub async fn a_parent_that_is_gone_is_told_nothing(h: &mut dyn Harness) {
    ended(h, "p1", idle()).await;
    let told = child(h, "c1", "p1", completed()).await;
    let run = at_work_beside(h, "c2").await;
    h.store().delete_session(id("p1")).await.unwrap();
    assert_eq!(refusal(h.store().callbacks(id("p1")).await), "not-found session p1");
    assert_eq!(now(h, &told).await, Run { parent_session_id: None, ..told });
    let done = finish(h, &run, completed()).await;
    assert_eq!((done.status, done.parent_session_id), (RunStatus::Completed, None));
    assert_eq!(sweep(h).await, Swept::default());
    assert_eq!(claim(h, "e1").await, None);
    // A session that gets the name has nothing to do with it.
    create(h, "p1").await;
    assert_eq!(callbacks(h, "p1").await, []);
}

/// A child at work while the parent's own run waits in the queue before it.
async fn at_work_beside(h: &dyn Harness, name: &str) -> Run {
    let mut new = child_run(name, "p1");
    new.demands = crate::given_run::on_host("child");
    queue(h, new).await;
    let offer = ah_model::Offer {
        hostname: Some("child".to_owned()),
        tags: vec!["none".to_owned()],
        ..ah_model::Offer::default()
    };
    let mut claim = crate::given_run::claim_of("e1");
    claim.offer = offer;
    // The run of the parent waits longer, so it is the first that this executor gets.
    let carrier = h.store().claim_run(claim.clone()).await.unwrap().unwrap();
    assert_eq!(carrier.session_id, id("p1"));
    h.store().finish_run(carrier.lease(), stopped()).await.unwrap();
    let run = h.store().claim_run(claim).await.unwrap().unwrap();
    assert_eq!(run.id, run_id(&format!("run-{name}")));
    start(h, &run).await
}

pub async fn what_a_child_told_outlives_it(h: &mut dyn Harness) {
    let parent = running(h, "p1").await;
    let child = child(h, "c1", "p1", told("done")).await;
    h.store().delete_session(id("c1")).await.unwrap();
    assert_eq!(callbacks(h, "p1").await, [callback(&child)]);
    finish(h, &parent, idle()).await;
    let run = carrier(h, "p1").await;
    assert_eq!(run.parameters, Callback::parameters(&[callback(&child)]).unwrap());
}

pub async fn parents_in_a_row_are_told_one_after_the_other(h: &mut dyn Harness) {
    ended(h, "top", idle()).await;
    let middle = at_work(h, child_run("middle", "top")).await;
    let bottom = at_work(h, child_run("bottom", "middle")).await;
    finish(h, &bottom, told("from below")).await;
    assert_eq!(callbacks(h, "top").await, []);
    finish(h, &middle, told("from the middle")).await;
    // Both were waiting for something: the top for its child, the middle for its own.
    let for_top = carrier(h, "top").await;
    let for_middle = carrier(h, "middle").await;
    assert_eq!(callbacks(h, "top").await[0].delivered_by, Some(for_top.id.clone()));
    assert_eq!(callbacks(h, "middle").await[0].delivered_by, Some(for_middle.id.clone()));
    assert_eq!(for_middle.parent_session_id, None, "the session itself has no parent");
    let mut next = Vec::new();
    while let Some(run) = claim(h, "e1").await {
        next.push(run.id);
    }
    assert_eq!(next, [for_top.id, for_middle.id]);
}

pub async fn of_children_that_end_at_once_each_is_told_once(h: &mut dyn Harness) {
    const CHILDREN: u64 = 6;
    ended(h, "p1", idle()).await;
    let mut leases = Vec::new();
    for n in 0..CHILDREN {
        leases.push(at_work(h, child_run(&format!("c{n}"), "p1")).await.lease());
    }
    race(h, CHILDREN, move |store, thread| {
        let lease = leases[usize::try_from(thread).unwrap()].clone();
        block_on(store.finish_run(lease, told("done"))).unwrap()
    });
    // Whatever waits behind the first carrier is told by the ones after it.
    let mut carriers = 0;
    while let Some(run) = claim(h, "e1").await {
        start(h, &run).await;
        finish(h, &run, idle()).await;
        carriers += 1;
        assert!(carriers <= CHILDREN, "no callback is told twice");
    }
    let told = callbacks(h, "p1").await;
    assert_eq!(told.len() as u64, CHILDREN);
    assert!(told.iter().all(|one| one.delivered_by.is_some() && one.attempts == 0), "{told:?}");
    let mut shown = Vec::new();
    for run in &runs_of(h, "p1").await[1..] {
        let carried: Vec<_> =
            told.iter().filter(|one| one.delivered_by.as_ref() == Some(&run.id)).cloned().collect();
        assert_eq!(run.parameters, Callback::parameters(&carried).unwrap());
        shown.extend(carried.into_iter().map(|one| one.run_id));
    }
    shown.sort();
    shown.dedup();
    assert_eq!(shown.len() as u64, CHILDREN);
}

pub async fn of_a_child_and_its_parent_that_end_at_once_the_parent_is_told(h: &mut dyn Harness) {
    for round in 0..10 {
        let name = format!("p{round}");
        let parent = running(h, &name).await.lease();
        let child = at_work(h, child_run(&format!("c{round}"), &name)).await.lease();
        let leases = [parent, child];
        race(h, 2, move |store, thread| {
            let lease = leases[usize::try_from(thread).unwrap()].clone();
            block_on(store.finish_run(lease, idle())).unwrap()
        });
        let run = carrier(h, &name).await;
        assert_eq!(callbacks(h, &name).await[0].delivered_by, Some(run.id), "round {round}");
        claim(h, "e1").await.unwrap();
    }
    let held = claimed(h, "other").await;
    assert_eq!(held.status, RunStatus::Claimed);
}
