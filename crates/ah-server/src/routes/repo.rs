//! Repositories.

use ah_model::NewRepo;
use axum::Router;
use axum::extract::State;
use axum::routing::{get, put};

use crate::answer::{Answer, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathNumber};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/repos", put(put_repo).get(list))
        .route("/repos/{id}", get(show).delete(remove))
}

async fn put_repo(
    State(state): State<ServerState>,
    JsonBody(repo, _share): JsonBody<NewRepo>,
) -> Answer {
    ok(&state.call(|store| async move { store.put_repo(repo).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_repos(page).await }).await?)
}

async fn show(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    ok(&state.call(move |store| async move { store.repo(id).await }).await?)
}

async fn remove(State(state): State<ServerState>, PathNumber(id): PathNumber) -> Answer {
    state.call(move |store| async move { store.remove_repo(id).await }).await?;
    no_content()
}
