//! Messages that nobody could handle, and what the harbor itself tells the parties.

use ah_model::limits::MESSAGE_ATTEMPTS_MAX;
use ah_model::{
    HiveImport, Hold, Lifecycle, Message, MessageKind, MessageStatus, QuestionStatus, Receive,
    Release, Verdict,
};
use ah_store::Clock;

use crate::Harness;
use crate::given::{agent_id, everything, refusal, set_lifecycle};
use crate::given_hive::{
    LEASE, agents, answer, any_hold, ask, decide, destroy, hold, let_die, mail_of, message,
    message_id, next, next_of, notice, party, question, question_of, receive, release_of,
    requested, sent, told,
};
use crate::given_run::assert_refused;

pub async fn a_message_that_is_given_back_too_often_is_dead(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    for attempt in 1..MESSAGE_ATTEMPTS_MAX {
        let got = next(h, "mira").await.unwrap();
        let released = h.store().release_message(release_of(&got)).await.unwrap();
        assert_eq!((released.status, released.attempts), (MessageStatus::Queued, attempt));
    }
    assert_eq!(mail_of(h, "bob").await, []);
    let got = next(h, "mira").await.unwrap();
    h.clock().advance_ms(9);
    let note = Some("it burns".to_owned());
    let release = Release { note: note.clone(), delay_ms: 50, ..release_of(&got) };
    let dead = h.store().release_message(release).await.unwrap();
    let expected = Message {
        status: MessageStatus::Dead,
        attempts: MESSAGE_ATTEMPTS_MAX,
        lease: None,
        dead_at: Some(h.clock().now()),
        note,
        ..got
    };
    assert_eq!(dead, expected);
    h.reopen().await;
    assert_eq!(message(h, "m1").await, expected);
    h.clock().advance_ms(LEASE);
    assert_eq!(next(h, "mira").await, None);
    let body = "message m1 to mira was given up after 5 tries: it burns";
    assert_eq!(told(h, "bob").await, [notice("bounce", "mira", body, "m1")]);
    let before = everything(h).await;
    for bad in [hold(&expected), any_hold("m1")] {
        let refused = h.store().ack_messages(vec![bad]).await;
        assert_refused(h, &before, refused, "conflict message m1").await;
    }
}

pub async fn a_message_that_is_only_put_down_is_never_given_up(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    let tried = next(h, "mira").await.unwrap();
    h.store().release_message(release_of(&tried)).await.unwrap();
    let note = Some("the loop was stopped".to_owned());
    for _ in 0..=MESSAGE_ATTEMPTS_MAX {
        let got = next(h, "mira").await.unwrap();
        let release = Release { counts: false, note: note.clone(), ..release_of(&got) };
        let back = h.store().release_message(release).await.unwrap();
        let expected = Message {
            status: MessageStatus::Queued,
            attempts: 1,
            lease: None,
            note: note.clone(),
            ..got
        };
        assert_eq!(back, expected);
        h.reopen().await;
        assert_eq!(message(h, "m1").await, expected);
    }
    assert_eq!(mail_of(h, "bob").await, []);
    let got = next(h, "mira").await.unwrap();
    let release = Release { counts: false, delay_ms: 50, ..release_of(&got) };
    h.store().release_message(release).await.unwrap();
    assert_eq!(next(h, "mira").await, None, "it rests as any other");
    h.clock().advance_ms(50);
    assert_eq!(next(h, "mira").await.unwrap().attempts, 1);
}

pub async fn a_message_whose_leases_end_too_often_is_dead(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    for _ in 0..MESSAGE_ATTEMPTS_MAX {
        assert_eq!(mail_of(h, "bob").await, []);
        next(h, "mira").await.unwrap();
        h.clock().advance_ms(LEASE);
    }
    // Its writer's own reading finds out.
    let [bounce] = mail_of(h, "bob").await.try_into().unwrap();
    assert_eq!((bounce.kind, bounce.status), (MessageKind::Bounce, MessageStatus::Queued));
    assert_eq!((bounce.sent_at, bounce.in_reply_to.clone()), (h.clock().now(), None));
    let dead = message(h, "m1").await;
    assert_eq!((dead.status, dead.dead_at), (MessageStatus::Dead, Some(h.clock().now())));
    let body = "message m1 to mira was given up after 5 tries: the lease ended";
    assert_eq!(told(h, "bob").await, [notice("bounce", "mira", body, "m1")]);
    assert_eq!(receive(h, next_of("bob", "r1")).await[0].id, bounce.id);
}

pub async fn the_operator_is_told_of_its_own_messages_too(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    let_die(h, "m1").await;
    let body = "message m1 to mira was given up after 5 tries: no reason was given";
    assert_eq!(told(h, "operator").await, [notice("bounce", "mira", body, "m1")]);
}

pub async fn notices_bounce_to_nobody(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    let_die(h, "m1").await;
    let bounce = mail_of(h, "bob").await.pop().unwrap();
    let dead = let_die(h, bounce.id.as_str()).await;
    assert_eq!((dead.kind, dead.status), (MessageKind::Bounce, MessageStatus::Dead));
    assert_eq!(mail_of(h, "mira").await, [message(h, "m1").await]);
    assert_eq!(mail_of(h, "bob").await, [dead]);
}

pub async fn the_dead_are_told_too_and_read_it_if_they_come_back(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    sent(h, "bob", "mira", "m1").await;
    sent(h, "eve", "mira", "m2").await;
    set_lifecycle(h, "bob", Lifecycle::Dead).await;
    destroy(h, "eve").await;
    let_die(h, "m1").await;
    let_die(h, "m2").await;
    assert_eq!(mail_of(h, "bob").await.len(), 1);
    assert_eq!(mail_of(h, "eve").await.len(), 1);
    let asked = h.store().revive_agent(agent_id("eve")).await.unwrap();
    decide(h, asked.id.as_str(), Verdict::Approved).await;
    assert_eq!(next(h, "eve").await.unwrap().kind, MessageKind::Bounce);
    // Who is no longer known is told nothing.
    sent(h, "eve", "mira", "m3").await;
    destroy(h, "eve").await;
    h.store().purge_step(agent_id("eve")).await.unwrap();
    let_die(h, "m3").await;
    assert_eq!(message(h, "m3").await.status, MessageStatus::Dead);
    assert_eq!(mail_of(h, "eve").await, []);
}

pub async fn a_dead_message_is_queued_again_with_all_its_tries(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    let dead = let_die(h, "m1").await;
    h.clock().advance_ms(5);
    let queued = h.store().requeue_message(message_id("m1")).await.unwrap();
    let expected =
        Message { status: MessageStatus::Queued, attempts: 0, dead_at: None, ..dead.clone() };
    assert_eq!(queued, expected);
    let before = everything(h).await;
    let refused = h.store().requeue_message(message_id("m1")).await;
    assert_refused(h, &before, refused, "conflict message m1").await;
    for attempt in 1..=MESSAGE_ATTEMPTS_MAX {
        let got = next(h, "mira").await.unwrap();
        assert_eq!(
            got.deliveries,
            MESSAGE_ATTEMPTS_MAX + attempt,
            "hand-outs are never renumbered"
        );
        let stale = Hold { delivery: Some(attempt), ..hold(&got) };
        let refused = h.store().ack_messages(vec![stale]).await;
        assert_eq!(refusal(refused), "conflict message m1");
        h.store().release_message(release_of(&got)).await.unwrap();
    }
    assert_eq!(message(h, "m1").await.status, MessageStatus::Dead);
    assert_eq!(mail_of(h, "bob").await.len(), 2, "it bounced twice");
}

pub async fn notices_that_wait_are_dismissed_and_mail_stays(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    requested(h, "p1", "mira", "deploy").await;
    decide(h, "p1", Verdict::Denied).await;
    ask(h, question_of("q1", "mira", "operator")).await;
    answer(h, "q1", "operator", "yes").await;
    ask(h, question_of("q2", "bob", "mira")).await;
    // Mail stays mail, also when it was brought from elsewhere with a subject.
    let mail = sent(h, "bob", "mira", "m1").await;
    let about = Some("q1".to_owned());
    let brought = Message { id: message_id("m2"), about, ..mail };
    let import = HiveImport { messages: vec![brought], ..HiveImport::default() };
    h.store().import_hive(import).await.unwrap();
    assert_eq!(mail_of(h, "mira").await.len(), 5);
    h.clock().advance_ms(5);
    let dismiss = async |to: &str, about: &str| {
        h.store().dismiss_notices(party(to), about.to_owned()).await.unwrap()
    };
    assert_eq!(dismiss("bob", "q1").await, 0, "it was told to another");
    assert_eq!(dismiss("MIRA", "q1").await, 1);
    assert_eq!(dismiss("mira", "q1").await, 0, "again there is nothing");
    let mail = mail_of(h, "mira").await;
    let acked: Vec<_> = mail.iter().map(|message| message.status).collect();
    use MessageStatus::{Acked, Queued};
    assert_eq!(acked, [Queued, Acked, Queued, Queued, Queued]);
    let before = Message { status: Acked, acked_at: Some(h.clock().now()), ..mail[1].clone() };
    assert_eq!(mail[1], before);
    // One that somebody has is his to handle.
    let held = receive(h, Receive { max: 1, ..next_of("mira", "r1") }).await.pop().unwrap();
    assert_eq!(held.about.as_deref(), Some("p1"));
    assert_eq!(dismiss("mira", "p1").await, 0);
    h.clock().advance_ms(LEASE);
    assert_eq!(dismiss("mira", "p1").await, 1, "it waits again");
    assert_eq!(question(h, "q1").await.status, QuestionStatus::Answered);
    assert_eq!(dismiss("operator", "q1").await, 0);
    let left: Vec<_> =
        mail_of(h, "mira").await.into_iter().filter(|m| m.status == Queued).collect();
    let kinds: Vec<_> = left.iter().map(|message| message.kind).collect();
    assert_eq!(kinds, [MessageKind::Question, MessageKind::Mail, MessageKind::Mail]);
}
