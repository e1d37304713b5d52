//! What a long history costs: 100,000 sessions and 1,000,000 events beside an empty database, and as
//! many messages that an agent has handled.

use std::path::Path;
use std::time::{Duration, Instant};

use ah_model::{
    EventQuery, HiveImport, Hold, Message, MessageFilter, MessageKind, MessageStatus, NewAgent,
    NewMessage, Notice, Order, PageLimit, PageRequest, Party, Receive, SessionFilter, SessionId,
    Timestamp, limits,
};
use ah_store::{Agents, Events, Hive, Messages, Sessions, block_on};
use ah_store_sql::SqlStore;

use super::figure::{Figure, Goal, alternate, median};
use super::given::{event, long_id, new_session, open};

const SESSIONS: usize = 100_000;
const EVENTS_EACH: usize = 10;
const TAIL: u32 = 100;
const REPEATS: usize = 200;

pub(crate) fn run() -> Vec<Figure> {
    let directory = tempfile::tempdir().unwrap();
    let (large, small) = (directory.path().join("large.db"), directory.path().join("small.db"));
    eprintln!("filling a database with {SESSIONS} sessions and {} events", SESSIONS * EVENTS_EACH);
    fill(&large, SESSIONS);
    fill(&small, 100);
    vec![
        compare("open and first page of sessions", 51, &large, &small, open_and_list),
        compare("last 100 events of a session", 5, &large, &small, tail),
        compare("send, receive and acknowledge a message", 5, &large, &small, turn),
        compare("inbox of what waits", 5, &large, &small, inbox),
    ]
}

/// Sessions with a few events each, and one with a thousand to read the tail of.
fn fill(path: &Path, sessions: usize) {
    let store = open(path);
    let last: SessionId = block_on(store.create_session(new_session("tail"))).unwrap().id;
    block_on(store.append_events(last, vec![event(); 1_000])).unwrap();
    fill_mail(&store, sessions);
    // Eight threads share transactions; one after another would take minutes.
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = store.clone();
            scope.spawn(move || {
                for number in (thread..sessions).step_by(8) {
                    let session = new_session(&long_id(number));
                    let id = block_on(store.create_session(session)).unwrap().id;
                    block_on(store.append_events(id, vec![event(); EVENTS_EACH])).unwrap();
                }
            });
        }
    });
}

/// An agent that has handled so many messages, and has a few left.
fn fill_mail(store: &SqlStore, messages: usize) {
    block_on(store.create_agent(NewAgent::new("mira", new_session("mira")))).unwrap();
    let message = |number: usize| Message {
        number: number as u64,
        status: MessageStatus::Acked,
        deliveries: 1,
        delivered_at: Some(Timestamp::EPOCH),
        acked_at: Some(Timestamp::EPOCH),
        ..Message::notice(
            Notice {
                kind: MessageKind::Mail,
                from: Party::Operator,
                to: mira(),
                body: "x".repeat(240),
                about: None,
            },
            long_id(number).parse().unwrap(),
            0,
            Timestamp::EPOCH,
        )
    };
    let all: Vec<Message> = (0..messages).map(message).collect();
    for some in all.chunks(limits::HIVE_IMPORT_MAX) {
        let import = HiveImport { messages: some.to_vec(), ..HiveImport::default() };
        block_on(store.import_hive(import)).unwrap();
    }
    for _ in 0..10 {
        block_on(store.send_message(NewMessage::new(Party::Operator, mira(), "left"))).unwrap();
    }
}

fn mira() -> Party {
    Party::Agent("mira".to_owned())
}

fn compare(
    name: &str,
    rounds: usize,
    large: &Path,
    small: &Path,
    work: fn(&Path) -> Duration,
) -> Figure {
    let micros = |path: &Path| work(path).as_secs_f64() * 1e6;
    let (ours, raw) = alternate(rounds, || micros(large), || micros(small));
    Figure {
        name: format!("long history: {name}"),
        unit: "µs",
        ours,
        raw,
        goal: Goal::AtMost(2.0),
        note: "raw: the same on an otherwise empty database".to_owned(),
    }
}

fn open_and_list(path: &Path) -> Duration {
    let start = Instant::now();
    let store = open(path);
    let page = block_on(store.list_sessions(SessionFilter::default(), PageRequest::default()));
    assert_eq!(page.unwrap().items.len(), 50);
    start.elapsed()
}

fn tail(path: &Path) -> Duration {
    let store = open(path);
    let limit = PageLimit::new(TAIL).unwrap();
    let query = EventQuery { order: Order::Newest, limit, ..EventQuery::default() };
    let times = (0..REPEATS).map(|_| {
        let start = Instant::now();
        let events = block_on(store.events("tail".parse().unwrap(), query.clone())).unwrap();
        assert_eq!(events.len(), TAIL as usize);
        start.elapsed().as_secs_f64()
    });
    Duration::from_secs_f64(median(times.collect()))
}

fn turn(path: &Path) -> Duration {
    let store = open(path);
    let times = (0..REPEATS).map(|_| {
        let start = Instant::now();
        block_on(store.send_message(NewMessage::new(Party::Operator, mira(), "next"))).unwrap();
        let got = block_on(store.receive_messages(Receive::next(mira(), "bench", 60_000)))
            .unwrap()
            .messages;
        let hold = Hold { id: got[0].id.clone(), delivery: None };
        block_on(store.ack_messages(vec![hold])).unwrap();
        start.elapsed().as_secs_f64()
    });
    Duration::from_secs_f64(median(times.collect()))
}

fn inbox(path: &Path) -> Duration {
    let store = open(path);
    let statuses = vec![MessageStatus::Queued, MessageStatus::Leased];
    let filter = MessageFilter { statuses, to: Some(mira()), ..MessageFilter::default() };
    let times = (0..REPEATS).map(|_| {
        let start = Instant::now();
        let page = block_on(store.list_messages(filter.clone(), PageRequest::default())).unwrap();
        assert_eq!(page.items.len(), 10);
        start.elapsed().as_secs_f64()
    });
    Duration::from_secs_f64(median(times.collect()))
}
