//! Spendings: what events say they cost, once, on their day, for as long as the session is kept.

use ah_model::limits::REMOVAL_ROWS_MAX;
use ah_model::{
    Cost, Cursor, DaySpending, Labels, NewEvent, NewSession, Page, PageLimit, RetentionRules,
    SessionStatus, SessionUpdate, Spending, SpendingFilter, Usage,
};
use ah_store::StoreError;

use crate::Harness;
use crate::given::{
    all, append, create, from_cursor, id, keyed, kind, labels, new_session, note, paged, refusal,
    repo, set_status,
};

/// The day on which the clock of a test begins.
const TODAY: &str = "2026-01-02";

/// `input` tokens of a model, on that day, their cost told or not.
fn spent(session: &str, day: &str, model: &str, input: u64, told: Option<&str>) -> Spending {
    Spending {
        session_id: id(session),
        repo_id: 0,
        agent: "claude-code".to_owned(),
        day: day.parse().unwrap(),
        model: model.to_owned(),
        usage: Usage { input_tokens: input, ..Usage::default() },
        told: told.map(|usd| Cost::parse_usd(usd).unwrap()),
    }
}

async fn list(h: &dyn Harness, filter: SpendingFilter) -> Result<Page<Spending>, StoreError> {
    h.store().list_spendings(filter, all()).await
}

/// Those that pass, without the numbers of repositories.
async fn found(h: &dyn Harness, filter: SpendingFilter) -> Vec<Spending> {
    let items = list(h, filter).await.unwrap().items;
    items.into_iter().map(|spending| Spending { repo_id: 0, ..spending }).collect()
}

async fn everything(h: &dyn Harness) -> Vec<Spending> {
    found(h, SpendingFilter::default()).await
}

fn at(time: &str, event: NewEvent) -> NewEvent {
    NewEvent { ts: Some(time.parse().unwrap()), ..event }
}

fn tokens(input: u64, model: &str) -> String {
    format!(r#"{{"usage":{{"inputTokens":{input}}},"model":"{model}"}}"#)
}

fn with_model(model: &str) -> Labels {
    labels(&[("model", model)])
}

pub async fn tokens_count_once_by_day_and_model(h: &mut dyn Harness) {
    create(h, "s1").await;
    let yesterday = "2026-01-01T23:59:59.999Z";
    let first = vec![
        keyed(&tokens(1, "a"), "k"),
        keyed(&tokens(100, "a"), "k"),
        note(&tokens(2, "b")),
        note(r#"{"text":"free"}"#),
    ];
    h.store().append_events(id("s1"), first).await.unwrap();
    let second = vec![
        keyed(&tokens(100, "a"), "k"),
        note(&tokens(4, "a")),
        at(yesterday, note(&tokens(8, "a"))),
    ];
    h.store().append_events(id("s1"), second).await.unwrap();
    let expected = [
        spent("s1", "2026-01-01", "a", 8, None),
        spent("s1", TODAY, "a", 5, None),
        spent("s1", TODAY, "b", 2, None),
    ];
    assert_eq!(everything(h).await, expected);
    h.reopen().await;
    assert_eq!(everything(h).await, expected);
    let total = h.store().session(id("s1")).await.unwrap().usage;
    assert_eq!(total, Usage { input_tokens: 15, ..Usage::default() });
}

pub async fn every_kind_of_token_is_summed_and_stops_at_the_largest_number(h: &mut dyn Harness) {
    create(h, "s1").await;
    let one = r#"{"usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4,"reasoningTokens":5},"costUsd":1}"#;
    for _ in 0..2 {
        append(h, "s1", note(one)).await;
    }
    let usage = Usage {
        input_tokens: 2,
        output_tokens: 4,
        cache_read_tokens: 6,
        cache_write_tokens: 8,
        reasoning_tokens: 10,
    };
    let expected = Spending { usage, ..spent("s1", TODAY, "", 0, Some("2")) };
    assert_eq!(everything(h).await, std::slice::from_ref(&expected));
    let huge = format!(r#"{{"usage":{{"inputTokens":{}}},"costUsd":1e300}}"#, u64::MAX);
    for _ in 0..2 {
        append(h, "s1", note(&huge)).await;
    }
    let most = i64::MAX as u64 / 2;
    let usage = Usage { input_tokens: most, ..usage };
    let told = Some(Cost::from_nanos(u64::MAX));
    assert_eq!(everything(h).await, [Spending { usage, told, ..expected }]);
}

pub async fn costs_that_were_told_stand_apart(h: &mut dyn Harness) {
    create(h, "s1").await;
    let told = r#"{"usage":{"inputTokens":3},"model":"a","costUsd":0.000000001}"#;
    for data in [told, told, &tokens(5, "a"), r#"{"costUsd":9}"#] {
        append(h, "s1", note(data)).await;
    }
    let expected =
        [spent("s1", TODAY, "a", 5, None), spent("s1", TODAY, "a", 6, Some("0.000000002"))];
    assert_eq!(everything(h).await, expected);
}

pub async fn the_label_of_a_session_names_the_model_of_events_that_name_none(h: &mut dyn Harness) {
    let nameless = note(r#"{"usage":{"inputTokens":3}}"#);
    let new = NewSession { labels: with_model("first"), ..new_session("s1") };
    h.store().create_session(new).await.unwrap();
    append(h, "s1", nameless.clone()).await;
    let update = SessionUpdate { agent: Some(kind("codex@2")), ..<_>::default() };
    h.store().update_session(id("s1"), update).await.unwrap();
    append(h, "s1", nameless).await;
    append(h, "s1", note(&tokens(4, "own"))).await;
    let of_codex = |model, input| Spending {
        agent: "codex".to_owned(),
        ..spent("s1", TODAY, model, input, None)
    };
    let expected = [of_codex("first", 6), of_codex("own", 4)];
    assert_eq!(everything(h).await, expected, "the agent is what the session has now");
}

pub async fn a_list_is_narrowed_and_paged_each_once(h: &mut dyn Harness) {
    for session in ["s1", "s2", "S3"] {
        let mut new = new_session(session);
        if session == "s2" {
            new = NewSession { agent: kind("codex"), repo: repo("/r/other"), ..new };
        }
        h.store().create_session(new).await.unwrap();
        for day in ["2026-01-03", "2026-01-01", "2026-01-02"] {
            let time = format!("{day}T12:00:00Z");
            append(h, session, at(&time, note(&tokens(1, "b c")))).await;
            append(h, session, at(&time, note(&tokens(1, "a")))).await;
        }
    }
    let in_order = everything(h).await;
    let places: Vec<_> = in_order
        .iter()
        .map(|s| (s.session_id.to_string(), s.day.clone(), s.model.clone()))
        .collect();
    assert_eq!(places.len(), 18);
    assert!(places.is_sorted(), "{places:?}");
    for size in [1, 2, 5, 18] {
        let store = h.store();
        let read = paged(size, |page| store.list_spendings(<_>::default(), page)).await;
        let read: Vec<_> = read.into_iter().map(|s| Spending { repo_id: 0, ..s }).collect();
        assert_eq!(read, in_order, "size {size}");
    }
    let of_s2 = h.store().session(id("s2")).await.unwrap();
    let any = SpendingFilter::default;
    let day = |text: &str| Some(text.parse().unwrap());
    for (filter, count) in [
        (SpendingFilter { since: day("2026-01-02"), ..any() }, 12),
        (SpendingFilter { until: day("2026-01-02"), ..any() }, 12),
        (SpendingFilter { since: day("2026-01-02"), until: day("2026-01-02"), ..any() }, 6),
        (SpendingFilter { session: Some(id("S3")), ..any() }, 6),
        (SpendingFilter { session: Some(id("none")), ..any() }, 0),
        (SpendingFilter { repo_id: of_s2.repo_id, ..any() }, 6),
        (SpendingFilter { agent: Some("codex".to_owned()), ..any() }, 6),
        (SpendingFilter { agent: Some("Codex".to_owned()), ..any() }, 0),
    ] {
        let items = list(h, filter.clone()).await.unwrap().items;
        assert_eq!(items.len(), count, "{filter:?}");
        assert!(items.iter().all(|spending| filter.matches(spending)), "{filter:?}");
    }
    for cursor in [Cursor::Number(1), Cursor::Text("s1".to_owned())] {
        let page = h.store().list_spendings(any(), from_cursor(cursor)).await;
        assert_eq!(refusal(page), "invalid cursor");
    }
    let page = ah_model::PageRequest { limit: PageLimit::new(1).unwrap(), cursor: None };
    assert!(h.store().list_spendings(any(), page).await.unwrap().next_cursor.is_some());
}

/// A sum of `input` tokens of so many sessions.
fn sum(day: &str, model: &str, sessions: u64, input: u64, told: Option<&str>) -> DaySpending {
    let Spending { day, model, usage, told, .. } = spent("s", day, model, input, told);
    DaySpending { day, model, sessions, usage, told }
}

pub async fn sums_are_those_of_the_list_by_day_and_model(h: &mut dyn Harness) {
    let told = r#"{"usage":{"inputTokens":8},"model":"a","costUsd":0.5}"#;
    let yesterday = "2026-01-01T12:00:00Z";
    for name in ["s1", "s2"] {
        create(h, name).await;
        let events = vec![
            note(&tokens(1, "b")),
            note(&tokens(2, "a")),
            note(&tokens(4, "a")),
            note(told),
            at(yesterday, note(&tokens(16, "a"))),
        ];
        h.store().append_events(id(name), events).await.unwrap();
    }
    let sums = async |filter| h.store().spending_sums(filter).await.unwrap();
    let all = [
        sum(TODAY, "a", 2, 12, None),
        sum(TODAY, "b", 2, 2, None),
        sum(TODAY, "a", 2, 16, Some("1")),
        sum("2026-01-01", "a", 2, 32, None),
    ];
    assert_eq!(sums(SpendingFilter::default()).await, all);
    let one = SpendingFilter { session: Some(id("s2")), ..SpendingFilter::default() };
    let halves = [
        sum(TODAY, "a", 1, 6, None),
        sum(TODAY, "b", 1, 1, None),
        sum(TODAY, "a", 1, 8, Some("0.5")),
        sum("2026-01-01", "a", 1, 16, None),
    ];
    assert_eq!(sums(one).await, halves);
    let kind = |name: &str| Some(name.to_owned());
    let codex =
        SpendingFilter { agent: kind("claude-code"), since: TODAY.parse().ok(), ..<_>::default() };
    assert_eq!(sums(codex).await, all[..3]);
    let nobody = SpendingFilter { agent: kind("nobody"), ..SpendingFilter::default() };
    assert_eq!(sums(nobody).await, []);
    let until = SpendingFilter { until: "2026-01-01".parse().ok(), ..SpendingFilter::default() };
    assert_eq!(sums(until).await, all[3..]);
    // They stop at the largest number, as the rows do.
    let (tomorrow, most) = ("2026-01-03", i64::MAX as u64 / 2);
    for name in ["s3", "s4", "s5"] {
        create(h, name).await;
        let much = at("2026-01-03T00:00:00Z", note(&tokens(most, "z")));
        h.store().append_events(id(name), vec![much]).await.unwrap();
    }
    let since = SpendingFilter { since: tomorrow.parse().ok(), ..SpendingFilter::default() };
    let sums = h.store().spending_sums(since).await.unwrap();
    assert_eq!(sums, [sum(tomorrow, "z", 3, most, None)]);
}

pub async fn what_a_session_spent_goes_with_it(h: &mut dyn Harness) {
    for session in ["s1", "s2"] {
        create(h, session).await;
        append(h, session, note(&tokens(1, "a"))).await;
    }
    h.store().delete_session(id("s1")).await.unwrap();
    assert_eq!(everything(h).await, [spent("s2", TODAY, "a", 1, None)]);
    create(h, "s1").await;
    assert_eq!(everything(h).await, [spent("s2", TODAY, "a", 1, None)]);
}

pub async fn a_removal_that_is_under_way_takes_no_sum(h: &mut dyn Harness) {
    create(h, "s1").await;
    let events = vec![note(&tokens(1, "a")); REMOVAL_ROWS_MAX + 1];
    h.store().append_events(id("s1"), events).await.unwrap();
    set_status(h, "s1", SessionStatus::Failed).await;
    let before = everything(h).await;
    assert_eq!(before, [spent("s1", TODAY, "a", REMOVAL_ROWS_MAX as u64 + 1, None)]);
    h.clock().advance_ms(2);
    let rules = RetentionRules { sessions_ms: Some(1), ..RetentionRules::KEEP };
    assert!(h.store().retention_step(rules.clone()).await.unwrap().more);
    assert_eq!(everything(h).await, before, "its oldest events are gone");
    while h.store().retention_step(rules.clone()).await.unwrap().more {}
    assert_eq!(everything(h).await, []);
}

pub async fn totals_that_an_import_sets_are_on_the_day_of_the_last_activity(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note(&tokens(1, "a"))).await;
    let mut session = h.store().session(id("s1")).await.unwrap();
    let header = |session| ah_model::ExportHeader::new(session, Vec::new());
    h.store().restore_session(header(session.clone())).await.unwrap();
    assert_eq!(everything(h).await, [spent("s1", TODAY, "a", 1, None)], "the same totals");
    session.usage.input_tokens = 7;
    session.labels = with_model("m");
    session.last_activity_at = "2026-01-05T00:00:00Z".parse().unwrap();
    h.store().restore_session(header(session)).await.unwrap();
    assert_eq!(everything(h).await, [spent("s1", "2026-01-05", "m", 7, None)]);
}
