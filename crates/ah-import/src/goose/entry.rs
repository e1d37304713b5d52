//! The events that rows become.

use ah_model::{Timestamp, Usage};

use super::SOURCE;
use crate::foreign_db::{Cell, TableRow};
use crate::raw_object::Moment;
use crate::transcript::{
    Facts, RowEntry, Spent, Title, TitleRank, Turn, View, count_of, foreign, row_json, text_of,
};

/// Seconds that are more than this are milliseconds.
const SECONDS_MAX: i64 = 100_000_000_000;
/// What goose itself says in the user's name begins with.
const MADE_UP: [&str; 2] = ["<turn-context>", "<info-msg>"];

/// A time as SQLite writes it.
pub(super) fn day_time(cell: &Cell) -> Option<Timestamp> {
    let text = cell.text()?;
    let zoned = match text.ends_with('Z') || text.contains('+') {
        true => text.replacen(' ', "T", 1),
        false => format!("{}Z", text.replacen(' ', "T", 1)),
    };
    zoned.parse().ok()
}

fn seconds(row: &TableRow) -> Option<Timestamp> {
    match row.cell("created_timestamp") {
        Cell::Integer(time) if *time > SECONDS_MAX => Some(Timestamp::from_unix_ms(*time)),
        Cell::Integer(time) => Some(Timestamp::from_unix_ms(time.saturating_mul(1_000))),
        other => match other.moment() {
            Moment::Exact(time) | Moment::Rounded(time) => Some(time),
            Moment::Absent => None,
        },
    }
}

/// The row of a session, as it was first seen.
pub(super) fn of_session(row: &TableRow) -> RowEntry {
    let inner = ["extension_data", "model_config_json", "recipe_json", "parent_delegation"];
    let data = row_json(row, &inner);
    let config = View::of(&data).object("model_config_json");
    let facts = Facts { model: config.text("model_name"), ..Facts::default() };
    let time = day_time(row.cell("created_at"));
    let (kind, key) = ("session_start".to_owned(), "session".to_owned());
    RowEntry { kind, key, data: data.clone(), time, facts, spent: None }
}

/// The tokens of a whole session, where there is no row for each call.
pub(super) fn of_totals(row: &TableRow) -> RowEntry {
    let names = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
    let counts = names.map(|name| count_of(row, &format!("accumulated_{name}")));
    let usage = usage(counts);
    let spent = Spent { answer: "session".to_owned(), usage, model: None, cost_usd: None };
    let mut totals = row.clone();
    totals.cells.retain(|(name, _)| name.starts_with("accumulated_"));
    let key = format!("totals/{:016x}", totals.fingerprint());
    let (kind, time) = (foreign(SOURCE, "totals"), day_time(row.cell("updated_at")));
    let data = row_json(&totals, &[]);
    RowEntry { kind, key, data, time, facts: Facts::default(), spent: Some(spent) }
}

/// The row of a message.
pub(super) fn of_message(row: &TableRow) -> RowEntry {
    let data = row_json(row, &["content_json", "metadata_json"]);
    let line = View::of(&data);
    let mut facts = Facts::default();
    let kind = message_kind(&line, &mut facts);
    // The number of a row that is written again is another one.
    let mut said = row.clone();
    said.cells.retain(|(name, _)| ["role", "content_json", "metadata_json"].contains(&&**name));
    let id = row.cell("message_id").id().unwrap_or_else(|| format!("row/{}", row.rowid));
    let key = format!("message/{id}/{:016x}", said.fingerprint());
    RowEntry { kind, key, data: data.clone(), time: seconds(row), facts, spent: None }
}

fn message_kind(line: &View<'_>, facts: &mut Facts) -> String {
    let parts = line.get("content_json").and_then(|list| list.elements(usize::MAX));
    let parts: Vec<_> = parts.unwrap_or_default().into_iter().map(View::of_slice).collect();
    let has = |kind: &str| parts.iter().any(|part| part.text("type").as_deref() == Some(kind));
    let hidden = line.object("metadata_json").get("userVisible");
    let role = line.text("role").unwrap_or_default();
    if has("toolResponse") {
        facts.turn = Some(Turn::Open);
        return "tool_result".to_owned();
    }
    match role.as_str() {
        _ if hidden.is_some_and(|visible| visible.as_str() == "false") => foreign(SOURCE, &role),
        "assistant" => {
            facts.turn = Some(if has("toolRequest") { Turn::Open } else { Turn::Ended });
            "assistant_message".to_owned()
        }
        "user" => {
            let text = parts.iter().find_map(|part| part.text("text")).unwrap_or_default();
            if MADE_UP.iter().any(|begin| text.starts_with(begin)) {
                return foreign(SOURCE, &role);
            }
            facts.turn = Some(Turn::Open);
            facts.title = Title::of(TitleRank::Prompt, &text);
            "user_message".to_owned()
        }
        _ => foreign(SOURCE, &role),
    }
}

/// The row of a call's tokens.
pub(super) fn of_ledger(row: &TableRow) -> RowEntry {
    let names = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"];
    let usage = usage(names.map(|name| count_of(row, name)));
    let model = text_of(row, "model");
    let cost_usd = Some(row.cell("cost")).filter(|cost| !cost.is_null()).map(Cell::json);
    let answer = format!("ledger/{}", row.rowid);
    let key = format!("ledger/{}/{:016x}", row.rowid, row.fingerprint());
    RowEntry {
        kind: foreign(SOURCE, "usage_ledger"),
        key,
        data: row_json(row, &[]),
        time: seconds(row),
        facts: Facts { model: model.clone(), ..Facts::default() },
        spent: Some(Spent { answer, usage, model, cost_usd }),
    }
}

/// Tokens as goose counts them: its input has what a cache held and took.
fn usage([input, output, read, written]: [u64; 4]) -> Usage {
    let read = read.min(input);
    let written = written.min(input - read);
    Usage {
        input_tokens: input - read - written,
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: 0,
    }
}
