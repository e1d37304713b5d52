//! The contract over HTTP: every method of [`ah_store::Store`] is one request below `/api/v1`.
//!
//! Routes extract, call the store and answer; rules live in the model and are called by the store.
//! Every answer is JSON and every error a problem, whatever went wrong on the way. This room knows
//! no backend: it is given an `Arc<dyn Store>`. `docs/design/0005-rest.md` has the table of routes.
#![warn(missing_docs)]

mod access;
mod answer;
mod auth;
mod bind;
mod claims;
mod connection;
mod coordinator;
mod dashboard;
mod extract;
mod guard;
mod health;
mod hook;
mod host;
mod idempotency;
mod jobs;
mod limits;
mod links;
mod live;
mod log;
mod mcp;
mod metrics;
mod observe;
mod openapi;
mod options;
mod parts;
mod problem;
mod routes;
mod routing;
mod serve;
mod signal;
mod sse;
mod state;
mod store_call;
mod sweep;
mod tls;
mod watch;

pub use access::{Access, Scope};
pub use bind::{Exposure, Transport, check_bind};
pub use coordinator::{coordinator_router, serve_coordinator};
pub use hook::{HOOK_SOCKET, HookDesk, Taken, frame};
pub use limits::HEARTBEAT;
pub use log::{JobLine, JobSink, LogLine, LogSink};
pub use mcp::{Caller, Powers, serve_stdio};
pub use openapi::document as openapi_document;
pub use options::{
    AuthMode, DispatchAnswer, DispatchOrder, DispatchSource, PresenceSource, ServerOptions,
};
pub use routes::{TableRow, router, table};
pub use serve::{RunningServer, serve};
pub use signal::{serve_until_signal, when_asked_to_end};
pub use state::ServerState;
pub use tls::{Tls, TlsError};
