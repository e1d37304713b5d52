//! Key/value pairs. Scope and key are queries, because both are any text.

use ah_model::{KvEntry, Page};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, no_content, ok};
use crate::extract::{JsonBody, Pairs};
use crate::routing::{Param, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let all = doc("Pairs of a scope").query([scope()]).query(params::page());
    let one = doc("Shows a pair").query([scope(), key()]).answers::<KvEntry>(200).fails([404]);
    let set = doc("Writes a pair");
    let gone = doc("Removes a pair").query([scope(), key()]).fails([404]);
    Routes::new()
        .get("/kv", Access::LOOK, all.answers::<Page<KvEntry>>(200), list)
        .get("/kv/entry", Access::LOOK, one, show)
        .put("/kv/entry", Access::OPERATE, set, set_entry)
        .delete("/kv/entry", Access::OPERATE, gone, remove)
}

fn scope() -> Param {
    Param::text("scope", "user, repo, system or any other name").required()
}

fn key() -> Param {
    Param::text("key", "The key in its scope").required()
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (scope, page) = (pairs.text("scope")?, pairs.read()?);
    ok(&state.call(|store| async move { store.kv_list(scope, page).await }).await?)
}

async fn show(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (scope, key) = (pairs.text("scope")?, pairs.text("key")?);
    ok(&state.call(|store| async move { store.kv_get(scope, key).await }).await?)
}

async fn set_entry(
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
