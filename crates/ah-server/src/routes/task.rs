//! Tasks, in the model's form and in that of the first API: one `agent` is a list of one.

use std::borrow::Cow;

use ah_model::{AgentKindRef, NewTask, Page, SessionStatus, Task, TaskBatch, TaskFilter};
use axum::extract::State;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::answer::{Answer, created, ok};
use crate::extract::{JsonBody, Pairs, PathNumber};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::links::Links;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let new = doc("Records a task: a session and a pending run for each agent and instance")
        .answers::<Recorded>(201)
        .fails([404, 501]);
    let all = doc("Tasks").query(params::tasks()).query(params::page());
    let one = doc("Shows a task").answers::<Task>(200).fails([404]);
    Routes::new()
        .post("/tasks", Access::OPERATE, new, create)
        .get("/tasks", Access::LOOK, all.answers::<Page<Task>>(200), list)
        .get("/tasks/{id}", Access::LOOK, one, show)
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

impl JsonSchema for TaskRequest {
    fn schema_name() -> Cow<'static, str> {
        "TaskRequest".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        let mut schema = NewTask::json_schema(schemas);
        let agent = schemas.subschema_for::<AgentKindRef>();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("agent".to_owned(), agent.into());
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.retain(|name| name != "agents");
        }
        let either = json!([{ "required": ["agent"] }, { "required": ["agents"] }]);
        schema.insert("oneOf".to_owned(), either);
        schema
    }
}

/// What was recorded, with the words of the first API.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RecordedTask")]
pub(crate) struct Recorded {
    #[serde(flatten)]
    batch: TaskBatch,
    /// The same as `sessionIds`.
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
