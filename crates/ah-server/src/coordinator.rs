//! The Agent Coordinator's own interface over any store, so that its runners, executors and
//! dashboards work with a server of ours.
//!
//! Everything it decides is decided by the store: runners are executors, runs are leased runs, and
//! this layer holds the leases for runners that know none. Paths, words, codes and texts are the
//! original's, in both of its dialects; `docs/coordinator.md` says where and why they differ.

mod agents;
mod bind;
mod blueprint;
mod demands;
mod detail;
mod events;
mod given;
mod key;
mod lease;
mod limits;
mod parameters;
mod parts;
mod poll;
mod reports;
mod results;
mod runners;
mod runs;
mod schema;
mod sessions;
mod shape;
mod sse;
mod stop;
mod stop_orders;
mod wake;
mod words;

use std::future::IntoFuture;
use std::io::Result;

use axum::Router;
use axum::handler::Handler;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, patch, post};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::access::Access;
use crate::answer::ok as answered;
use crate::connection::{Activity, Door};
use crate::guard::guard;
use crate::limits::STOP_MAX;
use crate::observe::observe;
use crate::routing::{Foreign, foreign_gate};
use crate::state::ServerState;
use detail::{Answer, Detail};

/// The path that it stands below on a server of everything.
pub(crate) const COORDINATOR: &str = "/coordinator";

/// Reads. The original knows one kind of caller; here each route asks for what ours of the same
/// meaning asks for.
const LOOKS: Foreign = Foreign::new(Access::LOOK);
/// A stream, whose token may be in the address: browsers can put it nowhere else.
const STREAMS: Foreign = Foreign { in_query: Some("api_key"), ..LOOKS };
/// What runners, their executors and the MCP server beside them do.
const WORKS: Foreign = Foreign::new(Access::EXECUTE);
/// What only people do: stop, delete, and say which agents there are.
const OPERATES: Foreign = Foreign::new(Access::OPERATE);

/// The coordinator's interface at `/`, for programs that cannot be given a path.
pub fn coordinator_router(state: ServerState) -> Router {
    routes(&state)
        .layer(from_fn_with_state(state.clone(), guard))
        .layer(from_fn_with_state(state.clone(), observe))
        .with_state(state)
}

/// Serves the coordinator's interface at `/` on `listener`, until the server of `state` stops.
pub async fn serve_coordinator(listener: TcpListener, state: ServerState) -> Result<()> {
    let router = coordinator_router(state.clone());
    let service = router.into_make_service_with_connect_info::<Activity>();
    let told = state.clone();
    let told = async move { told.closing().await };
    let door = Door::new(listener, state.options.tls.as_ref());
    let serving = axum::serve(door, service).with_graceful_shutdown(told);
    let overdue = async {
        state.closing().await;
        sleep(STOP_MAX).await;
    };
    tokio::select! {
        served = serving.into_future() => served,
        () = overdue => Ok(()),
    }
}

/// Its routes, each behind its gate. What is not there is told only to who may look.
pub(crate) fn routes(state: &ServerState) -> Router<ServerState> {
    let gate = |rules| foreign_gate(state, rules);
    Router::new()
        .merge(looks().route_layer(gate(LOOKS)))
        .merge(Router::new().route("/sse/sessions", get(sse::stream)).route_layer(gate(STREAMS)))
        .merge(works().route_layer(gate(WORKS)))
        .merge(operates().route_layer(gate(OPERATES)))
        .fallback(not_found.layer(gate(LOOKS)))
        .method_not_allowed_fallback(method_not_allowed.layer(gate(LOOKS)))
}

fn looks() -> Router<ServerState> {
    Router::new()
        .route("/health", get(healthy))
        .route("/sessions", get(sessions::list))
        .route("/sessions/{id}", get(sessions::show))
        .route("/sessions/{id}/status", get(sessions::status))
        .route("/sessions/{id}/result", get(results::show))
        .route("/sessions/{id}/affinity", get(sessions::affinity))
        .route("/sessions/{id}/events", get(events::read))
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(runs::show))
        .route("/runners", get(runners::list))
        .route("/agents", get(agents::list))
        .route("/agents/{name}", get(agents::show))
}

fn works() -> Router<ServerState> {
    Router::new()
        .route("/sessions/{id}/bind", post(bind::bind))
        .route("/sessions/{id}/events", post(events::append))
        .route("/sessions/{id}/metadata", patch(sessions::update))
        // An agent starts its children through the MCP server of its runner.
        .route("/runs", post(runs::create))
        .route("/runner/register", post(runners::register))
        // A poll hands out a run: who asks for no body would have one that it never sees.
        .route("/runner/runs", get(poll::poll).head(method_not_allowed))
        .route("/runner/runs/{id}/started", post(reports::started))
        .route("/runner/runs/{id}/completed", post(reports::completed))
        .route("/runner/runs/{id}/failed", post(reports::failed))
        .route("/runner/runs/{id}/stopped", post(reports::stopped))
        .route("/runner/sessions/{id}/status", post(reports::session_status))
        .route("/runner/heartbeat", post(runners::heartbeat))
        // A runner that leaves; sending one away is for people, which is seen from the query.
        .route("/runners/{id}", delete(runners::remove))
}

fn operates() -> Router<ServerState> {
    Router::new()
        .route("/sessions/{id}", delete(sessions::remove))
        .route("/sessions/{id}/stop", post(stop::stop_session))
        .route("/runs/{id}/stop", post(stop::stop_run))
        .route("/agents", post(agents::create))
        .route("/agents/{name}", patch(agents::update).delete(agents::remove))
        .route("/agents/{name}/status", patch(agents::set_status))
}

async fn healthy() -> Answer {
    Ok(answered(&json!({ "status": "healthy" }))?)
}

async fn not_found() -> Detail {
    Detail::text(404, "Not Found")
}

async fn method_not_allowed() -> Detail {
    Detail::text(405, "Method Not Allowed")
}
