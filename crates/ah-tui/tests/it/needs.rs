//! What needs me: shown, decided, answered, and what the second operator is told.

use ah_model::{ApprovalStatus, NewQuestion, Outcome};
use ah_store::block_on;
use ah_tui::{Key, Screen};

use crate::world::World;

#[test]
fn all_that_waits_is_listed_the_most_pressing_first() {
    let world = World::busy();
    let mut seat = world.seat("ann", 120, 24);
    seat.shows("needs_wide");
    seat.resize(70, 20);
    seat.shows("needs_narrow");
}

#[test]
fn nothing_that_waits_says_so() {
    let seat = World::new().seat("ann", 80, 8);
    seat.shows("needs_empty");
}

#[test]
fn the_keys_are_explained() {
    let mut seat = World::new().seat("ann", 80, 26);
    seat.keys("?");
    seat.shows("help");
    seat.keys("x");
    seat.says_not("any key closes");
}

#[test]
fn an_approval_is_approved_once_somebody_says_enter() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("ja");
    seat.shows("approve");
    seat.keys("well done\n");
    seat.says("deploy of bob is approved: well done");
    let approval = block_on(world.store().approval("approval-deploy".parse().unwrap())).unwrap();
    assert_eq!(approval.status, ApprovalStatus::Approved);
    assert_eq!(approval.resolver.as_deref(), Some("ann@here"));
    seat.look();
    seat.says_not("deploy the tests pass");
}

#[test]
fn a_denial_needs_a_reason_and_keeps_what_was_typed_until_it_has_one() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("jd\n");
    seat.says("say why bob is denied");
    seat.keys("not on a Friday\n");
    seat.says("deploy of bob is denied: not on a Friday");
}

#[test]
fn of_two_operators_the_second_is_told_who_decided() {
    let world = World::busy();
    let (mut ann, mut ben) = (world.seat("ann", 100, 24), world.seat("ben", 100, 24));
    ann.keys("jd");
    ben.keys("ja\n");
    ben.says("deploy of bob is approved");
    ann.look();
    ann.says("It no longer waits: somebody has decided.");
    ann.keys("no\n");
    ann.says("ben@here (operator) was first: deploy of bob is approved");
    // Also when both say the same.
    let world = World::busy();
    let (mut ann, mut ben) = (world.seat("ann", 100, 24), world.seat("ben", 100, 24));
    ben.keys("ja\n");
    ann.keys("ja\n");
    ann.says("ben@here (operator) was first: deploy of bob is approved");
}

#[test]
fn a_question_is_answered_by_one_of_its_options_while_the_time_runs() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.says("1:29");
    seat.wait(10_000);
    seat.says("1:19");
    seat.key(Key::Enter);
    seat.key(Key::Down);
    seat.shows("answer");
    seat.key(Key::Enter);
    seat.says("answered alice: South");
    let question = block_on(world.store().question("question-of-alice".parse().unwrap())).unwrap();
    assert_eq!(question.outcome, Outcome::Answered);
    assert_eq!(question.answer.unwrap().values, ["South"]);
}

#[test]
fn several_options_and_words_of_ones_own_are_an_answer_too() {
    let world = World::new();
    world.agent("alice");
    let asked = world.question("alice", "Which?", &["a", "b", "c"]);
    world.ask(NewQuestion { multi: true, free_text: true, ..asked });
    let mut seat = world.seat("ann", 80, 20);
    seat.keys("\n jj ");
    seat.key(Key::Down);
    seat.keys("and d\n");
    seat.says("answered alice: a, c, and d");
}

#[test]
fn an_answer_after_the_deadline_is_said_to_be_late() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("\n");
    world.clock().advance_ms(100_000);
    seat.keys("\n");
    seat.says("the deadline had passed: North is kept as a late answer");
}

#[test]
fn what_was_typed_stays_while_other_things_happen() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("jdhalf a rea");
    world.session("other", "something else");
    world.approval("alice", "travel", "to the sea");
    seat.look();
    seat.says("> half a rea");
    seat.keys("son\n");
    seat.says("deploy of bob is denied: half a reason");
}

#[test]
fn dead_mail_is_queued_again_and_failures_lead_to_their_session() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("jj");
    seat.says("mail from operator to bob was given up");
    seat.keys("r");
    seat.says("the message to bob is queued again");
    seat.look();
    seat.says_not("dead mail");
    seat.key(Key::End);
    seat.says("a session of codex@1 failed");
    seat.key(Key::Enter);
    assert_eq!(seat.model.screen(), Screen::Sessions);
    assert_eq!(seat.model.replayed(), Some(&"broken".parse().unwrap()));
    seat.key(Key::Esc);
    assert_eq!(seat.model.screen(), Screen::Needs);
    seat.keys("x");
    seat.says_not("repair the crane");
}

#[test]
fn what_is_asked_shows_up_by_itself() {
    let world = World::new();
    world.agent("alice");
    let mut seat = world.seat("ann", 80, 20);
    world.approval("alice", "travel", "to the sea");
    seat.look();
    seat.says("travel to the sea");
    seat.says("1 Needs me 1");
}
