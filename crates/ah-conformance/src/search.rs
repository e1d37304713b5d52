//! Search: the same events for the same words on every store, never one that is gone.

use ah_model::{
    Cursor, IndexState, NewEvent, PageLimit, PageRequest, RetentionRules, Role, SearchHit,
    SearchQuery, SessionStatus, SnippetPart, Timestamp, limits,
};
use ah_store::Clock;

use crate::Harness;
use crate::given::{
    all, append, create, from_cursor, id, json, kind, new_session, note, paged, race, refusal,
    repo, set_status,
};

/// Steps that no index of a test takes.
const STEPS_MAX: usize = 1_000;

fn looking_for(typed: &str) -> SearchQuery {
    SearchQuery::new(typed.parse().unwrap())
}

fn prompt(text: &str) -> NewEvent {
    let data = json(&serde_json::to_string(text).unwrap());
    NewEvent { kind: "user_message".to_owned(), data, dedup_key: None, ts: None }
}

/// Brings the index up to date; how many events that took.
async fn update(h: &dyn Harness) -> u64 {
    let mut indexed = 0;
    for _ in 0..STEPS_MAX {
        let step = h.store().update_search_index(PageLimit::MAX).await.unwrap();
        indexed += step.indexed;
        if step.state == IndexState::Done {
            assert_eq!(step.left, 0);
            return indexed;
        }
    }
    panic!("the index is never up to date");
}

async fn hits(h: &dyn Harness, query: SearchQuery) -> Vec<SearchHit> {
    h.store().search(query, all()).await.unwrap().items
}

fn places(hits: &[SearchHit]) -> Vec<String> {
    hits.iter().map(|hit| format!("{} {}", hit.session_id, hit.seq)).collect()
}

/// Where `typed` is found, newest first.
async fn found(h: &dyn Harness, typed: &str) -> Vec<String> {
    places(&hits(h, looking_for(typed)).await)
}

pub async fn an_event_is_found_by_its_words_once_it_is_in_the_index(h: &mut dyn Harness) {
    let mut new = new_session("s");
    new.title = Some("Fix ☃".to_owned());
    h.store().create_session(new).await.unwrap();
    append(h, "s", prompt("Please fix the Login token")).await;
    assert_eq!(found(h, "login").await, [""; 0]);
    assert_eq!(update(h).await, 1);
    h.reopen().await;
    let part = |text: &str, found| SnippetPart { text: text.to_owned(), found };
    let expected = SearchHit {
        session_id: id("s"),
        title: Some("Fix ☃".to_owned()),
        seq: 1,
        ts: h.clock().now(),
        kind: "user_message".to_owned(),
        who: Role::User,
        snippet: vec![part("Please fix the ", false), part("Login", true), part(" token", false)],
    };
    assert_eq!(hits(h, looking_for("LOGIN")).await, [expected]);
    assert_eq!(update(h).await, 0);
}

pub async fn words_phrases_prefixes_and_what_is_unwanted_find_the_same_everywhere(
    h: &mut dyn Harness,
) {
    create(h, "s").await;
    for text in [
        "the login token",
        "token of the login",
        "Straße ΣΟΦΟΣ 東京タワー e\u{301}",
        "src/main.rs: snake_case 'quoted' \"double\" a&b|c!:* \\ \0 §r1",
        "logins and tokenisers",
    ] {
        append(h, "s", prompt(text)).await;
    }
    update(h).await;
    for (typed, expected) in [
        ("login token", vec![2, 1]),
        ("\"login token\"", vec![1]),
        ("login*", vec![5, 2, 1]),
        ("login* -token", vec![5]),
        ("login -\"login token\"", vec![2]),
        ("STRASSE", vec![]),
        ("straße", vec![3]),
        ("σοφοσ", vec![3]),
        ("京タ", vec![3]),
        ("タ京", vec![]),
        ("e\u{301}", vec![3]),
        ("é", vec![]),
        ("main.rs", vec![4]),
        ("rs.main", vec![]),
        ("case snake", vec![4]),
        ("snake_c*", vec![4]),
        ("quoted'' \"double", vec![4]),
        ("a&b", vec![4]),
        ("r1 c", vec![4]),
        ("AND OR NOT NEAR", vec![]),
        ("the -of", vec![1]),
        ("nothing", vec![]),
    ] {
        let expected: Vec<_> = expected.into_iter().map(|seq| format!("s {seq}")).collect();
        assert_eq!(found(h, typed).await, expected, "{typed}");
    }
}

pub async fn tools_and_answers_are_found_and_thoughts_are_not(h: &mut dyn Harness) {
    create(h, "s").await;
    let of = |kind: &str, data: &str| NewEvent { kind: kind.to_owned(), ..note(data) };
    let answer = r#"{"message":{"role":"assistant","content":[{"type":"thinking","thinking":"hidden"},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cargo build"}}]}}"#;
    append(h, "s", of("assistant_message", answer)).await;
    let output = r#"{"payload":{"type":"function_call_output","call_id":"c","output":"compiled"}}"#;
    append(h, "s", of("tool_result", output)).await;
    append(h, "s", of("note", r#"{"text":"unseen"}"#)).await;
    append(h, "s", of("user_message", "7")).await;
    update(h).await;
    let who = |hits: Vec<SearchHit>| hits.iter().map(|hit| (hit.seq, hit.who)).collect::<Vec<_>>();
    assert_eq!(who(hits(h, looking_for("bash cargo")).await), [(1, Role::Assistant)]);
    assert_eq!(who(hits(h, looking_for("compiled")).await), [(2, Role::Tool)]);
    for typed in ["hidden", "unseen", "command", "7", "text"] {
        assert_eq!(found(h, typed).await, [""; 0], "{typed}");
    }
}

pub async fn each_filter_of_a_search_alone_and_together_finds_what_matches(h: &mut dyn Harness) {
    let store = h.store();
    for (session, path, agent) in [("a", "/1", "codex@1"), ("b", "/2", "codex"), ("c", "/2", "x")] {
        let mut new = new_session(session);
        (new.repo, new.agent) = (repo(path), kind(agent));
        store.create_session(new).await.unwrap();
        append(h, session, prompt("word")).await;
        let old = NewEvent { ts: Some(Timestamp::from_unix_ms(1_000)), ..prompt("word") };
        append(h, session, NewEvent { kind: "assistant_message".to_owned(), ..old }).await;
    }
    update(h).await;
    let repo_id = store.session(id("b")).await.unwrap().repo_id;
    let now = h.clock().now();
    let any = || looking_for("word");
    let types = |types: &[&str]| types.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let answers = || types(&["assistant_message"]);
    for (query, expected) in [
        (any(), vec!["c 2", "c 1", "b 2", "b 1", "a 2", "a 1"]),
        (SearchQuery { session_id: Some(id("b")), ..any() }, vec!["b 2", "b 1"]),
        (SearchQuery { session_id: Some(id("B")), ..any() }, vec![]),
        (SearchQuery { repo_id, ..any() }, vec!["c 2", "c 1", "b 2", "b 1"]),
        (SearchQuery { repo_id: Some(-1), ..any() }, vec![]),
        (
            SearchQuery { agent: Some("codex".to_owned()), ..any() },
            vec!["b 2", "b 1", "a 2", "a 1"],
        ),
        (SearchQuery { agent: Some("Codex\0".to_owned()), ..any() }, vec![]),
        (SearchQuery { since: Some(now), ..any() }, vec!["c 1", "b 1", "a 1"]),
        (SearchQuery { types: answers(), ..any() }, vec!["c 2", "b 2", "a 2"]),
        (SearchQuery { types: types(&["x", "user_message"]), ..any() }, vec!["c 1", "b 1", "a 1"]),
        (SearchQuery { types: types(&["x"]), ..any() }, vec![]),
        (
            SearchQuery { repo_id, agent: Some("x".to_owned()), types: answers(), ..any() },
            vec!["c 2"],
        ),
    ] {
        let shown = format!("{query:?}");
        assert_eq!(places(&hits(h, query).await), expected, "{shown}");
    }
    let many = SearchQuery { types: vec!["x".to_owned(); limits::FILTER_TYPES_MAX + 1], ..any() };
    assert_eq!(refusal(store.search(many, all()).await), "invalid number of types");
}

pub async fn hits_are_paged_from_the_newest_on_each_once(h: &mut dyn Harness) {
    create(h, "s").await;
    create(h, "t").await;
    let mut expected = Vec::new();
    for number in 0..40 {
        let session = if number % 3 == 0 { "t" } else { "s" };
        let seq = append(h, session, prompt("word")).await;
        append(h, session, prompt("other words")).await;
        expected.push(format!("{session} {seq}"));
    }
    expected.reverse();
    update(h).await;
    for size in [1, 3, 39, 40, 41] {
        let store = h.store();
        let read = paged(size, |page| store.search(looking_for("word"), page)).await;
        assert_eq!(places(&read), expected, "size {size}");
    }
    let refused = from_cursor(Cursor::Text("x".to_owned()));
    assert_eq!(refusal(h.store().search(looking_for("word"), refused).await), "invalid cursor");
}

pub async fn a_search_that_finds_little_goes_on_from_its_cursor(h: &mut dyn Harness) {
    create(h, "s").await;
    append(h, "s", prompt("left right")).await;
    let texts = ["right left"; 500].map(prompt).to_vec();
    for _ in 0..=limits::SEARCH_ROWS_MAX / texts.len() {
        h.store().append_events(id("s"), texts.clone()).await.unwrap();
    }
    update(h).await;
    let mut page = PageRequest { limit: PageLimit::MAX, cursor: None };
    let (mut read, mut pages) = (Vec::new(), 0);
    loop {
        let next = h.store().search(looking_for("\"left right\""), page.clone()).await.unwrap();
        read.extend(next.items);
        pages += 1;
        assert!(pages < 10, "the pages do not end");
        match next.next_cursor {
            None => break,
            cursor => page.cursor = cursor,
        }
    }
    assert_eq!(places(&read), ["s 1"]);
}

pub async fn what_was_deleted_is_never_found(h: &mut dyn Harness) {
    for session in ["s", "t", "u"] {
        create(h, session).await;
        append(h, session, prompt("word")).await;
    }
    update(h).await;
    h.store().delete_session(id("s")).await.unwrap();
    assert_eq!(found(h, "word").await, ["u 1", "t 1"]);
    update(h).await;
    assert_eq!(found(h, "word").await, ["u 1", "t 1"]);
    // Before it was in the index, and the same id again.
    append(h, "t", prompt("word")).await;
    h.store().delete_session(id("t")).await.unwrap();
    create(h, "s").await;
    append(h, "s", prompt("new word")).await;
    update(h).await;
    assert_eq!(found(h, "word").await, ["s 1", "u 1"]);
}

pub async fn what_retention_removed_is_never_found(h: &mut dyn Harness) {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    create(h, "old").await;
    append(h, "old", prompt("word")).await;
    set_status(h, "old", SessionStatus::Cancelled).await;
    update(h).await;
    h.clock().advance_ms(i64::try_from(2 * DAY).unwrap());
    create(h, "young").await;
    append(h, "young", prompt("word")).await;
    let rules = RetentionRules { sessions_ms: Some(DAY), ..RetentionRules::KEEP };
    while h.store().retention_step(rules.clone()).await.unwrap().more {}
    assert_eq!(found(h, "word").await, [""; 0]);
    update(h).await;
    assert_eq!(found(h, "word").await, ["young 1"]);
}

pub async fn a_cleared_index_finds_nothing_until_it_was_filled_anew(h: &mut dyn Harness) {
    create(h, "s").await;
    append(h, "s", prompt("word")).await;
    append(h, "s", prompt("word")).await;
    update(h).await;
    h.store().clear_search_index().await.unwrap();
    assert_eq!(found(h, "word").await, [""; 0]);
    assert_eq!(update(h).await, 2);
    assert_eq!(found(h, "word").await, ["s 2", "s 1"]);
}

pub async fn the_index_is_filled_in_bounded_steps(h: &mut dyn Harness) {
    create(h, "s").await;
    h.store().append_events(id("s"), ["word"; 5].map(prompt).to_vec()).await.unwrap();
    // The first step may have to begin the index.
    let mut indexed = 0;
    while indexed < 4 {
        let limit = PageLimit::new(2).unwrap();
        let step = h.store().update_search_index(limit).await.unwrap();
        assert!(step.indexed <= 2 && step.state != IndexState::Done, "{step:?}");
        indexed += step.indexed;
    }
    assert_eq!(found(h, "word").await, ["s 4", "s 3", "s 2", "s 1"]);
}

pub async fn racing_upkeep_beside_appends_and_deletions_misses_nothing(h: &mut dyn Harness) {
    for number in 0..4 {
        create(h, &format!("s{number}")).await;
    }
    create(h, "gone").await;
    let gone = ["word"; 20].map(prompt).to_vec();
    h.store().append_events(id("gone"), gone).await.unwrap();
    race(h, 7, |store, thread| {
        crate::block_on(async {
            match thread {
                0..4 => {
                    for _ in 0..10 {
                        let session = id(&format!("s{thread}"));
                        store.append_events(session, vec![prompt("word")]).await.unwrap();
                    }
                }
                4 => store.delete_session(id("gone")).await.unwrap(),
                _ => {
                    for _ in 0..10 {
                        store.update_search_index(PageLimit::new(7).unwrap()).await.unwrap();
                    }
                }
            }
        });
    });
    update(h).await;
    let page = PageRequest { limit: PageLimit::MAX, cursor: None };
    let hits = h.store().search(looking_for("word"), page).await.unwrap().items;
    let mut found = places(&hits);
    found.sort();
    let each = |session: u64| (1..=10).map(move |seq| format!("s{session} {seq}"));
    let mut expected: Vec<_> = (0..4).flat_map(each).collect();
    expected.sort();
    assert_eq!(found, expected);
}
