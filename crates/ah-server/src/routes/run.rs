//! Runs.

use ah_model::{NewRun, RunId, SessionId};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use crate::answer::{Answer, Items, created, ok};
use crate::extract::{JsonBody, PathId};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/runs", post(create))
        .route("/runs/{id}", get(show))
        .route("/sessions/{id}/runs", get(list))
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(run, _share): JsonBody<NewRun, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    created(&state.call(|store| async move { store.create_run(run).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<RunId>) -> Answer {
    ok(&state.call(|store| async move { store.run(id).await }).await?)
}

async fn list(State(state): State<ServerState>, PathId(id): PathId<SessionId>) -> Answer {
    let items = state.call(|store| async move { store.session_runs(id).await }).await?;
    ok(&Items { items })
}
