//! Executors. Their ids may hold any visible character, `/` too: in a path they are
//! percent-encoded.

use ah_model::{
    Enrolment, Executor, ExecutorChange, ExecutorEvent, ExecutorId, ExecutorPresence, NewExecutor,
    Page, RawJson, Run,
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, Items, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let list_doc = doc("Executors by id").query(params::executors()).query(params::page());
    let list_doc = list_doc.answers::<Page<Executor>>(200);
    let removed = doc("Forgets an executor; what it holds is lost").answers::<Items<Run>>(200);
    let history = doc("What happened to executors, newest first").query([params::of_executor()]);
    let history = history.query(params::page()).answers::<Page<ExecutorEvent>>(200);
    let noted = doc("Records something that happened to an executor").answers::<ExecutorEvent>(201);
    let present = doc("The executors that are connected to this access point");
    let present = present.answers::<Items<ExecutorPresence>>(200);
    Routes::new()
        .get("/executors", Access::LOOK, list_doc, list)
        .get("/executors/{id}", Access::LOOK, about("Shows an executor").fails([404]), show)
        .put("/executors/{id}", Access::EXECUTE, registers("Registers an executor"), register)
        .delete("/executors/{id}", Access::EXECUTE, removed.fails([404, 409]), remove)
        .put("/executors/{id}/enrolment", Access::ADMIN, registers(ENROLS), enrol)
        .post("/executors/{id}/changes", Access::OPERATE, changes(), change)
        .post("/executors/{id}/events", Access::OPERATE, noted, note)
        .post("/executors/{id}/seen", Access::EXECUTE, about("A sign of life").fails([404]), seen)
        .post("/executors/{id}/removal", Access::OPERATE, about_removal(), ask_to_go)
        .get("/executor-events", Access::LOOK, history, list_history)
        .get("/executor-presence", Access::LOOK, present, list_present)
}

const ENROLS: &str = "Enrols an executor that proved who it is";

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Executor>(200)
}

fn registers(summary: &'static str) -> Doc {
    about(summary).fails([409])
}

fn changes() -> Doc {
    about("Changes what the operator says of an executor").fails([404, 409])
}

fn about_removal() -> Doc {
    about("Asks an executor to go").fails([404])
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ChangedExecutor")]
struct Changed {
    change: ExecutorChange,
    /// Who wants it; only an admin may speak for another.
    by: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NotedOfExecutor")]
struct Noted {
    #[schemars(length(min = 1, max = ah_model::limits::LABEL_BYTES_MAX), pattern(r"\S"))]
    kind: String,
    #[serde(default = "RawJson::null")]
    data: RawJson,
}

/// Refuses a body about another executor than the path names.
pub(super) fn check_named(path: &ExecutorId, body: &ExecutorId) -> Result<(), Failure> {
    match path == body {
        true => Ok(()),
        false => {
            let reason = format!("{path} in the path, {body} in the body");
            Err(Failure::invalid("executor id", reason))
        }
    }
}

async fn register(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(executor, _share): JsonBody<NewExecutor>,
) -> Answer {
    check_named(&id, &executor.id)?;
    ok(&state.call(|store| async move { store.register_executor(executor).await }).await?)
}

async fn enrol(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(enrolment, _share): JsonBody<Enrolment>,
) -> Answer {
    check_named(&id, &enrolment.id)?;
    ok(&state.call(|store| async move { store.enrol_executor(enrolment).await }).await?)
}

async fn change(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    caller: Caller,
    JsonBody(Changed { change, by }, _share): JsonBody<Changed>,
) -> Answer {
    let by = caller.user(by);
    ok(&state.call(|store| async move { store.change_executor(id, change, by).await }).await?)
}

async fn note(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(Noted { kind, data }, _share): JsonBody<Noted>,
) -> Answer {
    created(&state.call(|store| async move { store.note_executor(id, kind, data).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.executor(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_executors(filter, page).await }).await?)
}

async fn list_history(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let id = pairs.get("executorId").map(str::parse).transpose()?;
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.executor_history(id, page).await }).await?)
}

/// In memory only, so that the store is not asked.
async fn list_present(State(state): State<ServerState>) -> Answer {
    ok(&Items { items: state.present().await })
}

async fn seen(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.executor_seen(id).await }).await?)
}

async fn ask_to_go(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.ask_executor_to_go(id).await }).await?)
}

/// The runs that were lost with it, as they are now.
async fn remove(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    let items = state.call(|store| async move { store.remove_executor(id).await }).await?;
    items.iter().for_each(|run| state.claims.queued(run));
    ok(&Items { items })
}
