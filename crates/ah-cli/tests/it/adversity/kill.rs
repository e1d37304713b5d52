//! Processes killed at any moment: what they acknowledged is there, what they did not is whole or
//! absent, and the next process opens the database as if nothing had been.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ah_model::Appended;

use super::ledger::{self, Acked, Line};
use super::old_database;
use super::random::Random;
use super::worker;
use crate::support::Home;

const ROUNDS: usize = 9;
const WRITERS: usize = 4;
/// Kills of a round: writers, first openings, upgrades.
const WRITER_KILLS: usize = 20;
const OPENING_KILLS: usize = 3;
const UPGRADE_KILLS: usize = 2;
/// Lines a writer is given before the first of them is acknowledged.
const LINES_AHEAD: usize = 4;

#[test]
fn killed_writers_lose_nothing_acknowledged() {
    let mut random = Random::new(3);
    let home = Home::new();
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let session = format!("round-{round}");
        home.create_session(&session);
        let acked = kill_writers(&home, &session, &mut random);
        check(&home, &session, &acked);
        rounds.push((session, acked));
    }
    rounds.iter().for_each(|(session, acked)| check(&home, session, acked));
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

#[test]
fn killed_first_openings_and_upgrades_can_be_done_again() {
    let mut random = Random::new(4);
    let usual = duration_of_first_opening();
    for _ in 0..ROUNDS * OPENING_KILLS {
        kill_first_opening(usual, &mut random);
    }
    for _ in 0..ROUNDS * UPGRADE_KILLS {
        kill_upgrade(2 * usual, &mut random);
    }
}

#[track_caller]
fn check(home: &Home, session: &str, acked: &Acked) {
    let store = ledger::open(&home.database()).unwrap();
    let there = ledger::check(&store, session, acked).unwrap();
    assert!(there >= acked.len());
}

/// Keeps some writers busy and kills them one after another.
fn kill_writers(home: &Home, session: &str, random: &mut Random) -> Acked {
    let mut acked = Acked::default();
    let mut writers: Vec<Writer> =
        (0..WRITERS).map(|number| Writer::start(home, session, number as u64)).collect();
    for kill in 0..WRITER_KILLS {
        let writer = writers.remove(random.below(WRITERS));
        writer.kill_after(Duration::from_micros(random.next() % 30_000), &mut acked);
        writers.push(Writer::start(home, session, (WRITERS + kill) as u64));
    }
    for writer in writers {
        writer.kill_after(Duration::ZERO, &mut acked);
    }
    acked
}

/// A program that appends lines as long as it lives, and the threads that feed and hear it.
struct Writer {
    number: u64,
    child: Child,
    first_answer: Receiver<()>,
    answers: JoinHandle<Vec<Appended>>,
    feeder: JoinHandle<()>,
}

impl Writer {
    fn start(home: &Home, session: &str, number: u64) -> Self {
        let mut child = home.spawn(&["session", "append", session, "--stdin-jsonl"]);
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (tell_first, first_answer) = channel();
        let (tell_feeder, more) = channel();
        let feeder = thread::spawn(move || feed(stdin, number, &more));
        let answers = thread::spawn(move || hear(stdout, &tell_first, &tell_feeder));
        Self { number, child, first_answer, answers, feeder }
    }

    /// Kills it that long after its first acknowledgement and keeps what it acknowledged.
    fn kill_after(mut self, delay: Duration, acked: &mut Acked) {
        let waited = self.first_answer.recv_timeout(Duration::from_secs(60));
        waited.expect("a writer acknowledges its first line");
        thread::sleep(delay);
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.feeder.join().unwrap();
        let answers = self.answers.join().unwrap();
        answers.iter().for_each(|answer| acked.add(self.number, answer));
    }
}

/// Writes lines until the reader is dead, never too far ahead of its acknowledgements.
fn feed(mut stdin: ChildStdin, writer: u64, acknowledged: &Receiver<u64>) {
    let mut ahead = 0;
    for line in 0.. {
        let text = Line::new(writer, line, 100 + (line as usize * 37) % 900).jsonl();
        if stdin.write_all(text.as_bytes()).is_err() {
            return;
        }
        ahead += 1;
        while ahead >= LINES_AHEAD {
            let Ok(lines) = acknowledged.recv() else { return };
            ahead -= lines as usize;
        }
    }
}

fn hear(stdout: ChildStdout, first: &Sender<()>, feeder: &Sender<u64>) -> Vec<Appended> {
    let mut answers = Vec::new();
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let Some(answer) = worker::answers(&line).pop() else { return answers };
        // Both may have stopped listening: one has heard enough, the other's pipe broke.
        let _ = first.send(());
        let _ = feeder.send(answer.appended);
        answers.push(answer);
    }
}

/// How long the program takes to make a database and a session in it.
fn duration_of_first_opening() -> Duration {
    let start = Instant::now();
    Home::new().create_session("session");
    start.elapsed()
}

fn kill_first_opening(usual: Duration, random: &mut Random) {
    let home = Home::new();
    let create = ["session", "create", "--agent", "tester", "--id", "session"];
    let answered = kill_within(&home, &create, usual, random);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
    let created = home.run(&["session", "show", "session"]).status.success();
    assert!(created || !answered, "it said that it had made the session");
    if !created {
        home.create_session("session");
    }
}

fn kill_upgrade(usual: Duration, random: &mut Random) {
    let home = Home::new();
    let acked = old_database::create(&home.database());
    kill_within(&home, &["session", "list"], usual, random);
    let store = ledger::open(&home.database()).unwrap();
    assert_eq!(ledger::check(&store, ledger::SESSION, &acked), Ok(acked.len()));
}

/// Kills the program at some moment of its life; says whether it had printed anything.
fn kill_within(home: &Home, arguments: &[&str], usual: Duration, random: &mut Random) -> bool {
    let mut child = home.spawn(arguments);
    thread::sleep(Duration::from_micros(random.next() % usual.as_micros() as u64));
    child.kill().unwrap();
    !child.wait_with_output().unwrap().stdout.is_empty()
}
