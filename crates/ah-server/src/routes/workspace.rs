//! Workspaces.

use ah_model::{Page, Workspace};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::access::Access;
use crate::answer::{Answer, created, ok};
use crate::extract::{JsonBody, Pairs};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let new = doc("Makes a workspace").answers::<Workspace>(201).fails([409, 501]);
    let all = doc("Workspaces").query(params::page()).answers::<Page<Workspace>>(200).fails([501]);
    Routes::new().post("/workspaces", Access::OPERATE, new, create).get(
        "/workspaces",
        Access::LOOK,
        all,
        list,
    )
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewWorkspace")]
struct Given {
    /// Its name, unique on the server.
    #[schemars(length(min = 1, max = 128), pattern(r"\S"))]
    name: String,
    /// The id another server gave it.
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
