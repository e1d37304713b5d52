//! A disk that is full or broken: a clear error, nothing acknowledged that is not durable, nothing
//! lost that was, and work goes on when there is space again.

use std::io::{Read, Write};
use std::process::{Command, Output};

use super::ledger::{self, Acked, Line, SESSION};
use super::shim::Shim;
use super::worker::{self, Task};
use crate::support::{Home, piped, succeeded};

const APPEND_LINES: [&str; 4] = ["session", "append", SESSION, "--stdin-jsonl"];

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    let (home, shim) = (home(), Shim::build());
    let mut acked = Acked::default();
    let mut errors = Vec::new();
    for writer in 0..24 {
        let mut command = home.ah(&APPEND_LINES);
        let after = (writer * 2).to_string();
        shim.watch(&mut command, &home.state()).env("ADVERSITY_FULL_AFTER", after);
        let output = feed(&mut command, writer, 20);
        errors.extend(failed(&output));
        check(&home, &mut acked, writer, &output);
        // There is space again.
        let output = feed(&mut home.ah(&APPEND_LINES), 100 + writer, 1);
        succeeded(&output, "append with space");
        check(&home, &mut acked, 100 + writer, &output);
    }
    assert!(errors.len() >= 20, "{} writers met the full disk", errors.len());
    for error in errors {
        assert!(error.contains("full"), "{error}");
        assert!(error.contains(home.database().to_str().unwrap()), "{error}");
    }
}

#[test]
fn a_process_outlasts_a_full_disk() {
    let (home, shim) = (home(), Shim::build());
    let flag = home.path().join("full");
    let task = Task::OutlastFullDisk { writer: 0, flag: flag.clone() };
    let program = home.clean(worker::program());
    let mut command = worker::command(program, &home.database(), &task);
    let command = shim.watch(&mut command, &home.state()).env("ADVERSITY_FULL_FLAG", flag);
    let output = command.output().unwrap();
    succeeded(&output, "the worker");
    let mut acked = Acked::default();
    check(&home, &mut acked, 0, &output);
    assert_eq!(acked.len(), 10);
}

#[test]
fn a_sync_that_fails_is_not_acknowledged() {
    let (home, shim) = (home(), Shim::build());
    let flag = home.path().join("broken");
    let mut command = home.ah(&APPEND_LINES);
    shim.watch(&mut command, &home.state()).env("ADVERSITY_BROKEN_FLAG", &flag);
    let mut child = piped(&mut command).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut send = |line| stdin.write_all(Line::new(0, line, 100).jsonl().as_bytes()).unwrap();
    send(0);
    let mut acknowledged = vec![0; 1_000];
    let length = child.stdout.as_mut().unwrap().read(&mut acknowledged).unwrap();
    std::fs::write(&flag, "").unwrap();
    send(1);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let error = failed(&output).expect("the second line cannot be made durable");
    assert!(error.contains("cannot sync"), "{error}");
    assert_eq!(output.stdout, b"");
    let first = Output { stdout: acknowledged[..length].to_vec(), ..output };
    let mut acked = Acked::default();
    check(&home, &mut acked, 0, &first);
    assert_eq!(acked.len(), 1);
}

fn home() -> Home {
    let home = Home::new();
    home.create_session(SESSION);
    home
}

/// Gives the command some lines, and does not mind if it stops reading.
fn feed(command: &mut Command, writer: u64, lines: u64) -> Output {
    let mut child = piped(command).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let text: String = (0..lines).map(|line| Line::new(writer, line, 9_000).jsonl()).collect();
    let feeder = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = feeder.join().unwrap();
    output
}

/// What it said when it failed, which must be by the exit code for that.
fn failed(output: &Output) -> Option<String> {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return None;
    }
    assert_eq!(output.status.code(), Some(1), "{errors}");
    Some(errors)
}

/// Adds what `writer` was told; all that was ever told must be there.
#[track_caller]
fn check(home: &Home, acked: &mut Acked, writer: u64, output: &Output) {
    for answer in worker::answers(&String::from_utf8_lossy(&output.stdout)) {
        acked.add(writer, &answer);
    }
    let store = ledger::open(&home.database()).unwrap();
    ledger::check(&store, SESSION, acked).unwrap();
}
