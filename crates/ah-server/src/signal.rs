//! Serving as a program of its own: until somebody asks it to end.

use std::future::Future;
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
        serve(opened(listener)?, state, asked_to_end()?).await
    });
    runtime.shutdown_timeout(THREADS_MAX);
    served
}

fn opened(listener: Listener) -> Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Calls `then` in a thread of its own once the process is asked to end. From the return of this
/// call on such a signal does nothing else.
pub fn when_asked_to_end(then: impl FnOnce() + Send + 'static) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let asked = {
        let _entered = runtime.enter();
        asked_to_end()?
    };
    let work = move || {
        runtime.block_on(asked);
        then();
    };
    std::thread::Builder::new().name("ah-signal".to_owned()).spawn(work).map(drop)
}

/// Listens at once; ends when Ctrl-C or a polite kill comes.
#[cfg(unix)]
pub(crate) fn asked_to_end() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupted = signal(SignalKind::interrupt())?;
    let mut terminated = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    })
}

#[cfg(not(unix))]
pub(crate) fn asked_to_end() -> Result<impl Future<Output = ()>> {
    Ok(async {
        // A signal that cannot be listened for never comes.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
