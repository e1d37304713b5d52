//! Fleets: several executors work on one session, one of them leads.

use ah_model::limits::{FLEET_LEADER_WAIT_MS, RUN_CLAIMS_MAX};
use ah_model::{
    Demands, Fleet, FleetChange, FleetDeed, FleetFiles, FleetFilter, FleetStatus, FleetsSwept,
    NewFleet, NewMember, Run, RunClaim, RunKind, RunStatus, SessionStatus, StatusChange,
    fleet_events, fleet_reasons,
};
use ah_store::{Clock, block_on};
use serde_json::json;

use crate::Harness;
use crate::feed::Reader;
use crate::given::{
    all, create, create_agent, everything, from_cursor, id, log, note, paged, race, refusal, renew,
    reset, set_status,
};
use crate::given_fleet::{
    change, fence, fleet_of, form, held, hold, kinds, member, name, new_fence, new_fleet,
    newest_data, run_id_of, run_of, sweep,
};
use crate::given_run::{
    LEASE_MS, assert_refused, at_work, callbacks, child_run, claim, claim_of, completed, finish,
    on_host, queue, resume_of, runs_of, session, start, start_of, stopped,
};

const LEASE: i64 = 30_000;

fn lead(member: &str) -> FleetDeed {
    FleetDeed::Lead(name(member))
}

fn remove(member: &str) -> FleetDeed {
    FleetDeed::Remove(name(member))
}

pub async fn forming_a_fleet_queues_a_run_for_each_member(h: &mut dyn Harness) {
    create(h, "s1").await;
    let demands = on_host("h2");
    let second = NewMember { name: name("b"), demands: demands.clone() };
    let files = FleetFiles {
        directory: Some("/work".to_owned()),
        pull: vec!["pull".to_owned(), "--all".to_owned()],
        ignore: vec![".git".to_owned()],
    };
    let new = NewFleet {
        members: vec![member("a"), second],
        leader: Some(name("b")),
        files: files.clone(),
        requested_by: Some("ann".to_owned()),
        ..new_fleet("s1", &[])
    };
    let fleet = h.store().create_fleet(new).await.unwrap();
    let at = h.clock().now();
    assert_eq!((fleet.status, fleet.epoch, &fleet.leader), (FleetStatus::Live, 1, &name("b")));
    assert_eq!((fleet.created_at, fleet.led_since, fleet.ended_at), (at, at, None));
    assert_eq!((&fleet.files, fleet.requested_by.as_deref()), (&files, Some("ann")));
    assert_eq!(fleet_of(h, "s1").await, fleet);

    let runs = runs_of(h, "s1").await;
    let shown = |run: &Run| (run.id.clone(), run.member.clone(), run.status, run.demands.clone());
    let expected = [("a", Demands::default()), ("b", demands)].map(|(member, demands)| {
        (run_id_of(&fleet, member), Some(name(member)), RunStatus::Pending, demands)
    });
    assert_eq!(runs.iter().map(shown).collect::<Vec<_>>(), expected);
    for run in &runs {
        let told: serde_json::Value = run.parameters.read().unwrap();
        let hold = json!({ "pull": ["pull", "--all"], "ignore": [".git"] });
        assert_eq!(told, json!({ "hold": hold, "directory": "/work" }));
        assert_eq!((run.requeue, run.requested_by.as_deref()), (true, Some("ann")));
        assert_eq!(run.kind, RunKind::Start);
    }
    assert_eq!(kinds(h, "s1").await, [fleet_events::FORMED]);
    let formed = json!({ "epoch": 1, "leader": "b", "members": ["a", "b"] });
    assert_eq!(newest_data(h, "s1").await, formed);
}

pub async fn a_fleet_is_told_in_the_feed_and_survives_a_reopening(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    let fleet = form(h, "s1", &["a"]).await;
    assert!(reader.changes(h).await.contains("fleet-updated s1"));
    h.store().end_fleet(id("s1")).await.unwrap();
    assert!(reader.changes(h).await.contains("fleet-updated s1"));
    h.reopen().await;
    let ended = fleet_of(h, "s1").await;
    let at = Some(h.clock().now());
    assert_eq!(ended, Fleet { status: FleetStatus::Ended, ended_at: at, ..fleet });
}

pub async fn a_session_has_one_live_fleet_and_none_when_it_has_ended(h: &mut dyn Harness) {
    form(h, "s1", &["a"]).await;
    create(h, "s2").await;
    set_status(h, "s2", SessionStatus::Cancelled).await;
    let before = everything(h).await;
    for (session, expected) in [
        ("s1", "conflict session s1"),
        ("s2", "conflict session s2"),
        ("s9", "not-found session s9"),
    ] {
        let refused = h.store().create_fleet(new_fleet(session, &["x"])).await;
        assert_refused(h, &before, refused, expected).await;
    }
    for bad in [new_fleet("s1", &[]), new_fleet("s1", &["x", "x"])] {
        let refused = h.store().create_fleet(bad).await;
        assert_refused(h, &before, refused, "invalid members").await;
    }
    let foreign = NewFleet { leader: Some(name("y")), ..new_fleet("s1", &["x"]) };
    let refused = h.store().create_fleet(foreign).await;
    assert_refused(h, &before, refused, "invalid leader").await;
    assert_eq!(refusal(h.store().fleet(id("s2")).await), "not-found fleet s2");
}

pub async fn the_epoch_goes_on_from_the_former_fleet(h: &mut dyn Harness) {
    form(h, "s1", &["a", "b"]).await;
    change(h, "s1", lead("b")).await.unwrap();
    h.store().end_fleet(id("s1")).await.unwrap();
    let fleet = h.store().create_fleet(new_fleet("s1", &["c"])).await.unwrap();
    assert_eq!((fleet.epoch, fleet.leader.clone()), (3, name("c")));
    assert_eq!(fleet_of(h, "s1").await, fleet, "the session shows its newest");
}

pub async fn members_live_beside_the_one_run_of_the_session(h: &mut dyn Harness) {
    form(h, "s1", &["a", "b", "c"]).await;
    let own = queue(h, start_of("s1")).await;
    let before = everything(h).await;
    let refused = h.store().create_run(start_of("s1")).await;
    assert_refused(h, &before, refused, "conflict session s1").await;
    let live = runs_of(h, "s1").await.into_iter().filter(|run| run.status.is_live());
    assert_eq!(live.count(), 4);
    // Whoever asks gets them as any other, in the order of the queue.
    let mut taken = Vec::new();
    while let Some(run) = claim(h, "e1").await {
        taken.push((run.member.map(|name| name.to_string()), run.id == own.id));
    }
    let member = |name: &str| (Some(name.to_owned()), false);
    assert_eq!(taken, [member("a"), member("b"), member("c"), (None, true)]);
}

pub async fn the_run_of_a_member_moves_neither_its_session_nor_a_parent(h: &mut dyn Harness) {
    create(h, "p").await;
    queue(h, child_run("s1", "p")).await;
    h.store().stop_session(id("s1")).await.unwrap();
    assert_eq!(callbacks(h, "p").await.len(), 1, "as its own run does");
    create(h, "s2").await;
    let new = new_fleet("s2", &["a", "b", "c", "d"]);
    let fleet = h.store().create_fleet(new).await.unwrap();
    let shape = |session: ah_model::Session| (session.status, session.started_at, session.details);
    let before = shape(session(h, "s2").await);

    let a = hold(h, &fleet, "a").await;
    let update = ah_model::SessionUpdate::default();
    h.store().bind_run(a.lease(), update).await.unwrap();
    finish(h, &a, completed()).await;
    let b = hold(h, &fleet, "b").await;
    let lost = h.store().lose_run(b.lease()).await.unwrap();
    assert_eq!((lost.status, lost.lease_epoch), (RunStatus::Pending, 1), "it is queued again");
    let c = hold(h, &fleet, "c").await;
    let stopping = h.store().stop_run(c.id.clone()).await.unwrap();
    assert_eq!(stopping.status, RunStatus::Stopping);
    finish(h, &c, stopped()).await;
    let d = h.store().stop_run(run_id_of(&fleet, "d")).await.unwrap();
    assert_eq!(d.status, RunStatus::Stopped);
    assert_eq!(shape(session(h, "s2").await), before);
    assert_eq!(callbacks(h, "p").await.len(), 1);
    assert_eq!(fleet_of(h, "s2").await.status, FleetStatus::Live);
}

pub async fn a_member_that_completed_without_a_word_before_moves_nothing(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a"]).await;
    let run = claim(h, "e1").await.unwrap();
    let ended = finish(h, &run, completed()).await;
    assert_eq!((ended.status, ended.started_at), (RunStatus::Completed, Some(h.clock().now())));
    assert_eq!(session(h, "s1").await.status, SessionStatus::Created);
    assert_eq!(fleet_of(h, "s1").await, fleet);
}

pub async fn a_member_may_append_to_the_log_of_its_session(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a"]).await;
    let run = run_of(h, &fleet, "a").await;
    h.store().append_to_run(run.lease(), vec![note("1")]).await.unwrap();
    assert_eq!(log(h, "s1").await.len(), 2);
}

pub async fn another_leader_raises_the_epoch(h: &mut dyn Harness) {
    let before = form(h, "s1", &["a", "b"]).await;
    h.clock().advance_ms(5);
    let fleet = change(h, "s1", lead("b")).await.unwrap();
    let led_since = h.clock().now();
    let expected = Fleet { epoch: 2, leader: name("b"), led_since, ..before };
    assert_eq!(fleet, expected);
    assert_eq!(kinds(h, "s1").await, [fleet_events::FORMED, fleet_events::LEADER]);
    let told = json!({ "epoch": 2, "leader": "b", "before": "a", "reason": fleet_reasons::ASKED });
    assert_eq!(newest_data(h, "s1").await, told);
    let before = everything(h).await;
    assert_eq!(change(h, "s1", lead("b")).await.unwrap(), fleet);
    assert_eq!(everything(h).await, before, "who leads already changes nothing");
}

pub async fn members_join_and_leave(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    let more = change(h, "s1", FleetDeed::Add(Box::new(member("c")))).await.unwrap();
    let joined = run_of(h, &more, "c").await;
    assert_eq!((joined.status, joined.member), (RunStatus::Pending, Some(name("c"))));
    let told = json!({ "epoch": 1, "leader": "a", "members": ["a", "b", "c"], "joined": "c" });
    assert_eq!(newest_data(h, "s1").await, told);

    change(h, "s1", remove("b")).await.unwrap();
    let fewer = change(h, "s1", remove("c")).await.unwrap();
    assert_eq!(fewer.members.iter().map(|it| it.name.clone()).collect::<Vec<_>>(), [name("a")]);
    assert_eq!(fewer.epoch, 1, "only another leader raises it");
    assert_eq!(run_of(h, &fleet, "b").await.status, RunStatus::Stopping);
    assert_eq!(run_of(h, &more, "c").await.status, RunStatus::Stopped, "nobody had it");
    assert_eq!(run_of(h, &fleet, "a").await.status, RunStatus::Running);
    let told = json!({ "epoch": 1, "leader": "a", "members": ["a"], "left": "c" });
    assert_eq!(newest_data(h, "s1").await, told);
    let changed = fleet_events::CHANGED;
    assert_eq!(kinds(h, "s1").await, [fleet_events::FORMED, changed, changed, changed]);
}

pub async fn a_change_that_does_not_fit_is_refused(h: &mut dyn Harness) {
    form(h, "s1", &["a", "b"]).await;
    form(h, "s2", &["a"]).await;
    h.store().end_fleet(id("s2")).await.unwrap();
    let before = everything(h).await;
    for what in [lead("x"), remove("x"), remove("a"), FleetDeed::Add(Box::new(member("b")))] {
        let refused = change(h, "s1", what).await;
        assert_refused(h, &before, refused, "conflict session s1").await;
    }
    for what in [lead("b"), remove("b"), FleetDeed::Add(Box::new(member("c")))] {
        let old = FleetChange { epoch: Some(2), what };
        let refused = h.store().change_fleet(id("s1"), old).await;
        assert_refused(h, &before, refused, "conflict session s1").await;
    }
    let refused = change(h, "s2", lead("a")).await;
    assert_refused(h, &before, refused, "conflict session s2").await;
    let refused = change(h, "s9", lead("a")).await;
    assert_refused(h, &before, refused, "not-found fleet s9").await;
    let fresh = FleetChange { epoch: Some(1), what: lead("b") };
    assert_eq!(h.store().change_fleet(id("s1"), fresh).await.unwrap().epoch, 2);
}

pub async fn the_end_of_a_fleet_stops_its_runs(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a", "b", "c"]).await;
    hold(h, &fleet, "a").await;
    claim(h, "e1").await.unwrap();
    let own = queue(h, start_of("s1")).await;
    h.clock().advance_ms(3);
    let at = Some(h.clock().now());
    let ended = h.store().end_fleet(id("s1")).await.unwrap();
    assert_eq!(ended, Fleet { status: FleetStatus::Ended, ended_at: at, ..fleet.clone() });
    for (member, status) in
        [("a", RunStatus::Stopping), ("b", RunStatus::Stopping), ("c", RunStatus::Stopped)]
    {
        assert_eq!(run_of(h, &fleet, member).await.status, status, "{member}");
    }
    assert_eq!(h.store().run(own.id).await.unwrap().status, RunStatus::Pending);
    assert_eq!(session(h, "s1").await.status, SessionStatus::Created);
    assert_eq!(newest_data(h, "s1").await, json!({ "epoch": 1 }));
    assert_eq!(kinds(h, "s1").await, [fleet_events::FORMED, fleet_events::ENDED]);
    let before = everything(h).await;
    assert_eq!(h.store().end_fleet(id("s1")).await.unwrap(), ended);
    assert_eq!(everything(h).await, before, "again is no change");
    assert_eq!(refusal(h.store().end_fleet(id("s9")).await), "not-found fleet s9");
}

pub async fn a_session_that_ends_or_is_asked_to_stop_ends_its_fleet(h: &mut dyn Harness) {
    let ends: [(&str, SessionStatus); 5] = [
        ("stopped", SessionStatus::Cancelled),
        ("run-stopped", SessionStatus::Stopping),
        ("status", SessionStatus::Failed),
        ("finished", SessionStatus::Succeeded),
        ("lost", SessionStatus::Failed),
    ];
    for (how, status) in ends {
        create(h, how).await;
        let own = match how {
            "stopped" | "status" => None,
            _ => Some(at_work(h, start_of(how)).await),
        };
        let fleet = h.store().create_fleet(new_fleet(how, &["a", "b"])).await.unwrap();
        hold(h, &fleet, "a").await;
        fence(h, new_fence(how)).await;
        let shown = match (how, own) {
            ("stopped", _) => h.store().stop_session(id(how)).await.unwrap(),
            ("status", _) => {
                let change = StatusChange { to: SessionStatus::Failed, exit: <_>::default() };
                h.store().set_session_status(id(how), change).await.unwrap()
            }
            ("run-stopped", Some(own)) => {
                h.store().stop_run(own.id).await.unwrap();
                session(h, how).await
            }
            ("lost", Some(own)) => {
                h.store().lose_run(own.lease()).await.unwrap();
                session(h, how).await
            }
            (_, Some(own)) => {
                finish(h, &own, completed()).await;
                session(h, how).await
            }
            (_, None) => unreachable!("{how}"),
        };
        assert_eq!(shown.status, status, "{how}");
        assert_eq!(session(h, how).await, shown, "{how}: what was answered is what is kept");
        assert_eq!(fleet_of(h, how).await.status, FleetStatus::Ended, "{how}");
        assert_eq!(run_of(h, &fleet, "a").await.status, RunStatus::Stopping, "{how}");
        assert_eq!(run_of(h, &fleet, "b").await.status, RunStatus::Stopped, "{how}");
        let expected = [
            fleet_events::FORMED,
            fleet_events::FENCE_STARTED,
            fleet_events::FENCE_RESULT,
            fleet_events::ENDED,
        ];
        assert_eq!(kinds(h, how).await, expected, "{how}");
        assert_eq!(h.store().open_fences().await.unwrap(), [], "{how}");
    }
}

pub async fn the_session_that_an_agent_leaves_ends_its_fleet(h: &mut dyn Harness) {
    let agent = create_agent(h, "ann").await;
    let first = agent.active_session_id.unwrap();
    h.store().create_fleet(new_fleet(first.as_str(), &["a"])).await.unwrap();
    renew(h, "ann", reset("again"), "next").await;
    assert_eq!(fleet_of(h, first.as_str()).await.status, FleetStatus::Ended);
    let log = kinds(h, first.as_str()).await;
    assert_eq!(log.last().map(String::as_str), Some(fleet_events::ENDED));
}

pub async fn an_idle_session_keeps_its_fleet(h: &mut dyn Harness) {
    create(h, "s1").await;
    let own = at_work(h, start_of("s1")).await;
    form(h, "s2", &["a"]).await;
    h.store().create_fleet(new_fleet("s1", &["a"])).await.unwrap();
    finish(h, &own, crate::given_run::idle()).await;
    assert_eq!(fleet_of(h, "s1").await.status, FleetStatus::Live);
    queue(h, resume_of("s1")).await;
    assert_eq!(fleet_of(h, "s1").await.status, FleetStatus::Live);
}

pub async fn a_session_is_deleted_with_its_fleet_unless_it_is_held(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a", "b"]).await;
    let run = hold(h, &fleet, "a").await;
    let begun = fence(h, new_fence("s1")).await;
    let before = everything(h).await;
    let refused = h.store().delete_session(id("s1")).await;
    assert_refused(h, &before, refused, "conflict session s1").await;
    finish(h, &run, stopped()).await;
    h.store().delete_session(id("s1")).await.unwrap();
    assert_eq!(refusal(h.store().fleet(id("s1")).await), "not-found fleet s1");
    let gone = refusal(h.store().fence(begun.id.clone()).await);
    assert_eq!(gone, format!("not-found fence {}", begun.id));
    assert_eq!(h.store().open_fences().await.unwrap(), []);
    assert_eq!(sweep(h).await, FleetsSwept::default());
    // Another session of that id begins anew.
    assert_eq!(form(h, "s1", &["a"]).await.epoch, 1);
}

pub async fn fleets_are_listed_newest_first_each_once(h: &mut dyn Harness) {
    let mut expected = Vec::new();
    for n in 0..7 {
        h.clock().advance_ms(i64::from(n % 2));
        expected.push(form(h, &format!("s{n}"), &["a"]).await);
    }
    h.store().end_fleet(id("s3")).await.unwrap();
    expected[3] = fleet_of(h, "s3").await;
    expected.reverse();
    for size in [1, 2, 50] {
        let store = h.store();
        let list = |page| store.list_fleets(FleetFilter::default(), page);
        assert_eq!(paged(size, list).await, expected, "pages of {size}");
    }
    for status in [FleetStatus::Live, FleetStatus::Ended] {
        let filter = FleetFilter { status: Some(status) };
        let found = h.store().list_fleets(filter, all()).await.unwrap().items;
        let of_status = expected.iter().filter(|fleet| fleet.status == status);
        assert_eq!(found, of_status.cloned().collect::<Vec<_>>());
    }
    let foreign = from_cursor(ah_model::Cursor::Number(1));
    let refused = h.store().list_fleets(FleetFilter::default(), foreign).await;
    assert_eq!(refusal(refused), "invalid cursor");
}

pub async fn a_lost_leader_has_a_successor(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b", "c"]).await;
    let begun = fence(h, new_fence("s1")).await;
    assert_eq!(sweep(h).await, FleetsSwept::default(), "it is held");
    let run = run_of(h, &fleet, "a").await;
    h.store().lose_run(run.lease()).await.unwrap();
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
    let after = fleet_of(h, "s1").await;
    assert_eq!((after.epoch, &after.leader), (2, &name("b")), "the first that is at work");
    assert_eq!((after.led_since, after.members.len()), (h.clock().now(), 3));
    let given_up = crate::given_fleet::now(h, &begun).await;
    assert_eq!(given_up.status, ah_model::FenceStatus::Error);
    let expected = [
        fleet_events::FORMED,
        fleet_events::FENCE_STARTED,
        fleet_events::LEADER,
        fleet_events::FENCE_RESULT,
    ];
    assert_eq!(kinds(h, "s1").await, expected);
    let events = log(h, "s1").await;
    let told: serde_json::Value = events[2].data.read().unwrap();
    let reason = fleet_reasons::LOST;
    assert_eq!(told, json!({ "epoch": 2, "leader": "b", "before": "a", "reason": reason }));
    let before = everything(h).await;
    assert_eq!(sweep(h).await, FleetsSwept::default(), "once is enough");
    assert_eq!(everything(h).await, before);
    // Whoever takes the lost run follows.
    hold(h, &fleet, "a").await;
    assert_eq!(sweep(h).await, FleetsSwept::default());
    assert_eq!(fleet_of(h, "s1").await.leader, name("b"));
}

pub async fn a_leader_whose_lease_is_over_is_lost_with_the_sweep_of_runs(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    h.clock().advance_ms(LEASE - 1);
    let follower = run_of(h, &fleet, "b").await;
    h.store().renew_run(follower.lease(), LEASE_MS).await.unwrap();
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, FleetsSwept::default(), "nobody has swept its run");
    crate::given_run::sweep(h).await;
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
    assert_eq!(fleet_of(h, "s1").await.leader, name("b"));
}

pub async fn a_leader_that_was_never_held_is_waited_for(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a", "b"]).await;
    hold(h, &fleet, "b").await;
    let wait = i64::try_from(FLEET_LEADER_WAIT_MS).unwrap();
    h.clock().advance_ms(wait - 1);
    assert_eq!(sweep(h).await, FleetsSwept::default());
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
    assert_eq!(fleet_of(h, "s1").await.leader, name("b"));
}

pub async fn a_lost_leader_stays_while_nobody_else_is_at_work(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a", "b"]).await;
    let run = hold(h, &fleet, "a").await;
    h.store().lose_run(run.lease()).await.unwrap();
    let claim = RunClaim { run_id: Some(run_id_of(&fleet, "b")), ..claim_of("e-b") };
    let claimed = h.store().claim_run(claim).await.unwrap().unwrap();
    assert_eq!(sweep(h).await, FleetsSwept::default(), "one that has not begun cannot lead");
    start(h, &claimed).await;
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
}

pub async fn a_leader_lost_for_good_has_a_successor(h: &mut dyn Harness) {
    let fleet = held(h, "s1", &["a", "b"]).await;
    for _ in 1..RUN_CLAIMS_MAX {
        let run = run_of(h, &fleet, "a").await;
        h.store().lose_run(run.lease()).await.unwrap();
        hold(h, &fleet, "a").await;
    }
    let run = run_of(h, &fleet, "a").await;
    assert_eq!(h.store().lose_run(run.lease()).await.unwrap().status, RunStatus::Failed);
    assert_eq!(session(h, "s1").await.status, SessionStatus::Created);
    assert_eq!(sweep(h).await, FleetsSwept { leaders: 1, fences: 0 });
    assert_eq!(fleet_of(h, "s1").await.leader, name("b"));
}

pub async fn a_restored_run_keeps_its_member(h: &mut dyn Harness) {
    let fleet = form(h, "s1", &["a"]).await;
    let run = hold(h, &fleet, "a").await;
    let ended = finish(h, &run, completed()).await;
    create(h, "s2").await;
    let elsewhere = Run { id: "there".parse().unwrap(), session_id: id("s2"), ..ended };
    assert!(h.store().restore_run(elsewhere.clone()).await.unwrap());
    assert_eq!(h.store().run(elsewhere.id.clone()).await.unwrap(), elsewhere);
}

pub async fn of_racing_formations_one_wins(h: &mut dyn Harness) {
    for n in 0..5 {
        let session = format!("s{n}");
        create(h, &session).await;
        let answers = race(h, 3, move |store, _| {
            block_on(store.create_fleet(new_fleet(&format!("s{n}"), &["a", "b"])))
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for refused in lost {
            assert_eq!(refusal(refused), format!("conflict session {session}"));
        }
        assert_eq!(runs_of(h, &session).await.len(), 2);
        assert_eq!(kinds(h, &session).await, [fleet_events::FORMED]);
    }
}

pub async fn of_racing_sweeps_one_names_the_successor(h: &mut dyn Harness) {
    for n in 0..5 {
        let session = format!("s{n}");
        let fleet = held(h, &session, &["a", "b"]).await;
        let run = run_of(h, &fleet, "a").await;
        h.store().lose_run(run.lease()).await.unwrap();
        let answers = race(h, 3, |store, _| block_on(store.sweep_fleets()).unwrap());
        assert_eq!(answers.iter().map(|swept| swept.leaders).sum::<u64>(), 1);
        assert_eq!(fleet_of(h, &session).await.epoch, 2);
        assert_eq!(kinds(h, &session).await, [fleet_events::FORMED, fleet_events::LEADER]);
    }
}
