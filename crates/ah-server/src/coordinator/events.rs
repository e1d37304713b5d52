//! Events of a session, one at a time in, all of them out.

use ah_model::{
    Appended, EventQuery, Exit, NewEvent, PageLimit, RawJson, RequestKey, Run, RunEnd, RunOutcome,
    RunStatus, SessionDetails, SessionId, SessionStatus, StatusChange,
};
use ah_store::{Store, StoreError};
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::detail::{Answer, Detail};
use super::given::{Asked, Given, PathSession, read_as};
use super::key::key;
use super::lease::{check_place, live_run, newest_run};
use super::limits::REPORT_TEXT_BYTES_MAX;
use super::parts::{self, Pages};
use super::reports::{end_run, note_start};
use super::shape::{EventParts, EventShape};
use super::words;
use crate::answer::created;
use crate::auth::Caller;
use crate::limits::EVENTS_BODY_BYTES_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

/// The event by which an executor of the older dialect says that its session is over.
const SESSION_STOP: &str = "session_stop";

#[derive(Deserialize)]
struct Told {
    event_type: String,
    session_id: String,
    timestamp: String,
    tool_name: Option<String>,
    tool_input: Option<RawJson>,
    tool_output: Option<RawJson>,
    error: Option<String>,
    exit_code: Option<i64>,
    reason: Option<String>,
    role: Option<String>,
    content: Option<RawJson>,
    result_text: Option<String>,
    result_data: Option<RawJson>,
}

impl Told {
    /// Refuses parts that are of another type than they should be.
    fn check(&self) -> Result<(), Detail> {
        let objects = [("tool_input", &self.tool_input), ("result_data", &self.result_data)];
        for (name, part) in objects {
            if part.as_ref().is_some_and(|part| !part.as_str().starts_with('{')) {
                return Err(Detail::invalid(&["body", name], "dict_type", "not an object"));
            }
        }
        let blocks = self.content.as_ref().map(|content| content.read::<Vec<RawJson>>());
        let is_block = |block: &RawJson| block.as_str().starts_with('{');
        match blocks {
            Some(Ok(blocks)) if blocks.iter().all(is_block) => Ok(()),
            None => Ok(()),
            Some(_) => {
                Err(Detail::invalid(&["body", "content"], "list_type", "not a list of objects"))
            }
        }
    }

    /// Ours. A time that we would print otherwise is kept as it was sent.
    fn into_event(self) -> Result<NewEvent, Detail> {
        let ts = words::read_time(&self.timestamp);
        let same = ts.is_some_and(|ts| words::time(ts) == self.timestamp);
        let parts = EventParts {
            tool_name: self.tool_name,
            tool_input: self.tool_input,
            tool_output: self.tool_output,
            error: self.error,
            exit_code: self.exit_code,
            reason: self.reason,
            role: self.role,
            content: self.content,
            result_text: self.result_text,
            result_data: self.result_data,
            timestamp: (!same).then_some(self.timestamp),
        };
        Ok(NewEvent { kind: self.event_type, data: RawJson::of(&parts)?, dedup_key: None, ts })
    }

    fn exit(&self) -> Exit {
        let reason = self.reason.as_deref().or(self.error.as_deref());
        let reason = reason.map(|text| words::fitting(text, REPORT_TEXT_BYTES_MAX / 32));
        Exit { code: self.exit_code, signal: None, reason }
    }
}

pub(super) async fn append(
    State(state): State<ServerState>,
    PathSession(id): PathSession,
    caller: Caller,
    headers: HeaderMap,
    Given(body, _share): Given<RawJson, EVENTS_BODY_BYTES_MAX>,
) -> Answer {
    let told: Told = read_as(&body)?;
    let wanted = id.clone();
    if told.session_id != id.as_str() {
        state.call(|store| async move { store.session(wanted).await }).await?;
        return Err(Detail::text(400, "Event session_id must match URL session_id"));
    }
    told.check()?;
    // The body names the session, so the key needs no path.
    let key = key(&caller, &headers, "events", &body)?;
    if told.event_type == SESSION_STOP {
        end_session(&state, id, told, key).await?;
    } else {
        append_one(&state, id, told.into_event()?, key).await?;
    }
    Ok(created(&json!({ "ok": true }))?)
}

async fn append_one(
    state: &ServerState,
    session: SessionId,
    event: NewEvent,
    key: Option<RequestKey>,
) -> Result<Appended, Failure> {
    let appended = state.append(|store| async move {
        match key {
            Some(key) => store.keyed(key).append_events(session, vec![event]).await,
            None => store.append_events(session, vec![event]).await,
        }
    });
    appended.await
}

/// Takes in that a session is over. What that can end is found before it is written, so that what
/// begins later is not ended by it.
async fn end_session(
    state: &ServerState,
    id: SessionId,
    told: Told,
    key: Option<RequestKey>,
) -> Result<(), Detail> {
    let (wanted, exit) = (id.clone(), told.exit());
    let event = told.into_event()?;
    let ends = state.call(|store| async move { Ends::of(&*store, wanted).await }).await?;
    let seq = append_one(state, id, event, key).await?.first_seq;
    state.call(move |store| async move { ends.apply(&*store, seq, exit).await }).await?;
    Ok(())
}

/// What the word of an executor that its session is over can end.
enum Ends {
    /// Nothing: nobody is at work, or somebody who is elsewhere, or a run that is being stopped,
    /// which ends when its runner says so.
    Nothing,
    /// This run, if the word stands behind its beginning in the log. One that was sent for an
    /// earlier run and comes again does not.
    Run { run: Box<Run>, start: u64 },
    /// The session, which has no run now, if the word stands behind this place in the log.
    Session { id: SessionId, after: u64 },
}

impl Ends {
    async fn of(store: &dyn Store, id: SessionId) -> Result<Self, StoreError> {
        let session = store.session(id).await?;
        let Some(run) = live_run(store, &session.id).await? else {
            let ran = newest_run(store, &session.id).await?.is_some();
            let after = if ran { session.last_seq } else { 0 };
            return Ok(Self::Session { id: session.id, after });
        };
        if run.status != RunStatus::Running {
            return Ok(Self::Nothing);
        }
        match Self::begun(store, &session.details, run).await {
            Err(StoreError::Conflict { .. } | StoreError::NotFound { .. }) => Ok(Self::Nothing),
            ends => ends,
        }
    }

    /// A run at work, if the session is bound where its runner is.
    async fn begun(
        store: &dyn Store,
        bound: &SessionDetails,
        run: Run,
    ) -> Result<Self, StoreError> {
        let (hostname, profile) = (bound.hostname.as_deref(), bound.executor_profile.as_deref());
        check_place(store, &run, hostname, profile).await?;
        let start = note_start(store, &run).await?;
        Ok(Self::Run { run: Box::new(run), start })
    }

    /// Ends it by the word at `seq`: through its run, so that whoever waits for that is told.
    async fn apply(self, store: &dyn Store, seq: u64, exit: Exit) -> Result<(), StoreError> {
        let ended = match self {
            Self::Run { run, start } if seq > start => {
                let end = RunEnd { exit, ..RunEnd::new(RunOutcome::Completed) };
                end_run(store, &run, end).await.map(drop)
            }
            Self::Session { id, after } if seq > after => {
                let change = StatusChange { to: SessionStatus::Succeeded, exit };
                store.set_session_status(id, change).await.map(drop)
            }
            Self::Nothing | Self::Run { .. } | Self::Session { .. } => Ok(()),
        };
        match ended {
            // It has ended already, by a word that came before.
            Err(StoreError::Conflict { .. }) => Ok(()),
            ended => ended,
        }
    }
}

pub(super) async fn read(
    State(state): State<ServerState>,
    PathSession(session): PathSession,
    asked: Asked,
) -> Answer {
    let after = asked.number("after")?.unwrap_or(0);
    let left = asked.number("limit")?.unwrap_or(u64::MAX);
    let wanted = session.clone();
    state.call(|store| async move { store.session(wanted).await }).await?;
    Ok(parts::list("events", Log { state, session, after, left }).await?)
}

/// A session's log behind an event.
struct Log {
    state: ServerState,
    session: SessionId,
    after: u64,
    /// How many are still wanted.
    left: u64,
}

impl Pages for Log {
    type Item = EventShape;

    async fn next(&mut self) -> Result<Option<Vec<EventShape>>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        let (session, limit) = (self.session.clone(), PageLimit::at_most(self.left));
        let query = EventQuery { after: self.after, limit, ..EventQuery::default() };
        let events = self.state.call(|store| async move { store.events(session, query).await });
        let events = events.await?;
        let Some(last) = events.last() else { return Ok(None) };
        self.after = last.seq;
        self.left = self.left.saturating_sub(events.len() as u64);
        Ok(Some(events.into_iter().map(EventShape::from).collect()))
    }
}
