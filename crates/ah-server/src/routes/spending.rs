//! Spendings: what sessions cost, by day and model.

use ah_model::{Page, Spending, SpendingFilter};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::extract::Pairs;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let all = doc("What sessions spent, by day and model")
        .query(params::spendings())
        .query(params::page());
    Routes::new().get("/spendings", Access::LOOK, all.answers::<Page<Spending>>(200), list)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<SpendingFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_spendings(filter, page).await }).await?)
}
