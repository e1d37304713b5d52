//! What supervisors ask: is it there, does it work, what is it.

use ah_model::{PageLimit, PageRequest};
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::json;
use tokio::time::timeout;

use crate::answer::{Answer, ok};
use crate::limits::READY_MAX;
use crate::problem::Failure;
use crate::state::ServerState;

pub(crate) fn routes() -> Router<ServerState> {
    Router::new()
        .route("/healthz", get(healthy))
        .route("/readyz", get(ready))
        .route("/version", get(version))
}

async fn healthy() -> Answer {
    ok(&json!({ "status": "ok" }))
}

/// Reads from the store: a server that cannot is not ready, whatever the reason.
async fn ready(State(state): State<ServerState>) -> Answer {
    if state.is_closing() {
        return Err(not_ready("the server is stopping"));
    }
    let page = PageRequest { limit: PageLimit::at_most(1), cursor: None };
    let read = state.call(|store| async move { store.list_agent_kinds(page).await });
    match timeout(READY_MAX, read).await {
        Ok(Ok(_)) => ok(&json!({ "status": "ready" })),
        Ok(Err(failure)) => Err(failure.with_status(StatusCode::SERVICE_UNAVAILABLE)),
        Err(_) => Err(not_ready("the store does not answer")),
    }
}

fn not_ready(detail: &str) -> Failure {
    Failure::new("not-ready", "not ready", 503, detail)
}

async fn version() -> Answer {
    ok(&json!({ "name": "agent-harbor", "version": env!("CARGO_PKG_VERSION"), "api": "v1" }))
}
