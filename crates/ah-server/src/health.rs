//! What supervisors ask: is it there, does it work, what is it.

use ah_model::{PageLimit, PageRequest};
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::timeout;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::limits::READY_MAX;
use crate::problem::Failure;
use crate::routing::{Routes, doc};
use crate::state::ServerState;

pub(crate) fn routes() -> Routes {
    let alive = doc("Whether the server runs").answers::<Health>(200);
    let works = doc("Whether the server and its store work").answers::<Health>(200).fails([503]);
    let what = doc("What the server is").answers::<Version>(200);
    Routes::new()
        .get("/healthz", Access::OPEN, alive, healthy)
        .get("/readyz", Access::OPEN, works, ready)
        .get("/version", Access::OPEN, what, version)
}

/// How a server is.
#[derive(Serialize, JsonSchema)]
struct Health {
    /// `ok` or `ready`.
    status: &'static str,
}

/// What a server is.
#[derive(Serialize, JsonSchema)]
struct Version {
    /// The program.
    name: &'static str,
    /// Its version.
    version: &'static str,
    /// The version of this interface.
    api: &'static str,
}

async fn healthy() -> Answer {
    ok(&Health { status: "ok" })
}

/// Reads from the store: a server that cannot is not ready, whatever the reason.
async fn ready(State(state): State<ServerState>) -> Answer {
    if state.is_closing() {
        return Err(not_ready("the server is stopping"));
    }
    let page = PageRequest { limit: PageLimit::at_most(1), cursor: None };
    let read = state.call(|store| async move { store.list_agent_kinds(page).await });
    match timeout(READY_MAX, read).await {
        Ok(Ok(_)) => ok(&Health { status: "ready" }),
        Ok(Err(failure)) => Err(failure.with_status(StatusCode::SERVICE_UNAVAILABLE)),
        Err(_) => Err(not_ready("the store does not answer")),
    }
}

fn not_ready(detail: &str) -> Failure {
    Failure::new("not-ready", "not ready", 503, detail)
}

async fn version() -> Answer {
    ok(&Version { name: "agent-harbor", version: env!("CARGO_PKG_VERSION"), api: "v1" })
}
