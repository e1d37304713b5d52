//! The routes, a file per noun. Handlers extract, call the store, and answer.

mod agent;
mod agent_kind;
mod approval;
mod dispatch;
mod draft;
mod event;
mod executor;
mod feed;
mod fence;
mod fleet;
mod hive;
mod kv;
mod log;
mod message;
mod outbox;
mod question;
mod repo;
mod retention;
mod run;
mod run_lease;
mod runtime;
mod scrub;
mod search;
mod session;
mod session_export;
mod session_list;
mod spending;
mod task;
mod token;
mod workspace;

use ah_model::{Party, TokenRole};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::from_fn_with_state;
use schemars::JsonSchema;
use serde::Serialize;

use crate::access::Access;
use crate::answer::{Answer, ok};
use crate::auth::Caller;
use crate::coordinator::{self, COORDINATOR};
use crate::dashboard;
use crate::guard::guard;
use crate::health;
use crate::links::API;
use crate::mcp;
use crate::metrics;
use crate::observe::observe;
use crate::openapi;
use crate::problem::Failure;
use crate::routing::{Route, Routes, doc};
use crate::state::ServerState;

/// Every route of the server over `state`.
pub fn router(state: ServerState) -> Router {
    let routes = routes().nest_foreign(COORDINATOR, coordinator::routes(&state));
    let (router, _) = routes.into_parts();
    served(router.merge(dashboard::pages()), state)
}

/// A row of the table of routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRow {
    /// The method.
    pub method: String,
    /// The path, with `{id}` where an id stands.
    pub path: String,
    /// Who may use it.
    pub access: Access,
}

/// The table of routes.
pub fn table() -> Vec<TableRow> {
    let row = |route: Route| {
        let Route { method, path, access, .. } = route;
        TableRow { method: method.to_string(), path, access }
    };
    routes().into_parts().1.into_iter().map(row).collect()
}

/// `router` with what stands around every request.
fn served(router: Router<ServerState>, state: ServerState) -> Router {
    router
        .fallback(no_such_path)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(state.clone(), guard))
        .layer(from_fn_with_state(state.clone(), observe))
        .with_state(state)
}

pub(crate) fn routes() -> Routes {
    Routes::new()
        .merge(health::routes())
        .merge(openapi::routes())
        .merge(dashboard::routes())
        .merge(mcp::routes())
        .merge(metrics::routes())
        .nest(API, api())
}

fn api() -> Routes {
    Routes::new()
        .get(
            "/capabilities",
            Access::LOOK.or_any_agent(),
            doc("What this server's store can do").answers::<Capabilities>(200),
            capabilities,
        )
        .get(
            "/whoami",
            Access::LOOK.or_any_agent(),
            doc("Who the token is for").answers::<Whoami>(200),
            whoami,
        )
        .merge(agent::routes())
        .merge(agent_kind::routes())
        .merge(approval::routes())
        .merge(dispatch::routes())
        .merge(draft::routes())
        .merge(event::routes())
        .merge(executor::routes())
        .merge(feed::routes())
        .merge(fence::routes())
        .merge(fleet::routes())
        .merge(hive::routes())
        .merge(kv::routes())
        .merge(log::routes())
        .merge(outbox::routes())
        .merge(message::routes())
        .merge(question::routes())
        .merge(repo::routes())
        .merge(retention::routes())
        .merge(scrub::routes())
        .merge(search::routes())
        .merge(run::routes())
        .merge(run_lease::routes())
        .merge(runtime::routes())
        .merge(session::routes())
        .merge(spending::routes())
        .merge(task::routes())
        .merge(token::routes())
        .merge(workspace::routes())
}

/// What a store can do that others cannot.
#[derive(Serialize, JsonSchema)]
struct Capabilities {
    /// Named workspaces.
    workspaces: bool,
}

async fn capabilities(State(state): State<ServerState>) -> Answer {
    let ah_store::Capabilities { workspaces } = state.store.capabilities();
    ok(&Capabilities { workspaces })
}

/// Who asks.
#[derive(Serialize, JsonSchema)]
struct Whoami {
    /// Who speaks in requests that do not say it.
    party: Party,
    /// The role of the token; none where nobody is asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<TokenRole>,
}

async fn whoami(caller: Caller) -> Answer {
    ok(&Whoami { party: caller.speaker(), role: caller.role() })
}

async fn no_such_path(request: Request) -> Failure {
    let detail = format!("nothing is at {}", request.uri().path());
    Failure::new("no-such-path", "no such path", 404, detail)
}

async fn method_not_allowed(request: Request) -> Failure {
    let detail = format!("{} takes no {}", request.uri().path(), request.method());
    Failure::new("method-not-allowed", "method not allowed", 405, detail)
}
