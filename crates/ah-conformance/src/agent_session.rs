//! Sessions of agents: each begins where the one before ends, numbered, one of them active.

use ah_model::{
    Agent, Appended, Beginning, Cause, Cursor, Exit, Fork, Invalid, Lifecycle, Membership,
    NewEvent, Order, Renewal, Session, SessionStatus, Usage, limits,
};
use ah_store::{Clock, SessionFork, StoreError, block_on, export_session, import_session};

use crate::Harness;
use crate::given::{
    agent, agent_id, all, append, create, create_agent, everything, from_cursor, full_agent, id,
    keyed, log, note, paged, race, refusal, renew, renewal, reset, sessions_of, set_lifecycle,
    set_status, tell,
};

/// Threads of a race of renewals.
const RACERS: u64 = 12;

fn place(name: &str, number: u64, cause: Cause) -> Option<Membership> {
    Some(Membership { id: agent_id(name), number, cause })
}

async fn session(h: &dyn Harness, name: &str) -> Session {
    h.store().session(id(name)).await.unwrap()
}

/// What `session` is when its agent went on without it now.
fn closed(h: &dyn Harness, session: Session, status: SessionStatus, reason: &str) -> Session {
    let now = h.clock().now();
    Session {
        status,
        ended_at: Some(now),
        exit: Exit { reason: Some(reason.to_owned()), ..Exit::default() },
        last_activity_at: now,
        ..session
    }
}

/// What `agent` is when it goes on in `session` now.
fn gone_on(h: &dyn Harness, agent: Agent, session: &str) -> Agent {
    Agent {
        active_session_id: Some(id(session)),
        session_count: agent.session_count + 1,
        revision: agent.revision + 1,
        updated_at: h.clock().now(),
        ..agent
    }
}

pub async fn the_first_event_begins_the_session_and_no_other_does(h: &mut dyn Harness) {
    let before = create_agent(h, "a").await;
    let mut expected = session(h, "a-1").await;
    h.clock().advance_ms(5);
    let now = h.clock().now();
    let batch = vec![keyed("1", "k"), note("2")];
    let appended = h.store().append_to_agent(agent_id("a"), None, batch.clone()).await.unwrap();
    let session_id = id("a-1");
    let answer = Appended {
        session_id,
        first_seq: 1,
        last_seq: 2,
        appended: 2,
        duplicates: 0,
        redacted: ah_model::Redactions::default(),
    };
    assert_eq!(appended, answer);
    expected.status = SessionStatus::Running;
    expected.last_seq = 2;
    (expected.started_at, expected.last_activity_at) = (now, now);
    assert_eq!(session(h, "a-1").await, expected);
    let events = log(h, "a-1").await;
    assert_eq!(events.iter().map(|event| event.data.as_str()).collect::<Vec<_>>(), ["1", "2"]);

    h.clock().advance_ms(5);
    let again =
        h.store().append_to_agent(agent_id("a"), None, vec![keyed("1", "k")]).await.unwrap();
    assert_eq!((again.appended, again.duplicates, again.last_seq), (0, 1, 1));
    assert_eq!(session(h, "a-1").await, expected, "a duplicate is no activity");
    tell(h, "a", note("3")).await;
    expected.last_seq = 3;
    expected.last_activity_at = h.clock().now();
    h.reopen().await;
    assert_eq!(session(h, "a-1").await, expected, "it ran already");
    assert_eq!(agent(h, "a").await, before, "an append is no change of the agent");
}

pub async fn an_event_that_was_there_already_begins_nothing(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    append(h, "a-1", keyed("1", "k")).await;
    tell(h, "a", keyed("1", "k")).await;
    assert_eq!(session(h, "a-1").await.status, SessionStatus::Created);
    tell(h, "a", keyed("2", "l")).await;
    assert_eq!(session(h, "a-1").await.status, SessionStatus::Running);
}

pub async fn an_append_to_an_ended_session_leaves_it_ended(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    set_status(h, "a-1", SessionStatus::Failed).await;
    tell(h, "a", note("1")).await;
    let kept = session(h, "a-1").await;
    assert_eq!((kept.status, kept.last_seq), (SessionStatus::Failed, 1));
}

pub async fn a_sleeping_agent_takes_events_and_renewals_and_stays_asleep(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    set_lifecycle(h, "a", Lifecycle::Sleeping).await;
    assert_eq!(tell(h, "a", note("1")).await, id("a-1"));
    renew(h, "a", reset("go"), "a-2").await;
    let kept = agent(h, "a").await;
    assert_eq!((kept.lifecycle, kept.active_session_id), (Lifecycle::Sleeping, Some(id("a-2"))));
}

pub async fn bad_batches_for_an_agent_are_refused_whole(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    let before = everything(h).await;
    let store = h.store();
    let tell = |events: Vec<NewEvent>| store.append_to_agent(agent_id("a"), None, events);
    assert_eq!(refusal(tell(vec![]).await), "invalid number of events");
    let bad = NewEvent { kind: String::new(), ..note("2") };
    assert_eq!(refusal(tell(vec![note("1"), bad]).await), "invalid type");
    assert_eq!(everything(h).await, before);
}

pub async fn a_reset_ends_the_session_and_begins_the_next_with_its_message(h: &mut dyn Harness) {
    let full = full_agent("Full");
    let agent_id = full.id.clone().unwrap();
    h.store().create_agent(full).await.unwrap();
    h.store().append_to_agent(agent_id.clone(), None, vec![note("1")]).await.unwrap();
    let (before, old) =
        (h.store().agent(agent_id.clone()).await.unwrap(), session(h, "Full-1").await);
    h.clock().advance_ms(1_000);
    let renewal = Renewal {
        inference_session_id: Some("provider's ☃".to_owned()),
        ..renewal(reset("start over\n☃"), "Full-2")
    };
    let made = h.store().renew_agent(agent_id.clone(), renewal).await.unwrap();
    let mut new = old.successor();
    new.details.reset_message = Some("start over\n☃".to_owned());
    new.details.inference_session_id = Some("provider's ☃".to_owned());
    let of_agent = Some(Membership { id: agent_id.clone(), number: 2, cause: Cause::Reset });
    let created = Session::created(new, id("Full-2"), old.repo_id.unwrap(), h.clock().now());
    let expected = Session { of_agent, ..created };
    assert_eq!(made, expected);
    h.reopen().await;
    assert_eq!(session(h, "Full-2").await, expected);
    let ended = closed(h, old, SessionStatus::Succeeded, "reset");
    assert_eq!(session(h, "Full-1").await, ended);
    assert_eq!(h.store().agent(agent_id).await.unwrap(), gone_on(h, before, "Full-2"));
}

pub async fn a_compaction_begins_the_next_session_with_its_summary(h: &mut dyn Harness) {
    let before = create_agent(h, "a").await;
    let old = session(h, "a-1").await;
    h.clock().advance_ms(10);
    let summary = "all that was said".to_owned();
    let made = renew(h, "a", Beginning::Compaction { summary: summary.clone() }, "a-2").await;
    let mut new = old.successor();
    new.details.reset_message = Some(summary);
    let created = Session::created(new, id("a-2"), old.repo_id.unwrap(), h.clock().now());
    let expected = Session { of_agent: place("a", 2, Cause::Compaction), ..created };
    assert_eq!((made, agent(h, "a").await), (expected, gone_on(h, before, "a-2")));
    let ended = closed(h, old, SessionStatus::Cancelled, "compaction");
    assert_eq!(session(h, "a-1").await, ended, "nothing happened in it");
}

pub async fn a_fork_goes_on_from_a_point_of_any_of_its_sessions(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    for n in ["1", "2", "3"] {
        tell(h, "a", note(n)).await;
    }
    let stem = session(h, "a-1").await;
    let point =
        |session: Option<&str>, at_seq| Beginning::Fork { session: session.map(id), at_seq };
    let mut active = stem.clone();
    for (how, name, stem_id, at_seq) in [
        (point(None, None), "a-2", "a-1", 3),
        (point(Some("a-1"), Some(1)), "a-3", "a-1", 1),
        (point(Some("a-2"), Some(0)), "a-4", "a-2", 0),
        (point(Some("a-4"), None), "a-5", "a-4", 0),
    ] {
        h.clock().advance_ms(10);
        let before = agent(h, "a").await;
        let made = renew(h, "a", how, name).await;
        let new = stem.successor();
        let created = Session::created(new, id(name), stem.repo_id.unwrap(), h.clock().now());
        let expected = Session {
            forked_from: Some(Fork { session_id: id(stem_id), at_seq }),
            of_agent: place("a", before.session_count + 1, Cause::Fork),
            ..created
        };
        assert_eq!(made, expected);
        assert_eq!(session(h, name).await, expected);
        assert_eq!(log(h, name).await, [], "the shared log is not copied");
        assert_eq!(agent(h, "a").await, gone_on(h, before, name));
        let status = match active.last_seq {
            0 => SessionStatus::Cancelled,
            _ => SessionStatus::Succeeded,
        };
        let ended = closed(h, active.clone(), status, "fork");
        assert_eq!(session(h, active.id.as_str()).await, ended);
        active = made;
    }
    assert_eq!(tell(h, "a", note("4")).await, id("a-5"));
}

pub async fn a_session_that_had_ended_keeps_its_end_when_its_agent_goes_on(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    set_status(h, "a-1", SessionStatus::Failed).await;
    let ended = session(h, "a-1").await;
    h.clock().advance_ms(10);
    renew(h, "a", reset("again"), "a-2").await;
    assert_eq!(session(h, "a-1").await, ended);
}

pub async fn a_new_session_has_a_log_of_its_own(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    create_agent(h, "b").await;
    for round in 1..=3 {
        for name in ["a", "b"] {
            let own = format!("{name}-{round}");
            for n in 0..round {
                let data = format!("[\"{own}\",{n}]");
                // The same key means nothing in another session.
                assert_eq!(tell(h, name, keyed(&data, &format!("k{n}"))).await, id(&own));
            }
            renew(h, name, reset("on"), &format!("{name}-{}", round + 1)).await;
        }
    }
    h.reopen().await;
    for round in 1..=3 {
        for own in [format!("a-{round}"), format!("b-{round}")] {
            let events = log(h, &own).await;
            let said: Vec<_> = events.iter().map(|event| event.data.as_str()).collect();
            let expected: Vec<_> = (0..round).map(|n| format!("[\"{own}\",{n}]")).collect();
            assert_eq!(said, expected);
        }
    }
    assert_eq!(log(h, "a-4").await, []);
}

pub async fn sessions_are_listed_by_number_whatever_the_clock_did(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    create_agent(h, "other").await;
    // Ids that sort otherwise than the numbers.
    for (name, step) in [("z", -10_000), ("m", 0), ("b", -5), ("Z", 60_000), ("0", -90_000)] {
        h.clock().advance_ms(step);
        renew(h, "a", reset(name), name).await;
        renew(h, "other", reset(name), &format!("o{name}")).await;
    }
    let listed = sessions_of(h, "a").await;
    let ids: Vec<_> = listed.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["a-1", "z", "m", "b", "Z", "0"]);
    let numbers: Vec<_> = listed.iter().map(|s| s.of_agent.as_ref().unwrap().number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);

    let store = h.store();
    let newest: Vec<_> = listed.iter().rev().cloned().collect();
    for (order, expected) in [(Order::Oldest, &listed), (Order::Newest, &newest)] {
        for size in [1, 2, 5, 6, 7] {
            let list = |page| store.agent_sessions(agent_id("a"), order, page);
            assert_eq!(paged(size, list).await, *expected, "size {size}, {order:?}");
        }
        for foreign in [
            Cursor::Text("a".to_owned()),
            Cursor::Activity { at: h.clock().now(), id: "a".to_owned() },
        ] {
            let refused = store.agent_sessions(agent_id("a"), order, from_cursor(foreign)).await;
            assert_eq!(refusal(refused), "invalid cursor");
        }
        for beyond in [i64::MIN, i64::MAX] {
            let page = from_cursor(Cursor::Number(beyond));
            let page = store.agent_sessions(agent_id("a"), order, page).await.unwrap();
            let all_behind = (order == Order::Oldest) == (beyond == i64::MIN);
            assert_eq!(page.items.len(), if all_behind { 6 } else { 0 });
        }
    }
}

pub async fn a_renewal_that_expected_something_else_changes_nothing(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    renew(h, "a", reset("on"), "a-2").await;
    tell(h, "a", note("1")).await;
    let before = everything(h).await;
    let expect = |session: Option<&str>, seq| Renewal {
        expected_session: session.map(id),
        expected_seq: seq,
        ..renewal(reset("on"), "a-3")
    };
    let store = h.store();
    for (late, words) in [
        (expect(Some("a-1"), None), "goes on in session a-2, a-1 was expected"),
        (expect(Some("a-1"), Some(1)), "goes on in session a-2, a-1 was expected"),
        (expect(None, Some(0)), "has 1 events in its session, 0 were expected"),
        (
            expect(Some("a-2"), Some(u64::MAX)),
            &format!("has 1 events in its session, {} were expected", u64::MAX),
        ),
    ] {
        let refused = store.renew_agent(agent_id("a"), late).await.unwrap_err();
        assert_eq!(refused.to_string(), format!("agent a: {words}"));
    }
    assert_eq!(everything(h).await, before);
    let made = store.renew_agent(agent_id("a"), expect(Some("a-2"), Some(1))).await.unwrap();
    assert_eq!(made.of_agent, place("a", 3, Cause::Reset));
}

pub async fn bad_renewals_are_refused_and_change_nothing(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", note("1")).await;
    create_agent(h, "b").await;
    create(h, "nobody's").await;
    let before = everything(h).await;
    let fork = |session: &str, at_seq| {
        Renewal::new(Beginning::Fork { session: Some(id(session)), at_seq })
    };
    let compaction =
        |summary: &str| Renewal::new(Beginning::Compaction { summary: summary.to_owned() });
    let provider =
        Renewal { inference_session_id: Some("\0".to_owned()), ..Renewal::new(reset("on")) };
    let long = "x".repeat(limits::PROMPT_BYTES_MAX + 1);
    for (bad, refused) in [
        (Renewal::new(reset("\0")), "invalid message"),
        (Renewal::new(reset(&long)), "invalid message"),
        (compaction(""), "invalid summary"),
        (provider, "invalid inferenceSessionId"),
        (fork("a-1", Some(2)), "invalid fork point"),
        (fork("b-1", None), "invalid fork session"),
        (fork("nobody's", None), "invalid fork session"),
        (fork("missing", None), "not-found session missing"),
        (renewal(reset("on"), "a-1"), "conflict session a-1"),
        (renewal(reset("on"), "nobody's"), "conflict session nobody's"),
    ] {
        let answer = h.store().renew_agent(agent_id("a"), bad).await;
        assert_eq!(self::refusal(answer), refused);
    }
    let foreign = h.store().renew_agent(agent_id("a"), fork("b-1", None)).await.unwrap_err();
    let words = Invalid::new("fork session", "b-1 is not a session of agent a");
    assert_eq!(foreign.to_string(), words.to_string());
    assert_eq!(everything(h).await, before);
}

pub async fn racing_resets_leave_numbers_without_gaps_and_one_active_session(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", note("1")).await;
    let made = race(h, RACERS, |store, thread| {
        let message = Some(thread.to_string());
        let renewal = Renewal::new(Beginning::Reset { message });
        block_on(store.renew_agent(agent_id("a"), renewal)).unwrap()
    });
    let sessions = sessions_of(h, "a").await;
    let places: Vec<_> = sessions.iter().map(|s| s.of_agent.as_ref().unwrap().number).collect();
    assert_eq!(places, (1..=RACERS + 1).collect::<Vec<_>>());
    let kept = agent(h, "a").await;
    assert_eq!((kept.session_count, kept.revision), (RACERS + 1, RACERS + 1));
    let (last, ended) = sessions.split_last().unwrap();
    assert_eq!(kept.active_session_id.as_ref(), Some(&last.id));
    assert_eq!(last.status, SessionStatus::Created);
    let reset = Some("reset".to_owned());
    assert!(ended.iter().all(|s| s.status.is_finished() && s.exit.reason == reset));
    // Each caller was answered with a session of its own, under the message it gave.
    for (thread, session) in made.into_iter().enumerate() {
        assert_eq!(session.details.reset_message, Some(thread.to_string()));
        let kept = h.store().session(session.id.clone()).await.unwrap();
        assert_eq!(kept.of_agent, session.of_agent);
    }
}

pub async fn of_racing_resets_that_expect_one_session_one_wins(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    for round in 1..=5_u64 {
        let active = agent(h, "a").await.active_session_id.unwrap();
        let answers = race(h, 4, move |store, _| {
            let renewal = Renewal {
                expected_session: Some(active.clone()),
                ..Renewal::new(Beginning::Reset { message: None })
            };
            block_on(store.renew_agent(agent_id("a"), renewal))
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        let [winner] = <[Result<Session, StoreError>; 1]>::try_from(won).unwrap();
        let winner = winner.unwrap();
        assert_eq!(winner.of_agent, place("a", round + 1, Cause::Reset));
        assert_eq!(agent(h, "a").await.active_session_id, Some(winner.id));
        for error in lost {
            assert_eq!(refusal(error), "conflict agent a");
        }
    }
}

pub async fn appends_racing_with_resets_land_once_in_a_session_that_was_active(
    h: &mut dyn Harness,
) {
    const APPENDS: u64 = 10;
    create_agent(h, "a").await;
    let answers = race(h, 6, |store, thread| {
        let one = |n| match thread {
            0 | 1 => {
                let renewal = Renewal::new(Beginning::Reset { message: None });
                block_on(store.renew_agent(agent_id("a"), renewal)).unwrap();
                None
            }
            _ => {
                let event = note(&format!("[{thread},{n}]"));
                Some(block_on(store.append_to_agent(agent_id("a"), None, vec![event])).unwrap())
            }
        };
        (0..APPENDS).filter_map(one).collect::<Vec<_>>()
    });
    let mut kept = Vec::new();
    for session in sessions_of(h, "a").await {
        let events = log(h, session.id.as_str()).await;
        assert_eq!(session.last_seq, events.len() as u64);
        let ran =
            session.status != SessionStatus::Created && session.status != SessionStatus::Cancelled;
        assert_eq!(ran, !events.is_empty(), "what was appended to has run: {session:?}");
        kept.extend(events.into_iter().map(|event| (event.session_id, event.seq)));
    }
    let mut answered: Vec<_> =
        answers.into_iter().flatten().map(|done| (done.session_id, done.first_seq)).collect();
    kept.sort();
    answered.sort();
    assert_eq!(kept, answered);
    assert_eq!(agent(h, "a").await.session_count, 2 * APPENDS + 1);
}

fn spent(input: u64, output: u64) -> NewEvent {
    note(&format!(r#"{{"usage":{{"inputTokens":{input},"outputTokens":{output}}}}}"#))
}

fn usage(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens, ..Usage::default() }
}

pub async fn usage_is_summed_for_each_session_and_for_the_agent(h: &mut dyn Harness) {
    let before = create_agent(h, "a").await;
    create_agent(h, "b").await;
    tell(h, "a", spent(1, 2)).await;
    append(h, "a-1", NewEvent { dedup_key: Some("k".to_owned()), ..spent(10, 20) }).await;
    append(h, "a-1", NewEvent { dedup_key: Some("k".to_owned()), ..spent(10, 20) }).await;
    assert_eq!(session(h, "a-1").await.usage, usage(11, 22));
    assert_eq!(agent(h, "a").await, Agent { usage: usage(11, 22), ..before });

    renew(h, "a", reset("on"), "a-2").await;
    assert_eq!(session(h, "a-2").await.usage, usage(0, 0));
    assert_eq!(agent(h, "a").await.usage, usage(11, 22), "a reset forgets no cost");
    tell(h, "a", note(r#"{"tokens":{"size":{"input":100,"output":200}}}"#)).await;
    // Late news of a session that has ended counts too.
    append(h, "a-1", spent(1_000, 0)).await;
    renew(h, "a", Beginning::Fork { session: Some(id("a-1")), at_seq: None }, "a-3").await;
    h.store().append_events_after(id("a-3"), 0, vec![spent(5, 5)]).await.unwrap();
    h.reopen().await;
    for (name, total) in [("a-1", usage(1_011, 22)), ("a-2", usage(100, 200)), ("a-3", usage(5, 5))]
    {
        assert_eq!(session(h, name).await.usage, total, "{name}");
    }
    assert_eq!(agent(h, "a").await.usage, usage(1_116, 227));
    assert_eq!(agent(h, "b").await.usage, usage(0, 0));
}

pub async fn racing_appends_lose_no_usage_of_their_agent(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    race(h, 8, |store, thread| {
        for _ in 0..10 {
            let batch = vec![spent(1, thread), spent(1, thread)];
            block_on(store.append_to_agent(agent_id("a"), None, batch)).unwrap();
        }
    });
    let total = usage(160, 2 * 10 * (0..8).sum::<u64>());
    assert_eq!(session(h, "a-1").await.usage, total);
    assert_eq!(agent(h, "a").await.usage, total);
}

pub async fn a_deleted_session_takes_its_cost_with_it_and_brings_it_back_once(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    append(h, "a-1", spent(5, 1)).await;
    renew(h, "a", reset("on"), "a-2").await;
    append(h, "a-2", spent(100, 0)).await;
    let mut document = Vec::new();
    export_session(&*h.store(), &id("a-1"), &mut document).await.unwrap();
    let before = (agent(h, "a").await, sessions_of(h, "a").await);
    h.store().delete_session(id("a-1")).await.unwrap();
    assert_eq!(agent(h, "a").await.usage, usage(100, 0));
    import_session(&*h.store(), &mut document.as_slice(), &mut |_| ()).await.unwrap();
    assert_eq!((agent(h, "a").await, sessions_of(h, "a").await), before);
}

pub async fn a_session_that_comes_back_to_an_agent_that_went_on_has_ended(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", note("1")).await;
    let mut document = Vec::new();
    export_session(&*h.store(), &id("a-1"), &mut document).await.unwrap();
    renew(h, "a", reset("on"), "a-2").await;
    h.store().delete_session(id("a-1")).await.unwrap();
    import_session(&*h.store(), &mut document.as_slice(), &mut |_| ()).await.unwrap();
    let back = session(h, "a-1").await;
    assert_eq!(back.of_agent, place("a", 1, Cause::Created));
    assert_eq!(
        (back.status, back.exit.reason.as_deref()),
        (SessionStatus::Succeeded, Some("import"))
    );
    assert_eq!(agent(h, "a").await.active_session_id, Some(id("a-2")));
}

pub async fn an_append_that_expects_another_session_is_a_conflict(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    renew(h, "a", reset("on"), "a-2").await;
    let store = h.store();
    let tell =
        |expected: &str| store.append_to_agent(agent_id("a"), Some(id(expected)), vec![note("1")]);
    let refused = tell("a-1").await.unwrap_err();
    let said = "agent a: goes on in session a-2, a-1 was expected";
    assert_eq!(refused.to_string(), said);
    assert_eq!(tell("a-2").await.unwrap().session_id, id("a-2"));
    assert_eq!(session(h, "a-1").await.last_seq, 0);
}

pub async fn forks_race_with_sessions_that_go_and_come_back(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", spent(1, 0)).await;
    let fork = || Beginning::Fork { session: Some(id("a-1")), at_seq: Some(1) };
    let mut documents = Vec::new();
    for number in 0..2 {
        let name = format!("fork-{number}");
        renew(h, "a", fork(), &name).await;
        tell(h, "a", spent(1, 0)).await;
        let mut document = Vec::new();
        export_session(&*h.store(), &id(&name), &mut document).await.unwrap();
        documents.push(document);
    }
    renew(h, "a", fork(), "last").await;
    // Both take the agent, the session forked from and one of its forks.
    race(h, 4, move |store, thread| {
        for _ in 0..10 {
            if thread < 2 {
                block_on(store.renew_agent(agent_id("a"), Renewal::new(fork()))).unwrap();
                continue;
            }
            let thread = thread - 2;
            block_on(store.delete_session(id(&format!("fork-{thread}")))).unwrap();
            let mut document = documents[thread as usize].as_slice();
            block_on(import_session(&*store, &mut document, &mut |_| ())).unwrap();
        }
    });
    let sessions = sessions_of(h, "a").await;
    assert_eq!(sessions.len(), 24);
    assert_eq!(agent(h, "a").await.usage, usage(3, 0));
    assert_eq!(sessions.iter().filter(|session| session.ended_at.is_none()).count(), 1);
}

pub async fn the_active_session_of_an_agent_cannot_be_deleted(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    let before = everything(h).await;
    let refused = h.store().delete_session(id("a-1")).await.unwrap_err();
    assert_eq!(refused.to_string(), "session a-1: is the active session of agent a");
    assert_eq!(everything(h).await, before);

    // That a fork stands on it is said first.
    let fork = SessionFork { id: Some(id("f")), ..SessionFork::default() };
    h.store().fork_session(id("a-1"), fork).await.unwrap();
    let refused = h.store().delete_session(id("a-1")).await.unwrap_err();
    assert_eq!(refused.to_string(), "session a-1: session f was forked from it");
}

pub async fn an_earlier_session_can_be_deleted_and_its_number_is_not_given_again(
    h: &mut dyn Harness,
) {
    create_agent(h, "a").await;
    tell(h, "a", spent(1, 2)).await;
    renew(h, "a", reset("on"), "a-2").await;
    renew(h, "a", reset("on"), "a-3").await;
    let before = agent(h, "a").await;
    h.store().delete_session(id("a-1")).await.unwrap();
    h.store().delete_session(id("a-2")).await.unwrap();
    assert_eq!(agent(h, "a").await, Agent { usage: usage(0, 0), ..before });
    renew(h, "a", reset("on"), "a-1").await;
    let places: Vec<_> = sessions_of(h, "a").await.into_iter().map(|s| s.of_agent).collect();
    assert_eq!(places, [place("a", 3, Cause::Reset), place("a", 4, Cause::Reset)]);
}

pub async fn a_fork_that_is_no_renewal_belongs_to_no_agent(h: &mut dyn Harness) {
    let before = create_agent(h, "a").await;
    let fork = SessionFork { id: Some(id("f")), ..SessionFork::default() };
    let made = h.store().fork_session(id("a-1"), fork).await.unwrap();
    assert_eq!(made.of_agent, None);
    assert_eq!(session(h, "f").await, made);
    append(h, "f", spent(1, 1)).await;
    assert_eq!(agent(h, "a").await, before);
    assert_eq!(sessions_of(h, "a").await.len(), 1);
}

pub async fn a_session_keeps_its_agent_through_every_other_change(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    h.store().rename_session(id("a-1"), "titled".to_owned()).await.unwrap();
    h.store().pin_session(id("a-1"), true).await.unwrap();
    set_status(h, "a-1", SessionStatus::Running).await;
    let kept = session(h, "a-1").await;
    assert_eq!(kept.of_agent, place("a", 1, Cause::Created));
    let listed = h.store().list_sessions(<_>::default(), all()).await.unwrap();
    assert_eq!(listed.items, [kept]);
}
