//! Drafts.

use ah_model::{DraftFields, DraftId};
use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use super::task::{Recorded, TaskRequest};
use crate::answer::{Answer, created, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/drafts", post(create).get(list))
        .route("/drafts/{id}", get(show).put(save).delete(remove))
        .route("/drafts/{id}/launch", post(launch))
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(fields, _share): JsonBody<DraftFields, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    created(&state.call(|store| async move { store.save_draft(None, fields).await }).await?)
}

async fn save(
    State(state): State<ServerState>,
    PathId(id): PathId<DraftId>,
    JsonBody(fields, _share): JsonBody<DraftFields, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    ok(&state.call(|store| async move { store.save_draft(Some(id), fields).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<DraftId>) -> Answer {
    ok(&state.call(|store| async move { store.draft(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_drafts(page).await }).await?)
}

async fn remove(State(state): State<ServerState>, PathId(id): PathId<DraftId>) -> Answer {
    state.call(|store| async move { store.delete_draft(id).await }).await?;
    no_content()
}

async fn launch(
    State(state): State<ServerState>,
    PathId(id): PathId<DraftId>,
    JsonBody(TaskRequest(task), _share): JsonBody<TaskRequest, PROMPT_BODY_BYTES_MAX>,
) -> Answer {
    let batch = state.call(|store| async move { store.launch_draft(id, task).await }).await?;
    created(&Recorded::from(batch))
}
