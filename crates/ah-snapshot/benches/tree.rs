//! What a snapshot of a large tree costs over Git itself: `git add -A`, `git write-tree` and
//! `git commit-tree` with an index of its own, on the same files, in the same run.
//!
//! Rounds of ours and raw alternate, so that a busy machine slows both; figures are medians. A
//! figure is never asserted here: `cargo xtask bench` prints it beside its goal.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench is a program for developers that stops at the first trouble"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use ah_model::{Labels, SnapshotProvider, Timestamp};
use ah_snapshot::{Ignored, NewSnapshot, Programs, Provider, provider};

const FILES: usize = 5_000;
const CHANGED: usize = 100;
const FILE_BYTES: usize = 2_000;
const ROUNDS: usize = 3;
/// Git is asked several times more often than for a plain commit; reading the files is the same.
const GOAL: f64 = 2.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let names: Vec<&String> = arguments.iter().filter(|name| !name.starts_with("--")).collect();
    for (name, kind) in [
        ("snapshot of 5,000 new files", Round::New),
        ("snapshot with 100 of 5,000 changed", Round::Changed),
        ("snapshot with nothing changed", Round::Same),
    ] {
        if names.is_empty() || names.iter().any(|wanted| name.contains(wanted.as_str())) {
            measure(name, kind, json);
        }
    }
}

/// What happened since the snapshot before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    New,
    Changed,
    Same,
}

fn measure(name: &str, kind: Round, json: bool) {
    let home = tempfile::tempdir().unwrap();
    let (ours, raw) = (repository(home.path(), "ours"), repository(home.path(), "raw"));
    let (mut ours_ms, mut raw_ms) = (Vec::new(), Vec::new());
    for (top, first) in [(&ours, true), (&raw, false)] {
        fill(top, FILES, "begin");
        if first { snapshot(top) } else { commit(top) }
    }
    for round in 0..ROUNDS {
        for top in [&ours, &raw] {
            match kind {
                Round::New => {
                    fill(top, FILES, &format!("round {round}"));
                    forget(top);
                }
                Round::Changed => fill(top, CHANGED, &format!("round {round}")),
                Round::Same => {}
            }
        }
        ours_ms.push(timed(|| snapshot(&ours)));
        raw_ms.push(timed(|| commit(&raw)));
    }
    let (ours_ms, raw_ms) = (median(ours_ms), median(raw_ms));
    let ratio = ours_ms / raw_ms;
    let met = ratio <= GOAL;
    if json {
        let document = serde_json::json!({
            "name": name, "unit": "ms", "ours": ours_ms, "raw": raw_ms, "ratio": ratio,
            "goal": format!("at most {GOAL}"), "met": met,
        });
        println!("{document}");
    } else {
        let met = if met { "" } else { "  MISSED" };
        println!(
            "{name:<44} ours {ours_ms:>9.3} ms, raw {raw_ms:>9.3} ms, ratio {ratio:.2} \
             (goal at most {GOAL}){met}"
        );
    }
}

fn repository(home: &Path, name: &str) -> PathBuf {
    let top = home.canonicalize().unwrap().join(name);
    fs::create_dir(&top).unwrap();
    git(&top, &["init", "--quiet"]);
    top
}

fn fill(top: &Path, count: usize, text: &str) {
    for number in 0..count {
        let directory = top.join(format!("dir-{}", number % 200));
        fs::create_dir_all(&directory).unwrap();
        let line = format!("{text} of {number}\n");
        let body = line.repeat(FILE_BYTES / line.len());
        fs::write(directory.join(format!("file-{number}")), body).unwrap();
    }
}

/// Nothing is known of any file.
fn forget(top: &Path) {
    let _ = fs::remove_file(top.join(".git/scratch"));
    let _ = fs::remove_dir_all(top.join(".git/ah"));
}

fn snapshot(top: &Path) {
    let programs = Programs { git: Some(PathBuf::from("git")), ..Programs::default() };
    let git: Box<dyn Provider> = provider(SnapshotProvider::Git, &programs);
    let new = NewSnapshot {
        session: "ses_0123456789ab".parse().unwrap(),
        at: Timestamp::from_unix_ms(1_700_000_000_000),
        nonce: String::new(),
        message: None,
        labels: Labels::default(),
        ignored: Ignored::LeftOut,
    };
    git.create(top, &new).unwrap();
}

/// The same with as few calls as can be, and as durable.
fn commit(top: &Path) {
    git(top, &["add", "-A"]);
    let tree = git(top, &["write-tree"]);
    let commit = git(top, &["commit-tree", "-m", "raw", tree.trim()]);
    git(top, &["update-ref", "refs/raw/last", commit.trim()]);
}

fn git(top: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "core.fsync=objects,reference", "-c", "core.fsyncMethod=batch"])
        .args(["-c", "user.name=u", "-c", "user.email=u@example.org", "-c", "gc.auto=0"])
        .args(arguments)
        .current_dir(top)
        .env("GIT_INDEX_FILE", top.join(".git/scratch"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn timed(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64() * 1_000.0
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
