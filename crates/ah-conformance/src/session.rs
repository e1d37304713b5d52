//! Sessions: created once, found, and moved along their rules.

use ah_model::{Exit, NewSession, RuntimeType, Session, SessionStatus, StatusChange, limits};
use ah_store::{Clock, SessionFork};

use crate::Harness;
use crate::given::{
    create, everything, full_session, id, kind, labels, new_session, origin, refusal, repo,
    set_status,
};

pub async fn a_session_is_kept_with_all_it_was_given(h: &mut dyn Harness) {
    let plain = create(h, "parent").await;
    let expected = Session::created(
        new_session("parent"),
        id("parent"),
        plain.repo_id.unwrap(),
        h.clock().now(),
    );
    assert_eq!(plain, expected);

    let mut new = full_session("s1");
    new.parent = Some(id("parent"));
    let made = h.store().create_session(new.clone()).await.unwrap();
    let repo_id = made.repo_id.unwrap();
    assert_eq!(made, Session::created(new, id("s1"), repo_id, h.clock().now()));
    h.reopen().await;
    assert_eq!(h.store().session(id("s1")).await.unwrap(), made);
    assert_eq!(h.store().session(id("parent")).await.unwrap(), plain);
    assert_eq!(h.store().repo(repo_id).await.unwrap().found, repo("/r/full"));
}

pub async fn an_empty_text_is_not_an_absent_one(h: &mut dyn Harness) {
    let mut new = new_session("s1");
    new.title = Some(String::new());
    new.details.hostname = Some(String::new());
    new.details.mux_window = Some(0);
    h.store().create_session(new.clone()).await.unwrap();
    let kept = h.store().session(id("s1")).await.unwrap();
    assert_eq!((kept.title, kept.details), (new.title, new.details));
}

pub async fn minted_ids_sort_by_creation_even_when_the_clock_goes_back(h: &mut dyn Harness) {
    let mut ids = Vec::new();
    for step in [0, 0, -5_000, 1, 10_000, -1] {
        h.clock().advance_ms(step);
        let mut new = new_session("unused");
        new.id = None;
        ids.push(h.store().create_session(new).await.unwrap().id);
    }
    let mut sorted = ids.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(ids, sorted);
}

pub async fn a_taken_id_or_origin_is_a_conflict_that_changes_nothing(h: &mut dyn Harness) {
    let store = h.store();
    store.create_session(full_session("s1")).await.unwrap();
    let before = everything(h).await;
    let mut same_id = new_session("s1");
    same_id.repo = repo("/another");
    same_id.agent = kind("another");
    let refused = store.create_session(same_id).await.unwrap_err();
    assert_eq!(refused.to_string(), "session s1: exists already");

    let mut same_origin = new_session("s2");
    same_origin.origin = origin("claude", "x/y z");
    for new_id in [Some(id("s2")), None] {
        same_origin.id = new_id;
        let refused = store.create_session(same_origin.clone()).await;
        assert_eq!(refusal(refused), "conflict session s1", "the holder is named");
    }
    same_origin.id = Some(id("s1"));
    let refused = store.create_session(same_origin.clone()).await.unwrap_err();
    assert_eq!(refused.to_string(), "session s1: exists already");
    assert_eq!(everything(h).await, before);

    same_origin.id = Some(id("S1"));
    same_origin.origin = origin("Claude", "x/y z");
    store.create_session(same_origin).await.unwrap();
}

pub async fn a_session_is_found_by_its_origin(h: &mut dyn Harness) {
    let made = h.store().create_session(full_session("s1")).await.unwrap();
    let find = async |source: &str, external_id: &str| {
        let origin = origin(source, external_id).unwrap();
        h.store().session_of_origin(origin).await.unwrap()
    };
    assert_eq!(find("claude", "x/y z").await, Some(made));
    assert_eq!(find("claude", "other").await, None);
    assert_eq!(find("", "").await, None);
    assert_eq!(find("claude\0", "x/y z").await, None);
}

pub async fn an_unknown_parent_is_not_found_and_nothing_is_registered(h: &mut dyn Harness) {
    let before = everything(h).await;
    for parent in ["unknown", "s1"] {
        let mut new = new_session("s1");
        new.parent = Some(id(parent));
        let refused = refusal(h.store().create_session(new).await);
        assert_eq!(refused, format!("not-found session {parent}"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn bad_sessions_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    let before = everything(h).await;
    let bad = |change: &dyn Fn(&mut NewSession)| {
        let mut new = full_session("s1");
        change(&mut new);
        new
    };
    let long = || Some("x".repeat(limits::SHORT_TEXT_BYTES_MAX + 1));
    let nul = || Some("a\0b".to_owned());
    let many: Vec<_> = (0..=limits::LABELS_MAX).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|n| (n.as_str(), "")).collect();
    for (new, field) in [
        (bad(&|s| s.title = nul()), "title"),
        (bad(&|s| s.title = long()), "title"),
        (bad(&|s| s.labels = labels(&[("a", "\0")])), "label value"),
        (bad(&|s| s.labels = labels(&[(" ", "a")])), "label key"),
        (bad(&|s| s.labels = labels(&many)), "labels"),
        (bad(&|s| s.details.hostname = nul()), "hostname"),
        (bad(&|s| s.details.log_path = long()), "logPath"),
        (bad(&|s| s.origin = origin("", "x")), "source"),
        (bad(&|s| s.origin = origin("x", "\0")), "externalId"),
        (bad(&|s| s.agent.name = "a b".to_owned()), "agent kind"),
        (bad(&|s| s.repo.root_path = None), "repo"),
        (bad(&|s| s.runtime.kind = RuntimeType::Local), "devcontainer path"),
    ] {
        let refused = refusal(h.store().create_session(new).await);
        assert_eq!(refused, format!("invalid {field}"));
    }
    assert_eq!(everything(h).await, before);
}

pub async fn an_unknown_session_is_not_found_by_any_verb(h: &mut dyn Harness) {
    let store = h.store();
    let change = StatusChange { to: SessionStatus::Running, exit: Exit::default() };
    let answers = [
        store.session(id("s1")).await,
        store.set_session_status(id("s1"), change).await,
        store.rename_session(id("s1"), "x".to_owned()).await,
        store.pin_session(id("s1"), true).await,
        store.fork_session(id("s1"), SessionFork::default()).await,
    ];
    for answer in answers {
        assert_eq!(refusal(answer), "not-found session s1");
    }
    assert_eq!(refusal(store.delete_session(id("s1")).await), "not-found session s1");
}

pub async fn ids_are_found_by_their_beginning_at_most_two(h: &mut dyn Harness) {
    for session in ["ab1", "ab2", "ab3", "AB9", "a_", "b*"] {
        create(h, session).await;
    }
    let find = async |prefix: &str| {
        let found = h.store().session_ids_with_prefix(prefix.to_owned()).await.unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(find("ab").await, ["ab1", "ab2"]);
    assert_eq!(find("ab3").await, ["ab3"]);
    assert_eq!(find("AB").await, ["AB9"]);
    assert_eq!(find("a_").await, ["a_"]);
    assert_eq!(find("").await, ["AB9", "a_"]);
    for none in ["%", "_", "ab33", "c", "\0", "b*\0", "ü", "a*", "?", "\u{10ffff}"] {
        assert_eq!(find(none).await, Vec::<String>::new(), "{none:?}");
    }
}

/// How to bring a created session to each status.
fn way_to(status: SessionStatus) -> &'static [SessionStatus] {
    use SessionStatus::{Cancelled, Created, Failed, Idle, Running, Stopping, Succeeded};
    match status {
        Created => &[],
        Running => &[Running],
        Idle => &[Running, Idle],
        Stopping => &[Running, Stopping],
        Succeeded => &[Running, Succeeded],
        Failed => &[Failed],
        Cancelled => &[Cancelled],
    }
}

pub async fn a_status_moves_only_along_its_rules(h: &mut dyn Harness) {
    for from in SessionStatus::ALL {
        for to in SessionStatus::ALL {
            let name = format!("{from}-{to}");
            create(h, &name).await;
            for step in way_to(from) {
                set_status(h, &name, *step).await;
            }
            h.clock().advance_ms(10);
            let before = h.store().session(id(&name)).await.unwrap();
            let exit = Exit::default();
            let change = StatusChange { to, exit };
            let moved = h.store().set_session_status(id(&name), change.clone()).await;
            let mut expected = before.clone();
            match expected.transition(change, h.clock().now()) {
                Ok(()) => assert_eq!(moved.unwrap(), expected),
                Err(_) => assert_eq!(refusal(moved), format!("conflict session {name}")),
            }
            assert_eq!(h.store().session(id(&name)).await.unwrap(), expected);
        }
    }
}

pub async fn an_end_keeps_its_time_code_signal_and_reason(h: &mut dyn Harness) {
    let created = create(h, "s1").await;
    h.clock().advance_ms(1_000);
    let started_at = h.clock().now();
    set_status(h, "s1", SessionStatus::Running).await;
    h.clock().advance_ms(-5_000);
    let exit = Exit { code: Some(0), signal: Some(-9), reason: Some("killed ☃".to_owned()) };
    let change = StatusChange { to: SessionStatus::Failed, exit: exit.clone() };
    h.store().set_session_status(id("s1"), change).await.unwrap();
    h.reopen().await;
    let expected = Session {
        status: SessionStatus::Failed,
        started_at,
        ended_at: Some(h.clock().now()),
        last_activity_at: started_at,
        exit,
        ..created
    };
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
}

pub async fn a_bad_change_of_status_is_refused(h: &mut dyn Harness) {
    let created = create(h, "s1").await;
    let with_reason = |to, reason: &str| StatusChange {
        to,
        exit: Exit { reason: Some(reason.to_owned()), ..Exit::default() },
    };
    let long = "x".repeat(limits::SHORT_TEXT_BYTES_MAX + 1);
    for (change, field) in [
        (with_reason(SessionStatus::Running, "none yet"), "exit"),
        (with_reason(SessionStatus::Failed, "a\0"), "reason"),
        (with_reason(SessionStatus::Failed, &long), "reason"),
    ] {
        let refused = refusal(h.store().set_session_status(id("s1"), change).await);
        assert_eq!(refused, format!("invalid {field}"));
    }
    assert_eq!(h.store().session(id("s1")).await.unwrap(), created);
}

pub async fn renaming_and_pinning_change_nothing_else(h: &mut dyn Harness) {
    let mut expected = create(h, "s1").await;
    h.clock().advance_ms(1_000);
    let rename = async |title: &str| h.store().rename_session(id("s1"), title.to_owned()).await;
    expected.title = Some("Ä ☃ 'quoted' %_".to_owned());
    assert_eq!(rename("Ä ☃ 'quoted' %_").await.unwrap(), expected);
    expected.pinned = true;
    assert_eq!(h.store().pin_session(id("s1"), true).await.unwrap(), expected);
    assert_eq!(h.store().pin_session(id("s1"), true).await.unwrap(), expected);
    for bad in ["a\0", &"x".repeat(limits::SHORT_TEXT_BYTES_MAX + 1)] {
        assert_eq!(refusal(rename(bad).await), "invalid title");
    }
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);

    expected.title = None;
    assert_eq!(rename("").await.unwrap(), expected, "an empty title removes it");
    expected.pinned = false;
    assert_eq!(h.store().pin_session(id("s1"), false).await.unwrap(), expected);
    h.reopen().await;
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
}
