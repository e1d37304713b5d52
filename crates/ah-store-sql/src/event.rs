//! Events in SQL: the append-only log.

use std::collections::HashMap;

use ah_model::{
    Appended, Event, EventOrder, EventQuery, NewEvent, SessionId, Timestamp, Usage, limits,
};
use ah_store::{EventWatch, Events, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::context::Context;
use crate::reader::Reader;
use crate::session;
use crate::tx::{Column, More, Param, Row, Tx, query_all};
use crate::watch::SqlWatch;

const COLUMNS: &[Column] = &[
    Column::Text("session_id"),
    Column::Int("seq"),
    Column::Time("ts"),
    Column::Text("type"),
    Column::Text("data"),
    Column::Text("dedup_key"),
];

fn append(
    tx: &mut dyn Tx,
    ctx: &Context,
    session: &SessionId,
    events: &[NewEvent],
) -> Result<Appended, StoreError> {
    let before = session::lock(tx, session)?;
    let plan = Plan::new(before, events, known_keys(tx, session, events)?);
    if !plan.new.is_empty() {
        let now = ctx.now();
        let mut rows = plan.new.iter().map(|(seq, event)| row(session, *seq, event, now));
        tx.insert_rows("events", COLUMNS, &mut rows)?;
        advance(tx, session, &plan, now)?;
    }
    Ok(Appended {
        session_id: session.clone(),
        first_seq: plan.first_seq,
        last_seq: plan.last_seq,
        appended: plan.new.len() as u64,
        duplicates: (events.len() - plan.new.len()) as u64,
    })
}

fn row<'a>(
    session: &'a SessionId,
    seq: u64,
    event: &'a NewEvent,
    now: Timestamp,
) -> Vec<Param<'a>> {
    vec![
        session.as_str().into(),
        seq.into(),
        event.ts.unwrap_or(now).into(),
        (&event.kind).into(),
        event.data.as_str().into(),
        event.dedup_key.as_ref().into(),
    ]
}

/// Which of the given events are new, and the seqs of all.
struct Plan<'a> {
    new: Vec<(u64, &'a NewEvent)>,
    first_seq: u64,
    last_seq: u64,
    /// The newest seq of the session afterwards.
    end: u64,
}

impl<'a> Plan<'a> {
    fn new(before: u64, events: &'a [NewEvent], mut known: HashMap<String, u64>) -> Self {
        let mut plan = Self {
            new: Vec::with_capacity(events.len()),
            first_seq: u64::MAX,
            last_seq: 0,
            end: before,
        };
        for event in events {
            let duplicate = event.dedup_key.as_ref().and_then(|key| known.get(key).copied());
            let seq = duplicate.unwrap_or_else(|| {
                plan.end += 1;
                plan.new.push((plan.end, event));
                if let Some(key) = &event.dedup_key {
                    known.insert(key.clone(), plan.end);
                }
                plan.end
            });
            plan.first_seq = plan.first_seq.min(seq);
            plan.last_seq = plan.last_seq.max(seq);
        }
        plan
    }
}

const KEYS_AT_ONCE: usize = 128;

/// The seqs of the keys that the session has already.
fn known_keys(
    tx: &mut dyn Tx,
    session: &SessionId,
    events: &[NewEvent],
) -> Result<HashMap<String, u64>, StoreError> {
    let keys: Vec<&String> = events.iter().filter_map(|event| event.dedup_key.as_ref()).collect();
    let mut known = HashMap::new();
    for keys in keys.chunks(KEYS_AT_ONCE) {
        let marks = marks(2, keys.len());
        let sql = format!(
            "SELECT dedup_key, seq FROM events WHERE session_id = $1 AND dedup_key IN ({marks})"
        );
        let params = padded(session.as_str(), keys.iter().map(|key| (*key).into()));
        known.extend(query_all(tx, &sql, &params, |row| Ok((row.text(0)?, row.uint(1)?)))?);
    }
    Ok(known)
}

/// `$first, …` for a power of two of values, so that few different statements are prepared.
fn marks(first: usize, count: usize) -> String {
    let marks: Vec<_> =
        (first..first + count.next_power_of_two()).map(|number| format!("${number}")).collect();
    marks.join(", ")
}

/// `head` and the values, the last of them repeated to a power of two.
fn padded<'a>(head: &'a str, values: impl Iterator<Item = Param<'a>>) -> Vec<Param<'a>> {
    let mut params: Vec<_> = std::iter::once(head.into()).chain(values).collect();
    let last = params[params.len() - 1];
    let count = (params.len() - 1).next_power_of_two();
    params.resize(count + 1, last);
    params
}

// A clock that went back does not take the session's activity back.
const ADVANCE: &str = "UPDATE sessions SET last_seq = $1, \
    last_activity_at = CASE WHEN last_activity_at < $2 THEN $2 ELSE last_activity_at END WHERE id = $3";
const ADD_USAGE: &str = "UPDATE sessions SET input_tokens = $1, output_tokens = $2, \
    cache_read_tokens = $3, cache_write_tokens = $4, reasoning_tokens = $5 WHERE id = $6";

fn advance(
    tx: &mut dyn Tx,
    session: &SessionId,
    plan: &Plan<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    tx.execute(ADVANCE, &[plan.end.into(), now.into(), session.as_str().into()])?;
    let none = Usage::default();
    let usage =
        plan.new.iter().fold(none, |sum, (_, event)| sum.plus(Usage::of_event(&event.data)));
    if usage == none {
        return Ok(());
    }
    let before = session::get(tx, session, session::Access::Read)?.usage;
    let total = before.plus(usage);
    let params = [
        total.input_tokens.into(),
        total.output_tokens.into(),
        total.cache_read_tokens.into(),
        total.cache_write_tokens.into(),
        total.reasoning_tokens.into(),
        session.as_str().into(),
    ];
    tx.execute(ADD_USAGE, &params).map(drop)
}

pub(crate) fn page(
    tx: &mut dyn Tx,
    session: &SessionId,
    query: &EventQuery,
) -> Result<Vec<Event>, StoreError> {
    session::last_seq(tx, session)?;
    let types = query.types.len();
    let of_type = match types {
        0 => String::new(),
        _ => format!(" AND type IN ({})", marks(3, types)),
    };
    let direction = match query.order {
        EventOrder::Oldest => "ASC",
        EventOrder::Newest => "DESC",
    };
    let mut params = vec![session.as_str().into(), query.after.into()];
    if let Some(last) = query.types.last() {
        params.extend(query.types.iter().map(Param::from));
        params.resize(2 + types.next_power_of_two(), last.into());
    }
    let limit = params.len() + 1;
    params.push((query.limit.get() as u64).into());
    let sql = format!(
        "SELECT seq, ts, type, data, dedup_key FROM events \
         WHERE session_id = $1 AND seq > $2{of_type} ORDER BY seq {direction} LIMIT ${limit}"
    );
    let mut events = Vec::new();
    let mut bytes = 0;
    tx.query(&sql, &params, &mut |row| {
        let event = read(session, row)?;
        bytes += event.data.as_str().len();
        if bytes > limits::PAGE_BYTES_MAX && !events.is_empty() {
            return Ok(More::No);
        }
        events.push(event);
        Ok(More::Yes)
    })?;
    if query.order == EventOrder::Newest {
        events.reverse();
    }
    Ok(events)
}

fn read(session: &SessionId, row: &dyn Row) -> Result<Event, StoreError> {
    let row = Reader::new(row);
    Ok(Event {
        session_id: session.clone(),
        seq: row.uint()?,
        ts: row.time()?,
        kind: row.text()?,
        data: row.json()?,
        dedup_key: row.opt_text()?,
    })
}

#[async_trait]
impl Events for SqlStore {
    async fn append_events(
        &self,
        session: SessionId,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        self.write(move |tx, ctx| append(tx, ctx, &session, &events)).await
    }

    async fn events(
        &self,
        session: SessionId,
        query: EventQuery,
    ) -> Result<Vec<Event>, StoreError> {
        query.check()?;
        self.read(move |tx, _| page(tx, &session, &query)).await
    }

    async fn watch_events(
        &self,
        session: SessionId,
        after: u64,
    ) -> Result<Box<dyn EventWatch>, StoreError> {
        let known = session.clone();
        self.read(move |tx, _| session::last_seq(tx, &known)).await?;
        Ok(Box::new(SqlWatch::new(self.clone(), session, after)?))
    }
}
