//! Rows of `sessions` and `session_history` as sessions and events.

use ah_model::limits::PROMPT_BYTES_MAX;
use ah_model::{Cause, NewEvent, RawJson, SessionImport, Timestamp, check_text};

use super::rows::{AgentRow, HistoryRow, SessionRow};
use super::{Import, Place};
use crate::agent::is_short;
use crate::foreign_db::Cell;
use crate::raw_object::{Moment, RawObject, storable};
use crate::unreadable::{Place as RawPlace, fingerprint};
use crate::writer::{AgentWriter, Raw, Stop};

const SESSIONS: &str = "sessions";
const HISTORY: &str = "session_history";

impl Import<'_> {
    /// Gives an agent's sessions in their order, the active one last.
    pub(super) async fn sessions(
        &mut self,
        writer: &mut AgentWriter<'_, '_>,
        row: &AgentRow,
        place: &Place,
        id: &str,
    ) -> Result<(), Stop> {
        let agent = match place {
            Place::Missing(cell) => cell,
            Place::Row(_) | Place::Orphans(_) => &row.id,
        };
        let sessions = self.database.sessions(&self.schema, agent)?;
        let updated_at = row.cell("updated_at").moment().time();
        let mut sessions = with_ends(sessions, updated_at);
        move_active(&mut sessions, row.cell("active_session_id"), writer);
        let mut previous_ends_at = None;
        for (number, (session, ends_at)) in sessions.iter().enumerate() {
            self.begin(writer, session, number, previous_ends_at).await?;
            self.history(writer, &session.id).await?;
            previous_ends_at = *ends_at;
        }
        if sessions.is_empty() {
            writer.tally.remark(SESSIONS, None, "none of this agent: one without records");
            let session = session(format!("{id}/none"), 0, writer.time());
            writer.begin(session, None).await?;
        }
        Ok(())
    }

    /// Gives the history of each missing session.
    pub(super) async fn orphans(
        &mut self,
        writer: &mut AgentWriter<'_, '_>,
        sessions: &[Cell],
    ) -> Result<(), Stop> {
        for (number, id) in sessions.iter().enumerate() {
            let name = id.id().unwrap_or_default();
            writer.tally.remark(SESSIONS, None, format!("no row of the id {name:?}"));
            let first = self.database.history(&self.schema, id, i64::MIN)?;
            let time = first.first().and_then(|row| row.at.moment().time());
            let time = time.unwrap_or(writer.time());
            let session = session(format!("orphan:{name}"), number, time);
            writer.begin(session, None).await?;
            self.history(writer, id).await?;
        }
        Ok(())
    }

    async fn begin(
        &mut self,
        writer: &mut AgentWriter<'_, '_>,
        row: &SessionRow,
        number: usize,
        previous_ends_at: Option<Timestamp>,
    ) -> Result<(), Stop> {
        let line = u64::try_from(row.rowid).ok();
        let created_at = begin_of(writer, row, line);
        let id = row.id.id().unwrap_or_else(|| format!("row {}", row.rowid));
        let texts = self.database.session_texts(&self.schema, row.rowid)?;
        let message = texts.reset_message.text();
        let message = message.filter(|text| check_text("", text, PROMPT_BYTES_MAX).is_ok());
        let provider = texts.inference_session_id.text().filter(|id| is_short(id));
        let lossy = || {
            let bytes = texts.reset_message.bytes();
            Some(storable(&String::from_utf8_lossy(&bytes))).filter(|text| !text.is_empty())
        };
        let session = SessionImport {
            reset_message: message.map(str::to_owned).or_else(lossy),
            inference_session_id: provider.filter(|id| !id.is_empty()).map(str::to_owned),
            ..session(id, number, created_at)
        };
        writer.begin(session, previous_ends_at).await?;
        let kept = [
            ("reset_message", &texts.reset_message, message.is_some()),
            ("inference_session_id", &texts.inference_session_id, provider.is_some()),
        ];
        for (column, cell, whole) in kept {
            if !whole && !cell.is_null() {
                keep_cell(writer, line, column, cell).await?;
            }
        }
        Ok(())
    }

    async fn history(
        &mut self,
        writer: &mut AgentWriter<'_, '_>,
        session: &Cell,
    ) -> Result<(), Stop> {
        let mut after = i64::MIN;
        loop {
            let page = self.database.history(&self.schema, session, after)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = last.rowid;
            for row in page {
                record(writer, row).await?;
            }
        }
    }
}

/// When a session began; what is wrong with the time is remarked.
fn begin_of(writer: &mut AgentWriter<'_, '_>, row: &SessionRow, line: Option<u64>) -> Timestamp {
    let begins = row.created_at.moment();
    if !begins.is_exact() {
        let value = row.created_at.json();
        let what = format!("created_at: {} is no whole number", value.as_str());
        writer.tally.remark(SESSIONS, line, what);
    }
    if let Some(time) = begins.time() {
        writer.note_time(time);
    }
    begins.time().unwrap_or(writer.time())
}

/// A session of which nothing is known but its place.
fn session(external_id: String, number: usize, created_at: Timestamp) -> SessionImport {
    SessionImport {
        external_id,
        cause: if number == 0 { Cause::Created } else { Cause::Reset },
        reset_message: None,
        inference_session_id: None,
        created_at,
        ended_at: None,
        events: Vec::new(),
    }
}

/// Each session with the time at which it ends if another goes on: as its row says, else where the
/// next one begins, else where the agent last changed.
fn with_ends(
    sessions: Vec<SessionRow>,
    updated_at: Option<Timestamp>,
) -> Vec<(SessionRow, Option<Timestamp>)> {
    let begins: Vec<_> =
        sessions.iter().map(|session| session.created_at.moment().time()).collect();
    let ends = |place: usize, session: &SessionRow| {
        let next = begins.get(place + 1).copied().unwrap_or(updated_at);
        session.ended_at.moment().time().or(next).or(session.created_at.moment().time())
    };
    let with_end = |(place, session): (usize, SessionRow)| {
        let end = ends(place, &session);
        (session, end)
    };
    sessions.into_iter().enumerate().map(with_end).collect()
}

/// Puts the active session behind the others.
fn move_active(
    sessions: &mut Vec<(SessionRow, Option<Timestamp>)>,
    active: &Cell,
    writer: &mut AgentWriter<'_, '_>,
) {
    if active.is_null() || sessions.last().is_some_and(|(session, _)| session.id == *active) {
        return;
    }
    let Some(place) = sessions.iter().position(|(session, _)| session.id == *active) else {
        let what = "active_session_id: none of its sessions, the last one goes on";
        return writer.tally.remark("agents", None, what);
    };
    let what = "active_session_id: not the last session, put behind the others";
    writer.tally.remark("agents", None, what);
    let active = sessions.remove(place);
    sessions.push(active);
}

/// Keeps a column of a session that it cannot have as it is.
async fn keep_cell(
    writer: &mut AgentWriter<'_, '_>,
    line: Option<u64>,
    column: &str,
    cell: &Cell,
) -> Result<(), Stop> {
    let reason = format!("{column}: cannot be stored as it is");
    let bytes = cell.bytes();
    let key = format!("{column}:{:016x}", fingerprint(&bytes));
    let place = RawPlace::new(SESSIONS, line, &reason);
    writer.keep_raw(&place, Raw::<&[u8]>::Held(&bytes), &key).await
}

/// Gives one row of history.
async fn record(writer: &mut AgentWriter<'_, '_>, row: HistoryRow) -> Result<(), Stop> {
    let line = u64::try_from(row.rowid).ok();
    let key = format!("h{}", row.rowid);
    let bytes = row.data.bytes();
    writer.tally.bytes += bytes.len() as u64;
    let time = time_of(writer, &row, line);
    match event(&row, &bytes) {
        Ok(event) => writer.push(&event.kind, event.data, key, time).await,
        Err(reason) => {
            let (kind, at) = (row.kind.bytes(), row.at.json());
            let kind = String::from_utf8_lossy(&kind);
            let place = RawPlace {
                kind: Some(&kind),
                at: Some(&at),
                time,
                ..RawPlace::new(HISTORY, line, &reason)
            };
            writer.keep_raw(&place, Raw::<&[u8]>::Held(&bytes), &key).await
        }
    }
}

fn time_of(
    writer: &mut AgentWriter<'_, '_>,
    row: &HistoryRow,
    line: Option<u64>,
) -> Option<Timestamp> {
    let at = row.at.moment();
    let value = row.at.json();
    let value = value.as_str();
    match at {
        Moment::Exact(_) => {}
        Moment::Rounded(_) => {
            let what = format!("at: {value} is no whole number of milliseconds, rounded down");
            writer.tally.remark(HISTORY, line, what);
        }
        Moment::Absent => {
            writer.tally.records.untimed += 1;
            let what = "at: no time, that of the record before is taken";
            writer.tally.remark(HISTORY, line, what);
        }
    }
    if let Some(time) = at.time() {
        writer.note_time(time);
    }
    at.time()
}

/// The event of a row, or why there is none.
fn event(row: &HistoryRow, bytes: &[u8]) -> Result<NewEvent, String> {
    let json = crate::agent::json(bytes)?;
    let kind = row.kind.text().ok_or("its type is no text")?.to_owned();
    let event = NewEvent { kind, data: with_time(json, &row.at), dedup_key: None, ts: None };
    event.check().map_err(|invalid| invalid.to_string())?;
    Ok(event)
}

/// The payload, with a time that the event does not hold whole, as the files have it.
fn with_time(json: RawJson, at: &Cell) -> RawJson {
    let value = at.json();
    let Some(mut object) = RawObject::of(&json) else {
        return json;
    };
    if at.is_null() || at.moment().is_exact() || object.find("at").is_some() {
        return json;
    }
    object.push("\"at\"", value.as_str());
    object.to_json()
}
