//! What a session gave back: its newest `result` event, or the last words of its agent.

use ah_model::limits::RUN_RESULT_BYTES_MAX;
use ah_model::{Event, EventQuery, Order, PageLimit, RawJson, SessionId, SessionStatus};
use ah_store::{Store, StoreError};
use axum::extract::State;
use serde::{Deserialize, Serialize};

use super::detail::{Answer, Detail};
use super::given::PathSession;
use super::lease::newest_run;
use super::limits::{MESSAGES_AT_ONCE, REPORT_TEXT_BYTES_MAX};
use super::reports::{RUN_COMPLETED, RUN_START};
use super::shape::EventParts;
use super::words;
use crate::answer::ok;
use crate::state::ServerState;

/// A result in both dialects at once.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Found {
    result: Option<String>,
    result_text: Option<String>,
    result_data: Option<RawJson>,
}

impl Found {
    fn is_empty(&self) -> bool {
        self.result.is_none() && self.result_text.is_none() && self.result_data.is_none()
    }
}

/// What is kept with a run.
#[derive(Serialize)]
struct Kept {
    result_text: Option<String>,
    result_data: Option<RawJson>,
}

pub(super) async fn show(State(state): State<ServerState>, PathSession(id): PathSession) -> Answer {
    let wanted = id.clone();
    let session = state.call(|store| async move { store.session(wanted).await }).await?;
    if !matches!(session.status, SessionStatus::Succeeded | SessionStatus::Idle) {
        return Err(Detail::text(400, "Session not finished or idle"));
    }
    let found = state.call(|store| async move { of_session(&*store, id).await }).await?;
    if found.is_empty() {
        return Err(Detail::text(404, "No result found"));
    }
    Ok(ok(&found)?)
}

/// The newest result of a session, whichever run gave it.
async fn of_session(store: &dyn Store, id: SessionId) -> Result<Found, StoreError> {
    let found = after(store, &id, 0).await?;
    if !found.is_empty() {
        return Ok(found);
    }
    // A run of another executor says it when it ends.
    let run = newest_run(store, &id).await?;
    let result = run.and_then(|run| run.result);
    Ok(result.map_or_else(Found::default, |result| Found {
        result: text_of(&result),
        result_text: text_of(&result),
        result_data: result.as_str().starts_with('{').then_some(result),
    }))
}

fn text_of(result: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Text {
        result_text: Option<String>,
    }
    let named = result.read::<Text>().ok().and_then(|text| text.result_text);
    named.or_else(|| result.read().ok())
}

/// What the run that began last gave back, to be kept with it: a parent is told by that.
pub(super) async fn of_run(
    store: &dyn Store,
    session: &SessionId,
) -> Result<Option<RawJson>, StoreError> {
    // A run that was never said to begin comes after the end of the one before it.
    let marks = newest(store, session, &[RUN_START, RUN_COMPLETED], None, 1).await?;
    let begin = marks.last().map_or(0, |event| event.seq);
    let found = after(store, session, begin).await?;
    let text = found.result_text.or(found.result);
    if text.is_none() && found.result_data.is_none() {
        return Ok(None);
    }
    let whole = RawJson::of(&Kept { result_text: text.clone(), result_data: found.result_data })?;
    if whole.as_str().len() <= RUN_RESULT_BYTES_MAX {
        return Ok(Some(whole));
    }
    let result_text = text.map(|text| words::fitting(&text, REPORT_TEXT_BYTES_MAX));
    Ok(Some(RawJson::of(&Kept { result_text, result_data: None })?))
}

/// The newest result behind the event `begin`.
async fn after(store: &dyn Store, session: &SessionId, begin: u64) -> Result<Found, StoreError> {
    let result = newest(store, session, &["result"], None, 1).await?.pop();
    let result = result.filter(|event| event.seq > begin);
    let said = last_words(store, session, begin).await?;
    let Some(event) = result else {
        return Ok(Found { result: said.clone(), result_text: said, result_data: None });
    };
    let EventParts { result_text, result_data, .. } = EventParts::of(&event);
    Ok(Found { result: said.or_else(|| result_text.clone()), result_text, result_data })
}

/// The first text of the agent's last message behind the event `begin`.
async fn last_words(
    store: &dyn Store,
    session: &SessionId,
    begin: u64,
) -> Result<Option<String>, StoreError> {
    let mut up_to = None;
    loop {
        let page = newest(store, session, &["message"], up_to, MESSAGES_AT_ONCE).await?;
        let Some(first) = page.first().map(|event| event.seq) else { return Ok(None) };
        for event in page.iter().rev().take_while(|event| event.seq > begin) {
            let parts = EventParts::of(event);
            if parts.role.as_deref() == Some("assistant") {
                return Ok(parts.content.as_ref().and_then(first_text));
            }
        }
        if first <= begin + 1 {
            return Ok(None);
        }
        up_to = Some(first - 1);
    }
}

fn first_text(content: &RawJson) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        text: Option<String>,
    }
    let blocks: Vec<Block> = content.read().ok()?;
    blocks.into_iter().find_map(|block| block.text)
}

/// The newest events of these kinds, in ascending order.
async fn newest(
    store: &dyn Store,
    session: &SessionId,
    kinds: &[&str],
    up_to: Option<u64>,
    limit: u64,
) -> Result<Vec<Event>, StoreError> {
    let query = EventQuery {
        up_to,
        types: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        order: Order::Newest,
        limit: PageLimit::at_most(limit),
        ..EventQuery::default()
    };
    store.events(session.clone(), query).await
}
