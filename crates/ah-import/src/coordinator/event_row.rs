//! A row of `events` as an event.

use ah_model::{NewEvent, RawJson, Timestamp, to_hex};

use super::time::{read_time, written};
use crate::foreign_db::{Cell, TableRow};
use crate::raw_object::json_of;
use crate::report::Tally;

pub(super) const TABLE: &str = "events";

/// The columns that hold JSON as text.
const JSON_COLUMNS: [&str; 4] = ["tool_input", "tool_output", "content", "result_data"];

/// The columns that are not a part of the payload.
const OWN_COLUMNS: [&str; 4] = ["id", "session_id", "event_type", "timestamp"];

/// What becomes of a row.
#[derive(Debug)]
pub(super) struct EventRow {
    /// What the row is known by, in any copy of the file.
    pub(super) key: String,
    pub(super) kind: String,
    /// All that it holds.
    pub(super) data: RawJson,
    pub(super) time: Option<Timestamp>,
    /// Why it cannot be an event.
    pub(super) refused: Option<String>,
}

impl EventRow {
    /// Reads a row. Parts that are not what they should be are kept under other names.
    pub(super) fn of(row: &TableRow, tally: &mut Tally) -> Self {
        let key = format!("e{}-{:016x}", row.rowid, row.fingerprint());
        let time = read_time(row.cell("timestamp"));
        let data = payload(row, time, tally);
        let kind = row.cell("event_type");
        let text = kind.text().map(str::to_owned);
        let is_text = text.is_some();
        let kind = text.unwrap_or_else(|| String::from_utf8_lossy(&kind.bytes()).into_owned());
        let event = NewEvent { kind, data, dedup_key: None, ts: None };
        let refused = match event.check() {
            _ if !is_text => Some("its event_type is no text".to_owned()),
            Err(invalid) => Some(invalid.to_string()),
            Ok(()) => None,
        };
        Self { key, kind: event.kind, data: event.data, time, refused }
    }
}

/// The parts of a row as an object, as they were written.
fn payload(row: &TableRow, time: Option<Timestamp>, tally: &mut Tally) -> RawJson {
    let mut members = Vec::new();
    for (column, cell) in &row.cells {
        if OWN_COLUMNS.contains(&column.as_str()) {
            continue;
        }
        let is_json = JSON_COLUMNS.contains(&column.as_str());
        match part(cell, is_json) {
            Ok(json) => members.push(member(column, &json)),
            Err(reason) => {
                tally.kept_raw(TABLE, row.line(), &format!("{column}: {reason}"));
                members.extend(raw_members(column, &cell.bytes()));
            }
        }
    }
    members.extend(timestamp(row, time, tally));
    json_of(format!("{{{}}}", members.join(",")))
}

/// The JSON value of a column, or why there is none.
fn part(cell: &Cell, is_json: bool) -> Result<RawJson, String> {
    let is_bytes = matches!(cell, Cell::Text(_) | Cell::Blob(_));
    match cell {
        _ if is_json => crate::agent::json(&cell.bytes()),
        _ if is_bytes && std::str::from_utf8(&cell.bytes()).is_err() => {
            Err("is not UTF-8".to_owned())
        }
        _ => Ok(cell.json()),
    }
}

/// A value that cannot be read: as text, and in hexadecimal when it is no text.
fn raw_members(column: &str, bytes: &[u8]) -> Vec<String> {
    let text = |text: &str| RawJson::of(&text).unwrap_or_else(|_| RawJson::null());
    let raw = text(&String::from_utf8_lossy(bytes));
    let mut members = vec![member(&format!("{column}_raw"), &raw)];
    if std::str::from_utf8(bytes).is_err() {
        members.push(member(&format!("{column}_hex"), &text(&to_hex(bytes))));
    }
    members
}

/// The time as it was written, where ours does not say the same.
fn timestamp(row: &TableRow, time: Option<Timestamp>, tally: &mut Tally) -> Option<String> {
    let cell = row.cell("timestamp");
    if time.is_none() {
        tally.records.untimed += 1;
        let what = "timestamp: no time, that of the record before is taken";
        tally.remark(TABLE, row.line(), what);
    }
    let same = time.is_some_and(|time| cell.text() == Some(&written(time)));
    (!same && !cell.is_null()).then(|| member("timestamp", &cell.json()))
}

fn member(name: &str, value: &RawJson) -> String {
    let name = RawJson::of(&name).unwrap_or_else(|_| RawJson::null());
    format!("{}:{}", name.as_str(), value.as_str())
}
