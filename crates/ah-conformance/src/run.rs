//! Runs: one live one per session.

use ah_model::{NewRun, Run, RunId, RunKind, RunStatus};
use ah_store::Clock;

use crate::Harness;
use crate::given::{create, everything, id, json, new_task, refusal};

fn new_run(session: &str) -> NewRun {
    NewRun {
        session_id: id(session),
        kind: RunKind::Resume,
        parameters: json(r#"{"b":1.00,"a":[],"big":123456789012345678901234567890}"#),
        demands: Some(json("null")),
    }
}

pub async fn a_run_is_queued_as_pending_and_keeps_what_it_was_given(h: &mut dyn Harness) {
    let session = create(h, "s1").await;
    h.clock().advance_ms(1_000);
    let run = h.store().create_run(new_run("s1")).await.unwrap();
    let given = new_run("s1");
    let expected = Run {
        id: run.id.clone(),
        session_id: given.session_id,
        kind: RunKind::Resume,
        status: RunStatus::Pending,
        parameters: given.parameters,
        demands: given.demands,
        executor_id: None,
        lease_epoch: 0,
        lease_expires_at: None,
        stop_requested_at: None,
        execution_mode: None,
        error: None,
        result: None,
        created_at: h.clock().now(),
        claimed_at: None,
        started_at: None,
        ended_at: None,
    };
    assert_eq!(run, expected);
    h.reopen().await;
    assert_eq!(h.store().run(run.id).await.unwrap(), expected);
    assert_eq!(h.store().session_runs(id("s1")).await.unwrap(), [expected]);
    let after = h.store().session(id("s1")).await.unwrap();
    assert_eq!(after, session, "a queued run is no activity");
}

pub async fn a_session_with_a_live_run_takes_no_other(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    let run = h.store().create_run(new_run("s1")).await.unwrap();
    let before = everything(h).await;
    assert_eq!(refusal(h.store().create_run(new_run("s1")).await), "conflict session s1");
    assert_eq!(everything(h).await, before);

    let other = h.store().create_run(new_run("s2")).await.unwrap();
    assert!(run.id < other.id, "minted ids sort by their minting");
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    let session = batch.session_ids[0].as_str();
    let refused = refusal(h.store().create_run(new_run(session)).await);
    assert_eq!(refused, format!("conflict session {session}"));
}

pub async fn runs_of_nothing_are_not_found(h: &mut dyn Harness) {
    let store = h.store();
    let unknown: RunId = "r1".parse().unwrap();
    assert_eq!(refusal(store.create_run(new_run("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.session_runs(id("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.run(unknown).await), "not-found run r1");
    create(h, "s1").await;
    assert_eq!(store.session_runs(id("s1")).await.unwrap(), []);
}
