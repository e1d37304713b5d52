//! What mail and retention cost a file: space that is given back, and writers that go on meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ah_conformance::{SeededIds, TestClock};
use ah_model::{Hold, NewAgent, NewMessage, Party, Receive, Reclaimed, RetentionRules, limits};
use ah_store::{Agents, Capabilities, Clock, Ids, Messages, Retention, block_on};
use ah_store_sql::{SqlStore, SqliteOptions};

use crate::given::new_session;

const MESSAGES: usize = 48;

fn open(path: &Path, clock: &Arc<TestClock>) -> SqlStore {
    let ids = Ids::new(Box::new(SeededIds::new(1)));
    let capabilities = Capabilities { workspaces: false };
    let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(clock);
    SqlStore::open_sqlite(SqliteOptions::new(path), capabilities, clock, ids).unwrap().0
}

fn mira() -> Party {
    Party::Agent("mira".to_owned())
}

/// Large messages that were handled.
fn handle_mail(store: &SqlStore) {
    block_on(store.create_agent(NewAgent::new("mira", new_session()))).unwrap();
    let text = "x".repeat(500_000);
    for _ in 0..MESSAGES {
        let new = NewMessage::new(Party::Operator, mira(), text.clone());
        block_on(store.send_message(new)).unwrap();
    }
    let wanted = Receive { max: limits::RECEIVE_MAX, ..Receive::next(mira(), "r", 60_000) };
    let got = block_on(store.receive_messages(wanted)).unwrap().messages;
    assert_eq!(got.len(), MESSAGES);
    let hold = |message: &ah_model::Message| Hold { id: message.id.clone(), delivery: Some(1) };
    block_on(store.ack_messages(got.iter().map(hold).collect())).unwrap();
}

/// Removes all mail that was handled; in how many steps.
fn remove_mail(store: &SqlStore) -> usize {
    let rules = RetentionRules { messages_ms: Some(0), ..RetentionRules::KEEP };
    let mut steps = 1;
    while block_on(store.retention_step(rules.clone())).unwrap().more {
        steps += 1;
    }
    steps
}

#[test]
fn space_of_removed_mail_is_given_back_in_steps_while_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::new());
    let store = open(&directory.path().join("state.db"), &clock);
    handle_mail(&store);
    clock.advance_ms(1);
    // Bounded by bytes as well: 24 MB are more than one step takes.
    assert!(remove_mail(&store) > 1);
    let free = store.stats().unwrap().free_bytes;
    assert!(free > 20_000_000, "{free}");

    let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut given_back, mut steps) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let new = NewMessage::new(mira(), Party::Operator, "still here");
                block_on(store.send_message(new)).unwrap();
                written.fetch_add(1, Ordering::Relaxed);
            }
        });
        loop {
            let before = written.load(Ordering::Relaxed);
            let Reclaimed { bytes, more } = block_on(store.reclaim_space()).unwrap();
            assert!(bytes <= limits::RECLAIM_BYTES_MAX, "{bytes}");
            (given_back, steps) = (given_back + bytes, steps + 1);
            while written.load(Ordering::Relaxed) == before {
                std::thread::yield_now();
            }
            if !more {
                break;
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(steps > 4 && given_back > 20_000_000, "{given_back} bytes in {steps} steps");
    assert!(store.stats().unwrap().free_bytes < 1_000_000);
    assert_eq!(block_on(store.check()).unwrap().violations, []);
}

#[test]
fn a_removal_that_is_under_way_breaks_no_rule() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(TestClock::new());
    let store = open(&directory.path().join("state.db"), &clock);
    let agent = block_on(store.create_agent(NewAgent::new("mira", new_session()))).unwrap();
    let data = ah_model::RawJson::parse("data", "{}", 10).unwrap();
    let event = ah_model::NewEvent { kind: "note".to_owned(), data, dedup_key: None, ts: None };
    let most = limits::REMOVAL_ROWS_MAX;
    for _ in 0..2 {
        block_on(store.append_to_agent(agent.id.clone(), None, vec![event.clone(); most])).unwrap();
    }
    block_on(store.destroy_agent(agent.id.clone())).unwrap();

    for events in [most, 2 * most] {
        let step = block_on(store.purge_step(agent.id.clone())).unwrap();
        assert!(step.more);
        assert_eq!(step.receipt.removed.rows("events"), events as u64);
        assert_eq!(block_on(store.check()).unwrap().violations, []);
    }
    assert!(!block_on(store.purge_step(agent.id)).unwrap().more);
    assert_eq!(block_on(store.check()).unwrap().violations, []);
}
