//! Agents of other stores: brought in whole, again without harm, and not over what happened here.

use ah_model::{
    Agent, AgentImport, AgentImported, AgentType, Beginning, Cause, Exit, Lifecycle, Membership,
    NewAgent, NewEvent, NewSession, Origin, Session, SessionImport, SessionStatus, Timestamp,
    Usage, limits,
};
use ah_store::{StoreError, block_on};

use crate::Harness;
use crate::given::{
    agent, agent_id, create, create_agent, everything, full_session, id, json, keyed, kind, log,
    new_agent, note, origin, race, refusal, renew, repo, reset, sessions_of, set_lifecycle, tell,
};

const SOURCE: &str = "daycare";

fn time(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(1_500_000_000_000 + ms)
}

/// A line of an imported log, with its place as key and tokens.
fn line(n: i64) -> NewEvent {
    let data = format!(r#"{{"n":{n},"usage":{{"inputTokens":1}}}}"#);
    NewEvent { ts: Some(time(n)), ..keyed(&data, &format!("line {n}")) }
}

fn part(external_id: &str, cause: Cause, created: i64, events: Vec<NewEvent>) -> SessionImport {
    SessionImport {
        external_id: external_id.to_owned(),
        cause,
        reset_message: None,
        inference_session_id: None,
        created_at: time(created),
        ended_at: None,
        events,
    }
}

/// An agent with a session that was reset and one that goes on.
pub(crate) fn import(name: &str) -> AgentImport {
    let first = SessionImport {
        inference_session_id: Some("provider 1".to_owned()),
        ended_at: Some(time(50)),
        ..part("e1", Cause::Created, 10, vec![line(20), line(40), line(30)])
    };
    let second = SessionImport {
        reset_message: Some("on again ☃".to_owned()),
        ..part("e2", Cause::Reset, 50, vec![line(60)])
    };
    let session = NewSession {
        id: Some(id("ignored")),
        parent: Some(id("ignored")),
        workspace: None,
        repo: repo("/r/imported"),
        agent: kind("daycare@2"),
        ..full_session("ignored")
    };
    AgentImport {
        agent: NewAgent { origin: origin(SOURCE, name), session, ..new_agent(name) },
        lifecycle: Lifecycle::Active,
        created_at: time(5),
        updated_at: time(60),
        sessions: vec![first, second],
    }
}

async fn bring(h: &dyn Harness, import: &AgentImport) -> Result<AgentImported, StoreError> {
    h.store().import_agent(import.clone()).await
}

fn done(name: &str, created: bool, counts: [u64; 3]) -> AgentImported {
    let [sessions, events, present] = counts;
    AgentImported {
        agent_id: agent_id(name),
        name: name.to_owned(),
        created,
        sessions,
        events,
        present,
    }
}

async fn session_from(h: &dyn Harness, external_id: &str) -> Session {
    let origin = Origin { source: SOURCE.to_owned(), external_id: external_id.to_owned() };
    h.store().session_of_origin(origin).await.unwrap().unwrap()
}

fn usage(input_tokens: u64) -> Usage {
    Usage { input_tokens, ..Usage::default() }
}

/// How a session that was imported ended, and when.
fn end(session: &Session) -> (SessionStatus, Option<&str>, Option<Timestamp>) {
    (session.status, session.exit.reason.as_deref(), session.ended_at)
}

pub async fn an_imported_agent_is_kept_with_its_sessions_and_events(h: &mut dyn Harness) {
    let import = import("mira");
    assert_eq!(bring(h, &import).await.unwrap(), done("mira", true, [2, 4, 0]));
    h.reopen().await;
    let (first, second) = (session_from(h, "e1").await, session_from(h, "e2").await);
    let mut expected = Agent::imported(&import, agent_id("mira"), "mira".to_owned()).unwrap();
    expected.session_count = 2;
    expected.usage = usage(4);
    expected.active_session_id = Some(second.id.clone());
    assert_eq!((expected.revision, expected.updated_at), (1, time(60)));
    assert_eq!(agent(h, "mira").await, expected);

    let made = |part: &SessionImport, session: &Session, number| {
        let mut new = import.agent.session.clone();
        (new.id, new.parent) = (None, None);
        new.origin = origin(SOURCE, &part.external_id);
        new.details.reset_message.clone_from(&part.reset_message);
        new.details.inference_session_id.clone_from(&part.inference_session_id);
        let of_agent = Some(Membership { id: agent_id("mira"), number, cause: part.cause });
        let (id, repo_id) = (session.id.clone(), session.repo_id.unwrap());
        Session { of_agent, ..Session::created(new, id, repo_id, part.created_at) }
    };
    let ended = Session {
        status: SessionStatus::Succeeded,
        last_seq: 3,
        usage: usage(3),
        exit: Exit { reason: Some("reset".to_owned()), ..Exit::default() },
        ended_at: Some(time(50)),
        last_activity_at: time(50),
        ..made(&import.sessions[0], &first, 1)
    };
    let going_on = Session {
        status: SessionStatus::Running,
        last_seq: 1,
        usage: usage(1),
        last_activity_at: time(60),
        ..made(&import.sessions[1], &second, 2)
    };
    assert_eq!((&first, &second), (&ended, &going_on));
    assert_eq!(sessions_of(h, "mira").await, [ended, going_on]);
    let events = log(h, first.id.as_str()).await;
    let kept: Vec<_> = events.into_iter().map(|e| (e.seq, e.ts, e.data, e.dedup_key)).collect();
    let given = import.sessions[0].events.iter().zip(1..);
    let given = given.map(|(e, seq)| (seq, e.ts.unwrap(), e.data.clone(), e.dedup_key.clone()));
    assert_eq!(kept, given.collect::<Vec<_>>(), "in the order they were given");
}

pub async fn importing_again_adds_nothing(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let before = everything(h).await;
    h.clock().advance_ms(5_000);
    for _ in 0..2 {
        assert_eq!(bring(h, &import("mira")).await.unwrap(), done("mira", false, [0, 0, 4]));
        assert_eq!(everything(h).await, before);
        h.reopen().await;
    }
}

pub async fn new_lines_of_a_known_session_are_added(h: &mut dyn Harness) {
    let mut import = import("mira");
    bring(h, &import).await.unwrap();
    let (before, known) = (agent(h, "mira").await, session_from(h, "e2").await);
    import.sessions[1].events.extend([line(80), line(70)]);
    assert_eq!(bring(h, &import).await.unwrap(), done("mira", false, [0, 2, 4]));
    let grown = Session { last_seq: 3, usage: usage(3), last_activity_at: time(80), ..known };
    assert_eq!(session_from(h, "e2").await, grown);
    assert_eq!(agent(h, "mira").await, Agent { usage: usage(6), ..before });

    // A session may come in parts, each with what is new of it.
    let rest = SessionImport { events: vec![line(90)], ..import.sessions[1].clone() };
    import.sessions = vec![rest.clone(), SessionImport { events: vec![line(95)], ..rest }];
    assert_eq!(bring(h, &import).await.unwrap(), done("mira", false, [0, 2, 0]));
    assert_eq!(session_from(h, "e2").await.last_seq, 5);
}

pub async fn a_new_session_is_numbered_next_and_goes_on(h: &mut dyn Harness) {
    let mut import = import("mira");
    bring(h, &import).await.unwrap();
    let before = agent(h, "mira").await;
    import.sessions[1].ended_at = Some(time(100));
    import.sessions.push(part("e3", Cause::Compaction, 100, vec![]));
    assert_eq!(bring(h, &import).await.unwrap(), done("mira", false, [1, 0, 4]));
    let (second, third) = (session_from(h, "e2").await, session_from(h, "e3").await);
    let ended = (SessionStatus::Succeeded, Some("compaction"), Some(time(100)));
    assert_eq!(end(&second), ended, "it ended for what the next began with");
    assert_eq!(end(&third), (SessionStatus::Created, None, None), "nothing was said in it yet");
    let place = Membership { id: agent_id("mira"), number: 3, cause: Cause::Compaction };
    assert_eq!((third.of_agent, third.created_at), (Some(place), time(100)));
    let active_session_id = Some(third.id);
    let expected = Agent { active_session_id, session_count: 3, ..before };
    assert_eq!(agent(h, "mira").await, expected);
    assert_eq!(tell(h, "mira", note("1")).await, session_from(h, "e3").await.id);
}

pub async fn a_last_session_that_is_said_to_have_ended_has_ended(h: &mut dyn Harness) {
    let mut import = import("mira");
    import.sessions[1].ended_at = Some(time(70));
    bring(h, &import).await.unwrap();
    let last = session_from(h, "e2").await;
    assert_eq!(end(&last), (SessionStatus::Succeeded, Some("ended"), Some(time(70))));
    assert_eq!(agent(h, "mira").await.active_session_id, Some(last.id));
}

pub async fn a_known_agent_takes_newer_state_and_no_older(h: &mut dyn Harness) {
    let mut newer = import("mira");
    bring(h, &newer).await.unwrap();
    let before = agent(h, "mira").await;
    newer.agent.descriptor = Some(json(r#"{"name":"other","x":1.0}"#));
    newer.agent.permissions = json(r#"{"p":1}"#);
    newer.agent.tokens = json("[2]");
    newer.agent.stats = json(r#"{"s":3}"#);
    newer.agent.metadata = json(r#"{"m":4}"#);
    newer.agent.model = Some("newer".to_owned());
    newer.agent.name = "other".to_owned();
    newer.agent.id = Some(agent_id("other"));
    newer.lifecycle = Lifecycle::Sleeping;
    // What is not newer is not taken.
    assert_eq!(bring(h, &newer).await.unwrap(), done("mira", false, [0, 0, 4]));
    assert_eq!(agent(h, "mira").await, before);

    newer.updated_at = time(61);
    assert_eq!(bring(h, &newer).await.unwrap(), done("mira", false, [0, 0, 4]));
    let expected = Agent {
        descriptor: newer.agent.descriptor.clone().unwrap(),
        permissions: json(r#"{"p":1}"#),
        tokens: json("[2]"),
        stats: json(r#"{"s":3}"#),
        metadata: json(r#"{"m":4}"#),
        model: Some("newer".to_owned()),
        lifecycle: Lifecycle::Sleeping,
        revision: 2,
        updated_at: time(61),
        ..before
    };
    assert_eq!(agent(h, "mira").await, expected);
    bring(h, &import("mira")).await.unwrap();
    assert_eq!(agent(h, "mira").await, expected, "the older state comes back with no import");
}

pub async fn a_taken_name_gets_a_number_behind_it(h: &mut dyn Harness) {
    create_agent(h, "MIRA").await;
    create_agent(h, "Mira-2").await;
    let mut known = import("mira");
    known.agent.id = Some(agent_id("m1"));
    let answer = bring(h, &known).await.unwrap();
    let expected = AgentImported { name: "mira-3".to_owned(), ..done("m1", true, [2, 4, 0]) };
    assert_eq!(answer, expected);
    assert_eq!(agent(h, "m1").await.name, "mira-3");
    let again = AgentImported { created: false, sessions: 0, events: 0, present: 4, ..expected };
    assert_eq!(bring(h, &known).await.unwrap(), again);

    let long = "x".repeat(limits::AGENT_NAME_BYTES_MAX);
    create_agent(h, &long).await;
    let mut import = import(&long);
    for part in &mut import.sessions {
        part.external_id.push_str(" of another");
    }
    import.agent.id = None;
    let answer = bring(h, &import).await.unwrap();
    assert_eq!(answer.name, format!("{}-2", &long[2..]));
}

pub async fn a_taken_id_is_replaced_by_a_fresh_one(h: &mut dyn Harness) {
    let mut other = new_agent("other");
    other.id = Some(agent_id("mira"));
    let other = h.store().create_agent(other).await.unwrap();
    let answer = bring(h, &import("mira")).await.unwrap();
    assert_ne!(answer.agent_id, other.id);
    let made = h.store().agent(answer.agent_id.clone()).await.unwrap();
    assert_eq!((made.name.as_str(), made.session_count), ("mira", 2));
    assert_eq!(h.store().agent(other.id.clone()).await.unwrap(), other);
    let again = AgentImported { created: false, sessions: 0, events: 0, present: 4, ..answer };
    assert_eq!(bring(h, &import("mira")).await.unwrap(), again);
}

pub async fn an_agent_that_went_on_here_stays_where_it_went(h: &mut dyn Harness) {
    let mut import = import("mira");
    bring(h, &import).await.unwrap();
    let here = renew(h, "mira", reset("on here"), "here").await;
    let before = agent(h, "mira").await;
    import.sessions[1].events.push(line(70));
    import.sessions[1].ended_at = Some(time(100));
    import.sessions.push(part("e3", Cause::Reset, 100, vec![line(110)]));
    assert_eq!(bring(h, &import).await.unwrap(), done("mira", false, [1, 2, 4]));
    let expected = Agent { session_count: 4, usage: usage(6), ..before };
    assert_eq!(agent(h, "mira").await, expected);
    assert_eq!(h.store().session(id("here")).await.unwrap(), here);
    let third = session_from(h, "e3").await;
    let ended = (SessionStatus::Succeeded, Some("import"), Some(time(110)));
    assert_eq!(end(&third), ended, "two do not go on");
    assert_eq!(tell(h, "mira", note("1")).await, id("here"));
}

pub async fn a_dead_agent_is_imported_with_its_session_ended(h: &mut dyn Harness) {
    let mut dead = import("mira");
    dead.lifecycle = Lifecycle::Dead;
    bring(h, &dead).await.unwrap();
    let last = session_from(h, "e2").await;
    assert_eq!(end(&last), (SessionStatus::Succeeded, Some("retired"), Some(time(60))));
    let before = agent(h, "mira").await;
    assert_eq!((before.lifecycle, before.revision), (Lifecycle::Dead, 1));

    // It comes back to life by no import, but what was said is brought in.
    let mut alive = import("mira");
    alive.updated_at = time(1_000);
    alive.sessions[1].events.push(line(70));
    assert_eq!(bring(h, &alive).await.unwrap(), done("mira", false, [0, 1, 4]));
    assert_eq!(agent(h, "mira").await, Agent { usage: usage(5), ..before });
}

pub async fn an_agent_that_died_elsewhere_dies_here(h: &mut dyn Harness) {
    let mut import = import("mira");
    bring(h, &import).await.unwrap();
    import.lifecycle = Lifecycle::Dead;
    import.updated_at = time(90);
    bring(h, &import).await.unwrap();
    assert_eq!(agent(h, "mira").await.lifecycle, Lifecycle::Dead);
    let last = session_from(h, "e2").await;
    assert_eq!(end(&last), (SessionStatus::Succeeded, Some("retired"), Some(time(90))));
}

pub async fn an_agent_that_died_here_stays_dead(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    set_lifecycle(h, "mira", Lifecycle::Dead).await;
    let before = everything(h).await;
    let mut newer = import("mira");
    newer.updated_at = Timestamp::from_unix_ms(4_000_000_000_000);
    newer.agent.stats = json(r#"{"s":1}"#);
    assert_eq!(bring(h, &newer).await.unwrap(), done("mira", false, [0, 0, 4]));
    assert_eq!(everything(h).await, before);
}

pub async fn an_agent_that_went_on_here_and_died_elsewhere_ends_where_it_went(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let here = renew(h, "mira", reset("on here"), "here").await;
    let newer = Timestamp::from_unix_ms(here.created_at.unix_ms() + 1);
    let died = AgentImport { lifecycle: Lifecycle::Dead, updated_at: newer, ..import("mira") };
    bring(h, &died).await.unwrap();
    let open: Vec<_> =
        sessions_of(h, "mira").await.into_iter().filter(|s| s.ended_at.is_none()).collect();
    assert_eq!(open, []);
    assert_eq!(agent(h, "mira").await.active_session_id, Some(here.id));
}

pub async fn an_import_of_earlier_sessions_alone_takes_no_step_back(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let before = (agent(h, "mira").await, sessions_of(h, "mira").await);
    let mut earlier = import("mira");
    earlier.sessions.truncate(1);
    bring(h, &earlier).await.unwrap();
    assert_eq!((agent(h, "mira").await, sessions_of(h, "mira").await), before);
}

pub async fn a_session_that_an_import_leaves_behind_ends(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let later = part("e3", Cause::Compaction, 90, vec![line(95)]);
    let alone = AgentImport { sessions: vec![later], ..import("mira") };
    bring(h, &alone).await.unwrap();
    let left = session_from(h, "e2").await;
    assert_eq!(end(&left), (SessionStatus::Succeeded, Some("compaction"), Some(time(90))));
    let active = session_from(h, "e3").await.id;
    assert_eq!(agent(h, "mira").await.active_session_id, Some(active));
}

pub async fn what_another_program_left_as_a_descriptor_is_kept(h: &mut dyn Harness) {
    let mut import = import("mira");
    import.agent.agent_type = AgentType::User;
    import.agent.descriptor = Some(json(r#"{"type":"cron","id":7}"#));
    bring(h, &import).await.unwrap();
    let made = agent(h, "mira").await;
    let expected = (AgentType::User, json(r#"{"type":"cron","id":7}"#));
    assert_eq!((made.agent_type, made.descriptor), expected);
}

pub async fn one_bad_part_of_an_import_changes_nothing(h: &mut dyn Harness) {
    let before = everything(h).await;
    let bad = |change: &dyn Fn(&mut AgentImport)| {
        let mut import = import("mira");
        change(&mut import);
        import
    };
    let nul = || Some("a\0".to_owned());
    for (import, field) in [
        (bad(&|i| i.agent.origin = None), "origin"),
        (bad(&|i| i.sessions.clear()), "sessions"),
        (bad(&|i| i.agent.name = "a b".to_owned()), "agent name"),
        (bad(&|i| i.agent.descriptor = Some(json("[]"))), "descriptor"),
        (bad(&|i| i.agent.session.title = nul()), "title"),
        (bad(&|i| i.sessions[1].external_id = String::new()), "externalId"),
        (bad(&|i| i.sessions[1].reset_message = nul()), "resetMessage"),
        (bad(&|i| i.sessions[1].inference_session_id = nul()), "inferenceSessionId"),
        (bad(&|i| i.sessions[0].ended_at = None), "endedAt"),
        (bad(&|i| i.sessions[1].events[0].kind.clear()), "type"),
        (bad(&|i| i.sessions[1].events[0].dedup_key = nul()), "dedupKey"),
    ] {
        assert_eq!(refusal(bring(h, &import).await), format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn a_session_of_another_agent_refuses_the_whole_import(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let mut nobodys = full_session("s1");
    nobodys.origin = origin(SOURCE, "nobody's");
    h.store().create_session(nobodys).await.unwrap();
    create(h, "s2").await;
    let before = everything(h).await;
    let taken = session_from(h, "e2").await.id;
    for (external_id, holder) in [("e2", taken.as_str()), ("nobody's", "s1")] {
        let mut other = import("other");
        other.sessions[0].external_id = "new".to_owned();
        other.sessions[1].external_id = external_id.to_owned();
        let refused = bring(h, &other).await.unwrap_err().to_string();
        assert_eq!(refused, format!("session {holder}: belongs to another agent"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn the_same_ids_of_another_source_are_others(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let mut other = import("mira");
    other.agent.origin = origin("elsewhere", "mira");
    let answer = bring(h, &other).await.unwrap();
    assert_eq!((answer.created, answer.sessions, answer.events), (true, 2, 4));
    assert_eq!(answer.name, "mira-2");
    assert_eq!(sessions_of(h, "mira").await.len(), 2);
}

pub async fn an_imported_agent_lives_on_as_any_other(h: &mut dyn Harness) {
    bring(h, &import("mira")).await.unwrap();
    let second = session_from(h, "e2").await;
    let stem = session_from(h, "e1").await.id;
    assert_eq!(tell(h, "mira", note("1")).await, second.id);
    let how = Beginning::Fork { session: Some(stem), at_seq: Some(2) };
    let made = renew(h, "mira", how, "forked").await;
    let place = Membership { id: agent_id("mira"), number: 3, cause: Cause::Fork };
    assert_eq!((made.of_agent, made.origin), (Some(place), None));
    let ended = session_from(h, "e2").await;
    assert_eq!(
        (ended.status, ended.exit.reason.as_deref()),
        (SessionStatus::Succeeded, Some("fork"))
    );
}

pub async fn racing_imports_of_one_agent_bring_everything_once(h: &mut dyn Harness) {
    let answers = race(h, 4, |store, _| {
        let answer = block_on(store.import_agent(import("mira"))).unwrap();
        (u64::from(answer.created), answer.sessions, answer.events, answer.present)
    });
    let sum = answers.into_iter().reduce(|a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2, a.3 + b.3));
    assert_eq!(sum, Some((1, 2, 4, 12)));
    assert_eq!(sessions_of(h, "mira").await.len(), 2);
    assert_eq!(agent(h, "mira").await.usage, usage(4));
}
