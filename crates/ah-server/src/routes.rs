//! The routes, a file per noun. Handlers extract, call the store, and answer.

mod agent;
mod agent_kind;
mod draft;
mod event;
mod kv;
mod log;
mod repo;
mod run;
mod runtime;
mod session;
mod session_list;
mod task;
mod workspace;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;

use crate::answer::{Answer, ok};
use crate::guard::guard;
use crate::health;
use crate::links::API;
use crate::observe::observe;
use crate::problem::Failure;
use crate::state::ServerState;

/// Every route of the server over `state`.
pub fn router(state: ServerState) -> Router {
    Router::new()
        .merge(health::routes())
        .nest(API, api())
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn(guard))
        .layer(from_fn_with_state(state.clone(), observe))
        .with_state(state)
}

fn api() -> Router<ServerState> {
    Router::new()
        .route("/capabilities", get(capabilities))
        .merge(agent::routes())
        .merge(agent_kind::routes())
        .merge(draft::routes())
        .merge(event::routes())
        .merge(kv::routes())
        .merge(log::routes())
        .merge(repo::routes())
        .merge(run::routes())
        .merge(runtime::routes())
        .merge(session::routes())
        .merge(task::routes())
        .merge(workspace::routes())
}

async fn capabilities(State(state): State<ServerState>) -> Answer {
    ok(&state.store.capabilities())
}

async fn no_such_path(request: Request) -> Failure {
    let detail = format!("nothing is at {}", request.uri().path());
    Failure::new("no-such-path", "no such path", 404, detail)
}

async fn method_not_allowed(request: Request) -> Failure {
    let detail = format!("{} takes no {}", request.uri().path(), request.method());
    Failure::new("method-not-allowed", "method not allowed", 405, detail)
}
