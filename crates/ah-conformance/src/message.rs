//! Messages: sent to one or several, all or none, kept as they were written, listed.

use std::slice;

use ah_model::limits::{MESSAGE_BYTES_MAX, RECIPIENTS_MAX};
use ah_model::{
    Cursor, Hold, Lifecycle, Message, MessageFilter, MessageId, MessageStatus, NewMessage,
    PageLimit, PageRequest, Party, Receive, Release,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, from_cursor, paged, race, refusal, set_lifecycle};
use crate::given_hive::{
    agents, any_hold, hold, let_die, mail, mail_of, message, message_id, next, next_of, party,
    queued, release_of, send, sent, the_dead,
};
use crate::given_run::assert_refused;

/// Texts that are easily taken for something else.
const HOSTILE: [&str; 9] = [
    "'; DROP TABLE messages; --",
    "\"}],\"x\":{",
    "line\r\n.\r\nline\n",
    "\u{202e}gnirts \u{feff}☃ \u{1f4ec}",
    "%_\\\\ $1 ?1 :a @b",
    " leading and trailing ",
    "\u{1b}[2J\u{7}\u{1}",
    "null",
    "0",
];

pub async fn a_message_is_kept_as_it_was_sent(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let first = sent(h, "mira", "bob", "m1").await;
    let expected = queued(h, "m1", first.number, "m1");
    assert_eq!(first, expected);
    h.clock().advance_ms(10);
    let reply = NewMessage { in_reply_to: Some(message_id("m1")), ..mail("bob", "mira", "re") };
    let reply = send(h, reply).await;
    let answered = Message {
        id: reply.id.clone(),
        number: reply.number,
        from: party("bob"),
        to: party("mira"),
        body: "re".to_owned(),
        in_reply_to: Some(message_id("m1")),
        sent_at: h.clock().now(),
        ..expected.clone()
    };
    assert_eq!(reply, answered);
    assert!(reply.number > first.number, "numbers give the order of sending");
    h.reopen().await;
    assert_eq!(message(h, "m1").await, expected);
    assert_eq!(h.store().message(reply.id.clone()).await.unwrap(), answered);
}

pub async fn a_message_gets_an_id_that_sorts_by_its_sending(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let mut ids = Vec::new();
    for step in [0, 0, -5_000, 1] {
        h.clock().advance_ms(step);
        ids.push(send(h, mail("operator", "mira", "x")).await.id);
    }
    assert!(ids.is_sorted(), "{ids:?}");
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

pub async fn several_recipients_get_one_each_in_their_order(h: &mut dyn Harness) {
    agents(h, &["a", "b", "c"]).await;
    let to = ["c", "operator", "a", "b"].map(party).to_vec();
    let new = NewMessage { to: to.clone(), ..mail("b", "a", "to all") };
    let sent = h.store().send_message(new).await.unwrap();
    let got: Vec<Party> = sent.iter().map(|message| message.to.clone()).collect();
    assert_eq!(got, to, "one may also write to itself");
    assert!(sent.is_sorted_by(|one, two| one.number < two.number && one.id < two.id));
    for message in &sent {
        assert_eq!((message.from.as_str(), message.body.as_str()), ("b", "to all"));
        assert_eq!(mail_of(h, message.to.as_str()).await, slice::from_ref(message));
    }
}

pub async fn a_message_goes_to_all_its_recipients_or_to_none(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    the_dead(h).await;
    let before = everything(h).await;
    for (bad, refusal) in [
        ("nobody", "not-found agent nobody"),
        ("dead", "conflict agent dead"),
        ("gone", "conflict agent gone"),
        ("BOB", "invalid to"),
    ] {
        let to = vec![party("bob"), party("operator"), party(bad)];
        let new = NewMessage { to, ..mail("mira", "bob", "x") };
        let refused = h.store().send_message(new).await;
        assert_refused(h, &before, refused, refusal).await;
    }
}

pub async fn only_those_who_live_write(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    the_dead(h).await;
    set_lifecycle(h, "bob", Lifecycle::Sleeping).await;
    let before = everything(h).await;
    for (from, refusal) in [
        ("nobody", "not-found agent nobody"),
        ("dead", "conflict agent dead"),
        ("gone", "conflict agent gone"),
    ] {
        let refused = h.store().send_message(mail(from, "mira", "x")).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let dead = h.store().send_message(mail("dead", "mira", "x")).await.unwrap_err();
    assert_eq!(dead.to_string(), "agent dead: is dead and changes no more");
    let gone = h.store().send_message(mail("mira", "gone", "x")).await.unwrap_err();
    assert_eq!(gone.to_string(), "agent gone: is destroyed");
    // One that sleeps takes part, and so does the operator.
    send(h, mail("bob", "operator", "x")).await;
    send(h, mail("operator", "bob", "x")).await;
}

pub async fn names_in_any_case_are_kept_as_the_agent_spells_them(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    let new = NewMessage { id: Some(message_id("m1")), ..mail("BOB", "mIRA", "x") };
    let written = send(h, new).await;
    assert_eq!((written.from.as_str(), written.to.as_str()), ("bob", "Mira"));
    assert_eq!(message(h, "m1").await, written);
    let reply = NewMessage { in_reply_to: Some(message_id("m1")), ..mail("MIRA", "BOB", "y") };
    assert_eq!(send(h, reply).await.from, party("Mira"));
    assert_eq!(mail_of(h, "miRA").await, [written]);
    let got = next(h, "MIRA").await.unwrap();
    assert_eq!(got.to, party("Mira"));
    let operator = send(h, mail("Operator", "OPERATOR", "to oneself")).await;
    assert_eq!((operator.from, operator.to), (Party::Operator, Party::Operator));
}

pub async fn what_is_wrong_with_a_message_is_said_in_one_order(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    sent(h, "mira", "bob", "m1").await;
    let worst = NewMessage {
        id: Some(message_id("m1")),
        in_reply_to: Some(message_id("m0")),
        ..mail("nobody", "none", " ")
    };
    let filled = NewMessage { body: "x".to_owned(), ..worst.clone() };
    let written = NewMessage { from: party("eve"), ..filled.clone() };
    let read = NewMessage { to: vec![party("bob")], ..written.clone() };
    let known = NewMessage { in_reply_to: Some(message_id("m1")), ..read.clone() };
    let meant = NewMessage { from: party("bob"), ..known.clone() };
    let before = everything(h).await;
    for (new, refusal) in [
        (worst, "invalid body"),
        (filled, "not-found agent nobody"),
        (written, "not-found agent none"),
        (read, "not-found message m0"),
        (known, "conflict message m1"),
        (meant, "conflict message m1"),
    ] {
        let refused = h.store().send_message(new).await;
        assert_refused(h, &before, refused, refusal).await;
    }
}

pub async fn a_reply_is_to_what_its_writer_wrote_or_got(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    sent(h, "mira", "bob", "m1").await;
    let reply = |from: &str, to: &str| NewMessage {
        in_reply_to: Some(message_id("m1")),
        ..mail(from, to, "re")
    };
    let before = everything(h).await;
    for stranger in ["eve", "operator"] {
        let refused = h.store().send_message(reply(stranger, "mira")).await;
        assert_refused(h, &before, refused, "conflict message m1").await;
    }
    let refused = h.store().send_message(reply("eve", "mira")).await.unwrap_err();
    assert_eq!(refused.to_string(), "message m1: was neither written nor received by eve");
    // Who got it may have it answered by anybody it likes, and who wrote it may go on.
    let answers = [send(h, reply("bob", "eve")).await, send(h, reply("mira", "bob")).await];
    let filter = MessageFilter { in_reply_to: Some(message_id("m1")), ..<_>::default() };
    let mut listed = h.store().list_messages(filter, all()).await.unwrap().items;
    listed.reverse();
    assert_eq!(listed, answers);
}

pub async fn a_taken_message_id_is_a_conflict_that_changes_nothing(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "mira", "bob", "m1").await;
    let before = everything(h).await;
    let again = NewMessage { id: Some(message_id("m1")), ..mail("mira", "bob", "m1") };
    let refused = h.store().send_message(again.clone()).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    let refused = h.store().send_message(again).await.unwrap_err();
    assert_eq!(refused.to_string(), "message m1: exists already");
}

pub async fn bad_messages_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let text = |body: &str| mail("mira", "bob", body);
    let many = (0..=RECIPIENTS_MAX).map(|n| party(&format!("a{n}"))).collect();
    let both = vec![party("bob"), party("operator")];
    let bad = [
        (text(""), "body"),
        (text(" \n\t"), "body"),
        (text("a\0b"), "body"),
        (text(&"x".repeat(MESSAGE_BYTES_MAX + 1)), "body"),
        (NewMessage { to: Vec::new(), ..text("x") }, "to"),
        (NewMessage { to: many, ..text("x") }, "to"),
        (NewMessage { to: both, id: Some(message_id("m1")), ..text("x") }, "id"),
    ];
    let before = everything(h).await;
    for (new, field) in bad {
        let refused = h.store().send_message(new).await;
        assert_refused(h, &before, refused, &format!("invalid {field}")).await;
    }
}

pub async fn any_text_is_kept_to_the_letter(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for (n, body) in HOSTILE.into_iter().enumerate() {
        let id = format!("m{n}");
        let new = NewMessage { id: Some(message_id(&id)), ..mail("operator", "mira", body) };
        assert_eq!(send(h, new).await.body, body);
        h.reopen().await;
        assert_eq!(message(h, &id).await.body, body);
        let receive = Receive { holder: format!("h {body}"), ..next_of("mira", "") };
        let got = h.store().receive_messages(receive).await.unwrap().messages.pop().unwrap();
        assert_eq!(got.lease.as_ref().unwrap().holder, format!("h {body}"));
        let note = Some(format!("n {body}"));
        let release = Release { note: note.clone(), ..release_of(&got) };
        h.store().release_message(release).await.unwrap();
        assert_eq!(message(h, &id).await.note, note);
        let again = next(h, "mira").await.unwrap();
        h.store().ack_messages(vec![hold(&again)]).await.unwrap();
    }
    for hostile in ["%", "_", "'", "m_"] {
        let ids = h.store().message_ids_with_prefix(hostile.to_owned()).await.unwrap();
        assert_eq!(ids, [], "{hostile}");
    }
}

pub async fn the_largest_messages_are_kept_and_listed_each_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let count = 35;
    for n in 0..count {
        let body = format!("{n:05}{}", "☃".repeat((MESSAGE_BYTES_MAX - 5) / 3));
        send(h, mail("operator", "mira", &body)).await;
    }
    let mut numbers: Vec<String> = Vec::new();
    let mut page = all();
    loop {
        let read = h.store().list_messages(MessageFilter::default(), page).await.unwrap();
        let heads = read.items.iter().map(|message| message.body[..5].to_owned());
        numbers.extend(heads);
        match read.next_cursor {
            None => break,
            Some(cursor) => page = from_cursor(cursor),
        }
    }
    let expected: Vec<String> = (0..count).rev().map(|n| format!("{n:05}")).collect();
    assert_eq!(numbers, expected);
}

/// Mail in every status, between several.
async fn many_messages(h: &dyn Harness) -> Vec<Message> {
    agents(h, &["a", "b", "c"]).await;
    let pairs = [("a", "b"), ("b", "a"), ("operator", "a"), ("a", "operator"), ("c", "b")];
    for (n, (from, to)) in pairs.iter().cycle().take(15).enumerate() {
        h.clock().advance_ms(-1);
        let in_reply_to = (n == 6 || n == 11).then(|| message_id("m1"));
        let id = Some(message_id(&format!("m{n}")));
        send(h, NewMessage { id, in_reply_to, ..mail(from, to, "x") }).await;
    }
    let acked = next(h, "b").await.unwrap();
    h.store().ack_messages(vec![hold(&acked)]).await.unwrap();
    let_die(h, "m2").await;
    next(h, "a").await.unwrap();
    let mut all = Vec::new();
    for n in (0..15).rev() {
        all.push(message(h, &format!("m{n}")).await);
    }
    // The bounce of the dead one is the newest.
    all.splice(0..0, mail_of(h, "operator").await.into_iter().filter(|m| m.about.is_some()));
    all
}

pub async fn each_filter_of_messages_alone_and_together_lists_what_matches(h: &mut dyn Harness) {
    let all_messages = many_messages(h).await;
    let none = MessageFilter::default();
    let by_status = |statuses: &[MessageStatus]| MessageFilter {
        statuses: statuses.to_vec(),
        ..MessageFilter::default()
    };
    let reply = Some(message_id("m1"));
    let filters = [
        none.clone(),
        by_status(&[MessageStatus::Queued]),
        by_status(&[MessageStatus::Leased, MessageStatus::Acked]),
        by_status(&[MessageStatus::Dead]),
        MessageFilter { from: Some(party("A")), ..none.clone() },
        MessageFilter { to: Some(party("b")), ..none.clone() },
        MessageFilter { to: Some(Party::Operator), ..none.clone() },
        MessageFilter { in_reply_to: reply.clone(), ..none.clone() },
        MessageFilter { from: Some(party("a")), to: Some(party("B")), ..none.clone() },
        MessageFilter {
            from: Some(party("b")),
            to: Some(party("a")),
            in_reply_to: reply,
            statuses: vec![MessageStatus::Queued],
            ..none.clone()
        },
    ];
    for filter in filters {
        let expected: Vec<_> =
            all_messages.iter().filter(|message| filter.matches(message)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?} shows something");
        assert!(filter == none || expected.len() < all_messages.len(), "{filter:?} hides some");
        for size in [1, 2, 50] {
            let store = h.store();
            let read = paged(size, |page| store.list_messages(filter.clone(), page)).await;
            assert_eq!(read, expected, "{filter:?} in pages of {size}");
        }
    }
    let nobody = MessageFilter { to: Some(party("nobody")), ..none };
    assert_eq!(h.store().list_messages(nobody, all()).await.unwrap().items, []);
}

pub async fn a_page_of_messages_goes_on_where_it_was_though_more_are_sent(h: &mut dyn Harness) {
    agents(h, &["a"]).await;
    for id in ["m1", "m2", "m3"] {
        sent(h, "operator", "a", id).await;
    }
    let limit = PageLimit::new(2).unwrap();
    let page = PageRequest { limit, cursor: None };
    let first = h.store().list_messages(MessageFilter::default(), page).await.unwrap();
    sent(h, "operator", "a", "m4").await;
    let rest = PageRequest { limit, cursor: first.next_cursor };
    let rest = h.store().list_messages(MessageFilter::default(), rest).await.unwrap();
    let ids = |items: &[Message]| items.iter().map(|m| m.id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(&first.items), ["m3", "m2"]);
    assert_eq!((ids(&rest.items), rest.next_cursor), (vec!["m1".to_owned()], None));
    for foreign in [
        Cursor::Text("m1".to_owned()),
        Cursor::Activity { at: h.clock().now(), id: "m1".to_owned() },
    ] {
        let foreign = from_cursor(foreign);
        let refused = h.store().list_messages(MessageFilter::default(), foreign).await;
        assert_eq!(refusal(refused), "invalid cursor");
    }
}

pub async fn a_message_is_found_by_the_beginning_of_its_id(h: &mut dyn Harness) {
    agents(h, &["a"]).await;
    for id in ["abc1", "abc2", "abc3", "b"] {
        sent(h, "operator", "a", id).await;
    }
    let store = h.store();
    let with = async |prefix: &str| {
        let ids = store.message_ids_with_prefix(prefix.to_owned()).await.unwrap();
        ids.iter().map(MessageId::to_string).collect::<Vec<_>>()
    };
    assert_eq!(with("abc").await, ["abc1", "abc2"]);
    assert_eq!(with("abc2").await, ["abc2"]);
    assert_eq!(with("ABC").await, Vec::<String>::new());
    assert_eq!(with("").await.len(), 2);
}

pub async fn an_unknown_message_is_not_found_by_any_verb(h: &mut dyn Harness) {
    agents(h, &["a"]).await;
    let store = h.store();
    let lost = || Hold { id: message_id("m0"), delivery: Some(1) };
    let not_found = "not-found message m0";
    assert_eq!(refusal(store.message(message_id("m0")).await), not_found);
    assert_eq!(refusal(store.renew_message(lost(), 1_000).await), not_found);
    assert_eq!(refusal(store.ack_messages(vec![any_hold("m0")]).await), not_found);
    let release = Release { hold: lost(), delay_ms: 0, note: None, counts: true };
    assert_eq!(refusal(store.release_message(release).await), not_found);
    assert_eq!(refusal(store.requeue_message(message_id("m0")).await), not_found);
    let only = Receive { id: Some(message_id("m0")), ..next_of("a", "r1") };
    assert_eq!(refusal(store.receive_messages(only).await), not_found);
    let acked = Receive { ack: vec![lost()], ..next_of("a", "r1") };
    assert_eq!(refusal(store.receive_messages(acked).await), not_found);
    let nobodys = store.dismiss_notices(party("nobody"), "m0".to_owned()).await;
    assert_eq!(refusal(nobodys), "not-found agent nobody");
    assert_eq!(store.dismiss_notices(party("a"), "m0".to_owned()).await.unwrap(), 0);
}

pub async fn racing_senders_lose_nothing_and_each_keeps_its_order(h: &mut dyn Harness) {
    agents(h, &["a", "b"]).await;
    race(h, 6, |store, thread| {
        for n in 0..10 {
            let to = vec![party("a"), party("b")];
            let new = NewMessage { to, ..mail("operator", "a", &format!("{thread} {n}")) };
            block_on(store.send_message(new)).unwrap();
        }
    });
    for name in ["a", "b"] {
        let mail = mail_of(h, name).await;
        assert_eq!(mail.len(), 60);
        assert!(mail.is_sorted_by(|one, two| one.number < two.number));
        for thread in 0..6 {
            let of: Vec<_> = mail.iter().map(|message| &message.body).collect();
            let of: Vec<_> =
                of.into_iter().filter(|body| body.starts_with(&thread.to_string())).collect();
            let expected: Vec<_> = (0..10).map(|n| format!("{thread} {n}")).collect();
            assert_eq!(of, expected.iter().collect::<Vec<_>>());
        }
    }
}
