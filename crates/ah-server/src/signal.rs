//! Serving as a program of its own: until somebody asks it to end.

use std::io::Result;
use std::net::TcpListener as Listener;

use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::coordinator::serve_coordinator;
use crate::limits::THREADS_MAX;
use crate::serve::serve;
use crate::state::ServerState;

/// Serves `state` on `listener` until the process is asked to end: Ctrl-C, or a polite kill. With
/// `coordinator` the coordinator's interface is also at `/` there.
pub fn serve_until_signal(
    listener: Listener,
    coordinator: Option<Listener>,
    state: ServerState,
) -> Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().thread_name("ah-server").build()?;
    let served = runtime.block_on(async {
        if let Some(coordinator) = coordinator {
            tokio::spawn(serve_coordinator(opened(coordinator)?, state.clone()));
        }
        serve(opened(listener)?, state, asked_to_end()).await
    });
    runtime.shutdown_timeout(THREADS_MAX);
    served
}

fn opened(listener: Listener) -> Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// A signal that cannot be listened for never comes.
async fn asked_to_end() {
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminated = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminated = std::future::pending::<()>();
    tokio::select! {
        () = interrupted => {}
        () = terminated => {}
    }
}
