//! The events that rows become.

use ah_model::{RawJson, Timestamp, Usage};

use super::SOURCE;
use super::messages::{Message, Messages, Speaker};
use crate::foreign_db::{Cell, Database, TableRow};
use crate::raw_object::Moment;
use crate::transcript::{
    Facts, RowEntry, Spent, Title, TitleRank, Turn, View, foreign, row_json, text_of,
};

/// The time in a column.
pub(super) fn time(row: &TableRow, column: &str) -> Option<Timestamp> {
    row.cell(column).moment().time()
}

/// A row of the table of events.
pub(super) fn of_event(row: &TableRow, messages: &mut Messages, database: &Database) -> RowEntry {
    let data = row_json(row, &["data"]);
    let line = View::of(&data);
    let inner = line.object("data");
    let whole = text_of(row, "type").unwrap_or_default();
    // The number behind the last point is the version of the shape.
    let name = whole.rsplit_once('.').map_or(whole.as_str(), |(name, _)| name);
    let said = match name {
        "session.created" => Said::plain("session_start"),
        "message.updated" => {
            let info = inner.object("info");
            messages.note(&info.text("id").unwrap_or_default(), &info);
            Said { kind: foreign(SOURCE, name), facts: of_info(&info), spent: None }
        }
        "message.part.updated" => {
            let part = inner.object("part");
            let message = part.text("messageID").unwrap_or_default();
            let id = part.text("id").unwrap_or_default();
            said(&part, &id, &messages.message(database, &message))
        }
        _ => Said::plain(&foreign(SOURCE, name)),
    };
    let time = event_time(&inner);
    let Said { kind, facts, spent } = said;
    let key = event_key(row);
    RowEntry { kind, key, data: data.clone(), time, facts, spent }
}

/// An event is known by its number in its session.
fn event_key(row: &TableRow) -> String {
    match row.cell("seq") {
        Cell::Integer(seq) => format!("seq/{seq}"),
        _ => format!("event/{}", row.cell("id").id().unwrap_or_default()),
    }
}

/// When an event was: none says it itself, what it tells of does.
fn event_time(inner: &View<'_>) -> Option<Timestamp> {
    let info = inner.object("info").object("time");
    let said = [inner.get("time"), info.get("completed"), info.get("updated"), info.get("created")];
    said.into_iter().flatten().find_map(|time| Moment::of(Some(time.as_str())).time())
}

/// The row of a session.
pub(super) fn of_session(row: &TableRow) -> RowEntry {
    let data = row_json(row, &["model", "permission", "revert", "summary_diffs"]);
    entry(row, data, "session".to_owned(), Said::plain("session_start"))
}

/// The row of a message.
pub(super) fn of_message(row: &TableRow, messages: &mut Messages) -> RowEntry {
    let data = row_json(row, &["data"]);
    let info = View::of(&data).object("data");
    messages.note(&text_of(row, "id").unwrap_or_default(), &info);
    let said = Said { kind: foreign(SOURCE, "message"), facts: of_info(&info), spent: None };
    let key = row_key("message", row);
    entry(row, data.clone(), key, said)
}

/// The row of a part.
pub(super) fn of_part(row: &TableRow, messages: &mut Messages, database: &Database) -> RowEntry {
    let data = row_json(row, &["data"]);
    let message = text_of(row, "message_id").unwrap_or_default();
    let id = text_of(row, "id").unwrap_or_default();
    let part = View::of(&data).object("data");
    let said = said(&part, &id, &messages.message(database, &message));
    entry(row, data.clone(), row_key("part", row), said)
}

/// A row that was written again is another event.
fn row_key(table: &str, row: &TableRow) -> String {
    let id = row.cell("id").id().unwrap_or_default();
    format!("{table}/{id}/{:016x}", row.fingerprint())
}

fn entry(row: &TableRow, data: RawJson, key: String, said: Said) -> RowEntry {
    let time = time(row, "time_created");
    let Said { kind, facts, spent } = said;
    RowEntry { kind, key, data, time, facts, spent }
}

/// What a row means.
struct Said {
    kind: String,
    facts: Facts,
    spent: Option<Spent>,
}

impl Said {
    fn plain(kind: &str) -> Self {
        Self { kind: kind.to_owned(), facts: Facts::default(), spent: None }
    }
}

/// What the head of a message says of its session.
fn of_info(info: &View<'_>) -> Facts {
    let message = Message::of(info);
    let finish = info.text("finish");
    let ended = finish.is_some_and(|word| word != "tool-calls") || info.get("error").is_some();
    let turn = match message.speaker {
        Speaker::User => Some(Turn::Open),
        Speaker::Model | Speaker::Summary => ended.then_some(Turn::Ended),
    };
    // A prompt is written again when its turn is done.
    let turn = turn.filter(|_| info.get("summary").is_none());
    let model = message.model.filter(|_| message.speaker == Speaker::Model);
    Facts { model, turn, ..Facts::default() }
}

/// What a part means.
fn said(part: &View<'_>, id: &str, message: &Message) -> Said {
    let word = part.text("type").unwrap_or_default();
    let theirs = foreign(SOURCE, &word);
    // What the program wrote in somebody's name is no part of the conversation.
    let made_up = part.is("synthetic") || part.is("ignored");
    let spoken = match message.speaker {
        _ if made_up => &theirs,
        Speaker::User => "user_message",
        Speaker::Model => "assistant_message",
        Speaker::Summary => &theirs,
    };
    let mut said = match word.as_str() {
        "text" | "file" => Said::plain(spoken),
        "tool" => match part.object("state").text("status").as_deref() {
            Some("completed" | "error") => Said::plain("tool_result"),
            _ => Said::plain("assistant_message"),
        },
        "compaction" => Said::plain("compaction"),
        _ => Said::plain(&theirs),
    };
    if word == "text" && said.kind == "user_message" {
        let text = part.text("text");
        said.facts.title = text.and_then(|text| Title::of(TitleRank::Prompt, &text));
    }
    if word == "step-finish" {
        said.spent = Some(spent(part, id, message));
    }
    said
}

/// Tokens as opencode counts them: its input has nothing of a cache; whether its output has what was
/// thought shows in the total.
fn spent(part: &View<'_>, id: &str, message: &Message) -> Spent {
    let tokens = part.object("tokens");
    let cache = tokens.object("cache");
    let (input, output) = (tokens.number("input"), tokens.number("output"));
    let (read, written) = (cache.number("read"), cache.number("write"));
    let thought = tokens.number("reasoning");
    let within = tokens.number("total") == input + output + read + written;
    let usage = Usage {
        input_tokens: input,
        output_tokens: if within { output.saturating_sub(thought) } else { output },
        cache_read_tokens: read,
        cache_write_tokens: written,
        reasoning_tokens: thought,
    };
    let cost = part.get("cost").filter(|cost| cost.as_str() != "0");
    let cost_usd = cost.map(|cost| cost.to_raw());
    Spent { answer: id.to_owned(), usage, model: message.model.clone(), cost_usd }
}
