//! The test binary as a process of its own: it runs again with one test and a task.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ah_access::executor::host::Start;
use ah_access::executor::outbox::{Outbox, OutboxOptions, Step};
use ah_access::frame::{ReportRefusal, ReportRefusalReason};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::host;
use crate::outbox::{draft, small};

const TASK: &str = "AH_ACCESS_TEST_TASK";

/// What a worker does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Task {
    /// Opens the outbox and waits to be killed.
    Hold,
    /// Appends, forgets and refuses, and kills itself when it comes to a step for the given time.
    Walk { step: usize, time: usize },
    /// Appends from several threads until it is killed.
    Append { threads: usize },
    /// Appends until it is refused, and says why.
    Fill { bytes: usize },
    /// Begins runs, one after the other, and waits to be killed.
    Launch { keeper: Vec<String>, runs: Vec<(String, u64, Value)> },
    /// Begins a run that it holds for so long, and waits to be killed.
    Lease { keeper: Vec<String>, run: (String, u64, Value), lease_ms: u64 },
}

/// Starts a worker on `directory`.
pub(crate) fn start(directory: &Path, task: &Task) -> Worker {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::entry", "--nocapture"]);
    Worker::start(command, directory, task)
}

/// Starts a worker whose files may not be longer than so many blocks of 512 bytes.
pub(crate) fn start_cramped(directory: &Path, task: &Task, blocks: usize) -> Worker {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::entry", "--nocapture"]);
    Worker::start(command, directory, task)
}

/// A worker at work; it ends with the test.
#[derive(Debug)]
pub(crate) struct Worker(Child);

impl Worker {
    fn start(mut command: Command, directory: &Path, task: &Task) -> Self {
        let task = serde_json::to_string(&(directory, task)).unwrap();
        Self(command.env(TASK, task).stdout(Stdio::piped()).spawn().unwrap())
    }

    /// What it says, line by line, as long as it runs.
    pub(crate) fn said(&mut self) -> impl Iterator<Item = String> + use<> {
        let lines = BufReader::new(self.0.stdout.take().unwrap()).lines();
        lines.map_while(Result::ok).filter_map(|line| Some(line.strip_prefix("> ")?.to_owned()))
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// How it ended.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.0.wait().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn entry() {
    let Some(given) = variable(TASK) else { return };
    let (directory, task): (PathBuf, Task) = serde_json::from_str(&given).unwrap();
    match task {
        Task::Hold => {
            let _outbox = open(&directory, OutboxOptions::default());
            say("open");
            std::thread::park();
        }
        Task::Walk { step, time } => {
            TIMES_LEFT.store(time, Ordering::SeqCst);
            STEP.store(step, Ordering::SeqCst);
            walk(&open(&directory, OutboxOptions { steps: kill_here, ..small() }));
        }
        Task::Append { threads } => append(open(&directory, small()), threads),
        Task::Fill { bytes } => {
            let outbox = open(&directory, OutboxOptions::default());
            let refused = (1..).find_map(|number| {
                let appended = outbox.append(vec![draft(number, bytes)]);
                appended.map(|seqs| say(&seqs.end().to_string())).err()
            });
            say(&refused.unwrap().to_string());
        }
        Task::Launch { keeper, runs } => {
            let host = host::open(&directory, keeper, Box::new(|_| {})).unwrap();
            for (run, epoch, parameters) in runs {
                let started = host.launch(&host::start(&run, epoch, &parameters));
                say(&format!("{run} {:?}", started.map_err(|error| error.to_string())));
            }
            std::thread::park();
        }
        Task::Lease { keeper, run: (run, epoch, parameters), lease_ms } => {
            let host = host::open(&directory, keeper, Box::new(|_| {})).unwrap();
            let until_ms = Some(host::since_boot_ms() + lease_ms);
            let start = Start { until_ms, ..host::start(&run, epoch, &parameters) };
            let started = host.launch(&start);
            say(&format!("{run} {:?}", started.map_err(|error| error.to_string())));
            std::thread::park();
        }
    }
}

fn open(directory: &Path, options: OutboxOptions) -> Outbox {
    Outbox::open(directory, options, "a worker", || "worker".parse().unwrap()).unwrap().0
}

fn walk(outbox: &Outbox) {
    for number in 1..=12 {
        let seqs = outbox.append(vec![draft(number, 100), draft(number, 700)]).unwrap();
        say(&format!("appended {}", seqs.end()));
        if number % 3 == 0 {
            let seq = *seqs.start();
            let reason = ReportRefusalReason::StaleEpoch;
            outbox.refuse(&[ReportRefusal { seq, reason, detail: None }]).unwrap();
            say(&format!("refused {seq}"));
            outbox.forget(seq).unwrap();
            say(&format!("forgot {seq}"));
        }
    }
}

fn append(outbox: Outbox, threads: usize) {
    let outbox = Arc::new(outbox);
    let appending = (0..threads).map(|_| {
        let outbox = Arc::clone(&outbox);
        std::thread::spawn(move || {
            for number in 0.. {
                let seqs = outbox.append(vec![draft(number, 200)]).unwrap();
                say(&seqs.end().to_string());
            }
        })
    });
    appending.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}

static STEP: AtomicUsize = AtomicUsize::new(0);
static TIMES_LEFT: AtomicUsize = AtomicUsize::new(0);

/// Ends the process as a crash would, when it comes to its step for the given time.
fn kill_here(step: Step) {
    let is_wanted = Step::ALL[STEP.load(Ordering::SeqCst)] == step;
    if is_wanted && TIMES_LEFT.fetch_sub(1, Ordering::SeqCst) == 1 {
        kill_process(getpid(), Signal::KILL).unwrap();
    }
}

pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // What the harness says begins anywhere on a line.
    out.write_all(format!("\n> {line}\n").as_bytes()).and_then(|()| out.flush()).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "how a worker is told its task")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
