//! Search: events by the words in them, and the upkeep of its index.

use ah_model::{IndexStep, Page, PageRequest, SearchHit, SearchQuery};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, no_content, ok};
use crate::extract::Pairs;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let found = doc("Events by the words in them, the last appended first; a page may be short")
        .query(params::search())
        .query(params::page())
        .answers::<Page<SearchHit>>(200);
    let updated = doc("Brings some events into the index of search").query([params::limit()]);
    let cleared = doc("Empties the index of search; it is filled anew");
    Routes::new()
        .get("/search", Access::LOOK, found, search)
        .post("/search/index", Access::OPERATE, updated.answers::<IndexStep>(200), update)
        .delete("/search/index", Access::OPERATE, cleared, clear)
}

async fn search(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (query, page): (SearchQuery, PageRequest) = (pairs.read()?, pairs.read()?);
    ok(&state.call(|store| async move { store.search(query, page).await }).await?)
}

async fn update(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let PageRequest { limit, .. } = pairs.read()?;
    ok(&state.call(move |store| async move { store.update_search_index(limit).await }).await?)
}

async fn clear(State(state): State<ServerState>) -> Answer {
    state.call(|store| async move { store.clear_search_index().await }).await?;
    no_content()
}
