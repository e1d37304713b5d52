//! Questions: asked, answered in time or late, expired, withdrawn.

use ah_model::limits::{OPTIONS_MAX, QUESTION_TTL_MS_MAX};
use ah_model::{
    Answer, Answered, Cursor, Lifecycle, NewQuestion, Outcome, Party, Question, QuestionFilter,
    QuestionId, QuestionStatus,
};
use ah_store::{Clock, block_on};

use crate::Harness;
use crate::given::{all, everything, from_cursor, paged, race, refusal, set_lifecycle};
use crate::given_hive::{
    agents, answer, answer_of, ask, ask_for, destroy, mail_of, next, notice, party, question,
    question_id, question_of, questions, the_dead, told,
};
use crate::given_run::assert_refused;

/// A question with a value in every field.
fn full(id: &str, from: &str, to: &str) -> NewQuestion {
    NewQuestion {
        text: "Which 'one'?\n☃ %_".to_owned(),
        options: vec!["a \"b\"".to_owned(), " c ".to_owned(), "☃".to_owned()],
        multi: true,
        free_text: true,
        ttl_ms: Some(60_000),
        ..question_of(id, from, to)
    }
}

fn answered(h: &dyn Harness, answer: &Answer) -> Option<Answered> {
    Some(Answered {
        by: answer.by.clone(),
        resolver: answer.resolver.clone(),
        values: answer.values.clone(),
        at: h.clock().now(),
    })
}

pub async fn a_question_is_kept_as_it_was_asked(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    for new in [full("q1", "mIRA", "BOB"), question_of("q2", "Mira", "Operator")] {
        let asked = ask(h, new.clone()).await;
        let to = if new.to == Party::Operator { "operator" } else { "bob" };
        let expected = Question {
            id: new.id.unwrap(),
            number: asked.number,
            from: party("Mira"),
            to: party(to),
            text: new.text,
            options: new.options,
            multi: new.multi,
            free_text: new.free_text,
            status: QuestionStatus::Open,
            outcome: Outcome::Open,
            asked_at: h.clock().now(),
            deadline_at: new.ttl_ms.map(|ms| h.clock().now().plus_ms(ms)),
            resolved_at: None,
            answer: None,
            late_answer: None,
        };
        assert_eq!(asked, expected);
        h.clock().advance_ms(10);
        h.reopen().await;
        assert_eq!(question(h, expected.id.as_str()).await, expected);
    }
    let minted = NewQuestion { id: None, ..question_of("q3", "operator", "bob") };
    let minted = ask(h, minted).await;
    let all = questions(h).await;
    assert_eq!(all.last(), Some(&minted));
    assert!(all.is_sorted_by(|one, two| one.number < two.number));
}

pub async fn an_agent_that_is_asked_is_told_and_the_operator_is_not(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    ask(h, full("q1", "mira", "bob")).await;
    let body = "Which 'one'?\n☃ %_\n- a \"b\"\n-  c \n- ☃";
    assert_eq!(told(h, "bob").await, [notice("question", "mira", body, "q1")]);
    ask(h, question_of("q2", "operator", "bob")).await;
    assert_eq!(told(h, "bob").await[1], notice("question", "operator", "q2", "q2"));
    ask(h, question_of("q3", "mira", "operator")).await;
    assert_eq!(mail_of(h, "operator").await, []);
    assert_eq!(mail_of(h, "mira").await, []);
}

pub async fn bad_questions_are_refused_and_nothing_is_written(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    the_dead(h).await;
    let plain = || question_of("q1", "mira", "bob");
    let options = |values: &[&str]| NewQuestion {
        options: values.iter().map(ToString::to_string).collect(),
        ..plain()
    };
    let many = (0..=OPTIONS_MAX).map(|n| n.to_string()).collect();
    let bad = [
        (NewQuestion { text: " ".to_owned(), ..plain() }, "invalid text"),
        (NewQuestion { text: "a\0".to_owned(), ..plain() }, "invalid text"),
        (question_of("q1", "mira", "mira"), "invalid to"),
        (question_of("q1", "mira", "MIRA"), "invalid to"),
        (question_of("q1", "operator", "operator"), "invalid to"),
        (options(&["a", "b", "a"]), "invalid options"),
        (options(&["a", " "]), "invalid options"),
        (NewQuestion { options: many, ..plain() }, "invalid options"),
        (NewQuestion { multi: true, ..plain() }, "invalid multi"),
        (NewQuestion { ttl_ms: Some(0), ..plain() }, "invalid ttlMs"),
        (NewQuestion { ttl_ms: Some(QUESTION_TTL_MS_MAX + 1), ..plain() }, "invalid ttlMs"),
        (question_of("q1", "nobody", "none"), "not-found agent nobody"),
        (question_of("q1", "mira", "none"), "not-found agent none"),
        (question_of("q1", "dead", "bob"), "conflict agent dead"),
        (question_of("q1", "gone", "bob"), "conflict agent gone"),
        (question_of("q1", "mira", "dead"), "conflict agent dead"),
        (question_of("q1", "operator", "gone"), "conflict agent gone"),
    ];
    let before = everything(h).await;
    for (new, refusal) in bad {
        let refused = h.store().ask_question(new).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    ask(h, plain()).await;
    let before = everything(h).await;
    let refused = h.store().ask_question(plain()).await;
    assert_refused(h, &before, refused, "conflict question q1").await;
    let refused = h.store().ask_question(plain()).await.unwrap_err();
    assert_eq!(refused.to_string(), "question q1: exists already");
    set_lifecycle(h, "bob", Lifecycle::Sleeping).await;
    ask(h, question_of("q2", "mira", "bob")).await;
}

pub async fn an_answer_in_time_is_the_answer(h: &mut dyn Harness) {
    agents(h, &["mira", "Bob"]).await;
    let asked = ask_for(h, "q1", "mira", "bob", 60_000).await;
    h.clock().advance_ms(10);
    let given =
        Answer { resolver: Some("ann ☃".to_owned()), ..answer_of("BOB", "it's \"42\"\n") };
    let kept = h.store().answer_question(question_id("q1"), given.clone()).await.unwrap();
    let as_spelled = Answer { by: party("Bob"), ..given.clone() };
    let expected = Question {
        status: QuestionStatus::Answered,
        outcome: Outcome::Answered,
        resolved_at: Some(h.clock().now()),
        answer: answered(h, &as_spelled),
        ..asked
    };
    assert_eq!(kept, expected);
    assert_eq!(told(h, "mira").await, [notice("answer", "Bob", "it's \"42\"\n", "q1")]);
    // Its deadline means nothing any more.
    h.clock().advance_ms(100_000);
    h.reopen().await;
    let done = everything(h).await;
    assert_eq!(question(h, "q1").await, expected);
    let again = Answer { resolver: None, by: Party::Operator, ..given.clone() };
    let again = h.store().answer_question(question_id("q1"), again).await.unwrap();
    assert_eq!(again, expected, "the same again is no change");
    assert_eq!(everything(h).await, done);
    let other = Answer { values: vec!["43".to_owned()], ..given };
    let refused = h.store().answer_question(question_id("q1"), other).await;
    assert_refused(h, &done, refused, "conflict question q1").await;
    let refused = h.store().withdraw_question(question_id("q1"), party("mira")).await;
    assert_refused(h, &done, refused, "conflict question q1").await;
}

pub async fn the_operator_is_not_told_of_answers(h: &mut dyn Harness) {
    agents(h, &["bob"]).await;
    ask(h, question_of("q1", "operator", "bob")).await;
    answer(h, "q1", "bob", "yes").await;
    ask_for(h, "q2", "operator", "bob", 1_000).await;
    h.clock().advance_ms(1_000);
    assert_eq!(question(h, "q2").await.outcome, Outcome::Expired);
    assert_eq!(mail_of(h, "operator").await, []);
}

pub async fn an_answer_a_millisecond_before_the_deadline_is_in_time(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    ask_for(h, "q1", "mira", "operator", 5_000).await;
    h.clock().advance_ms(4_999);
    let kept = answer(h, "q1", "operator", "yes").await;
    assert_eq!((kept.status, kept.outcome), (QuestionStatus::Answered, Outcome::Answered));
    assert_eq!((kept.answer.unwrap().at, kept.late_answer), (h.clock().now(), None));
    assert_eq!(told(h, "mira").await, [notice("answer", "operator", "yes", "q1")]);
}

pub async fn an_answer_at_the_deadline_or_later_is_late(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for (id, after) in [("q1", 5_000), ("q2", 5_001)] {
        let asked = ask_for(h, id, "mira", "operator", 5_000).await;
        h.clock().advance_ms(after);
        let given = answer_of("operator", "yes");
        let kept = answer(h, id, "operator", "yes").await;
        let expected = Question {
            status: QuestionStatus::Expired,
            outcome: Outcome::Late,
            resolved_at: asked.deadline_at,
            late_answer: answered(h, &given),
            ..asked
        };
        assert_eq!(kept, expected, "{after} ms after it was asked");
        let notices = [
            notice("answer", "operator", format!("nobody answered in time: {id}"), id),
            notice("answer", "operator", "yes", id),
        ];
        let all = told(h, "mira").await;
        assert_eq!(all[all.len() - 2..], notices, "both came to pass, in this order");
        h.clock().advance_ms(10);
        h.reopen().await;
        let done = everything(h).await;
        assert_eq!(question(h, id).await, expected);
        assert_eq!(answer(h, id, "operator", "yes").await, expected, "again is no change");
        let refused = h.store().answer_question(question_id(id), answer_of("operator", "no")).await;
        assert_refused(h, &done, refused, &format!("conflict question {id}")).await;
        let refused = h.store().withdraw_question(question_id(id), party("mira")).await;
        assert_refused(h, &done, refused, &format!("conflict question {id}")).await;
    }
}

pub async fn a_question_expires_when_somebody_reads_it_after_its_deadline(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let asked = ask_for(h, "q1", "mira", "bob", 5_000).await;
    let open = ask(h, question_of("q2", "mira", "bob")).await;
    h.clock().advance_ms(4_999);
    assert_eq!(question(h, "q1").await, asked);
    h.clock().advance_ms(7);
    let expired = Question {
        status: QuestionStatus::Expired,
        outcome: Outcome::Expired,
        resolved_at: asked.deadline_at,
        ..asked
    };
    assert_eq!(questions(h).await, [expired.clone(), open], "none has no deadline");
    assert_eq!(question(h, "q1").await, expired);
    let body = "nobody answered in time: q1";
    assert_eq!(told(h, "mira").await, [notice("answer", "bob", body, "q1")], "told once");
    let done = everything(h).await;
    let refused = h.store().withdraw_question(question_id("q1"), party("mira")).await;
    assert_refused(h, &done, refused, "conflict question q1").await;
}

pub async fn the_asker_learns_of_the_deadline_by_reading_its_mail(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    ask_for(h, "q1", "mira", "bob", 5_000).await;
    h.clock().advance_ms(5_000);
    let got = next(h, "mira").await.unwrap();
    assert_eq!(got.about.as_deref(), Some("q1"));
    ask_for(h, "q2", "mira", "bob", 5_000).await;
    h.clock().advance_ms(5_000);
    let notices = told(h, "mira").await;
    assert_eq!(notices[1], notice("answer", "bob", "nobody answered in time: q2", "q2"));
}

pub async fn a_late_answer_does_not_reopen_a_clock_that_went_back(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    ask_for(h, "q1", "mira", "operator", 5_000).await;
    ask_for(h, "q2", "mira", "operator", 5_000).await;
    h.clock().advance_ms(5_000);
    question(h, "q1").await;
    h.clock().advance_ms(-4_000);
    let late = answer(h, "q1", "operator", "yes").await;
    assert_eq!((late.status, late.outcome), (QuestionStatus::Expired, Outcome::Late));
    assert_eq!(late.late_answer.unwrap().at, h.clock().now());
    let third = ask_for(h, "q3", "mira", "operator", 5_000).await;
    h.clock().advance_ms(-60_000);
    assert_eq!(question(h, "q3").await, third, "its deadline is farther than ever");
}

pub async fn an_answer_is_one_that_was_asked_for(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let two = || vec!["a".to_owned(), "b".to_owned()];
    let options = |id: &str| NewQuestion { options: two(), ..question_of(id, "mira", "bob") };
    ask(h, question_of("any", "mira", "bob")).await;
    ask(h, options("one")).await;
    ask(h, NewQuestion { multi: true, ..options("several") }).await;
    ask(h, NewQuestion { free_text: true, ..options("free") }).await;
    let free = NewQuestion { free_text: true, multi: true, ..options("both") };
    ask(h, free).await;
    let values = |values: &[&str]| Answer {
        values: values.iter().map(ToString::to_string).collect(),
        ..answer_of("bob", "")
    };
    let before = everything(h).await;
    for (id, bad) in [
        ("any", values(&[])),
        ("any", values(&[" "])),
        ("any", values(&["a\0"])),
        ("any", values(&["x", "y"])),
        ("one", values(&["c"])),
        ("one", values(&["A"])),
        ("one", values(&["a", "b"])),
        ("several", values(&["a", "c"])),
        ("several", values(&["a", "a"])),
        ("free", values(&["a", "b"])),
    ] {
        let refused = h.store().answer_question(question_id(id), bad).await;
        assert_refused(h, &before, refused, "invalid answer").await;
    }
    let resolver = Answer { resolver: Some("x".repeat(257)), ..values(&["a"]) };
    let refused = h.store().answer_question(question_id("any"), resolver).await;
    assert_refused(h, &before, refused, "invalid resolver").await;
    for (id, good) in [
        ("any", values(&["x"])),
        ("one", values(&["b"])),
        ("several", values(&["b", "a"])),
        ("free", values(&["c"])),
        ("both", values(&["a", "c"])),
    ] {
        let kept = h.store().answer_question(question_id(id), good.clone()).await.unwrap();
        assert_eq!(kept.answer, answered(h, &good), "{id}");
        assert_eq!(told(h, "mira").await.pop().unwrap().2, good.values.join("\n"));
    }
}

pub async fn who_was_asked_and_the_operator_answer(h: &mut dyn Harness) {
    agents(h, &["mira", "bob", "eve"]).await;
    for id in ["q1", "q2"] {
        ask(h, question_of(id, "mira", "bob")).await;
    }
    ask(h, question_of("q3", "mira", "operator")).await;
    let before = everything(h).await;
    for (id, by, refusal) in [
        ("q1", "eve", "conflict question q1"),
        ("q1", "mira", "conflict question q1"),
        ("q3", "bob", "conflict question q3"),
        ("q1", "nobody", "not-found agent nobody"),
        ("q0", "bob", "not-found question q0"),
        ("q0", "nobody", "not-found agent nobody"),
    ] {
        let refused = h.store().answer_question(question_id(id), answer_of(by, "x")).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let refused = h.store().answer_question(question_id("q1"), answer_of("eve", "x")).await;
    assert_eq!(refused.unwrap_err().to_string(), "question q1: was asked of bob, not of eve");
    assert_eq!(answer(h, "q1", "bob", "x").await.answer.unwrap().by, party("bob"));
    assert_eq!(answer(h, "q2", "operator", "x").await.answer.unwrap().by, Party::Operator);
    assert_eq!(told(h, "mira").await[1], notice("answer", "operator", "x", "q2"));
}

pub async fn a_question_is_taken_back_by_who_asked_or_the_operator(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    let asked = ask_for(h, "q1", "mira", "bob", 5_000).await;
    ask(h, question_of("q2", "mira", "bob")).await;
    let before = everything(h).await;
    for (by, refusal) in [("bob", "conflict question q1"), ("nobody", "not-found agent nobody")] {
        let refused = h.store().withdraw_question(question_id("q1"), party(by)).await;
        assert_refused(h, &before, refused, refusal).await;
    }
    let refused = h.store().withdraw_question(question_id("q0"), party("mira")).await;
    assert_refused(h, &before, refused, "not-found question q0").await;
    h.clock().advance_ms(10);
    let taken = h.store().withdraw_question(question_id("q1"), party("MIRA")).await.unwrap();
    let expected = Question {
        status: QuestionStatus::Withdrawn,
        outcome: Outcome::Withdrawn,
        resolved_at: Some(h.clock().now()),
        ..asked
    };
    assert_eq!(taken, expected);
    h.clock().advance_ms(5_000);
    h.reopen().await;
    let done = everything(h).await;
    assert_eq!(question(h, "q1").await, expected, "it expires no more");
    for by in ["mira", "operator"] {
        let again = h.store().withdraw_question(question_id("q1"), party(by)).await.unwrap();
        assert_eq!(again, expected, "again is no change");
    }
    for by in ["bob", "operator"] {
        let refused = h.store().answer_question(question_id("q1"), answer_of(by, "x")).await;
        assert_refused(h, &done, refused, "conflict question q1").await;
    }
    assert_eq!(everything(h).await, done);
    h.store().withdraw_question(question_id("q2"), Party::Operator).await.unwrap();
    assert_eq!(mail_of(h, "mira").await, [], "nobody is told");
}

pub async fn the_dead_are_told_of_answers_as_well(h: &mut dyn Harness) {
    agents(h, &["mira", "bob"]).await;
    ask(h, question_of("q1", "mira", "bob")).await;
    ask_for(h, "q2", "mira", "bob", 1_000).await;
    destroy(h, "mira").await;
    answer(h, "q1", "bob", "x").await;
    h.clock().advance_ms(1_000);
    assert_eq!(question(h, "q2").await.status, QuestionStatus::Expired);
    assert_eq!(told(h, "mira").await.len(), 2);
}

pub async fn each_filter_of_questions_alone_and_together_lists_what_matches(h: &mut dyn Harness) {
    agents(h, &["Mira", "bob"]).await;
    let pairs = [("mira", "bob"), ("bob", "operator"), ("operator", "mira"), ("bob", "mira")];
    for (n, (from, to)) in pairs.iter().cycle().take(12).enumerate() {
        h.clock().advance_ms(-1);
        let ttl_ms = (n < 4).then_some(1_000);
        let id = format!("q{n}");
        ask(h, NewQuestion { ttl_ms, ..question_of(&id, from, to) }).await;
    }
    answer(h, "q0", "bob", "x").await;
    h.store().withdraw_question(question_id("q9"), party("bob")).await.unwrap();
    h.clock().advance_ms(2_000);
    answer(h, "q1", "operator", "x").await;
    let mut all_questions = questions(h).await;
    all_questions.reverse();
    let none = QuestionFilter::default();
    let statuses = |statuses: &[QuestionStatus]| QuestionFilter {
        statuses: statuses.to_vec(),
        ..QuestionFilter::default()
    };
    let filters = [
        none.clone(),
        statuses(&[QuestionStatus::Open]),
        statuses(&[QuestionStatus::Expired]),
        statuses(&[QuestionStatus::Answered, QuestionStatus::Withdrawn]),
        QuestionFilter { from: Some(party("BOB")), ..none.clone() },
        QuestionFilter { to: Some(party("mira")), ..none.clone() },
        QuestionFilter {
            from: Some(party("bob")),
            to: Some(Party::Operator),
            statuses: vec![QuestionStatus::Open],
            ..none.clone()
        },
    ];
    for filter in filters {
        let expected: Vec<_> =
            all_questions.iter().filter(|question| filter.matches(question)).cloned().collect();
        assert!(!expected.is_empty(), "{filter:?} shows something");
        assert!(filter == none || expected.len() < all_questions.len(), "{filter:?} hides some");
        for size in [1, 2, 50] {
            let store = h.store();
            let read = paged(size, |page| store.list_questions(filter.clone(), page)).await;
            assert_eq!(read, expected, "{filter:?} in pages of {size}");
        }
    }
    let nobody = QuestionFilter { to: Some(party("nobody")), ..none.clone() };
    assert_eq!(h.store().list_questions(nobody, all()).await.unwrap().items, []);
    let foreign = from_cursor(Cursor::Text("q1".to_owned()));
    let foreign = h.store().list_questions(none, foreign).await;
    assert_eq!(refusal(foreign), "invalid cursor");
}

pub async fn a_question_is_found_by_the_beginning_of_its_id(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for id in ["abc1", "abc2", "abc3", "b"] {
        ask(h, question_of(id, "mira", "operator")).await;
    }
    let store = h.store();
    let with = async |prefix: &str| {
        let ids = store.question_ids_with_prefix(prefix.to_owned()).await.unwrap();
        ids.iter().map(QuestionId::to_string).collect::<Vec<_>>()
    };
    assert_eq!(with("abc").await, ["abc1", "abc2"]);
    assert_eq!(with("b").await, ["b"]);
    for none in ["x", "%", "_", "ABC"] {
        assert_eq!(with(none).await, Vec::<String>::new(), "{none}");
    }
    assert_eq!(refusal(store.question(question_id("q0")).await), "not-found question q0");
}

pub async fn of_racing_answers_one_is_the_answer(h: &mut dyn Harness) {
    agents(h, &["mira"]).await;
    for round in 0..10 {
        let id = format!("q{round}");
        // Half of them are answered too late.
        ask_for(h, &id, "mira", "operator", 1_000).await;
        h.clock().advance_ms(if round % 2 == 0 { 999 } else { 1_000 });
        let of = question_id(&id);
        let answers = race(h, 4, move |store, thread| {
            let given = answer_of("operator", &thread.to_string());
            block_on(store.answer_question(of.clone(), given))
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for error in lost {
            assert_eq!(refusal(error), format!("conflict question {id}"));
        }
        let winner = won.into_iter().next().unwrap().unwrap();
        assert_eq!(question(h, &id).await, winner);
        let expected = if round % 2 == 0 { Outcome::Answered } else { Outcome::Late };
        assert_eq!(winner.outcome, expected);
    }
    assert_eq!(mail_of(h, "mira").await.len(), 5 + 2 * 5, "each is told once");
}
