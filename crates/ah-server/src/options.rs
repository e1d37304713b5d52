//! How a server is run; what it serves is its store.

use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ah_hive::{Homes, HostRules};
use ah_model::{ExecutorPresence, Lease, NewDispatch, Prices, RequestId};
use ah_store::{Clock, SystemClock};

use crate::bind::Exposure;
use crate::hook::HookDesk;
use crate::limits::MCP_ROUND;
use crate::log::{JobSink, LogSink};
use crate::tls::Tls;

/// Whether callers prove who they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AuthMode {
    /// Nobody is asked: only for programs of this machine.
    #[default]
    Open,
    /// Every request but those about health carries a token.
    Tokens,
}

/// Tells which executors are connected; whoever lets them in gives it to the server.
pub type PresenceSource =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Vec<ExecutorPresence>> + Send>> + Send + Sync>;

/// A program to be started beside a run, by whoever lets executors in. It was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatchOrder {
    /// Names it.
    pub id: RequestId,
    /// The lease that the run is held under.
    pub lease: Lease,
    /// What.
    pub program: NewDispatch,
}

/// What came of a [`DispatchOrder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatchAnswer {
    /// It was started, or had been.
    Begun,
    /// Nothing was started, for that reason.
    Refused(String),
    /// Nobody who holds the run is connected here.
    NotHere,
    /// No answer came: it may have been started.
    Unknown,
}

/// Has programs started beside runs; whoever lets executors in gives it to the server.
pub type DispatchSource = Arc<
    dyn Fn(DispatchOrder) -> Pin<Box<dyn Future<Output = DispatchAnswer> + Send>> + Send + Sync,
>;

/// How to run a server.
#[derive(Clone)]
pub struct ServerOptions {
    /// Whether callers prove who they are.
    pub auth: AuthMode,
    /// Who can reach it, which decides what names it answers to.
    pub exposure: Exposure,
    /// The certificate it shows; plain HTTP when absent.
    pub tls: Option<Tls>,
    /// Where a line about every request goes.
    pub log: Option<LogSink>,
    /// Where a line about what the server does by itself goes.
    pub jobs: Option<JobSink>,
    /// What time it is, for the end of tokens.
    pub clock: Arc<dyn Clock>,
    /// The homes of the agents, if this machine keeps them.
    pub homes: Option<Homes>,
    /// Where sockets of agents are made; none when absent.
    pub sockets: Option<PathBuf>,
    /// What takes the calls that hooks hand over, if any are taken.
    pub hooks: Option<HookDesk>,
    /// How long things are kept.
    pub retention: HostRules,
    /// What tokens cost whose cost nobody told.
    pub prices: Prices,
    /// How long one request of MCP waits, where clients call again by themselves.
    pub mcp_round: Duration,
}

impl Default for ServerOptions {
    /// For programs of this machine, without tokens and without a log.
    fn default() -> Self {
        Self {
            auth: AuthMode::default(),
            exposure: Exposure::default(),
            tls: None,
            log: None,
            jobs: None,
            clock: Arc::new(SystemClock),
            homes: None,
            sockets: None,
            hooks: None,
            retention: HostRules::default(),
            prices: Prices::listed(),
            mcp_round: MCP_ROUND,
        }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("auth", &self.auth)
            .field("exposure", &self.exposure)
            .field("tls", &self.tls.is_some())
            .field("log", &self.log.is_some())
            .field("jobs", &self.jobs.is_some())
            .finish_non_exhaustive()
    }
}
