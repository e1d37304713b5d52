//! Key/value pairs. Scope and key are queries, because both are any text.

use ah_model::KvEntry;
use axum::Router;
use axum::extract::State;
use axum::routing::get;

use crate::answer::{Answer, no_content, ok};
use crate::extract::{JsonBody, Pairs};
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new().route("/kv", get(list)).route("/kv/entry", get(show).put(set).delete(remove))
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (scope, page) = (pairs.text("scope")?, pairs.read()?);
    ok(&state.call(|store| async move { store.kv_list(scope, page).await }).await?)
}

async fn show(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (scope, key) = (pairs.text("scope")?, pairs.text("key")?);
    ok(&state.call(|store| async move { store.kv_get(scope, key).await }).await?)
}

async fn set(
    State(state): State<ServerState>,
    JsonBody(entry, _share): JsonBody<KvEntry>,
) -> Answer {
    state.call(|store| async move { store.kv_set(entry).await }).await?;
    no_content()
}

async fn remove(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (scope, key) = (pairs.text("scope")?, pairs.text("key")?);
    state.call(|store| async move { store.kv_delete(scope, key).await }).await?;
    no_content()
}
