//! Drafts.

use ah_model::{Draft, DraftFields, DraftId, Page};
use axum::extract::State;

use super::task::{Recorded, TaskRequest};
use crate::access::Access;
use crate::answer::{Answer, created, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::limits::PROMPT_BODY_BYTES_MAX;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let new = doc("Saves a new draft").answers::<Draft>(201);
    let all = doc("Drafts").query(params::page()).answers::<Page<Draft>>(200);
    let one = doc("Shows a draft").answers::<Draft>(200).fails([404]);
    let again = doc("Saves a draft again").answers::<Draft>(200).fails([404]);
    let gone = doc("Throws a draft away").fails([404]);
    let sent = doc("Makes a draft a task").answers::<Recorded>(201).fails([404, 501]);
    Routes::new()
        .post("/drafts", Access::OPERATE, new, create)
        .get("/drafts", Access::LOOK, all, list)
        .get("/drafts/{id}", Access::LOOK, one, show)
        .put("/drafts/{id}", Access::OPERATE, again, save)
        .delete("/drafts/{id}", Access::OPERATE, gone, remove)
        .post("/drafts/{id}/launch", Access::OPERATE, sent, launch)
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
