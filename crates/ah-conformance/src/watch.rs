//! Watching: what is stored first, then what is appended, in order and once.

use ah_model::{Event, NewEvent};
use ah_store::{EventWatch, block_on};

use crate::Harness;
use crate::given::{append, create, id, keyed, log, note, refusal};

/// The next events until there are `count`.
async fn read(watch: &mut Box<dyn EventWatch>, count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    while events.len() < count {
        let next = watch.next().await.unwrap();
        assert!(!next.is_empty(), "a watch waits until there is something");
        events.extend(next);
    }
    events
}

pub async fn a_watch_gives_what_is_stored_after_its_cursor(h: &mut dyn Harness) {
    create(h, "s1").await;
    for data in ["1", "2", "3"] {
        append(h, "s1", note(data)).await;
    }
    let stored = log(h, "s1").await;
    for after in 0..3 {
        let mut watch = h.store().watch_events(id("s1"), after as u64).await.unwrap();
        assert_eq!(read(&mut watch, 3 - after).await, stored[after..]);
    }
}

pub async fn a_watch_at_the_end_goes_on_with_what_is_appended_later(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("1")).await;
    let mut watch = h.store().watch_events(id("s1"), 1).await.unwrap();
    append(h, "s1", note("2")).await;
    append(h, "s1", note("3")).await;
    assert_eq!(read(&mut watch, 2).await, log(h, "s1").await[1..]);
    append(h, "s1", note("4")).await;
    assert_eq!(read(&mut watch, 1).await, log(h, "s1").await[3..]);
}

pub async fn a_waiting_watch_is_woken_by_an_append_to_its_session_only(h: &mut dyn Harness) {
    create(h, "s1").await;
    create(h, "s2").await;
    append(h, "s1", keyed("1", "k")).await;
    let mut watch = h.store().watch_events(id("s1"), 1).await.unwrap();
    let reader = std::thread::spawn(move || block_on(read(&mut watch, 1)));
    // Neither another session's events nor a duplicate are news; the last one is.
    append(h, "s2", note("0")).await;
    append(h, "s1", keyed("1", "k")).await;
    append(h, "s1", note("2")).await;
    assert_eq!(reader.join().unwrap(), log(h, "s1").await[1..]);
}

pub async fn a_slow_watch_loses_nothing(h: &mut dyn Harness) {
    create(h, "s1").await;
    let mut watch = h.store().watch_events(id("s1"), 0).await.unwrap();
    let batch: Vec<NewEvent> = (0..1_500).map(|n| note(&n.to_string())).collect();
    for part in batch.chunks(500) {
        h.store().append_events(id("s1"), part.to_vec()).await.unwrap();
    }
    let read = read(&mut watch, batch.len()).await;
    let seqs: Vec<_> = read.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=1_500).collect::<Vec<u64>>());
}

pub async fn a_watch_reads_while_others_append(h: &mut dyn Harness) {
    create(h, "s1").await;
    let mut watch = h.store().watch_events(id("s1"), 0).await.unwrap();
    let reader = std::thread::spawn(move || block_on(read(&mut watch, 100)));
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let store = h.store();
            std::thread::spawn(move || {
                for _ in 0..25 {
                    block_on(store.append_events(id("s1"), vec![note("0")])).unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().unwrap();
    }
    assert_eq!(reader.join().unwrap(), log(h, "s1").await);
}

pub async fn a_watch_ends_with_its_session(h: &mut dyn Harness) {
    create(h, "s1").await;
    let mut watch = h.store().watch_events(id("s1"), 0).await.unwrap();
    let reader = std::thread::spawn(move || block_on(watch.next()));
    h.store().delete_session(id("s1")).await.unwrap();
    assert_eq!(refusal(reader.join().unwrap()), "not-found session s1");
    let watch = h.store().watch_events(id("s1"), 0).await;
    assert_eq!(refusal(watch.map(drop)), "not-found session s1");
}
