//! What a call of `ah hook` costs as a whole process: alone beside a minimal program that does one
//! durable insert, and sixteen at once beside sixteen processes that do nothing.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::append::MINIMAL;
use super::figure::{Figure, Goal, median};
use super::{ah, open, raw, run};

/// The first argument of the program that does nothing.
pub(crate) const NOTHING: &str = "--nothing";
const ID: &str = "019b7ca9-8f2e-7001-a2ee-000000000001";
const ROUNDS: usize = 300;
const AT_ONCE: usize = 16;
const SWARMS: usize = 40;
const WORST_MS: f64 = 100.0;

pub(crate) fn measure() -> Vec<Figure> {
    let mut figures = vec![alone()];
    figures.extend(at_once());
    figures
}

fn payload(number: usize) -> String {
    format!(
        r#"{{"session_id":"{ID}","cwd":"/","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{{"command":"ls"}},"tool_use_id":"t{number}"}}"#
    )
}

fn start(command: &mut Command, payload: &str) -> (Instant, Child) {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // One that does nothing does not read.
    let _ = child.stdin.take().unwrap().write_all(payload.as_bytes());
    (began, child)
}

fn hook(home: &Path) -> Command {
    let mut command = ah(home);
    command.args(["hook", "claude-code"]);
    command
}

fn ms(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1_000.0
}

fn alone() -> Figure {
    let directory = tempfile::tempdir().unwrap();
    let sides = [directory.path().join("ours"), directory.path().join("raw")];
    for home in &sides {
        run(ah(home).args(["session", "create", "--id", ID, "--agent", "codex"]));
    }
    let (mut ours, mut minimal) = (Vec::new(), Vec::new());
    for number in 0..ROUNDS {
        let (began, mut child) = start(&mut hook(&sides[0]), &payload(number));
        assert!(child.wait().unwrap().success());
        ours.push(ms(began));
        let (began, mut child) =
            start(raw().arg(MINIMAL).arg(sides[1].join("state.db")), &payload(number));
        assert!(child.wait().unwrap().success());
        minimal.push(ms(began));
    }
    let note = format!("{} of {ROUNDS} in the store", kept(&sides[0]));
    let (ours, raw) = (median(ours), median(minimal));
    Figure { name: "ah hook, p50", unit: "ms", ours, raw, goal: Goal::AtMost(1.5), note }
}

/// How many events the store of a home has from hooks.
fn kept(home: &Path) -> i64 {
    run(ah(home).args(["hooks", "drain"]));
    let sql = "SELECT count(*) FROM events WHERE dedup_key LIKE 'hook/%'";
    open(&home.join("state.db")).query_row(sql, [], |row| row.get(0)).unwrap()
}

/// Adds the times of as many processes at once.
fn swarm(number: usize, mut command: impl FnMut() -> Command, times: &mut Vec<f64>) {
    let children: Vec<_> =
        (0..AT_ONCE).map(|one| start(&mut command(), &payload(number * AT_ONCE + one))).collect();
    // Each is waited for on a thread of its own: its end counts, not when it is looked at.
    let waits = children.into_iter().map(|(began, mut child)| {
        std::thread::spawn(move || {
            assert!(child.wait().unwrap().success());
            ms(began)
        })
    });
    let waits: Vec<_> = waits.collect();
    times.extend(waits.into_iter().map(|wait| wait.join().unwrap()));
}

/// The times of processes of both kinds, sorted; swarms of one and of the other in turn. The first has
/// that number: a call that was told before costs less.
fn swarms<const N: usize>(first: usize, commands: [&dyn Fn() -> Command; N]) -> [Vec<f64>; N] {
    let mut times = [const { Vec::new() }; N];
    for number in first..first + SWARMS {
        for (command, times) in commands.iter().zip(&mut times) {
            swarm(number, command, times);
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    times
}

fn at_once() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let (served, direct) = (directory.path().join("served"), directory.path().join("direct"));
    let nothing = || {
        let mut command = raw();
        command.arg(NOTHING);
        command
    };
    let p99 = |times: &[f64]| times[times.len() * 99 / 100];
    let mut up =
        ah(&served).args(["up", "--port", "0", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(up.stdout.take().unwrap()).read_line(&mut line).unwrap();
    swarms(0, [&|| hook(&served)]);
    let [floor, with] = swarms(SWARMS, [&nothing, &|| hook(&served)]);
    let note = format!("{} of {} in the store", kept(&served), 2 * SWARMS * AT_ONCE);
    up.kill().unwrap();
    up.wait().unwrap();
    run(ah(&direct).args(["session", "create", "--id", ID, "--agent", "codex"]));
    let [without] = swarms(0, [&|| hook(&direct)]);
    let kept = format!("{} of {} in the store; raw: the bound", kept(&direct), SWARMS * AT_ONCE);
    vec![
        Figure {
            name: "16 hooks with a server, p99",
            unit: "ms",
            ours: p99(&with),
            raw: p99(&floor),
            goal: Goal::AtMost(2.0),
            note,
        },
        Figure {
            name: "16 hooks without one, worst",
            unit: "ms",
            ours: without.last().copied().unwrap_or_default(),
            raw: WORST_MS,
            goal: Goal::AtMost(1.0),
            note: kept,
        },
    ]
}
