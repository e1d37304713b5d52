//! Serving as a program of its own: until somebody asks it to end.

use std::io::Result;

use tokio::net::TcpListener;
use tokio::runtime::Builder;

use crate::limits::THREADS_MAX;
use crate::serve::serve;
use crate::state::ServerState;

/// Serves `state` on `listener` until the process is asked to end: Ctrl-C, or a polite kill.
pub fn serve_until_signal(listener: std::net::TcpListener, state: ServerState) -> Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_multi_thread().enable_all().thread_name("ah-server").build()?;
    let served = runtime.block_on(async {
        let listener = TcpListener::from_std(listener)?;
        serve(listener, state, asked_to_end()).await
    });
    runtime.shutdown_timeout(THREADS_MAX);
    served
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
