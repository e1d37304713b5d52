//! Runs: the queue, what may be put into it, and how it is read.

use std::slice::from_ref;

use ah_model::limits::{PAGE_BYTES_MAX, PROMPT_BYTES_MAX, RUN_TIMEOUT_MS_MAX, TAGS_MAX};
use ah_model::{
    Cursor, Demands, ExecutionMode, Labels, NewRun, NewSession, PageRequest, Run, RunFilter,
    RunKind, RunStatus, SessionStatus, SessionUpdate,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{
    all, create, everything, from_cursor, id, json, new_session, new_task, note, paged, race,
    refusal, set_status,
};
use crate::given_run::{
    assert_refused, at_epoch, claim, claim_of, claimed, completed, ended, executor_id, finish,
    first_run, now, queue, resume_of, run_id, running, runs_of, session, start, start_of,
};

/// A run with a value in every field that may be given.
fn full_run(session: &str) -> NewRun {
    let text = |name: &str| Some(format!("{name} ☃"));
    NewRun {
        id: Some(run_id("r~1")),
        session_id: id(session),
        session: None,
        kind: RunKind::Start,
        parameters: json(r#"{"b":1.00,"a":[],"big":123456789012345678901234567890,"n":"\u0000"}"#),
        demands: Demands {
            hostname: text("host"),
            project_dir: text("dir"),
            executor_profile: text("profile"),
            executor_type: text("type"),
            tags: vec!["z".to_owned(), "a ☃".to_owned(), "z".to_owned()],
            executor_id: Some("spiffe://a/b".parse().unwrap()),
            labels: Labels::from_pairs(&["region=eu ☃".to_owned()]).unwrap(),
            agent: text("agent"),
            os: text("os"),
            architecture: text("architecture"),
            cpu_cores: Some(u32::MAX),
            memory_bytes: Some(u64::MAX),
        },
        execution_mode: ExecutionMode::AsyncPoll,
        parent_session_id: Some(id("parent")),
        timeout_ms: Some(RUN_TIMEOUT_MS_MAX),
        requeue: true,
        requested_by: Some("ann ☃".to_owned()),
    }
}

pub async fn a_run_is_queued_as_pending_and_keeps_what_it_was_given(h: &mut dyn Harness) {
    create(h, "parent").await;
    let before = create(h, "s1").await;
    h.clock().advance_ms(1_000);
    let run = h.store().create_run(full_run("s1")).await.unwrap();
    let given = full_run("s1");
    let expected = Run {
        id: run_id("r~1"),
        session_id: given.session_id,
        kind: RunKind::Start,
        status: RunStatus::Pending,
        parameters: given.parameters,
        demands: given.demands,
        execution_mode: ExecutionMode::AsyncPoll,
        parent_session_id: given.parent_session_id,
        timeout_ms: given.timeout_ms,
        take_by: Some(h.clock().now().plus_ms(RUN_TIMEOUT_MS_MAX)),
        requeue: true,
        requested_by: given.requested_by,
        member: None,
        executor_id: None,
        lease_epoch: 0,
        lease_expires_at: None,
        stop_requested_at: None,
        error: None,
        result: None,
        created_at: h.clock().now(),
        claimed_at: None,
        started_at: None,
        ended_at: None,
    };
    assert_eq!(run, expected);
    h.reopen().await;
    assert_eq!(now(h, &run).await, expected);
    assert_eq!(runs_of(h, "s1").await, from_ref(&expected));
    let listed = h.store().list_runs(RunFilter::default(), all()).await.unwrap();
    assert_eq!(listed.items, [expected]);
    assert_eq!(session(h, "s1").await, before, "a queued run is no activity");
}

pub async fn a_run_of_which_little_is_said_has_the_plain_values(h: &mut dyn Harness) {
    create(h, "s1").await;
    let run = queue(h, start_of("s1")).await;
    let plain =
        Run::queued(start_of("s1"), run.id.clone(), &session(h, "s1").await, run.created_at);
    assert_eq!(run, plain);
    assert_eq!(now(h, &run).await, plain);
    assert_eq!((run.take_by, run.execution_mode), (None, ExecutionMode::Sync));
}

pub async fn a_session_with_a_live_run_takes_no_other(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    let run = queue(h, start_of("s1")).await;
    for stage in ["pending", "claimed", "running", "stopping"] {
        match stage {
            "claimed" => drop(claim(h, "e1").await.unwrap()),
            "running" => drop(start(h, &now(h, &run).await).await),
            "stopping" => drop(h.store().stop_run(run.id.clone()).await.unwrap()),
            _ => {}
        }
        let before = everything(h).await;
        for new in [start_of("s1"), resume_of("s1")] {
            let refused = h.store().create_run(new).await;
            assert_refused(h, &before, refused, "conflict session s1").await;
        }
    }
    let other = queue(h, start_of("s2")).await;
    assert!(run.id < other.id, "minted ids sort by their minting");
    let batch = h.store().create_task(new_task("do it")).await.unwrap();
    let session = batch.session_ids[0].as_str();
    let refused = refusal(h.store().create_run(resume_of(session)).await);
    assert_eq!(refused, format!("conflict session {session}"));
}

pub async fn a_session_is_started_once_and_resumed_when_it_is_not_at_work(h: &mut dyn Harness) {
    use SessionStatus::{Cancelled, Created, Failed, Idle, Running, Stopping, Succeeded};
    let ways: [(SessionStatus, &[SessionStatus], bool, bool); 7] = [
        (Created, &[], true, true),
        (Running, &[Running], false, false),
        (Idle, &[Running, Idle], false, true),
        (Stopping, &[Running, Stopping], false, false),
        (Succeeded, &[Running, Succeeded], false, true),
        (Failed, &[Failed], false, true),
        (Cancelled, &[Cancelled], false, true),
    ];
    for (status, way, starts, resumes) in ways {
        for (kind, fits) in [(RunKind::Start, starts), (RunKind::Resume, resumes)] {
            let name = format!("{status}-{}", kind.as_str());
            create(h, &name).await;
            for to in way {
                set_status(h, &name, *to).await;
            }
            let before = everything(h).await;
            let answer = h.store().create_run(NewRun { kind, ..start_of(&name) }).await;
            match fits {
                true => assert_eq!(answer.unwrap().kind, kind, "{name}"),
                false => {
                    assert_refused(h, &before, answer, &format!("conflict session {name}")).await;
                }
            }
        }
    }
}

pub async fn a_run_may_bring_its_session(h: &mut dyn Harness) {
    let mut new = first_run("s1");
    new.session.as_mut().unwrap().title = Some("brought".to_owned());
    let run = h.store().create_run(new).await.unwrap();
    let brought = session(h, "s1").await;
    assert_eq!(brought.title.as_deref(), Some("brought"));
    assert_eq!((brought.status, brought.created_at), (SessionStatus::Created, run.created_at));
    assert_eq!(runs_of(h, "s1").await, [run]);

    let before = everything(h).await;
    let again = h.store().create_run(first_run("s1")).await;
    assert_refused(h, &before, again, "conflict session s1").await;
    let taken = NewRun { id: Some(run_id("run-s1")), ..first_run("s2") };
    let refused = h.store().create_run(taken).await;
    assert_refused(h, &before, refused, "conflict run run-s1").await;
    let orphan = NewRun { parent_session_id: Some(id("nobody")), ..first_run("s2") };
    let refused = h.store().create_run(orphan).await;
    assert_refused(h, &before, refused, "not-found session nobody").await;
    assert_eq!(refusal(h.store().session(id("s2")).await), "not-found session s2");
}

pub async fn a_taken_run_id_is_a_conflict_that_changes_nothing(h: &mut dyn Harness) {
    let run = ended(h, "s1", completed()).await;
    create(h, "s2").await;
    let before = everything(h).await;
    for session in ["s1", "s2"] {
        let taken = NewRun { id: Some(run.id.clone()), ..resume_of(session) };
        let refused = h.store().create_run(taken).await;
        assert_refused(h, &before, refused, "conflict run run-s1").await;
    }
}

pub async fn a_resume_demands_the_host_and_profile_of_before(h: &mut dyn Harness) {
    let run = claimed(h, "s1").await;
    let text = |text: &str| Some(text.to_owned());
    let update = SessionUpdate {
        hostname: text("h"),
        executor_profile: text("p"),
        executor_type: text("t"),
        project_dir: text("/d"),
        ..SessionUpdate::default()
    };
    h.store().bind_run(run.lease(), update).await.unwrap();
    finish(h, &run, completed()).await;

    let resumed = queue(h, resume_of("s1")).await;
    let same_place =
        Demands { hostname: text("h"), executor_profile: text("p"), ..Demands::default() };
    assert_eq!(resumed.demands, same_place, "neither the directory nor the type");
    assert_eq!(now(h, &resumed).await.demands, same_place);
    h.store().stop_run(resumed.id).await.unwrap();

    let elsewhere = Demands { hostname: text("h2"), project_dir: text("/x"), ..Demands::default() };
    let resumed = queue(h, NewRun { demands: elsewhere.clone(), ..resume_of("s1") }).await;
    assert_eq!(resumed.demands, Demands { executor_profile: text("p"), ..elsewhere });
}

pub async fn the_parent_of_a_run_is_the_given_one_else_the_sessions(h: &mut dyn Harness) {
    for name in ["p1", "p2"] {
        create(h, name).await;
    }
    let child = NewSession { parent: Some(id("p1")), ..new_session("s1") };
    h.store().create_session(child).await.unwrap();
    let run = queue(h, start_of("s1")).await;
    assert_eq!(run.parent_session_id, Some(id("p1")));
    h.store().stop_run(run.id).await.unwrap();
    let given = NewRun { parent_session_id: Some(id("p2")), ..resume_of("s1") };
    assert_eq!(queue(h, given).await.parent_session_id, Some(id("p2")));

    create(h, "s2").await;
    let before = everything(h).await;
    let unknown = NewRun { parent_session_id: Some(id("nobody")), ..start_of("s2") };
    let refused = h.store().create_run(unknown).await;
    assert_refused(h, &before, refused, "not-found session nobody").await;
}

pub async fn bad_runs_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    create(h, "s1").await;
    let tags = |tags: Vec<&str>| Demands {
        tags: tags.into_iter().map(str::to_owned).collect(),
        ..Demands::default()
    };
    let nul = Demands { hostname: Some("a\0b".to_owned()), ..Demands::default() };
    let other = Some(Box::new(new_session("other")));
    let large = json(&format!("\"{}\"", "x".repeat(PROMPT_BYTES_MAX - 1)));
    let bad = [
        (NewRun { parameters: large, ..start_of("s1") }, "parameters"),
        (NewRun { timeout_ms: Some(0), ..start_of("s1") }, "timeoutMs"),
        (NewRun { timeout_ms: Some(RUN_TIMEOUT_MS_MAX + 1), ..start_of("s1") }, "timeoutMs"),
        (NewRun { demands: nul, ..start_of("s1") }, "demands.hostname"),
        (NewRun { demands: tags(vec![""]), ..start_of("s1") }, "demands.tags"),
        (NewRun { demands: tags(vec!["t"; TAGS_MAX + 1]), ..start_of("s1") }, "demands.tags"),
        (NewRun { session: other, ..start_of("s2") }, "session"),
        (NewRun { kind: RunKind::Resume, ..first_run("s2") }, "session"),
    ];
    let before = everything(h).await;
    for (new, field) in bad {
        let refused = h.store().create_run(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
}

pub async fn runs_of_nothing_are_not_found(h: &mut dyn Harness) {
    let store = h.store();
    let run = run_id("r1");
    let lease = ah_model::Lease { run_id: run.clone(), epoch: 1 };
    assert_eq!(refusal(store.create_run(start_of("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.session_runs(id("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.stop_session(id("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.callbacks(id("s1")).await), "not-found session s1");
    assert_eq!(refusal(store.run(run.clone()).await), "not-found run r1");
    assert_eq!(refusal(store.renew_run(lease.clone(), 1_000).await), "not-found run r1");
    assert_eq!(refusal(store.start_run(lease.clone()).await), "not-found run r1");
    let bound = store.bind_run(lease.clone(), SessionUpdate::default()).await;
    assert_eq!(refusal(bound), "not-found run r1");
    let appended = store.append_to_run(lease.clone(), vec![note("0")]).await;
    assert_eq!(refusal(appended), "not-found run r1");
    assert_eq!(refusal(store.finish_run(lease, completed()).await), "not-found run r1");
    assert_eq!(refusal(store.stop_run(run).await), "not-found run r1");
    create(h, "s1").await;
    assert_eq!(store.session_runs(id("s1")).await.unwrap(), []);
    assert_eq!(store.callbacks(id("s1")).await.unwrap(), []);
    assert_eq!(store.list_runs(RunFilter::default(), all()).await.unwrap().items, []);
    assert_eq!(store.stop_orders(executor_id("e1")).await.unwrap(), []);
    assert_eq!(claim(h, "e1").await, None);
}

pub async fn runs_are_paged_newest_first_each_once(h: &mut dyn Harness) {
    let mut queued = Vec::new();
    for n in 0..7 {
        queued.push(queue(h, first_run(&format!("s{n}"))).await);
        // Order is that of the queue, not of the clock.
        h.clock().advance_ms(if n % 2 == 0 { -10 } else { 3 });
    }
    queued.reverse();
    for size in [1, 2, 3, 7, 50] {
        let store = h.store();
        let read = paged(size, |page| store.list_runs(RunFilter::default(), page)).await;
        assert_eq!(read, queued, "in pages of {size}");
    }
    let foreign = from_cursor(Cursor::Text("r1".to_owned()));
    let refused = h.store().list_runs(RunFilter::default(), foreign).await;
    assert_eq!(refusal(refused), "invalid cursor");
}

pub async fn the_largest_runs_are_kept_and_listed_each_once(h: &mut dyn Harness) {
    let most = json(&format!("\"{}\"", "x".repeat(PROMPT_BYTES_MAX - 2)));
    let mut queued = Vec::new();
    // More than a page of events may hold.
    for n in 0..=PAGE_BYTES_MAX / PROMPT_BYTES_MAX {
        let new = NewRun { parameters: most.clone(), ..first_run(&format!("s{n}")) };
        queued.push(queue(h, new).await.id);
    }
    queued.reverse();
    let mut listed = Vec::new();
    let mut request = all();
    loop {
        let page = h.store().list_runs(RunFilter::default(), request).await.unwrap();
        assert!(!page.items.is_empty());
        for run in page.items {
            assert_eq!(run.parameters.as_str().len(), PROMPT_BYTES_MAX);
            listed.push(run.id);
        }
        match page.next_cursor {
            None => break,
            cursor => request = PageRequest { cursor, ..all() },
        }
    }
    assert_eq!(listed, queued);
    let claimed = claim(h, "e1").await.unwrap();
    assert_eq!(claimed.parameters, most);
}

pub async fn runs_are_filtered_by_status_session_and_executor(h: &mut dyn Harness) {
    let done = ended(h, "s1", completed()).await;
    let held = claimed(h, "s2").await;
    queue(h, first_run("s3")).await;
    let theirs = claim(h, "e2").await.unwrap();
    let waiting = queue(h, resume_of("s1")).await;
    let listed = async |filter: RunFilter| {
        let store = h.store();
        paged(1, |page| store.list_runs(filter.clone(), page)).await
    };
    let any = RunFilter::default();
    let of_e1 = RunFilter { executor_id: Some(executor_id("e1")), ..any.clone() };
    let of_s1 = RunFilter { session_id: Some(id("s1")), ..any.clone() };
    let live = RunFilter { statuses: vec![RunStatus::Claimed, RunStatus::Pending], ..any.clone() };
    let finished = vec![RunStatus::Completed];
    let done_by_e1 = RunFilter { statuses: finished.clone(), ..of_e1.clone() };
    let done_of_s2 = RunFilter { statuses: finished, session_id: Some(id("s2")), ..any.clone() };
    assert_eq!(listed(any).await.len(), 4);
    assert_eq!(listed(of_e1).await, [held.clone(), done.clone()]);
    assert_eq!(listed(of_s1).await, [waiting.clone(), done.clone()]);
    assert_eq!(listed(live).await, [waiting, theirs, held]);
    assert_eq!(listed(done_by_e1).await, [done]);
    assert_eq!(listed(done_of_s2).await, []);
    let nobody = RunFilter { session_id: Some(id("nobody")), ..RunFilter::default() };
    assert_eq!(listed(nobody).await, [], "an unknown session has no runs in a list");
}

pub async fn a_sessions_runs_are_in_the_order_of_the_queue(h: &mut dyn Harness) {
    let mut expected = vec![ended(h, "s1", completed()).await];
    for n in 0..3 {
        h.clock().advance_ms(-5_000);
        // Ids that sort the other way, and times that go back: the queue alone decides.
        let new = NewRun { id: Some(run_id(&format!("a{}", 9 - n))), ..resume_of("s1") };
        queue(h, new).await;
        let run = claim(h, "e1").await.unwrap();
        start(h, &run).await;
        expected.push(finish(h, &run, completed()).await);
    }
    assert_eq!(runs_of(h, "s1").await, expected);
}

pub async fn a_run_that_ended_elsewhere_is_restored_once(h: &mut dyn Harness) {
    let known = ended(h, "s1", completed()).await;
    create(h, "p1").await;
    let elsewhere = Run {
        id: run_id("elsewhere"),
        status: RunStatus::Failed,
        error: Some("it broke ☃".to_owned()),
        result: Some(json("1.00")),
        parent_session_id: Some(id("p1")),
        execution_mode: ExecutionMode::AsyncCallback,
        lease_epoch: 3,
        timeout_ms: Some(5),
        ..known.clone()
    };
    let before = session(h, "s1").await;
    assert!(h.store().restore_run(elsewhere.clone()).await.unwrap());
    h.reopen().await;
    assert_eq!(runs_of(h, "s1").await, [known.clone(), elsewhere.clone()]);
    assert_eq!(session(h, "s1").await, before, "its session is what the export said");
    assert_eq!(h.store().callbacks(id("p1")).await.unwrap(), [], "its parent was told there");
    let kept = everything(h).await;
    assert!(!h.store().restore_run(elsewhere.clone()).await.unwrap());
    let other = Run { error: None, ..elsewhere.clone() };
    assert!(!h.store().restore_run(other).await.unwrap(), "what is known stays as it is");
    assert_eq!(everything(h).await, kept);

    let orphan = Run { id: run_id("orphan"), parent_session_id: Some(id("nobody")), ..elsewhere };
    assert!(h.store().restore_run(orphan.clone()).await.unwrap());
    assert_eq!(now(h, &orphan).await, Run { parent_session_id: None, ..orphan });
}

pub async fn a_run_that_is_live_or_of_no_session_is_not_restored(h: &mut dyn Harness) {
    let known = ended(h, "s1", completed()).await;
    let before = everything(h).await;
    for status in RunStatus::ALL.into_iter().filter(|status| status.is_live()) {
        let live = Run { id: run_id("r2"), status, ..known.clone() };
        let refused = h.store().restore_run(live).await;
        assert_refused(h, &before, refused, "invalid status").await;
    }
    let lost = Run { id: run_id("r2"), session_id: id("nobody"), ..known };
    let refused = h.store().restore_run(lost).await;
    assert_refused(h, &before, refused, "not-found session nobody").await;
}

pub async fn a_session_whose_run_somebody_holds_is_not_deleted(h: &mut dyn Harness) {
    let run = running(h, "s1").await;
    for stage in ["running", "stopping"] {
        if stage == "stopping" {
            h.store().stop_run(run.id.clone()).await.unwrap();
        }
        let before = everything(h).await;
        let refused = h.store().delete_session(id("s1")).await;
        assert_refused(h, &before, refused, "conflict session s1").await;
    }
    finish(h, &run, completed()).await;
    let resumed = queue(h, resume_of("s1")).await;
    h.store().delete_session(id("s1")).await.unwrap();
    for gone in [run, resumed.clone()] {
        let read = h.store().run(gone.id.clone()).await;
        assert_eq!(refusal(read), format!("not-found run {}", gone.id));
        let renewed = h.store().renew_run(at_epoch(&gone, 1), 1_000).await;
        assert_eq!(refusal(renewed), format!("not-found run {}", gone.id));
    }
    assert_eq!(claim(h, "e1").await, None, "a pending run goes with its session");

    let claimed = claimed(h, "s2").await;
    let refused = h.store().delete_session(id("s2")).await;
    assert_eq!(refusal(refused), "conflict session s2");
    assert_eq!(now(h, &claimed).await, claimed);
}

pub async fn of_a_deletion_racing_with_a_claim_one_is_first(h: &mut dyn Harness) {
    for round in 0..10 {
        let name = format!("s{round}");
        queue(h, first_run(&name)).await;
        let session_id = id(&name);
        let answers = race(h, 2, move |store, thread| match thread {
            0 => block_on(store.delete_session(session_id.clone())).is_ok(),
            _ => block_on(store.claim_run(claim_of("e1"))).unwrap().is_some(),
        });
        let gone = h.store().session(id(&name)).await.is_err();
        match answers[..] {
            [true, false] => assert!(gone),
            [false, true] => assert_eq!(runs_of(h, &name).await[0].status, RunStatus::Claimed),
            _ => panic!("round {round}: {answers:?}"),
        }
    }
}
