//! Context: what a model is shown again is the same bytes whoever reads it, and whenever.

use ah_model::{Beginning, Context, ContextMessage, Event, Lifecycle, NewEvent, limits};
use ah_store::{
    ContextLimit, Roster, block_on, load_agents, repair_session, restore_agent, session_context,
};

use crate::Harness;
use crate::given::{
    agent, agent_id, append, create, create_agent, id, log, new_agent, note, race, refusal, renew,
    reset, set_lifecycle, tell,
};

fn event(kind: &str, data: &str) -> NewEvent {
    NewEvent { kind: kind.to_owned(), ..note(data) }
}

fn user(text: &str) -> NewEvent {
    event("user_message", &format!(r#"{{"text":"{text}"}}"#))
}

fn assistant(text: &str) -> NewEvent {
    event("assistant_message", &format!(r#"{{"text":"{text}"}}"#))
}

fn calls(ids: &[&str]) -> NewEvent {
    let calls: Vec<_> =
        ids.iter().map(|id| format!(r#"{{"id":"{id}","name":"read","arguments":{{}}}}"#)).collect();
    event("assistant_message", &format!(r#"{{"text":"","toolCalls":[{}]}}"#, calls.join(",")))
}

fn answer(id: &str, text: &str) -> NewEvent {
    let data = format!(r#"{{"toolCallId":"{id}","toolName":"read","content":"{text}"}}"#);
    event("tool_result", &data)
}

async fn read(h: &dyn Harness, session: &str, limit: ContextLimit) -> Context {
    session_context(&*h.store(), id(session), limit).await.unwrap()
}

async fn whole(h: &dyn Harness, session: &str) -> Context {
    read(h, session, ContextLimit::default()).await
}

fn bytes(context: &Context) -> String {
    serde_json::to_string(context).unwrap()
}

/// Where a message stands, as `session/seq`; the reason stands nowhere.
fn places(context: &Context) -> Vec<String> {
    let place = |message: &ContextMessage| match (&message.session_id, message.seq) {
        (Some(session), Some(seq)) => format!("{session}/{seq}"),
        (None, Some(seq)) => format!("{}/{seq}", context.session_id),
        (_, None) => "reason".to_owned(),
    };
    context.messages.iter().map(place).collect()
}

pub async fn a_context_is_the_same_bytes_after_reopening(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    for said in [
        user("1.00 \\ud83d\\ude00 \\ud800 \\u0000"),
        calls(&["c1", "c2"]),
        answer("c2", "late"),
        answer("c1", "later"),
        note(r#"{"not":"shown"}"#),
        event("message", r#"{"role":"system","content":[{"type":"text","text":"t"},{"n":1.00}]}"#),
        event("tool_result", r#"{"no":"id"}"#),
        assistant("done"),
        event("assistant_rewrite", r#"{"assistantSeq":8,"text":"really done"}"#),
    ] {
        h.clock().advance_ms(-1);
        tell(h, "a", said).await;
    }
    let before = whole(h, "a-1").await;
    assert_eq!((before.last_seq, before.records, before.omitted, before.unread), (9, 9, 0, 1));
    let expected = ["a-1/1", "a-1/2", "a-1/3", "a-1/4", "a-1/6", "a-1/8"];
    assert_eq!(places(&before), expected);
    let text = bytes(&before);
    assert!(text.contains(r#""text":"1.00 \ud83d\ude00 \ud800 \u0000""#), "{text}");
    assert!(text.contains(r#"{"n":1.00}"#) && text.contains("really done"), "{text}");
    for _ in 0..2 {
        h.clock().advance_ms(86_400_000);
        h.reopen().await;
        assert_eq!(bytes(&whole(h, "a-1").await), text);
    }
}

pub async fn the_reason_of_a_new_session_comes_first_after_reopening(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", user("long ago")).await;
    let compaction = Beginning::Compaction { summary: "all of it".to_owned() };
    for (how, name, cause, words) in [
        (reset("why \" ☃"), "a-2", "reset", "why \\\" ☃"),
        (compaction, "a-3", "compaction", "all of it"),
    ] {
        h.clock().advance_ms(10);
        let made = renew(h, "a", how, name).await;
        let reason = format!(
            r#"{{"role":"system","ts":{},"cause":"{cause}","content":[{{"type":"text","text":"{words}"}}]}}"#,
            serde_json::to_string(&made.created_at).unwrap(),
        );
        h.reopen().await;
        let empty = whole(h, name).await;
        assert_eq!(serde_json::to_string(&empty.messages).unwrap(), format!("[{reason}]"));
        tell(h, "a", user("now")).await;
        h.reopen().await;
        let context = whole(h, name).await;
        assert_eq!(context.messages[0], empty.messages[0]);
        assert_eq!(places(&context), ["reason".to_owned(), format!("{name}/1")]);
    }
    renew(h, "a", Beginning::Reset { message: None }, "a-4").await;
    assert_eq!(places(&whole(h, "a-4").await), [""; 0], "no message, no reason");
}

/// `a-1` was reset to `a-2`, which has three messages; `a-3` is forked from it behind two and has
/// two; `a-4` is forked from that behind one and has one; `a-5` is forked from that one's end.
async fn forks(h: &dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", user("before the reset")).await;
    renew(h, "a", reset("go"), "a-2").await;
    let fork = |session: &str, at_seq| Beginning::Fork { session: Some(id(session)), at_seq };
    for text in ["2.1", "2.2", "2.3"] {
        tell(h, "a", user(text)).await;
    }
    renew(h, "a", fork("a-2", Some(2)), "a-3").await;
    for text in ["3.1", "3.2"] {
        tell(h, "a", user(text)).await;
    }
    renew(h, "a", fork("a-3", Some(1)), "a-4").await;
    tell(h, "a", user("4.1")).await;
    renew(h, "a", fork("a-4", None), "a-5").await;
}

pub async fn a_fork_reads_the_log_it_stands_on_through_several_levels(h: &mut dyn Harness) {
    forks(h).await;
    // What is said later in a session that was forked from is not the fork's.
    append(h, "a-2", user("2.4")).await;
    append(h, "a-3", user("3.3")).await;
    h.reopen().await;
    for (name, expected) in [
        ("a-2", vec!["reason", "a-2/1", "a-2/2", "a-2/3", "a-2/4"]),
        ("a-3", vec!["reason", "a-2/1", "a-2/2", "a-3/1", "a-3/2", "a-3/3"]),
        ("a-4", vec!["reason", "a-2/1", "a-2/2", "a-3/1", "a-4/1"]),
        ("a-5", vec!["reason", "a-2/1", "a-2/2", "a-3/1", "a-4/1"]),
    ] {
        let context = whole(h, name).await;
        assert_eq!(places(&context), expected, "{name}");
        assert_eq!(context.omitted, 0);
    }
    tell(h, "a", user("5.1")).await;
    let context = whole(h, "a-5").await;
    assert_eq!((context.last_seq, context.records), (1, 5));
    assert_eq!(places(&context).last().unwrap(), "a-5/1");
}

pub async fn a_context_is_made_of_the_newest_records_that_fit(h: &mut dyn Harness) {
    forks(h).await;
    tell(h, "a", user("5.1")).await;
    let all = ["a-2/1", "a-2/2", "a-3/1", "a-4/1", "a-5/1"];
    for records in 1..=6 {
        let limit = ContextLimit::of_records(records).unwrap();
        let context = read(h, "a-5", limit).await;
        let kept = records.min(all.len());
        let expected = [&["reason"], &all[all.len() - kept..]].concat();
        assert_eq!(places(&context), expected, "{records} records");
        let counts = (context.records, context.omitted);
        assert_eq!(counts, (kept as u64, (all.len() - kept) as u64));
    }
    let sizes: Vec<_> = log(h, "a-2").await.iter().map(|event| event.data.as_str().len()).collect();
    for (bytes, kept) in [(0, 1), (sizes[0], 1), (2 * sizes[0], 2), (3 * sizes[0] - 1, 2)] {
        let limit = ContextLimit { bytes, ..ContextLimit::default() };
        let context = read(h, "a-5", limit).await;
        let counts = (context.records, context.omitted);
        assert_eq!(counts, (kept, 5 - kept), "{bytes} bytes: the newest whatever its size");
    }
    for bad in [0, limits::CONTEXT_RECORDS_MAX + 1] {
        assert_eq!(ContextLimit::of_records(bad).unwrap_err().field, "records");
    }
}

pub async fn a_context_of_more_records_than_a_page_is_read_to_its_limit(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    let many: Vec<_> = (1..=2_105).map(|n| user(&n.to_string())).collect();
    h.store().append_to_agent(agent_id("a"), None, many).await.unwrap();
    for (limit, omitted) in [
        (ContextLimit::default(), 105),
        (ContextLimit::of_records(2_104).unwrap(), 1),
        (ContextLimit::of_records(2_105).unwrap(), 0),
        (ContextLimit::of_records(1_000).unwrap(), 1_105),
    ] {
        let context = read(h, "a-1", limit).await;
        let seqs: Vec<_> = context.messages.iter().map(|message| message.seq.unwrap()).collect();
        assert_eq!(seqs, (omitted + 1..=2_105).collect::<Vec<_>>());
        assert_eq!((context.records, context.omitted), (2_105 - omitted, omitted));
    }
}

pub async fn the_context_of_any_session_is_read_and_of_none_refused(h: &mut dyn Harness) {
    create(h, "s1").await;
    let empty = whole(h, "s1").await;
    let expected = r#"{"sessionId":"s1","lastSeq":0,"records":0,"omitted":0,"unread":0,"messages":[],"pendingCalls":[],"openRlms":[]}"#;
    assert_eq!(bytes(&empty), expected);
    append(h, "s1", user("of nobody")).await;
    assert_eq!(places(&whole(h, "s1").await), ["s1/1"]);
    let store = h.store();
    let missing = session_context(&*store, id("s2"), ContextLimit::default()).await;
    assert_eq!(refusal(missing), "not-found session s2");
    let refused = repair_session(&*store, id("s2"), ContextLimit::default()).await;
    assert_eq!(refusal(refused), "not-found session s2");
}

/// An answered call, one that is not, a program without a step to go on from, and one with.
async fn crashed(h: &dyn Harness, session: &str) {
    for event in [
        calls(&["answered", "open"]),
        answer("answered", "yes"),
        event("rlm_start", r#"{"toolCallId":"lost"}"#),
        calls(&["resumable"]),
        event("rlm_start", r#"{"toolCallId":"resumable"}"#),
        event("rlm_tool_call", r#"{"toolCallId":"resumable","snapshot":"s"}"#),
    ] {
        append(h, session, event).await;
    }
}

fn vec_of(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Repairs a session; how many events that took.
async fn repair(h: &dyn Harness, session: &str) -> u64 {
    let done = repair_session(&*h.store(), id(session), ContextLimit::default()).await;
    done.unwrap().repaired
}

fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

pub async fn a_repair_closes_what_is_open_and_done_twice_is_one_history(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    crashed(h, "a-1").await;
    let before = whole(h, "a-1").await;
    let pending: Vec<_> = before.pending_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!((pending, before.open_rlms.len()), (vec!["open", "resumable"], 2));
    h.reopen().await;
    assert_eq!(repair(h, "a-1").await, 2);
    let repaired = log(h, "a-1").await;
    assert_eq!(kinds(&repaired[6..]), ["tool_result", "rlm_complete"]);
    let after = whole(h, "a-1").await;
    let pending: Vec<_> = after.pending_calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(pending, ["resumable"], "the newest program can go on, so its call waits");
    assert_eq!(after.open_rlms, before.open_rlms[1..]);

    h.clock().advance_ms(60_000);
    h.reopen().await;
    assert_eq!(repair(h, "a-1").await, 0);
    assert_eq!(log(h, "a-1").await, repaired);
    assert_eq!(bytes(&whole(h, "a-1").await), bytes(&after));
}

pub async fn an_answer_that_comes_after_the_repair_takes_its_place(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", calls(&["c"])).await;
    append(h, "s1", user("are you there?")).await;
    repair(h, "s1").await;
    append(h, "s1", user("well?")).await;
    append(h, "s1", answer("c", "late")).await;
    let context = whole(h, "s1").await;
    // Behind its call, however late: models refuse a call that something else follows.
    assert_eq!(places(&context), ["s1/1", "s1/5", "s1/2", "s1/4"]);
    assert_eq!(context.pending_calls, []);
    assert_eq!(repair(h, "s1").await, 0);
}

pub async fn repairs_at_once_give_one_history(h: &mut dyn Harness) {
    for round in 0..10 {
        let session = format!("s{round}");
        create(h, &session).await;
        crashed(h, &session).await;
        let name = session.clone();
        let appended = race(h, 2, move |store, _| {
            let limit = ContextLimit::default();
            block_on(repair_session(&*store, id(&name), limit)).unwrap().repaired
        });
        assert_eq!(appended.iter().sum::<u64>(), 2, "{appended:?}");
        assert_eq!(kinds(&log(h, &session).await[6..]), ["tool_result", "rlm_complete"]);
        assert_eq!(repair(h, &session).await, 0);
    }
}

pub async fn calls_that_share_an_id_are_each_repaired_once(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    // Some programs count their calls anew in every turn; hooks give no id at all.
    let hook = event("pre_tool", r#"{"toolName":"read","toolInput":{}}"#);
    for said in [calls(&["c"]), answer("c", "yes"), calls(&["c"]), calls(&["c"]), hook.clone()] {
        tell(h, "a", said).await;
    }
    renew(h, "a", Beginning::Fork { session: None, at_seq: None }, "a-2").await;
    for _ in 0..5 {
        tell(h, "a", hook.clone()).await;
    }
    let open = whole(h, "a-2").await.pending_calls.len() as u64;
    assert_eq!((open, repair(h, "a-2").await), (8, 8));
    assert_eq!(whole(h, "a-2").await.pending_calls, []);
    assert_eq!(repair(h, "a-2").await, 0);
}

pub async fn nothing_open_is_nothing_to_repair(h: &mut dyn Harness) {
    create(h, "s1").await;
    for event in [user("hi"), calls(&["c"]), answer("c", "yes"), note("0")] {
        append(h, "s1", event).await;
    }
    let before = h.store().session(id("s1")).await.unwrap();
    assert_eq!(repair(h, "s1").await, 0);
    assert_eq!(h.store().session(id("s1")).await.unwrap(), before);
}

pub async fn a_fork_is_repaired_in_its_own_log(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", calls(&["c"])).await;
    tell(h, "a", answer("c", "behind the fork")).await;
    renew(h, "a", Beginning::Fork { session: None, at_seq: Some(1) }, "a-2").await;
    let stem = log(h, "a-1").await;
    assert_eq!(repair(h, "a-2").await, 1);
    let context = whole(h, "a-2").await;
    assert_eq!(
        (places(&context), context.pending_calls),
        (vec!["a-1/1".to_owned(), "a-2/1".to_owned()], vec![])
    );
    assert_eq!(log(h, "a-1").await, stem);
    assert_eq!(repair(h, "a-2").await, 0);
}

pub async fn a_chain_of_forks_beyond_reading_is_left_out_not_refused(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", user("long ago")).await;
    for number in 0..=limits::FORK_DEPTH_MAX {
        let how = Beginning::Fork { session: None, at_seq: None };
        renew(h, "a", how, &format!("fork-{number}")).await;
    }
    tell(h, "a", user("now")).await;
    let active = agent(h, "a").await.active_session_id.unwrap();
    let context = whole(h, active.as_str()).await;
    assert_eq!((context.messages.len(), context.omitted), (1, 1));
    assert_eq!(repair(h, active.as_str()).await, 0);
}

pub async fn a_turn_of_thousands_of_calls_is_repaired(h: &mut dyn Harness) {
    create(h, "s1").await;
    let ids: Vec<String> = (0..limits::MESSAGE_PARTS_MAX).map(|n| format!("c{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    append(h, "s1", calls(&ids)).await;
    assert_eq!(repair(h, "s1").await, ids.len() as u64);
    assert_eq!(whole(h, "s1").await.pending_calls, []);
    // More than anybody means are no calls, so nothing waits for their answers.
    create(h, "s2").await;
    append(h, "s2", calls(&[ids, vec!["one more"]].concat())).await;
    assert_eq!(repair(h, "s2").await, 0);
}

pub async fn a_restored_agent_is_repaired_where_it_goes_on(h: &mut dyn Harness) {
    create_agent(h, "a").await;
    tell(h, "a", calls(&["left open"])).await;
    renew(h, "a", reset("on"), "a-2").await;
    tell(h, "a", calls(&["c"])).await;
    h.reopen().await;
    let limit = ContextLimit::default();
    let known = agent(h, "a").await;
    let restored = restore_agent(&*h.store(), &known, limit).await.unwrap();
    assert_eq!(
        (places(&restored.context), restored.repaired),
        (vec_of(&["reason", "a-2/1", "a-2/2"]), 1)
    );
    assert_eq!(restored.context, whole(h, "a-2").await);
    h.reopen().await;
    let again = restore_agent(&*h.store(), &known, limit).await.unwrap();
    assert_eq!((bytes(&again.context), again.repaired), (bytes(&restored.context), 0));
    assert_eq!(log(h, "a-1").await.len(), 1, "what has ended is left as it is");
}

pub async fn the_dead_are_not_loaded_and_the_sleeping_apart(h: &mut dyn Harness) {
    assert_eq!(load_agents(&*h.store()).await.unwrap(), Roster::default());
    for name in ["d", "b", "c", "a", "e"] {
        create_agent(h, name).await;
    }
    set_lifecycle(h, "d", Lifecycle::Dead).await;
    for name in ["b", "e"] {
        set_lifecycle(h, name, Lifecycle::Sleeping).await;
    }
    h.reopen().await;
    let expected = Roster {
        active: vec![agent(h, "a").await, agent(h, "c").await],
        sleeping: vec![agent(h, "b").await, agent(h, "e").await],
    };
    assert_eq!(load_agents(&*h.store()).await.unwrap(), expected);
    set_lifecycle(h, "b", Lifecycle::Active).await;
    let roster = load_agents(&*h.store()).await.unwrap();
    assert_eq!(roster.active.iter().map(|a| a.name.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
}

pub async fn more_agents_than_a_page_are_loaded(h: &mut dyn Harness) {
    const THREADS: u64 = 8;
    let agents = u64::from(limits::PAGE_ITEMS_MAX) + THREADS;
    race(h, THREADS, move |store, thread| {
        let own = (thread..agents).step_by(usize::try_from(THREADS).unwrap());
        own.map(|n| new_agent(&format!("a{n:04}"))).for_each(|new| {
            block_on(store.create_agent(new)).unwrap();
        });
    });
    let roster = load_agents(&*h.store()).await.unwrap();
    let names: Vec<_> = roster.active.iter().map(|agent| agent.name.clone()).collect();
    assert_eq!(names, (0..agents).map(|n| format!("a{n:04}")).collect::<Vec<_>>());
}
