//! Sweeping: what time decides about runs, when somebody looks.

use ah_model::limits::{RUN_CLAIMS_MAX, SWEEP_MAX};
use ah_model::{LOST, NewRun, Run, RunStatus, Session, SessionStatus, Swept};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{everything, id, note, race};
use crate::given_run::{
    LEASE_MS, assert_refused, claim, claim_of, claimed, completed, ended, finish, first_run, now,
    on_host, queue, resume_of, run_id, running, session, start, sweep,
};

const LEASE: i64 = 30_000;

fn requeued(requeued: u64) -> Swept {
    Swept { requeued, ..Swept::default() }
}

fn swept(ended: u64) -> Swept {
    Swept { ended, ..Swept::default() }
}

pub async fn a_sweep_with_nothing_due_changes_nothing(h: &mut dyn Harness) {
    assert_eq!(sweep(h).await, Swept::default());
    claimed(h, "s1").await;
    running(h, "s2").await;
    let stopping = running(h, "s3").await;
    h.store().stop_run(stopping.id).await.unwrap();
    ended(h, "s4", completed()).await;
    queue(h, first_run("s5")).await;
    queue(h, NewRun { timeout_ms: Some(LEASE_MS), ..first_run("s6") }).await;
    h.clock().advance_ms(LEASE - 1);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, Swept::default());
    assert_eq!(everything(h).await, before, "a millisecond is left");
}

pub async fn a_claim_that_is_over_goes_back_to_its_old_place(h: &mut dyn Harness) {
    let first = claimed(h, "s1").await;
    let before = session(h, "s1").await;
    let second = queue(h, first_run("s2")).await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, requeued(1));
    let expected = Run {
        status: RunStatus::Pending,
        executor_id: None,
        lease_expires_at: None,
        ..first.clone()
    };
    assert_eq!(now(h, &first).await, expected, "it keeps its epoch");
    assert_eq!(session(h, "s1").await, before);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, Swept::default(), "once is enough");
    assert_eq!(everything(h).await, before);

    let next = claim(h, "e2").await.unwrap();
    assert_eq!((next.id, next.lease_epoch), (first.id, 2));
    assert_eq!(claim(h, "e2").await.unwrap().id, second.id);
}

pub async fn a_run_lost_at_work_has_failed(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let before = session(h, "s1").await;
    h.clock().advance_ms(LEASE + 7);
    let at = h.clock().now();
    assert_eq!(sweep(h).await, swept(1));
    let lost = Run {
        status: RunStatus::Failed,
        error: Some(LOST.to_owned()),
        lease_expires_at: None,
        ended_at: Some(at),
        ..run.clone()
    };
    assert_eq!(now(h, &run).await, lost);
    let after = session(h, "s1").await;
    assert_eq!(after.exit.reason.as_deref(), Some(LOST));
    let expected = Session {
        status: SessionStatus::Failed,
        ended_at: Some(at),
        last_activity_at: at,
        exit: after.exit.clone(),
        ..before
    };
    assert_eq!(after, expected);

    // The holder comes back too late.
    let before = everything(h).await;
    let refused = h.store().finish_run(run.lease(), completed()).await;
    assert_refused(h, &before, refused, "conflict run run-s1").await;
    let refused = h.store().append_to_run(run.lease(), vec![note("9")]).await;
    assert_refused(h, &before, refused, "conflict run run-s1").await;
    assert_eq!(claim(h, "e1").await, None);
}

pub async fn a_run_that_may_be_requeued_is_when_it_is_lost_at_work(h: &mut dyn Harness) {
    queue(h, NewRun { requeue: true, ..first_run("s1") }).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    let before = session(h, "s1").await;
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, requeued(1));
    let waiting = now(h, &run).await;
    assert_eq!((waiting.status, waiting.started_at), (RunStatus::Pending, None));
    assert_eq!(session(h, "s1").await, before, "its session is still at work");

    let again = claim(h, "e2").await.unwrap();
    assert_eq!((again.id.clone(), again.lease_epoch), (run.id.clone(), 2));
    start(h, &again).await;
    let before = everything(h).await;
    let refused = h.store().finish_run(run.lease(), completed()).await;
    assert_refused(h, &before, refused, "conflict run run-s1").await;
    finish(h, &again, completed()).await;
    assert_eq!(session(h, "s1").await.status, SessionStatus::Succeeded);
}

pub async fn a_run_lost_too_often_fails_for_good(h: &mut dyn Harness) {
    queue(h, NewRun { requeue: true, ..first_run("s1") }).await;
    for epoch in 1..RUN_CLAIMS_MAX {
        let run = claim(h, "e1").await.unwrap();
        assert_eq!(run.lease_epoch, epoch);
        if epoch % 2 == 0 {
            start(h, &run).await;
        }
        h.clock().advance_ms(LEASE);
        assert_eq!(sweep(h).await, requeued(1));
    }
    let last = claim(h, "e1").await.unwrap();
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, swept(1));
    let failed = now(h, &last).await;
    assert_eq!((failed.status, failed.lease_epoch), (RunStatus::Failed, RUN_CLAIMS_MAX));
    assert!(failed.error.is_some());
    assert_eq!(session(h, "s1").await.status, SessionStatus::Failed);
    assert_eq!(claim(h, "e1").await, None);
}

pub async fn a_run_that_nobody_took_in_time_has_failed(h: &mut dyn Harness) {
    let run = queue(h, NewRun { timeout_ms: Some(5_000), ..first_run("s1") }).await;
    h.clock().advance_ms(4_999);
    assert_eq!(sweep(h).await, Swept::default());
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, swept(1));
    let failed = now(h, &run).await;
    let expected = Run {
        status: RunStatus::Failed,
        error: failed.error.clone(),
        take_by: None,
        ended_at: Some(h.clock().now()),
        ..run
    };
    assert_eq!(failed, expected);
    assert!(failed.error.as_deref().is_some_and(|error| error.contains("5 s")), "{failed:?}");
    let session = session(h, "s1").await;
    assert_eq!((session.status, session.ended_at), (SessionStatus::Failed, failed.ended_at));
    assert_eq!(claim(h, "e1").await, None);
}

pub async fn a_claim_ends_the_wait_and_a_lost_one_waits_its_whole_time_again(h: &mut dyn Harness) {
    let run = queue(h, NewRun { timeout_ms: Some(5_000), ..first_run("s1") }).await;
    h.clock().advance_ms(4_000);
    claim(h, "e1").await.unwrap();
    h.clock().advance_ms(20_000);
    assert_eq!(sweep(h).await, Swept::default(), "somebody has it");
    h.clock().advance_ms(10_000);
    assert_eq!(sweep(h).await, requeued(1));
    let waiting = now(h, &run).await;
    assert_eq!(waiting.take_by, Some(h.clock().now().plus_ms(5_000)));
    h.clock().advance_ms(4_999);
    assert_eq!(sweep(h).await, Swept::default());
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, swept(1));
}

pub async fn a_resume_that_nobody_took_leaves_the_session_as_it_ended(h: &mut dyn Harness) {
    ended(h, "s1", completed()).await;
    let before = session(h, "s1").await;
    queue(h, NewRun { timeout_ms: Some(1), ..resume_of("s1") }).await;
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, swept(1));
    assert_eq!(session(h, "s1").await, before);
    queue(h, resume_of("s1")).await;
}

pub async fn a_run_lost_while_it_stops_is_stopped(h: &mut dyn Harness) {
    for (name, started) in [("s1", true), ("s2", false)] {
        queue(h, NewRun { requeue: true, ..first_run(name) }).await;
        let run = claim(h, "e1").await.unwrap();
        if started {
            start(h, &run).await;
        }
        h.store().stop_run(run.id.clone()).await.unwrap();
        h.clock().advance_ms(LEASE);
        assert_eq!(sweep(h).await, swept(1));
        let lost = now(h, &run).await;
        let error = Some(LOST.to_owned());
        assert_eq!((lost.status, lost.error), (RunStatus::Stopped, error), "{name}");
        assert_eq!(session(h, name).await.status, SessionStatus::Cancelled, "{name}");
    }
}

pub async fn a_lease_that_is_over_is_good_until_it_is_swept(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    h.clock().advance_ms(10 * LEASE);
    start(h, &run).await;
    h.store().append_to_run(run.lease(), vec![note("0")]).await.unwrap();
    let renewed = h.store().renew_run(run.lease(), LEASE_MS).await.unwrap();
    assert_eq!(renewed.lease_expires_at, Some(h.clock().now().plus_ms(LEASE_MS)));
    assert_eq!(sweep(h).await, Swept::default());
    h.clock().advance_ms(10 * LEASE);
    let done = finish(h, &run, completed()).await;
    assert_eq!(done.status, RunStatus::Completed);
    assert_eq!(sweep(h).await, Swept::default());
}

pub async fn a_clock_that_goes_back_ends_no_lease(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    queue(h, NewRun { timeout_ms: Some(1_000), ..first_run("s2") }).await;
    h.clock().advance_ms(-10 * LEASE);
    let before = everything(h).await;
    assert_eq!(sweep(h).await, Swept::default());
    assert_eq!(everything(h).await, before);
    // A renewal counts from the time it is now, wherever that is.
    let renewed = h.store().renew_run(run.lease(), LEASE_MS).await.unwrap();
    assert_eq!(renewed.lease_expires_at, Some(h.clock().now().plus_ms(LEASE_MS)));
    h.clock().advance_ms(LEASE);
    assert_eq!(sweep(h).await, requeued(1));
    assert_eq!(now(h, &run).await.status, RunStatus::Pending);
}

pub async fn what_is_due_survives_reopening(h: &mut dyn Harness) {
    let lost = running(h, "s1").await;
    let void = claimed(h, "s2").await;
    h.clock().advance_ms(LEASE);
    h.reopen().await;
    assert_eq!(sweep(h).await, Swept { requeued: 1, ended: 1, callbacks: 0 });
    assert_eq!(now(h, &lost).await.status, RunStatus::Failed);
    assert_eq!(now(h, &void).await.status, RunStatus::Pending);
}

pub async fn a_sweep_is_bounded_and_goes_on_where_it_ended(h: &mut dyn Harness) {
    let count = SWEEP_MAX + 10;
    for n in 0..count {
        queue(h, NewRun { timeout_ms: Some(1), ..first_run(&format!("s{n}")) }).await;
    }
    // Somebody's whole time to wait is not over.
    let patient = NewRun { demands: on_host("h"), ..first_run("patient") };
    queue(h, patient).await;
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, swept(SWEEP_MAX as u64));
    assert_eq!(sweep(h).await, swept(10));
    assert_eq!(sweep(h).await, Swept::default());
    let waiting = h.store().run(run_id("run-patient")).await.unwrap();
    assert_eq!(waiting.status, RunStatus::Pending);
}

pub async fn racing_sweeps_do_everything_once(h: &mut dyn Harness) {
    for n in 0..10 {
        running(h, &format!("s{n}")).await;
    }
    for n in 0..10 {
        claimed(h, &format!("t{n}")).await;
    }
    h.clock().advance_ms(LEASE);
    let answers = race(h, 4, |store, _| block_on(store.sweep_runs()).unwrap());
    let requeued: u64 = answers.iter().map(|swept| swept.requeued).sum();
    let ended: u64 = answers.iter().map(|swept| swept.ended).sum();
    assert_eq!((requeued, ended), (10, 10));
    for n in 0..10 {
        let failed = h.store().session_runs(id(&format!("s{n}"))).await.unwrap();
        assert_eq!(failed[0].status, RunStatus::Failed);
    }
    let mut claimed = 0;
    while h.store().claim_run(claim_of("e2")).await.unwrap().is_some() {
        claimed += 1;
    }
    assert_eq!(claimed, 10);
}
