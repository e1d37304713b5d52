//! Behaviours of what executors report late, from their outboxes, and of leases kept in bulk.

use ah_model::limits::{LEASE_MS_MAX, RENEW_RUNS_MAX, REPORT_ITEMS_MAX};
use ah_model::{
    Ended, ExecutorEvent, Exit, Happened, Lease, OutboxId, Renewed, ReportItem,
    ReportRefusalReason, Reports, ReportsTaken, Run, RunOutcome, RunStatus, SessionStatus,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, create, everything, id, json, log, race, refusal};
use crate::given_run::{
    LEASE_MS, assert_refused, at_epoch, at_work, callbacks, child_run, claimed, executor_id,
    finish, idle, now, run_id, running, session, start_of, sweep,
};

fn outbox(name: &str) -> OutboxId {
    name.parse().unwrap()
}

fn started() -> Happened {
    Happened::Started {}
}

fn event(text: &str) -> Happened {
    Happened::Event { kind: "said".to_owned(), data: json(&format!("\"{text}\"")) }
}

fn ended(outcome: RunOutcome) -> Happened {
    let exit = Exit { code: Some(3), ..Exit::default() };
    Happened::Ended(Ended { outcome, error: None, result: None, idle: false, exit })
}

fn item(h: &dyn Harness, run: &Run, seq: u64, what: Happened) -> ReportItem {
    ReportItem {
        seq,
        run_id: run.id.clone(),
        epoch: run.lease_epoch,
        session_id: run.session_id.clone(),
        dedup_key: format!("o1/{seq}"),
        at: h.clock().now(),
        what,
    }
}

fn of_e1(items: Vec<ReportItem>) -> Reports {
    Reports { executor_id: executor_id("e1"), outbox_id: outbox("o1"), items }
}

/// What `e1` says of `run`, numbered from `first`.
fn said(h: &dyn Harness, run: &Run, first: u64, what: Vec<Happened>) -> Reports {
    of_e1(what.into_iter().zip(first..).map(|(what, seq)| item(h, run, seq, what)).collect())
}

async fn take(h: &dyn Harness, reports: Reports) -> ReportsTaken {
    h.store().take_reports(reports).await.unwrap()
}

fn kept(through: u64) -> ReportsTaken {
    ReportsTaken { through, refused: vec![] }
}

async fn through(h: &dyn Harness, executor: &str, name: &str) -> u64 {
    h.store().reported_through(executor_id(executor), outbox(name)).await.unwrap()
}

async fn texts(h: &dyn Harness, session: &str) -> Vec<String> {
    log(h, session).await.into_iter().map(|event| event.data.as_str().to_owned()).collect()
}

fn reasons(taken: &ReportsTaken) -> Vec<(u64, ReportRefusalReason)> {
    taken.refused.iter().map(|refusal| (refusal.seq, refusal.reason)).collect()
}

pub async fn many_leases_are_kept_at_once(h: &mut dyn Harness) {
    let first = running(h, "s1").await;
    let second = claimed(h, "s2").await;
    let stopping = running(h, "s3").await;
    h.store().stop_run(stopping.id.clone()).await.unwrap();
    h.clock().advance_ms(10);
    let leases = vec![stopping.lease(), second.lease(), first.lease()];
    let renewed = h.store().renew_runs(executor_id("e1"), leases, LEASE_MS_MAX).await.unwrap();
    assert_eq!(renewed, Renewed { lost: vec![], stop: vec![stopping.lease()] });
    let until = Some(h.clock().now().plus_ms(LEASE_MS_MAX));
    for run in [first, second, stopping] {
        assert_eq!(now(h, &run).await.lease_expires_at, until);
    }
    let none = h.store().renew_runs(executor_id("e1"), vec![], LEASE_MS).await.unwrap();
    assert_eq!(none, Renewed::default());
}

pub async fn a_lease_that_is_not_the_executors_is_lost_and_stays_as_it_is(h: &mut dyn Harness) {
    let held = running(h, "s1").await;
    let over = running(h, "s2").await;
    finish(h, &over, idle()).await;
    let unknown = Lease { run_id: run_id("nobody"), epoch: 1 };
    let lost = vec![
        at_epoch(&held, 2),
        at_epoch(&held, u64::MAX),
        over.lease(),
        unknown,
        at_epoch(&held, 0),
    ];
    let before = everything(h).await;
    let renewed = h.store().renew_runs(executor_id("e1"), lost.clone(), LEASE_MS).await.unwrap();
    assert_eq!(renewed, Renewed { lost, stop: vec![] });
    let renewed = h.store().renew_runs(executor_id("e2"), vec![held.lease()], LEASE_MS).await;
    assert_eq!(renewed.unwrap(), Renewed { lost: vec![held.lease()], stop: vec![] });
    for (leases, ms, field) in [
        (vec![held.lease()], LEASE_MS_MAX + 1, "leaseMs"),
        (vec![held.lease(); RENEW_RUNS_MAX + 1], LEASE_MS, "leases"),
    ] {
        let refused = h.store().renew_runs(executor_id("e1"), leases, ms).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
}

pub async fn reports_are_applied_in_order_as_if_said_at_once(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    assert_eq!(through(h, "e1", "o1").await, 0);
    let what = vec![started(), event("a"), event("b"), ended(RunOutcome::Completed)];
    let reports = said(h, &run, 1, what);
    let at = h.clock().now();
    h.clock().advance_ms(60_000);
    assert_eq!(take(h, reports).await, kept(4));
    let run = now(h, &run).await;
    assert_eq!((run.status, run.started_at), (RunStatus::Completed, Some(h.clock().now())));
    assert_eq!(texts(h, "s1").await, ["\"a\"", "\"b\""]);
    let events = log(h, "s1").await;
    assert_eq!((events[0].ts, events[0].dedup_key.as_deref()), (at, Some("o1/2")));
    let session = session(h, "s1").await;
    assert_eq!((session.status, session.exit.code), (SessionStatus::Succeeded, Some(3)));
    h.reopen().await;
    assert_eq!(through(h, "e1", "o1").await, 4);
}

pub async fn reports_that_come_again_change_nothing(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    let what = || vec![started(), event("a"), event("b")];
    assert_eq!(take(h, said(h, &run, 1, what())).await, kept(3));
    let before = everything(h).await;
    assert_eq!(take(h, said(h, &run, 1, what())).await, kept(3));
    assert_eq!(take(h, said(h, &run, 2, vec![event("other")])).await, kept(3));
    assert_eq!(everything(h).await, before);
    // Some are known, some are not.
    let more = vec![event("b"), event("c"), event("d")];
    assert_eq!(take(h, said(h, &run, 3, more)).await, kept(5));
    assert_eq!(texts(h, "s1").await, ["\"a\"", "\"b\"", "\"c\"", "\"d\""]);
}

pub async fn an_event_whose_key_is_known_is_not_appended_again(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let first = item(h, &run, 1, event("a"));
    let same = ReportItem { seq: 2, what: event("again"), ..first.clone() };
    assert_eq!(take(h, of_e1(vec![first.clone(), same])).await, kept(2));
    // An executor that lost its outbox numbers from 1 again, but its keys are the same.
    let lost = Reports { outbox_id: outbox("o2"), ..of_e1(vec![first]) };
    assert_eq!(take(h, lost).await, kept(1));
    assert_eq!(texts(h, "s1").await, ["\"a\""]);
}

pub async fn a_gap_in_reports_is_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let before = everything(h).await;
    let refused = h.store().take_reports(said(h, &run, 2, vec![event("b")])).await;
    assert_refused(h, &before, refused, "invalid items.seq").await;
    assert_eq!(through(h, "e1", "o1").await, 0);
    assert_eq!(take(h, said(h, &run, 1, vec![event("a")])).await, kept(1));
    let before = everything(h).await;
    let refused = h.store().take_reports(said(h, &run, 3, vec![event("c")])).await;
    assert_refused(h, &before, refused, "invalid items.seq").await;
    assert_eq!(through(h, "e1", "o1").await, 1);
}

pub async fn what_an_older_holder_says_is_refused_for_ever_and_recorded(h: &mut dyn Harness) {
    let old = claimed(h, "s1").await;
    h.clock().advance_ms(LEASE_MS as i64);
    assert_eq!(sweep(h).await.requeued, 1);
    // Nobody has it: what its last holder says is late all the same.
    let taken = take(h, said(h, &old, 1, vec![started()])).await;
    assert_eq!(reasons(&taken), [(1, ReportRefusalReason::StaleEpoch)]);
    let new = h.store().claim_run(crate::given_run::claim_of("e1")).await.unwrap().unwrap();
    let mut items = said(h, &old, 2, vec![started(), event("old")]).items;
    items.push(item(h, &new, 4, started()));
    items.push(item(h, &new, 5, event("new")));
    items.push(ReportItem { epoch: 1, ..item(h, &new, 6, ended(RunOutcome::Failed)) });
    let before = h.clock().now();
    let taken = take(h, of_e1(items.clone())).await;
    let stale = ReportRefusalReason::StaleEpoch;
    assert_eq!((taken.through, reasons(&taken)), (6, vec![(2, stale), (3, stale), (6, stale)]));
    assert_eq!(texts(h, "s1").await, ["\"new\""]);
    assert_eq!(now(h, &new).await.status, RunStatus::Running);
    // Sent again they are known, not refused again.
    assert_eq!(take(h, of_e1(items)).await, kept(6));
    let rows = h.store().executor_history(Some(executor_id("e1")), all()).await.unwrap().items;
    let kinds: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.at)).collect();
    let kind = ExecutorEvent::STALE_REPORT;
    assert_eq!(kinds, [(kind, before), (kind, before)]);
    let counts = r#"{"outboxId":"o1","staleEpoch":3,"unknownRun":0,"ended":0,"invalid":0}"#;
    assert_eq!(rows[0].data.as_str(), counts);
}

pub async fn what_is_not_the_reporters_to_say_is_refused_with_its_reason(h: &mut dyn Harness) {
    let others = running(h, "s1").await;
    let over = running(h, "s2").await;
    finish(h, &over, idle()).await;
    let ghost = Run { id: run_id("ghost"), ..others.clone() };
    let elsewhere = Run { session_id: id("s2"), ..others.clone() };
    let by_e2 = Reports { executor_id: executor_id("e2"), ..said(h, &others, 1, vec![event("x")]) };
    assert_eq!(reasons(&take(h, by_e2).await), [(1, ReportRefusalReason::StaleEpoch)]);
    let items = vec![
        item(h, &ghost, 1, event("x")),
        item(h, &elsewhere, 2, event("x")),
        item(h, &over, 3, event("x")),
        item(h, &over, 4, ended(RunOutcome::Failed)),
        item(h, &over, 5, ended(RunOutcome::Completed)),
        item(h, &others, 6, event("mine")),
    ];
    let taken = take(h, of_e1(items)).await;
    let expected = [
        (1, ReportRefusalReason::UnknownRun),
        (2, ReportRefusalReason::Invalid),
        (3, ReportRefusalReason::Ended),
        (4, ReportRefusalReason::Ended),
    ];
    assert_eq!((taken.through, reasons(&taken)), (6, expected.to_vec()));
    assert!(taken.refused.iter().all(|refusal| refusal.detail.is_some()));
    assert_eq!(texts(h, "s1").await, ["\"mine\""]);
    assert_eq!(texts(h, "s2").await, Vec::<String>::new());
}

pub async fn outboxes_are_kept_apart_and_outlive_their_executor(h: &mut dyn Harness) {
    h.store().register_executor(crate::given_run::new_executor("e1")).await.unwrap();
    let run = running(h, "s1").await;
    assert_eq!(take(h, said(h, &run, 1, vec![event("a"), event("b")])).await, kept(2));
    let other = Reports { outbox_id: outbox("o2"), ..said(h, &run, 1, vec![event("c")]) };
    assert_eq!(take(h, other).await, kept(1));
    assert_eq!((through(h, "e1", "o1").await, through(h, "e1", "o2").await), (2, 1));
    assert_eq!(through(h, "e2", "o1").await, 0);
    h.store().remove_executor(executor_id("e1")).await.unwrap();
    assert_eq!(through(h, "e1", "o1").await, 2);
}

pub async fn an_end_that_is_reported_tells_the_parent(h: &mut dyn Harness) {
    create(h, "p1").await;
    let parent = at_work(h, start_of("p1")).await;
    finish(h, &parent, idle()).await;
    let child = at_work(h, child_run("c1", "p1")).await;
    take(h, said(h, &child, 1, vec![ended(RunOutcome::Completed)])).await;
    let told = callbacks(h, "p1").await;
    assert_eq!(told.len(), 1);
    assert!(told[0].delivered_by.is_some(), "a run of the parent carries it");
}

pub async fn reported_events_wake_who_watches(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let mut watch = h.store().watch_events(id("s1"), 0).await.unwrap();
    let waiting = std::thread::spawn(move || block_on(watch.next()).unwrap());
    take(h, said(h, &run, 1, vec![event("a"), event("b")])).await;
    let events = waiting.join().unwrap();
    assert_eq!(events[0].data.as_str(), "\"a\"");
}

pub async fn a_full_report_of_several_runs_is_taken(h: &mut dyn Harness) {
    let runs = [running(h, "s1").await, running(h, "s2").await, running(h, "s3").await];
    let items = (0..REPORT_ITEMS_MAX).map(|n| {
        let run = &runs[n / 7 % 3];
        item(h, run, n as u64 + 1, event(&n.to_string()))
    });
    let items: Vec<_> = items.collect();
    assert_eq!(take(h, of_e1(items)).await, kept(REPORT_ITEMS_MAX as u64));
    let mut count = 0;
    for (index, run) in runs.iter().enumerate() {
        let expected = (0..REPORT_ITEMS_MAX).filter(|n| n / 7 % 3 == index);
        let expected: Vec<_> = expected.map(|n| format!("\"{n}\"")).collect();
        assert_eq!(texts(h, run.session_id.as_str()).await, expected);
        count += expected.len();
    }
    assert_eq!(count, REPORT_ITEMS_MAX);
}

pub async fn bad_reports_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let before = everything(h).await;
    let one = || item(h, &run, 1, event("a"));
    let skipping = ReportItem { seq: 3, ..one() };
    let kindless = Happened::Event { kind: String::new(), data: json("1") };
    let too_many = (1..=REPORT_ITEMS_MAX as u64 + 1).map(|seq| item(h, &run, seq, started()));
    for (items, field) in [
        (vec![], "items"),
        (too_many.collect(), "items"),
        (vec![ReportItem { seq: 0, ..one() }], "items.seq"),
        (vec![one(), skipping], "items.seq"),
        (vec![ReportItem { dedup_key: String::new(), ..one() }], "items.dedupKey"),
        (vec![ReportItem { what: kindless, ..one() }], "type"),
    ] {
        let refused = h.store().take_reports(of_e1(items)).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    let last = vec![ReportItem { seq: u64::MAX, ..one() }];
    let refused = h.store().take_reports(of_e1(last)).await;
    assert_eq!(refusal(refused), "invalid items.seq");
}

pub async fn of_racing_reports_each_item_is_applied_once(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let what: Vec<_> = (0..20).map(|n| event(&n.to_string())).collect();
    let reports = said(h, &run, 1, what);
    let sent = reports.clone();
    for taken in race(h, 6, move |store, _| block_on(store.take_reports(sent.clone()))) {
        assert_eq!(taken.unwrap(), kept(20));
    }
    let expected: Vec<_> = (0..20).map(|n| format!("\"{n}\"")).collect();
    assert_eq!(texts(h, "s1").await, expected);
}
