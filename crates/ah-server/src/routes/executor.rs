//! Executors. Their ids may hold any visible character, `/` too: in a path they are
//! percent-encoded.

use ah_model::{Executor, ExecutorId, NewExecutor, Page, Run};
use axum::extract::State;

use crate::access::Access;
use crate::answer::{Answer, Items, ok};
use crate::extract::{JsonBody, Pairs, PathId};
use crate::problem::Failure;
use crate::routing::{Doc, Routes, doc, params};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let list_doc = doc("Executors by id").query(params::page()).answers::<Page<Executor>>(200);
    let removed = doc("Forgets an executor; what it holds is lost").answers::<Items<Run>>(200);
    let orders = doc("The runs an executor has to stop").answers::<Items<Run>>(200);
    Routes::new()
        .get("/executors", Access::LOOK, list_doc, list)
        .get("/executors/{id}", Access::LOOK, about("Shows an executor").fails([404]), show)
        .put("/executors/{id}", Access::EXECUTE, about("Registers an executor"), register)
        .delete("/executors/{id}", Access::EXECUTE, removed.fails([404]), remove)
        .post("/executors/{id}/seen", Access::EXECUTE, about("A sign of life").fails([404]), seen)
        .post("/executors/{id}/removal", Access::OPERATE, about_removal(), ask_to_go)
        .post("/executors/{id}/stop-orders", Access::EXECUTE, orders, stop_orders)
}

fn about(summary: &'static str) -> Doc {
    doc(summary).answers::<Executor>(200)
}

fn about_removal() -> Doc {
    about("Asks an executor to go").fails([404])
}

async fn register(
    State(state): State<ServerState>,
    PathId(id): PathId<ExecutorId>,
    JsonBody(executor, _share): JsonBody<NewExecutor>,
) -> Answer {
    if executor.id != id {
        let reason = format!("{id} in the path, {} in the body", executor.id);
        return Err(Failure::invalid("executor id", reason));
    }
    ok(&state.call(|store| async move { store.register_executor(executor).await }).await?)
}

async fn show(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.executor(id).await }).await?)
}

async fn list(State(state): State<ServerState>, pairs: Pairs) -> Answer {
    let page = pairs.read()?;
    ok(&state.call(|store| async move { store.list_executors(page).await }).await?)
}

async fn seen(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.executor_seen(id).await }).await?)
}

async fn ask_to_go(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    ok(&state.call(|store| async move { store.ask_executor_to_go(id).await }).await?)
}

/// The runs that were lost with it, as they are now.
async fn remove(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    let items = state.call(|store| async move { store.remove_executor(id).await }).await?;
    items.iter().for_each(|run| state.claims.queued(run));
    ok(&Items { items })
}

async fn stop_orders(State(state): State<ServerState>, PathId(id): PathId<ExecutorId>) -> Answer {
    let items = state.call(|store| async move { store.stop_orders(id).await }).await?;
    ok(&Items { items })
}
