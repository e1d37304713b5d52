//! Runs: queued, read, stopped, swept. What their holders do is in `run_lease`.

use ah_model::{Callback, NewRun, Page, Run, RunFilter, RunId, SessionId, Swept};
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::answer::{self, Answer, Items, created, ok};
use crate::auth::Caller;
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::{PROMPT_BODY_BYTES_MAX, RUN_BODY_BYTES_MAX, WAIT_SECONDS_MAX};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;
use crate::watch;

pub(crate) fn routes() -> Routes {
    let (look, of_session) = (Access::LOOK, Access::LOOK.of_session());
    Routes::new()
        .post("/runs", Access::OPERATE, about_new(), create)
        .get("/runs", look, about_list(), list)
        .post("/runs/sweep", Access::OPERATE, about_sweep(), sweep)
        .get("/runs/{id}", look, about_one("Shows a run"), show)
        .get("/runs/{id}/wait", look, about_wait(), wait)
        .post("/runs/{id}/stop", Access::OPERATE, about_stop(), stop)
        .put("/run-imports/{id}", Access::OPERATE, about_restore(), restore)
        .get("/sessions/{id}/runs", of_session, about_session(), of_session_runs)
        .get("/sessions/{id}/callbacks", of_session, about_callbacks(), callbacks)
}

fn about_new() -> Doc {
    let doc = doc("Queues a run, and creates its session with it when that is given");
    doc.answers::<Run>(201).fails([404, 409, 501])
}

fn about_list() -> Doc {
    let doc = doc("Runs, newest first").query(params::runs()).query(params::page());
    doc.answers::<Page<Run>>(200)
}

fn about_sweep() -> Doc {
    doc("Applies what time has decided about runs").answers::<Swept>(200)
}

fn about_one(summary: &'static str) -> Doc {
    doc(summary).answers::<Run>(200).fails([404])
}

fn about_wait() -> Doc {
    about_one("Waits for the end of a run").query([params::seconds()])
}

fn about_stop() -> Doc {
    doc("Asks a run to stop").answers::<Run>(202).fails([404, 409])
}

fn about_restore() -> Doc {
    let doc = doc("Records a run that ended elsewhere");
    doc.answers::<Restored>(200).fails([404, 409])
}

fn about_session() -> Doc {
    doc("The runs of a session, oldest first").answers::<Items<Run>>(200).fails([404])
}

fn about_callbacks() -> Doc {
    let doc = doc("What children have told a session, or are about to");
    doc.answers::<Items<Callback>>(200).fails([404])
}

#[derive(Serialize, JsonSchema)]
struct Restored {
    /// Whether it was not known before.
    restored: bool,
}

async fn create(
    State(state): State<ServerState>,
    caller: Caller,
    JsonBody(mut run, _share): JsonBody<NewRun, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    run.requested_by = caller.user(run.requested_by);
    let run = state.call(|store| async move { store.create_run(run).await }).await?;
    state.claims.queued(&run);
    created(&run)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<RunId>) -> Answer {
    ok(&state.call(|store| async move { store.run(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<RunFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_runs(filter, page).await }).await?)
}

async fn of_session_runs(
    State(state): State<ServerState>,
    PathId(id): PathId<SessionId>,
) -> Answer {
    let items = state.call(|store| async move { store.session_runs(id).await }).await?;
    ok(&Items { items })
}

async fn callbacks(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    let items = state.call(|store| async move { store.callbacks(id).await }).await?;
    ok(&Items { items })
}

/// Answers when the run has ended, or as it is when the time is over.
async fn wait(State(state): State<ServerState>, PathId(id): PathId<RunId>, pairs: Pairs) -> Answer {
    let seconds = watch::wait(&pairs, "seconds", WAIT_SECONDS_MAX)?;
    ok(&watch::ended_within(&state, id, seconds).await?)
}

async fn stop(State(state): State<ServerState>, PathId(id): PathId<RunId>) -> Answer {
    let run = state.call(|store| async move { store.stop_run(id).await }).await?;
    answer::json(StatusCode::ACCEPTED, &run)
}

async fn sweep(State(state): State<ServerState>) -> Answer {
    ok(&state.call(|store| async move { store.sweep_runs().await }).await?)
}

async fn restore(
    State(state): State<ServerState>,
    PathId(id): PathId<RunId>,
    JsonBody(run, _share): JsonBody<Run, RUN_BODY_BYTES_MAX>,
) -> Answer {
    if run.id != id {
        let reason = format!("{id} in the path, {} in the run", run.id);
        return Err(Failure::invalid("run id", reason));
    }
    let restored = state.call(|store| async move { store.restore_run(run).await }).await?;
    ok(&Restored { restored })
}
