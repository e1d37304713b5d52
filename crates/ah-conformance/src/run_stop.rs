//! Stopping: at every stage of a run's life, and how its holder is told.

use std::slice::from_ref;

use ah_model::limits::STOP_AGAIN_MS;
use ah_model::{Run, RunKind, RunOutcome, RunStatus, Session, SessionId, SessionStatus, Timestamp};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{create, everything, id, race, refusal, set_status};
use crate::given_run::{
    LEASE_MS, assert_refused, claim, claimed, completed, ended, executor_id, finish, first_run,
    idle, now, queue, resume_of, run_id, running, session, start, start_of, stopped,
};

fn ms(ms: u64) -> i64 {
    ms.try_into().unwrap()
}

/// The runs that `executor` is told to stop now.
async fn orders(h: &dyn Harness, executor: &str) -> Vec<Run> {
    h.store().stop_orders(executor_id(executor)).await.unwrap()
}

/// Asks in one of the two ways; both must do the same.
async fn ask(h: &dyn Harness, by_run: bool, run: &Run) -> (Session, Run) {
    match by_run {
        true => {
            let asked = h.store().stop_run(run.id.clone()).await.unwrap();
            (session(h, run.session_id.as_str()).await, asked)
        }
        false => {
            let asked = h.store().stop_session(run.session_id.clone()).await.unwrap();
            assert_eq!(session(h, run.session_id.as_str()).await, asked);
            (asked, now(h, run).await)
        }
    }
}

fn ended_at(session: Session, status: SessionStatus, at: Timestamp) -> Session {
    Session { status, ended_at: Some(at), last_activity_at: at, ..session }
}

pub async fn a_run_that_nobody_has_ends_at_once(h: &mut dyn Harness) {
    for (name, by_run) in [("s1", true), ("s2", false)] {
        let run = queue(h, first_run(name)).await;
        let before = session(h, name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let (session, stopped) = ask(h, by_run, &run).await;
        let expected = Run {
            status: RunStatus::Stopped,
            stop_requested_at: Some(at),
            ended_at: Some(at),
            take_by: None,
            ..run
        };
        assert_eq!(stopped, expected);
        assert_eq!(session, ended_at(before, SessionStatus::Cancelled, at));
        assert_eq!(claim(h, "e1").await, None);
        assert_eq!(orders(h, "e1").await, []);
    }
}

pub async fn the_holder_of_a_claim_is_asked_and_its_session_waits(h: &mut dyn Harness) {
    for (name, by_run) in [("s1", true), ("s2", false)] {
        let run = claimed(h, name).await;
        let before = session(h, name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let (session, asked) = ask(h, by_run, &run).await;
        let expected = Run { status: RunStatus::Stopping, stop_requested_at: Some(at), ..run };
        assert_eq!(asked, expected);
        assert_eq!(session, before, "nothing has happened to it");
        let done = finish(h, &expected, stopped()).await;
        assert_eq!(done.status, RunStatus::Stopped);
        assert_eq!(crate::given_run::session(h, name).await.status, SessionStatus::Cancelled);
    }
}

pub async fn a_run_at_work_is_stopping_until_its_end_is_reported(h: &mut dyn Harness) {
    for (name, by_run) in [("s1", true), ("s2", false)] {
        let run = running(h, name).await;
        let before = session(h, name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let (stopping, asked) = ask(h, by_run, &run).await;
        let expected = Run { status: RunStatus::Stopping, stop_requested_at: Some(at), ..run };
        assert_eq!(asked, expected);
        let expected_session =
            Session { status: SessionStatus::Stopping, last_activity_at: at, ..before };
        assert_eq!(stopping, expected_session);
        h.clock().advance_ms(10);
        let at = h.clock().now();
        finish(h, &expected, stopped()).await;
        let after = session(h, name).await;
        assert_eq!(after, ended_at(expected_session, SessionStatus::Cancelled, at));
    }
}

pub async fn asking_again_is_no_change(h: &mut dyn Harness) {
    for (name, started) in [("s1", true), ("s2", false)] {
        let run = claimed(h, name).await;
        if started {
            start(h, &run).await;
        }
        let asked = h.store().stop_run(run.id.clone()).await.unwrap();
        h.clock().advance_ms(50);
        let before = everything(h).await;
        assert_eq!(h.store().stop_run(run.id.clone()).await.unwrap(), asked);
        h.store().stop_session(id(name)).await.unwrap();
        assert_eq!(everything(h).await, before);
    }
}

pub async fn what_has_ended_is_not_stopped(h: &mut dyn Harness) {
    for (index, outcome) in
        [RunOutcome::Completed, RunOutcome::Failed, RunOutcome::Stopped].into_iter().enumerate()
    {
        let name = format!("s{index}");
        let run = ended(h, &name, ah_model::RunEnd::new(outcome)).await;
        let before = everything(h).await;
        let refused = h.store().stop_run(run.id.clone()).await;
        assert_refused(h, &before, refused, &format!("conflict run {}", run.id)).await;
        let refused = h.store().stop_session(id(&name)).await;
        assert_refused(h, &before, refused, &format!("conflict session {name}")).await;
    }
    // A run that ended says nothing of the one that came after it.
    let first = run_id("run-s0");
    queue(h, resume_of("s0")).await;
    let before = everything(h).await;
    let refused = h.store().stop_run(first).await;
    assert_refused(h, &before, refused, "conflict run run-s0").await;
}

pub async fn a_session_without_a_run_is_stopped_by_where_it_stands(h: &mut dyn Harness) {
    use SessionStatus::{Cancelled, Created, Idle, Running, Stopping};
    let ways: [(SessionStatus, &[SessionStatus], SessionStatus); 4] = [
        (Created, &[], Cancelled),
        (Running, &[Running], Stopping),
        (Idle, &[Running, Idle], Cancelled),
        (Stopping, &[Running, Stopping], Stopping),
    ];
    for (from, way, to) in ways {
        let name = from.to_string();
        create(h, &name).await;
        for status in way {
            set_status(h, &name, *status).await;
        }
        let before = session(h, &name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let expected = match to {
            Cancelled => ended_at(before, Cancelled, at),
            Stopping if from == Stopping => before,
            _ => Session { status: to, last_activity_at: at, ..before },
        };
        assert_eq!(h.store().stop_session(id(&name)).await.unwrap(), expected, "{from}");
        assert_eq!(session(h, &name).await, expected, "{from}");
    }
}

pub async fn stopping_an_idle_session_with_a_resume_in_the_queue_ends_both(h: &mut dyn Harness) {
    ended(h, "s1", idle()).await;
    let resume = queue(h, resume_of("s1")).await;
    let stopped = h.store().stop_session(id("s1")).await.unwrap();
    assert_eq!(stopped.status, SessionStatus::Cancelled);
    assert_eq!(now(h, &resume).await.status, RunStatus::Stopped);
}

pub async fn a_session_that_ended_keeps_its_end_when_its_resume_is_stopped(h: &mut dyn Harness) {
    ended(h, "s1", completed()).await;
    let before = session(h, "s1").await;
    let resume = queue(h, resume_of("s1")).await;
    h.clock().advance_ms(10);
    assert_eq!(h.store().stop_session(id("s1")).await.unwrap(), before);
    assert_eq!(now(h, &resume).await.status, RunStatus::Stopped);

    queue(h, resume_of("s1")).await;
    let resume = claim(h, "e1").await.unwrap();
    assert_eq!(h.store().stop_session(id("s1")).await.unwrap(), before);
    assert_eq!(now(h, &resume).await.status, RunStatus::Stopping);
    assert_eq!(resume.kind, RunKind::Resume);
}

pub async fn a_run_that_was_asked_to_stop_may_end_as_it_likes(h: &mut dyn Harness) {
    let ways = [
        (completed(), RunStatus::Completed, SessionStatus::Succeeded),
        (idle(), RunStatus::Completed, SessionStatus::Cancelled),
        (ah_model::RunEnd::failed("x"), RunStatus::Failed, SessionStatus::Failed),
        (stopped(), RunStatus::Stopped, SessionStatus::Cancelled),
    ];
    for (index, (end, status, session_status)) in ways.into_iter().enumerate() {
        let name = format!("s{index}");
        let run = running(h, &name).await;
        h.store().stop_session(id(&name)).await.unwrap();
        assert_eq!(finish(h, &run, end).await.status, status);
        assert_eq!(session(h, &name).await.status, session_status, "end {index}");
    }
}

pub async fn a_stop_is_handed_out_once_and_again_after_a_while(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    assert_eq!(orders(h, "e1").await, []);
    let asked = h.store().stop_run(run.id.clone()).await.unwrap();
    assert_eq!(orders(h, "e2").await, [], "somebody else's");
    assert_eq!(orders(h, "e1").await, from_ref(&asked));
    assert_eq!(orders(h, "e1").await, []);
    h.clock().advance_ms(ms(STOP_AGAIN_MS) - 1);
    h.reopen().await;
    assert_eq!(orders(h, "e1").await, [], "it was handed out by the process before");
    h.clock().advance_ms(2);
    assert_eq!(orders(h, "e1").await, from_ref(&asked), "it still lives");
    assert_eq!(orders(h, "e1").await, []);
    // Asking again is no change, so it is no new order either.
    h.store().stop_run(run.id.clone()).await.unwrap();
    assert_eq!(orders(h, "e1").await, []);
    h.clock().advance_ms(ms(STOP_AGAIN_MS) + 1);
    let renewed = h.store().renew_run(run.lease(), LEASE_MS).await.unwrap();
    assert_eq!(orders(h, "e1").await, [renewed]);
    finish(h, &run, stopped()).await;
    h.clock().advance_ms(ms(STOP_AGAIN_MS) + 1);
    assert_eq!(orders(h, "e1").await, [], "it has ended");
}

pub async fn each_executor_gets_its_own_orders(h: &mut dyn Harness) {
    let mut held = Vec::new();
    for (name, executor) in [("s1", "e1"), ("s2", "e2"), ("s3", "e1")] {
        queue(h, first_run(name)).await;
        held.push(claim(h, executor).await.unwrap());
    }
    for run in &held {
        h.store().stop_run(run.id.clone()).await.unwrap();
    }
    let ids = |runs: Vec<Run>| -> Vec<SessionId> {
        let mut ids: Vec<_> = runs.into_iter().map(|run| run.session_id).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(orders(h, "e1").await), [id("s1"), id("s3")]);
    assert_eq!(ids(orders(h, "e2").await), [id("s2")]);
}

pub async fn of_racing_askers_for_orders_one_gets_each(h: &mut dyn Harness) {
    for round in 0..5 {
        let run = running(h, &format!("s{round}")).await;
        h.store().stop_run(run.id.clone()).await.unwrap();
        let got = race(h, 4, |store, _| block_on(store.stop_orders(executor_id("e1"))).unwrap());
        assert_eq!(got.concat().len(), 1);
        finish(h, &run, stopped()).await;
    }
}

pub async fn of_a_stop_racing_with_a_claim_one_is_first(h: &mut dyn Harness) {
    for round in 0..10 {
        let name = format!("s{round}");
        create(h, &name).await;
        let run = queue(h, start_of(&name)).await;
        let id = run.id.clone();
        race(h, 2, move |store, thread| match thread {
            0 => drop(block_on(store.stop_run(id.clone())).unwrap()),
            _ => drop(block_on(store.claim_run(crate::given_run::claim_of("e1"))).unwrap()),
        });
        let after = now(h, &run).await;
        match after.status {
            RunStatus::Stopped => {
                assert_eq!(after.lease_epoch, 0);
                assert_eq!(session(h, &name).await.status, SessionStatus::Cancelled);
            }
            RunStatus::Stopping => {
                assert_eq!(after.lease_epoch, 1);
                assert_eq!(session(h, &name).await.status, SessionStatus::Created);
            }
            status => panic!("round {round}: {status}"),
        }
    }
    assert_eq!(refusal(h.store().stop_session(id("x")).await), "not-found session x");
}

pub async fn a_session_that_is_ended_by_somebody_is_not_executed(h: &mut dyn Harness) {
    let held = running(h, "s2").await;
    let waiting = queue(h, first_run("s1")).await;
    for name in ["s1", "s2"] {
        set_status(h, name, SessionStatus::Cancelled).await;
    }
    assert_eq!(h.store().run(waiting.id).await.unwrap().status, RunStatus::Stopped);
    assert_eq!(h.store().run(held.id.clone()).await.unwrap().status, RunStatus::Stopping);
    assert_eq!(claim(h, "e1").await, None);
    finish(h, &held, stopped()).await;
    assert_eq!(session(h, "s2").await.status, SessionStatus::Cancelled);
}
