//! Appends to PostgreSQL, beside the same rows written by hand over the same kind of connection.

use std::sync::Arc;
use std::time::Duration;

use ah_model::SessionId;
use ah_store::{Capabilities, Events, Ids, Sessions, SystemClock, SystemIds, block_on};
use ah_store_sql::{PostgresOptions, SqlStore};
use postgres::{Client, NoTls, Statement};

use super::figure::{Figure, Goal, alternate, rate};
use super::given::{event, long_id, new_session, payload};

const ROUNDS: usize = 5;
const TIME: Duration = Duration::from_millis(700);
const THREADS: usize = 8;
const BATCH: usize = 256;

#[expect(clippy::disallowed_methods, reason = "the server is named by whoever started it")]
pub(crate) fn run() -> Vec<Figure> {
    let url = std::env::var("AH_TEST_POSTGRES").unwrap_or_default();
    if url.is_empty() || url == "skip" {
        eprintln!("AH_TEST_POSTGRES names no server: PostgreSQL is left out");
        return Vec::new();
    }
    let bench = Bench::new(url);
    vec![bench.single(), bench.batch(), bench.threads()]
}

struct Bench {
    url: String,
    schema: String,
    store: SqlStore,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let mut client = Client::connect(&self.url, NoTls).unwrap();
        client.batch_execute(&format!("DROP SCHEMA {} CASCADE", self.schema)).unwrap();
    }
}

impl Bench {
    fn new(url: String) -> Self {
        let schema = format!("bench_{}", std::process::id());
        let options =
            PostgresOptions { schema: Some(schema.clone()), ..PostgresOptions::new(url.clone()) };
        let ids = Ids::new(Box::new(SystemIds));
        let capabilities = Capabilities { workspaces: true };
        let clock = Arc::new(SystemClock);
        let (store, _) = SqlStore::connect_postgres(options, capabilities, clock, ids).unwrap();
        // A session per thread and side: rows of one session wait for each other by design.
        for number in 0..2 * THREADS {
            block_on(store.create_session(new_session(&long_id(number)))).unwrap();
        }
        Self { url, schema, store }
    }

    fn raw(&self, session: usize) -> Raw {
        let mut client = Client::connect(&self.url, NoTls).unwrap();
        client.batch_execute(&format!("SET search_path TO {}", self.schema)).unwrap();
        Raw::new(client, long_id(session))
    }

    fn append(&self, session: usize, count: usize) {
        let id: SessionId = long_id(session).parse().unwrap();
        block_on(self.store.append_events(id, vec![event(); count])).unwrap();
    }

    fn single(&self) -> Figure {
        let mut raw = self.raw(THREADS);
        let (ours, raw) =
            alternate(ROUNDS, || rate(TIME, || self.append(0, 1)), || rate(TIME, || raw.append(1)));
        figure("one event", ours, raw, 0.7)
    }

    fn batch(&self) -> Figure {
        let mut raw = self.raw(THREADS);
        let (ours, raw) = alternate(
            ROUNDS,
            || rate(TIME, || self.append(0, BATCH)) * BATCH as f64,
            || rate(TIME, || raw.append(BATCH)) * BATCH as f64,
        );
        figure("batches of 256", ours, raw, 0.7)
    }

    fn threads(&self) -> Figure {
        let mut raws: Vec<Raw> = (0..THREADS).map(|number| self.raw(THREADS + number)).collect();
        let (ours, raw) = alternate(
            ROUNDS,
            || {
                std::thread::scope(|scope| {
                    let threads: Vec<_> = (0..THREADS)
                        .map(|number| scope.spawn(move || rate(TIME, || self.append(number, 1))))
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
                })
            },
            || {
                std::thread::scope(|scope| {
                    let threads: Vec<_> = raws
                        .iter_mut()
                        .map(|raw| scope.spawn(move || rate(TIME, || raw.append(1))))
                        .collect();
                    threads.into_iter().map(|thread| thread.join().unwrap()).sum()
                })
            },
        );
        figure("8 threads at once", ours, raw, 0.7)
    }
}

fn figure(name: &str, ours: f64, raw: f64, goal: f64) -> Figure {
    Figure {
        name: format!("PostgreSQL append, {name}"),
        unit: "events/s",
        ours,
        raw,
        goal: Goal::AtLeast(goal),
        note: "raw: the same rows by hand, one connection a thread".to_owned(),
    }
}

/// A connection that writes the rows by hand.
struct Raw {
    client: Client,
    session: String,
    last: Statement,
    insert: Statement,
    advance: Statement,
    payload: String,
}

impl Raw {
    fn new(mut client: Client, session: String) -> Self {
        let last =
            client.prepare("SELECT last_seq FROM sessions WHERE id = $1 FOR UPDATE").unwrap();
        let insert = "INSERT INTO events (session_id, seq, ts, type, data) \
                      SELECT $1, s, now(), 'pre_tool', d FROM unnest($2::bigint[], $3::text[]) t (s, d)";
        let insert = client.prepare(insert).unwrap();
        let advance = "UPDATE sessions SET last_seq = $1, last_activity_at = now() WHERE id = $2";
        let advance = client.prepare(advance).unwrap();
        Self { client, session, last, insert, advance, payload: payload() }
    }

    fn append(&mut self, count: usize) {
        let mut tx = self.client.transaction().unwrap();
        let last: i64 = tx.query_one(&self.last, &[&self.session]).unwrap().get(0);
        let seqs: Vec<i64> = (last + 1..=last + count as i64).collect();
        let payloads = vec![self.payload.as_str(); count];
        tx.execute(&self.insert, &[&self.session, &seqs, &payloads]).unwrap();
        tx.execute(&self.advance, &[&(last + count as i64), &self.session]).unwrap();
        tx.commit().unwrap();
    }
}
