//! Workspaces.

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use serde::Deserialize;

use crate::answer::{Answer, created, ok};
use crate::extract::{JsonBody, Pairs};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/workspaces", post(create).get(list))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    name: String,
    #[serde(default)]
    external_id: Option<String>,
}

async fn create(
    State(state): State<ServerState>,
    JsonBody(Given { name, external_id }, _share): JsonBody<Given>,
) -> Answer {
    let create = state.call(|store| async move { store.create_workspace(name, external_id).await });
    created(&create.await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_workspaces(page).await }).await?)
}
