//! Restoring a session's row from what an export says of it.

use ah_model::{
    Cause, Exit, ExportHeader, Fork, Membership, Origin, Session, SessionDetails, SessionStatus,
    Task, TaskFilter, Timestamp, Usage, limits,
};
use ah_store::{Feature, StoreError};

use crate::Harness;
use crate::given::{
    agent, agent_id, all, append, create, create_agent, everything, id, kind, labels, new_session,
    note, refusal, renew, repo, reset, sessions_of,
};

fn time(ms: i64) -> Timestamp {
    Timestamp::from_unix_ms(1_500_000_000_000 + ms)
}

/// A header with a value in every field.
fn header(session: &str) -> ExportHeader {
    let new = new_session(session);
    let created = Session::created(new, id(session), 1, time(1));
    let session = Session {
        status: SessionStatus::Idle,
        title: Some("restored ☃".to_owned()),
        agent: kind("restored@7"),
        repo: repo("/r/restored"),
        labels: labels(&[("a", "b")]),
        pinned: true,
        origin: Some(Origin { source: "elsewhere".to_owned(), external_id: session.to_owned() }),
        details: SessionDetails {
            hostname: Some("host".to_owned()),
            mux_window: Some(3),
            ..SessionDetails::default()
        },
        last_seq: 9,
        usage: Usage { input_tokens: 5, ..Usage::default() },
        exit: Exit { code: Some(1), ..Exit::default() },
        started_at: time(2),
        ended_at: Some(time(3)),
        last_resumed_at: Some(time(4)),
        last_activity_at: time(5),
        ..created
    };
    ExportHeader::new(session, vec![])
}

fn with_task(mut header: ExportHeader) -> ExportHeader {
    header.tasks.push(Task {
        id: None,
        session_id: header.session.id.clone(),
        batch_id: "batch-1".parse().unwrap(),
        prompt: "do it".to_owned(),
        branch: Some("b".to_owned()),
        delivery: None,
        instances: 3,
        labels: labels(&[("x", "y")]),
        created_at: time(0),
        agent: header.session.agent.clone(),
        status: header.session.status,
    });
    header
}

pub async fn an_absent_session_is_made_as_the_header_says_without_events(h: &mut dyn Harness) {
    let header = with_task(header("s1"));
    let restored = h.store().restore_session(header.clone()).await.unwrap();
    let repos = h.store().list_repos(all()).await.unwrap().items;
    assert_eq!(repos[0].found, repo("/r/restored"));
    let expected = Session {
        repo_id: Some(repos[0].id),
        last_seq: 0,
        usage: Usage::default(),
        ..header.session
    };
    assert_eq!(restored, expected);
    h.reopen().await;
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
    let kinds = h.store().list_agent_kinds(all()).await.unwrap().items;
    assert_eq!(kinds[0].kind, kind("restored@7"));

    let tasks = h.store().list_tasks(TaskFilter::default(), all()).await.unwrap().items;
    let task = Task { id: tasks[0].id, ..header.tasks[0].clone() };
    assert_eq!(tasks, [task]);
    assert_eq!(h.store().session_runs(id("s1")).await.unwrap(), [], "runs do not travel");
}

pub async fn a_present_session_takes_the_row_and_keeps_its_log(h: &mut dyn Harness) {
    h.store().restore_session(with_task(header("s1"))).await.unwrap();
    let spent = note(r#"{"usage":{"outputTokens":4}}"#);
    h.store().append_events(id("s1"), vec![spent; 9]).await.unwrap();
    h.store().pin_session(id("s1"), false).await.unwrap();
    let before = h.store().session(id("s1")).await.unwrap();
    assert_ne!(before.last_activity_at, time(5));

    let mut again = with_task(header("s1"));
    again.session.title = None;
    again.session.agent = kind("ignored");
    again.session.repo = repo("/ignored");
    again.session.origin = None;
    let expected = Session {
        title: None,
        pinned: true,
        usage: again.session.usage,
        last_activity_at: time(5),
        ..before
    };
    assert_eq!(h.store().restore_session(again).await.unwrap(), expected);
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
    let tasks = h.store().list_tasks(TaskFilter::default(), all()).await.unwrap().items;
    assert_eq!(tasks.len(), 1, "tasks come with the creation only");
    assert_eq!(h.store().list_repos(all()).await.unwrap().items.len(), 1);
}

pub async fn a_session_of_another_beginning_refuses_the_header(h: &mut dyn Harness) {
    create(h, "s1").await;
    let before = everything(h).await;
    assert_eq!(refusal(h.store().restore_session(header("s1")).await), "conflict session s1");
    assert_eq!(everything(h).await, before);
}

pub async fn a_present_session_with_another_end_refuses_the_header(h: &mut dyn Harness) {
    h.store().restore_session(header("s1")).await.unwrap();
    for held in [0, 8, 10] {
        while h.store().session(id("s1")).await.unwrap().last_seq < held {
            append(h, "s1", note("0")).await;
        }
        let before = everything(h).await;
        let refused = h.store().restore_session(header("s1")).await;
        assert_eq!(refusal(refused), "conflict session s1", "{held} events, the header says 9");
        assert_eq!(everything(h).await, before);
    }
}

pub async fn an_origin_that_is_taken_refuses_the_header(h: &mut dyn Harness) {
    h.store().restore_session(header("s1")).await.unwrap();
    let before = everything(h).await;
    let mut other = header("s2");
    other.session.origin = header("s1").session.origin;
    assert_eq!(refusal(h.store().restore_session(other).await), "conflict session s1");
    assert_eq!(everything(h).await, before);
}

pub async fn links_to_what_is_not_here_are_dropped_but_a_fork_needs_its_stem(h: &mut dyn Harness) {
    let mut orphan = header("s1");
    orphan.session.parent_session_id = Some(id("s1"));
    orphan.session.workspace = Some("nowhere".to_owned());
    let made = h.store().restore_session(orphan).await.unwrap();
    assert_eq!((made.parent_session_id, made.workspace), (None, None));

    let mut fork = header("s2");
    let point = Some(Fork { session_id: id("stem"), at_seq: 3 });
    fork.session.forked_from = point.clone();
    fork.session.parent_session_id = Some(id("s1"));
    let before = everything(h).await;
    let refused = h.store().restore_session(fork.clone()).await;
    assert_eq!(refusal(refused), "not-found session stem");
    assert_eq!(everything(h).await, before);
    create(h, "stem").await;
    h.store().append_events(id("stem"), vec![note("0"); 3]).await.unwrap();
    let made = h.store().restore_session(fork).await.unwrap();
    assert_eq!((made.forked_from, made.parent_session_id), (point, Some(id("s1"))));
}

pub async fn a_fork_past_the_end_of_its_stem_refuses_the_header(h: &mut dyn Harness) {
    create(h, "stem").await;
    append(h, "stem", note("0")).await;
    let mut fork = header("s1");
    fork.session.forked_from = Some(Fork { session_id: id("stem"), at_seq: 2 });
    let before = everything(h).await;
    let refused = h.store().restore_session(fork.clone()).await;
    assert!(
        refused.as_ref().unwrap_err().to_string().contains("session stem"),
        "the stem is named"
    );
    assert_eq!(refusal(refused), "conflict session s1");
    assert_eq!(everything(h).await, before);
    append(h, "stem", note("0")).await;
    let made = h.store().restore_session(fork.clone()).await.unwrap();
    assert_eq!(made.forked_from, fork.session.forked_from);
}

pub async fn a_known_workspace_is_kept_where_there_are_workspaces(h: &mut dyn Harness) {
    let store = h.store();
    let mut header = header("s1");
    header.session.workspace = Some("team".to_owned());
    let expected = match store.create_workspace("team".to_owned(), None).await {
        Ok(workspace) => Some(workspace.name),
        Err(StoreError::Unsupported { feature: Feature::Workspaces }) => None,
        Err(other) => panic!("{other}"),
    };
    assert_eq!(store.restore_session(header).await.unwrap().workspace, expected);
}

pub async fn a_restored_session_is_its_agents_again_where_its_place_is_free(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    for name in ["a-2", "a-3"] {
        renew(h, "a", reset("on"), name).await;
    }
    h.store().delete_session(id("a-2")).await.unwrap();
    let before = agent(h, "a").await;
    let of = |agent: &str, number| {
        Some(Membership { id: agent_id(agent), number, cause: Cause::Compaction })
    };
    for (name, place, kept) in [
        ("of nobody known", of("nobody", 2), None),
        ("beyond the newest", of("a", 4), None),
        ("far beyond", of("a", i64::MAX as u64), None),
        ("where another is", of("a", 3), None),
        ("where it was", of("a", 2), of("a", 2)),
        ("where one came back", of("a", 2), None),
        ("of nobody at all", None, None),
    ] {
        let mut header = header(&name.replace(' ', "-"));
        header.session.of_agent = place;
        let made = h.store().restore_session(header).await.unwrap();
        assert_eq!(made.of_agent, kept, "{name}");
        assert_eq!(h.store().session(made.id.clone()).await.unwrap(), made);
    }
    assert_eq!(agent(h, "a").await, before, "the agent is as it was");
    let sessions = sessions_of(h, "a").await;
    let ids: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["a-1", "where-it-was", "a-3"]);
}

pub async fn a_present_session_keeps_the_agent_it_has(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    create_agent(h, "b").await;
    create(h, "s1").await;
    let other = Membership { id: agent_id("b"), number: 1, cause: Cause::Fork };
    for name in ["a-1", "s1"] {
        let known = h.store().session(id(name)).await.unwrap();
        for of_agent in [None, Some(other.clone())] {
            let header = ExportHeader::new(Session { of_agent, ..known.clone() }, vec![]);
            assert_eq!(h.store().restore_session(header).await.unwrap(), known);
        }
    }
    let mut large = header("s2");
    large.session.of_agent = Some(Membership { number: u64::MAX, ..other });
    let refused = refusal(h.store().restore_session(large).await);
    assert_eq!(refused, "invalid session number");
}

pub async fn a_header_no_store_would_have_written_is_refused(h: &mut dyn Harness) {
    let before = everything(h).await;
    let bad = |change: &dyn Fn(&mut ExportHeader)| {
        let mut header = with_task(header("s1"));
        change(&mut header);
        header
    };
    let nul = || Some("a\0".to_owned());
    let too_big = u64::MAX;
    for (header, field) in [
        (bad(&|h| h.session.title = nul()), "title"),
        (bad(&|h| h.session.exit.reason = nul()), "reason"),
        (bad(&|h| h.session.details.log_path = nul()), "logPath"),
        (bad(&|h| h.session.labels = labels(&[("\0", "")])), "label key"),
        (bad(&|h| h.session.repo.root_path = None), "repo"),
        (bad(&|h| h.session.last_seq = too_big), "lastSeq"),
        (bad(&|h| h.session.usage.input_tokens = too_big), "usage"),
        (bad(&|h| h.tasks[0].prompt.clear()), "prompt"),
        (bad(&|h| h.tasks[0].branch = nul()), "branch"),
        (bad(&|h| h.tasks[0].session_id = id("other")), "task"),
        (bad(&|h| h.tasks[0].prompt = "x".repeat(limits::PROMPT_BYTES_MAX + 1)), "prompt"),
    ] {
        let refused = refusal(h.store().restore_session(header).await);
        assert_eq!(refused, format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}
