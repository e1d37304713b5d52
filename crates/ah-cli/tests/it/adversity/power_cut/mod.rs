//! The power fails while processes write: everything acknowledged is there afterwards.
//!
//! A shim records what real processes do to their files and when they sync and acknowledge. A
//! model of the disk then makes the states that a power cut at any moment may leave, and the
//! program must go on from each of them.

mod disk;
mod file;
mod names;
mod record;
mod recording;
mod simulation;
mod survival;

use std::io::Write;
use std::process::Child;
use std::thread;

use self::recording::{Recorder, Recording, Told, ah, database};
use self::simulation::simulate;
use crate::adversity::ledger::{Line, SESSION};
use crate::adversity::old_database;
use crate::adversity::random::Random;
use crate::adversity::worker::{self, Task};
use crate::support::{Home, succeeded};

const CREATE: [&str; 7] = ["session", "create", "--agent", "tester", "--id", SESSION, "--json"];
const APPEND_LINES: [&str; 4] = ["session", "append", SESSION, "--stdin-jsonl"];

#[test]
fn a_power_cut_keeps_what_one_busy_writer_was_told() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    let task = Task::Fill { writer: 0, count: 700, seed: 5 };
    let root = home.path().join("disk");
    let program = home.clean(worker::program());
    let mut command = worker::command(program, &database(&root), &task);
    finish(recorder.spawn(&mut command, 0));
    let recording = recorder.finish();
    assert!(resets(&recording) >= 3, "the WAL began anew {} times", resets(&recording));
    simulate(&recording, 60, &mut Random::new(11)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_three_writers_at_once_were_told() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    write_at_once(&home, &mut recorder, "full");
    simulate(&recorder.finish(), 150, &mut Random::new(12)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_short_lived_processes_were_told() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    for line in 0..12 {
        let payload = Line::new(0, line, 3_000).payload();
        let append = ["session", "append", SESSION, "--type", "line", "--data", &payload, "--json"];
        finish(recorder.spawn(&mut ah(&home, &append), 0));
    }
    simulate(&recorder.finish(), 150, &mut Random::new(13)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_was_told_while_the_database_was_made() {
    let home = Home::new();
    let mut recorder = Recorder::new(&home, Told::default());
    finish(recorder.spawn(&mut ah(&home, &CREATE), 0));
    write_at_once(&home, &mut recorder, "full");
    simulate(&recorder.finish(), 150, &mut Random::new(14)).assert_none();
}

#[test]
fn a_power_cut_during_an_upgrade_keeps_the_old_data() {
    let home = Home::new();
    let acked = old_database::create(&database(&home.path().join("disk")));
    let mut recorder = Recorder::new(&home, Told { acked, created: true });
    finish(recorder.spawn(&mut ah(&home, &["session", "list"]), 0));
    write_at_once(&home, &mut recorder, "full");
    simulate(&recorder.finish(), 150, &mut Random::new(15)).assert_none();
}

#[test]
fn without_the_sync_the_simulation_finds_the_loss() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    write_at_once(&home, &mut recorder, "normal");
    let findings = simulate(&recorder.finish(), 60, &mut Random::new(16));
    assert!(findings.lost.len() > 20, "{} of {}", findings.lost.len(), findings.states);
    // What is promised even then: a beginning of the log, and a sound database.
    assert_eq!(findings.damaged, Vec::<String>::new());
}

/// A recorder on a database that has the session already.
fn with_session(home: &Home) -> Recorder {
    std::fs::create_dir(home.path().join("disk")).unwrap();
    succeeded(&ah(home, &CREATE).output().unwrap(), CREATE);
    Recorder::new(home, Told { created: true, ..Told::default() })
}

/// Three programs append lines of many lengths at the same time.
fn write_at_once(home: &Home, recorder: &mut Recorder, durability: &str) {
    let children: Vec<Child> = (0..3)
        .map(|writer| {
            let mut command = ah(home, &APPEND_LINES);
            recorder.spawn(command.env("AH_STORE_DURABILITY", durability), writer)
        })
        .collect();
    thread::scope(|scope| {
        for (writer, child) in (0..).zip(children) {
            scope.spawn(move || feed(child, writer));
        }
    });
}

fn feed(mut child: Child, writer: u64) {
    let mut random = Random::new(writer);
    let mut stdin = child.stdin.take().unwrap();
    for line in 0..60 {
        let length = *random.pick(&[10, 200, 3_000, 20_000]);
        stdin.write_all(Line::new(writer, line, length).jsonl().as_bytes()).unwrap();
    }
    drop(stdin);
    finish(child);
}

#[track_caller]
fn finish(child: Child) {
    succeeded(&child.wait_with_output().unwrap(), "a recorded process");
}

/// How often the WAL's header was written.
fn resets(recording: &Recording) -> usize {
    let headers = recording.records.iter().filter(
        |record| matches!(&record.step, record::Step::Write { offset: 0, bytes, .. } if bytes.len() == 32),
    );
    headers.count()
}
