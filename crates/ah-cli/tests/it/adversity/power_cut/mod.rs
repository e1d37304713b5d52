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

use std::io::{BufRead, BufReader, Write};
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
    let (_home, recording) = filled(1, 700, 3);
    simulate(&recording, 60, &mut Random::new(11)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_three_writers_at_once_were_told() {
    let (_home, recording) = filled(3, 300, 2);
    simulate(&recording, 80, &mut Random::new(12)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_short_lived_processes_were_told() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    let value = "v".repeat(100_000);
    for line in 0..12 {
        let payload = Line::new(0, line, 3_000).payload();
        let append = ["session", "append", SESSION, "--type", "line", "--data", &payload, "--json"];
        let others: [&[&str]; 4] = [
            &["kv", "set", "--scope", "adversity", "filler", &value],
            &["kv", "delete", "--scope", "adversity", "filler"],
            &["db", "compact"],
            &["session", "list"],
        ];
        for arguments in [&append, others[line as usize % others.len()]] {
            finish(recorder.spawn(&mut ah(&home, arguments), 0));
        }
    }
    simulate(&recorder.finish(), 150, &mut Random::new(13)).assert_none();
}

#[test]
fn a_power_cut_keeps_what_was_told_while_the_database_was_made() {
    let home = Home::new();
    let mut recorder = Recorder::new(&home, Told::default());
    finish(recorder.spawn(&mut ah(&home, &CREATE), 0));
    write_at_once(&home, &mut recorder, 5, "full");
    simulate(&recorder.finish(), 200, &mut Random::new(14)).assert_none();
}

#[test]
fn a_power_cut_during_an_upgrade_keeps_the_old_data() {
    let home = Home::new();
    let acked = old_database::create(&database(&home.path().join("disk")));
    let mut recorder = Recorder::new(&home, Told { acked, created: true });
    finish(recorder.spawn(&mut ah(&home, &["session", "list"]), 0));
    write_at_once(&home, &mut recorder, 5, "full");
    simulate(&recorder.finish(), 200, &mut Random::new(15)).assert_none();
}

#[test]
fn without_the_sync_the_simulation_finds_the_loss() {
    let home = Home::new();
    let mut recorder = with_session(&home);
    write_at_once(&home, &mut recorder, 60, "normal");
    let findings = simulate(&recorder.finish(), 60, &mut Random::new(16));
    assert!(findings.lost.len() > 20, "{} of {}", findings.lost.len(), findings.states);
    // What is promised even then: a beginning of the log, and a sound database.
    assert_eq!(findings.damaged, Vec::<String>::new());
}

/// A recording in which the WAL began anew at least so often. Readers keep it from that, so how
/// often is a matter of chance; what has too few shows too little and is recorded again.
fn filled(writers: u64, count: u64, least: usize) -> (Home, Recording) {
    const TRIES: usize = 6;
    for _ in 0..TRIES {
        let home = Home::new();
        let mut recorder = with_session(&home);
        fill_at_once(&home, &mut recorder, writers, count);
        let recording = recorder.finish();
        if resets(&recording) >= least {
            return (home, recording);
        }
    }
    panic!("the WAL never began anew {least} times");
}

/// A recorder on a database that has the session already.
fn with_session(home: &Home) -> Recorder {
    std::fs::create_dir(home.path().join("disk")).unwrap();
    succeeded(&ah(home, &CREATE).output().unwrap(), CREATE);
    Recorder::new(home, Told { created: true, ..Told::default() })
}

/// Some processes append lines and fill the WAL at the same time, each for itself in one process.
fn fill_at_once(home: &Home, recorder: &mut Recorder, writers: u64, count: u64) {
    let database = database(&home.path().join("disk"));
    let children: Vec<Child> = (0..writers)
        .map(|writer| {
            let task = Task::Fill { writer, count, seed: 5 + writer };
            let program = home.clean(worker::program());
            recorder.spawn(&mut worker::command(program, &database, &task), writer)
        })
        .collect();
    on_threads(children, |_, child| finish(child));
}

/// Three programs append lines of many lengths at the same time.
fn write_at_once(home: &Home, recorder: &mut Recorder, lines: u64, durability: &str) {
    let children: Vec<Child> = (0..3)
        .map(|writer| {
            let mut command = ah(home, &APPEND_LINES);
            recorder.spawn(command.env("AH_STORE_DURABILITY", durability), writer)
        })
        .collect();
    on_threads(children, |writer, child| feed(child, writer, lines));
}

fn on_threads(children: Vec<Child>, work: impl Fn(u64, Child) + Sync) {
    let work = &work;
    thread::scope(|scope| {
        for (number, child) in (0..).zip(children) {
            scope.spawn(move || work(number, child));
        }
    });
}

/// Sends some lines, waits until they are acknowledged, and so on.
fn feed(mut child: Child, writer: u64, lines: u64) {
    let mut random = Random::new(writer);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let (mut sent, mut acknowledged) = (0, 0);
    while sent < lines {
        let burst = *random.pick(&[1, 1, 2, 5]);
        for line in sent..sent + burst {
            let length = *random.pick(&[10, 200, 3_000, 20_000]);
            stdin.write_all(Line::new(writer, line, length).jsonl().as_bytes()).unwrap();
        }
        sent += burst;
        while acknowledged < sent {
            let mut text = String::new();
            stdout.read_line(&mut text).unwrap();
            acknowledged += worker::answers(&text).pop().expect("an acknowledgement").appended;
        }
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
