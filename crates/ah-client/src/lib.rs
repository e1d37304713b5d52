//! The contract over HTTP: a [`RestStore`] is a store whose other half is a server.
//!
//! Every method is one request (`docs/design/0005-rest.md`), a file per noun. Requests block the
//! calling thread: [`ah_store::block_on`] drives the futures and there is no async runtime. Rules
//! are checked by the store behind the server, so they are the same for every client. This room
//! knows no backend, no environment and no terminal; the token it is given is in no message.
#![warn(missing_docs)]

mod address;
mod agent;
mod agent_kind;
mod approval;
mod dispatch;
mod draft;
mod event;
mod executor;
mod feed;
mod fleet;
mod hive;
mod http;
mod kv;
mod message;
mod question;
mod repo;
mod resolver;
mod retention;
mod run;
mod runtime;
mod scrub;
mod search;
mod session;
mod spending;
mod task;
#[cfg(test)]
mod test_server;
#[cfg(test)]
mod tests;
mod tls;
mod token;
mod watch;
mod workspace;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ah_model::{Party, RequestKey, TokenRole};
use ah_store::{Capabilities, Store, StoreError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use ureq::http::Method;

use crate::address::Target;
use crate::http::{Http, json};
pub use crate::tls::config as tls_config;

/// How long a request may take when nobody says: an append of the largest batch over a slow line.
const TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// Which server, and how to talk to it.
#[derive(Clone, PartialEq, Eq)]
pub struct RestOptions {
    /// Where the server is: `https://host:port`, `http://host:port`, or `host:port` for the latter;
    /// a path in front of `/api/v1` may follow.
    pub base_url: String,
    /// What proves who asks.
    pub token: Option<String>,
    /// A file with certificates, in PEM, of further authorities that may vouch for the server; the
    /// public ones may anyway.
    pub ca_file: Option<PathBuf>,
    /// How long one request may take from its beginning to the end of its answer.
    pub timeout: Duration,
}

impl RestOptions {
    /// The server at `base_url`, without a token.
    pub fn new(base_url: impl Into<String>) -> Self {
        let (token, ca_file) = (None, None);
        Self { base_url: base_url.into(), token, ca_file, timeout: TIMEOUT_DEFAULT }
    }
}

impl fmt::Debug for RestOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestOptions")
            .field("base_url", &self.base_url)
            .field("token", &self.token.as_ref().map(|_| "(hidden)"))
            .field("ca_file", &self.ca_file)
            .field("timeout", &self.timeout)
            .finish()
    }
}

/// Who a token is for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Whoami {
    /// Who speaks in requests that do not say it: the token's agent, else the operator.
    pub party: Party,
    /// The token's role; none where nobody is asked for a token.
    pub role: Option<TokenRole>,
}

/// A store behind a server.
pub struct RestStore {
    http: Arc<Http>,
    capabilities: Capabilities,
    /// Names the one request that this store is for.
    key: Option<String>,
}

impl RestStore {
    /// Asks the server once what it can do.
    ///
    /// `Invalid` for an address or token that cannot be used, `Unreachable` when nobody answers.
    pub fn connect(options: RestOptions) -> Result<Self, StoreError> {
        let http = Http::new(options)?;
        let capabilities = http.get(&Target::new(["capabilities"]))?;
        Ok(Self { http: Arc::new(http), capabilities, key: None })
    }

    /// Has something done that the server does once for the same key, if there is one.
    fn create<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &Target,
        body: &impl Serialize,
    ) -> Result<T, StoreError> {
        self.http.once(self.key.as_deref(), method, target, Some(json(body)?))
    }

    /// As [`Self::create`], for a list that has no further pages.
    fn create_items<T: DeserializeOwned>(
        &self,
        target: Target,
        body: &impl Serialize,
    ) -> Result<Vec<T>, StoreError> {
        self.http.items_once(self.key.as_deref(), target, json(body)?)
    }

    /// As [`Self::create`], for what needs no words.
    fn order_once<T: DeserializeOwned>(
        &self,
        method: Method,
        target: &Target,
    ) -> Result<T, StoreError> {
        self.http.once(self.key.as_deref(), method, target, None)
    }

    /// Asks the server whom it takes this store's user for.
    pub fn whoami(&self) -> Result<Whoami, StoreError> {
        self.http.get(&Target::new(["whoami"]))
    }

    /// The server's address as it is used.
    pub fn server(&self) -> &str {
        self.http.server()
    }
}

impl Store for RestStore {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The key is sent as `Idempotency-Key`. The fingerprint is not: the server takes one of the
    /// request itself, so another request with the same key is refused there.
    fn keyed(&self, key: RequestKey) -> Box<dyn Store> {
        let (http, capabilities) = (Arc::clone(&self.http), self.capabilities);
        Box::new(Self { http, capabilities, key: Some(key.key) })
    }
}

impl fmt::Debug for RestStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestStore")
            .field("server", &self.server())
            .field("capabilities", &self.capabilities)
            .finish()
    }
}
