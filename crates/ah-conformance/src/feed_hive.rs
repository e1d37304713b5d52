//! The feed of the hive: agents, mail, approvals and questions as they change.

use ah_model::{
    AgentUpdate, Approval, Change, Decision, Happening, HiveImport, Hold, Lifecycle, Message,
    Question, Receive, Release, Verdict,
};

use crate::Harness;
use crate::agent_import::import as import_of;
use crate::feed::Reader;
use crate::given::{agent_id, create_agent, feed_after, note, renew, reset, set_lifecycle, tell};
use crate::given_hive::{
    LEASE, LEASE_MS, agents, answer, any_hold, approval_id, ask, ask_for, decide, destroy, hold,
    let_die, mail_of, message, message_id, next, next_of, party, question, question_id,
    question_of, receive, release_of, requested, sent,
};

/// The id of the newest message to `name`.
async fn newest(h: &dyn Harness, name: &str) -> String {
    mail_of(h, name).await.pop().unwrap().id.to_string()
}

pub async fn every_change_of_an_agent_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    create_agent(h, "Mira").await;
    reader.assert(h, &["session-created Mira-1", "agent-updated Mira"]).await;
    let store = h.store();
    let id = agent_id("Mira");
    for update in [
        AgentUpdate { model: Some("m".to_owned()), ..AgentUpdate::default() },
        AgentUpdate { protected: Some(true), ..AgentUpdate::default() },
        AgentUpdate { protected: Some(false), ..AgentUpdate::default() },
        AgentUpdate::default(),
    ] {
        h.clock().advance_ms(1);
        store.update_agent(id.clone(), update).await.unwrap();
        reader.assert(h, &["agent-updated Mira"]).await;
    }
    set_lifecycle(h, "Mira", Lifecycle::Sleeping).await;
    reader.assert(h, &["agent-updated Mira"]).await;
    set_lifecycle(h, "Mira", Lifecycle::Sleeping).await;
    reader.assert(h, &[]).await;
    set_lifecycle(h, "Mira", Lifecycle::Active).await;
    reader.assert(h, &["agent-updated Mira"]).await;
    tell(h, "Mira", note("0")).await;
    reader.assert(h, &["session-updated Mira-1"]).await;
    tell(h, "Mira", note(r#"{"usage":{"input_tokens":3}}"#)).await;
    reader.assert(h, &[]).await;
    renew(h, "Mira", reset("again"), "Mira-2").await;
    reader.assert(h, &["session-created Mira-2", "session-updated Mira-1"]).await;
    destroy(h, "Mira").await;
    reader.assert(h, &["agent-updated Mira", "session-updated Mira-2"]).await;
    destroy(h, "Mira").await;
    reader.assert(h, &[]).await;
    store.purge_step(id).await.unwrap();
    let gone = ["agent-updated Mira", "session-deleted Mira-1", "session-deleted Mira-2"];
    reader.assert(h, &gone).await;
}

pub async fn what_an_import_makes_of_an_agent_is_told(h: &mut dyn Harness) {
    let mut reader = Reader::new(h).await;
    let import = import_of("mira");
    h.store().import_agent(import.clone()).await.unwrap();
    let told = reader.changes(h).await;
    assert!(told.contains("agent-updated mira"), "{told:?}");
    h.store().import_agent(import).await.unwrap();
    let told = reader.changes(h).await;
    assert!(!told.contains("agent-updated mira"), "nothing is new: {told:?}");
}

pub async fn a_revival_is_told_as_what_it_is(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    requested(h, "p1", "mira", "deploy").await;
    let mut reader = Reader::new(h).await;
    destroy(h, "mira").await;
    let destroyed = ["agent-updated mira", "session-updated mira-1", "approval-updated mira p1"];
    reader.assert(h, &destroyed).await;
    let asked = h.store().revive_agent(agent_id("mira")).await.unwrap();
    let approval = format!("approval-updated mira {}", asked.id);
    reader.assert(h, &[&approval]).await;
    h.store().revive_agent(agent_id("mira")).await.unwrap();
    reader.assert(h, &[]).await;
    decide(h, asked.id.as_str(), Verdict::Approved).await;
    let session = h.store().agent(agent_id("mira")).await.unwrap().active_session_id.unwrap();
    let created = format!("session-created {session}");
    let notice = format!("message-queued mira {}", newest(h, "mira").await);
    reader.assert(h, &["agent-updated mira", &created, &approval, &notice]).await;
}

pub async fn every_change_of_a_message_is_told(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    let mut reader = Reader::new(h).await;
    sent(h, "bob", "mira", "m1").await;
    reader.assert(h, &["message-queued Mira m1"]).await;
    let got = next(h, "mira").await.unwrap();
    h.store().renew_message(hold(&got), LEASE_MS).await.unwrap();
    reader.assert(h, &[]).await;
    h.store().release_message(release_of(&got)).await.unwrap();
    reader.assert(h, &["message-queued Mira m1"]).await;
    next(h, "mira").await.unwrap();
    h.clock().advance_ms(LEASE);
    h.store().sweep_hive().await.unwrap();
    reader.assert(h, &["message-queued Mira m1"]).await;
    let got = next(h, "mira").await.unwrap();
    h.store().ack_messages(vec![hold(&got)]).await.unwrap();
    reader.assert(h, &["message-updated Mira m1"]).await;
    h.store().ack_messages(vec![hold(&got)]).await.unwrap();
    assert!(h.store().release_message(release_of(&got)).await.is_err());
    assert_eq!(next(h, "mira").await, None);
    reader.assert(h, &[]).await;

    sent(h, "bob", "mira", "m2").await;
    while message(h, "m2").await.attempts < 4 {
        let got = next(h, "mira").await.unwrap();
        h.store().release_message(release_of(&got)).await.unwrap();
    }
    let got = next(h, "mira").await.unwrap();
    reader.changes(h).await;
    h.store().release_message(release_of(&got)).await.unwrap();
    let bounce = format!("message-queued bob {}", newest(h, "bob").await);
    reader.assert(h, &["message-updated Mira m2", &bounce]).await;
    h.store().requeue_message(message_id("m2")).await.unwrap();
    reader.assert(h, &["message-queued Mira m2"]).await;
    let about = h.store().dismiss_notices(party("bob"), "m2".to_owned()).await.unwrap();
    assert_eq!(about, 1);
    let dismissed = format!("message-updated bob {}", newest(h, "bob").await);
    reader.assert(h, &[&dismissed]).await;
}

pub async fn a_lease_that_ends_in_a_receipt_is_told_too(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    next(h, "mira").await.unwrap();
    h.clock().advance_ms(LEASE);
    let mut reader = Reader::new(h).await;
    next(h, "mira").await.unwrap();
    reader.assert(h, &["message-queued mira m1"]).await;
    let acked = Receive { ack: vec![any_hold("m1")], ..next_of("mira", "r1") };
    assert_eq!(receive(h, acked).await, []);
    reader.assert(h, &["message-updated mira m1"]).await;
}

pub async fn every_change_of_an_approval_is_told(h: &mut dyn Harness) {
    agents(h, &["Mira"]).await;
    let mut reader = Reader::new(h).await;
    requested(h, "p1", "mira", "deploy").await;
    reader.assert(h, &["approval-updated Mira p1"]).await;
    decide(h, "p1", Verdict::Approved).await;
    let notice = format!("message-queued Mira {}", newest(h, "mira").await);
    reader.assert(h, &["approval-updated Mira p1", &notice]).await;
    decide(h, "p1", Verdict::Approved).await;
    reader.assert(h, &[]).await;
    for problem in [Some("x".to_owned()), None] {
        h.store().carried_out(approval_id("p1"), problem).await.unwrap();
        reader.assert(h, &["approval-updated Mira p1"]).await;
    }
    h.store().carried_out(approval_id("p1"), None).await.unwrap();
    reader.assert(h, &[]).await;
}

pub async fn every_change_of_a_question_is_told(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    let mut reader = Reader::new(h).await;
    ask(h, question_of("q1", "mira", "bob")).await;
    let asked = format!("message-queued bob {}", newest(h, "bob").await);
    reader.assert(h, &["question-updated Mira q1", &asked]).await;
    answer(h, "q1", "bob", "x").await;
    let answered = format!("message-queued Mira {}", newest(h, "mira").await);
    reader.assert(h, &["question-updated Mira q1", &answered]).await;
    answer(h, "q1", "bob", "x").await;
    reader.assert(h, &[]).await;

    ask_for(h, "q2", "operator", "bob", 1_000).await;
    reader.changes(h).await;
    h.clock().advance_ms(1_000);
    question(h, "q2").await;
    reader.assert(h, &["question-updated operator q2"]).await;
    answer(h, "q2", "bob", "late").await;
    reader.assert(h, &["question-updated operator q2"]).await;

    ask(h, question_of("q3", "operator", "bob")).await;
    reader.changes(h).await;
    for _ in 0..2 {
        let by = party("operator");
        h.store().withdraw_question(question_id("q3"), by).await.unwrap();
    }
    reader.assert(h, &["question-updated operator q3"]).await;
}

pub async fn what_is_brought_from_elsewhere_is_told(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let first = sent(h, "mira", "bob", "m1").await;
    let asked = requested(h, "p1", "mira", "deploy").await;
    let open = ask(h, question_of("q1", "mira", "operator")).await;
    let mut reader = Reader::new(h).await;
    let import = HiveImport {
        messages: vec![Message { id: message_id("m2"), ..first }],
        approvals: vec![Approval { id: approval_id("p2"), ..asked }],
        questions: vec![Question { id: question_id("q2"), ..open }],
    };
    h.store().import_hive(import.clone()).await.unwrap();
    let told = ["message-queued bob m2", "approval-updated mira p2", "question-updated mira q2"];
    reader.assert(h, &told).await;
    h.store().import_hive(import).await.unwrap();
    reader.assert(h, &[]).await;
}

pub async fn notices_are_told_behind_their_cause(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    for id in ["m1", "m2"] {
        sent(h, "bob", "mira", id).await;
    }
    ask_for(h, "q1", "bob", "operator", 1_000).await;
    requested(h, "p1", "bob", "deploy").await;
    let from = h.store().feed_end().await.unwrap();
    decide(h, "p1", Verdict::Denied).await;
    for id in ["m1", "m2"] {
        let_die(h, id).await;
    }
    h.clock().advance_ms(1_000);
    answer(h, "q1", "operator", "late").await;
    let entries = feed_after(h, from).await;
    let changes: Vec<&Change> = entries
        .iter()
        .filter_map(|entry| match &entry.happening {
            Happening::Event(_) => None,
            Happening::Change(change) => Some(change),
        })
        .collect();
    let place = |kind: &str, subject: &str| {
        let said = |change: &&Change| (change.kind.to_string(), change.subject.clone());
        let wanted = (kind.to_owned(), Some(subject.to_owned()));
        changes.iter().position(|change| said(change) == wanted).unwrap()
    };
    let notices = mail_of(h, "bob").await;
    assert_eq!(notices.len(), 5);
    for notice in notices {
        let about = notice.about.clone().unwrap();
        let cause = match &about[..1] {
            "m" => "message-updated",
            "q" => "question-updated",
            _ => "approval-updated",
        };
        let cause = place(cause, &about);
        assert!(cause < place("message-queued", notice.id.as_str()), "{changes:?}");
    }
}

pub async fn what_is_refused_is_not_told(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    sent(h, "bob", "mira", "m1").await;
    let got = next(h, "mira").await.unwrap();
    requested(h, "p1", "mira", "deploy").await;
    decide(h, "p1", Verdict::Denied).await;
    ask(h, question_of("q1", "mira", "bob")).await;
    let mut reader = Reader::new(h).await;
    let store = h.store();
    let stale = Release { hold: Hold { delivery: Some(9), ..hold(&got) }, ..release_of(&got) };
    assert!(store.release_message(stale).await.is_err());
    assert!(store.requeue_message(message_id("m1")).await.is_err());
    let approve = Decision::operator(Verdict::Approved);
    assert!(store.decide_approval(approval_id("p1"), approve).await.is_err());
    assert!(store.carried_out(approval_id("p1"), None).await.is_err());
    assert!(store.withdraw_question(question_id("q1"), party("bob")).await.is_err());
    assert_eq!(store.dismiss_notices(party("mira"), "x".to_owned()).await.unwrap(), 0);
    reader.assert(h, &[]).await;
}
