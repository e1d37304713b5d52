//! The store is gone and comes back: said, nothing typed is lost, all is caught up with.

use ah_model::PageRequest;
use ah_store::block_on;
use ah_tui::Key;

use crate::world::World;

#[test]
fn a_window_says_that_the_store_is_gone_and_catches_up() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 14);
    seat.go();
    seat.wait(3_000);
    seat.says("server gone - trying again (3 s)");
    world.approval("alice", "travel", "to the sea");
    seat.says_not("travel");
    seat.come_back();
    seat.says("travel to the sea");
    seat.says_not("server gone");
}

#[test]
fn a_decision_that_could_not_be_sent_is_typed_once() {
    let world = World::busy();
    let mut seat = world.seat("ann", 100, 24);
    seat.keys("jdnot on a Friday");
    seat.go();
    seat.key(Key::Enter);
    seat.says("not sent; Enter tries again");
    seat.says("> not on a Friday");
    seat.come_back();
    seat.key(Key::Enter);
    seat.says("deploy of bob is denied: not on a Friday");
}

#[test]
fn a_replay_stays_where_it_is_and_shows_what_was_missed() {
    let world = World::new();
    world.session("one", "x");
    world.append("one", "user_message", r#"{"text":"before"}"#);
    let mut seat = world.seat("ann", 80, 12);
    seat.keys("3\n");
    seat.go();
    world.append("one", "user_message", r#"{"text":"meanwhile"}"#);
    seat.wait(1_000);
    seat.says("before");
    seat.come_back();
    seat.says("meanwhile");
}

#[test]
fn a_session_that_could_not_be_opened_is_opened_once_the_store_is_back() {
    let world = World::new();
    world.session("one", "x");
    world.append("one", "user_message", r#"{"text":"hello"}"#);
    let mut seat = world.seat("ann", 80, 12);
    seat.keys("3");
    seat.go();
    seat.key(Key::Enter);
    seat.says("cannot reach harbor");
    seat.come_back();
    seat.says("hello");
}

#[test]
fn a_draft_that_could_not_be_saved_is_kept_beside_and_saved_later() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4\n");
    seat.go();
    seat.keys("typed in the dark");
    seat.wait(500);
    seat.says("not saved");
    let kept = seat.harbor.kept.lock().unwrap().clone();
    assert_eq!(kept.unwrap().description, "typed in the dark");
    seat.come_back();
    seat.wait(500);
    let saved = block_on(world.store().list_drafts(PageRequest::default())).unwrap().items;
    assert_eq!(saved[0].fields.description, "typed in the dark");
    seat.says("typed in the dark");
}
