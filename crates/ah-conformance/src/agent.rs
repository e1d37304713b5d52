//! Agents: created with their first session, found, changed, put to sleep and retired.

use ah_model::{
    Agent, AgentFilter, AgentType, AgentUpdate, Beginning, Cause, Cursor, Exit, Lifecycle,
    Membership, NewAgent, Order, Origin, Page, PageRequest, Renewal, Session, SessionStatus,
    limits,
};
use ah_store::{Clock, StoreError, block_on};

use crate::Harness;
use crate::given::{
    agent, agent_id, all, append, create, create_agent, everything, from_cursor, full_agent,
    full_session, id, json, kind, new_agent, new_session, note, origin, paged, race, refusal,
    sessions_of, set_lifecycle, set_status, tell,
};

/// The agent and the first session that `new` becomes now.
fn begun(h: &dyn Harness, new: &NewAgent, repo_id: i64) -> (Agent, Session) {
    let now = h.clock().now();
    let mut agent = Agent::created(new, new.id.clone().unwrap(), now).unwrap();
    let session_id = new.session.id.clone().unwrap();
    let of_agent = Some(agent.begins_session(Cause::Created));
    let session = Session::created(new.session.clone(), session_id.clone(), repo_id, now);
    agent.active_session_id = Some(session_id);
    (agent, Session { of_agent, ..session })
}

pub async fn a_name_and_an_id_are_never_those_of_two_agents(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    let known = NewAgent { id: Some(agent_id("x1")), ..new_agent("b") };
    h.store().create_agent(known).await.unwrap();
    let before = everything(h).await;
    let named = NewAgent { id: Some(agent_id("x2")), ..new_agent("x1") };
    let refused = h.store().create_agent(named).await.unwrap_err();
    assert_eq!(refused.to_string(), "agent x1: is the id of another agent");
    let known = NewAgent { id: Some(agent_id("b")), ..new_agent("c") };
    let refused = h.store().create_agent(known).await.unwrap_err();
    assert_eq!(refused.to_string(), "agent b: is the name of another agent");
    assert_eq!(everything(h).await, before);
}

pub async fn an_agent_is_kept_with_all_it_was_given_and_its_first_session(h: &mut dyn Harness) {
    for new in [new_agent("plain"), full_agent("Full.1_x-")] {
        let made = h.store().create_agent(new.clone()).await.unwrap();
        let session_id = new.session.id.clone().unwrap();
        let session = h.store().session(session_id).await.unwrap();
        assert_eq!((made.clone(), session.clone()), begun(h, &new, session.repo_id.unwrap()));
        h.clock().advance_ms(1_000);
        h.reopen().await;
        assert_eq!(h.store().agent(made.id.clone()).await.unwrap(), made);
        assert_eq!(h.store().session(session.id.clone()).await.unwrap(), session);
        let sessions = h.store().agent_sessions(made.id, Order::Newest, all()).await.unwrap();
        assert_eq!(sessions, Page { items: vec![session], next_cursor: None });
    }
}

pub async fn an_agent_gets_an_id_that_sorts_by_its_creation(h: &mut dyn Harness) {
    let mut ids = Vec::new();
    for (n, step) in [0, 0, -5_000, 1].into_iter().enumerate() {
        h.clock().advance_ms(step);
        let mut session = new_session("unused");
        session.id = None;
        let made = h.store().create_agent(NewAgent::new(format!("a{n}"), session)).await.unwrap();
        let active = made.active_session_id.clone().unwrap();
        let place = Membership { id: made.id.clone(), number: 1, cause: Cause::Created };
        assert_eq!(h.store().session(active).await.unwrap().of_agent, Some(place));
        ids.push(made.id);
    }
    let mut sorted = ids.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(ids, sorted);
}

pub async fn agents_of_every_type_keep_their_descriptor(h: &mut dyn Harness) {
    for (word, descriptor) in [
        ("user", r#"{"type":"user","connector":"telegram","userId":"u","channelId":"c","x":1.0}"#),
        ("cron", r#"{"id":"nightly","name":null}"#),
        ("system", r#"{"tag":"heartbeat"}"#),
        ("subagent", r#"{"id":"a","parentAgentId":"b","name":"c"}"#),
        ("app", r#"{"id":"a","parentAgentId":"b","name":"c","systemPrompt":"","appId":"d"}"#),
        ("permanent", r#"{"name":"librarian","description":"Keeps the shelves."}"#),
        ("heart-beat_2", r#"{"type":"heart-beat_2","anything":[1e0,"\ud800"]}"#),
    ] {
        let agent_type = AgentType::of(word);
        let mut new = new_agent(word);
        new.agent_type = agent_type.clone();
        new.descriptor = Some(json(descriptor));
        h.store().create_agent(new).await.unwrap();
        h.reopen().await;
        let kept = agent(h, word).await;
        assert_eq!((kept.agent_type, kept.descriptor), (agent_type, json(descriptor)));
    }
    let known = AgentFilter { agent_type: Some(AgentType::Cron), ..AgentFilter::default() };
    assert_eq!(names(h, known).await, ["cron"]);
    let unknown = AgentType::of("heart-beat_2");
    let unknown = AgentFilter { agent_type: Some(unknown), ..AgentFilter::default() };
    assert_eq!(names(h, unknown).await, ["heart-beat_2"]);
}

pub async fn an_agent_without_a_descriptor_gets_a_plain_one_or_is_refused(h: &mut dyn Harness) {
    for (word, plain) in [
        ("cron", Some(r#"{"id":"cron","type":"cron"}"#)),
        ("system", Some(r#"{"tag":"system","type":"system"}"#)),
        ("permanent", Some(r#"{"name":"permanent","type":"permanent"}"#)),
        ("other", Some(r#"{"type":"other"}"#)),
        ("user", None),
        ("subagent", None),
        ("app", None),
    ] {
        let mut new = new_agent(word);
        new.agent_type = AgentType::of(word);
        let made = h.store().create_agent(new).await;
        match plain {
            Some(plain) => assert_eq!(made.unwrap().descriptor, json(plain)),
            None => assert_eq!(refusal(made), "invalid descriptor", "{word}"),
        }
    }
}

pub async fn bad_agents_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let before = everything(h).await;
    let bad = |change: &dyn Fn(&mut NewAgent)| {
        let mut new = new_agent("a");
        change(&mut new);
        new
    };
    let heavy = format!("[\"{}\"]", "x".repeat(limits::AGENT_JSON_BYTES_MAX));
    let deep = "[".repeat(501) + &"]".repeat(501);
    let nul = || Some("a\0".to_owned());
    for (new, field) in [
        (bad(&|a| a.name = String::new()), "agent name"),
        (bad(&|a| a.name = "a b".to_owned()), "agent name"),
        (bad(&|a| a.name = "Operator".to_owned()), "agent name"),
        (bad(&|a| a.name = "x".repeat(65)), "agent name"),
        (bad(&|a| a.agent_type = AgentType::of("a b")), "agent type"),
        (bad(&|a| a.descriptor = Some(json("[]"))), "descriptor"),
        (bad(&|a| a.descriptor = Some(json(r#"{"name":""}"#))), "descriptor"),
        (bad(&|a| a.descriptor = Some(json(r#"{"type":"user","name":"a"}"#))), "descriptor"),
        (bad(&|a| a.permissions = json("null")), "permissions"),
        (bad(&|a| a.stats = json("[]")), "stats"),
        (bad(&|a| a.metadata = json("0")), "metadata"),
        (bad(&|a| a.tokens = json(&heavy)), "tokens"),
        (bad(&|a| a.tokens = json(&deep)), "tokens"),
        (bad(&|a| a.model = nul()), "model"),
        (bad(&|a| a.origin = origin("", "1")), "source"),
        (bad(&|a| a.session.title = nul()), "title"),
        (bad(&|a| a.session.repo.root_path = None), "repo"),
    ] {
        let refused = refusal(h.store().create_agent(new).await);
        assert_eq!(refused, format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn a_taken_id_name_or_origin_is_a_conflict_that_changes_nothing(h: &mut dyn Harness) {
    let store = h.store();
    store.create_agent(full_agent("Mira")).await.unwrap();
    let before = everything(h).await;
    let other = |change: &dyn Fn(&mut NewAgent)| {
        let mut new = new_agent("other");
        new.session.agent = kind("another");
        change(&mut new);
        new
    };
    let taken_id = agent_id("Mira~id");
    for (new, words) in [
        (other(&|a| a.id = Some(taken_id.clone())), "agent Mira~id: exists already"),
        (other(&|a| a.name = "mIRA".to_owned()), "agent mIRA: exists already"),
        (
            other(&|a| a.origin = origin("daycare", "Mira/x y")),
            "agent Mira: comes from daycare Mira/x y already",
        ),
        // The id is asked for first, then the name, then the origin, then the session.
        (full_agent("Mira"), "agent Mira~id: exists already"),
        (NewAgent { id: None, ..full_agent("Mira") }, "agent Mira: exists already"),
        (other(&|a| a.session.id = Some(id("Mira-1"))), "session Mira-1: exists already"),
        (
            other(&|a| a.session.origin = full_session("x").origin),
            "session Mira-1: comes from claude x/y z already",
        ),
        (other(&|a| a.session.parent = Some(id("nobody"))), "session nobody not found"),
    ] {
        assert_eq!(store.create_agent(new).await.unwrap_err().to_string(), words);
    }
    assert_eq!(everything(h).await, before);
    let free = other(&|a| a.origin = origin("Daycare", "Mira/x y"));
    store.create_agent(free).await.unwrap();
}

pub async fn an_agent_is_found_by_id_name_origin_and_the_beginning_of_its_id(h: &mut dyn Harness) {
    let store = h.store();
    let mira = store.create_agent(full_agent("Mira")).await.unwrap();
    create_agent(h, "mira-2").await;
    for name in ["Mira", "mira", "MIRA"] {
        assert_eq!(store.agent_of_name(name.to_owned()).await.unwrap(), Some(mira.clone()));
    }
    for name in ["", "Mir", "Mira~id", "%", "M_ra", "Mira\0", "operator"] {
        assert_eq!(store.agent_of_name(name.to_owned()).await.unwrap(), None, "{name:?}");
    }
    let found = store.agent_of_origin(mira.origin.clone().unwrap()).await.unwrap();
    assert_eq!(found, Some(mira.clone()));
    for (source, external_id) in [("Daycare", "Mira/x y"), ("daycare", "Mira"), ("\0", "")] {
        let origin = Origin { source: source.to_owned(), external_id: external_id.to_owned() };
        assert_eq!(store.agent_of_origin(origin).await.unwrap(), None);
    }
    create_agent(h, "Mirb").await;
    create_agent(h, "Mirc").await;
    for (prefix, found) in [
        ("", vec!["Mira~id", "Mirb"]),
        ("Mira", vec!["Mira~id"]),
        ("Mir", vec!["Mira~id", "Mirb"]),
        ("mira", vec!["mira-2"]),
        ("Mira~id2", vec![]),
        ("%", vec![]),
        ("M_r", vec![]),
        ("\0", vec![]),
    ] {
        let ids = store.agent_ids_with_prefix(prefix.to_owned()).await.unwrap();
        assert_eq!(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(), found, "{prefix:?}");
    }
}

pub async fn an_unknown_agent_is_not_found_by_any_verb(h: &mut dyn Harness) {
    create_agent(h, "known").await;
    let store = h.store();
    let id = || agent_id("Known");
    let missing = "not-found agent Known";
    assert_eq!(refusal(store.agent(id()).await), missing);
    assert_eq!(refusal(store.update_agent(id(), AgentUpdate::default()).await), missing);
    assert_eq!(refusal(store.set_agent_lifecycle(id(), Lifecycle::Dead).await), missing);
    let reset = Renewal::new(Beginning::Reset { message: None });
    assert_eq!(refusal(store.renew_agent(id(), reset).await), missing);
    assert_eq!(refusal(store.append_to_agent(id(), None, vec![note("0")]).await), missing);
    assert_eq!(refusal(store.agent_sessions(id(), Order::Oldest, all()).await), missing);
}

/// The names of the agents that pass, in the order of the list.
async fn names(h: &dyn Harness, filter: AgentFilter) -> Vec<String> {
    let page = h.store().list_agents(filter, all()).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.items.into_iter().map(|agent| agent.name).collect()
}

pub async fn agents_are_paged_by_the_bytes_of_their_name_each_once(h: &mut dyn Harness) {
    let mut made = Vec::new();
    // Out of order, and created while the clock goes back.
    for name in ["b", "A", "a-2", "a.2", "a_2", "B2", "a2", "9"] {
        h.clock().advance_ms(-1);
        made.push(create_agent(h, name).await);
    }
    made.sort_by(|a, b| a.name.cmp(&b.name));
    let store = h.store();
    for size in [1, 3, 8, 9] {
        let list = |page| store.list_agents(AgentFilter::default(), page);
        assert_eq!(paged(size, list).await, made, "size {size}");
    }
    let behind = from_cursor(Cursor::Text("a-".to_owned()));
    let page = store.list_agents(AgentFilter::default(), behind).await.unwrap();
    assert_eq!(page.items, made[3..], "a cursor may stand where no agent is");
    for foreign in [Cursor::Number(1), Cursor::Activity { at: h.clock().now(), id: "a".to_owned() }]
    {
        let page = from_cursor(foreign);
        let refused = store.list_agents(AgentFilter::default(), page).await;
        assert_eq!(refusal(refused), "invalid cursor");
    }
}

pub async fn each_filter_of_agents_alone_and_together_lists_what_matches(h: &mut dyn Harness) {
    for (name, agent_type, program) in [
        ("Alpha_1", "permanent", "codex@1"),
        ("beta", "cron", "codex@2"),
        ("alpha-2", "cron", "Codex"),
        ("gamma", "other", "claude"),
    ] {
        let mut new = new_agent(name);
        new.agent_type = AgentType::of(agent_type);
        new.session.agent = kind(program);
        h.store().create_agent(new).await.unwrap();
    }
    set_lifecycle(h, "beta", Lifecycle::Sleeping).await;
    set_lifecycle(h, "gamma", Lifecycle::Dead).await;
    let with = |change: &dyn Fn(&mut AgentFilter)| {
        let mut filter = AgentFilter::default();
        change(&mut filter);
        filter
    };
    let name = |part: &str| with(&|f| f.name = Some(part.to_owned()));
    let living = vec![Lifecycle::Sleeping, Lifecycle::Active, Lifecycle::Active];
    for (filter, expected) in [
        (with(&|_| ()), vec!["Alpha_1", "alpha-2", "beta", "gamma"]),
        (with(&|f| f.lifecycles = vec![Lifecycle::Dead]), vec!["gamma"]),
        (with(&|f| f.lifecycles.clone_from(&living)), vec!["Alpha_1", "alpha-2", "beta"]),
        (with(&|f| f.agent_type = Some(AgentType::Cron)), vec!["alpha-2", "beta"]),
        (with(&|f| f.agent_type = Some(AgentType::of("\0"))), vec![]),
        (with(&|f| f.kind = Some("codex".to_owned())), vec!["Alpha_1", "beta"]),
        (with(&|f| f.kind = Some("codex\0".to_owned())), vec![]),
        (name("ALPHA"), vec!["Alpha_1", "alpha-2"]),
        (name(""), vec!["Alpha_1", "alpha-2", "beta", "gamma"]),
        (name("_"), vec!["Alpha_1"]),
        (name("%"), vec![]),
        (name("a\0"), vec![]),
        (
            AgentFilter {
                lifecycles: vec![Lifecycle::Sleeping, Lifecycle::Dead],
                agent_type: Some(AgentType::Cron),
                kind: Some("codex".to_owned()),
                name: Some("ET".to_owned()),
                destroyed: Some(false),
            },
            vec!["beta"],
        ),
    ] {
        assert_eq!(names(h, filter.clone()).await, expected, "{filter:?}");
    }
    let store = h.store();
    let list = |page| store.list_agents(name("alpha"), page);
    let found: Vec<_> = paged(1, list).await.into_iter().map(|agent| agent.name).collect();
    assert_eq!(found, ["Alpha_1", "alpha-2"]);
}

/// The largest values an agent may have, and pages that may end early for them.
pub async fn the_largest_agents_are_kept_and_listed_each_once(h: &mut dyn Harness) {
    let heavy = |bytes: usize| format!(r#"{{"x":"{}"}}"#, "y".repeat(bytes - 8));
    let most = json(&heavy(limits::AGENT_JSON_BYTES_MAX));
    let mut made = Vec::new();
    // More than a page of events may hold.
    for n in 10..10 + limits::PAGE_BYTES_MAX / (4 * most.as_str().len()) + 1 {
        let mut new = new_agent(&format!("{}{n}", "x".repeat(limits::AGENT_NAME_BYTES_MAX - 2)));
        new.permissions = most.clone();
        new.tokens = most.clone();
        new.stats = most.clone();
        new.metadata = most.clone();
        made.push(h.store().create_agent(new).await.unwrap());
    }
    let mut listed = Vec::new();
    let mut request = all();
    loop {
        let page = h.store().list_agents(AgentFilter::default(), request).await.unwrap();
        assert!(!page.items.is_empty());
        listed.extend(page.items);
        match page.next_cursor {
            None => break,
            cursor => request = PageRequest { cursor, ..all() },
        }
    }
    assert_eq!(listed, made);
}

pub async fn an_update_changes_what_is_given_and_counts_the_revision(h: &mut dyn Harness) {
    let mut expected = h.store().create_agent(full_agent("a")).await.unwrap();
    let id = expected.id.clone();
    let store = h.store();
    let update = |update: AgentUpdate| store.update_agent(id.clone(), update);
    h.clock().advance_ms(5);
    let other = json(r#"{"connector":"x","userId":"y","channelId":"z","new":2.50}"#);
    let tokens = AgentUpdate {
        tokens: Some(json("null")),
        expected_revision: Some(1),
        ..AgentUpdate::default()
    };
    expected.tokens = json("null");
    (expected.revision, expected.updated_at) = (2, h.clock().now());
    assert_eq!(update(tokens).await.unwrap(), expected);

    // A clock that went back moves no time back.
    h.clock().advance_ms(-60_000);
    let rest = AgentUpdate {
        descriptor: Some(other.clone()),
        permissions: Some(json(r#"{"p":1.0}"#)),
        tokens: None,
        stats: Some(json(r#"{"s":[]}"#)),
        metadata: Some(json(r#"{"m":"\u0000"}"#)),
        model: Some("other".to_owned()),
        protected: Some(true),
        expected_revision: Some(2),
    };
    expected.descriptor = other;
    expected.protected = true;
    expected.permissions = json(r#"{"p":1.0}"#);
    expected.stats = json(r#"{"s":[]}"#);
    expected.metadata = json(r#"{"m":"\u0000"}"#);
    expected.model = Some("other".to_owned());
    expected.revision = 3;
    assert_eq!(update(rest).await.unwrap(), expected);
    h.reopen().await;
    assert_eq!(h.store().agent(id.clone()).await.unwrap(), expected);

    let forget = AgentUpdate { model: Some(String::new()), ..AgentUpdate::default() };
    let made = h.store().update_agent(id.clone(), forget).await.unwrap();
    assert_eq!(made, Agent { model: None, revision: 4, ..expected });
}

pub async fn a_refused_update_changes_nothing(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    let before = everything(h).await;
    let store = h.store();
    let update = |update: AgentUpdate| store.update_agent(agent_id("a"), update);
    let late = AgentUpdate { expected_revision: Some(2), ..AgentUpdate::default() };
    let refused = update(late).await.unwrap_err().to_string();
    assert_eq!(refused, "agent a: is at revision 1, 2 was expected");
    let some = |text: &str| Some(json(text));
    let none = AgentUpdate::default;
    for (bad, field) in [
        (AgentUpdate { descriptor: some(r#"{"name":7}"#), ..none() }, "descriptor"),
        (AgentUpdate { descriptor: some("null"), ..none() }, "descriptor"),
        (AgentUpdate { permissions: some("[]"), ..none() }, "permissions"),
        (AgentUpdate { stats: some("0"), ..none() }, "stats"),
        (AgentUpdate { metadata: some("\"\""), ..none() }, "metadata"),
        (AgentUpdate { model: Some("\0".to_owned()), ..none() }, "model"),
    ] {
        assert_eq!(refusal(update(bad).await), format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn of_racing_updates_of_one_revision_one_wins(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    for revision in 1..=5 {
        let answers = race(h, 4, move |store, thread| {
            let update = AgentUpdate {
                model: Some(thread.to_string()),
                expected_revision: Some(revision),
                ..AgentUpdate::default()
            };
            block_on(store.update_agent(agent_id("a"), update))
        });
        let winner = only_winner(answers, "conflict agent a");
        assert_eq!(winner.revision, revision + 1);
        assert_eq!(agent(h, "a").await, winner);
    }
}

pub async fn of_racing_creations_of_one_name_one_wins(h: &mut dyn Harness) {
    let answers = race(h, 8, |store, thread| {
        let mut new = new_agent(if thread % 2 == 0 { "mira" } else { "MIRA" });
        new.id = None;
        new.session.id = None;
        block_on(store.create_agent(new))
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(refusal(error).to_ascii_lowercase(), "conflict agent mira");
    }
    let winner = won.into_iter().next().unwrap().unwrap();
    let agents = h.store().list_agents(AgentFilter::default(), all()).await.unwrap();
    assert_eq!(agents.items, [winner]);
    let sessions = h.store().list_sessions(<_>::default(), all()).await.unwrap();
    assert_eq!(sessions.items.len(), 1, "those that lost left no session");
}

/// The one that won; all others were refused as `refused` says.
fn only_winner(answers: Vec<Result<Agent, StoreError>>, refused: &str) -> Agent {
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    for error in lost {
        assert_eq!(refusal(error), refused);
    }
    let [winner] = <[_; 1]>::try_from(won).unwrap();
    winner.unwrap()
}

pub async fn an_agent_sleeps_and_wakes_and_staying_is_no_change(h: &mut dyn Harness) {
    let mut expected = create_agent(h, "a").await;
    let session = h.store().session(id("a-1")).await.unwrap();
    assert_eq!(set_lifecycle(h, "a", Lifecycle::Active).await, expected);
    for to in [Lifecycle::Sleeping, Lifecycle::Active, Lifecycle::Sleeping] {
        h.clock().advance_ms(9);
        expected.lifecycle = to;
        expected.revision += 1;
        expected.updated_at = h.clock().now();
        assert_eq!(set_lifecycle(h, "a", to).await, expected);
        h.clock().advance_ms(9);
        assert_eq!(set_lifecycle(h, "a", to).await, expected);
        h.reopen().await;
        assert_eq!(agent(h, "a").await, expected);
    }
    assert_eq!(h.store().session(id("a-1")).await.unwrap(), session, "its session goes on");
}

pub async fn the_death_of_an_agent_ends_its_session(h: &mut dyn Harness) {
    for (name, status) in [("ran", SessionStatus::Succeeded), ("idle", SessionStatus::Cancelled)] {
        create_agent(h, name).await;
        if name == "ran" {
            tell(h, name, note("0")).await;
        }
        let before = agent(h, name).await;
        let session = h.store().session(before.active_session_id.clone().unwrap()).await.unwrap();
        h.clock().advance_ms(70);
        let now = h.clock().now();
        let dead = Agent {
            lifecycle: Lifecycle::Dead,
            revision: before.revision + 1,
            updated_at: now,
            ..before
        };
        assert_eq!(set_lifecycle(h, name, Lifecycle::Dead).await, dead);
        let ended = Session {
            status,
            ended_at: Some(now),
            exit: Exit { reason: Some("retired".to_owned()), ..Exit::default() },
            last_activity_at: now,
            ..session
        };
        h.clock().advance_ms(70);
        assert_eq!(set_lifecycle(h, name, Lifecycle::Dead).await, dead, "dying twice is once");
        h.reopen().await;
        assert_eq!(h.store().session(ended.id.clone()).await.unwrap(), ended);
        assert_eq!(agent(h, name).await, dead);
    }
}

pub async fn a_session_that_had_ended_keeps_its_end_when_its_agent_dies(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    set_status(h, "a-1", SessionStatus::Failed).await;
    let ended = h.store().session(id("a-1")).await.unwrap();
    h.clock().advance_ms(70);
    set_lifecycle(h, "a", Lifecycle::Dead).await;
    assert_eq!(h.store().session(id("a-1")).await.unwrap(), ended);
}

pub async fn a_dead_agent_changes_no_more_and_stays_listed(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    set_lifecycle(h, "a", Lifecycle::Dead).await;
    let before = everything(h).await;
    let store = h.store();
    let id = || agent_id("a");
    let refused = "agent a: is dead and changes no more";
    let says = |error: StoreError| assert_eq!(error.to_string(), refused);
    says(store.update_agent(id(), AgentUpdate::default()).await.unwrap_err());
    for to in [Lifecycle::Active, Lifecycle::Sleeping] {
        says(store.set_agent_lifecycle(id(), to).await.unwrap_err());
    }
    let reset = Renewal::new(Beginning::Reset { message: None });
    says(store.renew_agent(id(), reset).await.unwrap_err());
    says(store.append_to_agent(id(), None, vec![note("0")]).await.unwrap_err());
    assert_eq!(everything(h).await, before);
    assert_eq!(names(h, AgentFilter::default()).await, ["a"]);
    let again = store.create_agent(new_agent("a")).await;
    assert_eq!(refusal(again), "conflict agent a", "its name stays taken");
}

pub async fn a_session_of_nobody_is_no_agents(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    create(h, "s1").await;
    append(h, "s1", note(r#"{"usage":{"inputTokens":7}}"#)).await;
    assert_eq!(h.store().session(id("s1")).await.unwrap().of_agent, None);
    let listed = sessions_of(h, "a").await;
    assert_eq!(listed.iter().map(|s| s.id.as_str()).collect::<Vec<_>>(), ["a-1"]);
    assert_eq!(agent(h, "a").await.usage, <_>::default());
}
