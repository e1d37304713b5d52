//! Mail: a hundred agents that write to each other and handle what they get, beside the same number
//! of threads that append.

use std::path::Path;
use std::time::Instant;

use ah_model::{Awaited, Hold, NewAgent, NewMessage, Party, Receive, SessionId};
use ah_store::{Agents, Events, Hive, Messages, block_on};
use ah_store_sql::SqlStore;

use super::figure::{Figure, Goal, alternate};
use super::given::{event, long_id, new_session, open, payload};

const ROUNDS: usize = 15;
const AGENTS: usize = 100;
const MESSAGES: usize = 100;
const LEASE_MS: u64 = 60_000;

fn party(number: usize) -> Party {
    Party::Agent(format!("agent-{number}"))
}

/// A store of agents, and the session each goes on in.
fn hive(path: &Path) -> (SqlStore, Vec<SessionId>) {
    let store = open(path);
    let create = |number: usize| {
        let session = new_session(&long_id(number));
        let agent = NewAgent::new(party(number).as_str(), session);
        block_on(store.create_agent(agent)).unwrap().active_session_id.unwrap()
    };
    let sessions = (0..AGENTS).map(create).collect();
    (store, sessions)
}

pub(crate) fn run() -> Vec<Figure> {
    let one = Turn { sent: 1, taken: 1, steps: Steps::One };
    let several = Turn { sent: 10, taken: 16, steps: Steps::One };
    let apart = Turn { steps: Steps::Apart, ..one };
    vec![
        measure(
            "mail of 100 agents, turns of many",
            several,
            "a turn: 10 sent, those before acknowledged, at most 16 taken, in one transaction",
        ),
        measure(
            "mail of 100 agents, turns of one",
            one,
            "a turn: one sent, one acknowledged, one taken, in one transaction",
        ),
        measure(
            "mail of 100 agents, sent apart",
            apart,
            "one sent, then one acknowledged and one taken: two transactions, as programs of \
             resident agents do it",
        ),
    ]
}

/// What an agent does in a turn, in one step: send so many, acknowledge those of the turn before, and
/// take so many at most.
#[derive(Clone, Copy)]
struct Turn {
    sent: usize,
    taken: u32,
    steps: Steps,
}

/// Whether a turn is one step, or what it sends goes before it.
#[derive(Clone, Copy, PartialEq)]
enum Steps {
    One,
    Apart,
}

fn measure(name: &str, turn: Turn, note: &str) -> Figure {
    let directory = tempfile::tempdir().unwrap();
    let (store, sessions) = hive(&directory.path().join("state.db"));
    let (mail, appends) = alternate(
        ROUNDS,
        || together(|number| correspond(&store, number, turn)),
        || together(|number| append(&store, &sessions[number])),
    );
    Figure {
        name: name.to_owned(),
        unit: "messages/s",
        ours: mail,
        raw: appends,
        goal: Goal::AtLeast(0.5),
        note: format!("{note}; raw: events appended by as many threads"),
    }
}

/// How many messages or events all agents together do a second.
fn together(work: impl Fn(usize) + Send + Sync) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for number in 0..AGENTS {
            let work = &work;
            scope.spawn(move || work(number));
        }
    });
    (AGENTS * MESSAGES) as f64 / start.elapsed().as_secs_f64()
}

/// Writes to others in turn, and handles as many as were written to it.
fn correspond(store: &SqlStore, number: usize, turn: Turn) {
    let me = party(number);
    let (mut sent, mut handled, mut holding) = (0, 0, Vec::new());
    while handled < MESSAGES {
        let until = MESSAGES.min(sent + turn.sent);
        let send = (sent..until).map(|place| letter(number, place)).collect();
        sent = until;
        handled += holding.len();
        holding = next(store, &me, turn, (send, holding));
        if holding.is_empty() && sent == MESSAGES && handled < MESSAGES {
            block_on(store.wait_for(Awaited::Mail(me.clone()))).unwrap();
        }
    }
}

/// Everybody writes one to everybody else, and one more to the next: as many as everybody gets.
fn letter(number: usize, place: usize) -> NewMessage {
    let to = match (number + 1 + place) % AGENTS {
        to if to == number => party((number + 1) % AGENTS),
        to => party(to),
    };
    NewMessage::new(party(number), to, payload())
}

/// A turn: what is held after it.
fn next(
    store: &SqlStore,
    me: &Party,
    turn: Turn,
    (mut send, ack): (Vec<NewMessage>, Vec<Hold>),
) -> Vec<Hold> {
    if turn.steps == Steps::Apart {
        for letter in send.drain(..) {
            block_on(store.send_message(letter)).unwrap();
        }
    }
    let next = Receive::next(me.clone(), "bench", LEASE_MS);
    let receive = Receive { send, ack, max: turn.taken, ..next };
    let got = block_on(store.receive_messages(receive)).unwrap().messages;
    let hold = |m: ah_model::Message| Hold { id: m.id, delivery: Some(m.deliveries) };
    got.into_iter().map(hold).collect()
}

fn append(store: &SqlStore, session: &SessionId) {
    for _ in 0..MESSAGES {
        block_on(store.append_events(session.clone(), vec![event()])).unwrap();
    }
}
