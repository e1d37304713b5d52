//! Appends of one process: alone, in batches, and from eight threads at once.

use std::cell::Cell;
use std::path::Path;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use ah_store::{Clock, Events, SystemClock, block_on};

use super::figure::{Figure, Goal, alternate, rate};
use super::given::{event, long_id, open, session};
use super::raw::{Raw, Sync};

const ROUNDS: usize = 7;
const TIME: Duration = Duration::from_millis(700);
const BATCH: usize = 256;
const THREADS: usize = 8;

/// A directory with a database for each side.
fn sides() -> (tempfile::TempDir, std::path::PathBuf, std::path::PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let (ours, raw) = (directory.path().join("ours.db"), directory.path().join("raw.db"));
    session(&ours, &long_id(1));
    session(&raw, &long_id(1));
    (directory, ours, raw)
}

pub(crate) fn single() -> Vec<Figure> {
    per_transaction("append, one durable event", 1, 0.85)
}

pub(crate) fn batch() -> Vec<Figure> {
    per_transaction("append, batches of 256", BATCH, 0.7)
}

fn per_transaction(name: &str, count: usize, goal: f64) -> Vec<Figure> {
    let (_directory, ours, raw) = sides();
    let store = open(&ours);
    let id: ah_model::SessionId = long_id(1).parse().unwrap();
    let raw = Raw::open(&raw, Sync::InCommit);
    let last = Cell::new(0);
    let events = vec![event(); count];
    let (ours, raw) = alternate(
        ROUNDS,
        || rate(TIME, || drop(block_on(store.append_events(id.clone(), events.clone())).unwrap())),
        || {
            rate(TIME, || {
                raw.append(id.as_str(), last.get(), count as i64);
                last.set(last.get() + count as i64);
            })
        },
    );
    let goal = Goal::AtLeast(goal);
    let (ours, raw) = (ours * count as f64, raw * count as f64);
    let note = String::new();
    vec![Figure { name: name.to_owned(), unit: "events/s", ours, raw, goal, note }]
}

pub(crate) fn threads() -> Vec<Figure> {
    let (_directory, ours_path, raw_path) = sides();
    let store = open(&ours_path);
    let id: ah_model::SessionId = long_id(1).parse().unwrap();
    let writer = RawWriter::start(&raw_path, id.as_str());
    let (ours, raw) = alternate(
        ROUNDS,
        || {
            together(|| {
                block_on(store.append_events(id.clone(), vec![event()])).unwrap();
            })
        },
        || {
            let writer = &writer;
            together(move || writer.append())
        },
    );
    vec![Figure {
        name: "append, 8 threads at once".to_owned(),
        unit: "events/s",
        ours,
        raw,
        goal: Goal::AtLeast(0.8),
        note: "raw: one writer thread that batches what waits".to_owned(),
    }]
}

/// How many `work` eight threads do a second.
fn together(work: impl Fn() + Send + std::marker::Sync) -> f64 {
    let start = Instant::now();
    let total: f64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| rate(TIME, &work))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(start.elapsed() >= TIME);
    total
}

/// A thread that writes whatever waits as one transaction, and answers each caller after it.
struct RawWriter(Sender<SyncSender<()>>);

impl RawWriter {
    fn start(path: &Path, session: &str) -> Self {
        let (sender, receiver) = channel::<SyncSender<()>>();
        let (raw, session) = (Raw::open(path, Sync::InCommit), session.to_owned());
        std::thread::spawn(move || {
            let mut last = 0;
            while let Ok(first) = receiver.recv() {
                let mut waiting = vec![first];
                waiting.extend(receiver.try_iter().take(BATCH));
                raw.begin();
                let now = SystemClock.now();
                for _ in &waiting {
                    last += 1;
                    raw.insert(&session, last, now);
                }
                raw.advance(&session, last, now);
                raw.commit();
                waiting.into_iter().for_each(|answer| answer.send(()).unwrap());
            }
        });
        Self(sender)
    }

    fn append(&self) {
        let (answer, answered) = sync_channel(1);
        self.0.send(answer).unwrap();
        answered.recv().unwrap();
    }
}
