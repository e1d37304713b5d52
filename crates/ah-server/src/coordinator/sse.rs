//! Sessions as they change, as server-sent events.
//!
//! `id:` is the place in the feed, so a client that comes back with `Last-Event-ID` is given what it
//! missed, or all sessions anew if that is no longer kept. Nothing is queued for a slow reader: it is
//! served from the store.

use std::collections::{HashMap, VecDeque};
use std::vec;

use ah_model::{
    Change, ChangeKind, FeedCursor, FeedEntry, Happening, Labels, PageLimit, RunStatus, Session,
    SessionFilter, SessionId,
};
use ah_store::{Store, StoreError};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::Response;
use serde::Serialize;
use serde_json::json;
use tokio::time::sleep;

use super::detail::{Answer, Detail};
use super::given::Asked;
use super::limits::{INIT_SESSIONS_MAX, STREAM_HEARTBEAT};
use super::parts::{self, Source};
use super::runs::CREATED_BY;
use super::sessions::{Sessions, newest};
use super::shape::{EventShape, SessionShape};
use crate::limits::{RETRY_AFTER, STREAM_PART_BYTES};
use crate::live::{FeedFilter, FeedReader, News, Reader};
use crate::problem::Failure;
use crate::state::ServerState;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Most sessions and runs that a stream remembers something of.
const REMEMBERED_MAX: usize = 1_024;

/// Which sessions a stream is about.
#[derive(Clone)]
struct Filter {
    session_id: Option<SessionId>,
    created_by: Option<String>,
}

pub(super) async fn stream(
    State(state): State<ServerState>,
    headers: HeaderMap,
    asked: Asked,
) -> Answer {
    let filter = Filter::read(&asked)?;
    let include_init = asked.flag("include_init", true)?;
    let (after, first) = match came_back(&headers) {
        Some(after) => (after, Vec::new()),
        None => begin(&state, &filter, include_init).await?,
    };
    let sessions = filter.session_id.clone().into_iter().collect();
    let wanted = FeedFilter { sessions, types: Vec::new() };
    let reader = FeedReader::open(state.clone(), after, wanted, PageLimit::MAX).await?;
    // A server that stops: the client is to come back.
    let reader = reader.ok_or(StoreError::Busy { retry_after: RETRY_AFTER })?;
    let source = Stream {
        state,
        filter,
        reader,
        first,
        ready: Vec::new().into_iter(),
        mine: HashMap::new(),
        failed: VecDeque::new(),
    };
    let mut response = Response::new(parts::body(source));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// Where a client that comes back was. An id of another server means nothing here: such a client
/// begins anew.
fn came_back(headers: &HeaderMap) -> Option<FeedCursor> {
    headers.get(LAST_EVENT_ID)?.to_str().ok()?.trim().parse().ok()
}

/// The end of the feed, and the sessions as they were then or later: nothing falls between.
async fn begin(
    state: &ServerState,
    filter: &Filter,
    include_init: bool,
) -> Result<(FeedCursor, Vec<u8>), Failure> {
    let end = state.call(|store| async move { store.feed_end().await }).await?;
    let first = if include_init { init(state, filter, end).await? } else { Vec::new() };
    Ok((end, first))
}

/// All sessions as they are now, for somebody who is at `place`.
async fn init(state: &ServerState, filter: &Filter, place: FeedCursor) -> Result<Vec<u8>, Failure> {
    let wanted = filter.clone();
    let read = state.call(move |store| async move { wanted.sessions(&*store).await });
    let mut frame = Vec::new();
    push(&mut frame, place, "init", &Sessions::from(read.await?));
    Ok(frame)
}

impl Filter {
    fn read(asked: &Asked) -> Result<Self, Detail> {
        let text = |name| asked.0.get(name).filter(|text| !text.is_empty());
        let wrong = |_| Detail::session_not_found();
        let session_id = text("session_id").map(|id| id.parse().map_err(wrong)).transpose()?;
        Ok(Self { session_id, created_by: text("created_by").map(str::to_owned) })
    }

    /// The sessions that it is about, at most [`INIT_SESSIONS_MAX`].
    async fn sessions(self, store: &dyn Store) -> Result<Vec<Session>, StoreError> {
        let creator = self.created_by.map(|name| (CREATED_BY.to_owned(), name));
        let labels = Labels(creator.into_iter().collect());
        let filter = SessionFilter { labels, ..SessionFilter::default() };
        let Some(id) = self.session_id else {
            return newest(store, filter, INIT_SESSIONS_MAX).await;
        };
        match store.session(id).await {
            Ok(session) => Ok(Some(session).filter(|it| filter.matches(it)).into_iter().collect()),
            Err(StoreError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// What is known between two parts of the stream.
struct Stream {
    state: ServerState,
    filter: Filter,
    reader: FeedReader,
    /// What is sent before anything that happens.
    first: Vec<u8>,
    ready: vec::IntoIter<FeedEntry>,
    /// Whether sessions are of the creator that is asked for.
    mine: HashMap<SessionId, bool>,
    /// Runs whose failure was told, the last ones.
    failed: VecDeque<ah_model::RunId>,
}

impl Source for Stream {
    async fn part(mut self) -> Result<Option<(Bytes, Self)>, Failure> {
        if !self.first.is_empty() {
            let first = std::mem::take(&mut self.first);
            return Ok(Some((first.into(), self)));
        }
        loop {
            let part = self.take_ready().await?;
            if !part.is_empty() {
                return Ok(Some((part.into(), self)));
            }
            let state = self.state.clone();
            tokio::select! {
                () = state.closing() => return Ok(None),
                () = sleep(STREAM_HEARTBEAT) => {
                    return Ok(Some((Bytes::from_static(b": heartbeat\n\n"), self)));
                }
                news = self.reader.next() => match news? {
                    Some(news) => self.ready = entries(news).into_iter(),
                    None => return Ok(None),
                },
            }
        }
    }
}

/// What a reader found, wherever.
fn entries(news: News) -> Vec<FeedEntry> {
    match news {
        News::Stored(entries) => entries,
        News::Live(batch, first) => {
            batch.entries()[first..].iter().map(|entry| FeedEntry::clone(entry)).collect()
        }
    }
}

impl Stream {
    /// Frames of what was read already, up to the size of a part.
    async fn take_ready(&mut self) -> Result<Vec<u8>, Failure> {
        let mut part = Vec::new();
        while part.len() < STREAM_PART_BYTES {
            let Some(entry) = self.ready.next() else { break };
            if entry.happening.is_trimmed() {
                part.extend(init(&self.state, &self.filter, entry.cursor).await?);
                continue;
            }
            if !self.reader.wants(&entry) || !self.is_mine(&entry.happening).await? {
                continue;
            }
            let FeedEntry { cursor, happening } = entry;
            match happening {
                Happening::Event(event) => {
                    push(&mut part, cursor, "event", &Held { data: EventShape::from(event) });
                }
                Happening::Change(change) => self.push_change(&mut part, cursor, change).await?,
            }
        }
        Ok(part)
    }

    /// Whether it is about a session of the creator that is asked for.
    async fn is_mine(&mut self, happening: &Happening) -> Result<bool, Failure> {
        let Some(session) = happening.session_id() else { return Ok(false) };
        let Some(creator) = self.filter.created_by.clone() else { return Ok(true) };
        if let Some(mine) = self.mine.get(session) {
            return Ok(*mine);
        }
        let found = session_now(&self.state, session.clone()).await?;
        let mine = found.is_some_and(|it| it.labels.0.get(CREATED_BY) == Some(&creator));
        if self.mine.len() >= REMEMBERED_MAX {
            self.mine.clear();
        }
        self.mine.insert(session.clone(), mine);
        Ok(mine)
    }

    async fn push_change(
        &mut self,
        part: &mut Vec<u8>,
        cursor: FeedCursor,
        change: Change,
    ) -> Result<(), Failure> {
        let name = match change.kind {
            ChangeKind::SessionCreated => "session_created",
            ChangeKind::SessionUpdated => "session_updated",
            ChangeKind::SessionDeleted => {
                // How many runs went with it is not known any more.
                let gone = json!({ "session_id": change.session_id, "runs_deleted": null });
                push(part, cursor, "session_deleted", &gone);
                return Ok(());
            }
            ChangeKind::RunUpdated => return self.push_failure(part, cursor, change).await,
            ChangeKind::RunQueued
            | ChangeKind::RunStopping
            | ChangeKind::ExecutorUpdated
            | ChangeKind::AgentUpdated
            | ChangeKind::MessageQueued
            | ChangeKind::MessageUpdated
            | ChangeKind::ApprovalUpdated
            | ChangeKind::QuestionUpdated
            | ChangeKind::FleetUpdated
            | ChangeKind::FenceUpdated
            | ChangeKind::RepoMoved
            | ChangeKind::ChangesTrimmed => return Ok(()),
        };
        let Some(id) = change.session_id else { return Ok(()) };
        if let Some(session) = session_now(&self.state, id).await? {
            push(part, cursor, name, &json!({ "session": SessionShape::from(session) }));
        }
        Ok(())
    }

    /// Tells of a run that failed, once.
    async fn push_failure(
        &mut self,
        part: &mut Vec<u8>,
        cursor: FeedCursor,
        change: Change,
    ) -> Result<(), Failure> {
        let Some(id) = change.run_id.filter(|id| !self.failed.contains(id)) else {
            return Ok(());
        };
        let run = self.state.call(|store| async move { store.run(id).await }).await;
        let found = still_there(run)?;
        let Some(run) = found.filter(|run| run.status == RunStatus::Failed) else {
            return Ok(());
        };
        let told = json!({ "run_id": run.id, "error": run.error, "session_id": run.session_id });
        push(part, cursor, "run_failed", &told);
        if self.failed.len() >= REMEMBERED_MAX {
            self.failed.pop_front();
        }
        self.failed.push_back(run.id);
        Ok(())
    }
}

async fn session_now(state: &ServerState, id: SessionId) -> Result<Option<Session>, Failure> {
    still_there(state.call(|store| async move { store.session(id).await }).await)
}

/// What was read, unless it has gone meanwhile.
fn still_there<T>(read: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(failure) if failure.problem().status == 404 => Ok(None),
        Err(failure) => Err(failure),
    }
}

/// An event as a frame holds it.
#[derive(Serialize)]
struct Held {
    data: EventShape,
}

fn push(part: &mut Vec<u8>, cursor: FeedCursor, name: &str, data: &impl Serialize) {
    part.extend_from_slice(format!("id: {cursor}\nevent: {name}\ndata: ").as_bytes());
    // Our shapes are texts, numbers and raw JSON, and a vector takes every byte.
    let _ = serde_json::to_writer(&mut *part, data);
    part.extend_from_slice(b"\n\n");
}
