//! Removal of what is too old, and what was removed. Purges of agents are with the agents.

use ah_model::{Page, Receipt, ReceiptId, Reclaimed, RemovalStep, RetentionRules, Tally};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let ruled = doc("The rules that this server removes by").answers::<RetentionRules>(200);
    let planned = doc("What rules would remove now; nothing is").answers::<Tally>(200);
    let stepped = doc("Removes some of what rules say").answers::<RemovalStep>(200);
    let all = doc("Receipts of removals, newest first").query(params::page());
    let added = doc("Adds what was removed beside the store to a receipt");
    let reclaimed = doc("Gives some unused space back to the file system");
    Routes::new()
        .get("/retention/rules", Access::OVERSEE, ruled, rules)
        .post("/retention/plan", Access::OVERSEE, planned, plan)
        .post("/retention/step", Access::OPERATE, stepped, step)
        .get("/retention/receipts", Access::OVERSEE, all.answers::<Page<Receipt>>(200), list)
        .post(
            "/retention/receipts/{id}/add",
            Access::OPERATE,
            added.answers::<Receipt>(200).fails([404, 409]),
            add,
        )
        .post("/retention/reclaim", Access::OPERATE, reclaimed.answers::<Reclaimed>(200), reclaim)
}

async fn rules(State(state): State<ServerState>) -> Answer {
    ok(&state.options.retention.store)
}

async fn plan(
    State(state): State<ServerState>,
    JsonBody(rules, _share): JsonBody<RetentionRules>,
) -> Answer {
    ok(&state.call(|store| async move { store.plan_retention(rules).await }).await?)
}

async fn step(
    State(state): State<ServerState>,
    JsonBody(rules, _share): JsonBody<RetentionRules>,
) -> Answer {
    ok(&state.call(|store| async move { store.retention_step(rules).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_receipts(page).await }).await?)
}

async fn add(
    State(state): State<ServerState>,
    PathId(id): PathId<ReceiptId>,
    JsonBody(removed, _share): JsonBody<Tally>,
) -> Answer {
    ok(&state.call(|store| async move { store.add_to_receipt(id, removed).await }).await?)
}

async fn reclaim(State(state): State<ServerState>) -> Answer {
    ok(&state.call(|store| async move { store.reclaim_space().await }).await?)
}
