//! Serving until told to stop, and stopping in bounded time.

use std::future::Future;
use std::io::{Error, Result};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::connection::{Activity, Door};
use crate::jobs::{carry_out, index, retain};
use crate::limits::{STOP_MAX, THREADS_MAX};
#[cfg(unix)]
use crate::mcp::Sockets;
use crate::routes::router;
use crate::state::ServerState;
use crate::sweep::{sweep_hive, sweep_runs};

/// Serves `state` on `listener` until `shutdown` is done.
///
/// Then nothing more is accepted, what waits for news is answered at once, and requests under way
/// are finished, for at most ten seconds.
pub async fn serve(
    listener: TcpListener,
    state: ServerState,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<()> {
    let service = router(state.clone()).into_make_service_with_connect_info::<Activity>();
    let closer = state.clone();
    let told = async move {
        shutdown.await;
        closer.close();
    };
    if let Some(grace) = state.sweep_grace() {
        // These end when the server stops, by the same word as everything that waits.
        tokio::spawn(sweep_runs(state.clone(), grace));
        tokio::spawn(sweep_hive(state.clone()));
        tokio::spawn(carry_out(state.clone()));
        tokio::spawn(retain(state.clone(), grace));
        tokio::spawn(index(state.clone()));
    }
    #[cfg(unix)]
    let sockets = match &state.options.sockets {
        // It ends by the same word, and its sockets with it.
        Some(dir) => Some(tokio::spawn(Sockets::open(&state, dir).await?.run())),
        None => None,
    };
    let serving = axum::serve(Door::new(listener, state.options.tls.as_ref()), service)
        .with_graceful_shutdown(told);
    let overdue = async {
        state.closing().await;
        sleep(STOP_MAX).await;
    };
    let served = tokio::select! {
        served = serving.into_future() => served,
        () = overdue => Ok(()),
    };
    #[cfg(unix)]
    if let (Some(sockets), true) = (sockets, state.is_closing()) {
        // They have a moment of their own; one that broke off has ended.
        let _ = sockets.await;
    }
    served
}

/// A server on threads of its own, for programs without an async runtime; stops when dropped.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl RunningServer {
    /// Serves `state` on `listener`.
    pub fn start(listener: std::net::TcpListener, state: ServerState) -> Result<Self> {
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread().enable_all().thread_name("ah-server").build()?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            // A server whose owner is gone stops as well.
            let _ = stopped.await;
        };
        let run = move || run(runtime, serve(listener, state, shutdown));
        let thread = std::thread::Builder::new().name("ah-server".to_owned()).spawn(run)?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops it and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        self.end()
    }

    /// Waits until it has ended, which it does only by itself when it cannot go on.
    pub fn wait(mut self) -> Result<()> {
        self.join()
    }

    fn end(&mut self) -> Result<()> {
        drop(self.stop.take());
        self.join()
    }

    fn join(&mut self) -> Result<()> {
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(served)) => served,
            Some(Err(_)) => Err(Error::other("the server's thread broke off")),
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls `stop`.
        let _ = self.end();
    }
}

fn run(runtime: Runtime, serving: impl Future<Output = Result<()>>) -> Result<()> {
    let served = runtime.block_on(serving);
    runtime.shutdown_timeout(THREADS_MAX);
    served
}
