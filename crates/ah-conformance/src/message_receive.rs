//! Messages on their way: handed out under a lease, kept, acknowledged, given back.

use std::collections::BTreeSet;
use std::slice;

use ah_model::limits::{LEASE_MS_MAX, LEASE_MS_MIN, MESSAGE_DELAY_MS_MAX, RECEIVE_MAX};
use ah_model::{
    Hold, LEASE_ENDED, Message, MessageFilter, MessageLease, MessageStatus, Receive, Release,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, race, refusal};
use crate::given_hive::{
    LEASE, LEASE_MS, agents, any_hold, hold, mail, mail_of, message, message_id, next, next_of,
    party, receive, release_of, send, sent, the_dead,
};
use crate::given_run::assert_refused;

fn ids(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.id.to_string()).collect()
}

pub async fn the_oldest_message_is_handed_out_under_a_lease(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let first = sent(h, "operator", "mira", "m1").await;
    h.clock().advance_ms(-500);
    let second = sent(h, "operator", "mira", "m2").await;
    h.clock().advance_ms(2_000);
    let now = h.clock().now();
    let leased = |message: Message, holder: &str| Message {
        status: MessageStatus::Leased,
        deliveries: 1,
        delivered_at: Some(now),
        lease: Some(MessageLease { holder: holder.to_owned(), expires_at: now.plus_ms(LEASE_MS) }),
        ..message
    };
    let (first, second) = (leased(first, "r1"), leased(second, "r2"));
    assert_eq!(receive(h, next_of("mira", "r1")).await, slice::from_ref(&first));
    assert_eq!(receive(h, next_of("mira", "r2")).await, slice::from_ref(&second));
    assert_eq!(receive(h, next_of("mira", "r3")).await, []);
    h.reopen().await;
    assert_eq!(mail_of(h, "mira").await, [first, second]);
}

pub async fn so_many_as_are_wanted_are_handed_out_at_once(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for id in ["m1", "m2", "b1", "m3", "m4"] {
        let to = if id == "b1" { "bob" } else { "mira" };
        sent(h, "operator", to, id).await;
    }
    let some = |max| Receive { max, ..next_of("mira", "r1") };
    assert_eq!(ids(&receive(h, some(3)).await), ["m1", "m2", "m3"]);
    assert_eq!(ids(&receive(h, some(RECEIVE_MAX)).await), ["m4"]);
    assert_eq!(receive(h, some(1)).await, []);
    assert_eq!(ids(&receive(h, next_of("bob", "r1")).await), ["b1"]);
}

pub async fn more_than_one_step_takes_is_handed_out_in_steps(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let count = RECEIVE_MAX as usize + 6;
    for _ in 0..count {
        send(h, mail("operator", "mira", "x")).await;
    }
    let some = || Receive { max: RECEIVE_MAX, ..next_of("mira", "r1") };
    let first = receive(h, some()).await;
    assert_eq!(first.len(), RECEIVE_MAX as usize);
    let acked = Receive { ack: first.iter().map(hold).collect(), ..some() };
    assert_eq!(receive(h, acked).await.len(), 6);
}

pub async fn one_message_of_many_can_be_asked_for(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for id in ["m1", "m2", "m3"] {
        sent(h, "operator", "mira", id).await;
    }
    let only =
        |to: &str, id: &str| Receive { id: Some(message_id(id)), max: 5, ..next_of(to, "r1") };
    assert_eq!(ids(&receive(h, only("mira", "m2")).await), ["m2"]);
    assert_eq!(receive(h, only("mira", "m2")).await, [], "somebody has it");
    let before = everything(h).await;
    let refused = h.store().receive_messages(only("bob", "m1")).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    let refused = h.store().receive_messages(only("bob", "m1")).await.unwrap_err();
    assert_eq!(refused.to_string(), "message m1: is to mira, not to bob");
    h.store().ack_messages(vec![any_hold("m2")]).await.unwrap();
    assert_eq!(receive(h, only("mira", "m2")).await, [], "it was handled");
    assert_eq!(ids(&receive(h, next_of("mira", "r1")).await), ["m1"]);
}

pub async fn only_those_who_live_receive(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    the_dead(h).await;
    let before = everything(h).await;
    for (to, refusal) in [
        ("nobody", "not-found agent nobody"),
        ("dead", "conflict agent dead"),
        ("gone", "conflict agent gone"),
    ] {
        let refused = h.store().receive_messages(next_of(to, "r1")).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    sent(h, "mira", "operator", "m2").await;
    assert_eq!(ids(&receive(h, next_of("operator", "r1")).await), ["m2"]);
}

pub async fn bad_receivers_are_refused_and_get_nothing(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let plain = || next_of("mira", "r1");
    let holds = |count: u32| (0..count).map(|_| any_hold("m1")).collect::<Vec<Hold>>();
    let bad = [
        (Receive { holder: " ".to_owned(), ..plain() }, "holder"),
        (Receive { holder: "a\0b".to_owned(), ..plain() }, "holder"),
        (Receive { holder: "x".repeat(257), ..plain() }, "holder"),
        (Receive { lease_ms: LEASE_MS_MIN - 1, ..plain() }, "leaseMs"),
        (Receive { lease_ms: LEASE_MS_MAX + 1, ..plain() }, "leaseMs"),
        (Receive { max: 0, ..plain() }, "max"),
        (Receive { max: RECEIVE_MAX + 1, ..plain() }, "max"),
        (Receive { ack: holds(RECEIVE_MAX + 1), ..plain() }, "ack"),
    ];
    let before = everything(h).await;
    for (receive, field) in bad {
        let refused = h.store().receive_messages(receive).await;
        let refusal = refusal(refused);
        assert!(refusal.starts_with("invalid "), "{refusal} is about {field}");
    }
    let refused = h.store().ack_messages(holds(RECEIVE_MAX + 1)).await;
    assert_refused(h, &before, refused, "invalid ack").await;
    let got = next(h, "mira").await.unwrap();
    let before = everything(h).await;
    let long = Release { delay_ms: MESSAGE_DELAY_MS_MAX + 1, ..release_of(&got) };
    let refused = h.store().release_message(long).await;
    assert_refused(h, &before, refused, "invalid delayMs").await;
    let note = Some("a\0b".to_owned());
    let refused = h.store().release_message(Release { note, ..release_of(&got) }).await;
    assert_refused(h, &before, refused, "invalid note").await;
    let refused = h.store().renew_message(hold(&got), LEASE_MS_MAX + 1).await;
    assert!(refusal(refused).starts_with("invalid "));
}

pub async fn a_lease_that_ends_queues_the_message_again(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(LEASE - 1);
    assert_eq!(message(h, "m1").await, got, "a millisecond is left");
    h.clock().advance_ms(1);
    let queued = Message {
        status: MessageStatus::Queued,
        attempts: 1,
        lease: None,
        note: Some(LEASE_ENDED.to_owned()),
        ..got.clone()
    };
    assert_eq!(message(h, "m1").await, queued, "whoever reads it sees that it is over");
    // It keeps its place before younger ones, and is known as a redelivery.
    let again = receive(h, next_of("mira", "r2")).await.pop().unwrap();
    let lease =
        MessageLease { holder: "r2".to_owned(), expires_at: h.clock().now().plus_ms(LEASE_MS) };
    let redelivered = Message {
        status: MessageStatus::Leased,
        deliveries: 2,
        delivered_at: Some(h.clock().now()),
        lease: Some(lease),
        ..queued
    };
    assert_eq!(again, redelivered);
}

pub async fn a_lease_that_is_over_is_handed_out_to_the_next_receiver(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.clock().advance_ms(LEASE - 1);
    assert_eq!(next(h, "mira").await, None);
    h.clock().advance_ms(1);
    // Nobody read it in between: receiving alone sees that the lease is over.
    let again = next(h, "mira").await.unwrap();
    assert_eq!((again.deliveries, again.attempts), (2, 1));
}

pub async fn a_lease_is_kept_by_its_holder_alone(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(LEASE - 1);
    let renewed = h.store().renew_message(hold(&got), 60_000).await.unwrap();
    let expires_at = h.clock().now().plus_ms(60_000);
    let lease = Some(MessageLease { holder: "r1".to_owned(), expires_at });
    assert_eq!(renewed, Message { lease, ..got.clone() });
    h.clock().advance_ms(59_999);
    assert_eq!(next(h, "mira").await, None);
    // It counts from now, so it can be made shorter; and without its number it is the newest.
    let renewed = h.store().renew_message(any_hold("m1"), 1_000).await.unwrap();
    let expires_at = h.clock().now().plus_ms(1_000);
    assert_eq!(renewed.lease.unwrap().expires_at, expires_at);
    h.clock().advance_ms(1_000);
    let refused = h.store().renew_message(hold(&got), LEASE_MS).await;
    assert_eq!(refusal(refused), "conflict message m1", "it is over");
    let again = next(h, "mira").await.unwrap();
    let before = everything(h).await;
    let refused = h.store().renew_message(hold(&got), LEASE_MS).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    let stale = h.store().renew_message(hold(&got), LEASE_MS).await.unwrap_err();
    let said = "message m1: has been handed out 2 times, hand-out 1 is not the newest";
    assert_eq!(stale.to_string(), said);
    h.store().ack_messages(vec![hold(&again)]).await.unwrap();
    let refused = h.store().renew_message(hold(&again), LEASE_MS).await.unwrap_err();
    assert_eq!(refused.to_string(), "message m1: is acked and held by nobody");
}

pub async fn an_acknowledged_message_is_handled_once_and_for_all(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(7);
    let acked_at = Some(h.clock().now());
    let acked = Message { status: MessageStatus::Acked, acked_at, lease: None, ..got.clone() };
    assert_eq!(h.store().ack_messages(vec![hold(&got)]).await.unwrap(), slice::from_ref(&acked));
    h.clock().advance_ms(LEASE);
    let again = h.store().ack_messages(vec![hold(&got), any_hold("m1")]).await.unwrap();
    assert_eq!(again, [acked.clone(), acked.clone()], "again is no change");
    h.reopen().await;
    assert_eq!(message(h, "m1").await, acked);
    assert_eq!(next(h, "mira").await, None);
    let refused = h.store().release_message(release_of(&got)).await;
    assert_eq!(refusal(refused), "conflict message m1");
    let refused = h.store().requeue_message(message_id("m1")).await;
    assert_eq!(refusal(refused), "conflict message m1");
}

pub async fn what_was_never_handed_out_is_not_acknowledged(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let before = everything(h).await;
    for delivery in [None, Some(0), Some(1)] {
        let hold = Hold { id: message_id("m1"), delivery };
        let refused = h.store().ack_messages(vec![hold]).await;
        assert_refused(h, &before, refused, "conflict message m1").await;
    }
    assert_eq!(h.store().ack_messages(Vec::new()).await.unwrap(), []);
}

pub async fn a_late_acknowledgement_holds_while_nobody_else_got_it(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    let [one, two] = [next(h, "mira").await.unwrap(), next(h, "mira").await.unwrap()];
    h.clock().advance_ms(LEASE + 5);
    let late = h.store().ack_messages(vec![hold(&one)]).await.unwrap();
    assert_eq!((late[0].status, late[0].attempts), (MessageStatus::Acked, 1));
    assert_eq!(late[0].acked_at, Some(h.clock().now()));
    // Only who names the hand-out is heard: another cannot have had it.
    let refused = h.store().ack_messages(vec![any_hold("m2")]).await;
    assert_eq!(refusal(refused), "conflict message m2");
    let again = receive(h, next_of("mira", "r2")).await.pop().unwrap();
    assert_eq!(again.id, two.id);
    let before = everything(h).await;
    let refused = h.store().ack_messages(vec![hold(&two)]).await;
    assert_refused(h, &before, refused, "conflict message m2").await;
    let acked = h.store().ack_messages(vec![hold(&again)]).await.unwrap();
    assert_eq!(acked[0].status, MessageStatus::Acked);
    let refused = h.store().ack_messages(vec![hold(&two)]).await;
    assert_eq!(refusal(refused), "conflict message m2", "an old hand-out is stale for ever");
}

pub async fn acknowledgements_are_taken_all_or_none(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for (to, id) in [("mira", "m1"), ("bob", "b1"), ("mira", "m2")] {
        sent(h, "operator", to, id).await;
    }
    let got = [next(h, "mira").await.unwrap(), next(h, "bob").await.unwrap()];
    let before = everything(h).await;
    let stale = Hold { id: message_id("b1"), delivery: Some(7) };
    for bad in [stale, any_hold("m2"), any_hold("m0")] {
        let expected = match bad.id.as_str() {
            "m0" => "not-found message m0".to_owned(),
            id => format!("conflict message {id}"),
        };
        let refused = h.store().ack_messages(vec![hold(&got[0]), bad]).await;
        assert_refused(h, &before, refused, &expected).await;
    }
    let acked = h.store().ack_messages(got.iter().map(hold).collect()).await.unwrap();
    assert_eq!(ids(&acked), ["m1", "b1"], "in the order they were given");
}

pub async fn a_turn_is_acknowledged_with_the_next_receipt(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for (to, id) in [("mira", "m1"), ("mira", "m2"), ("bob", "b1"), ("mira", "m3")] {
        sent(h, "operator", to, id).await;
    }
    let one = next(h, "mira").await.unwrap();
    let bobs = next(h, "bob").await.unwrap();
    let then = |hold: Hold| Receive { ack: vec![hold], ..next_of("mira", "r1") };
    let two = receive(h, then(hold(&one))).await.pop().unwrap();
    assert_eq!(two.id, message_id("m2"));
    assert_eq!(message(h, "m1").await.status, MessageStatus::Acked);
    let before = everything(h).await;
    let stale = Hold { id: two.id.clone(), delivery: Some(2) };
    for (hold, refusal) in [
        (stale, "conflict message m2"),
        (hold(&bobs), "conflict message b1"),
        (any_hold("m3"), "conflict message m3"),
    ] {
        let refused = h.store().receive_messages(then(hold)).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let refused = h.store().receive_messages(then(hold(&bobs))).await.unwrap_err();
    assert_eq!(refused.to_string(), "message b1: is to bob, not to mira");
    let both = Receive { ack: vec![hold(&one), hold(&two)], ..next_of("mira", "r1") };
    assert_eq!(ids(&receive(h, both).await), ["m3"], "what was said before may be said again");
    let last = Receive { ack: vec![any_hold("m3")], ..next_of("mira", "r1") };
    assert_eq!(receive(h, last).await, [], "though nothing comes, it is acknowledged");
    assert_eq!(message(h, "m3").await.status, MessageStatus::Acked);
}

pub async fn a_message_that_is_given_back_is_queued_again(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(7);
    let note = Some("busy ☃".to_owned());
    let release = Release { note: note.clone(), ..release_of(&got) };
    let released = h.store().release_message(release.clone()).await.unwrap();
    let queued =
        Message { status: MessageStatus::Queued, attempts: 1, lease: None, note, ..got.clone() };
    assert_eq!(released, queued);
    assert_eq!(message(h, "m1").await, queued);
    let before = everything(h).await;
    let refused = h.store().release_message(release).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    let again = next(h, "mira").await.unwrap();
    let before = everything(h).await;
    let refused = h.store().release_message(release_of(&got)).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    h.clock().advance_ms(LEASE);
    let refused = h.store().release_message(release_of(&again)).await;
    assert_eq!(refusal(refused), "conflict message m1", "it was taken back already");
}

pub async fn a_message_that_was_given_back_rests_so_long(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    let got = next(h, "mira").await.unwrap();
    let release = Release { delay_ms: 500, ..release_of(&got) };
    let released = h.store().release_message(release).await.unwrap();
    assert_eq!(released.not_before, Some(h.clock().now().plus_ms(500)));
    let only = || Receive { id: Some(message_id("m1")), ..next_of("mira", "r1") };
    h.clock().advance_ms(499);
    assert_eq!(receive(h, only()).await, []);
    assert_eq!(next(h, "mira").await.unwrap().id, message_id("m2"), "a younger one goes before");
    h.clock().advance_ms(1);
    let again = next(h, "mira").await.unwrap();
    assert_eq!((again.id.as_str(), again.not_before), ("m1", None));
    // One that rests may still be acknowledged by who gave it back.
    let release = Release { delay_ms: 500, ..release_of(&again) };
    h.store().release_message(release).await.unwrap();
    let acked = h.store().ack_messages(vec![hold(&again)]).await.unwrap();
    assert_eq!((acked[0].status, acked[0].not_before), (MessageStatus::Acked, None));
}

pub async fn a_clock_that_goes_back_ends_no_lease(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    let got = next(h, "mira").await.unwrap();
    let release = Release { delay_ms: 1_000, ..release_of(&got) };
    h.store().release_message(release).await.unwrap();
    let two = next(h, "mira").await.unwrap();
    h.clock().advance_ms(-3_600_000);
    assert_eq!(next(h, "mira").await, None, "one is held, one rests");
    assert_eq!(message(h, "m2").await, two);
    let acked = h.store().ack_messages(vec![hold(&two)]).await.unwrap();
    assert_eq!(acked[0].acked_at, Some(h.clock().now()));
    h.clock().advance_ms(3_600_000 + 1_000);
    assert_eq!(next(h, "mira").await.unwrap().id, message_id("m1"));
}

pub async fn messages_are_handed_to_those_they_are_for(h: &mut dyn Harness) {
    let names = ["mira", "mira2", "mir", "m_ra", "m-ra", "m.ra"];
    agents(h, &names).await;
    for name in names {
        sent(h, "operator", name, &format!("to-{name}")).await;
    }
    for name in names {
        let all = Receive { max: RECEIVE_MAX, ..next_of(name, "r1") };
        assert_eq!(ids(&receive(h, all).await), [format!("to-{name}")]);
    }
}

pub async fn racing_receivers_never_hold_the_same_message(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for n in 0..60 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
    }
    let taken = race(h, 8, |store, thread| {
        let mut taken = Vec::new();
        loop {
            let max = 1 + u32::try_from(thread % 3).unwrap();
            let wanted = Receive { max, ..next_of("mira", &format!("r{thread}")) };
            let got = block_on(store.receive_messages(wanted)).unwrap().messages;
            if got.is_empty() {
                return taken;
            }
            assert!(got.len() <= max as usize);
            for message in got {
                let lease = message.lease.unwrap();
                assert_eq!((lease.holder, message.deliveries), (format!("r{thread}"), 1));
                taken.push(message.id.to_string());
            }
        }
    });
    let taken = taken.concat();
    assert_eq!(taken.len(), 60, "each is handed out once");
    assert_eq!(taken.iter().collect::<BTreeSet<_>>().len(), 60);
}

pub async fn racing_turns_handle_each_message_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for n in 0..40 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
    }
    let turns = race(h, 4, |store, thread| {
        let mut ack: Vec<Hold> = Vec::new();
        let mut handled = 0;
        loop {
            handled += ack.len();
            let wanted = Receive { ack, ..next_of("mira", &format!("r{thread}")) };
            let got = block_on(store.receive_messages(wanted)).unwrap().messages;
            if got.is_empty() {
                return handled;
            }
            ack = got.iter().map(hold).collect();
        }
    });
    assert_eq!(turns.iter().sum::<usize>(), 40);
    for message in mail_of(h, "mira").await {
        assert_eq!((message.status, message.deliveries), (MessageStatus::Acked, 1));
    }
}

pub async fn of_a_late_holder_and_the_next_one_racing_one_is_heard(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for round in 0..12 {
        let id = format!("m{round}");
        sent(h, "operator", "mira", &id).await;
        let late = next(h, "mira").await.unwrap();
        h.clock().advance_ms(LEASE);
        let old = hold(&late);
        let answers = race(h, 2, move |store, thread| match thread {
            0 => block_on(store.ack_messages(vec![old.clone()])).is_ok(),
            _ => {
                let got = block_on(store.receive_messages(next_of("mira", "r2"))).unwrap();
                !got.messages.is_empty()
            }
        });
        assert!(answers[0] != answers[1], "round {round}: {answers:?}");
        let kept = message(h, &id).await;
        let expected = if answers[0] { MessageStatus::Acked } else { MessageStatus::Leased };
        assert_eq!(kept.status, expected);
        if kept.status == MessageStatus::Leased {
            h.store().ack_messages(vec![hold(&kept)]).await.unwrap();
        }
    }
}

pub async fn what_one_holds_is_listed_as_leased(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    sent(h, "operator", "mira", "m2").await;
    next(h, "mira").await.unwrap();
    let store = h.store();
    let with = async |status| {
        let filter =
            MessageFilter { statuses: vec![status], to: Some(party("mira")), ..<_>::default() };
        ids(&store.list_messages(filter, all()).await.unwrap().items)
    };
    assert_eq!(with(MessageStatus::Leased).await, ["m1"]);
    assert_eq!(with(MessageStatus::Queued).await, ["m2"]);
    h.clock().advance_ms(LEASE);
    assert_eq!(with(MessageStatus::Leased).await, Vec::<String>::new());
    assert_eq!(with(MessageStatus::Queued).await, ["m2", "m1"]);
}
