//! How long a line of a transcript takes into the store while `ah import --watch` follows it, beside
//! the second that it may take.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::figure::{Figure, Goal, median};
use super::{ah, open, run};

const SESSION: &str = "10000000-0000-4000-8000-000000000001";
const LINES: u32 = 50;
const BOUND_MS: f64 = 1_000.0;
/// How exactly the moment is told at which a line is there.
const LOOK: Duration = Duration::from_millis(1);
/// Between lines, so that they come at all moments of the follower's pace.
const PAUSE: Duration = Duration::from_millis(37);

pub(crate) fn measure() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let (home, place) = (directory.path().join("home"), directory.path().join("transcripts"));
    fs::create_dir(&place).unwrap();
    let mut transcript = OpenOptions::new()
        .append(true)
        .create(true)
        .open(place.join(format!("{SESSION}.jsonl")))
        .unwrap();
    run(ah(&home).args(["db", "stats"]));
    let mut follow = ah(&home);
    follow.args(["import", "claude-code"]).arg(&place).args(["--watch", "--quiet"]);
    let mut follower = follow.stdout(Stdio::null()).spawn().unwrap();
    let database = open(&home.join("state.db"));
    let times: Vec<f64> = (0..LINES)
        .map(|number| {
            sleep(PAUSE * (number % 8));
            let began = Instant::now();
            writeln!(transcript, "{}", line(number)).unwrap();
            let sql = "SELECT count(*) FROM events WHERE type = 'user_message'";
            while database.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() <= number {
                sleep(LOOK);
            }
            began.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    follower.kill().unwrap();
    follower.wait().unwrap();
    let worst = times.iter().copied().fold(0.0, f64::max);
    let note = format!("p50 {:.0} ms of {LINES} lines; raw: the bound", median(times));
    let (name, goal) = ("ah import --watch, worst line", Goal::AtMost(1.0));
    vec![Figure { name, unit: "ms", ours: worst, raw: BOUND_MS, goal, note }]
}

fn line(number: u32) -> String {
    format!(
        r#"{{"type":"user","uuid":"{number:08x}-0000-4000-8000-000000000001","sessionId":"{SESSION}","isSidechain":false,"cwd":"/","version":"2.1.325","timestamp":"2026-11-15T07:28:18.000Z","message":{{"role":"user","content":"prompt {number}"}}}}"#
    )
}
