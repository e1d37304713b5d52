//! MCP: mail, questions, approvals and history as tools, for agents and for the operator.
//!
//! Both eras of the protocol are the SDK's. Here are the tools, who may use them and as whom, and
//! the ways in: standard input and output, Unix sockets, and `/mcp`. Nothing outside this module
//! knows the SDK. No state hangs on a connection: what somebody waits for is in the store.

mod act;
mod caller;
mod handler;
mod http;
mod line;
mod refusal;
mod resource;
mod round;
#[cfg(unix)]
mod socket;
mod stdio;
mod tool;
mod tools;

use std::collections::BTreeMap;
#[cfg(unix)]
use std::io::Result;
#[cfg(unix)]
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

pub use caller::{Caller, Powers};
pub(crate) use http::routes;
#[cfg(unix)]
pub(crate) use socket::Sockets;
pub use stdio::serve_stdio;

#[cfg(unix)]
use socket::place::Place;
use tool::Tool;

/// What all callers of one server share.
#[derive(Default)]
pub(crate) struct Shared {
    /// The tools, once somebody asked for them.
    tools: OnceLock<Vec<Tool>>,
    /// Agents that have no socket, and why.
    without_socket: Mutex<BTreeMap<String, String>>,
    /// The directory of the sockets, if it was taken before the server began.
    #[cfg(unix)]
    taken: Mutex<Option<Place>>,
}

impl Shared {
    fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(tools::all)
    }

    /// Takes the directory of the sockets, so that no other server can.
    #[cfg(unix)]
    pub(crate) fn take(&self, dir: &Path) -> Result<()> {
        let place = Place::take(dir)?;
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        Ok(())
    }

    #[cfg(unix)]
    fn taken(&self) -> Option<Place> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The agents that have no socket, with the reasons.
    fn without_socket(&self) -> BTreeMap<String, String> {
        self.without_socket.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes why agents have no socket; the answer names those that are new or other.
    #[cfg(unix)]
    fn set_without_socket(&self, now: BTreeMap<String, String>) -> Vec<String> {
        let mut known = self.without_socket.lock().unwrap_or_else(PoisonError::into_inner);
        let news = now.iter().filter(|(name, why)| known.get(*name) != Some(*why));
        let news = news.map(|(name, why)| format!("agent {name} has no socket: {why}")).collect();
        *known = now;
        news
    }
}
