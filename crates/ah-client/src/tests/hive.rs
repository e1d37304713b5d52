//! Mail, approvals, questions and retention, as they are sent.

use ah_model::{
    Amount, Answer as Given, ApprovalFilter, ApprovalStatus, Awaited, Decision, HiveImport, Hold,
    MessageFilter, MessageStatus, NewApproval, NewMessage, NewQuestion, PageRequest, Party,
    QuestionFilter, Receive, Release, RetentionRules, Tally, Verdict,
};

use super::*;

fn mira() -> Party {
    Party::Agent(text("mira"))
}

fn hold() -> Hold {
    Hold { id: "m".parse().unwrap(), delivery: Some(2) }
}

#[test]
fn messages() {
    let new = || NewMessage::new(mira(), Party::Operator, "b");
    sends_value(request!(store.send_message(new())), "POST /messages", &new());
    sends(request!(store.message("m".parse().unwrap())), "GET /messages/m", "");
    let prefix = request!(store.message_ids_with_prefix(text("01")));
    sends(prefix, "GET /message-ids?prefix=01", "");
    let filter = MessageFilter {
        statuses: vec![MessageStatus::Dead],
        party: Some(mira()),
        ..MessageFilter::default()
    };
    let list = request!(store.list_messages(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /messages?status=dead&party=mira&{PAGE}"), "");
    let turn =
        || Receive { ack: vec![hold()], send: vec![new()], ..Receive::next(mira(), "h", 1_000) };
    sends_value(request!(store.receive_messages(turn())), "POST /mail/receive", &turn());
    // A server from before there were turns knows no `send`.
    let next = request!(store.receive_messages(Receive::next(mira(), "h", 1_000)));
    let body = r#"{"to":"mira","holder":"h","leaseMs":1000,"max":1,"id":null,"ack":[]}"#;
    sends(next, "POST /mail/receive", body);
    let renewed = request!(store.renew_message(hold(), 1_000));
    sends(renewed, "POST /messages/m/renew", r#"{"delivery":2,"leaseMs":1000}"#);
    let acked = request!(store.ack_messages(vec![hold()]));
    sends(acked, "POST /mail/ack", r#"{"holds":[{"id":"m","delivery":2}]}"#);
    let release = || Release { hold: hold(), delay_ms: 5, note: Some(text("n")), counts: false };
    let released = request!(store.release_message(release()));
    let body = r#"{"delivery":2,"delayMs":5,"note":"n","counts":false}"#;
    sends(released, "POST /messages/m/release", body);
    let requeued = request!(store.requeue_message("m".parse().unwrap()));
    sends(requeued, "POST /messages/m/requeue", "");
    let dismissed = request!(store.dismiss_notices(mira(), text("q")));
    sends(dismissed, "POST /mail/dismiss", r#"{"to":"mira","about":"q"}"#);
}

#[test]
fn approvals_and_questions() {
    let approval = || NewApproval::new("mira", "deploy");
    sends_value(request!(store.request_approval(approval())), "POST /approvals", &approval());
    sends(request!(store.approval("a".parse().unwrap())), "GET /approvals/a", "");
    let prefix = request!(store.approval_ids_with_prefix(text("01")));
    sends(prefix, "GET /approval-ids?prefix=01", "");
    let filter = ApprovalFilter {
        statuses: vec![ApprovalStatus::Pending],
        agent: Some(text("mira")),
        ..ApprovalFilter::default()
    };
    let list = request!(store.list_approvals(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /approvals?status=pending&agent=mira&{PAGE}"), "");
    let decision = || Decision::operator(Verdict::Denied);
    let decided = request!(store.decide_approval("a".parse().unwrap(), decision()));
    sends_value(decided, "POST /approvals/a/decision", &decision());
    let done = request!(store.carried_out("a".parse().unwrap(), None));
    sends(done, "POST /approvals/a/carried-out", "{}");
    let failed = request!(store.carried_out("a".parse().unwrap(), Some(text("no room"))));
    sends(failed, "POST /approvals/a/carried-out", r#"{"problem":"no room"}"#);

    let question = || NewQuestion::new(mira(), Party::Operator, "why");
    sends_value(request!(store.ask_question(question())), "POST /questions", &question());
    sends(request!(store.question("q".parse().unwrap())), "GET /questions/q", "");
    let prefix = request!(store.question_ids_with_prefix(text("01")));
    sends(prefix, "GET /question-ids?prefix=01", "");
    let filter = QuestionFilter { from: Some(mira()), ..QuestionFilter::default() };
    let list = request!(store.list_questions(filter.clone(), PageRequest::default()));
    sends(list, &format!("GET /questions?from=mira&{PAGE}"), "");
    let answer = || Given::operator(["x"]);
    let answered = request!(store.answer_question("q".parse().unwrap(), answer()));
    sends_value(answered, "POST /questions/q/answer", &answer());
    let withdrawn = request!(store.withdraw_question("q".parse().unwrap(), mira()));
    sends(withdrawn, "POST /questions/q/withdrawal", r#"{"by":"mira"}"#);
}

#[test]
fn waits_sweeps_and_imports() {
    for (awaited, query) in [
        (Awaited::Mail(mira()), "mail=mira"),
        (Awaited::Question("q".parse().unwrap()), "question=q"),
        (Awaited::Approval("a".parse().unwrap()), "approval=a"),
    ] {
        let waited = request!(store.wait_for(awaited.clone()));
        sends(waited, &format!("GET /hive/wait?{query}&waitMs=20000"), "");
    }
    sends(request!(store.sweep_hive()), "POST /hive/sweep", "");
    let import = HiveImport::default;
    sends_value(request!(store.import_hive(import())), "POST /hive/import", &import());
}

#[test]
fn retention_and_agents_that_go() {
    let rules = RetentionRules::default;
    sends_value(request!(store.plan_retention(rules())), "POST /retention/plan", &rules());
    sends_value(request!(store.retention_step(rules())), "POST /retention/step", &rules());
    let page = PageRequest::default;
    sends(request!(store.list_receipts(page())), &format!("GET /retention/receipts?{PAGE}"), "");
    let mut tally = Tally::default();
    tally.add("files", Amount { rows: 1, bytes: 2 });
    let added = request!(store.add_to_receipt("r".parse().unwrap(), tally.clone()));
    sends_value(added, "POST /retention/receipts/r/add", &tally);
    sends(request!(store.reclaim_space()), "POST /retention/reclaim", "");
    let id = || "a1".parse().unwrap();
    for (request, verb) in [
        (request!(store.destroy_agent(id())), "destroy"),
        (request!(store.revive_agent(id())), "revive"),
        (request!(store.purge_step(id())), "purge"),
    ] {
        sends(request, &format!("POST /agent-instances/a1/{verb}"), "");
    }
}
