//! Events: gap-free, once, in order, byte for byte.

use ah_model::{Appended, NewEvent, Session, SessionStatus, Timestamp, Usage, limits};
use ah_store::Clock;

use crate::Harness;
use crate::given::{
    append, create, everything, id, json, kept, keyed, log, note, refusal, set_status,
};

fn appended(session: &str, seqs: (u64, u64), counts: (u64, u64)) -> Appended {
    Appended {
        session_id: id(session),
        first_seq: seqs.0,
        last_seq: seqs.1,
        appended: counts.0,
        duplicates: counts.1,
        redacted: ah_model::Redactions::default(),
    }
}

pub async fn events_are_numbered_from_one_without_gaps(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    let batch = vec![note("1"), note("2")];
    let done = h.store().append_events(id("s1"), batch.clone()).await.unwrap();
    assert_eq!(done, appended("s1", (1, 2), (2, 0)));
    assert_eq!(append(h, "s2", note("9")).await, 1);
    assert_eq!(append(h, "s1", note("3")).await, 3);
    h.reopen().await;
    assert_eq!(append(h, "s1", note("4")).await, 4);
    let expected: Vec<_> = (1..=4).map(|seq| kept(h, "s1", seq, &note(&seq.to_string()))).collect();
    assert_eq!(log(h, "s1").await, expected);
    assert_eq!(h.store().session(id("s1")).await.unwrap().last_seq, 4);
}

pub async fn the_same_dedup_key_again_returns_the_first_seq(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    append(h, "s1", note("0")).await;
    assert_eq!(append(h, "s1", keyed("1", "k")).await, 2);
    append(h, "s1", note("2")).await;
    h.reopen().await;
    let before = everything(h).await;
    h.clock().advance_ms(9_000);
    let again = h.store().append_events(id("s1"), vec![keyed("7", "k")]).await.unwrap();
    assert_eq!(again, appended("s1", (2, 2), (0, 1)));
    assert_eq!(everything(h).await, before, "a duplicate is no activity");
    assert_eq!(append(h, "s2", keyed("1", "k")).await, 1, "keys are the session's own");
    assert_eq!(append(h, "s1", keyed("1", "K")).await, 4, "keys differ by case");
}

pub async fn duplicates_within_one_batch_count_too(h: &mut dyn Harness) {
    create(h, "s1").await;
    let batch = vec![keyed("1", "a"), note("2"), keyed("3", "a"), keyed("4", "b")];
    let done = h.store().append_events(id("s1"), batch.clone()).await.unwrap();
    assert_eq!(done, appended("s1", (1, 3), (3, 1)));
    let expected =
        [kept(h, "s1", 1, &batch[0]), kept(h, "s1", 2, &batch[1]), kept(h, "s1", 3, &batch[3])];
    assert_eq!(log(h, "s1").await, expected);

    // The oldest seq of a batch may be a duplicate's, the newest a new event's, and vice versa.
    let mixed = vec![note("5"), keyed("6", "b")];
    let done = h.store().append_events(id("s1"), mixed).await.unwrap();
    assert_eq!(done, appended("s1", (3, 4), (1, 1)));
}

pub async fn an_append_behind_another_event_than_the_newest_is_a_conflict(h: &mut dyn Harness) {
    create(h, "s1").await;
    let store = h.store();
    let batch = vec![note("1"), keyed("2", "k")];
    let done = store.append_events_after(id("s1"), 0, batch.clone()).await.unwrap();
    assert_eq!(done, appended("s1", (1, 2), (2, 0)));
    let before = everything(h).await;
    for after in [0, 1, 3, u64::MAX] {
        for event in [note("3"), keyed("2", "k")] {
            let refused = store.append_events_after(id("s1"), after, vec![event]).await;
            assert_eq!(refusal(refused), "conflict session s1");
        }
    }
    let refused = store.append_events_after(id("s1"), 0, vec![]).await;
    assert_eq!(refusal(refused), "invalid number of events", "a value is checked first");
    let missing = store.append_events_after(id("s2"), 0, batch).await;
    assert_eq!(refusal(missing), "not-found session s2");
    assert_eq!(everything(h).await, before);

    let mixed = vec![keyed("2", "k"), note("3")];
    let done = store.append_events_after(id("s1"), 2, mixed).await.unwrap();
    assert_eq!(done, appended("s1", (2, 3), (1, 1)));
}

pub async fn payloads_survive_byte_for_byte(h: &mut dyn Harness) {
    create(h, "s1").await;
    let payloads = [
        "0",
        "false",
        r#""""#,
        "[]",
        "{}",
        "null",
        "-0",
        "0.0",
        "1.00",
        "1e400",
        "123456789012345678901234567890",
        r#"{"unknown":{"z":1,"a":2},"a":1,"a":2}"#,
        r#""\u0000""#,
        r#""\ud800""#,
        r#"{"\u0000":"\ud800 \udfff"}"#,
        r#""\u00e9é☃𝒳 \/ \" \\ \n""#,
        "\"\u{2028}\u{feff}\u{7f}\"",
        r#"{"a b":" c  d "}"#,
    ];
    let batch: Vec<_> = payloads.iter().map(|data| note(data)).collect();
    h.store().append_events(id("s1"), batch).await.unwrap();
    h.reopen().await;
    let read = log(h, "s1").await;
    let read: Vec<_> = read.iter().map(|event| event.data.as_str()).collect();
    assert_eq!(read, payloads);
}

pub async fn types_keys_and_times_are_kept_as_given(h: &mut dyn Harness) {
    create(h, "s1").await;
    let odd = NewEvent {
        kind: "Ünïcode type/☃".to_owned(),
        data: json("1"),
        dedup_key: Some(" a key % _ ".to_owned()),
        ts: Some("1999-12-31T23:59:59.999Z".parse().unwrap()),
    };
    let ancient = NewEvent { ts: Some(Timestamp::from_unix_ms(-62_000_000_000_001)), ..note("2") };
    let last = NewEvent { ts: Some(Timestamp::MAX), ..note("3") };
    let batch = vec![odd, ancient, last, note("4")];
    h.store().append_events(id("s1"), batch.clone()).await.unwrap();
    let expected: Vec<_> =
        batch.iter().zip(1..).map(|(event, seq)| kept(h, "s1", seq, event)).collect();
    h.reopen().await;
    assert_eq!(log(h, "s1").await, expected);
}

pub async fn order_is_that_of_seq_when_the_clock_goes_back(h: &mut dyn Harness) {
    let created = create(h, "s1").await;
    h.clock().advance_ms(10_000);
    let latest = h.clock().now();
    let first = kept(h, "s1", 1, &note("1"));
    append(h, "s1", note("1")).await;
    h.clock().advance_ms(-60_000);
    let second = kept(h, "s1", 2, &note("2"));
    append(h, "s1", note("2")).await;
    assert_eq!(log(h, "s1").await, [first, second]);
    let expected = Session { last_seq: 2, last_activity_at: latest, ..created };
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
}

pub async fn activity_is_the_time_of_the_append_not_of_the_event(h: &mut dyn Harness) {
    let created = create(h, "s1").await;
    h.clock().advance_ms(1_000);
    let future = NewEvent { ts: Some(Timestamp::MAX), ..note("1") };
    append(h, "s1", future).await;
    let expected = Session { last_seq: 1, last_activity_at: h.clock().now(), ..created };
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
}

pub async fn usage_is_summed_from_new_events_only(h: &mut dyn Harness) {
    create(h, "s1").await;
    let spent = r#"{"usage":{"input_tokens":10,"outputTokens":2,"cacheReadTokens":3}}"#;
    let more = r#"{"usage":{"inputTokens":5,"cache_write_tokens":7,"reasoningTokens":1,"x":0}}"#;
    let batch = vec![keyed(spent, "k"), keyed(spent, "k"), note(more)];
    h.store().append_events(id("s1"), batch).await.unwrap();
    append(h, "s1", keyed(spent, "k")).await;
    for no_usage in [r#"{"usage":null}"#, r#"{"usage":{"inputTokens":-1}}"#, r#""usage""#] {
        append(h, "s1", note(no_usage)).await;
    }
    let expected = Usage {
        input_tokens: 15,
        output_tokens: 2,
        cache_read_tokens: 3,
        cache_write_tokens: 7,
        reasoning_tokens: 1,
    };
    assert_eq!(h.store().session(id("s1")).await.unwrap().usage, expected);

    let huge = format!(r#"{{"usage":{{"inputTokens":{}}}}}"#, u64::MAX);
    append(h, "s1", note(&huge)).await;
    append(h, "s1", note(&huge)).await;
    let usage = h.store().session(id("s1")).await.unwrap().usage;
    assert_eq!(usage.input_tokens, i64::MAX as u64 / 2, "it stops at the largest number");
}

pub async fn a_finished_session_still_takes_events(h: &mut dyn Harness) {
    create(h, "s1").await;
    let failed = set_status(h, "s1", SessionStatus::Failed).await;
    h.clock().advance_ms(1);
    append(h, "s1", note("1")).await;
    let expected = Session { last_seq: 1, last_activity_at: h.clock().now(), ..failed };
    assert_eq!(h.store().session(id("s1")).await.unwrap(), expected);
}

pub async fn the_largest_event_is_kept(h: &mut dyn Harness) {
    create(h, "s1").await;
    let largest = NewEvent {
        kind: "t".repeat(limits::EVENT_TYPE_BYTES_MAX),
        data: json(&format!("\"{}\"", "d".repeat(limits::EVENT_DATA_BYTES_MAX - 2))),
        dedup_key: Some("k".repeat(limits::DEDUP_KEY_BYTES_MAX)),
        ts: None,
    };
    append(h, "s1", largest.clone()).await;
    assert!(log(h, "s1").await == [kept(h, "s1", 1, &largest)]);
}

pub async fn a_full_batch_is_appended(h: &mut dyn Harness) {
    create(h, "s1").await;
    let batch = vec![note("0"); limits::APPEND_EVENTS_MAX];
    let done = h.store().append_events(id("s1"), batch).await.unwrap();
    let count = limits::APPEND_EVENTS_MAX as u64;
    assert_eq!(done, appended("s1", (1, count), (count, 0)));
}

pub async fn bad_events_are_refused_with_their_whole_batch(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    let before = everything(h).await;
    let typed = |kind: &str| NewEvent { kind: kind.to_owned(), ..note("1") };
    let long = |bytes: usize| "x".repeat(bytes + 1);
    let heavy = json(&format!("\"{}\"", long(limits::EVENT_DATA_BYTES_MAX)));
    for (bad, field) in [
        (typed(""), "type"),
        (typed(" "), "type"),
        (typed("a\0"), "type"),
        (typed(&long(limits::EVENT_TYPE_BYTES_MAX)), "type"),
        (keyed("1", ""), "dedupKey"),
        (keyed("1", "a\0"), "dedupKey"),
        (keyed("1", &long(limits::DEDUP_KEY_BYTES_MAX)), "dedupKey"),
        (NewEvent { data: heavy, ..note("1") }, "data"),
    ] {
        let batch = vec![note("1"), bad, note("2")];
        let refused = refusal(h.store().append_events(id("s1"), batch).await);
        assert_eq!(refused, format!("invalid {field}"));
    }
    for count in [0, limits::APPEND_EVENTS_MAX + 1] {
        let refused = refusal(h.store().append_events(id("s1"), vec![note("0"); count]).await);
        assert_eq!(refused, "invalid number of events");
    }
    assert_eq!(everything(h).await, before);
}

pub async fn appending_to_an_unknown_session_is_not_found(h: &mut dyn Harness) {
    let done = h.store().append_events(id("s1"), vec![note("0")]).await;
    assert_eq!(refusal(done), "not-found session s1");
    let done = h.store().append_events(id("s1"), vec![]).await;
    assert_eq!(refusal(done), "invalid number of events", "a value is checked first");
}
