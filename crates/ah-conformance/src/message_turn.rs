//! Turns: what one sends, acknowledges and receives in one step, or nothing of it.

use ah_model::limits::RECEIVE_MAX;
use ah_model::{Hold, Message, MessageLease, MessageStatus, NewMessage, Receive, Received};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::feed::Reader;
use crate::given::{everything, race, refusal};
use crate::given_hive::{
    LEASE_MS, agents, any_hold, hold, mail, mail_of, message, message_id, next, next_of, party,
    sent, the_dead,
};
use crate::given_run::assert_refused;

/// A message under the id that is the body.
fn named(from: &str, to: &str, body: &str) -> NewMessage {
    NewMessage { id: Some(message_id(body)), ..mail(from, to, body) }
}

/// A turn of `mira` that sends these and acknowledges those.
fn turn(send: Vec<NewMessage>, ack: Vec<Hold>) -> Receive {
    Receive { send, ack, ..next_of("mira", "r1") }
}

pub async fn a_turn_sends_acknowledges_and_receives_in_one_step(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob", "eve"]).await;
    sent(h, "bob", "mira", "m1").await;
    let waiting = sent(h, "eve", "mira", "m2").await;
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(7);
    let now = h.clock().now();
    let answer =
        NewMessage { in_reply_to: Some(message_id("m1")), ..named("mira", "BOB", "answer") };
    let both = NewMessage { to: vec![party("eve"), party("bob")], ..mail("MIRA", "eve", "both") };
    let received = h.store().receive_messages(turn(vec![answer, both], vec![hold(&got)])).await;
    let Received { messages, sent } = received.unwrap();

    let lease = Some(MessageLease { holder: "r1".to_owned(), expires_at: now.plus_ms(LEASE_MS) });
    let (status, delivered_at) = (MessageStatus::Leased, Some(now));
    let next = Message { status, deliveries: 1, delivered_at, lease, ..waiting };
    assert_eq!(messages, [next]);
    let said = |message: &Message| {
        let (from, to) = (message.from.to_string(), message.to.to_string());
        (from, to, message.body.clone(), message.sent_at)
    };
    let mira = |to: &str, body: &str| ("Mira".to_owned(), to.to_owned(), body.to_owned(), now);
    let all: Vec<_> = sent.iter().map(said).collect();
    assert_eq!(all, [mira("bob", "answer"), mira("eve", "both"), mira("bob", "both")]);
    assert_eq!(sent[0].id, message_id("answer"));
    assert_eq!(sent[0].in_reply_to, Some(message_id("m1")));
    h.reopen().await;
    assert_eq!(mail_of(h, "bob").await, [sent[0].clone(), sent[2].clone()]);
    assert_eq!(mail_of(h, "eve").await, [sent[1].clone()]);
    let handled = message(h, "m1").await;
    assert_eq!((handled.status, handled.acked_at), (MessageStatus::Acked, Some(now)));
}

pub async fn a_turn_is_taken_though_nothing_waits(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let send = turn(vec![named("mira", "bob", "m1")], Vec::new());
    let Received { messages, sent } = h.store().receive_messages(send).await.unwrap();
    assert_eq!(messages, []);
    assert_eq!(mail_of(h, "bob").await, sent);
    assert_eq!(sent[0].id, message_id("m1"));
}

pub async fn a_turn_whose_message_is_refused_does_nothing(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    the_dead(h).await;
    for (from, to, id) in [("bob", "mira", "m1"), ("bob", "mira", "m2"), ("bob", "eve", "m3")] {
        sent(h, from, to, id).await;
    }
    let got = next(h, "mira").await.unwrap();
    let before = everything(h).await;
    let good = || named("mira", "bob", "good");
    let reply = |id: &str| NewMessage { in_reply_to: Some(message_id(id)), ..good() };
    for (bad, refusal) in [
        (mail("mira", "nobody", "x"), "not-found agent nobody"),
        (mail("mira", "dead", "x"), "conflict agent dead"),
        (named("mira", "bob", "m2"), "conflict message m2"),
        (good(), "conflict message good"),
        (NewMessage { id: None, ..reply("m0") }, "not-found message m0"),
        (NewMessage { id: None, ..reply("m3") }, "conflict message m3"),
    ] {
        let wanted = turn(vec![good(), bad], vec![hold(&got)]);
        let refused = h.store().receive_messages(wanted).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let replies = NewMessage { id: None, ..reply("good") };
    let whole = turn(vec![good(), replies], vec![hold(&got)]);
    let Received { messages, sent } = h.store().receive_messages(whole).await.unwrap();
    assert_eq!(messages[0].id, message_id("m2"), "nothing of it was done before");
    assert_eq!(sent[1].in_reply_to, Some(message_id("good")), "sent in the same step");
}

pub async fn nobody_writes_in_the_turn_of_another(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    let got = next(h, "mira").await.unwrap();
    let before = everything(h).await;
    for (from, said) in [
        ("bob", "agent bob: does not write in a turn of mira"),
        ("operator", "agent operator: does not write in a turn of mira"),
        ("mir", "agent mir: does not write in a turn of mira"),
    ] {
        let forged =
            || turn(vec![mail("mira", "bob", "x"), mail(from, "bob", "x")], vec![hold(&got)]);
        let refused = h.store().receive_messages(forged()).await;
        assert_refused(h, &before, refused, &format!("conflict agent {from}")).await;
        let refused = h.store().receive_messages(forged()).await.unwrap_err();
        assert_eq!(refused.to_string(), said);
    }
}

pub async fn a_turn_whose_acknowledgement_is_refused_sends_nothing(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for (to, id) in [("mira", "m1"), ("mira", "m2"), ("bob", "b1")] {
        sent(h, "operator", to, id).await;
    }
    let got = next(h, "mira").await.unwrap();
    let bobs = next(h, "bob").await.unwrap();
    let before = everything(h).await;
    let stale = Hold { id: got.id.clone(), delivery: Some(2) };
    for (bad, refusal) in [
        (stale, "conflict message m1"),
        (hold(&bobs), "conflict message b1"),
        (any_hold("m2"), "conflict message m2"),
        (any_hold("new"), "conflict message new"),
        (any_hold("m0"), "not-found message m0"),
    ] {
        let wanted = turn(vec![named("mira", "bob", "new")], vec![hold(&got), bad]);
        let refused = h.store().receive_messages(wanted).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let other = Receive {
        id: Some(message_id("b1")),
        ..turn(vec![named("mira", "bob", "new")], vec![hold(&got)])
    };
    let refused = h.store().receive_messages(other).await;
    assert_refused(h, &before, refused, "conflict message b1").await;
}

pub async fn more_than_a_turn_sends_is_refused(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let before = everything(h).await;
    let many = |count: u32| (0..count).map(|_| mail("mira", "bob", "x")).collect::<Vec<_>>();
    let refused = h.store().receive_messages(turn(many(RECEIVE_MAX + 1), Vec::new())).await;
    assert!(refusal(refused).starts_with("invalid "));
    let empty = turn(vec![mail("mira", "bob", " ")], Vec::new());
    assert!(refusal(h.store().receive_messages(empty).await).starts_with("invalid "));
    assert_eq!(everything(h).await, before);
    let most = turn(many(RECEIVE_MAX), Vec::new());
    let received = h.store().receive_messages(most).await.unwrap();
    assert_eq!(received.sent.len(), RECEIVE_MAX as usize);
}

pub async fn what_one_sends_oneself_comes_in_the_same_step(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let mut reader = Reader::new(h).await;
    let wanted = turn(vec![named("mira", "mira", "m1")], Vec::new());
    let Received { messages, sent } = h.store().receive_messages(wanted).await.unwrap();
    assert_eq!((sent[0].status, sent[0].deliveries), (MessageStatus::Queued, 0));
    assert_eq!((messages[0].status, messages[0].deliveries), (MessageStatus::Leased, 1));
    assert_eq!(messages[0].id, sent[0].id);
    reader.assert(h, &["message-queued mira m1"]).await;
    assert_eq!(mail_of(h, "mira").await, messages);
}

pub async fn two_who_answer_each_other_in_turns_lose_nothing(h: &mut dyn Harness) {
    const TURNS: u64 = 20;
    agents(h, &["a0", "a1"]).await;
    race(h, 4, |store, thread| {
        let (me, other) = (format!("a{}", thread % 2), format!("a{}", (thread + 1) % 2));
        let mut ack = Vec::new();
        for number in 0..TURNS {
            let send = vec![
                named(&me, &other, &format!("t{thread}-{number}")),
                mail(&me, &me, &format!("note {thread}-{number}")),
            ];
            let wanted = Receive { send, ack, max: 3, ..next_of(&me, &format!("r{thread}")) };
            let received = block_on(store.receive_messages(wanted)).unwrap();
            assert_eq!(received.sent.len(), 2);
            ack = received.messages.iter().map(hold).collect();
        }
    });
    for name in ["a0", "a1"] {
        let all = mail_of(h, name).await;
        assert_eq!(all.len(), 4 * TURNS as usize, "two turns wrote to {name}, two noted");
        assert!(all.iter().all(|message| message.deliveries <= 1), "each is handed out once");
    }
}
