//! What mail, approvals and questions share: what time decides, waiting, and bringing them from
//! elsewhere.

use std::thread::JoinHandle;

use ah_model::limits::{HIVE_IMPORT_MAX, MESSAGE_ATTEMPTS_MAX, SWEEP_MAX};
use ah_model::{
    Answered, Approval, ApprovalStatus, Awaited, Happening, HiveImport, HiveImported, HiveSwept,
    Message, MessageKind, MessageLease, MessageStatus, Outcome, Party, Question, QuestionStatus,
    Receive, Release, Verdict,
};
use ah_store::{Clock, StoreError, block_on};

use crate::Harness;
use crate::given::{everything, race, refusal};
use crate::given_hive::{
    LEASE, LEASE_MS, agents, answer, approval, approval_id, approvals, ask, ask_for, decide,
    destroy, hold, let_die, mail, mail_of, message, message_id, next, next_of, party, pending,
    question, question_id, question_of, questions, queued, receive, release_of, request, requested,
    send, sent,
};
use crate::given_run::assert_refused;

async fn sweep(h: &dyn Harness) -> HiveSwept {
    h.store().sweep_hive().await.unwrap()
}

pub async fn a_sweep_counts_what_time_decided(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for id in ["m1", "m2", "m3"] {
        sent(h, "operator", "mira", id).await;
    }
    for _ in 1..MESSAGE_ATTEMPTS_MAX {
        let only = Receive { id: Some(message_id("m1")), ..next_of("mira", "r1") };
        let got = receive(h, only).await.pop().unwrap();
        h.store().release_message(release_of(&got)).await.unwrap();
    }
    assert_eq!(sweep(h).await, HiveSwept::default());
    receive(h, Receive { max: 2, ..next_of("mira", "r1") }).await;
    ask_for(h, "q1", "operator", "mira", LEASE_MS).await;
    ask_for(h, "q2", "operator", "mira", LEASE_MS + 1).await;
    h.clock().advance_ms(LEASE);
    let swept = sweep(h).await;
    assert_eq!(swept, HiveSwept { requeued: 1, dead: 1, expired: 1 });
    assert!(sweep(h).await.is_empty(), "it is done");
    h.clock().advance_ms(1);
    assert_eq!(sweep(h).await, HiveSwept { expired: 1, ..HiveSwept::default() });
    assert_eq!(message(h, "m1").await.status, MessageStatus::Dead);
    assert_eq!(message(h, "m2").await.status, MessageStatus::Queued);
    assert_eq!(mail_of(h, "operator").await.len(), 1, "the operator is told of the dead one");
}

pub async fn a_sweep_does_no_more_than_one_step_takes(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let count = SWEEP_MAX + 20;
    for _ in 0..count {
        send(h, mail("operator", "mira", "x")).await;
    }
    while !receive(h, Receive { max: 64, ..next_of("mira", "r1") }).await.is_empty() {}
    for n in 0..3 {
        ask_for(h, &format!("q{n}"), "operator", "mira", 1_000).await;
    }
    h.clock().advance_ms(2 * LEASE);
    let first = sweep(h).await;
    assert_eq!(first, HiveSwept { requeued: SWEEP_MAX as u64, ..HiveSwept::default() });
    let second = sweep(h).await;
    let rest = (count - SWEEP_MAX) as u64;
    assert_eq!(second, HiveSwept { requeued: rest, dead: 0, expired: 3 });
    assert!(sweep(h).await.is_empty());
    let requeued = mail_of(h, "mira").await;
    assert!(requeued.iter().filter(|m| m.kind == MessageKind::Mail).all(|m| m.attempts == 1));
}

pub async fn what_is_due_longest_is_swept_first(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    let count = SWEEP_MAX + 5;
    for _ in 0..count {
        send(h, mail("operator", "mira", "x")).await;
    }
    // The last ones sent are held since before the others.
    let all = mail_of(h, "mira").await;
    let (later, sooner) = all.split_at(SWEEP_MAX - 5);
    for message in sooner {
        let only = Receive { id: Some(message.id.clone()), ..next_of("mira", "r1") };
        assert_eq!(receive(h, only).await.len(), 1);
    }
    h.clock().advance_ms(10);
    while !receive(h, Receive { max: 64, ..next_of("mira", "r1") }).await.is_empty() {}
    h.clock().advance_ms(LEASE);
    let mut watch = h.store().watch_feed(h.store().feed_end().await.unwrap()).await.unwrap();
    sweep(h).await;
    let mut told: Vec<String> = Vec::new();
    while told.len() < SWEEP_MAX {
        let entries = watch.next().await.unwrap();
        told.extend(entries.iter().filter_map(|entry| match &entry.happening {
            Happening::Event(_) => None,
            Happening::Change(change) => change.subject.clone(),
        }));
    }
    let expected = sooner.iter().chain(&later[..SWEEP_MAX - sooner.len()]);
    let expected: Vec<_> = expected.map(|message| message.id.to_string()).collect();
    assert_eq!(told, expected);
}

pub async fn racing_sweeps_count_each_thing_once(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for n in 0..30 {
        sent(h, "operator", "mira", &format!("m{n}")).await;
        ask_for(h, &format!("q{n}"), "mira", "operator", LEASE_MS).await;
    }
    receive(h, Receive { max: 64, ..next_of("mira", "r1") }).await;
    h.clock().advance_ms(LEASE);
    let swept = race(h, 4, |store, _| block_on(store.sweep_hive()).unwrap());
    let sum = |part: fn(&HiveSwept) -> u64| swept.iter().map(part).sum::<u64>();
    assert_eq!((sum(|s| s.requeued), sum(|s| s.dead), sum(|s| s.expired)), (30, 0, 30));
    let notices = mail_of(h, "mira").await;
    assert_eq!(notices.iter().filter(|m| m.kind == MessageKind::Answer).count(), 30);
}

/// Somebody who waits on a thread of its own.
fn waiting(h: &dyn Harness, awaited: Awaited) -> JoinHandle<Result<(), StoreError>> {
    let store = h.store();
    std::thread::spawn(move || block_on(store.wait_for(awaited)))
}

/// Waits, once it is there or may be.
async fn wait(h: &dyn Harness, awaited: Awaited) {
    h.store().wait_for(awaited).await.unwrap();
}

pub async fn who_waits_for_what_is_there_waits_no_longer(h: &mut dyn Harness) {
    agents(h, &["Mira"]).await;
    sent(h, "operator", "mira", "m1").await;
    wait(h, Awaited::Mail(party("MIRA"))).await;
    sent(h, "mira", "operator", "m2").await;
    wait(h, Awaited::Mail(Party::Operator)).await;
    ask(h, question_of("q1", "mira", "operator")).await;
    answer(h, "q1", "operator", "x").await;
    wait(h, Awaited::Question(question_id("q1"))).await;
    ask(h, question_of("q2", "mira", "operator")).await;
    h.store().withdraw_question(question_id("q2"), party("mira")).await.unwrap();
    wait(h, Awaited::Question(question_id("q2"))).await;
    ask_for(h, "q3", "mira", "operator", 1_000).await;
    h.clock().advance_ms(1_000);
    sweep(h).await;
    wait(h, Awaited::Question(question_id("q3"))).await;
    for verdict in [Verdict::Approved, Verdict::Denied, Verdict::Failed, Verdict::Withdrawn] {
        let id = verdict.to_string();
        requested(h, &id, "mira", "deploy").await;
        decide(h, &id, verdict).await;
        wait(h, Awaited::Approval(approval_id(&id))).await;
    }
}

pub async fn who_waits_for_mail_is_woken_by_it(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let reader = waiting(h, Awaited::Mail(party("mira")));
    sent(h, "operator", "bob", "b1").await;
    sent(h, "operator", "mira", "m1").await;
    reader.join().unwrap().unwrap();
    let got = next(h, "mira").await.unwrap();

    // Mail that comes back wakes as new mail does.
    let reader = waiting(h, Awaited::Mail(party("mira")));
    h.store().release_message(release_of(&got)).await.unwrap();
    reader.join().unwrap().unwrap();
    next(h, "mira").await.unwrap();
    let reader = waiting(h, Awaited::Mail(party("mira")));
    h.clock().advance_ms(LEASE);
    sweep(h).await;
    reader.join().unwrap().unwrap();
    let_die(h, "m1").await;
    let reader = waiting(h, Awaited::Mail(party("mira")));
    h.store().requeue_message(message_id("m1")).await.unwrap();
    reader.join().unwrap().unwrap();

    // And so do notices.
    next(h, "mira").await.unwrap();
    let reader = waiting(h, Awaited::Mail(party("mira")));
    ask(h, question_of("q1", "bob", "mira")).await;
    reader.join().unwrap().unwrap();
}

pub async fn who_waits_for_an_answer_or_a_decision_is_woken_by_it(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    ask(h, question_of("q1", "mira", "operator")).await;
    ask(h, question_of("q2", "mira", "operator")).await;
    ask_for(h, "q3", "mira", "operator", 1_000).await;
    let waits = |id: &str| waiting(h, Awaited::Question(question_id(id)));
    let (one, two, three) = (waits("q1"), waits("q2"), waits("q3"));
    answer(h, "q1", "operator", "x").await;
    one.join().unwrap().unwrap();
    h.store().withdraw_question(question_id("q2"), party("mira")).await.unwrap();
    two.join().unwrap().unwrap();
    h.clock().advance_ms(1_000);
    sweep(h).await;
    three.join().unwrap().unwrap();

    requested(h, "p1", "mira", "deploy").await;
    requested(h, "p2", "mira", "deploy").await;
    let waits = |id: &str| waiting(h, Awaited::Approval(approval_id(id)));
    let (one, two) = (waits("p1"), waits("p2"));
    decide(h, "p1", Verdict::Denied).await;
    one.join().unwrap().unwrap();
    destroy(h, "mira").await;
    two.join().unwrap().unwrap();
}

pub async fn what_is_not_known_is_not_waited_for(h: &mut dyn Harness) {
    for (awaited, refused) in [
        (Awaited::Mail(party("nobody")), "not-found agent nobody"),
        (Awaited::Question(question_id("q0")), "not-found question q0"),
        (Awaited::Approval(approval_id("p0")), "not-found approval p0"),
    ] {
        assert_eq!(refusal(h.store().wait_for(awaited).await), refused);
    }
}

pub async fn many_who_wait_are_all_woken(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    ask(h, question_of("q1", "mira", "operator")).await;
    let readers: Vec<_> = (0..8)
        .map(|n| match n % 2 {
            0 => waiting(h, Awaited::Question(question_id("q1"))),
            _ => waiting(h, Awaited::Mail(party("mira"))),
        })
        .collect();
    answer(h, "q1", "operator", "x").await;
    for reader in readers {
        reader.join().unwrap().unwrap();
    }
}

/// A message of another store.
fn brought(h: &dyn Harness, id: &str, number: u64) -> Message {
    queued(h, id, number, &format!("{id} ☃"))
}

fn brought_approval(h: &dyn Harness, id: &str, number: u64) -> Approval {
    Approval { number, ..pending(h, &request(id, "mira", "deploy")) }
}

fn brought_question(h: &dyn Harness, id: &str, number: u64) -> Question {
    Question {
        id: question_id(id),
        number,
        from: party("mira"),
        to: party("bob"),
        text: format!("{id} ☃"),
        options: Vec::new(),
        multi: false,
        free_text: false,
        status: QuestionStatus::Open,
        outcome: Outcome::Open,
        asked_at: h.clock().now(),
        deadline_at: None,
        resolved_at: None,
        answer: None,
        late_answer: None,
    }
}

/// The same as acknowledged, decided and answered elsewhere.
fn resolved(h: &dyn Harness, import: &HiveImport) -> HiveImport {
    let now = h.clock().now();
    let message = |message: &Message| Message {
        status: MessageStatus::Acked,
        deliveries: 3,
        attempts: 2,
        delivered_at: Some(now),
        acked_at: Some(now),
        note: Some("slow".to_owned()),
        ..message.clone()
    };
    let approval = |approval: &Approval| Approval {
        status: ApprovalStatus::Denied,
        resolved_at: Some(now),
        resolved_by: Some(Party::Operator),
        resolver: Some("ann".to_owned()),
        note: Some("no".to_owned()),
        ..approval.clone()
    };
    let question = |question: &Question| Question {
        status: QuestionStatus::Answered,
        outcome: Outcome::Answered,
        resolved_at: Some(now),
        answer: Some(Answered {
            by: party("bob"),
            resolver: None,
            values: vec!["yes".to_owned()],
            at: now,
        }),
        ..question.clone()
    };
    HiveImport {
        messages: import.messages.iter().map(message).collect(),
        approvals: import.approvals.iter().map(approval).collect(),
        questions: import.questions.iter().map(question).collect(),
    }
}

/// Two of each, brought in the wrong order.
fn two_of_each(h: &dyn Harness) -> HiveImport {
    HiveImport {
        messages: vec![brought(h, "m2", 9), brought(h, "m1", 4)],
        approvals: vec![brought_approval(h, "p2", 9), brought_approval(h, "p1", 4)],
        questions: vec![brought_question(h, "q2", 9), brought_question(h, "q1", 4)],
    }
}

async fn bring(h: &dyn Harness, import: HiveImport) -> HiveImported {
    h.store().import_hive(import).await.unwrap()
}

fn done(created: u64, updated: u64, present: u64) -> HiveImported {
    HiveImported { created, updated, present }
}

/// What is kept, in its order, as if it were numbered from 1 as imports are here.
async fn kept(h: &dyn Harness) -> HiveImport {
    let messages = mail_of(h, "bob").await;
    let renumber = |place: usize| [4, 9][place.min(1)];
    assert!(messages.is_sorted_by(|one, two| one.number < two.number));
    HiveImport {
        messages: messages
            .into_iter()
            .enumerate()
            .map(|(n, message)| Message { number: renumber(n), ..message })
            .rev()
            .collect(),
        approvals: approvals(h)
            .await
            .into_iter()
            .enumerate()
            .map(|(n, approval)| Approval { number: renumber(n), ..approval })
            .rev()
            .collect(),
        questions: questions(h)
            .await
            .into_iter()
            .enumerate()
            .map(|(n, question)| Question { number: renumber(n), ..question })
            .rev()
            .collect(),
    }
}

pub async fn what_is_brought_from_elsewhere_is_kept_in_its_order(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let import = two_of_each(h);
    h.clock().advance_ms(100);
    assert_eq!(bring(h, import.clone()).await, done(6, 0, 0));
    h.reopen().await;
    assert_eq!(kept(h).await, import, "all but their numbers is as it was there");
    // They live on as any others, and nobody is told of what is old.
    let got = next(h, "bob").await.unwrap();
    assert_eq!(got.id, message_id("m1"));
    decide(h, "p1", Verdict::Approved).await;
    answer(h, "q1", "bob", "x").await;
    assert_eq!(mail_of(h, "mira").await.len(), 2);
    let later = sent(h, "mira", "bob", "m3").await;
    assert!(later.number > got.number);
}

pub async fn bringing_it_again_adds_only_what_is_new(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let import = two_of_each(h);
    bring(h, import.clone()).await;
    let before = everything(h).await;
    assert_eq!(bring(h, import.clone()).await, done(0, 0, 6));
    assert_eq!(everything(h).await, before);
    let mut more = import;
    more.messages.push(brought(h, "m3", 12));
    assert_eq!(bring(h, more).await, done(1, 0, 6));
    assert_eq!(bring(h, HiveImport::default()).await, done(0, 0, 0));
}

pub async fn what_went_on_there_and_not_here_goes_on_here(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let import = two_of_each(h);
    bring(h, import.clone()).await;
    let numbers = mail_of(h, "bob").await.iter().map(|m| m.number).collect::<Vec<_>>();
    h.clock().advance_ms(10);
    let later = resolved(h, &import);
    h.clock().advance_ms(10);
    assert_eq!(bring(h, later.clone()).await, done(0, 6, 0));
    assert_eq!(kept(h).await, later);
    let same = mail_of(h, "bob").await.iter().map(|m| m.number).collect::<Vec<_>>();
    assert_eq!(same, numbers, "they keep their place");
    assert_eq!(mail_of(h, "mira").await, [], "nobody is told");
    assert_eq!(next(h, "bob").await, None);
    let before = everything(h).await;
    assert_eq!(bring(h, later).await, done(0, 0, 6));
    assert_eq!(bring(h, import).await, done(0, 0, 6), "and never back");
    assert_eq!(everything(h).await, before);
}

pub async fn what_went_on_here_stays_as_it_is_here(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let import = two_of_each(h);
    bring(h, import.clone()).await;
    let got = receive(h, Receive { max: 2, ..next_of("bob", "r1") }).await;
    h.store().ack_messages(vec![hold(&got[0])]).await.unwrap();
    let release = Release { delay_ms: 10, ..release_of(&got[1]) };
    h.store().release_message(release).await.unwrap();
    decide(h, "p1", Verdict::Approved).await;
    decide(h, "p2", Verdict::Withdrawn).await;
    answer(h, "q1", "operator", "mine").await;
    h.store().withdraw_question(question_id("q2"), party("mira")).await.unwrap();
    let before = everything(h).await;
    assert_eq!(bring(h, resolved(h, &import)).await, done(0, 0, 6));
    assert_eq!(everything(h).await, before, "also what was only handed out");
}

pub async fn what_was_being_handled_there_ends_as_it_does_there_unless_handed_out_here(
    h: &mut dyn Harness,
) {
    agents(h, &["mira", "bob"]).await;
    let mut import = two_of_each(h);
    (import.approvals, import.questions) = (Vec::new(), Vec::new());
    let then = h.clock().now();
    for message in &mut import.messages {
        (message.deliveries, message.attempts, message.delivered_at) = (1, 1, Some(then));
    }
    bring(h, import.clone()).await;
    h.clock().advance_ms(10);
    let now = h.clock().now();
    // The newer of them is handed out here meanwhile.
    let wanted = Receive { id: Some(message_id("m2")), ..next_of("bob", "r1") };
    let got = receive(h, wanted).await.pop().unwrap();
    h.store().release_message(release_of(&got)).await.unwrap();
    let ended = |message: &Message| Message {
        status: MessageStatus::Acked,
        acked_at: Some(now),
        ..message.clone()
    };
    let before = everything(h).await;
    assert_eq!(bring(h, import.clone()).await, done(0, 0, 2), "it goes on there");
    assert_eq!(everything(h).await, before);
    let same = import.messages.iter().map(ended).collect();
    let same = HiveImport { messages: same, ..HiveImport::default() };
    assert_eq!(bring(h, same.clone()).await, done(0, 1, 1));
    let number = message(h, "m1").await.number;
    assert_eq!(message(h, "m1").await, Message { number, ..same.messages[1].clone() });
    assert_eq!(message(h, "m2").await.status, MessageStatus::Queued, "it was handed out here");
    assert_eq!(bring(h, same).await, done(0, 0, 2));
}

pub async fn another_message_of_that_id_ends_nothing_here(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    let ours = brought(h, "m1", 1);
    let bring_one = async |message: Message| {
        bring(h, HiveImport { messages: vec![message], ..HiveImport::default() }).await
    };
    bring_one(ours.clone()).await;
    let (status, acked_at) = (MessageStatus::Acked, Some(h.clock().now()));
    let ended = Message { status, acked_at, ..ours };
    let before = everything(h).await;
    for other in [
        Message { to: party("eve"), ..ended.clone() },
        Message { from: party("eve"), ..ended.clone() },
        Message { body: "other".to_owned(), ..ended.clone() },
    ] {
        assert_eq!(bring_one(other).await, done(0, 0, 1));
        assert_eq!(everything(h).await, before);
    }
    assert_eq!(bring_one(ended).await, done(0, 1, 0));
}

pub async fn dead_letters_and_late_answers_are_brought_as_they_are(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let now = h.clock().now();
    let dead = Message {
        status: MessageStatus::Dead,
        deliveries: 5,
        attempts: 5,
        dead_at: Some(now),
        note: Some("no".to_owned()),
        ..brought(h, "m1", 1)
    };
    let late = Question {
        status: QuestionStatus::Expired,
        outcome: Outcome::Late,
        deadline_at: Some(now),
        resolved_at: Some(now),
        late_answer: Some(Answered {
            by: Party::Operator,
            resolver: Some("ann".to_owned()),
            values: vec!["x".to_owned()],
            at: now.plus_ms(5),
        }),
        ..brought_question(h, "q1", 1)
    };
    let open = Question { deadline_at: Some(now), ..brought_question(h, "q2", 2) };
    let approved = Approval {
        status: ApprovalStatus::Approved,
        resolved_at: Some(now),
        resolved_by: Some(Party::Operator),
        carried_out_at: Some(now),
        ..brought_approval(h, "p1", 1)
    };
    let import = HiveImport {
        messages: vec![dead.clone()],
        approvals: vec![approved.clone()],
        questions: vec![late.clone(), open],
    };
    assert_eq!(bring(h, import).await, done(4, 0, 0));
    let kept = approval(h, "p1").await;
    assert_eq!(kept, Approval { number: kept.number, ..approved });
    let kept = message(h, "m1").await;
    assert_eq!(kept, Message { number: kept.number, ..dead });
    let kept = question(h, "q1").await;
    assert_eq!(kept, Question { number: kept.number, ..late });
    let due = question(h, "q2").await;
    assert_eq!(due.outcome, Outcome::Expired, "its deadline is applied as any other");
    let requeued = h.store().requeue_message(message_id("m1")).await.unwrap();
    assert_eq!((requeued.status, requeued.deliveries), (MessageStatus::Queued, 5));
}

pub async fn a_bad_part_of_what_is_brought_refuses_it_all(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let good = two_of_each(h);
    let messages = |message: Message| {
        let mut import = good.clone();
        import.messages.push(message);
        import
    };
    let questions = |question: Question| {
        let mut import = good.clone();
        import.questions.push(question);
        import
    };
    let mut unknown_agent = good.clone();
    let stranger = "nobody".to_owned();
    unknown_agent.approvals.push(Approval { agent: stranger, ..brought_approval(h, "p3", 10) });
    let lease = Some(MessageLease { holder: "r".to_owned(), expires_at: h.clock().now() });
    let many = (0..=HIVE_IMPORT_MAX).map(|n| brought(h, &format!("x{n}"), n as u64)).collect();
    let message = |id: &str| brought(h, id, 10);
    let question = |id: &str| brought_question(h, id, 10);
    let bad = [
        (messages(Message { from: party("nobody"), ..message("m3") }), "not-found agent nobody"),
        (messages(Message { to: party("nobody"), ..message("m3") }), "not-found agent nobody"),
        (questions(Question { from: party("nobody"), ..question("q3") }), "not-found agent nobody"),
        (questions(Question { to: party("nobody"), ..question("q3") }), "not-found agent nobody"),
        (unknown_agent, "not-found agent nobody"),
        (messages(Message { lease, ..message("m3") }), "invalid messages"),
        (messages(Message { body: "a\0b".to_owned(), ..message("m3") }), "invalid messages"),
        (questions(Question { text: "a\0b".to_owned(), ..question("q3") }), "invalid questions"),
        (HiveImport { messages: many, ..HiveImport::default() }, "invalid import"),
    ];
    let before = everything(h).await;
    for (import, refusal) in bad {
        let refused = h.store().import_hive(import).await;
        assert_refused(h, &before, refused, refusal).await;
    }
}

pub async fn what_is_brought_names_agents_as_they_are_spelled_here(h: &mut dyn Harness) {
    agents(h, &["MIRA", "Bob"]).await;
    let import = two_of_each(h);
    assert_eq!(bring(h, import.clone()).await, done(6, 0, 0));
    let mail = mail_of(h, "bob").await;
    assert!(mail.iter().all(|m| (m.from.as_str(), m.to.as_str()) == ("MIRA", "Bob")));
    assert!(approvals(h).await.iter().all(|approval| approval.agent == "MIRA"));
    let questions = questions(h).await;
    assert!(questions.iter().all(|q| (q.from.as_str(), q.to.as_str()) == ("MIRA", "Bob")));
    assert_eq!(bring(h, resolved(h, &import)).await, done(0, 6, 0));
    assert_eq!(mail_of(h, "bob").await[0].to, party("Bob"));
}

pub async fn racing_imports_bring_everything_once(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let import = two_of_each(h);
    let copy = import.clone();
    let answers = race(h, 4, move |store, _| block_on(store.import_hive(copy.clone())).unwrap());
    assert_eq!(answers.iter().map(|answer| answer.created).sum::<u64>(), 6);
    assert_eq!(answers.iter().map(|answer| answer.present).sum::<u64>(), 18);
    assert_eq!(kept(h).await, import);
}
