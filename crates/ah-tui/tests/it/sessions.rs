//! Sessions: read as far as somebody looks, filtered, searched.

use ah_tui::{Effect, Key};

use crate::world::World;

#[test]
fn sessions_are_listed_the_last_active_first() {
    let world = World::busy();
    world.session("one", "fix the flaky test");
    world.session("two", "write the docs");
    world.append("one", "user_message", r#"{"text":"go"}"#);
    let mut seat = world.seat("ann", 90, 14);
    seat.keys("3");
    seat.shows("sessions");
    world.session("three", "brand new");
    seat.look();
    seat.says("brand new");
}

#[test]
fn only_as_many_as_somebody_looks_at_are_read() {
    let world = World::new();
    for number in 0..450 {
        world.session(&format!("s{number:03}"), &format!("title {number}"));
    }
    let mut seat = world.seat("ann", 80, 22);
    seat.keys("3");
    let read = |seat: &crate::seat::Seat| {
        let is_page = |effect: &&Effect| matches!(effect, Effect::ReadSessions { .. });
        seat.done.iter().filter(is_page).count()
    };
    assert_eq!(read(&seat), 1);
    seat.says("title 449");
    for _ in 0..30 {
        seat.key(Key::PageDown);
    }
    seat.says("title 0");
    assert_eq!(read(&seat), 5);
    // What happens at the top does not move who looks at the bottom.
    world.session("newest", "something new");
    seat.look();
    seat.says("title 0");
    seat.says_not("something new");
    seat.keys("g");
    seat.says("something new");
}

#[test]
fn a_filter_chooses_and_esc_shows_all_again() {
    let world = World::busy();
    world.session("one", "fix the flaky test");
    let mut seat = world.seat("ann", 90, 14);
    seat.keys("3fstatus:failed\n");
    seat.wait(200);
    seat.says("only status:failed");
    seat.says("repair the crane");
    seat.says_not("flaky");
    seat.keys("f tired\n");
    seat.wait(200);
    seat.says("None like that");
    seat.key(Key::Esc);
    seat.wait(200);
    seat.says("flaky");
    seat.keys("fstatus:tired\n");
    seat.says("\"tired\" is");
}

#[test]
fn words_are_found_in_what_was_said_and_lead_there() {
    let world = World::new();
    world.session("one", "first");
    for number in 0..30 {
        world.append("one", "user_message", &format!(r#"{{"text":"nothing {number}"}}"#));
    }
    world.append("one", "assistant_message", r#"{"text":"the needle is here"}"#);
    world.append("one", "user_message", r#"{"text":"thanks"}"#);
    let mut seat = world.seat("ann", 90, 14);
    seat.keys("/needle\n");
    seat.shows("search");
    seat.key(Key::Enter);
    seat.says("the needle is here");
    seat.key(Key::Esc);
    seat.says("1 found");
    seat.key(Key::Esc);
    seat.says("TITLE");
    seat.keys("/\n");
    seat.says("Search all sessions");
    seat.says("invalid q");
}
