//! Serving executors beside the HTTP server.

use std::net::SocketAddr;
use std::sync::Arc;

use ah_access::frame::{ConnectionConfig, Dispatch, RequestHead};
use ah_access::link::Transports;
use ah_access::peer::PeerSide;
use ah_access::point::{DispatchEnd, PointHandle, PointOptions, record_refusals};
use ah_access::run::{PointParts, Running, start_point};
use ah_model::{Lease, NewDispatch};
use ah_server::{DispatchAnswer, DispatchOrder, DispatchSource, PresenceSource};
use ah_store::{IdSource, Store, SystemClock, SystemIds};

use super::identity::IdentityArgs;
use crate::app::App;
use crate::environment::hostname;
use crate::error::{CommandError, Exit};

const HEARTBEATS_MISSED_MAX: u64 = 6;
const REQUESTS_MAX: u64 = 128;
const REPORTS_MAX: u64 = 4;
const HELLO_MS: u64 = 10_000;
const REQUEST_MS: u64 = 30_000;
const LOOK_MS: u64 = 15_000;
const AUDIT_MS: u64 = 60_000;

#[derive(Debug, clap::Args)]
pub(crate) struct ExecutorsArgs {
    /// Let executors in here, over QUIC and over TLS on TCP; see `ah agent enroll`
    #[arg(long, value_name = "ADDR")]
    executors: Option<SocketAddr>,
    /// How often an executor gives a sign of life
    #[arg(long, value_name = "SPAN", default_value = "5s")]
    heartbeat: String,
    /// How long an executor keeps its runs without being heard; longer than any disconnection that
    /// shall cost nothing
    #[arg(long, value_name = "SPAN", default_value = "5m")]
    lease: String,
    /// How long a program may take to end when its run is stopped
    #[arg(long, value_name = "SPAN", default_value = "10s")]
    grace: String,
    #[command(flatten)]
    identity: IdentityArgs,
}

/// An access point that serves executors.
pub(crate) struct Serving {
    pub(crate) running: Running,
    pub(crate) address: SocketAddr,
    /// Who is connected.
    pub(crate) presence: PresenceSource,
    /// Has programs started beside their runs.
    pub(crate) dispatch: DispatchSource,
}

impl ExecutorsArgs {
    /// Begins to serve executors, if anybody said where.
    pub(crate) fn start(
        &self,
        app: &App,
        store: &Arc<dyn Store>,
    ) -> Result<Option<Serving>, CommandError> {
        let Some(address) = self.executors else { return Ok(None) };
        let on_refusal = record_refusals(Arc::clone(store)).map_err(|error| failed(&error))?;
        let keyring = self.identity.keyring(app, PeerSide::Executor, on_refusal)?;
        let parts = PointParts {
            address,
            transports: Transports::Both,
            keyring: Arc::new(keyring),
            store: Arc::clone(store),
            clock: Arc::new(SystemClock),
            options: self.options()?,
        };
        let (running, handle, address) = start_point(parts).map_err(|error| failed(&error))?;
        let (presence, dispatch) = (presence(handle.clone()), dispatch(handle));
        Ok(Some(Serving { running, address, presence, dispatch }))
    }

    fn options(&self) -> Result<PointOptions, CommandError> {
        let random = SystemIds.random()?;
        let mut boot = [0; 6];
        boot.iter_mut().zip(random).for_each(|(byte, random)| *byte = random);
        let connection = ConnectionConfig {
            heartbeat_ms: crate::when::span(&self.heartbeat)?,
            heartbeats_missed_max: HEARTBEATS_MISSED_MAX,
            lease_ms: crate::when::span(&self.lease)?,
            requests_max: REQUESTS_MAX,
            reports_max: REPORTS_MAX,
        };
        connection.check()?;
        Ok(PointOptions {
            server_id: hostname().unwrap_or_else(|| "harbor".to_owned()),
            boot,
            connection,
            hello_ms: HELLO_MS,
            request_ms: REQUEST_MS,
            grace_ms: crate::when::span(&self.grace)?,
            look_ms: LOOK_MS,
            audit_ms: AUDIT_MS,
        })
    }
}

/// Nobody is connected to an access point that has stopped.
fn presence(handle: PointHandle) -> PresenceSource {
    Arc::new(move || {
        let handle = handle.clone();
        Box::pin(async move { handle.view().await.map_or_else(Vec::new, |(_, present)| present) })
    })
}

fn dispatch(handle: PointHandle) -> DispatchSource {
    Arc::new(move |order| {
        let handle = handle.clone();
        Box::pin(async move {
            match handle.dispatch(framed(order)).await {
                DispatchEnd::Begun => DispatchAnswer::Begun,
                DispatchEnd::Refused(reason) => DispatchAnswer::Refused(reason),
                DispatchEnd::NotHere => DispatchAnswer::NotHere,
                DispatchEnd::Unknown => DispatchAnswer::Unknown,
            }
        })
    })
}

fn framed(DispatchOrder { id, lease, program }: DispatchOrder) -> Dispatch {
    let NewDispatch { argv, env, directory, timeout_ms, requested_by, .. } = program;
    let Lease { run_id, epoch } = lease;
    let request = RequestHead { id, deadline_ms: REQUEST_MS, actor: requested_by, trace: None };
    Dispatch { request, run_id, epoch, argv, env, directory, timeout_ms }
}

fn failed(error: &dyn std::error::Error) -> CommandError {
    let mut message = format!("executors cannot be served: {error}");
    if let Some(cause) = error.source() {
        message = format!("{message}: {cause}");
    }
    CommandError::new(Exit::Failed, message)
}
