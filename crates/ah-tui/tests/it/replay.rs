//! The replay of a session: folded tools, live events, bounded memory.

use ah_model::{NewEvent, RawJson};
use ah_store::{Clock, SessionFork, block_on};
use ah_tui::{Effect, Input, Key};

use crate::seat::Seat;
use crate::world::World;

fn talk(world: &World) {
    world.session("one", "fix the flaky test");
    world.append("one", "user_message", r#"{"text":"fix the flaky test\nin the harbor"}"#);
    world.append(
        "one",
        "assistant_message",
        r#"{"text":"I look at it.","toolCalls":[{"id":"c1","name":"bash","arguments":{"command":"cargo test"}}],
            "usage":{"inputTokens":1200,"outputTokens":80}}"#,
    );
    world.clock().advance_ms(3_400);
    world.append(
        "one",
        "tool_result",
        r#"{"toolCallId":"c1","content":"1 failed\nin 3 s","isError":true}"#,
    );
    world.append("one", "note", r#"{"step":2}"#);
    world.append("one", "assistant_message", r#"{"text":"It is the clock."}"#);
}

fn opened(world: &World, columns: u16, rows: u16) -> Seat {
    let mut seat = world.seat("ann", columns, rows);
    seat.keys("3\n");
    seat.look();
    seat
}

#[test]
fn a_session_is_replayed_with_its_tools_folded() {
    let world = World::new();
    talk(&world);
    let mut seat = opened(&world, 80, 16);
    seat.shows("replay");
    seat.keys("kk ");
    seat.shows("replay_unfolded");
    seat.resize(40, 16);
    seat.shows("replay_narrow");
}

#[test]
fn what_happens_is_shown_while_somebody_follows_and_waits_below_for_who_does_not() {
    let world = World::new();
    talk(&world);
    let mut seat = opened(&world, 80, 10);
    seat.says(" live ");
    for number in 0..20 {
        world.append("one", "assistant_message", &format!(r#"{{"text":"step {number}"}}"#));
    }
    seat.look();
    seat.says("step 19");
    seat.keys("g");
    seat.says("fix the flaky test");
    world.append("one", "assistant_message", r#"{"text":"one more"}"#);
    seat.look();
    seat.says_not("one more");
    seat.keys("G");
    seat.says("one more");
    seat.says(" live ");
}

#[test]
fn an_answer_that_comes_later_goes_to_its_call() {
    let world = World::new();
    world.session("one", "x");
    let call = r#"{"toolCalls":[{"id":"c1","name":"bash","arguments":{}}]}"#;
    world.append("one", "assistant_message", call);
    let mut seat = opened(&world, 80, 10);
    seat.says("…");
    world.clock().advance_ms(250);
    world.append("one", "tool_result", r#"{"toolCallId":"c1","content":"done"}"#);
    seat.look();
    seat.says("450 ms");
    seat.says_not("tool_result");
}

#[test]
fn a_long_session_is_read_in_pages_from_both_ends_and_held_in_part() {
    const EVENTS: u64 = 6_000;
    let world = World::new();
    world.session("long", "a long one");
    for start in (0..EVENTS).step_by(1_000) {
        let event = |number: u64| NewEvent {
            kind: "assistant_message".to_owned(),
            data: RawJson::parse("data", &format!(r#"{{"text":"event {}"}}"#, number + 1), 99)
                .unwrap(),
            dedup_key: None,
            ts: Some(world.clock().now()),
        };
        let events = (start..start + 1_000).map(event).collect();
        block_on(world.store().append_events("long".parse().unwrap(), events)).unwrap();
    }
    let mut seat = opened(&world, 80, 20);
    seat.says("event 6000");
    seat.keys("g");
    seat.says("event 1\n");
    // Through the middle and back: what is far away is let go of, and read again.
    for _ in 0..150 {
        seat.key(Key::PageDown);
        assert!(seat.model.held() <= 1_000, "{} are held", seat.model.held());
    }
    seat.says("event 2101");
    for _ in 0..150 {
        seat.key(Key::PageUp);
        assert!(seat.model.held() <= 1_000, "{} are held", seat.model.held());
    }
    seat.says("event 1\n");
    seat.keys("G");
    seat.says("event 6000");
    let pages = seat.done.iter().filter(|e| matches!(e, Effect::ReadEvents { .. })).count();
    assert!((15..40).contains(&pages), "{pages} pages were read");
}

#[test]
fn a_session_opened_where_words_were_found_is_read_around_them() {
    let world = World::new();
    world.session("one", "x");
    for number in 1..=600 {
        let said = if number == 300 { "needle".to_owned() } else { format!("event {number}") };
        world.append("one", "user_message", &format!(r#"{{"text":"{said}"}}"#));
    }
    let mut seat = world.seat("ann", 80, 20);
    seat.keys("/needle\n\n");
    seat.says("needle");
    seat.says("event 301");
    seat.keys("kkkk");
    seat.says("event 297");
    seat.says("more below");
}

#[test]
fn hostile_texts_are_shown_as_harmless_ones() {
    let world = World::new();
    world.session("one", "\u{1b}]0;owned\u{7} \u{202e}title");
    let said = r#"{"text":"a\u001b[2J\u001b[31mred\u0007 \u202egnp.exe \u200b\ufeff wide \ufdfd \u0000 end"}"#;
    world.append("one", "user_message", said);
    world.append("one", "bad\u{9b}kind", r#"{"x":"\u001b[5n"}"#);
    let seat = opened(&world, 80, 12);
    let screen = seat.screen();
    let is_active =
        |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!screen.chars().any(is_active), "{screen:?}");
    seat.shows("hostile");
}

#[test]
fn the_wheel_moves_through_a_session() {
    let world = World::new();
    world.session("one", "x");
    for number in 1..=60 {
        world.append("one", "user_message", &format!(r#"{{"text":"event {number}"}}"#));
    }
    let mut seat = opened(&world, 80, 12);
    seat.says("event 60");
    for _ in 0..10 {
        seat.input(Input::Scroll(-3));
    }
    seat.says_not("event 60");
    seat.input(Input::Scroll(300));
    seat.says("event 60");
}

#[test]
fn a_fork_names_where_it_came_from_and_what_it_came_from_names_it() {
    let world = World::new();
    talk(&world);
    let fork = SessionFork {
        at_seq: Some(2),
        id: Some("branch".parse().unwrap()),
        title: Some("another way".to_owned()),
    };
    block_on(world.store().fork_session("one".parse().unwrap(), fork)).unwrap();
    world.child("helper", "one");
    world.clock().advance_ms(1_000);
    world.append("branch", "assistant_message", r#"{"text":"the other way"}"#);
    let mut seat = opened(&world, 160, 12);
    seat.says("the other way");
    seat.says("fork of one at 2");
    seat.keys("p");
    seat.look();
    assert_eq!(seat.model.replayed(), Some(&"one".parse().unwrap()));
    seat.says("1 below it: helper");
    seat.says("1 forked from it: branch");
    seat.says("It is the clock.");
    seat.key(Key::Esc);
    seat.says("TITLE");
}
