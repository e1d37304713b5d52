//! The bus of live events.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use ah_conformance::TestClock;
use ah_hive::{Bus, BusOptions, Delivery};

use crate::given::{State, database, json, mode};

const SOON: Duration = Duration::from_secs(10);
const NOW: Duration = Duration::ZERO;

fn options() -> BusOptions {
    BusOptions { retry_after: Duration::ZERO, ..BusOptions::default() }
}

fn kinds(path: &std::path::Path) -> Vec<String> {
    let connection = database(path);
    let mut statement = connection.prepare("SELECT kind FROM other.events ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn what_happens_is_told_and_kept() {
    let state = State::new();
    let home = state.home("alice");
    let clock = Arc::new(TestClock::new());
    let bus = Bus::with(home.events(), options(), clock.clone());
    let (one, two) = (bus.subscribe(), bus.subscribe());
    let event = bus.publish("turn_start", json(r#"{"n":1}"#));
    assert_eq!(event.id, Some(1));
    for listener in [one, two] {
        assert_eq!(listener.next(SOON), Some(Delivery::Event(event.clone())));
        assert_eq!(listener.next(NOW), None);
    }
    let status = bus.status();
    assert_eq!((status.storing, status.stored, status.lost, status.problem), (true, 1, 0, None));
    assert_eq!(mode(&home.events()), 0o600);
    let connection = database(&home.events());
    let row =
        connection.query_row("SELECT id, ts, kind, payload_json FROM other.events", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        });
    let expected = (1_i64, event.at.unix_ms(), "turn_start".to_owned(), r#"{"n":1}"#.to_owned());
    assert_eq!(row.unwrap(), expected);
}

#[test]
fn a_slow_listener_is_told_how_many_it_missed() {
    let state = State::new();
    let bus = Bus::new(state.home("alice").events());
    let listener = bus.subscribe_with(3);
    let events: Vec<_> = (0..8).map(|n| bus.publish("x", json(&n.to_string()))).collect();
    assert_eq!(listener.next(SOON), Some(Delivery::Missed(5)));
    for event in &events[5..] {
        assert_eq!(listener.next(SOON), Some(Delivery::Event(event.clone())));
    }
    assert_eq!(listener.next(NOW), None);
}

#[test]
fn a_listener_is_woken_by_what_happens_and_by_the_end_of_the_bus() {
    let state = State::new();
    let bus = Bus::new(state.home("alice").events());
    let listener = bus.subscribe();
    let waiter = std::thread::spawn(move || {
        let first = listener.next(SOON);
        (first, listener.next(SOON), listener.is_over())
    });
    let event = bus.publish("x", json("1"));
    drop(bus);
    assert_eq!(waiter.join().unwrap(), (Some(Delivery::Event(event)), None, true));
}

#[test]
fn a_file_that_cannot_be_opened_costs_the_keeping_and_not_the_telling() {
    let state = State::new();
    let elsewhere = state.elsewhere();
    let folder = state.path();
    fs::create_dir(folder.join("directory")).unwrap();
    fs::write(folder.join("corrupt"), vec![7; 10_000]).unwrap();
    symlink(elsewhere.join("treasure"), folder.join("link")).unwrap();
    for name in ["missing/folder/events.sqlite", "directory", "corrupt", "link"] {
        let bus = Bus::with(folder.join(name), options(), Arc::new(TestClock::new()));
        assert!(!bus.status().storing, "{name}");
        let listener = bus.subscribe();
        let event = bus.publish("x", json("1"));
        assert_eq!(event.id, None, "{name}");
        assert_eq!(listener.next(SOON), Some(Delivery::Event(event)), "{name}");
        let status = bus.status();
        assert_eq!((status.storing, status.stored, status.lost), (false, 0, 1), "{name}");
        assert!(status.problem.is_some(), "{name}");
    }
    assert_eq!(fs::read_to_string(elsewhere.join("treasure")).unwrap(), "gold");
}

#[test]
fn a_file_with_a_schema_of_another_making_is_not_written_to() {
    for text in [
        "CREATE TRIGGER other.t AFTER INSERT ON events BEGIN DELETE FROM events; END",
        "CREATE VIEW other.v AS SELECT 1",
        "ALTER TABLE other.events ADD COLUMN more",
    ] {
        let state = State::new();
        let path = state.home("alice").events();
        drop(Bus::new(&path));
        database(&path).execute_batch(text).unwrap();
        let bus = Bus::with(&path, options(), Arc::new(TestClock::new()));
        assert_eq!(bus.publish("x", json("1")).id, None, "{text}");
        let status = bus.status();
        assert_eq!((status.storing, status.stored, status.lost), (false, 0, 1), "{text}");
    }
}

#[test]
fn a_file_that_can_be_opened_again_is_used_again() {
    let state = State::new();
    let path = state.path().join("later/events.sqlite");
    let bus = Bus::with(&path, options(), Arc::new(TestClock::new()));
    bus.publish("lost", json("1"));
    fs::create_dir(state.path().join("later")).unwrap();
    assert_eq!(bus.publish("kept", json("2")).id, Some(1));
    let status = bus.status();
    assert_eq!((status.storing, status.stored, status.lost), (true, 1, 1));
    assert_eq!(kinds(&path), ["kept"]);
}

#[test]
fn a_full_disk_costs_the_keeping_until_there_is_space() {
    let state = State::new();
    let path = state.home("alice").events();
    let small = BusOptions { bytes_max: 64 * 1024, ..options() };
    let bus = Bus::with(&path, small, Arc::new(TestClock::new()));
    let listener = bus.subscribe();
    let large = json(&format!("{:?}", "x".repeat(20_000)));
    for _ in 0..5 {
        bus.publish("large", large.clone());
    }
    let full = bus.status();
    assert!(!full.storing && full.stored > 0 && full.lost > 0, "{full:?}");
    assert_eq!(full.stored + full.lost, 5);
    assert_eq!(full.problem.as_deref(), Some("there is no space left for it"));
    for _ in 0..5 {
        assert!(matches!(listener.next(SOON), Some(Delivery::Event(_))));
    }
    let connection = database(&path);
    connection.execute("DELETE FROM other.events", []).unwrap();
    drop(connection);
    assert!(bus.publish("small", json("1")).id.is_some());
    assert!(bus.status().storing);
}

#[test]
fn a_damaged_file_is_set_aside() {
    let state = State::new();
    let path = state.home("alice").events();
    let bus = Bus::with(&path, options(), Arc::new(TestClock::new()));
    bus.publish("old", json("1"));
    drop(bus);
    let mut bytes = fs::read(&path).unwrap();
    bytes.chunks_mut(4_096).skip(1).for_each(|page| page.fill(0x5a));
    fs::write(&path, &bytes).unwrap();
    let bus = Bus::with(&path, options(), Arc::new(TestClock::new()));
    bus.publish("perhaps lost", json("2"));
    assert!(bus.publish("kept", json("3")).id.is_some());
    let status = bus.status();
    assert_eq!((status.storing, status.stored + status.lost), (true, 2));
    assert_eq!(status.problem.as_deref(), Some("it is damaged"));
    assert_eq!(kinds(&path).last().unwrap(), "kept");
    let aside = fs::read(path.with_file_name("events.sqlite.damaged")).unwrap();
    assert!(aside[4_096..] == bytes[4_096..]);
}

#[test]
fn a_locked_file_costs_the_keeping_until_it_is_free() {
    let state = State::new();
    let path = state.home("alice").events();
    let bus = Bus::with(&path, options(), Arc::new(TestClock::new()));
    bus.publish("kept", json("1"));
    let holder = database(&path);
    holder.execute_batch("BEGIN IMMEDIATE; INSERT INTO other.events (ts, kind, payload_json) VALUES (1, 'held', '1')").unwrap();
    assert_eq!(bus.publish("lost", json("2")).id, None);
    assert_eq!(bus.status().problem.as_deref(), Some("somebody holds it locked"));
    holder.execute_batch("ROLLBACK").unwrap();
    assert!(bus.publish("kept too", json("3")).id.is_some());
    assert_eq!(kinds(&path), ["kept", "kept too"]);
}

#[test]
fn what_is_too_large_to_keep_is_told() {
    let state = State::new();
    let bus = Bus::new(state.home("alice").events());
    let listener = bus.subscribe();
    let huge = bus.publish("x", json(&format!("{:?}", "x".repeat(2_000_000))));
    assert_eq!(huge.id, None);
    assert_eq!(listener.next(SOON), Some(Delivery::Event(huge)));
    assert!(bus.publish("x", json("1")).id.is_some());
    let status = bus.status();
    assert_eq!((status.storing, status.stored, status.lost), (true, 1, 1));
}

#[test]
fn numbers_are_not_given_twice() {
    let state = State::new();
    let path = state.home("alice").events();
    let bus = Bus::new(&path);
    bus.publish("x", json("1"));
    let connection = database(&path);
    connection.execute("DELETE FROM other.events", []).unwrap();
    drop(connection);
    assert_eq!(bus.publish("x", json("2")).id, Some(2));
}
