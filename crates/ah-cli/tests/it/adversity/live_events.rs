//! Live events of an agent on a disk that is full: told all the same, the loss counted and said,
//! and kept again when there is space.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ah_hive::{Bus, BusOptions, BusStatus, Delivery, Subscription};
use ah_model::RawJson;
use ah_store::SystemClock;
use serde_json::json;

use super::shim::Shim;
use super::worker::{self, Task};
use crate::answers::errors;
use crate::support::{Home, succeeded};

/// Events of each part of a test, each of several pages.
const EVENTS: u64 = 5;
const EVENT_BYTES: usize = 10_000;
const FULL: &str = "there is no space left for it";

#[test]
fn live_events_outlast_a_full_disk() {
    let disk = Disk::new();
    let flag = disk.home.path().join("full");
    let task = Task::TellOnFullDisk { events: disk.events(), flag: flag.clone() };
    disk.work(&task, ("ADVERSITY_FULL_FLAG", flag.to_str().unwrap()));
    let kept = (2 * EVENTS, (1..=2 * EVENTS.cast_signed()).collect());
    assert_eq!(disk.kept(), kept, "without a gap for what was lost");
}

#[test]
fn whatever_write_meets_the_full_disk_the_next_process_keeps_events_again() {
    let disk = Disk::new();
    let (mut some, mut none) = (0, 0);
    for after in 0..24 {
        let before = disk.kept().0;
        let task = Task::TellAnyway { events: disk.events() };
        disk.work(&task, ("ADVERSITY_FULL_AFTER", &after.to_string()));
        let kept = disk.kept().0 - before;
        assert!(kept < EVENTS, "the disk was never full");
        if kept == 0 {
            none += 1
        } else {
            some += 1
        }
        let bus = bus(&disk.events());
        assert!(bus.publish("kept", payload()).id.is_some(), "{after}: {:?}", bus.status());
        assert_eq!(disk.kept().0, before + kept + 1);
    }
    assert!(some > 0 && none > 0, "full before the first event, and between two");
}

#[test]
fn a_loop_goes_on_and_says_that_its_live_events_are_not_kept() {
    let disk = Disk::new();
    let home = &disk.home;
    let script = home.path().join("script.json");
    std::fs::write(&script, r#"{"rules":[{"do":[{"say":"done"}]}]}"#).unwrap();
    home.json(&["agent", "create", "alice", "--kind", "scripted"]);
    for body in ["one", "two"] {
        home.json(&["message", "send", "alice", body]);
    }
    let run = ["agent", "run", "alice", "--once", "--script", script.to_str().unwrap()];
    let mut command = home.ah(&run);
    command.env("AH_EVENTS_DB", disk.events());
    disk.shim.watch(&mut command, &disk.folder()).env("ADVERSITY_FULL_AFTER", "0");
    let output = command.output().unwrap();
    let said = errors_of_success(&output);
    let wanted = format!("alice: live events are not kept: {FULL}; 3 were lost");
    assert_eq!(said.matches("live events are").count(), 1, "{said}");
    assert!(said.contains(&wanted), "{said}");
    let acked = home.json(&["message", "list", "--status", "acked"]);
    assert_eq!(acked["items"].as_array().unwrap().len(), 2, "{said}");
}

fn errors_of_success(output: &std::process::Output) -> String {
    succeeded(output, "ah agent run");
    errors(output)
}

/// What a worker does for [`Task::TellOnFullDisk`].
pub(super) fn tell_on_full_disk(events: &Path, flag: &Path) {
    let bus = bus(events);
    let listener = bus.subscribe();
    assert_eq!(tell(&bus, &listener), EVENTS);
    std::fs::write(flag, "").unwrap();
    assert_eq!(tell(&bus, &listener), 0, "{:?}", bus.status());
    let full =
        BusStatus { storing: false, stored: EVENTS, lost: EVENTS, problem: Some(FULL.to_owned()) };
    assert_eq!(bus.status(), full);
    std::fs::remove_file(flag).unwrap();
    assert_eq!(tell(&bus, &listener), EVENTS, "{:?}", bus.status());
    // What was lost stays lost, and stays said.
    assert_eq!(bus.status(), BusStatus { storing: true, stored: 2 * EVENTS, ..full });
}

/// What a worker does for [`Task::TellAnyway`].
pub(super) fn tell_anyway(events: &Path) {
    let bus = bus(events);
    let kept = tell(&bus, &bus.subscribe());
    let status = bus.status();
    assert_eq!((status.stored, status.lost), (kept, EVENTS - kept));
    assert_eq!((status.storing, status.problem.as_deref()), (false, Some(FULL)));
}

/// Tells some events, all of which must be heard at once; how many of them were kept.
fn tell(bus: &Bus, listener: &Subscription) -> u64 {
    let mut kept = 0;
    for _ in 0..EVENTS {
        let event = bus.publish("large", payload());
        kept += u64::from(event.id.is_some());
        assert_eq!(listener.next(Duration::ZERO), Some(Delivery::Event(event)));
    }
    kept
}

/// A bus that tries its file again at once.
fn bus(path: &Path) -> Bus {
    let options = BusOptions { retry_after: Duration::ZERO, ..BusOptions::default() };
    Bus::with(path, options, Arc::new(SystemClock))
}

fn payload() -> RawJson {
    RawJson::of(&json!("x".repeat(EVENT_BYTES))).unwrap()
}

/// A folder on a disk that can be full, and a home that is elsewhere.
struct Disk {
    home: Home,
    shim: Shim,
}

impl Disk {
    fn new() -> Self {
        let disk = Self { home: Home::new(), shim: Shim::build() };
        std::fs::create_dir(disk.folder()).unwrap();
        disk
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("disk")
    }

    fn events(&self) -> PathBuf {
        self.folder().join("events.sqlite")
    }

    /// Runs a worker that meets the disk as `how` says.
    #[track_caller]
    fn work(&self, task: &Task, how: (&str, &str)) {
        let program = self.home.clean(worker::program());
        let mut command = worker::command(program, &self.home.database(), task);
        let command = self.shim.watch(&mut command, &self.folder()).env(how.0, how.1);
        succeeded(&command.output().unwrap(), "the worker");
    }

    /// How many events the file holds, and their numbers.
    fn kept(&self) -> (u64, Vec<i64>) {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let path = self.events();
        connection.execute("ATTACH ?1 AS live", [path.to_str().unwrap()]).unwrap();
        if !connection.table_exists(Some("live"), "events").unwrap() {
            return (0, Vec::new());
        }
        let mut statement = connection.prepare("SELECT id FROM live.events ORDER BY id").unwrap();
        let ids = statement.query_map([], |row| row.get(0)).unwrap();
        let ids: Vec<i64> = ids.collect::<Result<_, _>>().unwrap();
        (ids.len() as u64, ids)
    }
}
