//! Where to go on from a session or a task.

use ah_model::{Page, Session, SessionId, TaskBatch};
use schemars::JsonSchema;
use serde::Serialize;

/// The path that everything but health stands below.
pub(crate) const API: &str = "/api/v1";

/// The paths of one thing.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Links {
    #[serde(rename = "self")]
    itself: String,
    events: String,
    logs: String,
}

impl Links {
    fn of_session(id: &SessionId) -> Self {
        // Ids need no escaping in a path: the model takes no others.
        let itself = format!("{API}/sessions/{id}");
        Self { events: format!("{itself}/events"), logs: format!("{itself}/logs"), itself }
    }

    /// Those of a request: its tasks, and the log of its first session.
    pub(crate) fn of_batch(batch: &TaskBatch) -> Option<Self> {
        let first = Self::of_session(batch.session_ids.first()?);
        Some(Self { itself: format!("{API}/tasks?batchId={}", query_value(batch)), ..first })
    }
}

/// The batch's id as the value of a query, where `&`, `+` and `=` mean something.
fn query_value(batch: &TaskBatch) -> String {
    batch.id.as_str().replace('&', "%26").replace('+', "%2B").replace('=', "%3D")
}

/// A session as every route answers it.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LinkedSession")]
pub(crate) struct Linked {
    #[serde(flatten)]
    session: Session,
    links: Links,
}

impl From<Session> for Linked {
    fn from(session: Session) -> Self {
        let links = Links::of_session(&session.id);
        Self { session, links }
    }
}

/// A page of sessions as every route answers it.
pub(crate) fn linked(page: Page<Session>) -> Page<Linked> {
    let items = page.items.into_iter().map(Linked::from).collect();
    Page { items, next_cursor: page.next_cursor }
}
