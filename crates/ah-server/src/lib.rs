//! The contract over HTTP: every method of [`ah_store::Store`] is one request below `/api/v1`.
//!
//! Routes extract, call the store and answer; rules live in the model and are called by the store.
//! Every answer is JSON and every error a problem, whatever went wrong on the way. This room knows
//! no backend: it is given an `Arc<dyn Store>`. `docs/design/0005-rest.md` has the table of routes.
#![warn(missing_docs)]

mod answer;
mod connection;
mod extract;
mod guard;
mod health;
mod limits;
mod links;
mod observe;
mod problem;
mod routes;
mod serve;
mod signal;
mod sse;
mod state;
mod store_call;
mod watch;

pub use limits::HEARTBEAT;
pub use routes::router;
pub use serve::{RunningServer, serve};
pub use signal::serve_until_signal;
pub use state::ServerState;
