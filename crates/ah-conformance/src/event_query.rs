//! Reading logs: from either end, by type, in bounded pages.

use ah_model::{Event, EventQuery, NewEvent, Order, PageLimit, limits};
use ah_store::StoreError;

use crate::Harness;
use crate::given::{append, create, id, json, note, refusal};

async fn read(h: &dyn Harness, query: EventQuery) -> Result<Vec<Event>, StoreError> {
    h.store().events(id("s1"), query).await
}

async fn seqs(h: &dyn Harness, query: EventQuery) -> Vec<u64> {
    let events = read(h, query).await.unwrap();
    events.iter().map(|event| event.seq).collect()
}

fn query(after: u64, limit: u32, order: Order, types: &[&str]) -> EventQuery {
    EventQuery {
        after,
        up_to: None,
        types: types.iter().map(|kind| (*kind).to_owned()).collect(),
        order,
        limit: PageLimit::new(limit).unwrap(),
    }
}

/// Events 1 to 9 of types a, b, c, a, b, c...
async fn nine_events(h: &dyn Harness) {
    create(h, "s1").await;
    for n in 0..9_usize {
        let kind = ["a", "b", "c"][n % 3].to_owned();
        append(h, "s1", NewEvent { kind, ..note("0") }).await;
    }
}

pub async fn a_log_is_read_in_pages_from_its_start(h: &mut dyn Harness) {
    nine_events(h).await;
    for size in [1, 2, 3, 9, 10] {
        let mut all = Vec::new();
        loop {
            let after = all.last().copied().unwrap_or(0);
            let page = seqs(h, query(after, size, Order::Oldest, &[])).await;
            if page.is_empty() {
                break;
            }
            all.extend(page);
        }
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8, 9], "size {size}");
    }
}

pub async fn the_newest_events_come_in_ascending_order(h: &mut dyn Harness) {
    nine_events(h).await;
    let newest = Order::Newest;
    assert_eq!(seqs(h, query(0, 1, newest, &[])).await, [9]);
    assert_eq!(seqs(h, query(0, 3, newest, &[])).await, [7, 8, 9]);
    assert_eq!(seqs(h, query(7, 3, newest, &[])).await, [8, 9]);
    assert_eq!(seqs(h, query(9, 3, newest, &[])).await, [0_u64; 0]);
    assert_eq!(seqs(h, query(0, 100, newest, &[])).await, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

pub async fn events_are_filtered_by_type(h: &mut dyn Harness) {
    nine_events(h).await;
    let (oldest, newest) = (Order::Oldest, Order::Newest);
    assert_eq!(seqs(h, query(0, 9, oldest, &["b"])).await, [2, 5, 8]);
    assert_eq!(seqs(h, query(2, 2, oldest, &["a", "c"])).await, [3, 4]);
    assert_eq!(seqs(h, query(0, 2, newest, &["a", "c"])).await, [7, 9]);
    assert_eq!(seqs(h, query(3, 9, newest, &["c", "c"])).await, [6, 9]);
    assert_eq!(seqs(h, query(0, 9, oldest, &["A", "%", "", "a\0"])).await, [0_u64; 0]);
}

pub async fn a_cursor_beyond_the_end_reads_nothing(h: &mut dyn Harness) {
    nine_events(h).await;
    for after in [9, 10, i64::MAX as u64, u64::MAX] {
        for order in [Order::Oldest, Order::Newest] {
            assert_eq!(seqs(h, query(after, 5, order, &[])).await, [0_u64; 0], "after {after}");
        }
    }
}

pub async fn a_page_ends_early_rather_than_hold_too_many_bytes(h: &mut dyn Harness) {
    create(h, "s1").await;
    append(h, "s1", note("0")).await;
    let heavy = limits::PAGE_BYTES_MAX / 2;
    for bytes in [heavy, heavy - 1, heavy] {
        let bytes = bytes.min(limits::EVENT_DATA_BYTES_MAX);
        let data = json(&format!("\"{}\"", "x".repeat(bytes - 2)));
        append(h, "s1", NewEvent { data, ..note("0") }).await;
    }
    append(h, "s1", note("0")).await;
    // 1 + 16 Mi + 16 Mi - 1 is just the limit.
    assert_eq!(seqs(h, query(0, 9, Order::Oldest, &[])).await, [1, 2, 3]);
    assert_eq!(seqs(h, query(1, 9, Order::Oldest, &[])).await, [2, 3]);
    assert_eq!(seqs(h, query(3, 9, Order::Oldest, &[])).await, [4, 5]);
    assert_eq!(seqs(h, query(0, 9, Order::Newest, &[])).await, [3, 4, 5]);
    assert_eq!(seqs(h, query(0, 1, Order::Newest, &[])).await, [5]);
}

pub async fn bad_queries_and_unknown_sessions_are_refused(h: &mut dyn Harness) {
    let many = vec!["a"; limits::FILTER_TYPES_MAX + 1];
    let too_many = query(0, 1, Order::Oldest, &many);
    assert_eq!(refusal(read(h, too_many).await), "invalid number of types");
    let most = query(0, 1, Order::Oldest, &many[1..]);
    assert_eq!(refusal(read(h, most.clone()).await), "not-found session s1");
    create(h, "s1").await;
    assert_eq!(read(h, most).await.unwrap(), []);
}

pub async fn a_log_is_read_up_to_a_seq_from_either_end(h: &mut dyn Harness) {
    nine_events(h).await;
    let up_to = |up_to, query| EventQuery { up_to: Some(up_to), ..query };
    let (oldest, newest) = (Order::Oldest, Order::Newest);
    for (end, query, expected) in [
        (4, query(0, 9, oldest, &[]), vec![1, 2, 3, 4]),
        (4, query(0, 2, oldest, &[]), vec![1, 2]),
        (4, query(0, 2, newest, &[]), vec![3, 4]),
        (4, query(3, 9, newest, &[]), vec![4]),
        (4, query(4, 9, newest, &[]), vec![]),
        (2, query(7, 9, oldest, &[]), vec![]),
        (8, query(0, 2, newest, &["a", "b"]), vec![7, 8]),
        (6, query(2, 9, oldest, &["c"]), vec![3, 6]),
        (0, query(0, 9, oldest, &[]), vec![]),
        (0, query(0, 9, newest, &[]), vec![]),
        (9, query(0, 2, newest, &[]), vec![8, 9]),
        (u64::MAX, query(8, 9, oldest, &[]), vec![9]),
        (u64::MAX, query(0, 1, newest, &[]), vec![9]),
    ] {
        let bounded = up_to(end, query);
        assert_eq!(seqs(h, bounded.clone()).await, expected, "{bounded:?}");
    }
}
