//! Repositories.

use ah_model::{NewRepo, Page, Repo};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, no_content, ok};
use crate::extract::{JsonBody, Pairs, PathNumber};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let put = doc("Records a repository").answers::<Repo>(200);
    let all = doc("Repositories").query(params::page()).answers::<Page<Repo>>(200);
    let one = doc("Shows a repository").answers::<Repo>(200).fails([404]);
    let gone = doc("Forgets a repository without sessions").fails([404, 409]);
    Routes::new()
        .put("/repos", Access::EXECUTE, put, put_repo)
        .get("/repos", Access::LOOK, all, list)
        .get("/repos/{id}", Access::LOOK, one, show)
        .delete("/repos/{id}", Access::OPERATE, gone, remove)
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
