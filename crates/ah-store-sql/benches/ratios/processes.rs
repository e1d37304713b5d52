//! Appends of sixteen processes at once, on the plain disk and with a sync slowed to 2.4 ms.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ah_store::{Clock, Events, SystemClock, block_on};

use super::figure::{Figure, Goal, median};
use super::given::{event, long_id, open, session};
use super::raw::{self, Raw, Sync};

/// The first argument of a process that appends.
pub(crate) const WORKER: &str = "--append-worker";

const PROCESSES: usize = 16;
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_secs(2);

/// What the processes of one round did.
struct Round {
    rate: f64,
    worst_ms: f64,
    /// Events of the slowest process to those of the fastest.
    fairness: f64,
}

pub(crate) fn run() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let shim = slow_sync(directory.path());
    let mut figures = measure("plain disk", directory.path(), None);
    match shim {
        Some(shim) => figures.extend(measure("sync of 2.4 ms", directory.path(), Some(&shim))),
        None => eprintln!("no C compiler: the slow disk is left out"),
    }
    figures
}

fn measure(disk: &str, directory: &Path, shim: Option<&Path>) -> Vec<Figure> {
    let (mut ours, mut raw) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let label = disk.replace(' ', "-");
        ours.push(spawn("ours", &directory.join(format!("{label}-{round}-ours.db")), shim));
        raw.push(spawn("raw", &directory.join(format!("{label}-{round}-raw.db")), shim));
    }
    let of =
        |rounds: &[Round], value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
    let figure = |name: &str, unit, ours, raw, goal, note: String| Figure {
        name: format!("16 processes, {disk}: {name}"),
        unit,
        ours,
        raw,
        goal,
        note,
    };
    let worst = of(&ours, |round| round.worst_ms);
    let fair = of(&ours, |round| round.fairness);
    let raw_worst = of(&raw, |round| round.worst_ms);
    let raw_fair = of(&raw, |round| round.fairness);
    let (our_rate, raw_rate) = (of(&ours, |round| round.rate), of(&raw, |round| round.rate));
    let note = "raw: flock queue, NORMAL commit, sync after".to_owned();
    vec![
        figure("rate", "events/s", our_rate, raw_rate, Goal::AtLeast(0.7), note),
        figure(
            "worst wait",
            "ms",
            worst,
            100.0,
            Goal::AtMost(1.0),
            format!("raw {raw_worst:.0} ms; the second figure is the bound"),
        ),
        figure(
            "fairness",
            "",
            fair,
            1.0,
            Goal::AtLeast(0.8),
            format!("raw {raw_fair:.2}; slowest to fastest process"),
        ),
    ]
}

fn spawn(side: &str, path: &Path, shim: Option<&Path>) -> Round {
    session(path, &long_id(1));
    // Kept open, as by a server: otherwise processes that end early take the WAL away.
    let _open = open(path);
    let mut children: Vec<Child> = (0..PROCESSES).map(|_| start(side, path, shim)).collect();
    let mut counts = Vec::new();
    let mut worst_ms: f64 = 0.0;
    for child in &mut children {
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (count, worst) = line.trim().split_once(' ').unwrap();
        counts.push(count.parse::<f64>().unwrap());
        worst_ms = worst_ms.max(worst.parse().unwrap());
        assert!(child.wait().unwrap().success());
    }
    let (least, most) = (
        counts.iter().copied().fold(f64::MAX, f64::min),
        counts.iter().copied().fold(0.0, f64::max),
    );
    let rate = counts.iter().sum::<f64>() / TIME.as_secs_f64();
    Round { rate, worst_ms, fairness: least / most }
}

fn start(side: &str, path: &Path, shim: Option<&Path>) -> Child {
    let begin = SystemClock.now().unix_ms() + 500;
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([WORKER, side]).arg(path).arg(begin.to_string()).stdout(Stdio::piped());
    if let Some(shim) = shim {
        command.env("LD_PRELOAD", shim);
    }
    command.spawn().unwrap()
}

/// A process that appends from `begin` on for [`TIME`] and prints how often, and its worst wait.
pub(crate) fn work(arguments: &[String]) {
    let [side, path, begin] = arguments else { panic!("worker needs side, path and begin") };
    let (path, begin): (PathBuf, i64) = (path.into(), begin.parse().unwrap());
    let id = long_id(1);
    let mut append: Box<dyn FnMut()> = match side.as_str() {
        "ours" => {
            let (store, id) = (open(&path), id.parse::<ah_model::SessionId>().unwrap());
            Box::new(move || {
                block_on(store.append_events(id.clone(), vec![event()])).unwrap();
            })
        }
        _ => {
            let (raw, queue) = (Raw::open(&path, Sync::ByCaller), raw::queue(&path));
            let wal = raw::wal(&path);
            Box::new(move || {
                queue.lock().unwrap();
                let now = SystemClock.now();
                raw.begin();
                let seq = raw.last_seq(&id) + 1;
                raw.insert(&id, seq, now);
                raw.advance(&id, seq, now);
                raw.commit();
                queue.unlock().unwrap();
                wal.sync_data().unwrap();
            })
        }
    };
    let wait = u64::try_from(begin - SystemClock.now().unix_ms()).unwrap_or(0);
    std::thread::sleep(Duration::from_millis(wait));
    let (start, mut count, mut worst) = (Instant::now(), 0, Duration::ZERO);
    while start.elapsed() < TIME {
        let one = Instant::now();
        append();
        worst = worst.max(one.elapsed());
        count += 1;
    }
    println!("{count} {}", worst.as_secs_f64() * 1_000.0);
}

/// Builds a library that makes every sync take 2.4 ms longer, as on a laptop or a cloud volume.
fn slow_sync(directory: &Path) -> Option<PathBuf> {
    const SOURCE: &str = include_str!("slow_sync.c");
    let (source, library) = (directory.join("slow_sync.c"), directory.join("slow_sync.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    built.is_ok_and(|status| status.success()).then_some(library)
}
