//! The least a durable server does: axum, a channel, one thread that writes what waits as one
//! transaction with a sync in its commit.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use rusqlite::Connection;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use super::{SESSIONS, load, payload, session_id};

pub(crate) struct Bare {
    pub(crate) address: SocketAddr,
    _runtime: Runtime,
}

type Write = (Bytes, oneshot::Sender<u64>);

pub(crate) fn requests() -> Vec<String> {
    // The session's number, then its payload.
    (0..SESSIONS)
        .map(|number| load::post("/append", &format!("{number:02}{}", payload())))
        .collect()
}

pub(crate) fn serve(path: &Path) -> Bare {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
    let address = listener.local_addr().unwrap();
    let (queue, waiting) = channel::<Write>();
    let connection = open(path);
    std::thread::spawn(move || write(&connection, &waiting));
    let app = Router::new().route("/append", post(append)).with_state(queue);
    runtime.spawn(async move { axum::serve(listener, app).await });
    Bare { address, _runtime: runtime }
}

async fn append(State(queue): State<Sender<Write>>, body: Bytes) -> (StatusCode, String) {
    let (answer, answered) = oneshot::channel();
    queue.send((body, answer)).unwrap();
    (StatusCode::CREATED, format!("{{\"seq\":{}}}", answered.await.unwrap()))
}

#[expect(clippy::disallowed_methods, reason = "the raw engine is what we compare with")]
fn open(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -8192; \
             CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, \
             ts TEXT NOT NULL, type TEXT NOT NULL, data TEXT, seq INTEGER NOT NULL, dedup_key TEXT); \
             CREATE UNIQUE INDEX events_session_seq ON events(session_id, seq); \
             CREATE TABLE sessions (id TEXT PRIMARY KEY, last_seq INTEGER NOT NULL)",
        )
        .unwrap();
    for number in 0..SESSIONS {
        let sql = "INSERT INTO sessions VALUES (?1, 0)";
        connection.execute(sql, [session_id(number)]).unwrap();
    }
    connection
}

fn write(connection: &Connection, waiting: &Receiver<Write>) {
    let mut seqs = vec![0_u64; SESSIONS];
    while let Ok(first) = waiting.recv() {
        let batch: Vec<Write> =
            std::iter::once(first).chain(waiting.try_iter().take(511)).collect();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        let insert = "INSERT INTO events (session_id, ts, type, data, seq) \
                      VALUES (?1, '2026-01-01T00:00:00.000Z', 'pre_tool', ?2, ?3)";
        let advance = "UPDATE sessions SET last_seq = ?1 WHERE id = ?2";
        let mut answers = Vec::with_capacity(batch.len());
        for (body, answer) in batch {
            let text = std::str::from_utf8(&body).unwrap();
            let (number, data) = text.split_at(2);
            let number: usize = number.parse().unwrap();
            seqs[number] += 1;
            let (id, seq) = (session_id(number), seqs[number]);
            connection.prepare_cached(insert).unwrap().execute((&id, data, seq as i64)).unwrap();
            connection.prepare_cached(advance).unwrap().execute((seq as i64, &id)).unwrap();
            answers.push((answer, seq));
        }
        connection.execute_batch("COMMIT").unwrap();
        for (answer, seq) in answers {
            let _ = answer.send(seq);
        }
    }
}
