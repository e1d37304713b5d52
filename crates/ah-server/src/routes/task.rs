//! Tasks, in the model's form and in that of the first API: one `agent` is a list of one.

use ah_model::{NewTask, SessionStatus, TaskBatch, TaskFilter};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::answer::{Answer, created, ok};
use crate::extract::{JsonBody, Pairs, PathNumber};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::links::Links;
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/tasks", post(create).get(list)).route("/tasks/{id}", get(show))
}

/// A task with `agents`, or with one `agent`.
pub(crate) struct TaskRequest(pub(crate) NewTask);

impl<'de> Deserialize<'de> for TaskRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // No part of a task is raw JSON, so nothing is lost on the way through a value.
        let mut fields = Map::deserialize(deserializer)?;
        if let Some(agent) = fields.remove("agent") {
            if fields.contains_key("agents") {
                return Err(D::Error::custom("invalid agent: give either `agent` or `agents`"));
            }
            fields.insert("agents".to_owned(), Value::Array(vec![agent]));
        }
        NewTask::deserialize(Value::Object(fields)).map(Self).map_err(D::Error::custom)
    }
}

/// What was recorded, with the words of the first API.
#[derive(Serialize)]
pub(crate) struct Recorded {
    #[serde(flatten)]
    batch: TaskBatch,
    #[serde(rename = "session_ids")]
    sessions: Vec<ah_model::SessionId>,
    status: SessionStatus,
    links: Option<Links>,
}

impl From<TaskBatch> for Recorded {
    fn from(batch: TaskBatch) -> Self {
        let (sessions, links) = (batch.session_ids.clone(), Links::of_batch(&batch));
        Self { batch, sessions, status: SessionStatus::Created, links }
    }
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(TaskRequest(task), _share): JsonBody<TaskRequest, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    let batch = state.call(|store| async move { store.create_task(task).await }).await?;
    created(&Recorded::from(batch))
}

async fn show(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    ok(&state.call(move |store| async move { store.task(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<TaskFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_tasks(filter, page).await }).await?)
}
