//! Random keys over a store that changes: nothing panics, at any size.

use ah_conformance::Random;
use ah_model::SessionStatus;
use ah_store::Clock;
use ah_tui::{Input, Key, wake_in};

use crate::world::World;

const STEPS: u64 = 600;

fn any_key(random: &mut Random) -> Key {
    const KEYS: [Key; 18] = [
        Key::Enter,
        Key::Esc,
        Key::Tab,
        Key::BackTab,
        Key::Up,
        Key::Down,
        Key::Left,
        Key::Right,
        Key::PageUp,
        Key::PageDown,
        Key::Home,
        Key::End,
        Key::Backspace,
        Key::Delete,
        Key::Ctrl('s'),
        Key::Ctrl('w'),
        Key::Ctrl('u'),
        Key::Ctrl('k'),
    ];
    const LETTERS: [char; 26] = [
        '1', '2', '3', '4', 'j', 'k', 'g', 'G', 'a', 'd', 'r', 'x', 'm', 'D', 'R', '/', 'f', 'p',
        'i', ' ', '?', 'é', '日', '\u{301}', '\u{202e}', '\t',
    ];
    match random.one_in(2) {
        true => KEYS[usize::try_from(random.below(KEYS.len() as u64)).unwrap()],
        false => Key::Char(LETTERS[usize::try_from(random.below(LETTERS.len() as u64)).unwrap()]),
    }
}

fn size(random: &mut Random) -> (u16, u16) {
    let of = |random: &mut Random, most: u64| u16::try_from(random.below(most) + 1).unwrap();
    match random.one_in(3) {
        true => (of(random, 6), of(random, 6)),
        false => (of(random, 200), of(random, 60)),
    }
}

#[test]
fn no_keys_at_no_size_break_a_window() {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let world = World::busy();
        let mut seat = world.seat("ann", 80, 24);
        for step in 0..STEPS {
            match random.below(40) {
                0 => {
                    let (columns, rows) = size(&mut random);
                    seat.resize(columns, rows);
                }
                1 => {
                    world.session(&format!("s{step}"), "title \u{1b}[2J 日本語 \u{202e}x");
                    world.end(&format!("s{step}"), SessionStatus::Failed);
                }
                2 => {
                    world.append("broken", "user_message", r#"{"text":"日本語 \u001b[2J\n\n  x"}"#)
                }
                3 => {
                    let call = r#"{"toolCalls":[{"id":"c","name":"t","arguments":[1]}]}"#;
                    world.append("broken", "assistant_message", call);
                    world.append(
                        "broken",
                        "tool_result",
                        r#"{"toolCallId":"c","content":"\u0000"}"#,
                    );
                }
                4 => seat.look(),
                5 => seat.wait(i64::try_from(random.below(2_000)).unwrap() - 500),
                6 => match random.one_in(2) {
                    true => seat.go(),
                    false => seat.come_back(),
                },
                7 => seat.input(Input::Paste("a\r\nb\u{1b}日".to_owned())),
                8 => {
                    let (column, row) = size(&mut random);
                    seat.input(Input::Click(column - 1, row - 1));
                    seat.input(Input::Scroll(if random.one_in(2) { 3 } else { -3 }));
                }
                _ => seat.key(any_key(&mut random)),
            }
            assert!(wake_in(&seat.model) >= 1);
            let screen = seat.screen();
            let is_active = |c: char| c.is_control() && c != '\n';
            assert!(!screen.chars().any(is_active), "seed {seed}, step {step}: {screen:?}");
        }
        assert!(!seat.model.is_closed());
    }
}

#[test]
fn a_window_of_every_small_size_is_drawn() {
    let world = World::busy();
    let mut seat = world.seat("ann", 80, 24);
    for keys in ["1", "\n", "2", "3", "\n", "4", "?"] {
        seat.keys(keys);
        for columns in 1..12 {
            for rows in 1..12 {
                seat.resize(columns, rows);
                seat.screen();
            }
        }
        seat.resize(200, 60);
        seat.screen();
        seat.key(Key::Esc);
        seat.key(Key::Esc);
    }
}

#[test]
fn a_window_that_waits_does_not_spin() {
    let world = World::busy();
    let mut seat = world.seat("ann", 80, 24);
    for keys in ["1", "2", "3", "\n", "4"] {
        seat.keys(keys);
        for is_gone in [false, true] {
            if is_gone {
                seat.go();
            }
            world.append("broken", "user_message", r#"{"text":"x"}"#);
            world.approval("alice", &format!("k{}", seat.done.len()), "x");
            seat.look();
            seat.look();
            let to_second = 1_000 - world.clock().now().unix_ms().rem_euclid(1_000);
            seat.wait(to_second);
            assert_eq!(wake_in(&seat.model), 1_000, "after {keys:?}, gone: {is_gone}");
            if is_gone {
                seat.come_back();
            }
        }
    }
}
