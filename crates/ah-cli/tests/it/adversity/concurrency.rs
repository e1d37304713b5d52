//! Many processes on one database.

use std::io::Write;
use std::process::{Child, Output};
use std::thread;

use super::ledger::{self, Acked, Line, SESSION};
use super::worker::{self, Task};
use crate::support::{Home, piped, succeeded};

const WRITERS: u64 = 16;
const LINES: u64 = 500;

#[test]
fn fifty_processes_opening_a_fresh_database_at_once_all_succeed() {
    let home = Home::new();
    let waiting: Vec<Child> = (0..50).map(|number| waiting(&home, number)).collect();
    for output in finish(waiting, |_, child| child.stdin.take().unwrap().write_all(b"go\n")) {
        succeeded(&output, "one of fifty");
    }
    let listed = home.json(&["session", "list", "--limit", "100"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 25);
    assert_eq!(home.json(&["db", "check"])["ok"], true);
    assert_eq!(applied_migrations(&home), (1..=ah_store_sql::SCHEMA_VERSION).collect::<Vec<_>>());
    let strange: Vec<String> =
        files(&home).into_iter().filter(|name| !name.starts_with("state.db")).collect();
    assert_eq!(strange, Vec::<String>::new());
    assert!(!files(&home).iter().any(|name| name.contains("backup")), "nothing was upgraded");
}

#[test]
fn sixteen_processes_of_read_then_write_lose_nothing() {
    let home = Home::new();
    home.create_session(SESSION);
    let workers = (0..WRITERS).map(|writer| {
        let task = Task::ReadThenWrite { writer, count: LINES };
        let command = home.clean(worker::program());
        piped(&mut worker::command(command, &home.database(), &task)).spawn().unwrap()
    });
    let outputs = finish(workers.collect(), |_, child| {
        drop(child.stdin.take());
        Ok(())
    });
    check_all_is_there(&home, &outputs);
}

#[test]
fn sixteen_streams_of_lines_lose_nothing() {
    let home = Home::new();
    home.create_session(SESSION);
    let streams =
        (0..WRITERS).map(|_| home.spawn(&["session", "append", SESSION, "--stdin-jsonl"]));
    let outputs = finish(streams.collect(), |writer, child| {
        let mut stdin = child.stdin.take().unwrap();
        (0..LINES)
            .try_for_each(|line| stdin.write_all(Line::new(writer, line, 40).jsonl().as_bytes()))
    });
    check_all_is_there(&home, &outputs);
}

/// A program that starts its work when it is told to, so that all of them do at once.
fn waiting(home: &Home, number: usize) -> Child {
    let id = format!("session-{number}");
    let arguments: &[&str] = match number % 2 {
        0 => &["session", "list", "--json"],
        _ => &["session", "create", "--agent", "tester", "--id", &id],
    };
    let mut command = home.clean("sh");
    command.args(["-c", r#"read go && exec "$@""#, "sh", env!("CARGO_BIN_EXE_ah")]).args(arguments);
    piped(&mut command).spawn().unwrap()
}

/// Feeds every child from a thread of its own and waits for all.
fn finish(
    children: Vec<Child>,
    feed: impl Fn(u64, &mut Child) -> std::io::Result<()> + Sync,
) -> Vec<Output> {
    let feed = &feed;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..)
            .zip(children)
            .map(|(number, mut child)| {
                scope.spawn(move || {
                    // A child that ended early says why itself.
                    let _ = feed(number, &mut child);
                    child.wait_with_output().unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[track_caller]
fn check_all_is_there(home: &Home, outputs: &[Output]) {
    let mut acked = Acked::default();
    for (writer, output) in (0..).zip(outputs) {
        let printed = succeeded(output, writer);
        let answers = worker::answers(&printed);
        answers.iter().for_each(|answer| acked.add(writer, answer));
    }
    assert_eq!(acked.len(), WRITERS * LINES);
    let store = ledger::open(&home.database()).unwrap();
    assert_eq!(ledger::check(&store, SESSION, &acked), Ok(WRITERS * LINES));
    assert_eq!(home.json(&["db", "check"])["ok"], true);
}

fn files(home: &Home) -> Vec<String> {
    let entries = std::fs::read_dir(home.state()).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn applied_migrations(home: &Home) -> Vec<i64> {
    #[expect(clippy::disallowed_methods, reason = "what the program itself does not show")]
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let mut rows = connection.prepare("SELECT version FROM schema_migrations").unwrap();
    rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}
