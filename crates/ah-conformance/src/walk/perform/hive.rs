//! Asks operations on mail, approvals, questions, tombstones and removal.

use ah_model::{
    Approval, Awaited, HiveImport, Hold, Message, MessageFilter, NewApproval, NewMessage,
    NewQuestion, Question, RawJson, Receipt, Receive, Release, RemovalStep, Tally,
};
use ah_store::{Store, StoreError};
use serde_json::{Value, json};

use super::super::operation::HiveOperation;
use super::super::pairs::{Names, cut_ids};
use super::{agent, pages};

/// One flat table: an operation, its call.
pub(super) async fn perform(
    store: &dyn Store,
    operation: HiveOperation,
    names: &Names<'_>,
) -> Result<Value, StoreError> {
    use HiveOperation as Op;
    let held = |hold: Hold| Hold { id: names.id(&hold.id), ..hold };
    Ok(match operation {
        Op::Send(new) => messages(&store.send_message(new_message(new, names)).await?),
        Op::Message(id) => message(&store.message(names.id(&id)).await?),
        Op::MessageIds(prefix) => json!(store.message_ids_with_prefix(prefix).await?),
        Op::ListMessages(filter, start) => {
            let in_reply_to = filter.in_reply_to.map(|id| names.id(&id));
            let filter = MessageFilter { in_reply_to, ..filter };
            pages(start, |page| store.list_messages(filter.clone(), page), message).await?
        }
        Op::Receive(given) => {
            let ack = given.ack.into_iter().map(held).collect();
            let send = given.send.into_iter().map(|new| new_message(new, names)).collect();
            let receive = Receive { id: given.id.map(|id| names.id(&id)), ack, send, ..given };
            let received = store.receive_messages(receive).await?;
            json!({ "items": messages(&received.messages), "sent": messages(&received.sent) })
        }
        Op::Renew(hold, lease_ms) => message(&store.renew_message(held(hold), lease_ms).await?),
        Op::Ack(holds) => {
            let holds = holds.into_iter().map(held).collect();
            messages(&store.ack_messages(holds).await?)
        }
        Op::Release(given) => {
            let release = Release { hold: held(given.hold), ..given };
            message(&store.release_message(release).await?)
        }
        Op::Requeue(id) => message(&store.requeue_message(names.id(&id)).await?),
        Op::Dismiss(to, about) => json!(store.dismiss_notices(to, names.id(&about)).await?),
        Op::Request(new) => {
            let new = NewApproval { id: new.id.map(|id| names.id(&id)), ..new };
            approval(&store.request_approval(new).await?)
        }
        Op::Approval(id) => approval(&store.approval(names.id(&id)).await?),
        Op::ApprovalIds(prefix) => json!(store.approval_ids_with_prefix(prefix).await?),
        Op::ListApprovals(filter, start) => {
            pages(start, |page| store.list_approvals(filter.clone(), page), approval).await?
        }
        Op::Decide(id, decision) => {
            approval(&store.decide_approval(names.id(&id), decision).await?)
        }
        Op::CarriedOut(id, problem) => approval(&store.carried_out(names.id(&id), problem).await?),
        Op::Ask(new) => {
            let new = NewQuestion { id: new.id.map(|id| names.id(&id)), ..new };
            question(&store.ask_question(new).await?)
        }
        Op::Question(id) => question(&store.question(names.id(&id)).await?),
        Op::QuestionIds(prefix) => json!(store.question_ids_with_prefix(prefix).await?),
        Op::ListQuestions(filter, start) => {
            pages(start, |page| store.list_questions(filter.clone(), page), question).await?
        }
        Op::Answer(id, answer) => question(&store.answer_question(names.id(&id), answer).await?),
        Op::Withdraw(id, by) => question(&store.withdraw_question(names.id(&id), by).await?),
        Op::Sweep => json!(store.sweep_hive().await?),
        Op::Wait(awaited) => json!(store.wait_for(renamed(awaited, names)).await?),
        Op::Import(import) => json!(store.import_hive(brought(*import, names)).await?),
        Op::Destroy(id) => agent(&store.destroy_agent(names.id(&id)).await?),
        Op::Revive(id) => approval(&store.revive_agent(names.id(&id)).await?),
        Op::Purge(id) => step(&store.purge_step(names.id(&id)).await?),
        Op::Plan(rules) => tally(&store.plan_retention(rules).await?),
        Op::Remove(rules) => step(&store.retention_step(rules).await?),
        Op::AddToReceipt(id, files) => receipt(&store.add_to_receipt(names.id(&id), files).await?),
        Op::ListReceipts(start) => pages(start, |page| store.list_receipts(page), receipt).await?,
    })
}

/// Numbers are each store's own; their order is that of the list. What notices say has ids in it.
fn message(message: &Message) -> Value {
    let rest = Message { number: 0, body: String::new(), ..message.clone() };
    json!({ "body": cut_ids(&message.body), "rest": rest })
}

fn messages(messages: &[Message]) -> Value {
    messages.iter().map(message).collect()
}

/// Its details as text, as the payloads of events.
fn approval(approval: &Approval) -> Value {
    let rest = Approval { number: 0, details: RawJson::null(), ..approval.clone() };
    json!({ "details": approval.details.as_str(), "rest": rest })
}

fn question(question: &Question) -> Value {
    json!(Question { number: 0, ..question.clone() })
}

fn step(step: &RemovalStep) -> Value {
    json!({ "receipt": receipt(&step.receipt), "more": step.more })
}

fn receipt(receipt: &Receipt) -> Value {
    let rest = Receipt { removed: Tally::default(), ..receipt.clone() };
    json!({ "removed": tally(&receipt.removed), "rest": rest })
}

/// Without changes: a store may tell one more than once.
fn tally(tally: &Tally) -> Value {
    let mut tally = tally.clone();
    tally.0.remove("changes");
    json!(tally)
}

fn new_message(new: NewMessage, names: &Names<'_>) -> NewMessage {
    NewMessage {
        id: new.id.map(|id| names.id(&id)),
        in_reply_to: new.in_reply_to.map(|id| names.id(&id)),
        ..new
    }
}

fn renamed(awaited: Awaited, names: &Names<'_>) -> Awaited {
    match awaited {
        Awaited::Mail(party) => Awaited::Mail(party),
        Awaited::Question(id) => Awaited::Question(names.id(&id)),
        Awaited::Approval(id) => Awaited::Approval(names.id(&id)),
    }
}

/// Their numbers stay: they only give an order.
fn brought(import: HiveImport, names: &Names<'_>) -> HiveImport {
    let HiveImport { mut messages, mut approvals, mut questions } = import;
    for message in &mut messages {
        message.id = names.id(&message.id);
        message.in_reply_to = message.in_reply_to.as_ref().map(|id| names.id(id));
        message.about = message.about.as_ref().map(|id| names.id(id));
        message.body = names.in_text(&message.body);
    }
    for approval in &mut approvals {
        approval.id = names.id(&approval.id);
    }
    for question in &mut questions {
        question.id = names.id(&question.id);
    }
    HiveImport { messages, approvals, questions }
}
