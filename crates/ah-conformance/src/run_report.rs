//! What holders report: start, place, events and end, and how the session follows.

use ah_model::limits::RUN_RESULT_BYTES_MAX;
use ah_model::{
    Appended, Exit, Run, RunEnd, RunOutcome, RunStatus, Session, SessionDetails, SessionStatus,
    SessionUpdate, StatusChange, Timestamp,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{
    all, append, create, everything, full_session, id, json, kept, keyed, kind, log, note, origin,
    race, refusal, set_status,
};
use crate::given_run::{
    assert_refused, claim, claimed, completed, ended, finish, idle, now, queue, resume_of, running,
    runs_of, session, start, start_of, stopped,
};

pub async fn a_start_moves_run_and_session_once(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    let before = session(h, "s1").await;
    h.clock().advance_ms(1_000);
    let at = h.clock().now();
    let started = h.store().start_run(run.lease()).await.unwrap();
    let expected = Run { status: RunStatus::Running, started_at: Some(at), ..run };
    assert_eq!(started, expected);
    let moved =
        Session { status: SessionStatus::Running, started_at: at, last_activity_at: at, ..before };
    assert_eq!(session(h, "s1").await, moved);

    h.clock().advance_ms(1_000);
    let before = everything(h).await;
    assert_eq!(h.store().start_run(started.lease()).await.unwrap(), expected);
    assert_eq!(everything(h).await, before, "saying it again is no change");
    h.reopen().await;
    assert_eq!(now(h, &expected).await, expected);
}

pub async fn a_run_that_starts_after_it_was_asked_to_stop_stays_asked(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    let asked = h.store().stop_run(run.id.clone()).await.unwrap();
    h.clock().advance_ms(5);
    let started = start(h, &run).await;
    let expected = Run { started_at: Some(h.clock().now()), ..asked };
    assert_eq!((started.status, started), (RunStatus::Stopping, expected));
    assert_eq!(session(h, "s1").await.status, SessionStatus::Running);
}

/// Everything a program may say of a session.
fn full_update() -> SessionUpdate {
    let text = |name: &str| Some(format!("new {name} ☃"));
    SessionUpdate {
        project_dir: text("project_dir"),
        hostname: text("hostname"),
        executor_session_id: text("executor_session_id"),
        executor_profile: text("executor_profile"),
        executor_type: text("executor_type"),
        inference_session_id: text("inference_session_id"),
        log_path: text("log_path"),
        workspace_path: text("workspace_path"),
        pid_agent: Some(i64::MAX),
        multiplexer_kind: text("multiplexer_kind"),
        mux_session: text("mux_session"),
        mux_window: Some(i64::MAX),
        pane_left: text("pane_left"),
        agent: Some(kind("other-agent@7")),
        last_resumed_at: Some(Timestamp::from_unix_ms(5)),
        origin: None,
    }
}

fn updated(before: Session, update: &SessionUpdate, at: Timestamp) -> Session {
    let mut session = before;
    session.update(update, at);
    session
}

pub async fn an_update_changes_what_is_given_and_nothing_else(h: &mut dyn Harness) {
    let before = h.store().create_session(full_session("s1")).await.unwrap();
    h.clock().advance_ms(10);
    let at = h.clock().now();
    let one = SessionUpdate { hostname: Some(String::new()), ..SessionUpdate::default() };
    let after = h.store().update_session(id("s1"), one).await.unwrap();
    let details = SessionDetails { hostname: Some(String::new()), ..before.details.clone() };
    assert_eq!(after, Session { details, last_activity_at: at, ..before.clone() });

    h.clock().advance_ms(-500);
    let all_of_it = h.store().update_session(id("s1"), full_update()).await.unwrap();
    assert_eq!(all_of_it, updated(after, &full_update(), h.clock().now()));
    assert_eq!(all_of_it.last_activity_at, at, "a clock that went back moves nothing back");
    assert_eq!(all_of_it.details.reset_message, before.details.reset_message);
    h.reopen().await;
    assert_eq!(session(h, "s1").await, all_of_it);
    let kinds = h.store().list_agent_kinds(all()).await.unwrap().items;
    assert!(kinds.iter().any(|row| row.kind == kind("other-agent@7")), "{kinds:?}");
}

pub async fn an_update_notes_an_origin_once(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    let of = |external_id: &str| SessionUpdate {
        origin: origin("claude-code", external_id),
        ..SessionUpdate::default()
    };
    let bound = h.store().update_session(id("s1"), of("a ☃")).await.unwrap();
    assert_eq!(bound.origin, of("a ☃").origin);
    h.reopen().await;
    assert_eq!(session(h, "s1").await, bound);
    let from = origin("claude-code", "a ☃").unwrap();
    let found = h.store().session_of_origin(from).await.unwrap();
    assert_eq!(found, Some(bound.clone()));
    let again = h.store().update_session(id("s1"), of("a ☃")).await.unwrap();
    assert_eq!(again.origin, bound.origin, "the same again is no change");

    let before = everything(h).await;
    let refused = h.store().update_session(id("s1"), of("b")).await;
    assert_refused(h, &before, refused, "conflict session s1").await;
    let refused = h.store().update_session(id("s2"), of("a ☃")).await;
    assert_refused(h, &before, refused, "conflict session s1").await;
}

pub async fn an_update_of_nothing_or_with_bad_parts_is_refused(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    let refused = h.store().update_session(id("nobody"), full_update()).await;
    assert_eq!(refusal(refused), "not-found session nobody");
    let bad = SessionUpdate { log_path: Some("a\0b".to_owned()), ..full_update() };
    let before = everything(h).await;
    let refused = h.store().update_session(id("s1"), bad.clone()).await;
    assert_refused(h, &before, refused, "invalid logPath").await;
    let refused = h.store().bind_run(run.lease(), bad).await;
    assert_refused(h, &before, refused, "invalid logPath").await;
}

pub async fn binding_starts_the_run_and_says_where(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    h.clock().advance_ms(20);
    let at = h.clock().now();
    let mut expected = session(h, "s1").await;
    expected.run_started(run.kind, at);
    expected.update(&full_update(), at);
    let bound = h.store().bind_run(run.lease(), full_update()).await.unwrap();
    assert_eq!(bound, expected);
    assert_eq!(session(h, "s1").await, expected);
    let started = now(h, &run).await;
    assert_eq!((started.status, started.started_at), (RunStatus::Running, Some(at)));

    h.clock().advance_ms(20);
    let more = SessionUpdate { pid_agent: Some(7), ..SessionUpdate::default() };
    let again = h.store().bind_run(run.lease(), more.clone()).await.unwrap();
    assert_eq!(again, updated(expected, &more, h.clock().now()));
    assert_eq!(now(h, &run).await, started, "it began once");
}

pub async fn the_holder_appends_to_its_session(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    append(h, "s1", note("0")).await;
    h.clock().advance_ms(40);
    let batch = vec![keyed("1.00", "k"), note(r#"{"usage":{"inputTokens":3}}"#)];
    let appended = h.store().append_to_run(run.lease(), batch.clone()).await.unwrap();
    let expected = Appended {
        session_id: id("s1"),
        first_seq: 2,
        last_seq: 3,
        appended: 2,
        duplicates: 0,
        redacted: ah_model::Redactions::default(),
    };
    assert_eq!(appended, expected);
    let stored = [kept(h, "s1", 2, &batch[0]), kept(h, "s1", 3, &batch[1])];
    assert_eq!(log(h, "s1").await[1..], stored);
    let after = session(h, "s1").await;
    assert_eq!((after.last_seq, after.usage.input_tokens), (3, 3));
    assert_eq!(after.last_activity_at, h.clock().now());

    let again = h.store().append_to_run(run.lease(), batch[..1].to_vec()).await.unwrap();
    assert_eq!((again.first_seq, again.duplicates, again.appended), (2, 1, 0));
    let before = everything(h).await;
    let refused = h.store().append_to_run(run.lease(), vec![]).await;
    assert!(refusal(refused).starts_with("invalid"), "nothing is no batch");
    assert_eq!(everything(h).await, before);

    start(h, &run).await;
    finish(h, &run, completed()).await;
    let before = everything(h).await;
    let refused = h.store().append_to_run(run.lease(), vec![note("9")]).await;
    assert_refused(h, &before, refused, "conflict run run-s1").await;
}

/// Every kind of end, and where it takes the session.
fn ends() -> Vec<(RunEnd, SessionStatus)> {
    let exit = Exit { code: Some(-3), signal: Some(9), reason: Some("killed ☃".to_owned()) };
    vec![
        (completed(), SessionStatus::Succeeded),
        (idle(), SessionStatus::Idle),
        (RunEnd::new(RunOutcome::Failed), SessionStatus::Failed),
        (RunEnd::failed("it broke ☃"), SessionStatus::Failed),
        (RunEnd { exit: exit.clone(), ..RunEnd::failed("other words") }, SessionStatus::Failed),
        (stopped(), SessionStatus::Cancelled),
        (RunEnd { exit, idle: true, ..stopped() }, SessionStatus::Cancelled),
        (RunEnd { result: Some(json("null")), ..completed() }, SessionStatus::Succeeded),
        (
            RunEnd { result: Some(json(r#"{"b":1.00,"a":"\u0000"}"#)), ..idle() },
            SessionStatus::Idle,
        ),
        (RunEnd { error: Some(String::new()), ..completed() }, SessionStatus::Succeeded),
    ]
}

pub async fn each_end_moves_run_and_session(h: &mut dyn Harness) {
    let mut kept = Vec::new();
    for (index, (end, status)) in ends().into_iter().enumerate() {
        let name = format!("s{index}");
        let run = running(h, &name).await;
        let mut expected_session = session(h, &name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let done = h.store().finish_run(run.lease(), end.clone()).await.unwrap();
        let expected = Run {
            status: end.outcome.into(),
            error: end.error.clone(),
            result: end.result.clone(),
            lease_expires_at: None,
            ended_at: Some(at),
            ..run
        };
        assert_eq!(done, expected, "end {index}");
        expected_session.run_ended(&end, at);
        let after = session(h, &name).await;
        assert_eq!(after, expected_session, "end {index}");
        let ended_at = status.is_finished().then_some(at);
        assert_eq!((after.status, after.ended_at), (status, ended_at), "end {index}");
        kept.push((expected, after));
    }
    h.reopen().await;
    for (run, after) in kept {
        assert_eq!(session(h, after.id.as_str()).await, after);
        assert_eq!(now(h, &run).await, run);
    }
}

pub async fn an_end_may_be_said_twice_but_not_otherwise(h: &mut dyn Harness) {
    for (index, (end, _)) in ends().into_iter().enumerate() {
        let run = ended(h, &format!("s{index}"), end.clone()).await;
        h.clock().advance_ms(10);
        let before = everything(h).await;
        let again = h.store().finish_run(run.lease(), end.clone()).await.unwrap();
        assert_eq!(again, run, "end {index}");
        assert_eq!(everything(h).await, before, "saying it again is no change");
        for other in [completed(), RunEnd::failed("other"), stopped()] {
            if other.outcome != end.outcome {
                let refused = h.store().finish_run(run.lease(), other).await;
                let expected = format!("conflict run {}", run.id);
                assert_refused(h, &before, refused, &expected).await;
            }
        }
        for late in [
            h.store().start_run(run.lease()).await.map(drop),
            h.store().renew_run(run.lease(), 1_000).await.map(drop),
        ] {
            assert_refused(h, &before, late, &format!("conflict run {}", run.id)).await;
        }
    }
}

pub async fn a_run_that_completed_had_begun_though_nobody_said_so(h: &mut dyn Harness) {
    for (index, (end, status)) in ends().into_iter().enumerate() {
        let name = format!("s{index}");
        let run = claimed(h, &name).await;
        let mut expected = session(h, &name).await;
        h.clock().advance_ms(10);
        let at = h.clock().now();
        let done = finish(h, &run, end.clone()).await;
        let began = (end.outcome == RunOutcome::Completed).then_some(at);
        assert_eq!((done.started_at, done.ended_at), (began, Some(at)), "end {index}");
        if began.is_some() {
            expected.run_started(run.kind, at);
        }
        expected.run_ended(&end, at);
        assert_eq!(expected.status, status);
        assert_eq!(session(h, &name).await, expected, "end {index}");
    }
}

pub async fn bad_ends_are_refused_and_change_nothing(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let large = format!("\"{}\"", "x".repeat(RUN_RESULT_BYTES_MAX));
    let long = Exit { reason: Some("x".repeat(5_000)), ..Exit::default() };
    let bad = [
        (RunEnd::failed("a\0b"), "error"),
        (RunEnd { result: Some(json(&large)), ..completed() }, "result"),
        (RunEnd { exit: long, ..completed() }, "reason"),
    ];
    let before = everything(h).await;
    for (end, field) in bad {
        let refused = h.store().finish_run(run.lease(), end).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
    let largest = format!("\"{}\"", "x".repeat(RUN_RESULT_BYTES_MAX - 2));
    let end = RunEnd { result: Some(json(&largest)), ..completed() };
    assert_eq!(finish(h, &run, end.clone()).await.result, end.result);
    assert_eq!(now(h, &run).await.result, end.result);
}

pub async fn a_resume_brings_a_session_back_as_it_was(h: &mut dyn Harness) {
    for (index, (end, status)) in ends().into_iter().enumerate() {
        let name = format!("s{index}");
        let first = claimed(h, &name).await;
        h.store().bind_run(first.lease(), full_update()).await.unwrap();
        finish(h, &first, end).await;
        let before = session(h, &name).await;
        assert_eq!(before.status, status);
        h.clock().advance_ms(1_000);

        // It demands the place it was bound to; what it demands is tried elsewhere.
        let mut resume = resume_of(&name);
        resume.demands.hostname = Some("h".to_owned());
        resume.demands.executor_profile = Some("p".to_owned());
        queue(h, resume).await;
        let offer = ah_model::Offer {
            hostname: Some("h".to_owned()),
            executor_profile: Some("p".to_owned()),
            ..ah_model::Offer::default()
        };
        let claim = ah_model::RunClaim { offer, ..crate::given_run::claim_of("e2") };
        let run = h.store().claim_run(claim).await.unwrap().unwrap();
        assert_eq!(session(h, &name).await, before, "nothing happened to it yet");
        h.clock().advance_ms(1_000);
        let at = h.clock().now();
        start(h, &run).await;
        let back = Session {
            status: SessionStatus::Running,
            ended_at: None,
            exit: Exit::default(),
            last_resumed_at: Some(at),
            last_activity_at: at,
            ..before
        };
        assert_eq!(session(h, &name).await, back, "end {index}");
        finish(h, &run, completed()).await;
        assert_eq!(session(h, &name).await.status, SessionStatus::Succeeded);
        assert_eq!(runs_of(h, &name).await.len(), 2);
    }
}

pub async fn a_session_that_ended_by_anothers_word_stays_so(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    let exit = Exit { code: Some(4), ..Exit::default() };
    let change = StatusChange { to: SessionStatus::Failed, exit };
    let failed = h.store().set_session_status(id("s1"), change).await.unwrap();
    h.clock().advance_ms(10);
    let done = finish(h, &run, completed()).await;
    assert_eq!(done.status, RunStatus::Completed);
    assert_eq!(session(h, "s1").await, failed);
}

pub async fn a_session_may_run_by_itself_and_through_runs(h: &mut dyn Harness) {
    create(h, "s1").await;
    set_status(h, "s1", SessionStatus::Running).await;
    let refused = h.store().create_run(start_of("s1")).await;
    assert_eq!(refusal(refused), "conflict session s1");
    set_status(h, "s1", SessionStatus::Idle).await;
    queue(h, resume_of("s1")).await;
    let run = claim(h, "e1").await.unwrap();
    start(h, &run).await;
    assert_eq!(session(h, "s1").await.status, SessionStatus::Running);
    set_status(h, "s1", SessionStatus::Idle).await;
    let before = session(h, "s1").await;
    finish(h, &run, idle()).await;
    assert_eq!(session(h, "s1").await, before, "it is idle already");
}

pub async fn of_racing_ends_one_wins(h: &mut dyn Harness) {
    for round in 0..10 {
        let run = running(h, &format!("s{round}")).await;
        let lease = run.lease();
        let outcomes = [RunOutcome::Completed, RunOutcome::Failed, RunOutcome::Stopped];
        let answers = race(h, 3, move |store, thread| {
            let outcome = outcomes[usize::try_from(thread).unwrap()];
            block_on(store.finish_run(lease.clone(), RunEnd::new(outcome)))
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 2));
        for error in lost {
            assert_eq!(refusal(error), format!("conflict run run-s{round}"));
        }
        assert_eq!(now(h, &run).await, won.into_iter().next().unwrap().unwrap());
    }
}
