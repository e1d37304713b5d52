//! What behaviours of the hive start from: parties, mail, notices.

use ah_model::{
    Agent, Answer, Approval, ApprovalFilter, ApprovalId, ApprovalStatus, Decision, Hold, Lifecycle,
    Message, MessageFilter, MessageId, MessageKind, MessageStatus, NewApproval, NewMessage,
    NewQuestion, Party, Question, QuestionFilter, QuestionId, Receive, Release, Verdict,
};
use ah_store::Clock;

use crate::Harness;
use crate::given::{agent_id, all, create_agent, set_lifecycle};

/// How long leases of messages last unless a behaviour says otherwise.
pub(crate) const LEASE_MS: u64 = 30_000;
/// The same, for the clock.
pub(crate) const LEASE: i64 = 30_000;

pub(crate) fn party(name: &str) -> Party {
    name.parse().unwrap()
}

pub(crate) fn message_id(text: &str) -> MessageId {
    text.parse().unwrap()
}

pub(crate) fn approval_id(text: &str) -> ApprovalId {
    text.parse().unwrap()
}

pub(crate) fn question_id(text: &str) -> QuestionId {
    text.parse().unwrap()
}

/// Agents of these names, all active.
pub(crate) async fn agents(h: &dyn Harness, names: &[&str]) {
    for name in names {
        create_agent(h, name).await;
    }
}

/// An agent `dead` that retired and one `gone` that was destroyed.
pub(crate) async fn the_dead(h: &dyn Harness) {
    agents(h, &["dead", "gone"]).await;
    set_lifecycle(h, "dead", Lifecycle::Dead).await;
    destroy(h, "gone").await;
}

pub(crate) async fn destroy(h: &dyn Harness, name: &str) -> Agent {
    h.store().destroy_agent(agent_id(name)).await.unwrap()
}

pub(crate) fn mail(from: &str, to: &str, body: &str) -> NewMessage {
    NewMessage::new(party(from), party(to), body)
}

/// A message of `mira` to `bob` that nobody got yet.
pub(crate) fn queued(h: &dyn Harness, id: &str, number: u64, body: &str) -> Message {
    Message {
        id: message_id(id),
        number,
        kind: MessageKind::Mail,
        from: party("mira"),
        to: party("bob"),
        body: body.to_owned(),
        in_reply_to: None,
        about: None,
        status: MessageStatus::Queued,
        deliveries: 0,
        attempts: 0,
        not_before: None,
        lease: None,
        sent_at: h.clock().now(),
        delivered_at: None,
        acked_at: None,
        dead_at: None,
        note: None,
    }
}

/// Sends to one recipient.
pub(crate) async fn send(h: &dyn Harness, new: NewMessage) -> Message {
    let [sent] = h.store().send_message(new).await.unwrap().try_into().unwrap();
    sent
}

/// Sends to `to` under the id that is the body.
pub(crate) async fn sent(h: &dyn Harness, from: &str, to: &str, body: &str) -> Message {
    send(h, NewMessage { id: Some(message_id(body)), ..mail(from, to, body) }).await
}

/// `holder` wants the next message.
pub(crate) fn next_of(to: &str, holder: &str) -> Receive {
    Receive::next(party(to), holder, LEASE_MS)
}

pub(crate) async fn receive(h: &dyn Harness, receive: Receive) -> Vec<Message> {
    h.store().receive_messages(receive).await.unwrap().messages
}

/// The next message of `to`, if there is one.
pub(crate) async fn next(h: &dyn Harness, to: &str) -> Option<Message> {
    receive(h, next_of(to, "r1")).await.pop()
}

/// The hand-out that `message` shows.
pub(crate) fn hold(message: &Message) -> Hold {
    Hold { id: message.id.clone(), delivery: Some(message.deliveries) }
}

/// Whichever hand-out is the newest.
pub(crate) fn any_hold(id: &str) -> Hold {
    Hold { id: message_id(id), delivery: None }
}

pub(crate) fn release_of(message: &Message) -> Release {
    Release { hold: hold(message), delay_ms: 0, note: None, counts: true }
}

/// The message as it is kept now.
pub(crate) async fn message(h: &dyn Harness, id: &str) -> Message {
    h.store().message(message_id(id)).await.unwrap()
}

/// Everything `name` was ever sent, oldest first.
pub(crate) async fn mail_of(h: &dyn Harness, name: &str) -> Vec<Message> {
    let filter = MessageFilter { to: Some(party(name)), ..MessageFilter::default() };
    let mut page = h.store().list_messages(filter, all()).await.unwrap();
    assert_eq!(page.next_cursor, None);
    page.items.reverse();
    page.items
}

/// What `name` was told by the harbor: kind, writer, body and subject of each, oldest first.
pub(crate) async fn told(h: &dyn Harness, name: &str) -> Vec<(String, String, String, String)> {
    let said = |message: Message| {
        let about = message.about.unwrap_or_default();
        (message.kind.to_string(), message.from.to_string(), message.body, about)
    };
    mail_of(h, name).await.into_iter().map(said).collect()
}

/// A notice as [`told`] shows it.
pub(crate) fn notice(
    kind: &str,
    from: &str,
    body: impl Into<String>,
    about: &str,
) -> (String, String, String, String) {
    (kind.to_owned(), from.to_owned(), body.into(), about.to_owned())
}

/// Hands `id` out and lets its holder give it up, until nobody gets it any more.
pub(crate) async fn let_die(h: &dyn Harness, id: &str) -> Message {
    let to = message(h, id).await.to;
    loop {
        let wanted = Receive { id: Some(message_id(id)), ..next_of(to.as_str(), "r1") };
        let Some(got) = receive(h, wanted).await.pop() else {
            return message(h, id).await;
        };
        h.store().release_message(release_of(&got)).await.unwrap();
    }
}

/// An approval under the id `id`.
pub(crate) fn request(id: &str, agent: &str, kind: &str) -> NewApproval {
    NewApproval { id: Some(approval_id(id)), ..NewApproval::new(agent, kind) }
}

/// What becomes of a request that nobody decided yet, but for its number and the spelling of its
/// agent.
pub(crate) fn pending(h: &dyn Harness, new: &NewApproval) -> Approval {
    let NewApproval { id, agent, kind, commit_ref, commit, reason, details } = new.clone();
    Approval {
        id: id.unwrap(),
        number: 0,
        agent,
        kind,
        commit_ref,
        commit,
        reason,
        details,
        status: ApprovalStatus::Pending,
        requested_at: h.clock().now(),
        resolved_at: None,
        resolved_by: None,
        resolver: None,
        note: None,
        carried_out_at: None,
        problem: None,
    }
}

pub(crate) async fn requested(h: &dyn Harness, id: &str, agent: &str, kind: &str) -> Approval {
    h.store().request_approval(request(id, agent, kind)).await.unwrap()
}

pub(crate) async fn decide(h: &dyn Harness, id: &str, verdict: Verdict) -> Approval {
    let decision = Decision::operator(verdict);
    h.store().decide_approval(approval_id(id), decision).await.unwrap()
}

/// The approval as it is kept now.
pub(crate) async fn approval(h: &dyn Harness, id: &str) -> Approval {
    h.store().approval(approval_id(id)).await.unwrap()
}

/// Every approval, oldest first.
pub(crate) async fn approvals(h: &dyn Harness) -> Vec<Approval> {
    let page = h.store().list_approvals(ApprovalFilter::default(), all()).await.unwrap();
    page.items.into_iter().rev().collect()
}

/// A question under the id `id`, its text.
pub(crate) fn question_of(id: &str, from: &str, to: &str) -> NewQuestion {
    NewQuestion { id: Some(question_id(id)), ..NewQuestion::new(party(from), party(to), id) }
}

pub(crate) async fn ask(h: &dyn Harness, new: NewQuestion) -> Question {
    h.store().ask_question(new).await.unwrap()
}

/// Asked with so long to answer.
pub(crate) async fn ask_for(h: &dyn Harness, id: &str, from: &str, to: &str, ms: u64) -> Question {
    ask(h, NewQuestion { ttl_ms: Some(ms), ..question_of(id, from, to) }).await
}

pub(crate) fn answer_of(by: &str, value: &str) -> Answer {
    Answer { by: party(by), resolver: None, values: vec![value.to_owned()] }
}

pub(crate) async fn answer(h: &dyn Harness, id: &str, by: &str, value: &str) -> Question {
    let answered = h.store().answer_question(question_id(id), answer_of(by, value)).await;
    answered.unwrap()
}

/// The question as it is kept now.
pub(crate) async fn question(h: &dyn Harness, id: &str) -> Question {
    h.store().question(question_id(id)).await.unwrap()
}

/// Every question, oldest first.
pub(crate) async fn questions(h: &dyn Harness) -> Vec<Question> {
    let page = h.store().list_questions(QuestionFilter::default(), all()).await.unwrap();
    page.items.into_iter().rev().collect()
}
