//! Spendings: what sessions cost, by day and model.

use ah_model::{Cost, DaySpending, Page, Spending, SpendingFilter};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::answer::{Answer, Items, ok};
use crate::extract::Pairs;
use crate::routing::{Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let all = doc("What sessions spent, by day and model")
        .query(params::spendings())
        .query(params::page());
    let summed = doc("The same summed by day and model, with the server's prices, newest first")
        .query(params::spendings());
    Routes::new().get("/spendings", Access::LOOK, all.answers::<Page<Spending>>(200), list).get(
        "/spendings/sums",
        Access::LOOK,
        summed.answers::<Items<Priced>>(200),
        sums,
    )
}

/// A sum, and what it costs by the server's prices.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PricedSpending")]
struct Priced {
    #[serde(flatten)]
    sum: DaySpending,
    /// What it cost, as it was told or by the list of prices; absent where the model has no price.
    #[serde(skip_serializing_if = "Option::is_none")]
    priced_nano_usd: Option<Cost>,
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let (filter, page) = (pairs.read::<SpendingFilter>()?, pairs.read()?);
    ok(&state.call(|store| async move { store.list_spendings(filter, page).await }).await?)
}

async fn sums(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let filter = pairs.read::<SpendingFilter>()?;
    let sums = state.call(|store| async move { store.spending_sums(filter).await }).await?;
    let priced =
        |sum: DaySpending| Priced { priced_nano_usd: sum.cost(&state.options.prices), sum };
    ok(&Items { items: sums.into_iter().map(priced).collect() })
}
