//! Lists of sessions: by last activity, filtered by every part that is given, each once.

use ah_model::{Cursor, NewSession, Session, SessionFilter, SessionStatus, Timestamp};
use ah_store::{Clock, SessionFork};

use crate::Harness;
use crate::given::{
    all, append, create, from_cursor, id, kind, labels, listed, new_session, note, paged, refusal,
    repo, set_status,
};

pub async fn sessions_are_listed_by_last_activity_newest_first(h: &mut dyn Harness) {
    for session in ["a", "b", "c"] {
        create(h, session).await;
        h.clock().advance_ms(1);
    }
    assert_eq!(listed(h, SessionFilter::default()).await, ["c", "b", "a"]);
    append(h, "a", note("1")).await;
    h.clock().advance_ms(1);
    set_status(h, "b", SessionStatus::Running).await;
    assert_eq!(listed(h, SessionFilter::default()).await, ["b", "a", "c"]);
    h.reopen().await;
    assert_eq!(listed(h, SessionFilter::default()).await, ["b", "a", "c"]);
}

pub async fn sessions_are_paged_each_once_even_with_equal_times(h: &mut dyn Harness) {
    // Equal times go by the bytes of the id, the greatest first, whatever a locale says.
    for session in ["A", "B", "_", "a", "b", "~", "-"] {
        create(h, session).await;
    }
    h.clock().advance_ms(-1_000);
    create(h, "zz").await;
    h.clock().advance_ms(2_000);
    create(h, "0").await;
    let expected = ["0", "~", "b", "a", "_", "B", "A", "-", "zz"];
    for size in [1, 2, 3, 9, 10] {
        let list = |page| {
            let store = h.store();
            async move { store.list_sessions(SessionFilter::default(), page).await }
        };
        let read: Vec<Session> = paged(size, list).await;
        let ids: Vec<_> = read.iter().map(|session| session.id.as_str()).collect();
        assert_eq!(ids, expected, "size {size}");
    }
}

pub async fn a_cursor_of_another_list_is_invalid(h: &mut dyn Harness) {
    create(h, "a").await;
    for cursor in [Cursor::Number(1), Cursor::Text("a".to_owned())] {
        let page = from_cursor(cursor);
        let refused = refusal(h.store().list_sessions(SessionFilter::default(), page).await);
        assert_eq!(refused, "invalid cursor");
    }
}

pub async fn a_page_after_a_session_that_is_gone_goes_on_behind_it(h: &mut dyn Harness) {
    for session in ["a", "b", "c"] {
        create(h, session).await;
    }
    let after = from_cursor(Cursor::Activity { at: h.clock().now(), id: "b".to_owned() });
    h.store().delete_session(id("b")).await.unwrap();
    let page = h.store().list_sessions(SessionFilter::default(), after).await.unwrap();
    let ids: Vec<_> = page.items.iter().map(|session| session.id.as_str()).collect();
    assert_eq!((ids, page.next_cursor), (vec!["a"], None));
}

fn filter(change: impl FnOnce(&mut SessionFilter)) -> SessionFilter {
    let mut filter = SessionFilter::default();
    change(&mut filter);
    filter
}

/// Six sessions that differ in everything a filter asks for, a second apart.
async fn six_sessions(h: &dyn Harness) -> (Timestamp, Vec<Session>) {
    let start = h.clock().now();
    let new = |name: &str, agent: &str, path: &str, title: Option<&str>| NewSession {
        repo: repo(path),
        agent: kind(agent),
        title: title.map(str::to_owned),
        ..new_session(name)
    };
    let mut planned = [
        new("s0", "codex@1", "/r/a", Some("Fix the Parser")),
        new("s1", "codex@2", "/r/b", Some("100% done_")),
        new("s2", "claude@1", "/r/a", None),
        new("s3", "codex@1", "/r/b", Some("ÄRGER")),
        new("s4", "Codex@1", "/r/a", Some("fix the lexer")),
        new("s5", "codex@1", "/r/a", Some("")),
    ];
    planned[0].labels = labels(&[("team", "core"), ("x", "1")]);
    planned[3].labels = labels(&[("team", "core")]);
    planned[4].labels = labels(&[("team", "Core"), ("x", "1")]);
    planned[2].parent = Some(id("s0"));
    planned[3].parent = Some(id("s0"));
    for new in planned {
        h.store().create_session(new).await.unwrap();
        h.clock().advance_ms(1_000);
    }
    let now = h.clock().now();
    h.clock().set(start);
    for (name, to) in [
        ("s0", SessionStatus::Failed),
        ("s1", SessionStatus::Running),
        ("s3", SessionStatus::Running),
    ] {
        // In the past, so the order stays that of creation.
        set_status(h, name, to).await;
    }
    h.clock().set(now);
    let sessions = h.store().list_sessions(SessionFilter::default(), all()).await.unwrap();
    (start, sessions.items)
}

pub async fn each_filter_alone_lists_what_matches(h: &mut dyn Harness) {
    let (start, sessions) = six_sessions(h).await;
    let repo_id = sessions[0].repo_id;
    let text = |text: &str| Some(text.to_owned());
    let at = |ms| Some(Timestamp::from_unix_ms(start.unix_ms() + ms));
    use SessionStatus::{Cancelled, Created, Failed, Running, Stopping};
    for (filter, expected) in [
        (filter(|f| f.statuses = vec![Failed]), "s0"),
        (filter(|f| f.statuses = vec![Running, Failed, Running]), "s3 s1 s0"),
        (filter(|f| f.statuses = vec![Created]), "s5 s4 s2"),
        (filter(|f| f.statuses = vec![Cancelled]), ""),
        (filter(|f| f.repo_id = repo_id), "s5 s4 s2 s0"),
        (filter(|f| f.repo_id = Some(-1)), ""),
        (filter(|f| f.agent = text("codex")), "s5 s3 s1 s0"),
        (filter(|f| f.agent = text("Codex")), "s4"),
        (filter(|f| f.agent = text("code%")), ""),
        (filter(|f| f.agent_version = text("2")), "s1"),
        (filter(|f| f.labels = labels(&[("team", "core")])), "s3 s0"),
        (filter(|f| f.labels = labels(&[("team", "core"), ("x", "1")])), "s0"),
        (filter(|f| f.labels = labels(&[("x", "")])), ""),
        (filter(|f| f.since = at(2_000)), "s5 s4 s3 s2"),
        (filter(|f| f.until = at(2_000)), "s1 s0"),
        (
            filter(|f| {
                f.since = at(1_000);
                f.until = at(1_001);
            }),
            "s1",
        ),
        (
            filter(|f| {
                f.since = at(2);
                f.until = at(1);
            }),
            "",
        ),
        (filter(|f| f.title = text("FIX THE")), "s4 s0"),
        (filter(|f| f.title = text("0% D")), "s1"),
        (filter(|f| f.title = text("_")), "s1"),
        (filter(|f| f.title = text("ÄrgeR")), "s3"),
        (filter(|f| f.title = text("ärger")), ""),
        (filter(|f| f.title = text("")), "s5 s4 s3 s2 s1 s0"),
        (filter(|f| f.parent = Some(id("s0"))), "s3 s2"),
        (filter(|f| f.parent = Some(id("nobody"))), ""),
        (filter(|f| f.statuses = vec![Running]), "s3 s1"),
        (filter(|f| f.statuses = vec![Stopping, Running]), "s3 s1"),
        (filter(|f| f.forked_from = Some(id("s0"))), ""),
    ] {
        assert_eq!(listed(h, filter.clone()).await.join(" "), expected, "{filter:?}");
        let rule = sessions.iter().filter(|session| filter.matches(session));
        let rule: Vec<_> = rule.map(|session| session.id.as_str()).collect();
        assert_eq!(rule.join(" "), expected, "the rule for {filter:?}");
    }
}

pub async fn filters_together_list_what_passes_all_and_page_too(h: &mut dyn Harness) {
    let (start, sessions) = six_sessions(h).await;
    let filter = SessionFilter {
        statuses: vec![SessionStatus::Running, SessionStatus::Created],
        repo_id: sessions[2].repo_id,
        agent: Some("codex".to_owned()),
        agent_version: Some("1".to_owned()),
        labels: labels(&[("team", "core")]),
        since: Some(start),
        until: Some(Timestamp::MAX),
        title: Some("ger".to_owned()),
        parent: Some(id("s0")),
        forked_from: None,
    };
    assert_eq!(listed(h, filter).await, ["s3"]);
    let codex = SessionFilter { agent: Some("codex".to_owned()), ..SessionFilter::default() };
    let store = h.store();
    let read = paged(2, |page| store.list_sessions(codex.clone(), page)).await;
    let ids: Vec<_> = read.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["s5", "s3", "s1", "s0"]);
}

pub async fn forks_are_listed_from_the_session_they_go_on_from(h: &mut dyn Harness) {
    for name in ["s1", "s2"] {
        create(h, name).await;
        append(h, name, note("{}")).await;
    }
    let fork = |name: &str| SessionFork { id: Some(id(name)), ..SessionFork::default() };
    for (from, name) in [("s1", "f1"), ("s1", "f2"), ("f1", "f3"), ("s2", "f4")] {
        h.clock().advance_ms(1);
        h.store().fork_session(id(from), fork(name)).await.unwrap();
    }
    for (from, forks) in [("s1", "f2 f1"), ("f1", "f3"), ("s2", "f4"), ("f2", ""), ("no", "")] {
        let found = listed(h, filter(|f| f.forked_from = Some(id(from)))).await;
        assert_eq!(found.join(" "), forks, "{from}");
    }
}

pub async fn a_filter_with_a_nul_byte_matches_nothing(h: &mut dyn Harness) {
    create(h, "s1").await;
    let nul = || Some("\0".to_owned());
    for filter in [
        filter(|f| f.title = nul()),
        filter(|f| f.agent = nul()),
        filter(|f| f.agent_version = nul()),
        filter(|f| f.labels = labels(&[("\0", "a")])),
        filter(|f| f.labels = labels(&[("a", "\0")])),
    ] {
        assert_eq!(listed(h, filter).await, Vec::<String>::new());
    }
}
