//! A disk that is full or broken: a clear error, nothing acknowledged that is not durable, nothing
//! lost that was, and work goes on when there is space again.

use std::process::{Command, Output};

use super::ledger::{self, Acked, Line, SESSION};
use super::shim::Shim;
use super::worker::{self, Task};
use crate::support::{Home, piped, succeeded};

#[test]
fn a_full_disk_is_a_clear_error_and_loses_nothing() {
    let (home, shim) = (home(), Shim::build());
    let mut acked = Acked::default();
    let mut errors = Vec::new();
    for writer in 0..24 {
        let mut command = home.ah(&["session", "append", SESSION, "--stdin-jsonl"]);
        let after = (writer * 2).to_string();
        shim.watch(&mut command, &home.state()).env("ADVERSITY_FULL_AFTER", after);
        let output = feed(&mut command, writer, 20);
        errors.extend(failed(&home, &output));
        check(&home, &mut acked, writer, &output);
        // There is space again.
        let output =
            feed(&mut home.ah(&["session", "append", SESSION, "--stdin-jsonl"]), 100 + writer, 1);
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
    check(&home, &mut Acked::default(), 0, &output);
}

#[test]
fn a_sync_that_fails_is_not_acknowledged() {
    let (home, shim) = (home(), Shim::build());
    for writer in 0..6 {
        let mut command = home.ah(&["session", "append", SESSION, "--stdin-jsonl"]);
        let after = writer.to_string();
        shim.watch(&mut command, &home.state()).env("ADVERSITY_SYNC_FAILS_AFTER", after);
        let output = feed(&mut command, writer, 1);
        let answers = worker::answers(&String::from_utf8_lossy(&output.stdout)).len();
        // The first syncs are of a new WAL and of its name, the third is what is acknowledged.
        // Those that follow belong to closing, which needs none.
        assert_eq!(
            (output.status.success(), answers),
            if writer < 3 { (false, 0) } else { (true, 1) }
        );
        check(&home, &mut Acked::default(), writer, &output);
    }
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
    let feeder = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, text.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let _ = feeder.join().unwrap();
    output
}

/// What it said when it failed, which must be by the exit code for that.
fn failed(home: &Home, output: &Output) -> Option<String> {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return None;
    }
    assert_eq!(output.status.code(), Some(1), "{errors} in {}", home.path().display());
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
