//! A new task: typed, saved by itself, offered again, sent.

use ah_model::{Draft, PageRequest, TaskFilter};
use ah_store::block_on;
use ah_tui::{Input, Key};

use crate::world::World;

fn drafts(world: &World) -> Vec<Draft> {
    block_on(world.store().list_drafts(PageRequest::default())).unwrap().items
}

#[test]
fn a_task_is_typed_and_queued() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4\nfix the flaky test\nand 1 more q?");
    seat.shows("task");
    seat.key(Key::Tab);
    seat.keys(" goose");
    seat.key(Key::Ctrl('s'));
    seat.says("is recorded; 3 shows its session");
    let tasks = block_on(world.store().list_tasks(TaskFilter::default(), PageRequest::default()));
    let tasks = tasks.unwrap().items;
    assert_eq!(tasks[0].prompt, "fix the flaky test\nand 1 more q?");
    assert_eq!(tasks.len(), 2);
    assert_eq!(drafts(&world), []);
    seat.key(Key::Esc);
    seat.keys("3");
    seat.says("fix the flaky test");
}

#[test]
fn what_is_typed_is_saved_a_moment_after_the_last_key() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4\nhalf a tho");
    seat.wait(300);
    assert_eq!(drafts(&world), []);
    seat.says("not saved yet");
    seat.wait(200);
    assert_eq!(drafts(&world)[0].fields.description, "half a tho");
    seat.says("saved as a draft");
    seat.keys("ught");
    seat.wait(500);
    let saved = drafts(&world);
    assert_eq!(saved.len(), 1);
    assert_eq!(saved[0].fields.description, "half a thought");
    // An empty one is no draft.
    seat.key(Key::Ctrl('u'));
    seat.wait(500);
    assert_eq!(drafts(&world), []);
}

#[test]
fn closing_saves_what_was_typed_and_the_next_window_offers_it() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4\nhalf a tho");
    seat.key(Key::Esc);
    seat.keys("q");
    assert!(seat.model.is_closed());
    assert_eq!(drafts(&world)[0].fields.description, "half a tho");
    world.clock().advance_ms(60_000);
    let mut seat = world.seat("ben", 80, 16);
    seat.keys("4");
    seat.says("draft of 1m ago, r takes it up: half a tho");
    seat.keys("rught");
    seat.wait(500);
    let saved = drafts(&world);
    assert_eq!((saved.len(), saved[0].fields.description.as_str()), (1, "half a thought"));
}

#[test]
fn a_task_without_words_is_not_sent() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4");
    seat.key(Key::Ctrl('s'));
    seat.says("say what is to be done first");
}

#[test]
fn pasted_text_keeps_its_lines_and_loses_its_escapes() {
    let world = World::new();
    let mut seat = world.seat("ann", 80, 16);
    seat.keys("4\n");
    seat.input(Input::Paste("one\r\n\u{1b}[31mtwo".to_owned()));
    seat.wait(500);
    assert_eq!(drafts(&world)[0].fields.description, "one\n[31mtwo");
}
