//! Rows of one table: looked through in pages, cleaned one by one.

use ah_model::{Event, Redactions, Scrub, ScrubFinding, ScrubPlace, limits, redact::Finding};
use ah_store::StoreError;

use super::table::{EVENTS, Key, Table};
use crate::reader::Reader;
use crate::search::upkeep;
use crate::statement::Statement;
use crate::tx::{Dialect, More, Param, Row, Tx, query_first};

/// Content that one step looks at before it ends early.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// Rows that one step changes: some milliseconds' work, so that no writer waits long.
const CHANGED_MAX: usize = 100;
/// PostgreSQL sends all rows of a statement, and one may be megabytes.
const SENT_MAX: usize = 32;

/// The key of a row.
#[derive(Debug, Clone)]
pub(super) enum RowKey {
    Number(i64),
    Text(String),
}

impl RowKey {
    fn param(&self) -> Param<'_> {
        match self {
            Self::Number(number) => (*number).into(),
            Self::Text(text) => text.into(),
        }
    }
}

/// A secret, before it is said in which place.
pub(super) struct Found {
    id: String,
    finding: Finding,
}

impl Found {
    pub(super) fn at(self, place: ScrubPlace) -> ScrubFinding {
        let Finding { rule, path, count } = self.finding;
        ScrubFinding { place, id: self.id, path, rule: rule.to_owned(), count: count as u64 }
    }
}

/// What a page of rows holds.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) rows: u64,
    /// The rows with secrets.
    pub(super) keys: Vec<RowKey>,
    pub(super) found: Redactions,
    pub(super) findings: Vec<Found>,
    /// The place of the last row; absent when there are no more behind it.
    pub(super) last: Option<String>,
}

/// Looks through rows behind `after`.
pub(super) fn look(
    tx: &mut dyn Tx,
    table: &'static Table,
    scrub: &Scrub,
    after: Option<&str>,
) -> Result<Looked, StoreError> {
    // Within a session events are gone through by their seq, which has an index.
    let by_seq = table.name == EVENTS.name && scrub.session_id.is_some();
    let order = if by_seq { Key::Number("seq") } else { table.key };
    let most = match tx.dialect() {
        Dialect::Sqlite => limits::SCRUB_ROWS_MAX,
        Dialect::Postgres => SENT_MAX,
    };
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name()).collect();
    let (key, id) = (table.key.name(), table.id);
    let select = format!(
        "SELECT {key}, {}, {id}, {} FROM {} WHERE ",
        order.name(),
        columns.join(", "),
        table.name
    );
    let mut query = Statement::new(&select, tx.dialect());
    query.push(order.name()).push(" > ");
    match order {
        Key::Number(_) => query.param(after.map_or(Ok(i64::MIN), parse)?),
        Key::Text(_) => query.param(after.unwrap_or("")),
    };
    if let (Some(session), Some(column)) = (&scrub.session_id, table.session) {
        query.condition(&format!("{column} = "), session.as_str());
    }
    if let Some(since) = scrub.since {
        query.condition(&format!("{} >= ", table.time), since);
    }
    // By the table's own column: what is selected has its name more than once.
    query.push(" ORDER BY ").push(table.name).push(".").push(order.name());
    query.push(" LIMIT ").param(most as u64);
    let mut page = Page { table, order, looked: Looked::default(), bytes: 0, is_cut: false };
    tx.query(&query.sql, &query.params, &mut |row| page.row(row))?;
    let mut looked = page.looked;
    if !page.is_cut && looked.rows < most as u64 {
        looked.last = None;
    }
    Ok(looked)
}

fn parse(after: &str) -> Result<i64, StoreError> {
    let invalid = |_| ah_model::Invalid::new("from", format!("{after:?} is no number"));
    after.parse().map_err(|error| invalid(error).into())
}

struct Page {
    table: &'static Table,
    order: Key,
    looked: Looked,
    bytes: usize,
    is_cut: bool,
}

impl Page {
    fn row(&mut self, row: &dyn Row) -> Result<More, StoreError> {
        let key = key(row, self.table.key, 0)?;
        let last = match self.order {
            Key::Number(_) => row.int(1)?.to_string(),
            Key::Text(_) => row.text(1)?,
        };
        let mut is_found = false;
        for (at, column) in self.table.columns.iter().enumerate() {
            let Some(text) = row.opt_str(3 + at)? else { continue };
            self.bytes += text.len();
            for finding in column.redact(&text).findings {
                is_found = true;
                self.looked.found.add(finding.rule, finding.count as u64);
                if self.looked.findings.len() < limits::SCRUB_FINDINGS_MAX {
                    let path = finding.path.unwrap_or_default();
                    let path = Some(format!("/{}{path}", column.name()));
                    let id = row.text(2)?;
                    self.looked.findings.push(Found { id, finding: Finding { path, ..finding } });
                }
            }
        }
        self.looked.rows += 1;
        self.looked.last = Some(last);
        self.looked.keys.extend(is_found.then_some(key));
        self.is_cut = self.bytes > BYTES_MAX || self.looked.keys.len() >= CHANGED_MAX;
        Ok(if self.is_cut { More::No } else { More::Yes })
    }
}

fn key(row: &dyn Row, key: Key, column: usize) -> Result<RowKey, StoreError> {
    match key {
        Key::Number(_) => row.int(column).map(RowKey::Number),
        Key::Text(_) => row.text(column).map(RowKey::Text),
    }
}

/// Takes the secrets out of rows, as they are now. How many held any, and which.
pub(super) fn clean(
    tx: &mut dyn Tx,
    table: &'static Table,
    keys: &[RowKey],
) -> Result<(u64, Redactions), StoreError> {
    let (mut changed, mut found) = (Vec::new(), Redactions::default());
    for key in keys {
        let before = found.count();
        clean_row(tx, table, key, &mut found)?;
        if found.count() > before {
            changed.push(key.clone());
        }
    }
    if table.name == EVENTS.name {
        let events = changed.iter().map(|key| event(tx, key)).collect::<Result<Vec<_>, _>>()?;
        let events: Vec<_> = events.into_iter().flatten().collect();
        upkeep::rewrite(tx, &events)?;
    }
    Ok((changed.len() as u64, found))
}

fn clean_row(
    tx: &mut dyn Tx,
    table: &'static Table,
    key: &RowKey,
    found: &mut Redactions,
) -> Result<(), StoreError> {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name()).collect();
    let (name, by) = (table.name, table.key.name());
    let sql = format!(
        "SELECT {} FROM {name} WHERE {by} = $1{}",
        columns.join(", "),
        tx.dialect().for_update()
    );
    let read = |row: &dyn Row| {
        (0..columns.len()).map(|at| row.opt_text(at)).collect::<Result<Vec<_>, _>>()
    };
    // Somebody may have removed it meanwhile.
    let texts = query_first(tx, &sql, &[key.param()], read)?.unwrap_or_default();
    for (column, text) in table.columns.iter().zip(texts) {
        let Some(text) = text else { continue };
        let redacted = column.redact(&text);
        if redacted.findings.is_empty() {
            continue;
        }
        for finding in &redacted.findings {
            found.add(finding.rule, finding.count as u64);
        }
        let sql = format!("UPDATE {name} SET {} = $1 WHERE {by} = $2", column.name());
        tx.execute(&sql, &[(&*redacted.text).into(), key.param()])?;
    }
    Ok(())
}

const EVENT: &str = "SELECT id, session_id, seq, ts, type, data FROM events WHERE id = $1";

/// The event of a number; nothing when it cannot be read, which the index does not name either.
fn event(tx: &mut dyn Tx, key: &RowKey) -> Result<Option<(u64, Event)>, StoreError> {
    let read = |row: &dyn Row| -> Result<(u64, Event), StoreError> {
        let row = Reader::new(row);
        let (number, session_id) = (row.uint()?, row.parse()?);
        let (seq, ts, kind, data) = (row.uint()?, row.time()?, row.text()?, row.json()?);
        Ok((number, Event { session_id, seq, ts, kind, data, dedup_key: None }))
    };
    Ok(query_first(tx, EVENT, &[key.param()], |row| Ok(read(row).ok()))?.flatten())
}
