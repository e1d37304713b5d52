//! The host's sweep over live events.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ah_conformance::TestClock;
use ah_hive::{Bus, BusOptions, Home, Host, HostPlan, HostRules, LiveRules};
use ah_model::{Amount, RetentionRules};
use ah_store::Clock;
use rusqlite::Connection;

use crate::given::{State, database, json, oracle, set_mode};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

struct Given {
    state: State,
    clock: TestClock,
    host: Host,
}

impl Given {
    fn new() -> Self {
        let (state, clock) = (State::new(), TestClock::new());
        let host = crate::given::host(&state, &clock);
        Self { state, clock, host }
    }

    /// A home with an event of each age in days, oldest first, the payload's number being its place.
    fn home(&self, name: &str, ages: &[i64]) -> Home {
        let home = self.state.home(name);
        let clock = TestClock::new();
        let bus = Bus::with(home.events(), BusOptions::default(), Arc::new(clock.clone()));
        for (number, age) in ages.iter().enumerate() {
            clock.set(self.clock.now().minus_ms(age * DAY_MS));
            bus.publish("note", json(&number.to_string()));
        }
        home
    }

    fn plan(&self, live: LiveRules) -> HostPlan {
        self.host.plan_retention(&HostRules { store: RetentionRules::KEEP, live }).unwrap()
    }

    /// What went, and what was said of what was skipped.
    fn run(&self, live: LiveRules) -> (Amount, Vec<String>) {
        let rules = HostRules { store: RetentionRules::KEEP, live };
        let done = self.host.run_retention(&rules, &mut |_| {}).unwrap();
        let removed = done.receipt.removed.0.get("liveEvents").copied().unwrap_or_default();
        (removed, done.warnings)
    }
}

fn payloads(home: &Home) -> Vec<String> {
    let connection = database(&home.events());
    let mut statement =
        connection.prepare("SELECT payload_json FROM other.events ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

fn rules(days: Option<u64>, newest: Option<u64>) -> LiveRules {
    LiveRules { max_age_ms: days.map(|days| days * DAY_MS as u64), newest }
}

#[test]
fn old_events_go_and_then_all_but_the_newest() {
    let given = Given::new();
    let alice = given.home("alice", &[9, 8, 6, 5, 4, 3]);
    let bob = given.home("bob", &[1, 0]);
    let carol = given.home("carol", &[30]);
    let plan = given.plan(rules(Some(7), Some(3)));
    assert_eq!(plan.remove.0.get("liveEvents"), Some(&Amount { rows: 4, bytes: 4 }));
    assert_eq!(plan.warnings, Vec::<String>::new());
    assert_eq!(payloads(&alice).len(), 6, "a plan changes nothing");
    let (removed, warnings) = given.run(rules(Some(7), Some(3)));
    assert_eq!((removed, warnings), (Amount { rows: 4, bytes: 4 }, vec![]));
    assert_eq!(payloads(&alice), ["3", "4", "5"]);
    assert_eq!(payloads(&bob), ["0", "1"]);
    assert_eq!(payloads(&carol), Vec::<String>::new());
    let again = given.run(rules(Some(7), Some(3)));
    assert_eq!(again, (Amount::default(), vec![]));
}

#[test]
fn what_went_is_in_the_receipt_at_once() {
    let given = Given::new();
    let (alice, bob) = (given.home("alice", &[9, 8, 0]), given.home("bob", &[9]));
    let rules = HostRules { store: RetentionRules::KEEP, live: rules(Some(7), None) };
    let mut told = Vec::new();
    given
        .host
        .run_retention(&rules, &mut |receipt| {
            let left = payloads(&alice).len() + payloads(&bob).len();
            let gone = receipt.removed.0.get("liveEvents").map_or(0, |amount| amount.rows);
            told.push((left, gone));
        })
        .unwrap();
    // Whoever crashes after the first step has removed nothing that is in no receipt.
    assert_eq!(told[0], (1, 3));
}

#[test]
fn the_default_is_seven_days_and_two_thousand() {
    let given = Given::new();
    let mut ages = vec![8; 3];
    ages.extend(vec![1; 2_005]);
    let home = given.home("alice", &ages);
    let (removed, _) = given.run(LiveRules::default());
    assert_eq!(removed.rows, 8);
    let left = payloads(&home);
    assert_eq!((left.len(), left[0].as_str()), (2_000, "8"));
}

#[test]
fn nothing_is_removed_where_no_rule_says_so() {
    let given = Given::new();
    let home = given.home("alice", &[900, 0]);
    assert_eq!(given.run(rules(None, None)), (Amount::default(), vec![]));
    assert_eq!(given.run(rules(None, Some(1))).0.rows, 1);
    assert_eq!(payloads(&home), ["1"]);
}

#[test]
fn space_is_given_back() {
    let given = Given::new();
    let home = given.state.home("alice");
    let bus = Bus::new(home.events());
    for _ in 0..200 {
        bus.publish("large", json(&format!("{:?}", "x".repeat(10_000))));
    }
    let before = fs::metadata(home.events()).unwrap().len();
    let done = given
        .host
        .run_retention(
            &HostRules { live: rules(None, Some(2)), ..HostRules::default() },
            &mut |_| {},
        )
        .unwrap();
    let after = fs::metadata(home.events()).unwrap().len();
    assert_eq!(done.bytes_reclaimed, before - after);
    assert!(after < before / 20, "{after} of {before}");
    // The writer goes on with the file it has open.
    assert!(bus.publish("small", json("1")).id.is_some());
    assert_eq!(payloads(&home).len(), 3);
}

/// A home that has to be skipped, and how it is said.
fn skipped(spoil: impl FnOnce(&Given, &Home)) -> String {
    let given = Given::new();
    let bad = given.home("bad", &[30, 0]);
    let good = given.home("good", &[30, 0]);
    spoil(&given, &bad);
    let plan = given.plan(rules(Some(7), None));
    assert_eq!(plan.remove.0.get("liveEvents").map(|amount| amount.rows), Some(1), "{plan:?}");
    let (removed, warnings) = given.run(rules(Some(7), None));
    assert_eq!(removed.rows, 1, "the rest goes on: {warnings:?}");
    assert_eq!(payloads(&good), ["1"]);
    assert_eq!(warnings, plan.warnings);
    let [warning] = &warnings[..] else { panic!("one warning, not {warnings:?}") };
    assert_eq!(fs::read_dir(given.state.path().join("sweep")).unwrap().count(), 0);
    warning.strip_prefix("live events of bad skipped: ").unwrap().to_owned()
}

fn assert_says(spoil: impl FnOnce(&Given, &Home), words: &str) {
    let warning = skipped(spoil);
    assert!(warning.contains(words), "{warning}");
}

#[test]
fn links_at_any_level_are_skipped() {
    for level in ["bad", "bad/state", "bad/state/events.sqlite"] {
        assert_says(
            |given, home| {
                let place = home.dir.with_file_name(level);
                let away = given.state.path().join("away");
                fs::rename(&place, &away).unwrap();
                symlink(&away, &place).unwrap();
            },
            "symbolic link",
        );
    }
}

#[test]
fn what_is_no_plain_file_is_skipped() {
    assert_says(
        |_, home| {
            fs::remove_file(home.events()).unwrap();
            fs::create_dir(home.events()).unwrap();
        },
        "directory",
    );
    assert_says(
        |_, home| {
            fs::remove_file(home.events()).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, home.events(), mode).unwrap();
        },
        "no plain file",
    );
}

#[test]
fn a_file_under_a_second_name_is_skipped() {
    // Else the agent could have the host work on a file of its own choice.
    assert_says(
        |given, home| fs::hard_link(home.events(), given.state.path().join("second")).unwrap(),
        "it has 2 names",
    );
}

#[test]
fn directories_that_others_may_enter_are_skipped() {
    assert_says(|_, home| set_mode(&home.state(), 0o777), "it must be 0700");
}

#[test]
fn a_file_of_another_user_is_skipped() {
    if !rustix::process::geteuid().is_root() {
        // Only the root of a machine can give things away.
        return;
    }
    let give = |_: &Given, home: &Home| {
        std::os::unix::fs::chown(home.events(), Some(12_345), None).unwrap();
    };
    assert_says(give, "another user");
}

#[test]
fn what_is_no_database_or_a_damaged_one_is_skipped() {
    assert_says(|_, home| fs::write(home.events(), vec![7; 50_000]).unwrap(), "no database");
    assert_says(
        |_, home| {
            let mut bytes = fs::read(home.events()).unwrap();
            let from = bytes.len() - 4_000;
            bytes[from..].fill(0xa5);
            for page in bytes.chunks_mut(4_096).skip(1) {
                page[..64].fill(0x5a);
            }
            fs::write(home.events(), bytes).unwrap();
        },
        "damaged",
    );
    let cut = |_: &Given, home: &Home| {
        fs::OpenOptions::new().write(true).open(home.events()).unwrap().set_len(5_000).unwrap();
    };
    assert_says(cut, "damaged");
}

#[test]
fn a_file_that_is_too_large_is_skipped() {
    let grow = |_: &Given, home: &Home| {
        let file = fs::OpenOptions::new().write(true).open(home.events()).unwrap();
        file.set_len(3 << 30).unwrap();
    };
    assert_says(grow, "at most");
}

/// Runs statements on the file as its owner can.
fn tamper(home: &Home, text: &str) {
    #[expect(clippy::disallowed_methods, reason = "the agent's own hand")]
    let connection = Connection::open(home.events()).unwrap();
    connection.execute_batch(text).unwrap();
}

#[test]
fn a_schema_of_the_agents_own_making_is_skipped() {
    const TABLE: &str =
        "CREATE TABLE events (id INTEGER PRIMARY KEY, ts INTEGER, kind TEXT, payload_json TEXT)";
    for (text, words) in [
        (
            "CREATE TRIGGER t AFTER DELETE ON events BEGIN INSERT INTO events (ts, kind, payload_json) VALUES (0, 'again', '1'); END",
            "trigger t",
        ),
        ("CREATE INDEX i ON events (hex(payload_json))", "index i"),
        ("CREATE TABLE other (a)", "table other"),
        ("DROP TABLE events", "no table of events"),
        (
            "ALTER TABLE events RENAME TO real; CREATE VIEW events AS SELECT * FROM real",
            "more than the table",
        ),
        ("ALTER TABLE events DROP COLUMN kind", "other columns: id, ts, payload_json"),
        ("ALTER TABLE events ADD COLUMN more TEXT", "other columns"),
        (
            "DROP TABLE events; CREATE TABLE events (id INTEGER PRIMARY KEY, ts INTEGER, kind TEXT, payload_json TEXT AS (hex(zeroblob(1000000000))))",
            "computed",
        ),
        (
            "DROP TABLE events; CREATE TABLE events (id INTEGER PRIMARY KEY, ts INTEGER, kind TEXT, payload_json TEXT) WITHOUT ROWID",
            "rowid",
        ),
        (
            "DROP TABLE events; CREATE VIRTUAL TABLE events USING fts5(id, ts, kind, payload_json)",
            "more than the table",
        ),
        ("PRAGMA journal_mode = WAL", "write-ahead log"),
    ] {
        let warning = skipped(|_, home| tamper(home, text));
        assert!(warning.contains(words), "{text}: {warning}");
    }
    let given = Given::new();
    let home = given.state.home("alice");
    tamper(&home, TABLE);
    tamper(
        &home,
        "INSERT INTO events (ts, kind, payload_json) VALUES ('old', NULL, x'00ff'), (NULL, 1, 1), (0, 'a', NULL)",
    );
    assert_eq!(
        given.run(rules(Some(7), None)),
        (Amount { rows: 1, bytes: 0 }, vec![]),
        "times that are none are kept by age"
    );
    assert_eq!(given.run(rules(Some(7), Some(1))).0.rows, 1, "and go by their number");
}

#[test]
fn a_row_that_is_too_large_is_skipped() {
    let grow = |_: &Given, home: &Home| {
        tamper(
            home,
            "INSERT INTO events (ts, kind, payload_json) VALUES (0, 'x', zeroblob(40000000))",
        );
    };
    assert_says(grow, "too large");
}

#[test]
fn a_locked_file_is_skipped_soon() {
    let given = Given::new();
    let home = given.home("alice", &[30, 0]);
    let holder = database(&home.events());
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    let (removed, warnings) = given.run(rules(Some(7), None));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(removed, Amount::default());
    assert_eq!(warnings, ["live events of alice skipped: somebody holds it locked"]);
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(given.run(rules(Some(7), None)).0.rows, 1);
}

#[test]
fn a_journal_that_was_left_or_put_there_is_not_played_back() {
    let given = Given::new();
    let home = given.home("alice", &[30, 0]);
    let victim = given.state.elsewhere().join("treasure");
    let journal = home.state().join("events.sqlite-journal");
    fs::write(&journal, hostile_journal(&home.events(), &victim)).unwrap();
    let (removed, warnings) = given.run(rules(Some(7), None));
    assert_eq!(removed, Amount::default());
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("half done"), "{warnings:?}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "gold");
    assert!(journal.exists());
    // Whoever opens the file where it lies plays it back.
    assert_eq!(payloads(&home), ["0", "1"]);
    assert!(!journal.exists());
}

/// A journal as SQLite leaves it when several databases were changed at once, naming `victim` as the
/// file that joins them, which older versions of SQLite then delete.
fn hostile_journal(database: &Path, victim: &Path) -> Vec<u8> {
    let pages = u32::try_from(fs::metadata(database).unwrap().len() / 4_096).unwrap();
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0, 1, pages, 512, 4_096] {
        journal.extend(u32::to_be_bytes(number));
    }
    journal.resize(512, 0);
    let name = victim.to_str().unwrap().as_bytes();
    let sum = name.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    journal.extend(u32::to_be_bytes(4_096));
    journal.extend(name);
    journal.extend(u32::to_be_bytes(u32::try_from(name.len()).unwrap()));
    journal.extend(u32::to_be_bytes(sum));
    journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    journal
}

#[test]
fn names_that_no_agent_has_are_told() {
    let given = Given::new();
    let good = given.home("good", &[30, 0]);
    fs::create_dir(given.state.path().join("agents/.hidden")).unwrap();
    let (removed, warnings) = given.run(rules(Some(7), None));
    assert_eq!(removed.rows, 1);
    assert_eq!(warnings, ["\".hidden\" is no home of an agent"]);
    assert_eq!(payloads(&good), ["1"]);
}

#[test]
fn what_a_sweep_that_was_killed_left_is_in_nobodys_way() {
    let given = Given::new();
    let home = given.home("alice", &[30, 0]);
    given.plan(rules(Some(7), None));
    let sweep = given.state.path().join("sweep");
    fs::hard_link(home.events(), sweep.join("events.sqlite")).unwrap();
    fs::write(sweep.join("events.sqlite-wal"), "junk").unwrap();
    assert_eq!(given.run(rules(Some(7), None)).0.rows, 1);
    assert_eq!(payloads(&home), ["1"]);
}

/// How long the writer waits is a figure: `cargo xtask bench sweep`.
#[test]
fn what_is_published_during_a_sweep_is_all_kept() {
    let given = Given::new();
    let home = given.state.home("alice");
    let bus = Bus::new(home.events());
    fill(&home, 5_000, 900);
    let mut published = 0;
    std::thread::scope(|scope| {
        let sweep = scope.spawn(|| given.run(rules(None, Some(100))));
        while !sweep.is_finished() {
            bus.publish("note", json("1"));
            published += 1;
            // As fast as a program talks; without any pause SQLite lets nobody else in.
            std::thread::sleep(Duration::from_millis(1));
        }
        let (removed, warnings) = sweep.join().unwrap();
        assert_eq!(warnings, Vec::<String>::new());
        assert!(removed.rows >= 4_900, "{removed:?}");
    });
    let status = bus.status();
    assert_eq!((status.lost, status.stored), (0, published));
}

#[test]
fn two_hundred_homes_of_ten_thousand_events_take_little_memory() {
    const HOMES: u64 = 200;
    const EVENTS: u64 = 10_000;
    let given = Given::new();
    let first = given.state.home("agent0");
    drop(Bus::new(first.events()));
    fill(&first, EVENTS as usize, 100);
    for number in 1..HOMES {
        let dir = first.dir.with_file_name(format!("agent{number}"));
        fs::create_dir_all(dir.join("state")).unwrap();
        set_mode(&dir, 0o700);
        set_mode(&dir.join("state"), 0o700);
        fs::copy(first.events(), dir.join("state/events.sqlite")).unwrap();
    }
    let before = memory_kib();
    let (removed, warnings) = given.run(rules(None, Some(2_000)));
    assert_eq!((removed.rows, warnings), (HOMES * (EVENTS - 2_000), vec![]));
    let more = memory_kib() - before;
    assert!(more < 32 * 1024, "{more} KiB more than before");
}

/// The most memory this process has had.
fn memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    most.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Adds events of so many bytes as one transaction of their writer.
fn fill(home: &Home, events: usize, bytes: usize) {
    let connection = database(&home.events());
    let text = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {events})
         INSERT INTO other.events (ts, kind, payload_json)
         SELECT 1767000000000, 'note', '\"' || hex(zeroblob({})) || '\"' FROM n",
        bytes / 2
    );
    connection.execute_batch(&text).unwrap();
}

#[test]
fn without_homes_there_is_nothing_to_sweep() {
    let state = State::new();
    let clock = TestClock::new();
    let host = Host::new(oracle(&clock), None).with_clock(Arc::new(clock));
    let plan = host.plan_retention(&HostRules::default()).unwrap();
    assert_eq!(plan, HostPlan::default());
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}
