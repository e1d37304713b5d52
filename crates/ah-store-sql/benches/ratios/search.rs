//! Search over a million events, and what its upkeep costs those who append.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ah_model::{
    IndexPace, IndexState, NewEvent, PageLimit, PageRequest, RawJson, SearchQuery, SessionId,
};
use ah_store::{Events, Searches, Sessions, block_on};
use ah_store_sql::SqlStore;

use super::figure::{Figure, Goal, alternate, median, rate};
use super::given::{long_id, new_session, open};

const EVENTS: usize = 1_000_000;
const SESSIONS: usize = 1_000;
const BATCH: usize = 5_000;
const WORDS: usize = 20_000;
const LOOKS: usize = 15;
/// The first page must be there within this.
const FIRST_PAGE_MS: f64 = 100.0;
const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_millis(1_500);

/// A cheap source of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// A word, the first of them many times as often as the last, as in any language.
    fn word(&mut self) -> String {
        let most = self.below(WORDS) + 1;
        format!("w{}", self.below(most))
    }

    /// About 40 words, some of them in every text.
    fn text(&mut self, number: usize) -> NewEvent {
        let mut words: Vec<String> = (0..36).map(|_| self.word()).collect();
        words.push("cargo".to_owned());
        words.push(["test", "build", "check"][number % 3].to_owned());
        if number % 100_000 == 7 {
            words.push("needle".to_owned());
        }
        let data = RawJson::of(&words.join(" ")).unwrap();
        let kind = ["user_message", "assistant_message"][number % 2].to_owned();
        NewEvent { kind, data, dedup_key: None, ts: None }
    }
}

fn fill(store: &SqlStore) {
    let mut numbers = Numbers(88_172_645_463_325_252);
    for session in 0..SESSIONS {
        block_on(store.create_session(new_session(&long_id(session)))).unwrap();
    }
    for batch in 0..EVENTS / BATCH {
        let session: SessionId = long_id(batch % SESSIONS).parse().unwrap();
        let events = (0..BATCH).map(|at| numbers.text(batch * BATCH + at)).collect();
        block_on(store.append_events(session, events)).unwrap();
    }
}

fn update(store: &SqlStore) -> u64 {
    let mut events = 0;
    loop {
        let step = block_on(store.update_search_index(PageLimit::MAX)).unwrap();
        events += step.indexed;
        if step.state == IndexState::Done {
            return events;
        }
    }
}

pub(crate) fn run() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let store = open(&path);
    fill(&store);
    let (before, began) = (size(&path), Instant::now());
    let events = update(&store);
    eprintln!(
        "index of {events} events: {:.1} s, {} MB beside {before} MB",
        began.elapsed().as_secs_f64(),
        size(&path).saturating_sub(before)
    );
    let mut figures: Vec<Figure> = [
        ("a rare word", "needle"),
        ("a common word", "cargo"),
        ("two words", "cargo w17"),
        ("two rare words", "w19000 w18000"),
        ("a phrase", "\"cargo check\""),
        ("a phrase that is nowhere", "\"check cargo\""),
        ("a prefix", "need*"),
        ("a word that is nowhere", "nowhere"),
    ]
    .map(|(name, typed)| first_page(&store, name, SearchQuery::new(typed.parse().unwrap())))
    .into();
    let session_id = Some(long_id(3).parse().unwrap());
    let within = SearchQuery { session_id, ..SearchQuery::new("cargo".parse().unwrap()) };
    figures.push(first_page(&store, "a common word in a session", within));
    figures.push(beside_upkeep(&store, "one durable event", 1));
    figures.push(beside_upkeep(&store, "batches of 256", 256));
    figures
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len() / 1_000_000
}

fn first_page(store: &SqlStore, name: &str, query: SearchQuery) -> Figure {
    let mut hits = 0;
    let mut look = || {
        let began = Instant::now();
        let page = block_on(store.search(query.clone(), PageRequest::default())).unwrap();
        hits = page.items.len();
        began.elapsed().as_secs_f64() * 1_000.0
    };
    look();
    Figure {
        name: format!("search, {name}"),
        unit: "ms",
        ours: median((0..LOOKS).map(|_| look()).collect()),
        raw: FIRST_PAGE_MS,
        goal: Goal::AtMost(1.0),
        note: format!("{hits} hits on the first page of {EVENTS} events; raw is the goal"),
    }
}

/// Appends while upkeep goes on as a server does it, beside appends alone.
fn beside_upkeep(store: &SqlStore, name: &str, count: usize) -> Figure {
    let id: SessionId = long_id(0).parse().unwrap();
    let mut numbers = Numbers(7);
    let events: Vec<_> = (0..count).map(|at| numbers.text(at)).collect();
    let append = || drop(block_on(store.append_events(id.clone(), events.clone())).unwrap());
    let (ours, raw) = alternate(
        ROUNDS,
        || {
            let stop = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| keep_up(store, &stop));
                let rate = rate(TIME, append);
                stop.store(true, Ordering::Relaxed);
                rate
            })
        },
        || rate(TIME, append),
    );
    Figure {
        name: format!("append beside upkeep, {name}"),
        unit: "events/s",
        ours: ours * count as f64,
        raw: raw * count as f64,
        goal: Goal::AtLeast(0.9),
        note: "raw: the same without upkeep".to_owned(),
    }
}

/// Upkeep at its own pace until it is stopped; there is always something to do.
fn keep_up(store: &SqlStore, stop: &AtomicBool) {
    let mut pace = IndexPace::default();
    let mut indexed = 0;
    while !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let step = block_on(store.update_search_index(PageLimit::at_most(128))).unwrap();
        indexed += step.indexed;
        let rest = pace.rest(&step, began.elapsed());
        std::thread::sleep(if step.state == IndexState::More { rest } else { POLL });
    }
    assert!(indexed > 0, "there was nothing to do");
}

/// Upkeep that is up to date looks again after this.
const POLL: Duration = Duration::from_millis(20);
