//! Many callers at once: every acknowledged write is there, in order, once.

use ah_model::{Appended, SessionId};
use ah_store::{StoreError, block_on};

use crate::Harness;
use crate::given::{create, id, keyed, log, new_session, note, race, refusal};

const THREADS: u64 = 8;
const APPENDS: u64 = 25;

pub async fn concurrent_appends_leave_no_gap_and_lose_nothing(h: &mut dyn Harness) {
    create(h, "s1").await;
    let answers = race(h, THREADS, |store, thread| {
        let append = |n| {
            let data = format!("[{thread},{n}]");
            let batch = vec![note(&data), note(&data)];
            block_on(store.append_events(id("s1"), batch)).unwrap()
        };
        (0..APPENDS).map(append).collect::<Vec<Appended>>()
    });
    let events = log(h, "s1").await;
    let count = THREADS * APPENDS * 2;
    let seqs: Vec<_> = events.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, (1..=count).collect::<Vec<_>>());
    assert_eq!(h.store().session(id("s1")).await.unwrap().last_seq, count);
    for (thread, answers) in answers.into_iter().enumerate() {
        assert!(answers.is_sorted_by_key(|done| done.first_seq));
        for (n, done) in answers.into_iter().enumerate() {
            // A batch stays together, where its answer said it is.
            assert_eq!((done.last_seq, done.appended), (done.first_seq + 1, 2));
            for seq in [done.first_seq, done.last_seq] {
                let event = &events[usize::try_from(seq).unwrap() - 1];
                assert_eq!(event.data.as_str(), format!("[{thread},{n}]"));
            }
        }
    }
}

pub async fn of_two_appends_racing_with_one_key_one_is_a_duplicate(h: &mut dyn Harness) {
    create(h, "s1").await;
    for round in 0..20 {
        let answers = race(h, 2, move |store, thread| {
            let event = keyed(&thread.to_string(), &format!("key {round}"));
            block_on(store.append_events(id("s1"), vec![event])).unwrap()
        });
        let counts = [answers[0].appended, answers[1].appended];
        assert!(counts == [0, 1] || counts == [1, 0], "{counts:?}");
        assert_eq!(answers[0].first_seq, round + 1);
        assert_eq!(answers[1].first_seq, round + 1);
    }
    assert_eq!(log(h, "s1").await.len(), 20);
}

pub async fn of_appends_racing_behind_one_event_one_wins(h: &mut dyn Harness) {
    create(h, "s1").await;
    for end in 0..20 {
        let answers = race(h, 4, move |store, _| {
            block_on(store.append_events_after(id("s1"), end, vec![note("0")]))
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        for error in lost {
            assert_eq!(refusal(error), "conflict session s1");
        }
    }
    assert_eq!(log(h, "s1").await.len(), 20);
}

pub async fn of_racing_creations_of_one_id_one_wins(h: &mut dyn Harness) {
    let answers = race(h, THREADS, |store, thread| {
        let mut new = new_session("s1");
        new.title = Some(thread.to_string());
        block_on(store.create_session(new))
    });
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for error in lost {
        assert_eq!(refusal(error), "conflict session s1");
    }
    let winner = won.into_iter().next().unwrap().unwrap();
    assert_eq!(h.store().session(id("s1")).await.unwrap(), winner);
}

pub async fn racing_creations_register_a_repo_once(h: &mut dyn Harness) {
    let made = race(h, THREADS, |store, thread| {
        let new = new_session(&format!("s{thread}"));
        block_on(store.create_session(new)).unwrap()
    });
    let first = made[0].repo_id;
    assert!(made.iter().all(|session| session.repo_id == first));
    let repos = h.store().list_repos(crate::given::all()).await.unwrap();
    assert_eq!(repos.items.len(), 1);
}

pub async fn minted_ids_are_different_on_every_thread(h: &mut dyn Harness) {
    let made = race(h, THREADS, |store, _| {
        let create = || {
            let mut new = new_session("unused");
            new.id = None;
            block_on(store.create_session(new)).map(|session| session.id)
        };
        let ids = (0..5).map(|_| create());
        ids.collect::<Result<Vec<SessionId>, StoreError>>().unwrap()
    });
    for ids in &made {
        assert!(ids.is_sorted(), "ids sort by their minting: {ids:?}");
    }
    let mut ids = made.concat();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len() as u64, THREADS * 5);
}
