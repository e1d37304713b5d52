//! Claims: who gets a run, for how long, and how nobody else moves it.

use std::collections::BTreeSet;

use ah_model::limits::{LEASE_MS_MAX, LEASE_MS_MIN};
use ah_model::{
    Demands, Lease, NewRun, NewTask, Offer, Run, RunClaim, RunId, RunStatus, SessionUpdate,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{create, everything, id, log, new_task, note, race, refusal};
use crate::given_run::{
    LEASE_MS, assert_refused, at_epoch, claim, claim_of, claimed, completed, executor_id,
    first_run, now, on_host, queue, run_id, running, session, start, start_of, sweep,
};

pub async fn the_run_that_waits_longest_is_claimed_first(h: &mut dyn Harness) {
    let mut queued = Vec::new();
    for name in ["c", "a", "b"] {
        queued.push(queue(h, first_run(name)).await);
        h.clock().advance_ms(-1_000);
    }
    for (waiting, executor) in queued.into_iter().zip(["e2", "e1", "e2"]) {
        h.clock().advance_ms(7);
        let expected = Run {
            status: RunStatus::Claimed,
            executor_id: Some(executor_id(executor)),
            lease_epoch: 1,
            lease_expires_at: Some(h.clock().now().plus_ms(LEASE_MS)),
            claimed_at: Some(h.clock().now()),
            ..waiting
        };
        assert_eq!(claim(h, executor).await, Some(expected.clone()));
        assert_eq!(now(h, &expected).await, expected);
    }
    assert_eq!(claim(h, "e1").await, None, "nobody gets what another has");
}

pub async fn a_claim_is_no_activity_of_the_session_and_survives_reopening(h: &mut dyn Harness) {
    let before = create(h, "s1").await;
    queue(h, start_of("s1")).await;
    h.clock().advance_ms(500);
    let run = claim(h, "e1").await.unwrap();
    assert_eq!(session(h, "s1").await, before);
    h.reopen().await;
    assert_eq!(now(h, &run).await, run);
    assert_eq!(claim(h, "e2").await, None);
    let renewed = h.store().renew_run(run.lease(), LEASE_MS).await.unwrap();
    assert_eq!(renewed, run, "the lease is good in the next process");
}

/// What is demanded, what is offered, and whether that is enough.
fn matches() -> Vec<(Demands, Offer, bool)> {
    let text = |text: &str| Some(text.to_owned());
    let tags = |tags: &[&str]| tags.iter().map(ToString::to_string).collect::<Vec<_>>();
    let nothing = Demands::default();
    let tagged = |wanted: &[&str]| Demands { tags: tags(wanted), ..Demands::default() };
    let offer = Offer {
        hostname: text("h"),
        project_dir: text("/d"),
        executor_profile: text("p"),
        executor_type: text("t"),
        tags: tags(&["gpu", "eu ☃"]),
        require_matching_tags: false,
    };
    let choosy = Offer { require_matching_tags: true, ..offer.clone() };
    let all = Demands {
        hostname: text("h"),
        project_dir: text("/d"),
        executor_profile: text("p"),
        executor_type: text("t"),
        tags: tags(&["eu ☃"]),
        ..Demands::default()
    };
    vec![
        (nothing.clone(), Offer::default(), true),
        (nothing.clone(), offer.clone(), true),
        (all.clone(), offer.clone(), true),
        (all.clone(), choosy.clone(), true),
        (all, Offer::default(), false),
        (on_host("h"), offer.clone(), true),
        (on_host("H"), offer.clone(), false),
        (on_host(""), Offer::default(), false),
        (Demands { project_dir: text("/d/e"), ..nothing.clone() }, offer.clone(), false),
        (Demands { executor_profile: text("x"), ..nothing.clone() }, offer.clone(), false),
        (Demands { executor_type: text("x"), ..nothing.clone() }, offer.clone(), false),
        (tagged(&["gpu", "eu ☃"]), offer.clone(), true),
        (tagged(&["gpu", "arm"]), offer.clone(), false),
        (tagged(&["GPU"]), offer, false),
        (nothing, choosy.clone(), false),
        (tagged(&["gpu"]), choosy, true),
    ]
}

pub async fn only_runs_whose_demands_are_met_are_claimed(h: &mut dyn Harness) {
    for (index, (demands, offer, meets)) in matches().into_iter().enumerate() {
        let name = format!("s{index}");
        let run = queue(h, NewRun { demands, ..first_run(&name) }).await;
        let got = h.store().claim_run(RunClaim { offer, ..claim_of("e1") }).await.unwrap();
        let expected = meets.then_some(run.id.clone());
        assert_eq!(got.map(|run| run.id), expected, "match {index}");
        if !meets {
            h.store().stop_run(run.id).await.unwrap();
        }
    }
}

pub async fn a_run_that_does_not_fit_holds_up_nobody_and_keeps_its_place(h: &mut dyn Harness) {
    for (name, host) in [("s1", "far"), ("s2", "near"), ("s3", "far"), ("s4", "near")] {
        queue(h, NewRun { demands: on_host(host), ..first_run(name) }).await;
    }
    let mut got = Vec::new();
    for host in ["near", "far", "near", "near", "far"] {
        let offer = Offer { hostname: Some(host.to_owned()), ..Offer::default() };
        let run = h.store().claim_run(RunClaim { offer, ..claim_of("e1") }).await.unwrap();
        got.push(run.map(|run| run.session_id.to_string()));
    }
    let expected = [Some("s2"), Some("s1"), Some("s4"), None, Some("s3")];
    assert_eq!(got, expected.map(|name| name.map(str::to_owned)));
}

pub async fn a_renewal_keeps_the_lease_from_now_on(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    for (ms, lease_ms) in [(5, LEASE_MS), (100, LEASE_MS_MIN), (-900, LEASE_MS_MAX)] {
        h.clock().advance_ms(ms);
        let expires = h.clock().now().plus_ms(lease_ms);
        let expected = Run { lease_expires_at: Some(expires), ..run.clone() };
        let renewed = h.store().renew_run(run.lease(), lease_ms).await.unwrap();
        assert_eq!(renewed, expected);
        assert_eq!(now(h, &run).await, expected);
    }
    h.store().stop_run(run.id.clone()).await.unwrap();
    let renewed = h.store().renew_run(run.lease(), LEASE_MS).await.unwrap();
    assert_eq!(renewed.status, RunStatus::Stopping, "the holder sees that a stop is wanted");
}

pub async fn leases_that_are_too_short_or_too_long_are_refused(h: &mut dyn Harness) {
    let held = claimed(h, "s1").await;
    queue(h, first_run("s2")).await;
    let before = everything(h).await;
    for lease_ms in [0, LEASE_MS_MIN - 1, LEASE_MS_MAX + 1, u64::MAX] {
        let refused = h.store().claim_run(RunClaim { lease_ms, ..claim_of("e2") }).await;
        assert_refused(h, &before, refused, "invalid leaseMs").await;
        let refused = h.store().renew_run(held.lease(), lease_ms).await;
        assert_refused(h, &before, refused, "invalid leaseMs").await;
    }
    let offer = Offer { tags: vec![String::new()], ..Offer::default() };
    let refused = h.store().claim_run(RunClaim { offer, ..claim_of("e2") }).await;
    assert_refused(h, &before, refused, "invalid tags").await;
}

/// Every way to move a run with `lease` is refused and changes nothing.
async fn assert_fenced(h: &dyn Harness, lease: &Lease) {
    let (store, before) = (h.store(), everything(h).await);
    let expected = format!("conflict run {}", lease.run_id);
    let lease = || lease.clone();
    assert_refused(h, &before, store.renew_run(lease(), LEASE_MS).await, &expected).await;
    assert_refused(h, &before, store.start_run(lease()).await, &expected).await;
    let update = SessionUpdate { hostname: Some("h".to_owned()), ..SessionUpdate::default() };
    assert_refused(h, &before, store.bind_run(lease(), update).await, &expected).await;
    let appended = store.append_to_run(lease(), vec![note("0")]).await;
    assert_refused(h, &before, appended, &expected).await;
    let ended = store.finish_run(lease(), completed()).await;
    assert_refused(h, &before, ended, &expected).await;
}

pub async fn a_holder_with_an_older_epoch_moves_nothing(h: &mut dyn Harness) {
    let first = claimed(h, "s1").await;
    h.clock().advance_ms(LEASE_MS.try_into().unwrap());
    assert_eq!(sweep(h).await.requeued, 1);
    assert_fenced(h, &first.lease()).await;

    let second = claim(h, "e2").await.unwrap();
    assert_eq!((second.id.clone(), second.lease_epoch), (first.id.clone(), 2));
    assert_fenced(h, &first.lease()).await;
    start(h, &second).await;
    assert_fenced(h, &first.lease()).await;
    h.store().stop_run(second.id.clone()).await.unwrap();
    assert_fenced(h, &first.lease()).await;
    h.store().finish_run(second.lease(), completed()).await.unwrap();
    assert_fenced(h, &first.lease()).await;
    assert_eq!(log(h, "s1").await, []);
}

pub async fn a_run_that_nobody_holds_has_no_lease(h: &mut dyn Harness) {
    let run = queue(h, first_run("s1")).await;
    for epoch in [0, 1] {
        assert_fenced(h, &at_epoch(&run, epoch)).await;
    }
    let run = claim(h, "e1").await.unwrap();
    for epoch in [0, 2, u64::MAX] {
        assert_fenced(h, &at_epoch(&run, epoch)).await;
    }
    assert_eq!(now(h, &run).await, run);
}

pub async fn claiming_does_not_sweep(h: &mut dyn Harness) {
    claimed(h, "s1").await;
    let waiting = NewRun { timeout_ms: Some(1), ..first_run("s2") };
    queue(h, waiting).await;
    h.clock().advance_ms(10 * i64::try_from(LEASE_MS).unwrap());
    let got = claim(h, "e2").await.unwrap();
    assert_eq!(got.id, run_id("run-s2"), "nobody said yet that its time is over");
    assert_eq!(claim(h, "e2").await, None, "nor that the claim before is void");
}

const RUNS: u32 = 40;
const CLAIMERS: u64 = 8;

pub async fn of_racing_claims_each_run_goes_to_one(h: &mut dyn Harness) {
    let task = NewTask { instances: RUNS, ..new_task("do it") };
    let batch = h.store().create_task(task).await.unwrap();
    let got = race(h, CLAIMERS, |store, thread| {
        let claim = claim_of(&format!("e{thread}"));
        let mut runs = Vec::new();
        while let Some(run) = block_on(store.claim_run(claim.clone())).unwrap() {
            assert_eq!(run.executor_id, Some(claim.executor_id.clone()));
            runs.push(run.id);
        }
        runs
    });
    let mut ids: Vec<RunId> = got.concat();
    ids.sort();
    let mut queued = batch.run_ids;
    queued.sort();
    assert_eq!(ids, queued, "each once, and none is left");
    for id in ids {
        assert_eq!(h.store().run(id).await.unwrap().lease_epoch, 1);
    }
}

pub async fn of_racing_holders_and_sweeps_one_epoch_moves_the_run(h: &mut dyn Harness) {
    for round in 0..10 {
        let held = claimed(h, &format!("s{round}")).await;
        h.clock().advance_ms(LEASE_MS.try_into().unwrap());
        let lease = held.lease();
        let answers = race(h, 3, move |store, thread| match thread {
            0 => block_on(store.start_run(lease.clone())).is_ok(),
            _ => block_on(store.sweep_runs()).unwrap().requeued == 1,
        });
        // Either the holder was first and is lost at work, or its claim was void.
        let run = now(h, &held).await;
        let requeued = answers[1..].iter().filter(|requeued| **requeued).count();
        match run.status {
            RunStatus::Pending => assert_eq!((answers[0], requeued), (false, 1), "{run:?}"),
            RunStatus::Failed => assert_eq!((answers[0], requeued), (true, 0), "{run:?}"),
            // The sweeps were first but had nothing left to do when the lease was looked at.
            status => panic!("round {round}: {status}"),
        }
        if run.status == RunStatus::Pending {
            h.store().stop_run(run.id).await.unwrap();
        }
    }
}

pub async fn of_racing_creations_of_one_sessions_run_one_wins(h: &mut dyn Harness) {
    create(h, "s1").await;
    let answers = race(h, CLAIMERS, |store, _| block_on(store.create_run(start_of("s1"))));
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(refusal(error), "conflict session s1");
    }
    let runs = h.store().session_runs(id("s1")).await.unwrap();
    assert_eq!(runs, [won.into_iter().next().unwrap().unwrap()]);
}

pub async fn a_queue_that_is_filled_while_it_is_emptied_loses_nothing(h: &mut dyn Harness) {
    const EACH: usize = 10;
    let got = race(h, 4, |store, thread| {
        let mut runs = Vec::new();
        if thread < 2 {
            for n in 0..EACH {
                let name = format!("t{thread}-{n}");
                block_on(store.create_run(first_run(&name))).unwrap();
            }
            return runs;
        }
        // Bounded, so that a store that never gives a run fails instead of hanging.
        for _ in 0..10_000 {
            if runs.len() == EACH {
                break;
            }
            runs.extend(block_on(store.claim_run(claim_of("e1"))).unwrap().map(|run| run.id));
        }
        runs
    });
    let ids: BTreeSet<RunId> = got.concat().into_iter().collect();
    assert_eq!(ids.len(), 2 * EACH);
    assert_eq!(claim(h, "e1").await, None);
    let held = running(h, "s1").await;
    assert_eq!(held.status, RunStatus::Running);
}
