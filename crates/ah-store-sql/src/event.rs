//! Events in SQL: the append-only log.

use std::collections::HashMap;

use ah_model::{
    AgentId, Appended, Event, EventQuery, NewEvent, Order, Redactions, SessionId, SpendingSums,
    Timestamp, Usage, limits,
};
use ah_store::{EventWatch, Events, Kind, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::resources::Resources;
use crate::statement::{marks, padded};
use crate::tx::{Column, Dialect, More, Param, Row, Tx, query_all};
use crate::usage::{self, Owner};
use crate::watch::SqlWatch;
use crate::{agent, session, spending};

const COLUMNS: &[Column] = &[
    Column::Text("session_id"),
    Column::Int("seq"),
    Column::Time("ts"),
    Column::Text("type"),
    Column::Text("data"),
    Column::Text("dedup_key"),
];

/// What to append, and where.
pub(crate) struct Append<'a> {
    pub(crate) session: &'a SessionId,
    /// Only behind this seq.
    pub(crate) after: Option<u64>,
    pub(crate) events: &'a [NewEvent],
    /// The agent of the session, when the caller knows and has locked it.
    pub(crate) agent: Option<&'a AgentId>,
    /// When the session was active; absent when an import says that itself.
    pub(crate) active_at: Option<Timestamp>,
}

impl<'a> Append<'a> {
    fn new(session: &'a SessionId, events: &'a [NewEvent], ctx: &Resources) -> Self {
        Self { session, after: None, events, agent: None, active_at: Some(ctx.now()) }
    }
}

/// Rows are locked in one order everywhere: the agent, then its session.
pub(crate) fn append(
    tx: &mut dyn Tx,
    ctx: &Resources,
    wanted: &Append<'_>,
) -> Result<Appended, StoreError> {
    let Append { session, events, .. } = *wanted;
    let spent: Vec<Usage> = events.iter().map(|event| Usage::of_event(&event.data)).collect();
    let counted = spent.iter().any(|usage| *usage != Usage::default());
    let agent = match wanted.agent {
        Some(agent) => Some(agent.clone()),
        None if counted => agent::lock_of_session(tx, session)?,
        None => None,
    };
    let before = session::lock(tx, session)?;
    if let Some(expected) = wanted.after.filter(|expected| *expected != before) {
        let reason = format!("has {before} events, {expected} were expected");
        return Err(StoreError::conflict(Kind::Session, session, reason));
    }
    // An empty log has no keys to look for.
    let known = if before == 0 { HashMap::new() } else { known_keys(tx, session, events)? };
    let plan = Plan::new(before, events, known);
    let now = ctx.now();
    if !plan.new.is_empty() {
        let mut rows = plan.new.iter().map(|(seq, at)| row(session, *seq, &events[*at], now));
        tx.insert_rows("events", COLUMNS, &mut rows)?;
        advance(tx, session, plan.end, wanted.active_at)?;
    }
    if counted {
        let new = plan.new.iter().map(|(_, at)| (&events[*at], spent[*at]));
        spend(tx, session, agent.as_ref(), sums(new, now))?;
    }
    Ok(Appended {
        session_id: session.clone(),
        first_seq: plan.first_seq,
        last_seq: plan.last_seq,
        appended: plan.new.len() as u64,
        duplicates: (events.len() - plan.new.len()) as u64,
        redacted: Redactions::default(),
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
struct Plan {
    /// The seq of each new event, and its place among the given ones.
    new: Vec<(u64, usize)>,
    first_seq: u64,
    last_seq: u64,
    /// The newest seq of the session afterwards.
    end: u64,
}

impl Plan {
    fn new(before: u64, events: &[NewEvent], mut known: HashMap<String, u64>) -> Self {
        let mut plan = Self {
            new: Vec::with_capacity(events.len()),
            first_seq: u64::MAX,
            last_seq: 0,
            end: before,
        };
        for (at, event) in events.iter().enumerate() {
            let duplicate = event.dedup_key.as_ref().and_then(|key| known.get(key).copied());
            let seq = duplicate.unwrap_or_else(|| {
                plan.end += 1;
                plan.new.push((plan.end, at));
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
        let params = padded([session.as_str().into()], keys.iter().map(|key| (*key).into()));
        known.extend(query_all(tx, &sql, &params, |row| Ok((row.text(0)?, row.uint(1)?)))?);
    }
    Ok(known)
}

// A clock that went back does not take the session's activity back.
const ADVANCE: &str = "UPDATE sessions SET last_seq = $1, \
    last_activity_at = CASE WHEN last_activity_at < $2 THEN $2 ELSE last_activity_at END WHERE id = $3";
const ADVANCE_ONLY: &str = "UPDATE sessions SET last_seq = $1 WHERE id = $2";

fn advance(
    tx: &mut dyn Tx,
    session: &SessionId,
    end: u64,
    active_at: Option<Timestamp>,
) -> Result<(), StoreError> {
    let session = session.as_str().into();
    match active_at {
        Some(at) => tx.execute(ADVANCE, &[end.into(), at.into(), session]),
        None => tx.execute(ADVANCE_ONLY, &[end.into(), session]),
    }
    .map(drop)
}

/// What events spent, by day and model.
fn sums<'a>(events: impl Iterator<Item = (&'a NewEvent, Usage)>, now: Timestamp) -> SpendingSums {
    let mut sums = SpendingSums::default();
    for (event, usage) in events.filter(|(_, usage)| *usage != Usage::default()) {
        sums.add_event(&event.data, usage, event.ts.unwrap_or(now));
    }
    sums
}

fn spend(
    tx: &mut dyn Tx,
    session: &SessionId,
    agent: Option<&AgentId>,
    sums: SpendingSums,
) -> Result<(), StoreError> {
    let spent = sums.usage();
    if spent == Usage::default() {
        return Ok(());
    }
    spending::add(tx, session, sums)?;
    usage::add(tx, Owner::Session(session.as_str()), spent)?;
    agent.map_or(Ok(()), |agent| usage::add(tx, Owner::Agent(agent.as_str()), spent))
}

pub(crate) fn page(
    tx: &mut dyn Tx,
    session: &SessionId,
    query: &EventQuery,
) -> Result<Vec<Event>, StoreError> {
    session::last_seq(tx, session)?;
    let types = query.types.len();
    let mut params = vec![session.as_str().into(), query.after.into()];
    let up_to = query.up_to.map_or(String::new(), |up_to| {
        params.push(up_to.into());
        " AND seq <= $3".to_owned()
    });
    let of_type = match types {
        0 => String::new(),
        _ => format!(" AND type IN ({})", marks(params.len() + 1, types)),
    };
    let direction = match query.order {
        Order::Oldest => "ASC",
        Order::Newest => "DESC",
    };
    if let Some(last) = query.types.last() {
        let end = params.len() + types.next_power_of_two();
        params.extend(query.types.iter().map(Param::from));
        params.resize(end, last.into());
    }
    let limit = params.len();
    params.push((query.limit.get() as u64).into());
    let wanted = format!(
        "FROM events WHERE session_id = $1 AND seq > $2{up_to}{of_type} \
         ORDER BY seq {direction} LIMIT ${}",
        limit + 1
    );
    if tx.dialect() == Dialect::Postgres && query.limit.get() > SENT_WHOLE {
        params[limit] = rows_that_fit(tx, &wanted, &params)?.into();
    }
    let sql = format!("SELECT seq, ts, type, data, dedup_key {wanted}");
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
    if query.order == Order::Newest {
        events.reverse();
    }
    Ok(events)
}

/// PostgreSQL sends every row of a result, read or not: beyond this many, lengths are asked first.
const SENT_WHOLE: usize = 16;

/// How many of the rows fit a page.
fn rows_that_fit(tx: &mut dyn Tx, wanted: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
    let (mut rows, mut bytes) = (0, 0);
    tx.query(&format!("SELECT CAST(octet_length(data) AS bigint) {wanted}"), params, &mut |row| {
        bytes += row.opt_int(0)?.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if bytes > limits::PAGE_BYTES_MAX && rows > 0 {
            return Ok(More::No);
        }
        rows += 1;
        Ok(More::Yes)
    })?;
    Ok(rows)
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
        let (events, redacted) = self.clean_counted(events);
        self.once(move |tx, ctx| {
            let done = append(tx, ctx, &Append::new(&session, &events, ctx))?;
            Ok(Appended { redacted: redacted.clone(), ..done })
        })
        .await
    }

    async fn append_events_after(
        &self,
        session: SessionId,
        after: u64,
        events: Vec<NewEvent>,
    ) -> Result<Appended, StoreError> {
        NewEvent::check_batch(&events)?;
        let (events, redacted) = self.clean_counted(events);
        self.once(move |tx, ctx| {
            let behind = Append { after: Some(after), ..Append::new(&session, &events, ctx) };
            let done = append(tx, ctx, &behind)?;
            Ok(Appended { redacted: redacted.clone(), ..done })
        })
        .await
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ah_conformance::{SeededIds, TestClock};
    use ah_model::{NewEvent, NewRepo, NewSession, RawJson, Usage, Vcs};
    use ah_store::{Capabilities, Events, Ids, Sessions, block_on};

    use crate::usage::{self, Owner};
    use crate::{SqlStore, SqliteOptions};

    #[test]
    fn an_odd_value_elsewhere_in_the_row_refuses_no_usage() {
        let directory = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(directory.path().join("state.db"));
        let ids = Ids::new(Box::new(SeededIds::new(1)));
        let capabilities = Capabilities { workspaces: false };
        let clock = Arc::new(TestClock::new());
        let (store, _) = SqlStore::open_sqlite(options, capabilities, clock, ids).unwrap();
        let root_path = Some("/r".to_owned());
        let repo = NewRepo { vcs: Vcs::None, root_path, remote_url: None, default_branch: None };
        let new = NewSession::new(repo, "codex".parse().unwrap());
        let id = block_on(store.create_session(new)).unwrap().id;
        let odd = "UPDATE sessions SET pinned = 'odd', started_at = 'soon'";
        block_on(store.write(move |tx, _| tx.execute(odd, &[]))).unwrap();

        let data = RawJson::parse("data", r#"{"usage":{"inputTokens":7}}"#, usize::MAX).unwrap();
        let event = NewEvent { kind: "note".to_owned(), data, dedup_key: None, ts: None };
        block_on(store.append_events(id.clone(), vec![event; 2])).unwrap();
        let usage =
            block_on(store.read(move |tx, _| usage::of(tx, Owner::Session(id.as_str())))).unwrap();
        assert_eq!(usage, Usage { input_tokens: 14, ..Usage::default() });
    }
}
