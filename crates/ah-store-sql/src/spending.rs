//! Spendings in SQL: a row per session, day, model and whether the cost was told, added to when
//! events are appended.

use ah_model::limits::SPENDING_SUMS_MAX;
use ah_model::{
    Cost, Day, DaySpending, MODEL_LABEL, Page, PageRequest, Session, SessionId, Spending,
    SpendingFilter, SpendingKey, SpendingSums, Timestamp, Usage,
};
use ah_store::{Spendings, StoreError};
use async_trait::async_trait;

use crate::SqlStore;
use crate::reader::Reader;
use crate::statement::Statement;
use crate::tx::{Row, Tx, query_all, query_first};
use crate::usage;

/// A column of an upsert: it grows, and stops at what the model counts to.
macro_rules! grown {
    ($column:literal) => {
        concat!(
            $column,
            " = CASE WHEN spendings.",
            $column,
            " > 4611686018427387903 - excluded.",
            $column,
            " THEN 4611686018427387903 ELSE spendings.",
            $column,
            " + excluded.",
            $column,
            " END"
        )
    };
}

const ADD: &str = concat!(
    "INSERT INTO spendings (session_id, day, told, model, input_tokens, output_tokens, \
     cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
     ON CONFLICT (session_id, day, told, model) DO UPDATE SET ",
    grown!("input_tokens"),
    ", ",
    grown!("output_tokens"),
    ", ",
    grown!("cache_read_tokens"),
    ", ",
    grown!("cache_write_tokens"),
    ", ",
    grown!("reasoning_tokens"),
    ", ",
    grown!("cost_nanos"),
);

/// Adds to the sums of a session that the transaction has locked.
pub(crate) fn add(
    tx: &mut dyn Tx,
    session: &SessionId,
    spent: SpendingSums,
) -> Result<(), StoreError> {
    let spent = match spent.lacks_model() {
        true => spent.with_model(&model(tx, session)?),
        false => spent,
    };
    for (key, (usage, cost)) in &spent.0 {
        let params = [
            session.as_str().into(),
            key.day.as_str().into(),
            key.told.into(),
            (&key.model).into(),
            usage.input_tokens.into(),
            usage.output_tokens.into(),
            usage.cache_read_tokens.into(),
            usage.cache_write_tokens.into(),
            usage.reasoning_tokens.into(),
            cost.nanos().into(),
        ];
        tx.execute(ADD, &params)?;
    }
    Ok(())
}

const MODEL: &str = "SELECT v FROM session_labels WHERE session_id = $1 AND k = $2";

/// The model that a session names.
fn model(tx: &mut dyn Tx, session: &SessionId) -> Result<String, StoreError> {
    let params = [session.as_str().into(), MODEL_LABEL.into()];
    Ok(query_first(tx, MODEL, &params, |row| row.text(0))?.unwrap_or_default())
}

const OF_SESSION: &str = "SELECT day, told, model, input_tokens, output_tokens, \
    cache_read_tokens, cache_write_tokens, reasoning_tokens, cost_nanos FROM spendings \
    WHERE session_id = $1";
const FORGET: &str = "DELETE FROM spendings WHERE session_id = $1";

/// Makes the spendings of a session add up to its totals, which an import may have set.
pub(crate) fn settle(tx: &mut dyn Tx, session: &Session) -> Result<(), StoreError> {
    let id = &session.id;
    let rows = query_all(tx, OF_SESSION, &[id.as_str().into()], |row| {
        let row = Reader::new(row);
        let key = SpendingKey { day: day(&row)?, told: row.bool()?, model: row.text()? };
        Ok((key, (usage::read(&row)?, Cost::from_nanos(row.uint()?))))
    })?;
    let mut held = SpendingSums::default();
    rows.into_iter().for_each(|(key, sum)| held.add(key, sum));
    if held.usage() == session.usage {
        return Ok(());
    }
    tx.execute(FORGET, &[id.as_str().into()])?;
    let model = session.labels.0.get(MODEL_LABEL).cloned().unwrap_or_default();
    add(tx, id, SpendingSums::of_total(session.usage, session.last_activity_at, model))
}

const SELECT: &str = "SELECT p.session_id, s.repo_id, a.name, p.day, p.told, p.model, \
    p.input_tokens, p.output_tokens, p.cache_read_tokens, p.cache_write_tokens, \
    p.reasoning_tokens, p.cost_nanos FROM spendings p JOIN sessions s ON s.id = p.session_id \
    JOIN agents a ON a.id = s.agent_id WHERE ";

fn list(
    tx: &mut dyn Tx,
    filter: &SpendingFilter,
    page: &PageRequest,
) -> Result<Page<Spending>, StoreError> {
    let after = page.cursor.as_ref().map(Spending::after).transpose()?;
    let mut query = Statement::new(SELECT, tx.dialect());
    match &after {
        None => drop(query.push("1 = 1")),
        Some((session, key)) => {
            query.push("(p.session_id, p.day, p.told, p.model) > (").param(session.as_str());
            query.push(", ").param(key.day.as_str()).push(", ").param(key.told);
            query.push(", ").param(&key.model).push(")");
        }
    }
    conditions(&mut query, filter);
    query.push(" ORDER BY p.session_id, p.day, p.told, p.model LIMIT ");
    query.param(page.limit.get() as u64 + 1);
    let items = query_all(tx, &query.sql, &query.params, read)?;
    Ok(Page::from_overfull(items, page.limit, Spending::cursor))
}

fn conditions<'a>(query: &mut Statement<'a>, filter: &'a SpendingFilter) {
    if let Some(since) = &filter.since {
        query.condition("p.day >= ", since.as_str());
    }
    if let Some(until) = &filter.until {
        query.condition("p.day <= ", until.as_str());
    }
    if let Some(session) = &filter.session {
        query.condition("p.session_id = ", session.as_str());
    }
    if let Some(repo) = filter.repo_id {
        query.condition("s.repo_id = ", repo);
    }
    if let Some(agent) = &filter.agent {
        query.condition("a.name = ", agent);
    }
}

/// The two halves of a sum: whole, it might be more than a number of the engine holds.
macro_rules! halves {
    ($column:literal) => {
        concat!(
            "CAST(sum(p.",
            $column,
            " / 2147483648) AS bigint), CAST(sum(p.",
            $column,
            " % 2147483648) AS bigint)"
        )
    };
}

const SUMS: &str = concat!(
    "SELECT p.day, p.told, p.model, count(*), ",
    halves!("input_tokens"),
    ", ",
    halves!("output_tokens"),
    ", ",
    halves!("cache_read_tokens"),
    ", ",
    halves!("cache_write_tokens"),
    ", ",
    halves!("reasoning_tokens"),
    ", ",
    halves!("cost_nanos"),
    " FROM spendings p ",
);
/// Only where it is asked for what the session knows: a row more for each is most of the time.
const OF_SESSIONS: &str =
    "JOIN sessions s ON s.id = p.session_id JOIN agents a ON a.id = s.agent_id ";

fn sums(tx: &mut dyn Tx, filter: &SpendingFilter) -> Result<Vec<DaySpending>, StoreError> {
    let mut query = Statement::new(SUMS, tx.dialect());
    if filter.repo_id.is_some() || filter.agent.is_some() {
        query.push(OF_SESSIONS);
    }
    query.push("WHERE 1 = 1");
    conditions(&mut query, filter);
    query.push(" GROUP BY p.day, p.told, p.model ORDER BY p.day DESC, p.told, p.model LIMIT ");
    query.param(SPENDING_SUMS_MAX as u64);
    query_all(tx, &query.sql, &query.params, read_sum)
}

fn read_sum(row: &dyn Row) -> Result<DaySpending, StoreError> {
    let row = Reader::new(row);
    let (day, told, model, sessions) = (day(&row)?, row.bool()?, row.text()?, row.uint()?);
    let whole = || {
        let (high, low) = (row.uint()?, row.uint()?);
        Ok::<_, StoreError>(high.saturating_mul(1 << 31).saturating_add(low))
    };
    let usage = Usage {
        input_tokens: whole()?,
        output_tokens: whole()?,
        cache_read_tokens: whole()?,
        cache_write_tokens: whole()?,
        reasoning_tokens: whole()?,
    };
    // Adding to nothing stops at what the model counts to.
    let usage = Usage::default().plus(usage);
    let told = told.then_some(Cost::from_nanos(whole()?));
    Ok(DaySpending { day, model, sessions, usage, told })
}

fn read(row: &dyn Row) -> Result<Spending, StoreError> {
    let row = Reader::new(row);
    let (session_id, repo_id, agent) = (row.parse()?, row.int()?, row.text()?);
    let (day, told, model) = (day(&row)?, row.bool()?, row.text()?);
    let (usage, cost) = (usage::read(&row)?, Cost::from_nanos(row.uint()?));
    let told = told.then_some(cost);
    Ok(Spending { session_id, repo_id, agent, day, model, usage, told })
}

/// A day that another program left there and that is none is the first one, rather than the end of a
/// whole list.
fn day(row: &Reader<'_>) -> Result<Day, StoreError> {
    Ok(row.text()?.parse().unwrap_or_else(|_| Day::of(Timestamp::EPOCH)))
}

#[async_trait]
impl Spendings for SqlStore {
    async fn list_spendings(
        &self,
        filter: SpendingFilter,
        page: PageRequest,
    ) -> Result<Page<Spending>, StoreError> {
        self.read(move |tx, _| list(tx, &filter, &page)).await
    }

    async fn spending_sums(&self, filter: SpendingFilter) -> Result<Vec<DaySpending>, StoreError> {
        self.read(move |tx, _| sums(tx, &filter)).await
    }
}
